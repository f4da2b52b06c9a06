"""The histories as one level signature shows them: what a search for channels walks over."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester import kernels
from sequester.methods.halt import _kernels
from sequester.methods.halt import _search_kernels as search
from sequester.ragged import offsets_of

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask
    from sequester.methods.halt.histories import QuasiIdentifiers, Signature, WeightedRows

PART = 20_000
"""Events at which a search begins that are worth a task of their own."""


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """What makes a channel."""

    k: int
    """Persons that have to share what is known."""
    c: float
    """Share of them that may have one protected value."""
    p: int
    """Items that may be known."""
    mixed: bool = False
    """Items of one quasi-identifier may be known at different levels."""


class SignatureView(NamedTuple):
    """What histories are shown with."""

    histories: WeightedRows
    quasi: QuasiIdentifiers
    thresholds: Thresholds
    length: int
    """Items of a search, at least."""
    is_open: Mask
    """Item to whether it is open."""
    is_fresh: Mask


@dataclass(frozen=True, eq=False)
class SignatureRows:
    """The histories in the items of one signature, equal ones folded: what a search walks over."""

    rows: search.HistoryRows
    alphabet: search.Alphabet

    @classmethod
    def of(cls, signature: Signature, view: SignatureView) -> SignatureRows:
        """Show the histories of a view in the items of a signature.

        Of one item, all that belong to the signature are shown whose next more general one is open; otherwise
        all that are open, those of coarser levels included where levels are mixed or a branch is short. Only
        histories with a fresh item are shown.
        """
        histories, quasi, thresholds, length, is_open, is_fresh = view
        mixed = thresholds.mixed
        columns, shown = _shown_items(quasi, signature, mixed=mixed, length=length)
        # Of one item, the next more general one decides whether it is looked at.
        allowed = (quasi.parents < 0) | is_open[quasi.parents] if length == 1 else is_open
        shown = np.where((shown >= 0) & allowed[shown], shown, -1)
        numbers = np.unique(shown[shown >= 0]).astype(np.int32)
        item_of_cell = np.searchsorted(numbers, shown).astype(np.int32)
        item_of_cell[shown < 0] = -1
        items = np.empty((len(histories.cells), len(columns)), np.int32)
        offsets = np.zeros(histories.n_rows + 1, np.int64)
        kept = np.empty(histories.n_rows, np.int64)
        n_kept = _kernels.project_rows(
            histories.columns,
            histories.offsets,
            columns[:, :2].copy(),
            item_of_cell,
            is_fresh[numbers],
            length,
            items,
            offsets,
            kept,
        )
        kept, offsets = kept[:n_kept], offsets[: n_kept + 1]
        group_of_row, firsts = kernels.rows.fold_rows(
            items[: offsets[-1]].reshape(-1), offsets * len(columns)
        )
        n_rows = len(firsts)
        groups = np.full(histories.n_rows, -1, np.int32)
        groups[kept] = group_of_row
        persons = histories.persons.fold(groups, n_rows)
        # For a single item, what comes before everything is an event, too; all others follow it.
        sizes = np.diff(offsets)[firsts] + (length == 1)
        stops = offsets_of(sizes)
        records = np.empty((stops[-1], search.HEAD + len(columns)), np.int32)
        heads = np.column_stack([persons.weights, persons.risks, np.arange(n_rows)]).astype(np.int32)
        _kernels.write_records(items, offsets, firsts, heads, stops, records)
        if length == 1:
            starts, events = np.array([0, n_rows]), stops[:-1].astype(np.int32)
        else:
            starts = np.zeros(len(numbers) + 2, np.int64)
            events = np.empty(np.count_nonzero(records[:, search.HEAD :] >= 0), np.int32)
            _kernels.index_items(records, search.HEAD, starts, events)
            starts = starts[:-1]
        traits, units = _item_traits(quasi, signature, numbers, thresholds)
        return cls(
            search.HistoryRows(
                records.reshape(-1),
                records.shape[1],
                persons.offsets,
                np.column_stack([persons.values, persons.counts]).astype(np.int32),
                len(persons.names),
                int(histories.persons.totals.max(initial=0)),
            ),
            search.Alphabet(traits, columns[:, 2:].copy(), starts, events, units),
        )

    def parts(self, length: int) -> list[range]:
        """Cut the items that a search begins with into tasks."""
        n_items, n_events = len(self.alphabet.items), len(self.alphabet.events)
        if length == 1 or not n_items:
            return [range(1)] * bool(n_items)
        n_parts = min(max(n_events // PART, 1), n_items)
        bounds = np.searchsorted(self.alphabet.starts, np.linspace(0, n_events, n_parts + 1)[1:-1])
        return [range(a, b) for a, b in pairwise([0, *bounds.tolist(), n_items]) if a < b]

    def find(
        self, known: search.Known, thresholds: Thresholds, length: int, part: range
    ) -> tuple[Codes, int]:
        """Find what is open, and the channels, among the g-sequences of so many items; one row each.

        Also returns how many cells were looked at.
        """
        items, columns, units = self.alphabet.items, self.alphabet.columns, self.alphabet.units
        path = np.zeros((length + 1, search.DROPS + length + len(units)), np.int64)
        path[0, search.P_MISSING] = np.bitwise_or.reduce(columns[:, 1])
        path[0, search.DROPS + length :] = units
        ways = np.zeros((2 * len(items), search.N_WAY_FIELDS), np.int64)
        ways[:, [search.W_STAMP, search.W_SLOT, search.W_VALUE]] = -1
        n_values = self.rows.n_values
        scratch = search.SearchScratch(
            path,
            ways,
            np.empty(len(ways), np.int64),
            np.empty((2, len(columns) + 1), np.int32),
            np.empty((max(length - 1, 1) * len(ways), search.N_CHILD_FIELDS), np.int64),
            np.zeros(max(min(search.MOST_CELLS, len(ways) * n_values), n_values), np.int64),
        )
        found, n_found = search.search_channels(
            self.rows, self.alphabet, known, scratch, thresholds.k, thresholds.c, part.start, part.stop
        )
        width = search.F_ITEMS + length + (2 * length if thresholds.mixed else 0)
        rows: Codes = found[: n_found * width].reshape(-1, width).copy()
        return rows, int(path[0, search.P_WORK])


def show_histories(signatures: list[Signature], view: SignatureView) -> list[SignatureRows]:
    """Return the histories in the items of each signature."""
    return [SignatureRows.of(signature, view) for signature in signatures]


def _shown_items(
    quasi: QuasiIdentifiers, signature: Signature, *, mixed: bool, length: int
) -> tuple[Codes, Counts]:
    """Return the columns that show a signature, and of each the item that each cell is, -1 for none.

    A column is a quasi-identifier at a level. Its row has the quasi-identifier, where its items begin in the
    second answer, its place among the quasi-identifiers of the signature, and the bit of that where the level
    is the signature's own.
    """
    rows, shown, start = [], [], 0
    quasi_in = [q for q, level in enumerate(signature) if level < quasi.columns[q].height]
    for place, q in enumerate(quasi_in):
        column = quasi.columns[q]
        for level in range(signature[q], column.height if mixed else signature[q] + 1):
            nodes = column.cuts[level]
            is_shown = column.reach[nodes] == level if mixed or length == 1 else np.ones(len(nodes), np.bool_)
            shown.append(np.where(is_shown & ~column.is_secret[nodes], column.first + nodes, -1))
            rows.append((q, start, place, 1 << place if level == signature[q] else 0))
            start += len(nodes)
    return np.array(rows, np.int32), np.concatenate(shown)


def _item_traits(
    quasi: QuasiIdentifiers, signature: Signature, numbers: Codes, thresholds: Thresholds
) -> tuple[Codes, Counts]:
    """Return the fields of the items of a signature, and which units may go a level up."""
    owners = quasi.owners[numbers]
    is_in = np.array([level < top for level, top in zip(signature, quasi.root, strict=True)])
    attributes = (np.cumsum(is_in) - 1)[owners]
    is_anchor = quasi.reach[numbers] == np.array(signature)[owners]
    traits = np.empty((len(numbers), search.N_TRAITS), np.int32)
    traits[:, search.NUMBER] = numbers
    traits[:, search.ATTRIBUTE] = attributes
    traits[:, search.ANCHOR] = np.where(is_anchor, 1 << attributes, 0)
    traits[:, search.ORDER] = quasi.groups[numbers]
    if thresholds.mixed:
        traits[:, search.UP] = quasi.parents[numbers]
        traits[:, search.UNIT] = -1
        return traits, np.zeros(thresholds.p, np.int64)
    traits[:, search.UP] = -1
    traits[:, search.UNIT] = attributes
    units = []
    for q in np.flatnonzero(is_in).tolist():
        column, above = quasi.columns[q], signature[q] + 1
        units.append(0 if above < column.height else -1)
        if above < column.height:
            own = owners == q
            # The next more general item; itself where its branch is short.
            traits[own, search.UP] = column.first + column.cuts[above][numbers[own] - column.first]
    return traits, np.array(units, np.int64)
