"""HALT and GloGen: generalize whole columns, suppress values that still give somebody away, lose least."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

from sequester.errors import SchemaError
from sequester.methods.method import HistoryMethod
from sequester.methods.relax import RelaxationPath, downwards
from sequester.release.purpose import BEST, FAIR, GOOD, Suitability

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.methods.halt.signature_rows import Thresholds
    from sequester.privacy.kcp import KCPPrivacy
    from sequester.release.outcome import Outcome, PartOutcome, Reason
    from sequester.release.randomness import Randomness
    from sequester.release.release import Release
    from sequester.release.series import Series
    from sequester.utility.score import Score


@dataclass(frozen=True, kw_only=True)
class KCPMethod(HistoryMethod):
    """What HALT and GloGen share: quasi-identifiers become coarse for all persons alike.

    `transform` is the algorithm of the thesis: `algorithm.solve` folds equal histories, `lattice_search` goes
    down the lattice of levels, `extraction` finds the minimal channels of each node (Algorithm 4.1),
    `elimination` breaks them by suppression (Algorithm 4.2), or `local` does so cell by cell, and `publish`
    writes down what is released.
    """

    promise: ClassVar[str] = (
        "An adversary who knows up to p quasi-identifier values of a person, in order, matches at least k "
        "persons or none, and no protected value is shown for more than the share c of them (with levels = "
        '"same": as long as the values of one column are known at one level throughout).'
    )
    no_series: ClassVar[str] = ""
    takes_purpose: ClassVar[bool] = True

    k: int
    """Fewest persons that anything an adversary knows may match; at least 2."""
    c: float | str
    """Largest share of them with one protected value; above 0, at most 1, or a fraction such as "1/3"."""
    p: int
    """Values of a person that an adversary may know; at least 1. Time grows steeply; 3 is realistic."""
    levels: Literal["same", "mixed"] = "mixed"
    """At which level values are known: each at its own ("mixed"), or those of one column at one ("same")."""
    infeasible: Literal["refuse", "drop"] = "refuse"
    """Where a protected value is above c among all persons: refuse, or leave out ("drop") who have it."""
    effort: Literal["bounded", "thorough"] = "bounded"
    """Where there are many columns: stop looking for finer levels after about half a minute, or go on."""
    sensitive_known: bool = False
    """Whether values of other sensitive attributes than the one to be learned are among the p items."""

    def __post_init__(self) -> None:
        super().__post_init__()
        model = self.model()
        for name in ("k", "c", "p"):
            # Numbers of numpy are numbers, too, and the model has made plain ones of them.
            object.__setattr__(self, name, getattr(model, name))

    @property
    def suppression(self) -> Literal["local", "global"] | None:
        """Single cells are suppressed, or values wherever they stand; None for neither."""
        return None

    @property
    def stars(self) -> Literal["counted", "ignored"]:
        """Is a suppressed cell something that can be known, or nothing."""
        return "counted"

    @property
    def search(self) -> Literal["greedy", "full"]:
        """How levels are looked for."""
        return "greedy"

    def model(self) -> KCPPrivacy:
        """Promise (K,C)^P-privacy."""
        from sequester.privacy.kcp import KCPPrivacy

        return KCPPrivacy(
            k=self.k,
            c=self.c,
            p=self.p,
            levels=self.levels,
            stars=self.stars,
            sensitive_known=self.sensitive_known,
        )

    def accept(self, table: EventTable) -> None:
        """Refuse a table without quasi-identifiers, and columns of two roles if sensitive ones are known."""
        super().accept(table)
        histories = table.histories.schema
        both = [name for name in histories.sensitive_columns if name in histories.quasi]
        if self.sensitive_known and both and len(histories.sensitive) > 1:
            msg = (
                f"sensitive_known takes sensitive attributes that are no quasi-identifiers: '{both[0]}' is "
                "both; take it out of one of them"
            )
            raise SchemaError(msg)

    def transform(
        self, table: EventTable, *, randomness: Randomness, engine: Engine, progress: Progress
    ) -> Outcome:
        """Find the levels and suppressed values that lose least; nothing here is random."""
        from sequester.methods.halt.algorithm import solve
        from sequester.methods.halt.publish import publish
        from sequester.privacy.kcp import with_known

        del randomness
        known = self._known(table)
        extended = with_known(table, known) if known else table
        columns = [name for name in extended.schema.quasi if name not in table.schema.quasi]
        solution = solve(extended, self, sensitive_known=bool(columns), engine=engine, progress=progress)
        return publish(extended, solution, known=columns)

    def _known(self, table: EventTable) -> list[str]:
        """Return the sensitive attributes that may be known to who wants to learn another one."""
        from sequester.privacy.kcp import other_attributes

        known = [other_attributes(table, table.protected_nodes, name) for name in table.schema.sensitive]
        return list(dict.fromkeys(name for each in known for name in each)) if self.sensitive_known else []

    def series_refusal(self) -> str:
        """Return why it cannot make a series of releases; empty where it can."""
        why = "with sensitive_known = true, what was released of an attribute cannot be suppressed for others"
        return why if self.sensitive_known else ""

    def extend(self, table: EventTable, past: Series, *, engine: Engine, progress: Progress) -> PartOutcome:
        """Release what is new at the levels of the series; suppress and hold back the rest."""
        from sequester.methods.halt.algorithm import BestNode
        from sequester.methods.halt.arrivals import check_same_series, find_new, joined_promise
        from sequester.methods.halt.continuation import Continuation
        from sequester.methods.halt.publish import publish_part

        check_same_series(table, self.model(), past, self.name)
        arrivals = find_new(table, past)
        model = joined_promise(self.model(), arrivals.table, past)
        continuation = Continuation(arrivals, past, model, self, engine)
        draft = continuation.solve(progress)
        solution = BestNode(draft.n_kept > 0, draft, continuation, skipped=False)
        return publish_part(arrivals, solution, model)

    def thresholds(self) -> Thresholds:
        """Return what makes a channel."""
        from sequester.methods.halt.signature_rows import Thresholds

        return Thresholds(k=self.k, c=float(Fraction(self.c)), p=self.p, mixed=self.levels == "mixed")

    def channel_thresholds(self) -> tuple[int, float]:
        """Return the k and c of the promise."""
        return self.k, float(Fraction(self.c))

    def thorough(self) -> KCPMethod:
        """Return the method that looks at all levels, however long it takes."""
        return replace(self, effort="thorough")

    @classmethod
    def suggest(cls, table: EventTable, *, k: int) -> dict[str, object]:
        """Return k as it is asked, a c above the share of those at risk, and 3 values that are known."""
        return super().suggest(table, k=k) | {"p": 3}

    def reasons(self, release: Release, original: EventTable) -> tuple[Reason, ...]:
        """List per column which values were suppressed for k, which for c, and how coarse it became."""
        from sequester.methods.halt.publish import reasons_of

        return reasons_of(self, release.change_list, original)

    def relaxations(self, original: EventTable) -> tuple[RelaxationPath, ...]:
        """Ask for a smaller k, a larger c or a smaller p; or allow one more column."""
        k, c, *rules = super().relaxations(original)
        return (k, c, RelaxationPath.of(self, "p", downwards(self.p, 1)), *rules)

    def evaluate(self, outcome: Outcome, table: EventTable, *, progress: Progress) -> dict[str, Score]:
        """Measure how much coarser the release is, and what is missing."""
        from sequester.methods.evaluate import measure_cells

        how = "cell by cell" if self.suppression == "local" else "value by value"
        return measure_cells(outcome, table, suppressed=f"are suppressed {how}", progress=progress)


@dataclass(frozen=True, kw_only=True)
class HALT(KCPMethod):
    """(K,C)^P-privacy by generalizing quasi-identifiers and suppressing some of their cells.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> stays = ["1", "1", "2", "2", "30", "31", "31"]
    >>> ill = ["flu"] * 6 + ["HIV"]
    >>> frame = pl.DataFrame({"who": list("abcdefg"), "n": [1] * 7, "stay": stays, "ill": ill})
    >>> tree = Hierarchy.from_tree({"short": ["1", "2"], "long": ["30", "31"]})
    >>> schema = Schema(person="who", order="n", quasi={"stay": tree}, sensitive={"ill": ["HIV"]})
    >>> release = HALT(k=2, c=0.5, p=1).apply(EventTable(frame, schema))
    >>> sorted(release.frame["stay"])
    ['*', '*', '*', '2', '2', '31', '31']
    >>> release.verdict
    Verdict(holds=True, achieved={'k': 2, 'c': 0.5}, witnesses=())

    The one stay of 30 days is suppressed; a star must not single a person out, so two stays of 1 day go, too.

    >>> release.changes.select("from", "to", "persons", "because").unique().sort("from").rows()
    [('1', '*', 2, 'stay = *: 1 person'), ('30', '*', 1, 'stay = 30: 1 person')]

    References
    ----------
    Sehatkar (2014), chapter 4: Algorithms 4.1 and 4.2, which are ``suppression="global"``. The suppression of
    single cells, and the check and repair of what is released, are ours.
    """

    name: ClassVar[str] = "halt"
    paper: ClassVar[str] = "Sehatkar (2014), chapter 4"
    changes: ClassVar[str] = (
        "Makes whole columns coarser, the same for everybody, and replaces some values by *: what is "
        "released is true of its person."
    )
    use_when: ClassVar[str] = (
        "Histories with several columns that others may know in part, such as visits to hospitals, and a "
        "diagnosis that nobody must learn."
    )
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"few"}),
        keeps={
            "records": (BEST, "what is released is true of its person, and only values that give away are *"),
            "counts": (BEST, "columns are equally coarse for everybody, so that values can be counted"),
            "patterns": (GOOD, "all events stay in their order, at the level of their column"),
            "times": (GOOD, "a time that is a quasi-identifier stays true, if coarser"),
        },
    )

    suppression: Literal["local", "global"] = "local"
    """What is suppressed: single cells ("local"), or a value wherever it stands ("global", the thesis)."""
    stars: Literal["counted", "ignored"] = "counted"
    """Is a suppressed cell something that can be known ("counted"), or nothing."""
    search: Literal["greedy", "full"] = "greedy"
    """How levels are looked for: from the coarsest down ("greedy"), or among all combinations ("full")."""


@dataclass(frozen=True, kw_only=True)
class GloGen(KCPMethod):
    """(K,C)^P-privacy by generalizing quasi-identifiers, and by nothing else.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> frame = pl.DataFrame({"who": list("abcd"), "n": [1] * 4, "stay": ["1", "1", "30", "31"]})
    >>> tree = Hierarchy.from_tree({"short": ["1", "2"], "long": ["30", "31"]})
    >>> schema = Schema(person="who", order="n", quasi={"stay": tree})
    >>> release = GloGen(k=2, c=1, p=1).apply(EventTable(frame, schema))
    >>> sorted(release.frame["stay"])
    ['long', 'long', 'short', 'short']

    References
    ----------
    Sehatkar (2014), section 6.4: HALT with its suppression left out.
    """

    name: ClassVar[str] = "glogen"
    paper: ClassVar[str] = "Sehatkar (2014), section 6.4"
    changes: ClassVar[str] = "Makes whole columns coarser, the same for everybody, and nothing else."
    use_when: ClassVar[str] = (
        "No value may be missing where its neighbours are shown; or to see what halt gains by suppressing "
        "a few."
    )
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"few"}),
        keeps={
            "complete": (BEST, "columns become coarser for everybody, and no single value is missing"),
            "records": (FAIR, "what is released is true of its person, but coarser than it would have to be"),
            "counts": (
                FAIR,
                "columns are equally coarse for everybody, but coarser than they would have to be",
            ),
            "yardstick": (BEST, "it does nothing but generalize, which shows what suppression is worth"),
        },
    )
