"""Inspect a table: its shape, its problems, and the re-identification risk of the raw data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sequester._repr import Document, json_fields, shown
from sequester._validation import at_least
from sequester.attacks import expose, expose_attributes
from sequester.attacks.exposure import EXACT, TARGETS
from sequester.attacks.exposure_search import most_items
from sequester.attacks.singling_out import SinglingOut
from sequester.data.roles import roles_of
from sequester.datasets import SEED
from sequester.engine import LocalEngine, part, silent
from sequester.errors import InputError, ParameterError
from sequester.hierarchies.labels import MISSING
from sequester.methods.halt.extraction import Extraction
from sequester.methods.halt.histories import QuasiIdentifiers, WeightedRows
from sequester.methods.halt.lattice_search import Workload
from sequester.methods.halt.signature_rows import Thresholds
from sequester.mining import frequent as mine_frequent
from sequester.mining.dependence import find_changes, find_dependences
from sequester.release.staging import refuse_existing, refuse_inputs, write_file
from sequester.workflow.config import Config
from sequester.workflow.inspect_report import fragment, lines, page
from sequester.workflow.run import SILENT, RunContext

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from sequester._typing import Counts
    from sequester.attacks import AttributeExposure, Exposure
    from sequester.data.problems import Problem, ReadSummary
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.mining.dependence import Dependence


_MICROSECONDS = 86_400_000_000
"""In a day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quartiles(Document):
    """How numbers are spread; a quantile is the smallest number that so many do not exceed.

    Examples
    --------
    >>> Quartiles.of(np.array([1, 1, 2, 4]))
    Quartiles(least=1.0, tenth=1.0, median=1.0, nine_tenths=4.0, most=4.0, mean=2.0)
    """

    least: float
    """The smallest."""
    tenth: float
    """One in ten is not larger."""
    median: float
    """Half are not larger."""
    nine_tenths: float
    """Nine in ten are not larger."""
    most: float
    """The largest."""
    mean: float
    """The average."""

    @classmethod
    def of(cls, numbers: npt.NDArray[np.float64] | Counts) -> Quartiles | None:
        """Sum numbers up; None where there are none."""
        if not numbers.size:
            return None
        shares = {"least": 0, "tenth": 0.1, "median": 0.5, "nine_tenths": 0.9, "most": 1}
        found = np.quantile(numbers, [*shares.values()], method="inverted_cdf").astype(np.float64)
        return cls(**dict(zip(shares, found.tolist(), strict=True)), mean=float(numbers.mean()))


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnShape(Document):
    """A column, what it is for, and how full it is."""

    name: str
    """As in the data."""
    role: str
    """Person, time, quasi, sensitive, or several of them."""
    labels: int | None
    """Different values; None where they were not counted."""
    missing: int
    """Events without a value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape(Document):
    """How many persons and events there are, and how they are spread."""

    persons: int
    """Number of persons."""
    trips: int | None
    """Number of trips; None where every person has one sequence."""
    events: int
    """Number of events."""
    events_per_person: Quartiles | None
    """Events of a person; None without persons."""
    events_per_trip: Quartiles | None
    """Events of a trip; None without trips."""
    days_between_events: Quartiles | None
    """Days from an event to the next one of the person, or of the trip; None without any."""
    alphabet: int
    """Different items: values of the symbol, or of all quasi-identifiers together."""
    columns: tuple[ColumnShape, ...]
    """All columns that are used."""

    @classmethod
    def of(cls, table: EventTable) -> Shape:
        """Measure a table.

        Examples
        --------
        >>> import polars as pl
        >>> from sequester.data.schema import Schema
        >>> from sequester.data.table import EventTable
        >>> at = ["2024-05-01", "2024-05-04", "2024-05-01"]
        >>> frame = pl.DataFrame({"user": ["a", "a", "b"], "at": at, "page": ["x", None, "x"]})
        >>> shape = Shape.of(EventTable(frame, Schema(person="user", time="at", symbol="page")))
        >>> shape.persons, shape.events, shape.alphabet, shape.days_between_events.median
        (2, 3, 2, 3.0)
        >>> shape.columns[-1]
        ColumnShape(name='page', role='symbol', labels=1, missing=1)
        """
        whole, own = table.histories, table.demographics
        items = (table.symbol,) if table.symbol is not None else tuple(whole.schema.quasi)
        return cls(
            persons=table.n_owners,
            trips=None if table.owners is None else table.n_persons,
            events=table.n_events,
            events_per_person=Quartiles.of(np.diff(table.joined().person_offsets)),
            events_per_trip=None if table.owners is None else Quartiles.of(np.diff(table.person_offsets)),
            days_between_events=None if table.times is None else Quartiles.of(_gaps(table)),
            alphabet=sum(len(whole.labels[name]) for name in items),
            columns=(*_columns(table), *(() if own is None else _columns(own, " of persons"))),
        )


def _gaps(table: EventTable) -> npt.NDArray[np.float64]:
    """Return the days between the events of a person that follow each other."""
    if table.times is None or not table.n_events:
        return np.empty(0)
    moments = table.times.to_physical().to_numpy()
    is_next = np.ones(table.n_events, np.bool_)
    is_next[table.person_offsets[:-1][np.diff(table.person_offsets) > 0]] = False
    return np.diff(moments, prepend=0)[is_next] / _MICROSECONDS


def _columns(table: EventTable, whose: str = "") -> list[ColumnShape]:
    columns = []
    for name, roles in roles_of(table.schema).items():
        # Data in parts holds who and when apart from the frame, without gaps.
        is_key = name in (table.schema.person, *table.schema.time_columns)
        if name not in table.frame.columns and not is_key:
            continue
        labels = table.labels.get(name)
        columns.append(
            ColumnShape(
                name=name,
                role=f"{' and '.join(roles)}{whose}",
                labels=None if labels is None else len(labels) - (MISSING in labels),
                missing=table.frame[name].null_count() if name in table.frame.columns else 0,
            )
        )
    return columns


K, C = 5, 0.5
"""What makes a channel where nobody says."""
AFFORDABLE = 5e7
"""What all persons together have, in g-sequences, that is gone through: some seconds."""
PHASE = "counting inference channels"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelCounts:
    """Minimal channels by their number of items: what fits too few persons, or tells too much of them.

    A channel is minimal if nothing more general is one: neither fewer of its items, nor coarser ones.
    """

    k: int
    """Fewer persons than this are too few."""
    c: float
    """More than this share with one protected value is too much."""
    counts: tuple[int, ...]
    """Minimal channels of one item, of two, and so on; as far as there is not too much to count."""

    @classmethod
    def of(
        cls,
        table: EventTable,
        *,
        k: int = K,
        c: float = C,
        most: int,
        engine: Engine | None,
        progress: Progress,
    ) -> ChannelCounts | None:
        """Count the minimal channels of at most `most` items; none in a table without quasi-identifiers."""
        if not table.schema.quasi:
            return None
        quasi = QuasiIdentifiers.of(table)
        histories = WeightedRows.of(table, quasi).fold()
        workload = Workload(histories, quasi, mixed=True)
        finest = (0,) * len(quasi)
        p = max((each for each in range(1, most + 1) if workload.at(finest, each) <= AFFORDABLE), default=0)
        counts = np.zeros(p, np.int64)
        if p:
            progress(0.0, PHASE)
            thresholds = Thresholds(k=k, c=c, p=p, mixed=True)
            extraction = Extraction(histories, quasi, thresholds, LocalEngine() if engine is None else engine)
            for _, by_length in extraction:
                for channels in by_length:
                    counts[channels.items.shape[1] - 1] += len(channels.supports)
        return cls(k=k, c=c, counts=tuple(counts.tolist()))

    def to_json(self) -> dict[str, Any]:
        """Return what the document of ``inspect --json`` says about channels."""
        return {
            "k": self.k,
            "c": self.c,
            "minimal": [
                {"length": length, "count": count} for length, count in enumerate(self.counts, start=1)
            ],
        }


SHARE = 100
"""A pattern is frequent if one in so many persons contains it."""
MAX_LENGTH = 5
"""Items of a pattern, at most."""
SHOWN = 20
"""Patterns that are listed by default."""
_MOST = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FrequentPatterns:
    """Frequent patterns of at least two items, the most frequent first."""

    min_support: int
    """Persons who contain each of them, at least."""
    total: int
    """How many there are."""
    patterns: tuple[tuple[tuple[str, ...], int], ...]
    """The first of them, with their persons."""

    @classmethod
    def of(
        cls,
        table: EventTable,
        *,
        min_support: int | None = None,
        top: int | None = None,
        engine: Engine | None = None,
        progress: Progress = silent,
    ) -> FrequentPatterns:
        """Mine the symbol sequences of a table, and list the `top` 20; several attributes are refused.

        By default one in a hundred persons makes a pattern frequent, and at least two. Where that would be
        more patterns than anybody can look at, the number is doubled until they are fewer; a number that was
        given is kept, and so many patterns are refused.
        """
        if table.symbol is None:
            msg = "--patterns lists patterns of symbols, and this table has quasi-identifiers instead"
            raise InputError(msg)
        top = at_least("top", SHOWN if top is None else top, 1)
        support = max(-(-table.n_owners // SHARE), 2) if min_support is None else min_support
        while True:
            try:
                found = mine_frequent(
                    table,
                    min_support=support,
                    min_length=2,
                    max_length=MAX_LENGTH,
                    max_patterns=_MOST,
                    engine=engine,
                    progress=progress,
                )
                break
            except ParameterError:
                if min_support is not None:
                    raise
                support *= 2
        # Patterns come in label order, which the sort keeps among equals.
        first = sorted(found.items(), key=lambda pair: -pair[1])[:top]
        return cls(min_support=support, total=len(found), patterns=tuple(first))

    def to_json(self) -> dict[str, Any]:
        """Return the part of the document that ``inspect --patterns --json`` prints."""
        return {
            "min_support": self.min_support,
            "max_length": MAX_LENGTH,
            "total": self.total,
            "first": [{"items": list(items), "persons": persons} for items, persons in self.patterns],
        }


KNOWN = 3
"""Items that somebody may know, at most."""
MOST_COMBINATIONS = 20_000_000
"""Combinations of items that are looked at; where all persons have more, fewer persons are targets."""
FEWEST_TARGETS = 500
"""Persons who are targets in any case."""


def inspect(
    table: EventTable,
    *,
    patterns: bool = False,
    min_support: int | None = None,
    top: int | None = None,
    seed: str | None = None,
    k: int = K,
    c: float = C,
    thorough: bool = False,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> Inspection:
    """Return the shape of a table, its problems, and the risk from an adversary who knows 1 to 3 items.

    The trips of a person are looked at together. Up to 100,000 persons everything is exact. Of more persons
    10,000 are drawn by the seed, and what could be known of each of them is counted among everybody; shares
    then come with an interval. Where there are quasi-identifiers, minimal inference channels are counted by
    length, as far as that takes seconds: background knowledge that matches fewer than `k` persons, or that
    shows a protected value with a confidence above `c`.

    Parameters
    ----------
    table
        The data.
    patterns
        List frequent patterns, too.
    min_support
        Persons that a listed pattern has at least.
    top
        How many patterns are listed; 20 by default.
    seed
        Draws persons where there are too many.
    k
        Smallest number of persons that is no inference channel.
    c
        Largest confidence that is no inference channel.
    thorough
        Look at everybody, however many items they have.
    engine
        Where the work runs.
    progress
        Called with the share of the work that is done, and what is done next.

    Returns
    -------
    Inspection
        Shape, problems, dependent quasi-identifiers and risks; it shows itself in a notebook.

    Raises
    ------
    ParameterError
        If `min_support` or `top` is given without `patterns`, or a parameter is out of range.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"user": list("112233"), "n": [1, 2] * 3, "page": list("ababba")})
    >>> found = inspect(EventTable(frame, Schema(person="user", order="n", symbol="page")))
    >>> found.shape.persons, found.problems, found.dependent
    (3, (), ())
    >>> [(each.known, round(each.unique.value, 2)) for each in found.exposures if each.kind == "ordered"]
    [(1, 0.0), (2, 0.33), (3, 0.33)]
    """
    if not patterns and (min_support is not None or top is not None):
        msg = f"{'top' if min_support is None else 'min_support'} needs patterns: ask for them, too"
        raise ParameterError(msg)
    progress(0.0, "measuring")
    shape = Shape.of(table)
    # Who has the data has all trips of a person under one key.
    whole = table.joined().histories
    dependent = find_dependences(table)
    frequent = None
    if patterns:
        progress(0.05, "mining patterns")
        frequent = FrequentPatterns.of(
            table, min_support=min_support, top=top, engine=engine, progress=part(progress, 0.05, 0.1)
        )
    exposures, by_attribute = _expose(whole, seed, thorough, engine, part(progress, 0.1, 0.8))
    channels = ChannelCounts.of(whole, k=k, c=c, most=KNOWN, engine=engine, progress=part(progress, 0.8, 1.0))
    progress(1.0, "inspected")
    return Inspection(
        shape=shape,
        problems=(*table.problems, *find_changes(whole)),
        reading=table.reading,
        dependent=dependent,
        exposures=exposures,
        by_attribute=by_attribute,
        frequent=frequent,
        channels=channels,
        singled_out=SinglingOut.of(whole),
    )


def _expose(
    table: EventTable, seed: str | None, thorough: bool, engine: Engine | None, progress: Progress
) -> tuple[tuple[Exposure, ...], tuple[AttributeExposure, ...]]:
    """Return the risks by kind of knowledge, and by one attribute alone; one person is told from nobody."""
    if table.n_persons <= 1:
        return (), ()
    targets = None if thorough else count_targets(table)
    drawn: dict[str, Any] = {
        "known": KNOWN,
        "exact": EXACT if targets is None else targets,
        "targets": TARGETS if targets is None else targets,
        "seed": SEED if seed is None else seed,
        "engine": engine,
    }
    return (
        expose(table, **drawn, progress=part(progress, 0.0, 6 / 7)),
        expose_attributes(table, **drawn, progress=part(progress, 6 / 7, 1.0)),
    )


def count_targets(table: EventTable) -> int | None:
    """Return how many persons are targets where all have too many items to combine; None where all are.

    Examples
    --------
    >>> from sequester.testing import symbol_table
    >>> count_targets(symbol_table(["ab", "ab"])) is None
    True
    """
    n_columns = 1 if table.symbol is not None else len(table.schema.quasi)
    n_items = np.minimum(np.diff(table.person_offsets) * n_columns, most_items(KNOWN)).astype(np.float64)
    combinations = n_items * np.maximum(n_items - 1, 0) * np.maximum(n_items - 2, 0) / 6
    if combinations.sum() <= MOST_COMBINATIONS:
        return None
    targets = max(int(MOST_COMBINATIONS / combinations.mean()), FEWEST_TARGETS)
    return targets if targets < table.n_persons else None


def inspect_config(
    config: str | Path | Config,
    *,
    out: Path | None = None,
    force: bool = False,
    run: RunContext = SILENT,
    **asked: Any,
) -> Inspection:
    """Inspect the data of a configuration, which need not name a method, and write the page to `out`.

    `asked` are further parameters of `inspect`.

    Raises
    ------
    InputError
        Where the configuration or the data is at fault, all problems together, or the page cannot be written.
    """
    if out is not None:
        refuse_existing(out, force=force)
    config = Config.load(config)
    if out is not None:
        refuse_inputs(out, inputs=config.inputs)
    run.progress(0.0, "reading")
    table = config.table(run.warn, engine=run.engine)
    k, c = (config.settings.method and config.method().channel_thresholds()) or (K, C)
    found = inspect(table, k=k, c=c, engine=run.engine, progress=part(run.progress, 0.15, 1.0), **asked)
    if out is not None:
        write_file(found.to_html().encode(), out)
    return found


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Inspection:
    """The shape of a table, its problems, and its re-identification risk.

    Names no person but those whose keys look alike.
    """

    shape: Shape
    """How many, how often, how far apart."""
    problems: tuple[Problem, ...]
    """Warnings and notes, with counts and rows."""
    dependent: tuple[Dependence, ...]
    """Quasi-identifiers that follow from others."""
    exposures: tuple[Exposure, ...]
    """What somebody who knows a few items of a person finds, kind by kind."""
    by_attribute: tuple[AttributeExposure, ...] = ()
    """Who is singled out by one attribute alone, the worst first; empty where there is only one attribute."""
    frequent: FrequentPatterns | None = None
    """Frequent patterns, where they were asked for."""
    reading: ReadSummary | None = None
    """What became of the rows of the input: events, parts of one, or left out."""
    channels: ChannelCounts | None = None
    """Minimal inference channels by length, where there are quasi-identifiers."""

    singled_out: SinglingOut | None = None
    """Who is singled out by kept columns and unprotected sensitive values; None where there are none."""

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``inspect --json`` prints."""
        document = {
            "persons": self.shape.persons,
            **({} if self.shape.trips is None else {"trips": self.shape.trips}),
            "events": self.shape.events,
            "reading": None if self.reading is None else self.reading.to_json(),
            "problems": list(map(json_fields, self.problems)),
            "dependent": [list(each.columns) for each in self.dependent],
            "risk": [each.to_json() for each in self.exposures],
            "by_attribute": [each.to_json() for each in self.by_attribute],
            "singled_out": None if self.singled_out is None else self.singled_out.to_json(),
            "shape": self.shape.to_json(),
        }
        if self.channels is not None:
            document["channels"] = self.channels.to_json()
        return document | ({} if self.frequent is None else {"patterns": self.frequent.to_json()})

    def to_html(self) -> str:
        """Write everything as a page of its own, which needs no network and runs no script."""
        return page(self)

    def __repr__(self) -> str:
        return "\n".join(map(shown, lines(self)))

    def _repr_html_(self) -> str:
        return fragment(self)
