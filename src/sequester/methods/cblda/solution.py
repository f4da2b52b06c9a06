"""Who looks alike, and what is released of whom: the end of the clustering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester import kernels

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask
    from sequester.methods.cblda.forest import Trees
    from sequester.methods.cblda.work import Work


@dataclass(frozen=True, eq=False)
class Solution:
    """A release before it is written."""

    trees: Trees
    """The quasi-identifiers."""
    class_of_person: Counts
    """Person to the smallest person of their class."""
    is_released: Mask
    """Person to whether they are released; others are only covered by a class."""
    is_kept: Mask
    """Event to whether it stands behind what its class shows."""
    shown: Codes
    """The node that is shown of each cell of such an event."""
    class_size: Counts
    """Person to the persons of their class who are released."""
    n_blocks: int
    """Blocks that were clustered by themselves."""

    @classmethod
    def of(cls, work: Work, *, n_blocks: int) -> Solution:
        """Write down what the clusters show."""
        state = work.clusters
        class_of_person, is_kept, shown = kernels.clusters.write_down(state, work.finished)
        return cls(
            trees=work.trees,
            class_of_person=class_of_person,
            is_released=state.is_counted,
            is_kept=is_kept,
            shown=shown,
            class_size=state.counted[class_of_person],
            n_blocks=n_blocks,
        )

    @property
    def n_dropped(self) -> int:
        """Persons who are not released."""
        return int((~self.is_released).sum())
