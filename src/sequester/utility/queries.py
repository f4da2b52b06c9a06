"""How far counts that are estimated from a release lie from those of the original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from sequester._validation import at_least
from sequester.data.table import EventTable
from sequester.engine import LocalEngine, part, silent
from sequester.errors import ParameterError
from sequester.hierarchies.labels import quoted
from sequester.kernels.compiler import njit
from sequester.kernels.rows import fold_rows
from sequester.ragged import gather_rows, index_codes, keep_values, owners_of
from sequester.utility.score import Score, attribute_weights, unit_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.sequences import Sequences
    from sequester.data.table import SequenceData
    from sequester.engine import Engine, Progress
    from sequester.hierarchies.hierarchy import Hierarchy

    Amounts = npt.NDArray[np.float64]
    Condition = list[tuple[int, Amounts]]
    """Columns, of which one must have what is asked for, with the chance of each code to be it."""


SEHATKAR_2014 = "Sehatkar (2014), section 6.1, average relative error"


@dataclass(frozen=True, slots=True)
class Query:
    """Counts the persons who have some events, one after the other, with any others in between.

    Examples
    --------
    >>> query = Query(({"LOS": ("[0:1)",), "Disease": ("Diabetes",)},))
    >>> print(query)
    LOS in [0:1) and Disease in Diabetes
    """

    events: tuple[Mapping[str, tuple[str, ...]], ...]
    """What each event must have: attribute to the values that will do. Of a quasi-identifier, or of a symbol
    with a hierarchy, any nodes may be named, which stand for all leaves below them; of a sensitive attribute,
    or of a symbol without one, values."""

    def __post_init__(self) -> None:
        given: object = self.events  # Python lets anything through.
        if (
            not isinstance(given, tuple)
            or not all(isinstance(each, Mapping) and each for each in given)
            or not given
        ):
            msg = f"a query must have events, and each must ask for something, got {given!r}"
            raise ParameterError(msg)

    def __str__(self) -> str:
        return " → ".join(
            " and ".join(f"{name} in {', '.join(labels)}" for name, labels in event.items())
            for event in self.events
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryError:
    """The mean over queries of how far the estimated count lies from the true one, as a share of that.

    A generalized value is any leaf below it with the same probability, and different cells are independent:
    the estimate adds up, over persons, the exact probability that they have what is asked for. A true count
    of 0 counts as 1 when an error is divided by it.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.hierarchies import Hierarchy
    >>> stay = Hierarchy.from_tree({"short": ["1", "2"], "long": ["30"]})
    >>> frame = pl.DataFrame({"who": ["a", "a", "b"], "n": [1, 2, 1], "stay": ["1", "1", "30"]})
    >>> original = EventTable(frame, Schema(person="who", order="n", quasi={"stay": stay}))
    >>> released = EventTable(
    ...     frame.with_columns(stay=pl.Series(["short", "short", "30"])),
    ...     Schema(person="who", order="n", quasi={"stay": stay}, released=True),
    ... )
    >>> measure = QueryError(queries=[Query(({"stay": ("1",)},))])
    >>> measure.expected(released, original=original).tolist()  # 1 - 1/2 * 1/2: one person, two chances
    [0.75]
    >>> measure.score(released, original=original).value
    0.25

    References
    ----------
    Sehatkar (2014), section 6.1, average relative error. The thesis is silent on counts of 0 and on persons
    with several events that may fit.
    """

    queries: Sequence[Query]
    """What is asked."""

    def __post_init__(self) -> None:
        if not self.queries:
            msg = "queries must not be empty"
            raise ParameterError(msg)
        object.__setattr__(self, "queries", tuple(self.queries))

    def expected(
        self,
        released: SequenceData,
        *,
        original: EventTable,
        engine: Engine | None = None,
        progress: Progress = silent,
    ) -> Amounts:
        """Estimate each count from a release; from the original itself, the estimate is the count."""
        sequences = released.sequences if isinstance(released, EventTable) else released
        columns = _columns_of(self.queries, original, sequences)
        histories = _Histories.of(sequences, columns)

        @cache
        def chances(name: str, column: str, labels: tuple[str, ...]) -> Amounts:
            """Return how likely each code of a column is what is asked for."""
            tree = original.hierarchies.get(column) if _has_nodes(name, original) else None
            return _chances(sequences.codebooks[column].labels, labels, tree)

        def conditions(event: Mapping[str, tuple[str, ...]]) -> list[Condition]:
            """Return what an event must have."""
            return [
                [(columns[each], chances(name, each, tuple(labels))) for each in _sources(name, original)]
                for name, labels in event.items()
            ]

        asked = [[conditions(event) for event in query.events] for query in self.queries]
        engine = engine or LocalEngine()
        parts = engine.map(
            _expect,
            [asked[shard.start : shard.stop] for shard in engine.split(len(asked))],
            shared=histories,
            progress=progress,
            phase="answering count queries",
        )
        return np.array([expected for shard in parts for expected in shard], np.float64)

    def scores(
        self,
        released: SequenceData,
        *,
        original: EventTable,
        engine: Engine | None = None,
        progress: Progress = silent,
    ) -> dict[str, Score]:
        """Return the error, its spread over the queries, and the bias that suppressed events bring."""
        before, after = part(progress, 0.0, 0.5), part(progress, 0.5, 1.0)
        truth = self.expected(original, original=original, engine=engine, progress=before)
        estimates = self.expected(released, original=original, engine=engine, progress=after)
        errors = (estimates - np.round(truth)) / np.maximum(np.round(truth), 1)
        kind = f"{len(self.queries):,} counts of {unit_of(original)}s"
        return {
            "query_error": Score(
                value=float(np.abs(errors).mean()),
                bounds=(0, None),
                means=f"How far {kind} that are estimated from the release lie from the true ones, as a "
                "share of the true ones, on average; 0 is exact.",
                formula="mean over queries of |estimate - count| / max(count, 1)",
                reference=SEHATKAR_2014,
            ),
            "query_error_spread": Score(
                value=float(np.abs(errors).std()),
                bounds=(0, None),
                means=f"The standard deviation of that error over the {kind}.",
                formula="standard deviation over queries of |estimate - count| / max(count, 1)",
                reference=SEHATKAR_2014,
            ),
            "query_bias": Score(
                value=float(errors.mean()),
                bounds=(-1, None),
                means=f"By how much {kind} are estimated too high on average, as a share of the true ones; "
                "below 0 they are estimated too low, as suppressed events make them.",
                formula="mean over queries of (estimate - count) / max(count, 1)",
                reference=SEHATKAR_2014,
            ),
        }

    def score(self, released: SequenceData, *, original: EventTable) -> Score:
        """Return the average relative error."""
        return self.scores(released, original=original)["query_error"]


def _sources(name: str, original: EventTable) -> tuple[str, ...]:
    """Return the columns that a condition is about; an unknown attribute is refused."""
    schema = original.schema
    if _has_nodes(name, original):
        return (name,)
    if name in schema.sensitive:
        return schema.sensitive[name].columns
    symbol = () if original.symbol is None else (original.symbol,)
    known = ", ".join((*symbol, *schema.quasi, *schema.sensitive))
    kinds = "symbol, quasi-identifier or sensitive attribute"
    msg = f"queries ask for {quoted(name)}, which is no {kinds}: {known}"
    raise ParameterError(msg)


def _has_nodes(name: str, original: EventTable) -> bool:
    """Return whether nodes of a tree can be asked for, rather than values."""
    return name in original.schema.quasi or name == original.symbol


def _columns_of(queries: Sequence[Query], original: EventTable, sequences: Sequences) -> dict[str, int]:
    """Number the columns that queries look at."""
    names = dict.fromkeys(
        column
        for query in queries
        for event in query.events
        for name in event
        for column in _sources(name, original)
    )
    missing = [name for name in names if name not in sequences.columns]
    if missing:
        msg = f"queries ask for {quoted(missing[0])}, and the release has no such column"
        raise ParameterError(msg)
    return {name: place for place, name in enumerate(names)}


@dataclass(frozen=True, slots=True)
class _Histories:
    """The cells of some columns, histories that are equal in them as one with a weight."""

    cells: Codes
    """Event and column to its code."""
    offsets: Offsets
    """History ``h`` has the events ``offsets[h]`` to ``offsets[h + 1]``."""
    weights: Counts
    """Persons who have each."""
    starts: tuple[Offsets, ...]
    """Code ``c`` of a column is in the histories ``holders[starts[c]:starts[c + 1]]``."""
    holders: tuple[Codes, ...]
    """A history may be there several times."""

    @classmethod
    def of(cls, sequences: Sequences, columns: Mapping[str, int]) -> _Histories:
        """Fold equal histories, and list who has which code."""
        size = len(columns)
        cells = np.stack([sequences.columns[name] for name in columns], axis=1).reshape(-1)
        groups, firsts = fold_rows(cells, sequences.person_offsets * size)
        flat, offsets = gather_rows(cells, sequences.person_offsets * size, firsts)
        rows, offsets = flat.reshape(-1, size), offsets // size
        weights = np.bincount(groups, minlength=len(firsts)).astype(np.int64)
        owners = owners_of(offsets).astype(np.int32)
        starts, places = zip(
            *(index_codes(rows[:, at], len(sequences.codebooks[name])) for name, at in columns.items()),
            strict=True,
        )
        return cls(rows, offsets, weights, starts, tuple(owners[each] for each in places))

    def expect(self, events: Sequence[list[Condition]]) -> float:
        """Add up the probabilities that persons have all events, in order."""
        rows, offsets, weights = self._candidates([condition for event in events for condition in event])
        chances = np.stack([self._event_chances(event, rows) for event in events], axis=1)
        if len(events) > 1:
            chances, offsets = keep_values(chances, offsets, chances.max(axis=1) > 0)
            return float(match_in_order(chances, offsets, weights, np.empty(len(events) + 1)))
        # Every history here has events.
        missed = np.multiply.reduceat(1 - chances[:, 0], offsets[:-1]) if len(rows) else np.empty(0)
        return float(weights @ (1 - missed))

    def _candidates(self, conditions: Sequence[Condition]) -> tuple[Counts, Offsets, Counts]:
        """Return the events of those who may have what the rarest condition asks for, and their weights."""
        is_candidate = np.diff(self.offsets) > 0
        asked = [[(column, np.flatnonzero(table)) for column, table in each] for each in conditions]
        sizes = [
            sum(int(np.diff(self.starts[column])[codes].sum()) for column, codes in each) for each in asked
        ]
        if 2 * min(sizes) < len(self.cells):
            is_candidate = np.zeros(len(self.weights), np.bool_)
            for column, codes in asked[int(np.argmin(sizes))]:
                is_candidate[gather_rows(self.holders[column], self.starts[column], codes)[0]] = True
        chosen = np.flatnonzero(is_candidate)
        rows, offsets = gather_rows(np.arange(len(self.cells)), self.offsets, chosen)
        return rows, offsets, self.weights[chosen]

    def _event_chances(self, conditions: Sequence[Condition], rows: Counts) -> Amounts:
        """Return the probability that each event has all that is asked for."""
        chances = np.ones(len(rows))
        for condition in conditions:
            missed = np.ones(len(rows))
            for column, table in condition:
                missed *= 1 - table[self.cells[rows, column]]
            chances *= 1 - missed
        return chances


@njit
def match_in_order(chances: Amounts, offsets: Offsets, weights: Counts, matched: Amounts) -> float:
    """Add up the probabilities that persons have some events in order.

    Row ``r`` of `chances` says how likely an event is each of those asked for, in their order; history ``h``
    has the rows ``offsets[h]`` to ``offsets[h + 1]`` and stands for ``weights[h]`` persons. Events are
    independent. An event that fits the next one asked for always takes its place, so the number of events
    matched so far is all there is to remember: `matched` is room for it, one longer than what is asked for.
    """
    n_asked = chances.shape[1]
    expected = 0.0
    for history in range(offsets.size - 1):
        for place in range(n_asked + 1):
            matched[place] = 0.0
        matched[0] = 1.0
        for row in range(offsets[history], offsets[history + 1]):
            for place in range(n_asked - 1, -1, -1):
                moved = matched[place] * chances[row, place]
                matched[place] -= moved
                matched[place + 1] += moved
        expected += weights[history] * matched[n_asked]
    return expected


def _expect(asked: list[list[list[Condition]]], histories: _Histories) -> list[float]:
    """Estimate how many persons have what each query asks for."""
    return [histories.expect(events) for events in asked]


def _chances(shown: Sequence[str], wanted: Sequence[str], tree: Hierarchy | None) -> Amounts:
    """Return, for each label that is shown, the share of its leaves that are wanted."""
    if tree is None:
        return np.array([label in wanted for label in shown], np.float64)
    asked = sorted({*tree.nodes(wanted).tolist()})
    # Of a node and one below it, the one below adds nothing.
    tops = [node for node in asked if not any(up < node < tree.subtree_end[up] for up in asked)]
    shares: Amounts = sum((_leaf_shares(tree, top) for top in tops), np.zeros(len(tree)))
    return shares[tree.nodes(shown)]


def _leaf_shares(tree: Hierarchy, top: int) -> Amounts:
    """Return for each node the share of its leaves that lie at or below `top`."""
    nodes = np.arange(len(tree))
    is_below = (nodes >= top) & (nodes < tree.subtree_end[top])
    is_above = (nodes <= top) & (tree.subtree_end > top)
    return np.where(is_below, 1.0, np.where(is_above, tree.leaves[top] / tree.leaves, 0.0))


N_QUERIES = 1_000
"""Queries of a workload."""


def draw_queries(
    table: EventTable, n: int = N_QUERIES, *, most_events: int = 3, most_items: int = 3, seed: int = 0
) -> list[Query]:
    """Draw queries: a person, up to `most_events` of their events, and up to `most_items` values of each.

    Half of the queries are about one event, the others about several in their order where the person has
    several. Every value is asked for as it was, or as coarse as one of the levels below the root of its
    tree. Attributes with more weight are asked for more often, those without weight never.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> frame = pl.DataFrame({"who": ["a", "b"], "n": [1, 1], "stay": ["1", "30"]})
    >>> table = EventTable(frame, Schema(person="who", order="n", quasi={"stay": Hierarchy.flat()}))
    >>> [str(query) for query in draw_queries(table, 3)]
    ['stay in 30', 'stay in 30', 'stay in 30']

    References
    ----------
    Sehatkar (2014), section 6.1: a workload of 1,000 random combinations of values in an event and across
    events.
    """
    for name, value in (("n", n), ("most_events", most_events), ("most_items", most_items)):
        at_least(name, value, 1)
    if not table.n_persons:
        msg = "queries are drawn from persons, and the table has none"
        raise ParameterError(msg)
    draw = np.random.default_rng(seed)
    weights = attribute_weights(table)
    if not weights:
        msg = "queries ask for a symbol or for quasi-identifiers with a weight, and there are none"
        raise ParameterError(msg)
    return [_draw(table, weights, draw, most_events if i % 2 else 1, most_items) for i in range(n)]


def _draw(
    table: EventTable, weights: dict[str, float], draw: np.random.Generator, most_events: int, most_items: int
) -> Query:
    names, total = list(weights), sum(weights.values())
    chances = None if len({*weights.values()}) == 1 else [weight / total for weight in weights.values()]
    person = int(draw.integers(table.n_persons))
    start, stop = (int(each) for each in table.person_offsets[person : person + 2])
    size = int(draw.integers(1, min(most_events, stop - start) + 1))
    events = []
    for event in np.sort(draw.choice(np.arange(start, stop), size, replace=False)):
        chosen = draw.choice(
            len(names), int(draw.integers(1, min(most_items, len(names)) + 1)), replace=False, p=chances
        )
        asked = {}
        for place in np.sort(chosen):
            name = names[place]
            tree, sequences = table.hierarchies.get(name), table.sequences
            label = sequences.codebooks[name].labels[sequences.columns[name][event]]
            asked[name] = (
                label if tree is None else tree.generalize(label, int(draw.integers(tree.height))),
            )
        events.append(asked)
    return Query(tuple(events))


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowQuery:
    """Asks how many records between two snapshots have one of some values of each attribute."""

    start: int
    """The first snapshot."""
    stop: int
    """The last snapshot."""
    below: Mapping[str, int]
    """Quasi-identifier to the node that its value must lie at or below; others may have any value."""
    value: int | None
    """The code of the sensitive value; None for any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordView:
    """Records as a recipient has them: each in one or several snapshots, with what is told of it."""

    first: Counts
    """The first snapshot in which a record may have come."""
    last: Counts
    """The last one."""
    nodes: Mapping[str, Codes]
    """The node of each quasi-identifier."""
    groups: Counts
    """The row of `shares` that tells the sensitive value of a record."""
    shares: Amounts
    """Per group the share of each sensitive value; 1 and 0 where the value itself is told."""

    def expect(self, query: WindowQuery, trees: Mapping[str, Hierarchy]) -> float:
        """Return the expected number of records; what is not told is taken as uniform and independent."""
        inside = np.minimum(self.last, query.stop) - np.maximum(self.first, query.start) + 1
        rows = np.flatnonzero(inside > 0)
        weight = inside[rows] / (self.last[rows] - self.first[rows] + 1)
        for name, top in query.below.items():
            weight = weight * _leaf_shares(trees[name], top)[self.nodes[name][rows]]
        if query.value is not None:
            weight = weight * self.shares[self.groups[rows], query.value]
        return float(weight.sum())


def draw_window_queries(
    view: RecordView,
    trees: Mapping[str, Hierarchy],
    *,
    weights: Mapping[str, float],
    length: int,
    count: int,
    seed: int,
) -> list[WindowQuery]:
    """Draw queries over `length` snapshots that at least one of the original records answers.

    Around a random record: a random window, of each quasi-identifier a random node above its value or none,
    and its sensitive value or none. The quasi-identifiers with most weight are in every other query, those
    with less in proportion.
    """
    heaviest = max(weights.values(), default=1.0) or 1.0
    chance = np.random.default_rng([seed, length])
    queries = []
    for row in chance.integers(0, len(view.first), count).tolist():
        start = int(view.first[row]) - int(chance.integers(0, length))
        below = {}
        for name, tree in trees.items():
            if chance.random() < 0.5 * weights[name] / heaviest:
                above = tree.ancestors(int(view.nodes[name][row]))
                below[name] = int(above[chance.integers(0, len(above))])
        value = int(view.shares[view.groups[row]].argmax()) if chance.random() < 0.5 else None
        queries.append(WindowQuery(start=start, stop=start + length - 1, below=below, value=value))
    return queries


def query_errors(
    released: RecordView, original: RecordView, queries: list[WindowQuery], trees: Mapping[str, Hierarchy]
) -> Amounts:
    """Return the relative error of each query, ``|a - e| / max(a, 1)``.

    Examples
    --------
    >>> one = np.zeros(1, np.int64)
    >>> before = RecordView(first=one, last=one, nodes={}, groups=one, shares=np.ones((1, 1)))
    >>> after = RecordView(first=one, last=one + 1, nodes={}, groups=one, shares=np.ones((1, 1)))
    >>> query = WindowQuery(start=0, stop=0, below={}, value=0)
    >>> query_errors(after, before, [query], {}).tolist()
    [0.5]
    """
    exact = np.array([original.expect(query, trees) for query in queries])
    found = np.array([released.expect(query, trees) for query in queries])
    errors: Amounts = np.abs(exact - found) / np.maximum(exact, 1)
    return errors


def exact_values(values: Codes, n_values: int) -> tuple[Counts, Amounts]:
    """Return groups and shares of records whose value itself is told."""
    return values.astype(np.int64), np.eye(n_values)
