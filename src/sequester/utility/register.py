"""The register of measures: when each applies, and all of them in one go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from sequester.engine import silent
from sequester.errors import ParameterError
from sequester.utility.distributions import LengthDistribution, ValueDivergence
from sequester.utility.edits import EditDistance, ExpectedEdits, InventedItems, Transitions, edit_work
from sequester.utility.equivalence_classes import ClassificationMetric, Discernibility, LossPerGain
from sequester.utility.generalization import CertaintyPenalty, ILoss, LossMetric, Precision
from sequester.utility.patterns import ItemsetSupports, PatternSimilarity, SideEffects
from sequester.utility.queries import QueryError, draw_queries
from sequester.utility.score import Measure, ReleasePair
from sequester.utility.suppression import Suppression
from sequester.utility.times import GapDistribution, ReturnGaps, TimeToEvent, clock_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.utility.score import Score


MOST_EVENTS = 1_000_000
"""Where there are more events, measures that sort them look at a sample of persons."""
MOST_EVENTS_MINED = 100_000
"""The same for measures that mine patterns."""
MOST_EVENTS_ASKED = 20_000
"""The same for measures that ask queries or lay histories side by side."""
MOST_EDITS = 40_000_000
"""Pairs of events of one person laid side by side; where there are more, fewer persons have to do."""
N_QUERIES = 100
"""Queries that are asked where the method has asked none."""
MIN_SUPPORT = 0.005
"""Patterns of fewer persons than this share are not compared, nor are those of fewer than k."""
MAX_LENGTH = 3
"""Longer patterns are not compared."""
MAX_PATTERNS = 20_000
"""Where more patterns than this are frequent, only shorter ones are compared."""


class _OneScore(Protocol):
    """A measure that takes nothing but both sides, and gives one score."""

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> Score: ...


def _alone(name: str, measure: _OneScore) -> Callable[[ReleasePair], Mapping[str, Score]]:
    return lambda pair: {name: measure.score(pair.released, original=pair.original)}


def _suppression(pair: ReleasePair) -> Mapping[str, Score]:
    scores = Suppression(n_lost_events=pair.n_lost_events).score(pair.released, original=pair.original)
    return scores if pair.has_persons else {"suppressed_events": scores["suppressed_events"]}


def _loss_per_gain(pair: ReleasePair) -> Mapping[str, Score]:
    measure = LossPerGain(information_loss=min(pair.information_loss or 0.0, 1.0))
    return {"loss_per_privacy_gain": measure.score(pair.released, original=pair.original)}


def _edits(pair: ReleasePair) -> Mapping[str, Score]:
    view = pair
    while edit_work(view.released, view.original) > MOST_EDITS:
        if view.original.n_persons < 2:
            return {}
        view = view.sampled(view.original.n_events // 2)
    measure = EditDistance() if view.has_plain_symbols else ExpectedEdits()
    score = measure.score(view.released, original=view.original)
    return {"edit_distance": score if view is pair else view.told(score)}


def _queries(pair: ReleasePair) -> Mapping[str, Score]:
    asked = QueryError(queries=draw_queries(pair.original, N_QUERIES))
    return asked.scores(pair.released, original=pair.original)


def _least_support(pair: ReleasePair) -> int:
    return max(int(getattr(pair.model, "k", 2)), int(MIN_SUPPORT * pair.original.n_owners), 2)


def _as_long_as_few(scores: Callable[[int], Mapping[str, Score]]) -> Mapping[str, Score]:
    """Compare patterns that are as long as they may be without being too many."""
    for length in range(MAX_LENGTH, 0, -1):
        try:
            return scores(length)
        except ParameterError:  # more patterns than anybody would look at; shorter ones are fewer
            continue
    return {}


def _similarity(pair: ReleasePair) -> Mapping[str, Score]:
    support = _least_support(pair)
    return _as_long_as_few(
        lambda length: PatternSimilarity(
            min_support=support, max_length=length, max_patterns=MAX_PATTERNS
        ).score(pair.released, original=pair.original)
    )


def _side_effects(pair: ReleasePair) -> Mapping[str, Score]:
    support = _least_support(pair)
    sensitive = frozenset(getattr(pair.model, "sensitive", ()))
    return _as_long_as_few(
        lambda length: SideEffects(
            sensitive=sensitive, min_support=support, max_length=length, max_patterns=MAX_PATTERNS
        ).score(pair.released, original=pair.original)
    )


def _itemsets(pair: ReleasePair) -> Mapping[str, Score]:
    support = _least_support(pair)
    return _as_long_as_few(
        lambda length: ItemsetSupports(
            min_support=support, max_length=length, max_itemsets=MAX_PATTERNS
        ).score(pair.released, original=pair.original)
    )


COARSER = "values become coarser: quasi-identifiers, or symbols under a taxonomy"
HISTORIES = "persons keep their histories"
SYMBOLS = "events are one symbol each, released as such or not at all"

MEASURES = (
    Measure(
        names=("loss_metric",),
        phase="measuring what cells lost",
        when=COARSER,
        applies=lambda pair: pair.makes_coarser,
        run=_alone("loss_metric", LossMetric()),
    ),
    Measure(
        names=("ncp",),
        phase="measuring what cells lost",
        when=COARSER,
        applies=lambda pair: pair.makes_coarser,
        run=_alone("ncp", CertaintyPenalty()),
    ),
    Measure(
        names=("iloss",),
        phase="measuring what cells lost",
        when=COARSER,
        applies=lambda pair: pair.makes_coarser,
        run=_alone("iloss", ILoss()),
    ),
    Measure(
        names=("precision",),
        phase="measuring what cells lost",
        when=COARSER,
        applies=lambda pair: pair.makes_coarser,
        run=_alone("precision", Precision()),
    ),
    Measure(
        names=("suppressed_events", "suppressed_persons"),
        phase="counting what is missing",
        when="always; persons where they keep their histories",
        applies=lambda _: True,
        run=_suppression,
    ),
    Measure(
        names=("discernibility",),
        phase="counting who is released alike",
        when=HISTORIES,
        applies=lambda pair: pair.has_persons and pair.has_attributes,
        run=_alone("discernibility", Discernibility()),
    ),
    Measure(
        names=("classification_metric",),
        phase="guessing sensitive values",
        when="there are sensitive attributes, released with their events",
        applies=lambda pair: pair.shows_sensitive and pair.has_attributes,
        run=_alone("classification_metric", ClassificationMetric()),
        most_events=MOST_EVENTS,
    ),
    Measure(
        names=("loss_per_privacy_gain",),
        phase="counting who is released alike",
        when=f"{HISTORIES}, and the method has an information loss",
        applies=lambda pair: pair.has_persons and pair.has_attributes and pair.information_loss is not None,
        run=_loss_per_gain,
    ),
    Measure(
        names=("query_error", "query_error_spread", "query_bias"),
        phase="asking how many persons have what",
        when=HISTORIES,
        applies=lambda pair: pair.has_persons and pair.has_attributes and pair.original.n_persons > 0,
        run=_queries,
        most_events=MOST_EVENTS_ASKED,
    ),
    Measure(
        names=("sim1", "sim2"),
        phase="comparing frequent patterns",
        when=SYMBOLS,
        applies=lambda pair: pair.has_plain_symbols,
        run=_similarity,
        most_events=MOST_EVENTS_MINED,
    ),
    Measure(
        names=("lost_patterns", "ghost_patterns"),
        phase="comparing frequent patterns",
        when=SYMBOLS,
        applies=lambda pair: pair.has_plain_symbols,
        run=_side_effects,
        most_events=MOST_EVENTS_MINED,
    ),
    Measure(
        names=("lost_itemsets", "kl_items", "kl_itemsets"),
        phase="comparing itemsets",
        when=SYMBOLS,
        applies=lambda pair: pair.has_plain_symbols,
        run=_itemsets,
        most_events=MOST_EVENTS_MINED,
    ),
    Measure(
        names=("kl_values",),
        phase="comparing how often values occur",
        when="there is a symbol, or a quasi-identifier with a weight",
        applies=lambda pair: pair.has_attributes,
        run=_alone("kl_values", ValueDivergence()),
        most_events=MOST_EVENTS,
    ),
    Measure(
        names=("transition_distance", "next_event_accuracy"),
        phase="learning what follows what",
        when=HISTORIES,
        applies=lambda pair: pair.has_persons and pair.has_attributes,
        run=lambda pair: Transitions().score(pair.released, original=pair.original),
        most_events=MOST_EVENTS,
    ),
    Measure(
        names=("length_distance",),
        phase="comparing lengths and gaps",
        when=HISTORIES,
        applies=lambda pair: pair.has_persons,
        run=_alone("length_distance", LengthDistribution()),
    ),
    Measure(
        names=("gap_distance",),
        phase="comparing lengths and gaps",
        when="a quasi-identifier tells time: the time or order itself, or days since an event",
        applies=lambda pair: pair.has_persons and clock_of(pair.original) is not None,
        run=_alone("gap_distance", GapDistribution()),
        most_events=MOST_EVENTS,
    ),
    Measure(
        names=("return_distance",),
        phase="comparing lengths and gaps",
        when=SYMBOLS,
        applies=lambda pair: pair.has_plain_symbols,
        run=_alone("return_distance", ReturnGaps()),
        most_events=MOST_EVENTS,
    ),
    Measure(
        names=("edit_distance",),
        phase="counting edits",
        when=f"{HISTORIES}, and they are not too long to be laid side by side",
        applies=lambda pair: pair.has_persons and pair.has_attributes,
        run=_edits,
        most_events=MOST_EVENTS_ASKED,
    ),
    Measure(
        names=("invented_items",),
        phase="looking for items that nobody had",
        when=SYMBOLS,
        applies=lambda pair: pair.has_plain_symbols,
        run=_alone("invented_items", InventedItems()),
        most_events=MOST_EVENTS_MINED,
    ),
    Measure(
        names=("time_to_event_distance",),
        phase="drawing how soon things happen",
        when=f"{HISTORIES}, and events are symbols or have sensitive values",
        applies=lambda pair: pair.has_persons and (pair.has_symbols or pair.shows_sensitive),
        run=_alone("time_to_event_distance", TimeToEvent()),
        most_events=MOST_EVENTS,
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
    return [each for each in MEASURES if each.applies(pair)]


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
        for name, score in each.run(view).items():
            if name not in known:
                found[name] = score if view is pair else view.told(score)
    progress(1.0, "measured")
    return found
