"""The kind `h3`: cells of the H3 grid under their parents; needs the extra ``geo``."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from sequester.errors import HierarchyError
from sequester.hierarchies.builder import Kind, outline_of_chains, several
from sequester.hierarchies.labels import counted, in_label_order, listed
from sequester.hierarchies.outline import Outline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.hierarchies.outline import Source

_FINEST = 15


def load_h3() -> Any:
    """Give the library, or say which extra brings it."""
    try:
        # Only H3 cells need it, and it is an extra.
        import h3  # noqa: PLC0415
    except ImportError:
        msg = "h3 needs the extra geo, which is not installed: pip install 'sequester[geo]'"
        raise HierarchyError(msg) from None
    return h3


@dataclass(frozen=True, slots=True)
class H3Cells(Kind):
    """Each level is the parent of a cell at a resolution: ``[7, 5]`` leads to 7, then 5, then ``*``.

    A cell that is as coarse as a level, or coarser, stays itself there. The leaves are the cells that occur.
    """

    resolutions: int | Sequence[int]
    """Resolutions from fine to coarse, each 0 to 15."""

    name: ClassVar[str] = "h3"

    def __post_init__(self) -> None:
        resolutions = several(self.resolutions)
        if not resolutions or not all(
            isinstance(each, int) and not isinstance(each, bool) and 0 <= each <= _FINEST
            for each in resolutions
        ):
            msg = f"h3: resolutions must be whole numbers from 0 to {_FINEST}, got {list(resolutions)!r}"
            raise HierarchyError(msg)
        if any(coarse >= fine for fine, coarse in pairwise(resolutions)):
            msg = f"h3: resolutions must get coarser and coarser, got {list(resolutions)!r}"
            raise HierarchyError(msg)
        object.__setattr__(self, "resolutions", resolutions)

    def outline(self, values: Mapping[str, int], source: Source) -> Outline:
        """Put every cell under its parents."""
        h3 = load_h3()
        wrong = tuple(in_label_order(value for value in values if not h3.is_valid_cell(value)))
        if wrong:
            what = counted(len(wrong), "value is", "values are")
            text = f"{what} no H3 cell: {listed(wrong)}"
            return Outline({}, (source.say("error", "no-cell", text, labels=wrong, count=len(wrong)),))
        chains = {
            value: tuple(
                h3.cell_to_parent(value, coarse)
                for coarse in several(self.resolutions)
                if coarse < h3.get_resolution(value)
            )
            for value in values
        }
        return outline_of_chains(chains, source)
