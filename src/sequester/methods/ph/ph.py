"""PH: hide patterns by putting the items of a few records in another order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from sequester._validation import at_least
from sequester.errors import ParameterError
from sequester.methods.patterns import as_patterns
from sequester.methods.ph.pattern_method import PatternMethod
from sequester.release.purpose import BEST, GOOD, Suitability

if TYPE_CHECKING:
    import numpy as np

    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.kernels.pattern_trie import Trie
    from sequester.methods.ph.followed import Problem
    from sequester.methods.ph.sanitize import Sanitized
    from sequester.methods.relax import RelaxationPath
    from sequester.privacy.pattern_hiding import PatternHiding

UNTRUE = (
    "Records are not truthful: in some of them items stand in another order than they happened, or are "
    "missing, and nothing marks these records."
)
UNSEEN = "unseen"
MODES = ("minimum-harm", "maximum")


@dataclass(frozen=True)
class Bounded:
    """Bounded uncertainty: as many permutations of each pattern, each with as many supporters."""

    permutations: int
    """Different permutations that replace a pattern, at least."""
    support: int
    """Supporters that each of them has in the release, at least."""


@dataclass(frozen=True, kw_only=True)
class PH(PatternMethod):
    """Pattern hiding by permutation: items stay, their order changes where it has to.

    Examples
    --------
    >>> from sequester.testing.tables import symbol_table
    >>> table = symbol_table(["abc", "abc", "bac", "acb", "cab"])
    >>> release = PH(patterns=[["a", "b", "c"]], min_support=2).apply(table, seed="nobody guesses this")
    >>> release.verdict
    Verdict(holds=True, achieved={'min_support': 2}, witnesses=())
    >>> release.utility["lost_patterns"].value, release.utility["ghost_patterns"].value
    (0.0, 0.0)

    References
    ----------
    Gwadera, Gkoulalas-Divanis, Loukides (2013): Phases I to III, PDPG, RR-PDPG.
    """

    name: ClassVar[str] = "ph"
    paper: ClassVar[str] = "Gwadera, Gkoulalas-Divanis, Loukides (2013)"
    promise: ClassVar[str] = (
        "Each pattern that you name is contained, in order and with any gaps, in the released records of "
        "fewer than min_support persons."
    )
    changes: ClassVar[str] = (
        "Puts the items of some records in another order, and deletes an item only where no order helps or "
        "a deletion does less harm: those records are untrue."
    )
    use_when: ClassVar[str] = (
        "You know which orders of events must not be found, and the recipient mines frequent patterns or "
        "counts items: market baskets, clicks, process logs."
    )

    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"patterns"}),
        keeps={
            "patterns": (BEST, "orders are chosen so that few other patterns are lost or come about"),
            "counts": (BEST, "items stay with their persons, only their order changes where it has to"),
            "complete": (GOOD, "an item is deleted only where no other order helps"),
        },
    )

    forbidden: tuple[tuple[str, ...], ...] | Literal["unseen"] = field(
        default=(), metadata={"published": False}
    )
    """Implausible patterns that may not be where they were not; "unseen": every pair that nobody has."""
    uncertainty: Literal["minimum-harm", "maximum"] | Bounded = "minimum-harm"
    """How permutations are chosen: "maximum" spreads over as many as possible; a table of permutations and
    support uses at least so many of each pattern, each with so many supporters, or refuses."""

    def __post_init__(self) -> None:
        super().__post_init__()
        forbidden: object = self.forbidden
        if isinstance(forbidden, str):
            if forbidden != UNSEEN:
                msg = f'forbidden must be a list of patterns or "{UNSEEN}", got {forbidden!r}'
                raise ParameterError(msg)
        else:
            object.__setattr__(self, "forbidden", as_patterns("forbidden", forbidden))
        uncertainty: object = self.uncertainty
        if isinstance(uncertainty, Mapping) and set(uncertainty) == {"permutations", "support"}:
            uncertainty = Bounded(**uncertainty)
            object.__setattr__(self, "uncertainty", uncertainty)
        if isinstance(uncertainty, Bounded):
            for name, value in vars(uncertainty).items():
                at_least(f"uncertainty.{name}", value, 1)
        elif uncertainty not in MODES:
            words = ", ".join(f'"{mode}"' for mode in MODES)
            msg = f"uncertainty must be {words} or a table of permutations and support, got {uncertainty!r}"
            raise ParameterError(msg)

    @property
    def limits(self) -> tuple[str, ...]:
        """What is not promised, whatever the data."""
        return (UNTRUE, *super().limits[1:])

    def relaxations(self, original: EventTable) -> tuple[RelaxationPath, ...]:
        """Ask for what pattern methods ask less of, or for less uncertainty where it is bounded."""
        # Loaded here so that `sequester methods` need not wait for polars.
        from sequester.methods.ph.thresholds import spread_relaxations  # noqa: PLC0415

        bounded = self.uncertainty if isinstance(self.uncertainty, Bounded) else None
        return (*super().relaxations(original), *(() if bounded is None else spread_relaxations(bounded)))

    def named_labels(self) -> tuple[str, ...]:
        """Return the items of all patterns, forbidden ones included."""
        forbidden = () if isinstance(self.forbidden, str) else self.forbidden
        return tuple(dict.fromkeys((*super().named_labels(), *(item for each in forbidden for item in each))))

    def model(self) -> PatternHiding:
        """Promise hidden patterns, and no forbidden pattern where it was not."""
        forbidden = self.forbidden if isinstance(self.forbidden, str) else frozenset(self.forbidden)
        return replace(super().model(), forbidden=forbidden)

    def sanitize(
        self,
        problem: Problem,
        trie: Trie,
        table: EventTable,
        rng: np.random.Generator,
        *,
        progress: Progress,
    ) -> Sanitized:
        """Phases II and III."""
        # Loaded here so that `sequester methods` need not wait for numba.
        from sequester.methods.ph.permutation import permute  # noqa: PLC0415

        return permute(self, problem, trie, table, rng, progress=progress)
