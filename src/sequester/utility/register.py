"""The register of measures: when each applies, and all of them in one go."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from sequester.engine import silent
from sequester.utility.distributions import kl_values, length_distance, transitions
from sequester.utility.edits import edit_distance, edit_work, expected_edits, invented_items, suppression
from sequester.utility.generalization import (
    classification_metric,
    discernibility,
    iloss,
    loss_metric,
    loss_per_privacy_gain,
    ncp,
    precision,
)
from sequester.utility.patterns import as_long_as_few, itemset_supports, pattern_similarity, side_effects
from sequester.utility.queries import QueryError, draw_queries
from sequester.utility.score import Condition, Measure, ReleasePair
from sequester.utility.times import clock_of, gap_distance, return_distance, time_to_event_distance

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester.engine import Progress
    from sequester.utility.score import Run, Score


MOST_EVENTS = 1_000_000
"""Where there are more events, measures that sort them look at a sample of persons."""
MOST_EVENTS_MINED = 100_000
"""The same for measures that mine patterns."""
MOST_EVENTS_ASKED = 20_000
"""The same for measures that ask queries or compare histories pairwise."""
MOST_EDITS = 40_000_000
"""Pairs of events of one person that are compared; where there are more, fewer persons have to do."""
N_QUERIES = 100
"""Queries that are asked where the method has asked none."""
MIN_SUPPORT = 0.005
"""Patterns of fewer persons than this share are not compared, nor are those of fewer than k."""
LENGTHS = (3, 2, 1)
"""Lengths up to which patterns are compared: the first at which they are not too many."""
MAX_PATTERNS = 20_000
"""Where more patterns than this are frequent, only shorter ones are compared."""


def _suppression(pair: ReleasePair) -> Mapping[str, Score]:
    scores = suppression(pair.released, original=pair.original, n_lost_events=pair.n_lost_events)
    return scores if pair.has_persons else {"suppressed_events": scores["suppressed_events"]}


def _loss_per_gain(pair: ReleasePair) -> Score:
    loss = min(pair.information_loss or 0.0, 1.0)
    return loss_per_privacy_gain(pair.released, original=pair.original, information_loss=loss)


def _edits(pair: ReleasePair) -> Mapping[str, Score]:
    view = pair
    while edit_work(view.released, view.original) > MOST_EDITS:
        if view.original.n_persons < 2:
            return {}
        view = view.sampled(view.original.n_events // 2)
    measure = edit_distance if view.has_plain_symbols else expected_edits
    score = measure(view.released, original=view.original)
    return {"edit_distance": score if view is pair else view.with_note(score)}


def _queries(pair: ReleasePair) -> Mapping[str, Score]:
    asked = QueryError(queries=draw_queries(pair.original, N_QUERIES))
    return asked.scores(pair.released, original=pair.original)


def _patterns(
    measure: Callable[..., dict[str, Score]], pair: ReleasePair, **given: object
) -> Mapping[str, Score]:
    """Run a measure of frequent patterns, with the longest ones that are not too many."""
    support = max(int(getattr(pair.model, "k", 2)), int(MIN_SUPPORT * pair.original.n_owners), 2)
    return as_long_as_few(
        lambda length: measure(
            pair.released,
            original=pair.original,
            min_support=support,
            max_length=length,
            max_patterns=MAX_PATTERNS,
            **given,
        ),
        LENGTHS,
    )


def _side_effects(pair: ReleasePair) -> Mapping[str, Score]:
    return _patterns(side_effects, pair, sensitive=frozenset(getattr(pair.model, "sensitive", ())))


def _plain(measure: Callable[..., Score | Mapping[str, Score]]) -> Run:
    """Return a measure that needs only both sides."""
    return lambda pair: measure(pair.released, original=pair.original)


def _has_histories(pair: ReleasePair) -> bool:
    return pair.has_persons and pair.has_attributes


_KEPT = "persons keep their histories"
COARSER = Condition(
    "values become coarser: quasi-identifiers, or symbols under a taxonomy", attrgetter("makes_coarser")
)
PERSONS = Condition(_KEPT, attrgetter("has_persons"))
HISTORIES = Condition(_KEPT, _has_histories)
SYMBOLS = Condition(
    "events are one symbol each, released as such or not at all", attrgetter("has_plain_symbols")
)
_CELLS, _ALIKE, _LENGTHS, _MINING = (
    "measuring what cells lost",
    "measuring equivalence classes",
    "comparing lengths and gaps",
    "comparing frequent patterns",
)

MEASURES = (
    Measure("loss_metric", _plain(loss_metric), _CELLS, COARSER),
    Measure("ncp", _plain(ncp), _CELLS, COARSER),
    Measure("iloss", _plain(iloss), _CELLS, COARSER),
    Measure("precision", _plain(precision), _CELLS, COARSER),
    Measure(
        "suppressed_events suppressed_persons",
        _suppression,
        "counting what is missing",
        Condition("always; persons where they keep their histories", lambda _: True),
    ),
    Measure("discernibility", _plain(discernibility), _ALIKE, HISTORIES),
    Measure(
        "classification_metric",
        _plain(classification_metric),
        "guessing sensitive values",
        Condition(
            "there are sensitive attributes, released with their events",
            lambda pair: pair.shows_sensitive and pair.has_attributes,
        ),
        MOST_EVENTS,
    ),
    Measure(
        "loss_per_privacy_gain",
        _loss_per_gain,
        _ALIKE,
        Condition(
            f"{_KEPT}, and the method has an information loss",
            lambda pair: _has_histories(pair) and pair.information_loss is not None,
        ),
    ),
    Measure(
        "query_error query_error_spread query_bias",
        _queries,
        "asking how many persons have what",
        Condition(_KEPT, lambda pair: _has_histories(pair) and pair.original.n_persons > 0),
        MOST_EVENTS_ASKED,
    ),
    Measure("sim1 sim2", partial(_patterns, pattern_similarity), _MINING, SYMBOLS, MOST_EVENTS_MINED),
    Measure("lost_patterns ghost_patterns", _side_effects, _MINING, SYMBOLS, MOST_EVENTS_MINED),
    Measure(
        "lost_itemsets kl_items kl_itemsets",
        partial(_patterns, itemset_supports),
        "comparing itemsets",
        SYMBOLS,
        MOST_EVENTS_MINED,
    ),
    Measure(
        "kl_values",
        _plain(kl_values),
        "comparing how often values occur",
        Condition("there is a symbol, or a quasi-identifier with a weight", attrgetter("has_attributes")),
        MOST_EVENTS,
    ),
    Measure(
        "transition_distance next_event_accuracy",
        _plain(transitions),
        "learning what follows what",
        HISTORIES,
        MOST_EVENTS,
    ),
    Measure("length_distance", _plain(length_distance), _LENGTHS, PERSONS),
    Measure(
        "gap_distance",
        _plain(gap_distance),
        _LENGTHS,
        Condition(
            "a quasi-identifier tells time: the time or order itself, or days since an event",
            lambda pair: pair.has_persons and clock_of(pair.original) is not None,
        ),
        MOST_EVENTS,
    ),
    Measure("return_distance", _plain(return_distance), _LENGTHS, SYMBOLS, MOST_EVENTS),
    Measure(
        "edit_distance",
        _edits,
        "counting edits",
        Condition(f"{_KEPT}, and they are not too long to be compared pairwise", _has_histories),
        MOST_EVENTS_ASKED,
    ),
    Measure(
        "invented_items",
        _plain(invented_items),
        "looking for items that nobody had",
        SYMBOLS,
        MOST_EVENTS_MINED,
    ),
    Measure(
        "time_to_event_distance",
        _plain(time_to_event_distance),
        "drawing how soon things happen",
        Condition(
            f"{_KEPT}, and events are symbols or have sensitive values",
            lambda pair: pair.has_persons and (pair.has_symbols or pair.shows_sensitive),
        ),
        MOST_EVENTS,
    ),
)
"""All of them, in the order in which a release shows them."""


def applicable(pair: ReleasePair) -> list[Measure]:
    """List the measures that say something about a release, in the order of the register.

    Examples
    --------
    >>> from sequester.privacy import SequenceKAnonymity
    >>> from sequester.testing import symbol_table
    >>> from sequester.utility.score import ReleasePair
    >>> table = symbol_table(["ab", "ab"])
    >>> pair = ReleasePair(released=table.sequences, original=table, model=SequenceKAnonymity(k=2))
    >>> [name for each in applicable(pair) for name in each.names][:3]
    ['suppressed_events', 'suppressed_persons', 'discernibility']
    """
    return [each for each in MEASURES if each.when.holds(pair)]


def measure_all(
    pair: ReleasePair, *, known: Mapping[str, Score] | None = None, progress: Progress = silent
) -> dict[str, Score]:
    """Find every score that applies and is not `known` yet.

    What is looked at depends on the size of the data alone, never on the clock, so that a run can be
    repeated. Where a sample of persons has to do, the score says so.
    """
    known = known or {}
    asked = [each for each in applicable(pair) if not set(each.names) <= known.keys()]
    views: dict[int | None, ReleasePair] = {None: pair}
    found: dict[str, Score] = {}
    for number, each in enumerate(asked):
        progress(number / len(asked), each.phase)
        if each.most_events not in views:
            views[each.most_events] = pair.sampled(each.most_events or pair.original.n_events)
        view = views[each.most_events]
        scores = each.run(view)
        for name, score in (scores if isinstance(scores, Mapping) else {each.names[0]: scores}).items():
            if name not in known:
                found[name] = score if view is pair else view.with_note(score)
    progress(1.0, "measured")
    return found
