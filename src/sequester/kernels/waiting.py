"""When something first happens, where each event is only known to be it with some probability."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Counts, Offsets

    Amounts = npt.NDArray[np.float64]


@njit
def count_firsts(chances: Amounts, times: Counts, offsets: Offsets, n_times: int) -> tuple[Amounts, Amounts]:
    """Count for each time those to whom it first happens, and those whose events end without it.

    Event ``i`` of a person happens at ``times[i]``, below `n_times`, and is what is waited for with the
    probability ``chances[i]``, independently. Times that run backwards stand still.
    """
    happened = np.zeros(n_times, np.float64)
    left = np.zeros(n_times, np.float64)
    for person in range(offsets.size - 1):
        waiting = 1.0
        now = -1
        for i in range(offsets[person], offsets[person + 1]):
            now = max(now, times[i])
            happened[now] += waiting * chances[i]
            waiting *= 1.0 - chances[i]
        if now >= 0:
            left[now] += waiting
    return happened, left
