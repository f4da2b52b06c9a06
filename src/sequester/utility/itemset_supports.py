"""What a release still says about items and sets of items, whatever their order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.data.codebook import Codebook
from sequester.errors import ParameterError
from sequester.mining.frequent import MAX_PATTERNS, frequent_itemsets
from sequester.mining.support import sequences_of, supports_of_codes
from sequester.utility.score import Score

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.sequences import Distinct, Sequences
    from sequester.data.table import EventTable

_KL = (
    "Kullback-Leibler divergence, in bits, of the supports in the release from those in the original, one "
    "added to each"
)

LOST_FORMULA = "number of itemsets with support at least min_support before and below it after"
LOST_REFERENCE = "Gwadera, Gkoulalas-Divanis, Loukides (2013), Motivation 3/3"
KL_FORMULA = "Σ of p log2(p / q); p, q = (support + 1) / their sum, before and after"
KL_REFERENCE = (
    "Kullback, Leibler (1951); Gwadera, Gkoulalas-Divanis, Loukides (2013), Experimental evaluation 1/3"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemsetSupports:
    """Frequent itemsets that are lost, and how far the supports of items and itemsets moved.

    The supports of all items, and those of the itemsets that are frequent in the original, are two
    distributions each, before and after: each support plus one, over their sum.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original = Sequences.from_rows(["ab", "ba", "b"])
    >>> released = Sequences.from_rows(["ab", "b", "b"])
    >>> scores = ItemsetSupports(min_support=2).score(released, original=original)
    >>> {name: round(score.value, 4) for name, score in scores.items()}
    {'lost_itemsets': 2.0, 'kl_items': 0.0283, 'kl_itemsets': 0.029}

    References
    ----------
    Gwadera, Gkoulalas-Divanis, Loukides (2013), Motivation 3/3 and Experimental evaluation 1/3.
    """

    min_support: int
    """Persons that make an itemset frequent."""
    max_length: int | None = None
    """Largest itemset that counts; without it all do."""
    max_itemsets: int = MAX_PATTERNS
    """More itemsets than this are refused."""

    def __post_init__(self) -> None:
        for name in ("min_support", "max_length", "max_itemsets"):
            value = getattr(self, name)
            if value is not None and value < 1:
                msg = f"{name} must be at least 1, got {value}"
                raise ParameterError(msg)

    def score(
        self, released: EventTable | Sequences, *, original: EventTable | Sequences
    ) -> dict[str, Score]:
        """Count ``lost_itemsets``, and measure ``kl_items`` and ``kl_itemsets``."""
        source = sequences_of(original)
        book = source.codebooks[source.symbol]
        single = np.arange(len(book), dtype=np.int32), np.arange(len(book) + 1, dtype=np.int64)
        # Both sides by one count: a person with several trips counts once.
        before, after = (_count(side, *single, book) for side in (original, released))
        found = frequent_itemsets(
            original,
            min_support=self.min_support,
            max_length=self.max_length,
            max_patterns=self.max_itemsets,
        )
        now = _count(released, found.codes, found.offsets, book)
        up_to = "" if self.max_length is None else f" and at most {self.max_length} items"
        return {
            "lost_itemsets": Score(
                value=float((now < self.min_support).sum()),
                goal="minimize",
                bounds=(0, len(found)),
                means=f"How many of the {len(found)} itemsets of at least {self.min_support} persons{up_to}, "
                "order ignored, can no longer be found.",
                formula=LOST_FORMULA,
                reference=LOST_REFERENCE,
            ),
            "kl_items": _divergence(before, after, f"{_KL}, over the {len(book)} items."),
            "kl_itemsets": _divergence(
                found.supports, now, f"{_KL}, over the {len(found)} frequent itemsets{up_to}."
            ),
        }


def _count(data: EventTable | Sequences, codes: Codes, offsets: Offsets, book: Codebook) -> Counts:
    """Count the persons of `data` who have each itemset, written in the codes of `book`."""
    sequences = sequences_of(data)
    own, rows = sequences.codebooks[sequences.symbol], sequences.distinct(sequences.symbol)
    # In the codes of `book`, so that rows and itemsets are sorted alike; any other label is behind them.
    both = Codebook((*book.labels, *(label for label in own.labels if label not in book.codes)))
    items = both.encode(own.labels)[rows.items]
    items, row_offsets = kernels.prefixspan.sort_symbols(items, rows.offsets, len(both))
    sets: Distinct = replace(rows, items=items, offsets=row_offsets)
    return supports_of_codes(codes, offsets, book, sets, both)


def _divergence(before: Counts, after: Counts, means: str) -> Score:
    p, q = (before + 1) / (before + 1).sum(), (after + 1) / (after + 1).sum()
    # Rounding may leave a little less than nothing.
    value = max(float((p * np.log2(p / q)).sum()), 0.0) if len(before) else 0.0
    return Score(
        value=value,
        goal="minimize",
        bounds=(0, None),
        means=means,
        formula=KL_FORMULA,
        reference=KL_REFERENCE,
    )
