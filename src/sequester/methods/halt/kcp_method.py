"""What HALT and GloGen share: the table they take, the road they go, what they measure and do not promise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

from sequester._validation import one_of
from sequester.methods.method import Method, require_quasi_identifiers
from sequester.methods.relax import RelaxationPath, downwards, upwards

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.privacy.kcp import KCPPrivacy
    from sequester.release.outcome import Outcome, Reason
    from sequester.release.randomness import Randomness
    from sequester.release.release import Release
    from sequester.utility.score import Score


@dataclass(frozen=True, kw_only=True)
class KCPMethod(Method):
    """A method that makes the quasi-identifiers of all persons alike coarse."""

    suppresses: ClassVar[bool]
    """Values may be suppressed, and not only generalized."""

    k: int
    """Persons whom whatever somebody may know fits; at least 2."""
    c: float | str
    """Largest share of them with one protected value, above 0, at most 1; or a fraction such as "1/3"."""
    p: int
    """Items that somebody may know; at least 1. Work grows steeply with it; 3 is realistic."""
    levels: Literal["same", "mixed"] = "mixed"
    """At which level values are known: each at its own ("mixed"), or those of one column at one ("same")."""
    infeasible: Literal["refuse", "drop"] = "refuse"
    """Where a protected value is above c among all persons: refuse, or leave out ("drop") who have it."""

    def __post_init__(self) -> None:
        model = self.model()
        for name in ("k", "c", "p"):
            # Numbers of numpy are numbers, too, and the model has made plain ones of them.
            object.__setattr__(self, name, getattr(model, name))
        one_of("infeasible", self.infeasible, ("refuse", "drop"))

    @property
    def counts_stars(self) -> bool:
        """A suppressed cell is an item of its own."""
        return True

    @property
    def searches_fully(self) -> bool:
        """The whole lattice is searched."""
        return False

    def model(self) -> KCPPrivacy:
        """Promise (K,C)^P-privacy."""
        # Loaded here so that `sequester methods` need not wait for polars.
        from sequester.privacy.kcp import KCPPrivacy  # noqa: PLC0415

        return KCPPrivacy(
            k=self.k,
            c=self.c,
            p=self.p,
            levels=self.levels,
            stars="counted" if self.counts_stars else "ignored",
        )

    def accept(self, table: EventTable) -> None:
        """Refuse a table without quasi-identifiers."""
        require_quasi_identifiers(self, table)

    def transform(
        self, table: EventTable, *, randomness: Randomness, engine: Engine, progress: Progress
    ) -> Outcome:
        """Find the levels and suppressed values that lose least; nothing here is random."""
        # Loaded here so that `sequester methods` need not wait for polars and numba.
        from sequester.methods.halt.extraction import Demand  # noqa: PLC0415
        from sequester.methods.halt.limits import limits_of  # noqa: PLC0415
        from sequester.methods.halt.publish import publish  # noqa: PLC0415
        from sequester.methods.halt.solve import solve  # noqa: PLC0415

        del randomness
        solution = solve(
            table,
            Demand(k=self.k, c=float(Fraction(self.c)), p=self.p, mixed=self.levels == "mixed"),
            suppress=self.suppresses,
            stars=self.counts_stars,
            full=self.searches_fully,
            drop=self.infeasible == "drop",
            engine=engine,
            progress=progress,
        )
        limits, warnings = limits_of(table, solution, p=self.p, mixed=self.levels == "mixed")
        return publish(table, solution, limits=limits, warnings=warnings)

    @classmethod
    def suggest(cls, table: EventTable, *, k: int) -> dict[str, object]:
        """Give k as it is asked, a c above the share of those at risk, and 3 values that are known."""
        # Loaded here so that `sequester methods` need not wait for numpy.
        from sequester.methods.defaults import default_share  # noqa: PLC0415

        return {"k": k, "c": default_share(table), "p": 3}

    def reasons(self, release: Release, original: EventTable) -> tuple[Reason, ...]:
        """Say per column which values were suppressed for k, which for c, and how coarse it became."""
        # Loaded here so that `sequester methods` need not wait for polars.
        from sequester.methods.halt.reasons import reasons_of  # noqa: PLC0415

        return reasons_of(self, release.changes, original)

    def relaxations(self, original: EventTable) -> tuple[RelaxationPath, ...]:
        """Ask for less company, a surer adversary, or one who knows less; or allow one column more."""
        # Loaded here so that `sequester methods` need not wait for polars.
        from sequester.methods.relax_hierarchies import quasi_relaxations  # noqa: PLC0415

        return (
            RelaxationPath.of(self, "k", downwards(self.k, 2)),
            RelaxationPath.of(self, "c", upwards(self.c) if any(original.protected.values()) else ()),
            RelaxationPath.of(self, "p", downwards(self.p, 1)),
            *quasi_relaxations(original),
        )

    def evaluate(self, outcome: Outcome, table: EventTable, *, progress: Progress) -> dict[str, Score]:
        """Say how much coarser the release is, and what is missing."""
        # Loaded here so that `sequester methods` need not wait for polars.
        from sequester.methods.halt.measures import measure  # noqa: PLC0415

        return measure(outcome, table, progress=progress)
