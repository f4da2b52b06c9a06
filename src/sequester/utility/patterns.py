"""Frequent patterns and itemsets that can be mined from release and original."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sequester._validation import at_least
from sequester.data.text import Codebook
from sequester.errors import ParameterError
from sequester.mining.frequent import MAX_PATTERNS, as_sets, frequent, frequent_itemsets, mine_by_length
from sequester.mining.support import mark_patterns, sequences_of, supports_of_codes
from sequester.utility.distributions import kl_divergence
from sequester.utility.score import Score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.sequences import Sequences
    from sequester.data.table import SequenceData
    from sequester.mining.frequent import Patterns


PENSA_2008 = "Pensa, Monreale, Pinelli, Pedreschi (2008), section 5"


def _mine(data: SequenceData, *, min_support: int, max_length: int | None, max_patterns: int) -> Patterns:
    """Return the frequent patterns; few short ones without the miner, which takes seconds to compile."""
    sequences = sequences_of(data)
    book, rows = sequences.codebook, sequences.distinct()
    found = mine_by_length(rows, book, min_support, max_length, max_patterns, are_sets=False)
    if found is not None:
        return found
    return frequent(data, min_support=min_support, max_length=max_length, max_patterns=max_patterns)


def as_long_as_few(
    scores: Callable[[int | None], dict[str, Score]], lengths: Iterable[int | None]
) -> dict[str, Score]:
    """Return the scores of the first of the lengths at which patterns are not too many; none if all are."""
    for length in lengths:
        try:
            return scores(length)
        except ParameterError:  # more patterns than anybody would look at; shorter ones are fewer
            continue
    return {}


def pattern_similarity(
    released: SequenceData,
    *,
    original: SequenceData,
    min_support: int,
    max_length: int | None = None,
    max_patterns: int = MAX_PATTERNS,
) -> dict[str, Score]:
    """Return SIM1 and SIM2: how alike frequent patterns of both sides are in frequency, and in number.

    With S' and S the patterns of at least `min_support` persons in the release and in the original, and
    relative frequencies f' and f (persons who contain the pattern, over all persons with an event; a person
    with several sequences, such as trips, counts once):

    - SIM1 is the mean over S' of min(f', f) / max(f', f);
    - SIM2 is min(number of S', number of S) / max(the same).

    Both are 1 where S' and S are empty, and both are 0 where only S' is. Patterns have at most
    `max_length` items; more than `max_patterns` on either side are refused.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original = Sequences.from_rows(["ab", "ab", "ab", "b"])
    >>> released = Sequences.from_rows(["ab", "ab", "", ""])
    >>> scores = pattern_similarity(released, original=original, min_support=2)
    >>> {name: round(score.value, 3) for name, score in scores.items()}
    {'sim1': 0.833, 'sim2': 1.0}

    References
    ----------
    Pensa, Monreale, Pinelli, Pedreschi (2008), section 5, SIM1 and SIM2. The text speaks of relative
    frequencies and is silent on empty collections. It counts trajectories, and k of them for k persons; here
    k are persons, so persons are counted throughout.
    """
    after, before = sequences_of(released), sequences_of(original)
    mined, known = (
        _mine(side, min_support=min_support, max_length=max_length, max_patterns=max_patterns)
        for side in (after, before)
    )
    size = "of any length" if max_length is None else f"of at most {max_length} items"
    once = "" if before.owners is None else ", each once however many trips they have,"
    kind = f"patterns {size} that at least {min_support} persons{once} contain"
    if len(mined):
        counts = supports_of_codes(
            mined.codes, mined.offsets, mined.codebook, before.distinct(), before.codebook
        )
        # Both frequencies over one denominator; without an original record every f is 0.
        left, right = mined.supports * max(_n_records(before), 1), counts * _n_records(after)
        sim1 = float(np.mean(np.minimum(left, right) / np.maximum(left, right)))
    else:
        sim1 = 0.0 if len(known) else 1.0
    larger = max(len(mined), len(known))
    return {
        "sim1": Score(
            value=sim1,
            goal="maximize",
            means=f"How alike the relative frequencies in release and original are, on average over the "
            f"{kind} in the release; 1 is equal.",
            formula="SIM1 = mean over s in S' of min(f'(s), f(s)) / max(f'(s), f(s))",
            reference=PENSA_2008,
        ),
        "sim2": Score(
            value=min(len(mined), len(known)) / larger if larger else 1.0,
            goal="maximize",
            means=f"How alike the numbers of {kind} in release and original are, the smaller over the "
            "larger; 1 is equally many.",
            formula="SIM2 = min(|S'|, |S|) / max(|S'|, |S|)",
            reference=PENSA_2008,
        ),
    }


def _n_records(sequences: Sequences) -> int:
    """Count the persons with at least one event."""
    has_events = np.diff(sequences.person_offsets) > 0
    if sequences.owners is None:
        return int(np.count_nonzero(has_events))
    return len(np.unique(sequences.owners[has_events]))


TOP = 10
"""How many of the most frequent pairs are compared."""


def top_pairs(data: SequenceData, *, window: int, most: int = TOP) -> list[tuple[tuple[str, str], int]]:
    """List the most frequent ordered pairs with their counts; among equals the first in label order.

    A pair counts once for each two places of one person, at most `window` steps apart.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> top_pairs(Sequences.from_rows(["ababc"]), window=1, most=2)
    [(('a', 'b'), 2), (('b', 'a'), 1)]
    """
    at_least("most", most, 1)
    at_least("window", window, 1)
    sequences = sequences_of(data)
    codes = sequences.codes.astype(np.int64)
    book = sequences.codebook
    lengths = np.diff(sequences.person_offsets)
    ends = np.repeat(sequences.person_offsets[1:], lengths)
    places = np.arange(len(codes))
    keys, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    for step in range(1, min(window, int(lengths.max(initial=1)) - 1) + 1):
        first = places[places + step < ends]
        found, often = np.unique(codes[first] * len(book) + codes[first + step], return_counts=True)
        keys, at = np.unique(np.concatenate([keys, found]), return_inverse=True)
        counts = np.bincount(at, np.concatenate([counts, often]), len(keys)).astype(np.int64)
    best = np.lexsort((keys, -counts))[:most]
    return [
        ((book.labels[key // len(book)], book.labels[key % len(book)]), int(count))
        for key, count in zip(keys[best].tolist(), counts[best], strict=True)
    ]


def top_patterns(released: SequenceData, *, original: SequenceData, window: int, most: int = TOP) -> Score:
    """Return the share of the original's most frequent ordered pairs that are among those of the release.

    Where there is nothing to mine, nothing is lost.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original, released = Sequences.from_rows(["ababc"]), Sequences.from_rows(["aXaXc"])
    >>> top_patterns(released, original=original, window=1, most=2).value
    0.0

    References
    ----------
    Bonomi, Fan, Jin (2016), Figure 9.
    """
    before, after = (
        [pattern for pattern, _ in top_pairs(side, window=window, most=most)] for side in (original, released)
    )
    return Score(
        value=sum(pattern in after for pattern in before) / len(before) if before else 1.0,
        goal="maximize",
        means=f"Share of the {most} most frequent ordered pairs of symbols within {window} steps in the "
        f"original that are among the {most} of the release.",
        formula="|top n pairs before ∩ top n pairs after| / |top n pairs before|",
        reference="Bonomi, Fan, Jin (2016), Figure 9",
    )


Pattern = tuple[str, ...]

GWADERA_2013 = "Gwadera, Gkoulalas-Divanis, Loukides (2013), Background 4/4"


def side_effects(
    released: SequenceData,
    *,
    original: SequenceData,
    sensitive: frozenset[Pattern],
    min_support: int,
    max_length: int | None = None,
    max_patterns: int = MAX_PATTERNS,
) -> dict[str, Score]:
    """Return ``lost_patterns`` and ``ghost_patterns``: frequent before alone, and after alone.

    A pattern that contains a sensitive one has to go with it, and counts as neither. Patterns have at most
    `max_length` items; more than `max_patterns` on either side are refused.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original = Sequences.from_rows(["abc", "abc", "ab"])
    >>> released = Sequences.from_rows(["bac", "bac", "ab"])
    >>> hidden = frozenset({("a", "b")})
    >>> scores = side_effects(released, original=original, sensitive=hidden, min_support=2)
    >>> {name: score.value for name, score in scores.items()}
    {'lost_patterns': 0.0, 'ghost_patterns': 2.0}

    References
    ----------
    Gwadera, Gkoulalas-Divanis, Loukides (2013), Background 4/4, (II).
    """
    before, after = (
        innocent_patterns(side, sensitive, min_support, max_length, max_patterns)
        for side in (original, released)
    )
    up_to = "" if max_length is None else f" and at most {max_length} items"
    what = f"patterns of at least {min_support} persons{up_to}"
    return {
        "lost_patterns": Score(
            value=float(len(before - after)),
            bounds=(0, len(before)),
            means=f"How many of the {len(before)} {what} can no longer be found, those that had to be "
            "hidden left aside.",
            formula="|S - S'|; S, S' = frequent patterns without a sensitive one, before and after",
            reference=GWADERA_2013,
        ),
        "ghost_patterns": Score(
            value=float(len(after - before)),
            bounds=(0, None),
            means=f"How many {what} are found that were not so frequent before.",
            formula="|S' - S|; S, S' as for lost patterns",
            reference=GWADERA_2013,
        ),
    }


def innocent_patterns(
    data: SequenceData,
    sensitive: frozenset[Pattern],
    min_support: int,
    max_length: int | None = None,
    max_patterns: int = MAX_PATTERNS,
) -> set[Pattern]:
    """Return the frequent patterns that contain no sensitive one.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> released = Sequences.from_rows(["bac", "bac", "ab"])
    >>> sorted(innocent_patterns(released, frozenset({("a", "b")}), 2))
    [('a',), ('a', 'c'), ('b',), ('b', 'a'), ('b', 'a', 'c'), ('b', 'c'), ('c',)]
    """
    found = _mine(data, min_support=min_support, max_length=max_length, max_patterns=max_patterns)
    owed = _contain_any(found, sensitive)
    return {labels for labels, is_owed in zip(found.labels, owed, strict=True) if not is_owed}


def _contain_any(patterns: Patterns, sensitive: frozenset[Pattern]) -> list[bool]:
    codes = patterns.codebook.codes
    known = [each for each in sorted(sensitive) if all(label in codes for label in each)]
    if not known:
        return [False] * len(patterns)
    secrets = np.array([codes[label] for each in known for label in each], np.int32)
    offsets = np.cumsum([0, *map(len, known)]).astype(np.int64)
    marks = mark_patterns(patterns.codes, patterns.offsets, secrets, offsets)
    owed: list[bool] = np.any(marks, axis=1).tolist()
    return owed


_KL = (
    "Kullback-Leibler divergence, in bits, of the supports in the release from those in the original, one "
    "added to each"
)


def itemset_supports(
    released: SequenceData,
    *,
    original: SequenceData,
    min_support: int,
    max_length: int | None = None,
    max_patterns: int = MAX_PATTERNS,
) -> dict[str, Score]:
    """Return how many frequent itemsets are lost, and how far the supports of items and itemsets moved.

    The supports of all items, and those of the itemsets that are frequent in the original, are two
    distributions each, before and after: each support plus one, over their sum.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> original = Sequences.from_rows(["ab", "ba", "b"])
    >>> released = Sequences.from_rows(["ab", "b", "b"])
    >>> scores = itemset_supports(released, original=original, min_support=2)
    >>> {name: round(score.value, 4) for name, score in scores.items()}
    {'lost_itemsets': 2.0, 'kl_items': 0.0283, 'kl_itemsets': 0.029}

    References
    ----------
    Gwadera, Gkoulalas-Divanis, Loukides (2013), Motivation 3/3 and Experimental evaluation 1/3.
    """
    source = sequences_of(original)
    book = source.codebook
    single = np.arange(len(book), dtype=np.int32), np.arange(len(book) + 1, dtype=np.int64)
    # Both sides by one count: a person with several trips counts once.
    before, after = (_count(side, *single, book) for side in (original, released))
    sets = as_sets(source.distinct())
    found = mine_by_length(sets, book, min_support, max_length, max_patterns, are_sets=True)
    if found is None:
        found = frequent_itemsets(
            original, min_support=min_support, max_length=max_length, max_patterns=max_patterns
        )
    now = _count(released, found.codes, found.offsets, book)
    up_to = "" if max_length is None else f" and at most {max_length} items"
    return {
        "lost_itemsets": Score(
            value=float((now < min_support).sum()),
            bounds=(0, len(found)),
            means=f"How many of the {len(found)} itemsets of at least {min_support} persons{up_to}, "
            "order ignored, can no longer be found.",
            formula="number of itemsets with support at least min_support before and below it after",
            reference="Gwadera, Gkoulalas-Divanis, Loukides (2013), Motivation 3/3",
        ),
        "kl_items": _divergence(before, after, f"{_KL}, over the {len(book)} items."),
        "kl_itemsets": _divergence(
            found.supports, now, f"{_KL}, over the {len(found)} frequent itemsets{up_to}."
        ),
    }


def _count(data: SequenceData, codes: Codes, offsets: Offsets, book: Codebook) -> Counts:
    """Count the persons of `data` who have each itemset, written in the codes of `book`."""
    sequences = sequences_of(data)
    own, rows = sequences.codebook, sequences.distinct()
    # In the codes of `book`, so that rows and itemsets are sorted alike; any other label is behind them.
    both = Codebook((*book.labels, *(label for label in own.labels if label not in book.codes)))
    coded = replace(rows, items=both.encode(own.labels)[rows.items])
    return supports_of_codes(codes, offsets, book, as_sets(coded), both)


def _divergence(before: Counts, after: Counts, means: str) -> Score:
    return Score(
        value=kl_divergence(before, after),
        bounds=(0, None),
        means=means,
        formula="Σ of p log2(p / q); p, q = (support + 1) / their sum, before and after",
        reference=(
            "Kullback, Leibler (1951); Gwadera, Gkoulalas-Divanis, Loukides (2013), Experimental "
            "evaluation 1/3"
        ),
    )
