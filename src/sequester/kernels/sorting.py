"""Sort numbers in place: a small function instead of that of numpy, which takes a second to compile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.kernels.compiler import inner

if TYPE_CHECKING:
    from sequester._typing import Counts


@inner
def sort_range(values: Counts, low: int, high: int) -> None:
    """Sort ``values[low:high]`` ascending, by Shell's method."""
    gap = 1
    while 3 * gap + 1 < high - low:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(low + gap, high):
            value = values[i]
            j = i
            while j >= low + gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3
