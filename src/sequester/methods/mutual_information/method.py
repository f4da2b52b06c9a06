"""Top-Down and Bottom-Up: generalize each person's symbols until the sequence reveals little about patterns.

Top-Down starts from the root and refines while the sequence stays private; Bottom-Up merges the patterns that
are closest until it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from sequester._validation import as_patterns
from sequester.engine import part
from sequester.errors import ParameterError
from sequester.methods.method import SymbolMethod
from sequester.methods.relax import RelaxationPath, upwards
from sequester.release.purpose import BEST, FAIR, GOOD, Suitability

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.methods.mutual_information.online import OnlineTopDown
    from sequester.privacy.mutual_information import MutualInformationPrivacy
    from sequester.release.outcome import Outcome, Reason
    from sequester.release.randomness import Randomness
    from sequester.release.release import Release
    from sequester.utility.score import Score

NAMED_COSTS = ("information-loss", "linear", "exponential")
"""Costs that need no table."""


@dataclass(frozen=True, kw_only=True)
class MutualInformationMethod(SymbolMethod):
    """A method that generalizes one person's symbols until they reveal little about patterns in it."""

    no_series: ClassVar[str] = "it protects one log; top-down goes on with it by protect --follow"
    refused_roles: ClassVar[tuple[str, ...]] = ("keep",)
    way: ClassVar[Literal["top-down", "bottom-up"]]
    """Which of the two ways."""

    patterns: tuple[tuple[str, ...], ...] = field(
        default=(), metadata={"published": False, "path_key": "patterns_path"}
    )
    """The patterns to hide, each a list of labels; patterns_path names a file with one JSON list per line."""
    window: int = field(default=10, metadata={"least": 1})
    """Steps between the first and the last event of an occurrence, at most."""
    max_leakage: float | None = None
    """Share of the entropy of the patterns that may leak, 0 to 1; 0.5 by default."""
    max_leakage_bits: float | None = None
    """Bits that may leak, instead of a share."""
    worst_case: bool = False
    """Bound what leaks of each pattern by itself, and not only of all of one length together."""
    measure: Literal["exact", "paper"] = "exact"
    """Mutual information, or the paper's leakage measure, which sums over sensitive patterns only."""
    cost: str | dict[str, dict[str, float]] = "information-loss"
    """What generalizing costs: information-loss, linear, exponential, or a table leaf -> node -> cost."""
    weight: str | None = None
    """A column with the importance of each event's time; all are alike without it."""
    scope: Literal["global", "local"] = "global"
    """All occurrences of a symbol alike ("global"), or only those generalized that take part in a pattern."""
    search: Literal["greedy", "improve", "optimal"] = "improve"
    """A local search from the answer of the paper's heuristic, that alone ("greedy"), or an exact search for
    small alphabets ("optimal")."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "patterns", as_patterns("patterns", self.patterns))
        if not self.patterns:
            msg = "patterns must have at least one pattern, and there is none"
            raise ParameterError(msg)
        model = self.model()  # It refuses what a promise cannot be, and fills in the bound.
        for name in ("window", "max_leakage", "max_leakage_bits"):
            object.__setattr__(self, name, getattr(model, name))
        given: dict[str, object] = {"cost": self.cost, "weight": self.weight}
        if not isinstance(given["cost"], Mapping) and given["cost"] not in NAMED_COSTS:
            msg = f"cost must be {', '.join(NAMED_COSTS)} or a table leaf -> node -> cost, got {self.cost!r}"
            raise ParameterError(msg)
        if not isinstance(given["weight"], str | None):
            msg = f"weight must be the name of a column, got {given['weight']!r}"
            raise ParameterError(msg)
        super().__post_init__()

    def unpublished(self) -> frozenset[str]:
        """Return the patterns, and a table of costs, whose leaves are those below the released nodes."""
        hidden = super().unpublished()
        return hidden if isinstance(self.cost, str) else hidden | {"cost"}

    def model(self) -> MutualInformationPrivacy:
        """Return the promise of mutual information privacy."""
        from sequester.privacy.mutual_information import MutualInformationPrivacy

        return MutualInformationPrivacy(
            sensitive=frozenset(self.patterns),
            window=self.window,
            max_leakage=self.max_leakage,
            max_leakage_bits=self.max_leakage_bits,
            worst_case=self.worst_case,
            measure=self.measure,
        )

    def named_labels(self) -> tuple[str, ...]:
        """Return the items of all patterns."""
        return tuple(dict.fromkeys(label for pattern in self.patterns for label in pattern))

    def accept(self, table: EventTable) -> None:
        """Refuse a table without a taxonomy of its one symbol, and one in which no pattern occurs."""
        from sequester.methods.mutual_information.algorithm import LeakagePlan

        super().accept(table)
        LeakagePlan.of(self, table)

    def schema_errors(self, table: EventTable) -> list[str]:
        """Return why a table is not one symbol per event with a taxonomy, weighed as the method asks."""
        schema = table.schema
        lines = super().schema_errors(table)
        if schema.symbol is not None and schema.symbol.hierarchy is None:
            lines.append(
                f"{self.name} generalizes, and column {schema.symbol.column!r} has no hierarchy to do it by"
            )
        if self.weight != schema.weight:
            lines.append(
                f"weight of {self.name} is {_column(self.weight)}, and the table has the role weight for "
                f"{_column(schema.weight)}: name the same in both"
            )
        return lines

    def transform(
        self, table: EventTable, *, randomness: Randomness, engine: Engine, progress: Progress
    ) -> Outcome:
        """Generalize each person's symbols; nothing here is random."""
        from sequester.methods.mutual_information.algorithm import LeakagePlan
        from sequester.methods.mutual_information.publish import publish

        del randomness
        progress(0.0, "searching for the patterns")
        plan = LeakagePlan.of(self, table)
        nodes = plan.run(engine=engine, progress=part(progress, 0.1, 0.8))
        progress(0.8, "listing the changes")
        return publish(self, table, plan, nodes, progress=part(progress, 0.8, 1.0))

    @classmethod
    def suggest(cls, table: EventTable, *, k: int) -> dict[str, object]:
        """Return a pattern that shows the form, and a half as the share that may leak."""
        from sequester.methods.defaults import default_pattern

        del k
        return {"patterns": default_pattern(table), "window": 10, "max_leakage": 0.5}

    @classmethod
    def alternatives(cls, table: EventTable, parameters: dict[str, object]) -> tuple[dict[str, object], ...]:
        """Return several bounds, the suggested one among them, that show what leakage costs."""
        del table
        return tuple({**parameters, "max_leakage": share} for share in (0.1, 0.25, 0.5, 0.75))

    def reasons(self, release: Release, original: EventTable) -> tuple[Reason, ...]:
        """Return which patterns revealed more than their bound, and whose symbols became coarser for it."""
        from sequester.methods.mutual_information.publish import reasons_of

        del original
        return reasons_of(release.changes, release.evidence)

    def relaxations(self, original: EventTable) -> tuple[RelaxationPath, ...]:
        """Return how more may leak: a larger share of the entropy, or more bits, up to all that there are."""
        from sequester.methods.mutual_information.publish import more_bits

        if self.max_leakage_bits is not None:
            steps = more_bits(self.max_leakage_bits, self.model(), original)
            return (RelaxationPath.of(self, "max_leakage_bits", steps),)
        return (RelaxationPath.of(self, "max_leakage", upwards(self.max_leakage or 0)),)

    def evaluate(self, outcome: Outcome, table: EventTable, *, progress: Progress) -> dict[str, Score]:
        """Measure what generalizing lost, what can still be mined, and how leakage spreads over persons."""
        from sequester.methods.mutual_information.publish import measure

        return measure(self, outcome, table, progress=progress)


@dataclass(frozen=True, kw_only=True)
class TopDown(MutualInformationMethod):
    """Each person's sequence, generalized from the root downwards until more would reveal too much.

    Examples
    --------
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> shop = Hierarchy.from_tree({"Alcohol": ["Beer", "Wine"], "Snack": ["Chips", "Cookies"]})
    >>> days = ["Beer", "Chips", "Wine", "Cookies", "Beer", "Chips", "Cookies", "Wine"]
    >>> table = symbol_table([days], hierarchy=shop)
    >>> release = TopDown(patterns=[["Beer", "Chips"]], window=1, max_leakage=0.7).apply(table)
    >>> release.table.sequences.to_rows()
    [('Alcohol', 'Snack', 'Alcohol', 'Snack', 'Alcohol', 'Snack', 'Snack', 'Alcohol')]

    References
    ----------
    Bonomi, Fan, Jin (2016), Algorithm 1.
    """

    name: ClassVar[str] = "top-down"
    way: ClassVar[Literal["top-down", "bottom-up"]] = "top-down"
    paper: ClassVar[str] = (
        "Bonomi, Fan, Jin (2016), An Information Theoretic Approach to Individual Sequential Data "
        "Sanitization"
    )
    promise: ClassVar[str] = (
        "On average over all places of a person's sequence, the released symbols reveal at most a given "
        "share of the entropy, or number of bits, about which secret pattern stood there."
    )
    changes: ClassVar[str] = "Replaces symbols by coarser ones, for each person in their own way."
    use_when: ClassVar[str] = (
        "One person's long log, or several, with a taxonomy, a few patterns to hide, and utility before "
        "speed."
    )

    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"patterns"}),
        recipients=frozenset({"service"}),
        release=frozenset({"once", "repeated"}),
        keeps={
            "records": (BEST, "symbols become coarser, never untrue"),
            "complete": (BEST, "every event stays in its place, some of them coarser"),
            "times": (BEST, "every event stays in its place, some of them coarser"),
            "counts": (GOOD, "how often something happened stays true at the level that is released"),
            "patterns": (GOOD, "orders that have nothing to do with the secret ones stay as they are"),
        },
        cautions={
            "repeated": "what comes in is followed with one bound for all: sequester protect --follow -"
            " with max_leakage_bits; two releases of the same events are not covered"
        },
        most_labels=500,
    )

    def follow(self, hierarchy: Hierarchy) -> OnlineTopDown:
        """Sanitize one person's symbols as they come, over a taxonomy that is known in advance.

        Examples
        --------
        >>> from sequester.hierarchies import Hierarchy
        >>> shop = Hierarchy.from_tree({"Alcohol": ["Beer", "Wine"], "Snack": ["Chips", "Cookies"]})
        >>> method = TopDown(patterns=[["Beer", "Chips"]], window=1, max_leakage_bits=0)
        >>> list(method.follow(shop).run(["Beer", "Chips", "Wine"]))
        ['*', '*', '*']
        """
        from sequester.methods.mutual_information.online import OnlineTopDown

        if self.max_leakage_bits is None:
            msg = (
                "max_leakage_bits must be given to follow a stream: its entropy is not known in advance, and "
                "neither is a share of it"
            )
            raise ParameterError(msg)
        if self.search == "optimal":
            msg = 'search must not be "optimal" to follow a stream, which is generalized symbol by symbol'
            raise ParameterError(msg)
        if self.weight is not None:
            msg = f"weight must not be given to follow a stream, got {self.weight!r}"
            raise ParameterError(msg)
        return OnlineTopDown(self, hierarchy, max_leakage_bits=self.max_leakage_bits)


@dataclass(frozen=True, kw_only=True)
class BottomUp(MutualInformationMethod):
    """Each person's sequence, generalized from the leaves upwards until it reveals little enough.

    Examples
    --------
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> shop = Hierarchy.from_tree({"Alcohol": ["Beer", "Wine"], "Snack": ["Chips", "Cookies"]})
    >>> days = ["Beer", "Chips", "Wine", "Cookies", "Beer", "Chips", "Cookies", "Wine"]
    >>> table = symbol_table([days], hierarchy=shop)
    >>> secret = [["Beer", "Chips"], ["Wine", "Cookies"]]
    >>> release = BottomUp(patterns=secret, window=1, max_leakage=0.8).apply(table)
    >>> release.table.sequences.to_rows()
    [('Alcohol', 'Snack', 'Alcohol', 'Snack', 'Alcohol', 'Snack', 'Snack', 'Alcohol')]

    References
    ----------
    Bonomi, Fan, Jin (2016), Algorithms 2 and 3.
    """

    name: ClassVar[str] = "bottom-up"
    way: ClassVar[Literal["top-down", "bottom-up"]] = "bottom-up"
    paper: ClassVar[str] = TopDown.paper
    promise: ClassVar[str] = TopDown.promise
    changes: ClassVar[str] = TopDown.changes
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"patterns"}),
        recipients=frozenset({"service"}),
        keeps={
            **{
                name: (FAIR, f"{why}; coarser than by top-down, and sooner where there are many labels")
                for name, (_, why) in TopDown.serves.keeps.items()
            },
            "yardstick": (BEST, "it merges the closest patterns, which shows what top-down gains"),
        },
    )
    use_when: ClassVar[str] = "As top-down, where the alphabet is large and a coarser answer is good enough."


def _column(name: str | None) -> str:
    return "no column" if name is None else f"column {name!r}"
