"""What a release no longer shows, counted the slow way; imports nothing of the project."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence


class Losses(NamedTuple):
    """Events of the input that are lost, and released ones that are out of order or made up."""

    lost: int
    moved: int
    invented: int


def still_there(
    before: Sequence[Hashable], after: Sequence[Hashable], stands_for: Callable[[Hashable, Hashable], bool]
) -> int:
    """Count the most events of `before` that events of `after` can stand for, both in order."""

    @cache
    def most(i: int, j: int) -> int:
        if i == len(before) or j == len(after):
            return 0
        without = max(most(i + 1, j), most(i, j + 1))
        return max(without, 1 + most(i + 1, j + 1)) if stands_for(after[j], before[i]) else without

    return most(0, 0)


def count_losses(
    before: Sequence[Sequence[Hashable]],
    after: Sequence[Sequence[Hashable]],
    *,
    is_blank: Callable[[Hashable], bool] = lambda event: event == "*",
    stands_for: Callable[[Hashable, Hashable], bool] = lambda released, event: released == event,
    permuted: bool = False,
) -> Losses:
    """Lay each person's two records side by side and add up.

    An event that is nothing but ``*`` stands for none. A released event that stands in no order for an event
    of its person is moved where the person has an event that it could stand for, and invented otherwise.
    Where a method permutes a person's own events, those that are out of order are moved and not lost.
    """
    total = Losses(0, 0, 0)
    for own, given in zip(before, after, strict=True):
        shown = [event for event in given if not is_blank(event)]
        kept = still_there(tuple(own), tuple(shown), stands_for)
        invented = sum(not any(stands_for(event, other) for other in own) for event in shown)
        moved = len(shown) - kept - invented
        lost = len(own) - kept - (moved if permuted else 0)
        total = Losses(total.lost + lost, total.moved + moved, total.invented + invented)
    return total
