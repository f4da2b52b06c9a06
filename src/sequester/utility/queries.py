"""How far counts that are estimated from a release lie from those of the original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.data.table import EventTable
from sequester.engine import LocalEngine, part, silent
from sequester.errors import ParameterError
from sequester.hierarchies.labels import quoted
from sequester.ragged import gather_rows
from sequester.utility.score import Score, units_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets
    from sequester.data.sequences import Sequences
    from sequester.engine import Engine, Progress
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.kernels.queries import Questions

    Amounts = npt.NDArray[np.float64]


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
        released: EventTable | Sequences,
        *,
        original: EventTable,
        engine: Engine | None = None,
        progress: Progress = silent,
    ) -> Amounts:
        """Estimate each count from a release; from the original itself, the estimate is the count."""
        sequences = released.sequences if isinstance(released, EventTable) else released
        columns = _columns_of(self.queries, original, sequences)
        questions = _compile(self.queries, original, sequences, columns)
        cells, offsets, weights = _fold(sequences, columns)
        engine = engine or LocalEngine()

        def count(shard: range) -> Amounts:
            found: Amounts = kernels.queries.count_expected(
                questions, shard.start, shard.stop, cells, offsets, weights
            )
            return found

        shards = engine.split(len(self.queries))
        parts = engine.map(count, shards, progress=progress, phase="asking how many persons have what")
        return np.concatenate(parts)

    def scores(
        self,
        released: EventTable | Sequences,
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
        kind = f"{len(self.queries):,} counts of {units_of(original).many}"
        return {
            "query_error": Score(
                value=float(np.abs(errors).mean()),
                goal="minimize",
                bounds=(0, None),
                means=f"How far {kind} that are estimated from the release lie from the true ones, as a "
                "share of the true ones, on average; 0 is exact.",
                formula="mean over queries of |estimate - count| / max(count, 1)",
                reference=SEHATKAR_2014,
            ),
            "query_error_spread": Score(
                value=float(np.abs(errors).std()),
                goal="minimize",
                bounds=(0, None),
                means=f"The standard deviation of that error over the {kind}.",
                formula="standard deviation over queries of |estimate - count| / max(count, 1)",
                reference=SEHATKAR_2014,
            ),
            "query_bias": Score(
                value=float(errors.mean()),
                goal="minimize",
                bounds=(-1, None),
                means=f"By how much {kind} are estimated too high on average, as a share of the true ones; "
                "below 0 they are estimated too low, as suppressed events make them.",
                formula="mean over queries of (estimate - count) / max(count, 1)",
                reference=SEHATKAR_2014,
            ),
        }

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> Score:
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


def _fold(sequences: Sequences, columns: Mapping[str, int]) -> tuple[Codes, Offsets, Counts]:
    """Return the cells of the columns, histories that are equal in them as one with a weight."""
    size = len(columns)
    cells = np.stack([sequences.columns[name] for name in columns], axis=1).reshape(-1)
    groups, firsts = kernels.rows.fold_rows(cells, sequences.person_offsets * size)
    cells, offsets = gather_rows(cells, sequences.person_offsets * size, firsts)
    return (
        cells.reshape(-1, size),
        offsets // size,
        np.bincount(groups, minlength=len(firsts)).astype(np.int64),
    )


def _compile(
    queries: Sequence[Query], original: EventTable, sequences: Sequences, columns: Mapping[str, int]
) -> Questions:
    """Write queries as flat arrays, with the chances of every label of a column."""
    places: dict[tuple[str, tuple[str, ...]], int] = {}
    chances: list[Amounts] = []
    n_chances = 0
    events, conditions, entries = [0], [0], [0]
    entry_columns, entry_tables = [], []
    for query in queries:
        for event in query.events:
            for name, labels in event.items():
                for column in _sources(name, original):
                    key = (column, tuple(labels))
                    if key not in places:
                        table = _chances(
                            sequences.codebooks[column].labels,
                            labels,
                            original.hierarchies.get(column) if _has_nodes(name, original) else None,
                        )
                        places[key] = n_chances
                        chances.append(table)
                        n_chances += len(table)
                    entry_columns.append(columns[column])
                    entry_tables.append(places[key])
                entries.append(len(entry_columns))
            conditions.append(len(entries) - 1)
        events.append(len(conditions) - 1)
    return kernels.queries.Questions(
        events=np.array(events, np.int64),
        conditions=np.array(conditions, np.int64),
        entries=np.array(entries, np.int64),
        columns=np.array(entry_columns, np.int32),
        tables=np.array(entry_tables, np.int64),
        chances=np.concatenate([*chances, np.empty(0)]),
    )


def _chances(shown: Sequence[str], wanted: Sequence[str], tree: Hierarchy | None) -> Amounts:
    """Return, for each label that is shown, the share of its leaves that are wanted."""
    if tree is None:
        return np.array([label in wanted for label in shown], np.float64)
    nodes = tree.nodes(shown)
    asked = sorted({*tree.nodes(wanted).tolist()})
    # Of a node and one below it, the one below adds nothing.
    asked = [node for node in asked if not any(up < node < tree.subtree_end[up] for up in asked)]
    found = np.zeros(len(nodes), np.float64)
    for node in asked:
        is_inside = (nodes >= node) & (nodes < tree.subtree_end[node])
        is_above = (nodes < node) & (node < tree.subtree_end[nodes])
        found += np.where(is_inside, tree.leaves[nodes], np.where(is_above, tree.leaves[node], 0))
    return found / tree.leaves[nodes]


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
        if value < 1:
            msg = f"{name} must be at least 1, got {value}"
            raise ParameterError(msg)
    if not table.n_persons:
        msg = "queries are drawn from persons, and the table has none"
        raise ParameterError(msg)
    draw = np.random.default_rng(seed)
    weights = {name: each.weight for name, each in table.schema.quasi.items() if each.weight > 0}
    if table.symbol is not None:
        weights = {table.symbol: 1.0}
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
