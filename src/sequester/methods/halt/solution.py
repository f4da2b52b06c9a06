"""What is released instead of each value, and why: the end of the search in labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.hierarchies.labels import ROOT
from sequester.methods.halt.constraints import CONFIDENCE, STARS, SUPPORT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester._typing import Mask
    from sequester.data.table import EventTable
    from sequester.methods.halt.elimination import Draft, Elimination
    from sequester.privacy.channel import Channel


@dataclass(frozen=True, slots=True)
class Column:
    """One quasi-identifier in the release."""

    level: int
    """The level of its hierarchy that was chosen."""
    released: tuple[str, ...]
    """Original label, by its code, to what is released instead."""
    persons: tuple[int | None, ...]
    """To how many persons the suppression of its released value touched; None where it was not suppressed."""
    because: tuple[str | None, ...]
    """To the channel that forced the suppression."""
    constraints: tuple[str | None, ...]
    """To what of the promise that channel broke."""


@dataclass(frozen=True, slots=True)
class Solution:
    """A release in labels, before it is written."""

    is_kept: Mask
    """Person to whether they are released."""
    columns: Mapping[str, Column]
    """The quasi-identifiers."""
    loss: float
    """What was minimized: the loss of generalization and suppression among those who are released."""
    skipped: bool = False
    """Finer levels were not looked at, because there was too much to count."""

    @property
    def n_dropped(self) -> int:
        """Persons who are not released."""
        return int((~self.is_kept).sum())

    @property
    def n_suppressed(self) -> int:
        """Different values that are suppressed."""
        return sum(each is not None for column in self.columns.values() for each in column.because)

    @classmethod
    def of(
        cls,
        table: EventTable,
        elimination: Elimination,
        draft: Draft,
        is_kept: Mask,
        *,
        skipped: bool = False,
    ) -> Solution:
        """Write a draft in labels."""
        persons = elimination.count_persons(draft)
        columns = {}
        for axis, shown, level in zip(
            elimination.axes.each, elimination.released(draft), draft.node, strict=True
        ):
            labels = table.sequences.codebooks[axis.name].labels
            nodes = axis.tree.nodes(labels) if labels else np.empty(0, np.int32)
            is_exact = axis.leaves_as_it_is(level) & ((shown != axis.star) | axis.is_hidden)
            released = [
                label if is_exact[node] else axis.label(int(shown[node]))
                for label, node in zip(labels, nodes, strict=True)
            ]
            touched: list[int | None] = [None] * len(labels)
            because: list[str | None] = [None] * len(labels)
            constraints: list[str | None] = [None] * len(labels)
            for place, node in enumerate(nodes):
                if level < axis.height and not axis.is_hidden[node] and shown[node] == axis.star:
                    value = axis.first + int(axis.cuts[level][node])
                    touched[place] = int(persons[value])
                    channel = _reason(draft, elimination, value)
                    because[place], constraints[place] = str(channel), _broken(channel)
            columns[axis.name] = Column(
                level, tuple(released), tuple(touched), tuple(because), tuple(constraints)
            )
        return cls(is_kept, columns, draft.loss, skipped)


def _reason(draft: Draft, elimination: Elimination, value: int) -> Channel:
    """Find which channel forced the suppression of a released value: the first that did."""
    ends = elimination.axes.ends
    first = next(each for each in draft.reasons if each.item <= value < ends[each.item])
    return first.channel


def _broken(channel: Channel) -> str:
    """Say what of the promise a channel breaks."""
    if any(label == ROOT for event in channel.events for _, label in event):
        return STARS
    return SUPPORT if channel.value is None else CONFIDENCE
