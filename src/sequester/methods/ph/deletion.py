"""Pattern hiding by deletion, which PH is compared with: SBSH and Abul."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sequester.methods.ph.method import PatternMethod
from sequester.release.purpose import BEST, FAIR, Suitability

if TYPE_CHECKING:
    from sequester.methods.ph.algorithm import Sanitized
    from sequester.methods.ph.problem import HidingTask


@dataclass(frozen=True, kw_only=True)
class SBSH(PatternMethod):
    """Pattern hiding by deletion, with few side effects; our reconstruction of SBSH.

    Records with the fewest candidates for loss are changed. In each, the place in most embeddings of
    sensitive patterns is deleted, among equals the one whose symbol has the fewest supporters, until none is
    left.

    Examples
    --------
    >>> from sequester.testing.tables import symbol_table
    >>> table = symbol_table(["abc", "abc", "bac", "acb", "cab"])
    >>> release = SBSH(patterns=[["a", "b", "c"]], min_support=2).apply(table, seed="nobody guesses this")
    >>> release.utility["deletions"].value
    1.0

    References
    ----------
    After Gkoulalas-Divanis, Loukides (2011); the paper was not at hand.
    """

    name: ClassVar[str] = "sbsh"
    paper: ClassVar[str] = "after Gkoulalas-Divanis, Loukides (2011), our reconstruction"
    changes: ClassVar[str] = "Deletes items from some records; what is left is true, and in order."
    use_when: ClassVar[str] = (
        "Released orders must be true, and items may be missing; or to see what ph gains."
    )

    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"patterns"}),
        keeps={
            "records": (BEST, "items are deleted, and what is left is true and in order"),
            "patterns": (FAIR, "it deletes where few other patterns suffer, but deletes"),
            "times": (FAIR, "what is left is in the order in which it happened"),
        },
    )

    def sanitize(self, task: HidingTask) -> Sanitized:
        """Delete where it hurts the fewest patterns."""
        # Loaded here so that `sequester methods` need not wait for numba.
        from sequester.methods.ph.algorithm import delete_by_side_effects  # noqa: PLC0415

        return delete_by_side_effects(task)


@dataclass(frozen=True, kw_only=True)
class Abul(PatternMethod):
    """Pattern hiding by deletion, pattern by pattern, those with the fewest matchings first.

    Examples
    --------
    >>> from sequester.testing.tables import symbol_table
    >>> table = symbol_table(["abab", "ab", "abb"])
    >>> release = Abul(patterns=[["a", "b"]], min_support=2).apply(table, seed="nobody guesses this")
    >>> sorted("".join(row) for row in release.table.sequences.to_rows())
    ['abab', 'b', 'bb']

    References
    ----------
    Abul, Bonchi, Giannotti (2010), Hiding sequential and spatiotemporal patterns.
    """

    name: ClassVar[str] = "abul"
    paper: ClassVar[str] = "Abul, Bonchi, Giannotti (2010)"
    changes: ClassVar[str] = "Deletes items from some records; what is left is true, and in order."
    use_when: ClassVar[str] = "To compare: it looks at nothing but the number of deletions."

    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"patterns"}),
        keeps={
            "yardstick": (BEST, "it deletes pattern by pattern, and looks at no side effects"),
            "records": (FAIR, "items are deleted, and what is left is true and in order"),
        },
    )

    def sanitize(self, task: HidingTask) -> Sanitized:
        """Delete, for each pattern, from those who have it in the fewest ways."""
        # Loaded here so that `sequester methods` need not wait for numba.
        from sequester.methods.ph.algorithm import delete_by_matchings  # noqa: PLC0415

        return delete_by_matchings(task)
