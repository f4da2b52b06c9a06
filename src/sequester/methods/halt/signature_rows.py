"""The histories in the items of one level signature, equal ones folded: what a search walks over."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.ragged import gather_rows

if TYPE_CHECKING:
    from sequester._typing import Codes, Mask
    from sequester.kernels.channels import Alphabet, Rows
    from sequester.methods.halt.axes import Axes, Signature
    from sequester.methods.halt.histories import Histories

PART = 20_000
"""Events at which a search begins that are worth a task of their own."""


@dataclass(frozen=True, eq=False)
class SignatureRows:
    """Rows and items of one signature."""

    rows: Rows
    """The histories."""
    alphabet: Alphabet
    """Their items."""

    @classmethod
    def of(
        cls,
        histories: Histories,
        axes: Axes,
        signature: Signature,
        *,
        length: int,
        is_open: Mask,
        mixed: bool,
    ) -> SignatureRows:
        """Show the histories in the items of a signature, for a search of at least `length` items.

        Of one item, all that belong to the signature are shown whose next more general one is open; otherwise
        all that are open, those of coarser levels included where levels are mixed or a branch is short.
        """
        quasi = [q for q, level in enumerate(signature) if level < axes.each[q].height]
        columns: list[tuple[int, int]] = []
        numbers_of: list[np.ndarray[tuple[int], np.dtype[np.int32]]] = []
        for place, q in enumerate(quasi):
            axis = axes.each[q]
            for level in range(signature[q], axis.height if mixed else signature[q] + 1):
                nodes = axis.cuts[level]
                is_shown = (
                    axis.reach[nodes] == level if mixed or length == 1 else np.ones(len(nodes), np.bool_)
                )
                numbers = np.where(is_shown & ~axis.is_secret[nodes], axis.first + nodes, -1)
                columns.append((place, q))
                numbers_of.append(numbers)
        shown = np.concatenate(numbers_of)
        # Of one item, the next more general one decides whether it is looked at.
        allowed = (axes.parents < 0) | is_open[axes.parents] if length == 1 else is_open
        shown = np.where((shown >= 0) & allowed[shown], shown, -1)
        numbers = np.unique(shown)
        numbers = numbers[numbers >= 0].astype(np.int32)
        item_of = np.full(axes.n_items, -1, np.int32)
        item_of[numbers] = np.arange(len(numbers), dtype=np.int32)
        sizes = [len(each) for each in numbers_of]
        map_offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        items, offsets, kept = kernels.channel_rows.project_rows(
            histories.cells,
            histories.offsets,
            histories.n_quasi,
            np.array([q for _, q in columns], np.int32),
            np.where(shown < 0, np.int32(-1), item_of[shown]),
            map_offsets,
            length,
        )
        n_columns = len(columns)
        group_of_row, first_rows = kernels.rows.fold_rows(items, offsets * n_columns)
        folded, folded_offsets = gather_rows(items, offsets * n_columns, first_rows)
        folded_offsets //= n_columns
        n_rows = len(first_rows)
        member_offsets, members = kernels.channel_rows.list_members(group_of_row, n_rows)
        values = histories.values
        starts, events = kernels.channel_rows.list_events(folded, n_columns, len(numbers))
        owners = axes.owners[numbers]
        place_of = np.full(len(axes), -1, np.int32)
        place_of[quasi] = np.arange(len(quasi), dtype=np.int32)
        levels = np.array(signature, np.int32)
        ups = _ups(axes, signature, numbers, owners, mixed=mixed)
        groups, first_of_group = np.unique(axes.groups[numbers], return_index=True)
        up_groups = np.where(ups < 0, -1, axes.groups[ups])[first_of_group]
        # Nodes are numbered depth first, so what lies below a node stands side by side.
        below_starts, below_stops = np.zeros((2, axes.n_items), np.int32)
        has_up = np.flatnonzero(ups >= 0)
        below_starts[ups[has_up[::-1]]] = has_up[::-1]
        below_stops[ups[has_up]] = has_up + 1
        return cls(
            kernels.channels.Rows(
                kernels.channel_rows.write_records(
                    folded,
                    n_columns,
                    folded_offsets,
                    np.bincount(group_of_row, histories.weights[kept], minlength=n_rows).astype(np.int32),
                    np.bincount(group_of_row, histories.risks[kept], minlength=n_rows).astype(np.int32),
                    kernels.channels.HEAD,
                ),
                n_columns,
                np.repeat(np.arange(n_rows, dtype=np.int32), np.diff(folded_offsets)),
                member_offsets,
                kept[members],
                values.offsets,
                values.codes,
                values.counts,
                int(values.totals.max(initial=0)),
                len(values.names),
            ),
            kernels.channels.Alphabet(
                numbers,
                item_of,
                ups,
                place_of[owners],
                axes.reach[numbers] == levels[owners],
                axes.reach[numbers],
                np.array([place for place, _ in columns], np.int32),
                groups,
                place_of[owners[first_of_group]],
                (axes.reach[numbers] == levels[owners])[first_of_group],
                up_groups.astype(np.int32),
                below_starts,
                below_stops,
                np.array([signature[q] + 1 < axes.each[q].height for q in quasi], np.bool_),
                mixed,
                starts,
                events,
            ),
        )

    def parts(self, length: int) -> list[range]:
        """Cut the items that a search begins with into tasks."""
        if length == 1:
            return [range(1)]
        n_items = len(self.alphabet.numbers)
        if not n_items:
            return []
        n_parts = min(max(len(self.alphabet.events) // PART, 1), n_items)
        bounds = np.searchsorted(
            self.alphabet.starts, np.linspace(0, len(self.alphabet.events), n_parts + 1)[1:-1]
        )
        edges = [0, *bounds.tolist(), n_items]
        return [range(a, b) for a, b in pairwise(edges) if a < b]


def _ups(axes: Axes, signature: Signature, numbers: Codes, owners: Codes, *, mixed: bool) -> Codes:
    """Give the next more general item of each; itself where its branch is short, -1 where it is the root."""
    if mixed:
        return axes.parents[numbers]
    ups = np.full(len(numbers), -1, np.int32)
    for q, axis in enumerate(axes.each):
        if signature[q] + 1 < axis.height:
            own = owners == q
            ups[own] = axis.first + axis.cuts[signature[q] + 1][numbers[own] - axis.first]
    return ups
