"""Mobility: origins and destinations, visits, trip lengths, displacement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sequester._validation import one_of
from sequester.data.text import Codebook
from sequester.errors import ParameterError
from sequester.kernels.compiler import njit
from sequester.mining.support import sequences_of
from sequester.ragged import gather_rows
from sequester.utility.edits import pair_sequences
from sequester.utility.score import Score

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.places import Regions
    from sequester.data.table import SequenceData

    Amounts = npt.NDArray[np.float64]


HOTSPOTS = 10
"""How many of the most visited regions are compared."""


def mobility(released: SequenceData, *, original: SequenceData, hotspots: int = HOTSPOTS) -> dict[str, Score]:
    """Compare sequences of regions as wholes; whose they are does not matter.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original, released = Sequences.from_rows(["abc", "ac", "b"]), Sequences.from_rows(["abc", "abc", ""])
    >>> {name: round(score.value, 3) for name, score in mobility(released, original=original).items()}
    {'od_error': 0.333, 'visit_error': 0.0, 'trip_length_error': 1.0, 'hotspot_overlap': 1.0}
    """
    sides = [sequences_of(data) for data in (released, original)]
    books = [side.codebook for side in sides]
    both = Codebook.of(label for book in books for label in book.labels)
    after, before = (
        (both.encode(book.labels)[side.codes], side.person_offsets)
        for side, book in zip(sides, books, strict=True)
    )
    visits_after, visits_before = (np.bincount(codes, minlength=len(both)) for codes, _ in (after, before))
    return {
        "od_error": Score(
            value=_total_variation(_ends(*after, len(both)), _ends(*before, len(both))),
            means="Origin-destination matrix: the share of trips that would have to change their first or "
            "last region, each matrix as shares of its trips; 0 is the same matrix.",
            formula="½ Σ over pairs of regions of |share of trips from o to d, before - after|",
            reference="Total variation of two origin-destination matrices",
        ),
        "visit_error": Score(
            value=float(np.abs(visits_after - visits_before).sum() / max(visits_before.sum(), 1)),
            bounds=(0, None),
            means="Visits per region: absolute differences added up over regions, as a share of all original "
            "visits; 0 is none.",
            formula="Σ over regions of |visits before - visits after| / visits before",
            reference="Relative error of counts",
        ),
        "trip_length_error": Score(
            value=abs(_mean_length(after[1]) - _mean_length(before[1])),
            bounds=(0, None),
            means="Regions per trip, on average: the difference between the trips that are released and all "
            "original ones; 0 is none.",
            formula="|events per released trip - events per original trip|",
            reference="Difference of means",
        ),
        "hotspot_overlap": Score(
            value=_overlap(visits_after, visits_before, hotspots),
            goal="maximize",
            means=f"Share of the {hotspots} most visited regions of the original that are among the "
            f"{hotspots} most visited of the release; 1 is all.",
            formula="|top n of the original ∩ top n of the release| / |top n of the original|",
            reference="Precision at n",
        ),
    }


def _ends(codes: Codes, offsets: Offsets, n_labels: int) -> Counts:
    """Number the first and last region of each trip as one; those without events have none."""
    present = np.flatnonzero(np.diff(offsets))
    first, last = codes[offsets[present]], codes[offsets[present + 1] - 1]
    return first.astype(np.int64) * n_labels + last


def _total_variation(after: Counts, before: Counts) -> float:
    """Return the total variation distance of two lists of values; 1 where only one of them has any."""
    if not len(after) or not len(before):
        return float(len(after) != len(before))
    values, places = np.unique(np.concatenate([after, before]), return_inverse=True)
    shares = [np.bincount(each, minlength=len(values)) / len(each) for each in np.split(places, [len(after)])]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _mean_length(offsets: Offsets) -> float:
    lengths = np.diff(offsets)
    return float(lengths.sum() / max(np.count_nonzero(lengths), 1))


def _overlap(after: Counts, before: Counts, hotspots: int) -> float:
    """Return the share of the top of the original that is in that of the release; all where there is none."""
    tops = []
    for visits in (after, before):
        most = np.argsort(-visits, kind="stable")[:hotspots]
        tops.append({int(place) for place in most if visits[place] > 0})
    return len(tops[0] & tops[1]) / len(tops[1]) if tops[1] else 1.0


MOST_SYMBOLS = 10_000
"""Above, the distances between all pairs of regions take more memory than the answer is worth."""

Side = Literal["original", "released"]
"""Whose visits are followed."""
_MEANS = {
    "original": "Metres from a visited region to one that is released instead, middle to middle and in the "
    "same order, on average over the visits of those who are released; 0 says that all are still there.",
    "released": "Metres from a released region to one that was visited, middle to middle and in the same "
    "order, on average over the released visits; 0 says that no visit was made up.",
}


def displacement(
    released: SequenceData,
    *,
    original: SequenceData,
    regions: Regions,
    side: Side = "original",
) -> Score:
    """Return the metres from a visited region to one that is released of its person, in order, on average.

    Every visit of one side is matched with one of the other, later ones with the same or later ones, so that
    the sum of distances between the middles of regions is least. From the original to the release it says how
    far the visits were moved that took place; the other way how far from everything are those that are shown:
    a made-up visit far away shows only there. Who is not released does not count: nothing is near to nothing.
    Where nobody is released the displacement is 0.

    Examples
    --------
    >>> from sequester.data.places import Regions, box
    >>> from sequester.data.sequences import Sequences
    >>> regions = Regions({"a": box(0, 0, 0.01, 0.01), "b": box(0, 0.01, 0.01, 0.02)}, {"a": (), "b": ()})
    >>> original = Sequences.from_rows(["ab", "a"])
    >>> round(displacement(original, original=original, regions=regions).value)
    0
    >>> moved = Sequences.from_rows(["a", "ab"])
    >>> round(displacement(moved, original=original, regions=regions).value)
    371
    >>> more = Sequences.from_rows(["ab", "ab"])
    >>> round(displacement(more, original=original, regions=regions, side="released").value)
    278
    """
    one_of("side", side, get_args(Side))
    pairs = pair_sequences(released, original)
    if pairs.n_symbols > MOST_SYMBOLS:
        msg = f"displacement needs at most {MOST_SYMBOLS:,} symbols, there are {pairs.n_symbols:,}"
        raise ParameterError(msg)
    books = [each.codebook.labels for each in map(sequences_of, (released, original))]
    metres = regions.metres(Codebook.of(label for book in books for label in book).labels)
    before = gather_rows(pairs.before.items, pairs.before.offsets, pairs.before_rows)
    after = gather_rows(pairs.after.items, pairs.after.offsets, pairs.after_rows)
    here, there = (before, after) if side == "original" else (after, before)
    sums = lay_over(*there, *here, metres)
    is_both = (np.diff(here[1]) > 0) & (np.diff(there[1]) > 0)
    n_visits = int((np.diff(here[1]) * is_both) @ pairs.weights)
    return Score(
        value=float(sums @ pairs.weights) / max(n_visits, 1),
        bounds=(0, None),
        means=_MEANS[side],
        formula="least Σ over visits of metres(visit, visit of the other side), in order, / visits",
        reference="Sakoe, Chiba (1978), with every visit of one side matched",
    )


@njit
def lay_over(
    items: Codes, offsets: Offsets, path_items: Codes, path_offsets: Offsets, metres: Amounts
) -> Amounts:
    """Return the least sum of metres from the items of each path to items of its row, matched in order.

    Several items of a path may be matched with one of the row. ``metres[a, b]`` is the way from ``a`` to
    ``b``; an empty row is 0 away from everything.
    """
    sums = np.zeros(offsets.size - 1, np.float64)
    for row in range(offsets.size - 1):
        start, size = offsets[row], offsets[row + 1] - offsets[row]
        if size == 0:
            continue
        costs = np.zeros(size, np.float64)
        for i in range(path_offsets[row], path_offsets[row + 1]):
            least = np.inf
            for place in range(size):
                least = min(least, costs[place])
                costs[place] = least + metres[path_items[i], items[start + place]]
        sums[row] = costs.min()
    return sums
