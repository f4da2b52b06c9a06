"""BF-P2kA: prune the prefix tree, and move who was cut to the closest path that is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sequester._validation import true_or_false
from sequester.errors import SchemaError
from sequester.methods.p2ka.nearness import Near
from sequester.methods.p2ka.prefix_method import PrefixMethod
from sequester.methods.relax import RelaxationPath
from sequester.release.purpose import BEST, GOOD, Suitability

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester._typing import Codes
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.release.outcome import Outcome
    from sequester.utility.score import Score

UNTRUE = (
    "Records are not truthful: some persons were moved to a path that they did not take, so no single record "
    "says what its person did."
)
LOOSE = (
    "Supporters are promised in the original data only: a part of a released record may be in fewer than k "
    "released records, and then it can point at one person."
)
INFLATED = (
    "Items at the beginning of common paths occur more often than they did, because persons who share only a "
    "part of a path were given its whole beginning."
)


@dataclass(frozen=True, kw_only=True)
class BFP2kA(PrefixMethod):
    """Sequence k-anonymity by moving rare sequences to the closest common path.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> rows = ["ADEF", "ADEF", "DEJF", "BK", "BK", "BKS"]
    >>> events = [(f"s{n}", place, item) for n, row in enumerate(rows) for place, item in enumerate(row)]
    >>> frame = pl.DataFrame(events, schema=["user", "step", "page"], orient="row")
    >>> table = EventTable(frame, Schema(person="user", order="step", symbol="page"))
    >>> release = BFP2kA(k=2).apply(table, seed="a sentence nobody guesses")
    >>> sorted("".join(row) for row in release.table.sequences.to_rows())
    ['ADEF', 'ADEF', 'ADEF', 'BK', 'BK', 'BK']
    >>> release.verdict
    Verdict(holds=True, achieved={'k': 3}, witnesses=())

    References
    ----------
    Pensa, Monreale, Pinelli, Pedreschi (2008), Algorithms 1 to 5; the strict repair is ours.
    """

    name: ClassVar[str] = "p2ka"
    paper: ClassVar[str] = "Pensa, Monreale, Pinelli, Pedreschi (2008)"
    promise: ClassVar[str] = (
        "Every part of a released sequence, in order and with any gaps, occurs in the released sequences of "
        "at least k persons, and occurred in the original ones of at least k (with strict = false: only "
        "that)."
    )
    changes: ClassVar[str] = (
        "Keeps the sequences that end where many pass, and moves every other person to the closest common "
        "path: some released items never happened to their person."
    )
    use_when: ClassVar[str] = (
        "Many persons, few different symbols, and what matters are the frequent patterns and not the single "
        "record: clicks, trips, process logs."
    )
    reattaches: ClassVar[bool] = True
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"few", "all"}),
        keeps={
            "patterns": (BEST, "common paths stay, and rare ones are moved to the closest of them"),
            "complete": (GOOD, "persons with rare sequences are moved to a common path instead of left out"),
            "counts": (GOOD, "nearly as many persons as before have the common paths"),
        },
        more={"all": "whatever part of a sequence is known, all of it included, it fits k persons or nobody"},
    )

    strict: bool = True
    """Count supporters in the release, too; without it only those in the original, as the paper does."""
    nearness: float | Near | None = None
    """Regions only: metres, or metres and minutes, within which a region counts in part for another when a
    sequence is re-attached."""

    def __post_init__(self) -> None:
        super().__post_init__()
        true_or_false("strict", self.strict)
        if self.nearness is not None:
            object.__setattr__(self, "nearness", Near.of(self.nearness))

    def parameters(self) -> dict[str, object]:
        """Parameter to value; nearness only where it is asked for."""
        given = super().parameters()
        if self.nearness is None:
            del given["nearness"]
        return given

    def accept(self, table: EventTable) -> None:
        """Refuse what prefix methods refuse, and nearness where nothing is near."""
        super().accept(table)
        if self.nearness is not None and table.regions is None:
            msg = "nearness needs regions, and the data has no place"
            raise SchemaError(msg)
        has_minutes = isinstance(self.nearness, Near) and self.nearness.minutes is not None
        if has_minutes and table.regions is not None and not table.regions.parts:
            msg = "nearness.minutes needs parts of the day: give place.time_of_day"
            raise SchemaError(msg)

    def weigh(self, table: EventTable) -> Callable[[Codes], Codes] | None:
        """Near regions have something in common."""
        near, regions = self.nearness, table.regions
        if not isinstance(near, Near) or regions is None:
            return None
        labels = table.sequences.codebooks[table.sequences.symbol].labels

        def weights(known: Codes) -> Codes:
            return near.weights(regions, labels, [labels[code] for code in known])

        return weights

    def relaxations(self, original: EventTable) -> tuple[RelaxationPath, ...]:
        """Ask for what prefix methods ask less of, or count supporters in the original only."""
        loose = (RelaxationPath.of(self, "strict", (False,)),) if self.strict else ()
        return (*super().relaxations(original), *loose)

    def evaluate(self, outcome: Outcome, table: EventTable, *, progress: Progress) -> dict[str, Score]:
        """Say how many events, sequences and patterns survive; with nearness also what it gains."""
        scores = super().evaluate(outcome, table, progress=progress)
        if self.nearness is not None and "displacement" in scores:
            # Loaded here so that `sequester methods` need not wait for polars and numba.
            from sequester.methods.p2ka.measures import displacement_without  # noqa: PLC0415

            scores |= displacement_without(table, k=self.k, strict=self.strict)
        return scores

    @property
    def counts_released(self) -> bool:
        """Supporters are counted among the released records, too."""
        return self.strict

    @property
    def limits(self) -> tuple[str, ...]:
        """What is not promised, whatever the data."""
        return (UNTRUE, *(() if self.strict else (LOOSE,)), *super().limits, INFLATED)
