"""Recognition: a record in which items stand in an order that cannot be was changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sequester import kernels
from sequester.attacks.chances import exactly
from sequester.attacks.risk import Risk
from sequester.errors import ParameterError
from sequester.mining.support import supporters
from sequester.privacy.pattern_hiding import UNSEEN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sequester.attacks.hidden_patterns import Secrets
    from sequester.attacks.share import Share
    from sequester.data.sequences import Sequences
    from sequester.privacy.pattern_hiding import PatternHiding

    Pattern = tuple[str, ...]

Implausible = Literal["unseen_pairs", "forbidden"]
"""Two items in an order that nobody had, or a pattern that was declared implausible and that nobody had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognition:
    """Somebody knows which orders do not happen, and takes every record that shows one for changed.

    ``recognized`` is the share of released persons whose records show such an order. A release that was told
    to bring in none (``forbidden``) claims that there is nobody.

    Examples
    --------
    >>> from sequester.attacks.hidden_patterns import Secrets
    >>> from sequester.privacy import PatternHiding
    >>> from sequester.testing import symbol_table
    >>> original, released = symbol_table(5 * ["ab"]), symbol_table(["ab", "ab", "ba", "ba", "ba"])
    >>> model = PatternHiding(sensitive=frozenset({("a", "b")}), min_support=3, forbidden="unseen")
    >>> risk = Recognition().judge(Secrets.of(model, released, original, seed="any"), model)
    >>> risk.value, risk.bound, risk.is_within
    (0.6, 0.0, False)
    """

    kind: Implausible = "unseen_pairs"
    """Which orders do not happen."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Implausible):
            msg = f"kind must be one of {', '.join(get_args(Implausible))}, got {self.kind!r}"
            raise ParameterError(msg)

    def judge(self, secrets: Secrets, model: PatternHiding) -> Risk:
        """Count the persons whose records show what does not happen."""
        if self.kind == "forbidden":
            known = [each for each in secrets.implausible if not supporters(each, secrets.original).any()]
            release, control = (_share(known, data) for data in (secrets.released, secrets.control))
            claims = bool(known)
        else:
            before = _pairs(secrets.original)
            release, control = (
                _share(sorted(_pairs(data) - before), data) for data in (secrets.released, secrets.control)
            )
            claims = model.forbidden == UNSEEN
        return Risk(
            release.value,
            release.interval,
            0.0,
            control,
            raw=exactly(0.0),
            name="recognized",
            kind=self.kind,
            bound=0.0 if claims else None,
            targets=secrets.released.n_persons,
        )


def _share(patterns: Iterable[Pattern], data: Sequences) -> Share:
    """Give the share of persons who have any of the patterns."""
    marked = np.zeros(data.n_persons, np.bool_)
    for pattern in patterns:
        marked |= supporters(pattern, data)
        if marked.all():
            break
    return exactly(float(marked.mean()) if marked.size else 0.0)


def _pairs(data: Sequences) -> set[Pattern]:
    """Give every ordered pair of labels that somebody has."""
    book, rows = data.codebooks[data.symbol], data.distinct(data.symbol)
    pairs = kernels.ordered_pairs.list_pairs(rows.items, rows.offsets, len(book))
    firsts, seconds = np.divmod(pairs, max(len(book), 1))
    return set(zip(book.decode(firsts), book.decode(seconds), strict=True))
