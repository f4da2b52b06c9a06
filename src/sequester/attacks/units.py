"""The rows in which knowledge of a kind is looked for, persons who look alike folded into one owner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets
    from sequester.attacks.items import Items, Kind


@dataclass(frozen=True, slots=True)
class Units:
    """Rows of items with their owners; an owner stands for all persons who look the same.

    Items of a row belong to groups, and what is known takes at most one item of each. Where order counts a
    row is a person and a group an event. Otherwise a row is a set, of one event or of one person, from the
    rarest item on, and every item is a group of its own.
    """

    items: Codes
    """The items of all rows, one after the other."""
    groups: Codes
    """The group of each item within its row."""
    offsets: Offsets
    """Row ``r`` is ``items[offsets[r]:offsets[r + 1]]``; no row is empty."""
    owners: Codes
    """The owner of each row, ascending."""
    weights: Counts
    """Persons that each owner stands for."""
    values: Codes
    """The protected values of all owners."""
    value_offsets: Offsets
    """Owner ``o`` has the values ``value_offsets[o]`` to ``value_offsets[o + 1]``."""
    owner_of_person: Codes
    """Who each person is here."""

    @classmethod
    def of(cls, items: Items, kind: Kind) -> Units:
        """Make the rows of one kind of knowledge."""
        codes, offsets, groups = items.codes, items.offsets, items.events
        if kind == "anywhere":
            codes, offsets = kernels.knowledge_rows.list_sets(codes, offsets)
            groups = _count_up(offsets)
            looks = codes
        else:
            # Whoever has the same items in other events does not look the same.
            starts = np.ones(len(codes), np.bool_)
            starts[1:] = groups[1:] != groups[:-1]
            starts[offsets[:-1][np.diff(offsets) > 0]] = True
            looks = codes + len(items.names) * starts.astype(np.int32)
        looks, look_offsets = _append(
            looks, offsets, items.values + 2 * len(items.names), items.value_offsets
        )
        owner_of_person, persons = kernels.distinct.fold_rows(looks.astype(np.int32), look_offsets)
        weights = np.bincount(owner_of_person, minlength=len(persons)).astype(np.int64)
        values, value_offsets = kernels.distinct.gather_rows(items.values, items.value_offsets, persons)
        groups, _ = kernels.distinct.gather_rows(groups, offsets, persons)
        codes, offsets = kernels.distinct.gather_rows(codes, offsets, persons)
        owners = np.arange(len(persons), dtype=np.int32)
        if kind == "event":
            codes, offsets, owners = _split_events(codes, groups, offsets)
            groups = _count_up(offsets)
        is_filled = np.diff(offsets) > 0
        offsets = np.concatenate([[0], offsets[1:][is_filled]])
        return cls(codes, groups, offsets, owners[is_filled], weights, values, value_offsets, owner_of_person)


def _count_up(offsets: Offsets) -> Codes:
    """Number the items of each row from 0."""
    places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
    return places.astype(np.int32)


def _append(
    items: Codes, offsets: Offsets, more: Codes, more_offsets: Offsets
) -> tuple[npt.NDArray[np.int32], Offsets]:
    """Put each row of the second list behind the row of the first."""
    if not more.size:
        return items, offsets
    both = np.empty(len(items) + len(more), np.int32)
    both[np.arange(len(items)) + np.repeat(more_offsets[:-1], np.diff(offsets))] = items
    both[np.arange(len(more)) + np.repeat(offsets[1:], np.diff(more_offsets))] = more
    return both, offsets + more_offsets


def _split_events(codes: Codes, events: Codes, offsets: Offsets) -> tuple[Codes, Offsets, Codes]:
    """Make each event a row of its own, its items ascending; the person is its owner."""
    owners = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
    starts = np.ones(len(codes), np.bool_)
    starts[1:] = (events[1:] != events[:-1]) | (owners[1:] != owners[:-1])
    places = np.flatnonzero(starts).astype(np.int64)
    sets, set_offsets = kernels.knowledge_rows.list_sets(codes, np.append(places, len(codes)))
    return sets, set_offsets, owners[places]
