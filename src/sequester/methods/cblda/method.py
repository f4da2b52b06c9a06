"""CBLDA and its baseline: their parameters, what is said of them, and the calls in order (Sehatkar 2014)."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

from sequester.engine.progress import NoCheckpoint
from sequester.errors import ParameterError
from sequester.methods.method import HistoryMethod
from sequester.release.purpose import BEST, FAIR, GOOD, Suitability

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.engine.progress import Checkpoint
    from sequester.privacy.kc import KCPrivacy
    from sequester.release.outcome import Outcome, Reason
    from sequester.release.randomness import Randomness
    from sequester.release.release import Release
    from sequester.utility.score import Score


@dataclass(frozen=True, kw_only=True)
class KCMethod(HistoryMethod):
    """A method that puts persons into classes and releases the same quasi-identifiers for all of a class."""

    promise: ClassVar[str] = (
        "An adversary who knows anything about a person's quasi-identifiers, even all of them, matches at "
        "least k persons who are alike in all of them, or none, and at most the share c of those who are "
        'alike show a protected value (with reading = "each": the same one).'
    )
    trial_persons: ClassVar[int] = 2_000
    no_series: ClassVar[str] = (
        "its classes would have to stay together, and on Medicare claims those of 2008 could keep at most "
        "0.6% of the events of 2009; halt can"
    )
    aligns: ClassVar[bool]
    """Events are paired so that the least is lost, and not at random."""

    k: int = field(metadata={"least": 2})
    """Fewest persons of a class; at least 2."""
    c: float | str
    """Largest share of a class at risk, above 0, at most 1; or a fraction such as "1/3"."""
    reading: Literal["any", "each"] = "any"
    """At risk are persons with any protected value ("any"), or every value counts by itself ("each")."""
    infeasible: Literal["refuse", "drop"] = "refuse"
    """Where more than the share c of all persons are at risk: refuse, or leave some of them out ("drop")."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.model()  # It refuses what a promise cannot be.

    def model(self) -> KCPrivacy:
        """Promise (K,C)-privacy."""
        from sequester.privacy.kc import KCPrivacy

        return KCPrivacy(k=self.k, c=self.c, reading=self.reading)

    @property
    def share(self) -> float:
        """The number that `c` stands for."""
        return float(Fraction(self.c))

    @property
    def block(self) -> Literal["auto", False] | int:
        """Persons above whom neighbours are clustered block by block; false is never."""
        return False

    @property
    def split(self) -> bool:
        """Whether finished classes are divided again."""
        return False

    @property
    def search(self) -> Literal["greedy", "improve"]:
        """Whether classes stay as they were made, or are improved."""
        return "greedy"

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
        """Do as `transform`, and keep the merges that were made: a resumed run repeats them at once."""
        from sequester.methods.cblda.algorithm import solve
        from sequester.methods.cblda.publish import publish

        solution = solve(
            table, self, randomness=randomness, engine=engine, progress=progress, checkpoint=checkpoint
        )
        return publish(table, solution, self)

    def reasons(self, release: Release, original: EventTable) -> tuple[Reason, ...]:
        """Return what was made alike for k, and what in classes that only c makes so large."""
        from sequester.methods.cblda.publish import reasons_of

        return reasons_of(self, release.changes, original)

    def evaluate(self, outcome: Outcome, table: EventTable, *, progress: Progress) -> dict[str, Score]:
        """Return how much coarser the release is, what is missing, and how well counts can be estimated."""
        from sequester.methods.cblda.publish import measure

        return measure(outcome, table, progress=progress)


@dataclass(frozen=True, kw_only=True)
class CBLDA(KCMethod):
    """(K,C)-privacy by aligning similar histories and making those of a class look alike.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> frame = pl.DataFrame(
    ...     {
    ...         "who": ["a", "a", "b", "b", "c", "d"],
    ...         "n": [1, 2, 1, 2, 1, 1],
    ...         "stay": ["1", "30", "2", "31", "1", "1"],
    ...     }
    ... )
    >>> tree = Hierarchy.from_tree({"short": ["1", "2"], "long": ["30", "31"]})
    >>> schema = Schema(person="who", order="n", quasi={"stay": tree})
    >>> release = CBLDA(k=2, c=0.5).apply(EventTable(frame, schema))
    >>> sorted(release.frame.group_by("person").agg("stay")["stay"].to_list())
    [['1'], ['1'], ['short', 'long'], ['short', 'long']]
    >>> release.verdict
    Verdict(holds=True, achieved={'k': 2, 'c': 0.0}, witnesses=())

    References
    ----------
    Sehatkar (2014), chapter 5: Algorithms 5.1 and 5.2. That nobody is dropped, blocks and splits are ours.
    """

    name: ClassVar[str] = "cblda"
    takes_purpose: ClassVar[bool] = True
    paper: ClassVar[str] = "Sehatkar (2014), chapter 5"
    changes: ClassVar[str] = (
        "Puts similar histories into classes, makes their values coarser until they are the same, and leaves "
        "out events that have no counterpart: what is released is true of its person."
    )
    use_when: ClassVar[str] = (
        "Histories with several columns that others may know, all of them perhaps, and a diagnosis that "
        "nobody must learn."
    )
    aligns: ClassVar[bool] = True
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"few", "all"}),
        keeps={
            "records": (
                GOOD,
                "what is released is true of its person, as detailed as those who look alike are",
            ),
            "counts": (GOOD, "values are as detailed as their class allows, and counts can be estimated"),
            "patterns": (FAIR, "events stay in their order, but some are left out"),
            "times": (FAIR, "a time that is a quasi-identifier stays true, if coarser, for most events"),
        },
        more={"few": "it hides from those who know all values, and so from those who know a few"},
    )

    block: Literal["auto", False] | int = "auto"
    """Persons above whom neighbours are clustered block by block; "auto" is above 60,000 (fewer where
    there are more than 10 quasi-identifiers), false is never."""
    split: bool = False
    """Divide finished classes of 2 k persons or more again where that loses less; with search "improve",
    which divides them in any case, this rarely changes anything."""
    search: Literal["greedy", "improve"] = "improve"
    """Leave classes as they were made, as the thesis does ("greedy"), or divide large ones and move and swap
    persons between near ones where that loses less ("improve")."""

    def __post_init__(self) -> None:
        super().__post_init__()
        block: object = self.block  # A configuration may hold anything.
        if block is not False and block != "auto":
            if isinstance(block, bool) or not hasattr(block, "__index__"):
                msg = f'block must be "auto", a number of persons, or false, got {block!r}'
                raise ParameterError(msg)
            number = operator.index(block)
            if number < 2 * self.k:
                msg = f"block must be at least 2 k = {2 * self.k}, got {number}"
                raise ParameterError(msg)
            object.__setattr__(self, "block", number)


@dataclass(frozen=True, kw_only=True)
class CBLDABaseline(KCMethod):
    """(K,C)-privacy by suppressing random events of the longer history and pairing the rest one by one.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> frame = pl.DataFrame({"who": list("aab"), "n": [1, 2, 1], "stay": ["1", "30", "1"]})
    >>> schema = Schema(person="who", order="n", quasi={"stay": Hierarchy.flat()})
    >>> CBLDABaseline(k=2, c=1).apply(EventTable(frame, schema)).frame.height
    2

    References
    ----------
    Sehatkar (2014), section 6.3.
    """

    name: ClassVar[str] = "cblda-baseline"
    paper: ClassVar[str] = "Sehatkar (2014), section 6.3"
    changes: ClassVar[str] = (
        "As cblda, but which events of the longer history are left out is left to chance."
    )
    use_when: ClassVar[str] = "To see what the alignment of cblda is worth; otherwise never."
    aligns: ClassVar[bool] = False
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"few", "all"}),
        keeps={"yardstick": (BEST, "it leaves out events at random, which shows what alignment is worth")},
    )
