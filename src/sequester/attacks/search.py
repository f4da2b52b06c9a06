"""The smallest crowd and the surest guess of every target, for one more item at a time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.attacks.units import Units
    from sequester.engine import Engine, Progress
    from sequester.kernels.knowledge import Found, Rows

MOST_COMBINATIONS = 50_000
"""Where the items of a target's row make more sets of a size than this, only the rarest are combined."""
_ROUNDS = 6
_PARTS = 8
"""Rounds and parts do not depend on the machine, so neither does what is found."""


class Search:
    """Looks at everything of 1, 2, ... items that could be known of some persons, and counts whom it fits.

    A crowd does not grow as more becomes known, and holds at least those who look like the target. So a
    target whose crowd is as small as it can get, and of whom a protected value is certain (if they have one),
    need not be looked at with more items, and neither need what only such targets have. First items are tried
    from the rarest on, because these lead to the smallest crowds. Rounds follow each other, and each drops
    the targets that the ones before are done with; the parts of a round run side by side and know nothing of
    each other.
    """

    def __init__(
        self,
        units: Units,
        persons: Counts,
        *,
        known: int,
        bounds: Sequence[int],
        others: Counts | None = None,
    ) -> None:
        """Take the targets: `persons`, of whom shares are made, and `others`, who count for worst cases."""
        self.units = units
        drawn = units.owner_of_person[persons]
        owners = np.unique(drawn if others is None else np.append(drawn, units.owner_of_person[others]))
        self.n_drawn: Counts = np.bincount(np.searchsorted(owners, drawn), minlength=len(owners))
        """How often each target was drawn; none of the others was."""
        self.weights: Counts = units.weights[owners]
        """Persons who look like each target."""
        n_persons = int(units.weights.sum())
        shares = self._base_rates(n_persons)
        self.base_rate = float(shares.max(initial=0.0))
        """The largest share of persons with one protected value."""
        self.is_cut: Mask = np.zeros(len(owners), np.bool_)
        """Targets of whom not all items were combined."""
        n_values = np.diff(units.value_offsets)[owners]
        self.has_value: Mask = n_values > 0
        """Targets with a protected value."""
        surest, told = np.ones(len(owners)), np.full(len(owners), -1, np.int32)
        for target in np.flatnonzero(self.has_value).tolist():
            own = units.values[units.value_offsets[owners[target]] : units.value_offsets[owners[target] + 1]]
            told[target] = own[np.argmax(shares[own])]
            surest[target] = shares[told[target]]
        # Beyond the last bound nothing is left to find out.
        limits = np.append(np.array(bounds, np.int64), np.iinfo(np.int64).max)
        self.found: Found = kernels.knowledge.Found(
            owners.astype(np.int32),
            limits[np.searchsorted(bounds, self.weights, side="right")],
            np.full(len(owners), n_persons, np.int64),
            np.full((len(owners), known), -1, np.int32),
            surest,
            np.full(len(owners), n_persons, np.int64),
            told,
            np.full((len(owners), known), -1, np.int32),
        )

    def _base_rates(self, n_persons: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Give the share of persons with each protected value."""
        counts = np.bincount(
            self.units.values, weights=np.repeat(self.units.weights, np.diff(self.units.value_offsets))
        )
        return counts / max(n_persons, 1)

    @property
    def is_open(self) -> Mask:
        """Targets about whom more items could tell more."""
        mask: Mask = (self.found.fewest >= self.found.enough) | (self.found.surest < 1)
        return mask

    def run(self, size: int, *, engine: Engine, progress: Progress, phase: str) -> None:
        """Look at everything of `size` items; everything of fewer items has been looked at."""
        items, groups, offsets, owners = self._target_rows(size)
        if not items.size:
            progress(1.0, phase)
            return
        units = self.units
        is_theirs = np.zeros(int(units.items.max()) + 1, np.bool_)
        is_theirs[items] = True
        code_of = np.where(is_theirs, np.cumsum(is_theirs) - 1, -1).astype(np.int32)
        global_of = np.append(np.flatnonzero(is_theirs), -1).astype(np.int32)
        n_items = len(global_of) - 1
        targets = _rows(code_of[items], groups, offsets, owners, n_items=n_items)
        kept = kernels.knowledge_rows.keep_items(
            units.items, units.groups, units.offsets, units.owners, code_of, size
        )
        rows = _rows(*kept, n_items=n_items)
        crowd = kernels.knowledge.Crowd(units.weights, units.values, units.value_offsets)
        n_values = int(units.values.max(initial=-1)) + 1

        def look(firsts: Codes) -> Found:
            found = _copy(self.found)
            kernels.knowledge_search.search(size, firsts, rows, crowd, targets, n_items, n_values, found)
            return found

        rounds = [np.empty(0, np.int32)] if size == 1 else _rounds(np.diff(rows.starts))
        for number, firsts in enumerate(rounds, start=1):
            parts = [firsts[place::_PARTS] for place in range(min(_PARTS, max(len(firsts), 1)))]
            done = engine.map(
                lambda shard, parts=parts: look(parts[shard.start]),  # type: ignore[misc]
                [range(place, place + 1) for place in range(len(parts))],
            )
            for found in done:
                _take_over(self.found, found, global_of)
            progress(number / len(rounds), phase)

    def _target_rows(self, size: int) -> tuple[Codes, Codes, Offsets, Codes]:
        """Give the rows of the targets that are not done with, cut to what will be combined."""
        units = self.units
        target_of = np.full(len(units.weights), -1, np.int32)
        target_of[self.found.owners] = np.arange(len(self.found.owners), dtype=np.int32)
        target_of[self.found.owners[~self.is_open]] = -1
        owners = target_of[units.owners]
        chosen = np.flatnonzero(owners >= 0)
        owners = owners[chosen]
        groups, _ = kernels.distinct.gather_rows(units.groups, units.offsets, chosen)
        items, offsets = kernels.distinct.gather_rows(units.items, units.offsets, chosen)
        if size > 1:
            is_kept, is_cut = kernels.knowledge_rows.mark_lowest(items, offsets, most_items(size))
            self.is_cut[owners[is_cut]] = True
            before = np.concatenate([[0], np.cumsum(is_kept)])
            items, groups, offsets = items[is_kept], groups[is_kept], before[offsets]
        codes = np.arange(items.max(initial=-1) + 1, dtype=np.int32)
        kept: tuple[Codes, Codes, Offsets, Codes] = kernels.knowledge_rows.keep_items(
            items, groups, offsets, owners, codes, size
        )
        return kept


def most_items(size: int) -> int:
    """Give the number of items that make as many sets of `size` as are looked at, and not more.

    Examples
    --------
    >>> [most_items(size) for size in (2, 3, 4)]
    [316, 67, 34]
    """
    most = size
    while math.comb(most + 1, size) <= MOST_COMBINATIONS:
        most += 1
    return most


def _rows(items: Codes, groups: Codes, offsets: Offsets, owners: Codes, *, n_items: int) -> Rows:
    """Index the rows for the search."""
    ahead = kernels.prefixspan.count_ahead(items, offsets, n_items)
    index = kernels.containment.list_first_places(items, offsets, n_items)
    return kernels.knowledge.Rows(items, groups, offsets, owners, ahead, *index)


def _rounds(n_rows: Counts) -> list[Codes]:
    """Cut the items, from the rarest on, into rounds of about as many rows each."""
    codes = np.arange(len(n_rows), dtype=np.int32)
    total = np.cumsum(n_rows)
    cuts = np.searchsorted(total, total[-1] * np.arange(1, _ROUNDS) / _ROUNDS)
    return [each for each in np.split(codes, cuts) if each.size]


def _copy(found: Found) -> Found:
    """Copy what a search writes into."""
    return found._replace(
        fewest=found.fewest.copy(),
        rare=found.rare.copy(),
        surest=found.surest.copy(),
        among=found.among.copy(),
        told=found.told.copy(),
        telling=found.telling.copy(),
    )


def _take_over(known: Found, found: Found, global_of: Codes) -> None:
    """Write into `known` what `found` says better; new items come in the numbers of the search."""
    rarer = found.fewest < known.fewest
    known.fewest[rarer] = found.fewest[rarer]
    known.rare[rarer] = global_of[found.rare[rarer]]
    surer = (found.surest > known.surest) | ((found.surest == known.surest) & (found.among > known.among))
    known.surest[surer] = found.surest[surer]
    known.among[surer] = found.among[surer]
    known.told[surer] = found.told[surer]
    known.telling[surer] = global_of[found.telling[surer]]
