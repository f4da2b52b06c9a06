"""The patterns that most persons have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sequester.engine import silent
from sequester.errors import InputError, ParameterError
from sequester.mining import frequent

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.mining import Patterns

SHARE = 100
"""A pattern is frequent if one in so many persons contains it."""
MAX_LENGTH = 5
"""Items of a pattern, at most."""
SHOWN = 20
"""Patterns that are listed, unless told."""
_MOST = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Frequent:
    """Frequent patterns of at least two items, the most frequent first."""

    min_support: int
    """Persons who contain each of them, at least."""
    total: int
    """How many there are."""
    patterns: tuple[tuple[tuple[str, ...], int], ...]
    """The first of them, with their persons."""

    @classmethod
    def of(
        cls,
        table: EventTable,
        *,
        min_support: int | None = None,
        top: int = SHOWN,
        engine: Engine | None = None,
        progress: Progress = silent,
    ) -> Frequent:
        """Mine the symbol sequences of a table, and list the `top`; several attributes are refused.

        Unless told, one in a hundred persons makes a pattern frequent, and at least two. Where that would be
        more patterns than anybody can look at, the number is doubled until they are fewer; a number that was
        given is kept, and so many patterns are refused.
        """
        if table.symbol is None:
            msg = "--patterns lists patterns of symbols, and this table has quasi-identifiers instead"
            raise InputError(msg)
        if top < 1:
            msg = f"top must be at least 1, got {top}"
            raise ParameterError(msg)

        def mine(support: int) -> Patterns:
            return frequent(
                table,
                min_support=support,
                min_length=2,
                max_length=MAX_LENGTH,
                max_patterns=_MOST,
                engine=engine,
                progress=progress,
            )

        if min_support is not None:
            found = mine(min_support)
        else:
            min_support = max(-(-table.n_owners // SHARE), 2)
            while True:
                try:
                    found = mine(min_support)
                except ParameterError:
                    min_support *= 2
                else:
                    break
        # Patterns come in label order, which the sort keeps among equals.
        first = sorted(found.items(), key=lambda pair: -pair[1])[:top]
        return cls(min_support=min_support, total=len(found), patterns=tuple(first))

    def to_json(self) -> dict[str, Any]:
        """Give the part of the document that ``inspect --patterns --json`` prints."""
        return {
            "min_support": self.min_support,
            "max_length": MAX_LENGTH,
            "total": self.total,
            "first": [{"items": list(items), "persons": persons} for items, persons in self.patterns],
        }
