"""Top-Down: start from the root and refine while the sequence stays private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from sequester.errors import ParameterError
from sequester.methods.mutual_information.mutual_information_method import MutualInformationMethod
from sequester.release.purpose import BEST, GOOD, Suitability

if TYPE_CHECKING:
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.methods.mutual_information.online import OnlineTopDown


@dataclass(frozen=True, kw_only=True)
class TopDown(MutualInformationMethod):
    """Each person's sequence, generalized from the root downwards until more would tell too much.

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
        "Place by place, on average, a person's released sequence tells little about where secret patterns "
        "occurred in it, in bits."
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
        # Loaded here so that `sequester methods` need not wait for numpy.
        from sequester.methods.mutual_information.online import OnlineTopDown  # noqa: PLC0415

        if self.max_leakage_bits is None:
            msg = (
                "max_leakage_bits must be given to follow a stream: its entropy is not known in advance, and "
                "neither is a share of it"
            )
            raise ParameterError(msg)
        if self.search != "greedy":
            msg = f'search must be "greedy" to follow a stream, got "{self.search}"'
            raise ParameterError(msg)
        if self.weight is not None:
            msg = f"weight must not be given to follow a stream, got {self.weight!r}"
            raise ParameterError(msg)
        return OnlineTopDown(
            hierarchy,
            patterns=self.patterns,
            window=self.window,
            max_leakage_bits=self.max_leakage_bits,
            worst_case=self.worst_case,
            measure=self.measure,
            cost=self.cost,
        )
