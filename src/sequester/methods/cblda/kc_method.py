"""What CBLDA and its baseline share: the table they take, the road they go, what they measure."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

from sequester._validation import one_of
from sequester.engine.progress import NoCheckpoint
from sequester.methods.method import Method, require_quasi_identifiers
from sequester.methods.relax import RelaxationPath, downwards, upwards

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.engine.progress import Checkpoint
    from sequester.methods.cblda.solve import Plan
    from sequester.privacy.kc import KCPrivacy
    from sequester.release.outcome import Outcome, Reason
    from sequester.release.randomness import Randomness
    from sequester.release.release import Release
    from sequester.utility.score import Score


@dataclass(frozen=True, kw_only=True)
class KCMethod(Method):
    """A method that puts persons into classes and releases the same quasi-identifiers for all of a class."""

    trial_persons: ClassVar[int] = 2_000
    aligns: ClassVar[bool]
    """Events are paired so that the least is lost, and not at random."""

    k: int = field(metadata={"least": 2})
    """Persons of every class; at least 2."""
    c: float | str
    """Largest share of a class at risk, above 0, at most 1; or a fraction such as "1/3"."""
    reading: Literal["any", "each"] = "any"
    """At risk are persons with any protected value ("any"), or every value counts by itself ("each")."""
    infeasible: Literal["refuse", "drop"] = "refuse"
    """Where more than the share c of all persons are at risk: refuse, or leave some of them out ("drop")."""

    def __post_init__(self) -> None:
        model = self.model()
        object.__setattr__(self, "k", model.k)
        one_of("infeasible", self.infeasible, ("refuse", "drop"))

    def model(self) -> KCPrivacy:
        """Promise (K,C)-privacy."""
        # Loaded here so that `sequester methods` need not wait for polars.
        from sequester.privacy.kc import KCPrivacy  # noqa: PLC0415

        return KCPrivacy(k=self.k, c=self.c, reading=self.reading)

    def plan(self) -> Plan:
        """What is asked for."""
        # Loaded here so that `sequester methods` need not wait for numpy and numba.
        from sequester.methods.cblda.solve import BLOCK, Plan  # noqa: PLC0415

        return Plan(
            k=self.k,
            c=float(Fraction(self.c)),
            each=self.reading == "each",
            drop=self.infeasible == "drop",
            split=False,
            is_random=not self.aligns,
            exact=None,
            block=BLOCK,
        )

    def accept(self, table: EventTable) -> None:
        """Refuse a table without quasi-identifiers."""
        require_quasi_identifiers(self, table)

    def transform(
        self, table: EventTable, *, randomness: Randomness, engine: Engine, progress: Progress
    ) -> Outcome:
        """Find classes of similar histories, and make those of a class look alike."""
        return self.resume(
            table, randomness=randomness, engine=engine, progress=progress, checkpoint=NoCheckpoint()
        )

    def resume(
        self,
        table: EventTable,
        *,
        randomness: Randomness,
        engine: Engine,
        progress: Progress,
        checkpoint: Checkpoint,
    ) -> Outcome:
        """Do as `transform`, and keep the merges that were made: whoever comes back repeats them at once."""
        # Loaded here so that `sequester methods` need not wait for polars and numba.
        from sequester.methods.cblda.limits import limits_of  # noqa: PLC0415
        from sequester.methods.cblda.publish import publish  # noqa: PLC0415
        from sequester.methods.cblda.solve import solve  # noqa: PLC0415

        plan = self.plan()
        solution = solve(
            table, plan, randomness=randomness, engine=engine, progress=progress, checkpoint=checkpoint
        )
        limits, warnings = limits_of(table, solution, plan)
        return publish(table, solution, limits=limits, warnings=warnings)

    @classmethod
    def suggest(cls, table: EventTable, *, k: int) -> dict[str, object]:
        """Give k as it is asked, and a c above the share of those at risk."""
        # Loaded here so that `sequester methods` need not wait for numpy.
        from sequester.methods.defaults import default_share  # noqa: PLC0415

        return {"k": k, "c": default_share(table)}

    def reasons(self, release: Release, original: EventTable) -> tuple[Reason, ...]:
        """Say what was made alike for k, and what in classes that only c makes so large."""
        # Loaded here so that `sequester methods` need not wait for polars.
        from sequester.methods.cblda.reasons import reasons_of  # noqa: PLC0415

        return reasons_of(self, release.changes, original)

    def relaxations(self, original: EventTable) -> tuple[RelaxationPath, ...]:
        """Ask for smaller classes, or for a larger share of them at risk; or allow one column more."""
        # Loaded here so that `sequester methods` need not wait for polars.
        from sequester.methods.relax_hierarchies import quasi_relaxations  # noqa: PLC0415

        return (
            RelaxationPath.of(self, "k", downwards(self.k, 2)),
            RelaxationPath.of(self, "c", upwards(self.c) if any(original.protected.values()) else ()),
            *quasi_relaxations(original),
        )

    def evaluate(self, outcome: Outcome, table: EventTable, *, progress: Progress) -> dict[str, Score]:
        """Say how much coarser the release is, what is missing, and how well counts can be estimated."""
        # Loaded here so that `sequester methods` need not wait for polars.
        from sequester.methods.cblda.measures import measure  # noqa: PLC0415

        return measure(outcome, table, progress=progress)
