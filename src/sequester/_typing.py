"""The arrays that travel between the storeys."""

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int32]
"""Dictionary codes, dense, ordered by label."""
Offsets = npt.NDArray[np.int64]
"""One longer than what it delimits; row ``r`` is ``values[offsets[r]:offsets[r + 1]]``."""
Counts = npt.NDArray[np.int64]
"""Numbers of persons or events."""
RowNumbers = npt.NDArray[np.int32] | npt.NDArray[np.int64]
"""Numbers of rows of the input, from 1: of four bytes where these are enough."""
Mask = npt.NDArray[np.bool_]
"""One flag per row."""
