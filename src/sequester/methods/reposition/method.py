"""Reposition, and what it is compared with: suppression alone, and coarser times.

Reposition publishes some records a little later than they came, so that no snapshot is skewed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from sequester._validation import is_number, positive, within
from sequester.errors import ParameterError, SchemaError
from sequester.methods.limits import ONE_RELEASE
from sequester.methods.method import Method
from sequester.methods.relax import RelaxationPath
from sequester.release.purpose import BEST, FAIR, GOOD, Suitability

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

    from sequester.attacks.context import Stream
    from sequester.data.schema import Schema
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.methods.reposition.window import Window
    from sequester.privacy.l_diversity import LDiversity, LEligibility
    from sequester.release.outcome import Outcome, Reason
    from sequester.release.randomness import Randomness
    from sequester.release.release import Release
    from sequester.utility.score import Score


NAMED = ("linear", "quadratic")
"""Cost functions that have a name."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of every distance within a window, and of suppression.

    Examples
    --------
    >>> costs = Costs.of("quadratic", window=3, suppression={"HIV": 9})
    >>> costs.mu, costs.betas(["flu", "HIV"])
    ((0.0, 1.0, 4.0), [5.0, 9.0])
    >>> Costs.of([0, 2, 3, 5], window=3)
    Traceback (most recent call last):
    sequester.errors.ParameterError: cost must not rise less than before, it does at distance 2: 2 to 3
    """

    mu: tuple[float, ...]
    """Distance to cost, for every distance within the window."""
    beta: float
    """The cost of suppressing a record of a value that has none of its own."""
    beta_of: Mapping[str, float]
    """The cost of suppressing a record, per value."""

    @classmethod
    def of(
        cls,
        cost: str | Sequence[float],
        *,
        window: int,
        suppression: float | Mapping[str, float] | None = None,
    ) -> Costs:
        """Read the parameters; a cost that breaks C1, C2 or C3 is refused by its distance."""
        mu = _distances(cost, window)
        usual = mu[window - 1] + 1
        if suppression is None:
            return cls(mu, usual, {})
        if isinstance(suppression, Mapping):
            own = {
                str(value): positive(f"suppression_cost.{value}", each) for value, each in suppression.items()
            }
            return cls(mu, usual, own)
        return cls(mu, positive("suppression_cost", suppression), {})

    def betas(self, values: Iterable[str]) -> list[float]:
        """List the suppression costs of values."""
        return [self.beta_of.get(value, self.beta) for value in values]


def _distances(cost: object, window: int) -> tuple[float, ...]:
    if isinstance(cost, str) and cost in NAMED:
        power = 1 + NAMED.index(cost)
        return tuple(float(distance**power) for distance in range(window))
    if isinstance(cost, str) or not isinstance(cost, Sequence) or not all(map(is_number, cost)):
        msg = f'cost must be "linear", "quadratic" or a list of numbers, got {cost!r}'
        raise ParameterError(msg)
    if len(cost) < window:
        msg = f"cost must have a number for each distance from 0 to {window - 1}, got {len(cost)} numbers"
        raise ParameterError(msg)
    if cost[0] != 0:
        msg = f"cost must be 0 at distance 0, got {cost[0]:g}"
        raise ParameterError(msg)
    for distance in range(1, len(cost)):
        step = cost[distance] - cost[distance - 1]
        where = f"at distance {distance}: {cost[distance - 1]:g} to {cost[distance]:g}"
        if step <= 0:
            msg = f"cost must rise with every distance, it does not {where}"
            raise ParameterError(msg)
        before = cost[distance - 1] - cost[distance - 2] if distance > 1 else step
        # Costs in decimals: what differs by rounding only is the same.
        if step < before * (1 - 1e-12):
            msg = f"cost must not rise less than before, it does {where}"
            raise ParameterError(msg)
    return tuple(float(each) for each in cost[:window])


ONE_RECORD = (
    "A published snapshot has at most one record of each person. The program saw to that; nobody can check "
    "it in the release, because records carry no person."
)
POSTERIOR = (
    "The promise bounds how often a sensitive value occurs in a snapshot. An adversary who also knows how "
    "the program works, and how many records arrived when, may infer a value with more confidence than 1/l."
)
SEVERAL = (
    "Persons with records in several snapshots are not protected against an adversary who knows in which "
    "snapshots they are, and looks for what those have in common."
)
LATE = (
    "The time of a record is the snapshot in which it is published. It may have arrived earlier, by fewer "
    "snapshots than the window has, and some records are not published at all."
)
MERGED = (
    "The time of a record is a span of several snapshots; in which of them it arrived is not shown, and some "
    "records are not published at all."
)
UNPUBLISHED = "Some records are not published at all, and more often those with frequent sensitive values."
AS_THEY_ARE = (
    "Quasi-identifiers are published unchanged. An adversary who knows those of a person finds their "
    "records, and learns when they are in the data, and which sensitive values are possible for them."
)
WITH_VALUES = (
    "Quasi-identifiers are published unchanged beside the sensitive value: an adversary who knows those of a "
    "person finds their record with its value. The promise bounds only what a whole snapshot shows."
)


@dataclass(frozen=True, kw_only=True)
class SnapshotMethod(Method):
    """A method that publishes records in snapshots in which no sensitive value is too frequent."""

    harmless: ClassVar[frozenset[str]] = frozenset({"published later"})
    time_limit: ClassVar[str]
    """What is to say about the times of a release."""
    waits: ClassVar[bool] = True
    """A longer window lets more records out."""
    paper: ClassVar[str] = "Wang, Xu, Wong, Fu (2010)"
    takes_persons: ClassVar[bool] = True
    tried_in_time: ClassVar[bool] = True
    no_series: ClassVar[str] = "it publishes snapshots without persons; sequester stream goes on with them"
    promise: ClassVar[str] = (
        "In every published snapshot, and in every group that is published in it, no sensitive value belongs "
        "to more than 1/l of the records."
    )

    l: int | float | str = field(metadata={"least": 2})  # noqa: E741  (the paper's letter)
    """How many times rarer than the records of a snapshot every sensitive value is; above 1, or "5/2"."""
    window: int = field(default=7, metadata={"least": 1})
    """Snapshots that a record may be moved within; each is published when as many newer ones have come."""
    snapshot: Literal["day", "week", "month", "order"] = "day"
    """What makes a snapshot: the time's day, ISO week or month, or the same order."""
    then: Literal["anatomy", "generalize", "none"] = "anatomy"
    """What follows within a snapshot: values in a table apart, generalized groups, or nothing."""

    def __post_init__(self) -> None:
        from sequester.privacy.l_diversity import exact_level, plain_level

        object.__setattr__(self, "l", plain_level(exact_level(self.l)))
        object.__setattr__(self, "window", within("window", self.window, 1, 1000))
        super().__post_init__()
        if self.then == "anatomy" and self.level.denominator != 1:
            msg = f'l must be a whole number where then = "anatomy", got {self.l}'
            raise ParameterError(msg)

    @property
    def level(self) -> Fraction:
        """The exact value of `l`."""
        from sequester.privacy.l_diversity import exact_level

        return exact_level(self.l)

    @property
    def merged(self) -> int:
        """Snapshots that are published as one."""
        return 1

    @property
    def limits(self) -> tuple[str, ...]:
        """What is not promised, whatever the data."""
        shown = {"none": (WITH_VALUES,), "anatomy": (AS_THEY_ARE,), "generalize": ()}[self.then]
        return (*shown, ONE_RECORD, POSTERIOR, SEVERAL, self.time_limit, ONE_RELEASE)

    def stream_of(self, table: EventTable) -> Stream:
        """Return when records come, and that they may be published within the window."""
        from sequester.attacks.context import Stream
        from sequester.methods.reposition.algorithm import timeline

        line = timeline(table, self.snapshot)
        return Stream(line.numbers, line.labels, self.new_window(0).size)

    def model(self) -> LEligibility | LDiversity:
        """Return the promise: l-diversity of groups, or l-eligibility of snapshots where there are none."""
        from sequester.privacy.l_diversity import LDiversity, LEligibility

        return LEligibility(l=self.l) if self.then == "none" else LDiversity(l=self.l)

    @property
    def costs(self) -> Costs:
        """The costs of every distance and of suppression."""
        return Costs.of("linear", window=1)

    def new_window(self, seed: int) -> Window:
        """Return an empty window for snapshots to go through."""
        from sequester.methods.reposition.window import Window

        return Window(size=1, level=self.level, costs=self.costs, seed=seed)

    def view(self, table: EventTable) -> EventTable:
        """Return the table as the method sees it: records have the attributes of their persons."""
        return table.with_attributes

    def accept(self, table: EventTable) -> None:
        """Refuse a table without one sensitive value per record in snapshots, and name what is in the way."""
        schema = table.schema
        lines = self._misfits(schema)
        has = "order" if schema.order is not None else "time" if schema.time is not None else None
        wanted = "order" if self.snapshot == "order" else "time"
        if has is None:
            lines.append(f"{self.name} needs a column of times or orders: they make the snapshots")
        elif has != wanted:
            other = 'snapshot = "order"' if has == "order" else 'snapshot = "day", "week" or "month"'
            lines.append(
                f'snapshot = "{self.snapshot}" needs a column with the role {wanted}, and the table has '
                f"the role {has} instead: {other}"
            )
        if lines:
            raise SchemaError(*lines)

    def accept_schema(self, schema: Schema) -> None:
        """Refuse the roles of files that are one snapshot each, whatever says which one it is."""
        lines = self._misfits(schema)
        if lines:
            raise SchemaError(*lines)

    def _misfits(self, schema: Schema) -> list[str]:
        """Return what keeps this method from working on such columns."""
        lines = []
        columns = schema.sensitive_columns
        if len(columns) != 1:
            found = f"there are {len(columns)}: {', '.join(columns)}" if columns else "there is none"
            lines.append(
                f"{self.name} needs exactly one sensitive attribute with one value per event, {found}"
            )
        lines += [
            f"column {column!r} has the role keep, and {self.name} releases quasi-identifiers and the "
            "sensitive attribute only: such a column can only be dropped"
            for column in schema.keep
        ]
        lines += [
            f"column {column!r} is quasi-identifier and sensitive: {self.name} would publish what it protects"
            for column in schema.quasi
            if column in columns
        ]
        time_columns = (schema.order, *schema.time_columns, *schema.derive)
        lines += [
            f"column {column!r} tells when a record came, and {self.name} never publishes that: it cannot be "
            "a quasi-identifier"
            for column in schema.quasi
            if column in time_columns
        ]
        if self.then != "none" and not schema.quasi:
            lines.append(f'then = "{self.then}" needs quasi-identifiers, and there are none: then = "none"')
        if self.then == "generalize":
            lines += [
                f'quasi.{name} has max_level or never_suppress, which then = "generalize" cannot keep'
                for name, each in schema.quasi.items()
                if each.max_level is not None or each.never_suppress
            ]
        return lines

    def transform(
        self, table: EventTable, *, randomness: Randomness, engine: Engine, progress: Progress
    ) -> Outcome:
        """Let the snapshots of the table go through the window, and publish what comes out."""
        from sequester.methods.reposition.algorithm import transform

        del engine
        return transform(self, table, randomness=randomness, progress=progress)

    @classmethod
    def suggest(cls, table: EventTable, *, k: int) -> dict[str, object]:
        """Return an l that the values allow, and the finest snapshots that have enough records for it."""
        from sequester.methods.defaults import default_level, default_snapshot

        level = default_level(table, at_most=max(k // 2, 2))
        return {
            "l": level,
            "window": 7,
            "snapshot": default_snapshot(table, level=level),
            "then": "anatomy" if table.schema.quasi else "none",
        }

    @classmethod
    def alternatives(cls, table: EventTable, parameters: dict[str, object]) -> tuple[dict[str, object], ...]:
        """Return the suggested snapshots and coarser ones."""
        del table
        units = ("day", "week", "month")
        finest = parameters["snapshot"]
        coarser = units[units.index(finest) + 1 :] if finest in units else ()
        return (parameters, *({**parameters, "snapshot": unit} for unit in coarser))

    def reasons(self, release: Release, original: EventTable) -> tuple[Reason, ...]:
        """Return which records a too frequent value moved or lost, and which a second record of a person."""
        from sequester.methods.reposition.algorithm import timeline
        from sequester.methods.reposition.publish import reasons_of

        return reasons_of(self, release.changes, original, timeline(original, self.snapshot).numbers)

    def relaxations(self, original: EventTable) -> tuple[RelaxationPath, ...]:
        """Return what could be relaxed: values may be more frequent, or records come out later."""
        from sequester.methods.reposition.publish import smaller_levels

        del original
        lower = RelaxationPath.of(self, "l", smaller_levels(self.level, whole=self.then == "anatomy"))
        return (
            lower,
            *(
                (RelaxationPath.of(self, "window", range(self.window + 1, 4 * self.window + 1)),)
                if self.waits
                else ()
            ),
        )

    def evaluate(self, outcome: Outcome, table: EventTable, *, progress: Progress) -> dict[str, Score]:
        """Return how many records were moved or lost, and how far window queries are off."""
        del table
        progress(1.0, "measured")
        return dict(outcome.scores)


@dataclass(frozen=True, kw_only=True)
class Reposition(SnapshotMethod):
    """l-eligible snapshots by moving records to later ones within a window, and l-diverse groups in them.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame(
    ...     {"who": list("abcdef"), "day": [1, 1, 1, 2, 2, 2], "ill": ["flu", "flu", "x", "x", "y", "x"]}
    ... )
    >>> table = EventTable(frame, Schema(person="who", order="day", sensitive={"ill": "all"}))
    >>> method = Reposition(l=2, window=2, snapshot="order", then="none")
    >>> release = method.apply(table, seed="a sentence nobody guesses")
    >>> release.frame.group_by("time").len().sort("time").rows()
    [('1', 2), ('2', 4)]
    >>> release.verdict
    Verdict(holds=True, achieved={'l': 2.0}, witnesses=())

    References
    ----------
    Wang, Xu, Wong, Fu (2010), OptimalReposition with at least one record per level-lifting step.
    """

    name: ClassVar[str] = "reposition"
    changes: ClassVar[str] = (
        "Publishes records up to a window later than they came, the fewest and as near as possible, and "
        "leaves out those that find no place; the persons' histories are not released."
    )
    use_when: ClassVar[str] = (
        "Records come day by day, each day must be published by itself and on time, and small days are "
        "skewed: case reports, crimes, discharges."
    )
    time_limit: ClassVar[str] = LATE
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"time"}),
        release=frozenset({"once", "repeated"}),
        keeps={
            "counts": (BEST, "nearly all records are published, a little later where they have to"),
            "complete": (BEST, "records are moved to later snapshots before any is left out"),
            "records": (GOOD, "what a record says is true, but for when it came"),
        },
        cautions={"repeated": SEVERAL},
    )

    cost: Literal["linear", "quadratic"] | tuple[float, ...] = "quadratic"
    """What moving by a number of snapshots costs: by itself, squared, or a list from distance 0 on."""
    suppression_cost: float | dict[str, float] | None = field(default=None, metadata={"published": False})
    """What leaving a record out costs, for all or per value; without it, more than any distance."""
    first_window: Literal["grow", "ilp"] = "grow"
    """How the first window is settled: snapshot by snapshot, or at once by an integer program."""
    search: Literal["greedy", "improve"] = "greedy"
    """Move records one by one, as the paper does ("greedy"); or plan the window again by an integer program,
    if it is small, whenever records are suppressed in it ("improve")."""
    randomize: bool = False
    """Choose among moves of equal cost by chance, and add some: blurs what the method gives away."""

    def __post_init__(self) -> None:
        super().__post_init__()
        cost: object = self.cost  # A configuration may hold anything.
        if isinstance(cost, list):
            object.__setattr__(self, "cost", tuple(cost))
        _ = self.costs
        if self.randomize and self.search == "improve":
            msg = 'search must be "greedy" with randomize = true, got "improve"'
            raise ParameterError(msg)

    @property
    def costs(self) -> Costs:
        """The costs of every distance and of suppression."""
        return Costs.of(self.cost, window=self.window, suppression=self.suppression_cost)

    def new_window(self, seed: int) -> Window:
        """Return an empty window for snapshots to go through."""
        from sequester.methods.reposition.window import Window

        return Window(
            size=self.window,
            level=self.level,
            costs=self.costs,
            seed=seed,
            randomize=self.randomize,
            first_window=self.first_window,
            search=self.search,
        )

    def stream(self, *, values: Sequence[str] = (), seed: str | None = None) -> Window:
        """Return the window itself: ``feed(snapshot)`` with arrays, and ``flush()`` at the end.

        `values` says what the codes of sensitive values mean, where suppression costs differ between them.

        Examples
        --------
        >>> import numpy as np
        >>> stream = Reposition(l=2, window=2).stream(seed="a sentence nobody guesses")
        >>> for codes in ([0, 0, 1], [1, 2], [0, 1]):
        ...     for published in stream.feed(np.array(codes, np.int32)):
        ...         print(published.number, published.homes.tolist(), sorted(published.rows.tolist()))
        0 [0, 0] [1, 2]
        >>> [each.number for each in stream.flush()]
        [1, 2]
        """
        from sequester.methods.reposition.algorithm import window_seed
        from sequester.release.randomness import Randomness

        window = self.new_window(window_seed(Randomness.of(seed)))
        window.labels = list(values)
        return window


@dataclass(frozen=True, kw_only=True)
class SuppressOnly(SnapshotMethod):
    """l-eligible snapshots by leaving out records of frequent values.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"who": list("abc"), "day": [1, 1, 1], "ill": ["flu", "flu", "cold"]})
    >>> table = EventTable(frame, Schema(person="who", order="day", sensitive={"ill": "all"}))
    >>> method = SuppressOnly(l=2, snapshot="order", then="none")
    >>> sorted(method.apply(table, seed="a sentence nobody guesses").frame["ill"])
    ['cold', 'flu']
    """

    name: ClassVar[str] = "suppress-only"
    changes: ClassVar[str] = "Leaves out records of sensitive values that are too frequent in their snapshot."
    use_when: ClassVar[str] = (
        "A record must be published when it came, or not at all; or to see what moving gains."
    )
    waits: ClassVar[bool] = False
    time_limit: ClassVar[str] = UNPUBLISHED
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"time"}),
        release=frozenset({"once", "repeated"}),
        keeps={
            "times": (BEST, "a record is published when it came, or not at all"),
            "records": (BEST, "a record is published as it is and when it came, or not at all"),
            "counts": (FAIR, "frequent values are counted too low"),
        },
        cautions={"repeated": SEVERAL},
    )


@dataclass(frozen=True, kw_only=True)
class MergeSnapshots(SnapshotMethod):
    """l-eligible spans of several snapshots, by leaving out records of values that are still too frequent.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"who": list("abcd"), "day": [1, 1, 2, 2], "ill": ["flu", "flu", "cold", "x"]})
    >>> table = EventTable(frame, Schema(person="who", order="day", sensitive={"ill": "all"}))
    >>> method = MergeSnapshots(l=2, window=2, snapshot="order", then="none")
    >>> method.apply(table, seed="a sentence nobody guesses").frame["time"].unique().to_list()
    ['1/2']
    """

    name: ClassVar[str] = "merge-snapshots"
    changes: ClassVar[str] = (
        "Publishes as many snapshots together as the window has, and leaves out what is too frequent still."
    )
    use_when: ClassVar[str] = "Coarse times will do; or to see what reposition gains."
    time_limit: ClassVar[str] = MERGED
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"time"}),
        release=frozenset({"once", "repeated"}),
        keeps={
            "yardstick": (BEST, "it only makes times coarser, which shows what moving records is worth"),
            "records": (FAIR, "what a record says is true, at a span of several snapshots"),
            "counts": (GOOD, "counts are true for spans of several snapshots, frequent values too low"),
        },
        cautions={"repeated": SEVERAL},
    )

    @property
    def merged(self) -> int:
        """Snapshots that are published as one."""
        return self.window
