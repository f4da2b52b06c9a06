"""What reposition and its comparators share: the table they take, their parameters, the promise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from sequester._validation import one_of, within
from sequester.errors import ParameterError, SchemaError
from sequester.methods.method import Method
from sequester.methods.relax import RelaxationPath

if TYPE_CHECKING:
    from fractions import Fraction

    from sequester.data.schema import Schema
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.methods.reposition.costs import Costs
    from sequester.methods.reposition.window import Window
    from sequester.privacy.l_diversity import LDiversity
    from sequester.privacy.l_eligibility import LEligibility
    from sequester.release.outcome import Outcome, Reason
    from sequester.release.randomness import Randomness
    from sequester.release.release import Release
    from sequester.utility.score import Score


@dataclass(frozen=True, kw_only=True)
class SnapshotMethod(Method):
    """A method that publishes records in snapshots in which no sensitive value is too frequent."""

    harmless: ClassVar[frozenset[str]] = frozenset({"published later"})
    time_limit: ClassVar[str]
    """What is to say about the times of a release."""
    waits: ClassVar[bool] = True
    """A longer window lets more records out."""
    paper: ClassVar[str] = "Wang, Xu, Wong, Fu (2010)"
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
        # Loaded here so that `sequester methods` need not wait for polars.
        from sequester.privacy.snapshots import exact_level, plain_level  # noqa: PLC0415

        object.__setattr__(self, "l", plain_level(exact_level(self.l)))
        object.__setattr__(self, "window", within("window", self.window, 1, 1000))
        one_of("snapshot", self.snapshot, ("day", "week", "month", "order"))
        one_of("then", self.then, ("anatomy", "generalize", "none"))
        if self.then == "anatomy" and self.level.denominator != 1:
            msg = f'l must be a whole number where then = "anatomy", got {self.l}'
            raise ParameterError(msg)

    @property
    def level(self) -> Fraction:
        """The exact value of `l`."""
        from sequester.privacy.snapshots import exact_level  # noqa: PLC0415  (as above)

        return exact_level(self.l)

    @property
    def merged(self) -> int:
        """Snapshots that are published as one."""
        return 1

    @property
    def limits(self) -> tuple[str, ...]:
        """What is not promised, whatever the data."""
        from sequester.methods.reposition.limits import limits_of  # noqa: PLC0415  (its own page of text)

        return limits_of(self.then, time=self.time_limit)

    def model(self) -> LEligibility | LDiversity:
        """Promise l-diversity of groups, or l-eligibility of snapshots where there are none."""
        # Loaded here so that `sequester methods` need not wait for polars.
        from sequester.privacy.l_diversity import LDiversity  # noqa: PLC0415
        from sequester.privacy.l_eligibility import LEligibility  # noqa: PLC0415

        return LEligibility(l=self.l) if self.then == "none" else LDiversity(l=self.l)

    @property
    def costs(self) -> Costs:
        """The costs of every distance and of suppression."""
        from sequester.methods.reposition.costs import Costs  # noqa: PLC0415  (beside the window)

        return Costs.of("linear", window=1)

    def new_window(self, seed: int) -> Window:
        """Make the window that snapshots go through."""
        # Loaded here so that `sequester methods` need not wait for numba.
        from sequester.methods.reposition.window import Window  # noqa: PLC0415

        return Window(size=1, level=self.level, costs=self.costs, seed=seed)

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
                f'snapshot = "{self.snapshot}" needs a column with the role {wanted}, and there is one with '
                f"the role {has}: {other}"
            )
        if lines:
            raise SchemaError(*lines)

    def accept_schema(self, schema: Schema) -> None:
        """Refuse the roles of files that are one snapshot each, whatever says which one it is."""
        lines = self._misfits(schema)
        if lines:
            raise SchemaError(*lines)

    def _misfits(self, schema: Schema) -> list[str]:
        """Name the columns that this method cannot work on."""
        lines = []
        columns = schema.sensitive_columns
        if len(columns) != 1:
            told = f"there are {len(columns)}: {', '.join(columns)}" if columns else "there is none"
            lines.append(
                f"{self.name} needs exactly one sensitive attribute with one value per event, {told}"
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
        told_times = (schema.order, *schema.time_columns, *schema.derive)
        lines += [
            f"column {column!r} tells when a record came, and {self.name} never publishes that: it cannot be "
            "a quasi-identifier"
            for column in schema.quasi
            if column in told_times
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
        # Loaded here so that `sequester methods` need not wait for polars and numba.
        from sequester.methods.reposition.transform import transform  # noqa: PLC0415

        del engine
        return transform(self, table, randomness=randomness, progress=progress)

    @classmethod
    def suggest(cls, table: EventTable, *, k: int) -> dict[str, object]:
        """Give an l that the number of values allows, by day or by order."""
        # Loaded here so that `sequester methods` need not wait for numpy.
        from sequester.methods.defaults import default_level  # noqa: PLC0415

        schema = table.schema
        return {
            "l": default_level(table, at_most=max(k // 2, 2)),
            "window": 7,
            "snapshot": "order" if schema.order is not None else "day",
            "then": "anatomy" if schema.quasi else "none",
        }

    def reasons(self, release: Release, original: EventTable) -> tuple[Reason, ...]:
        """Say which records a too frequent value moved or lost, and which a second record of a person."""
        # Loaded here so that `sequester methods` need not wait for polars.
        from sequester.methods.reposition.reasons import reasons_of  # noqa: PLC0415

        return reasons_of(self, release.changes, original)

    def relaxations(self, original: EventTable) -> tuple[RelaxationPath, ...]:
        """Let values be more frequent, or records come out later."""
        # Loaded here so that `sequester methods` need not wait for polars.
        from sequester.methods.reposition.reasons import smaller_levels  # noqa: PLC0415

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
        """Say how many records were moved or lost, and how far window queries are off."""
        del table
        progress(1.0, "measured")
        return dict(outcome.scores)
