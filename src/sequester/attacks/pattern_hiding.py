"""Attacks on pattern hiding: suspects just below the threshold, orders that remain, changed records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import factorial, prod
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sequester._validation import one_of
from sequester.attacks.context import permute
from sequester.attacks.risk import NOTHING, Proportion, Risk, exact, mean_of
from sequester.datasets.draws import generator
from sequester.errors import ParameterError
from sequester.mining.frequent import frequent
from sequester.mining.support import mark_new_pairs, sequences_of, supporters, supports
from sequester.privacy.pattern_hiding import UNSEEN
from sequester.ragged import offsets_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from sequester._typing import Counts, Mask
    from sequester.attacks.context import Case
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable, SequenceData
    from sequester.privacy.pattern_hiding import PatternHiding

    Chances = npt.NDArray[np.float64]
    Pattern = tuple[str, ...]


MOST_ORDERS = 100_000
"""Orders that an adversary goes through, of all hidden patterns together."""
MOST_PATTERNS = 500_000
"""Patterns that an adversary mines; where there are more, what they would find is not known."""

OrderKnowledge = Literal["orders", "plausible_orders", "near_orders", "used_orders"]
"""How orders are excluded; see `order_risk`."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """What a publisher hides, and the data with and without it."""

    patterns: tuple[Pattern, ...]
    """The sensitive patterns, in label order."""
    threshold: int
    """The published number of supporters that makes a pattern frequent."""
    original: Sequences
    """The events as they were."""
    released: Sequences
    """The events as they are published."""
    control: Sequences
    """The same with all symbols permuted."""
    hidden: tuple[Pattern, ...]
    """The patterns that had as many supporters as they may not have: something was done about them."""
    implausible: tuple[Pattern, ...] = ()
    """Patterns that an adversary who knows the field takes for impossible."""

    @classmethod
    def of(cls, model: PatternHiding, released: SequenceData, original: EventTable, *, seed: str) -> Secrets:
        """Collect what the attacks need."""
        promise = model.about(original)
        patterns = tuple(sorted(promise.sensitive))
        counts = supports(patterns, original).tolist()
        after = sequences_of(released)
        return cls(
            patterns,
            int(promise.min_support),
            original.sequences,
            after,
            permute(after, generator("attack control", seed)),
            tuple(
                pattern
                for pattern, count in zip(patterns, counts, strict=True)
                if count >= promise.threshold(pattern)
            ),
            () if isinstance(promise.forbidden, str) else tuple(sorted(promise.forbidden)),
        )

    @property
    def band(self) -> int:
        """How far below the threshold is near it: a tenth of it, at least one."""
        return max(1, self.threshold // 10)


def suspicion_risks(secrets: Secrets) -> list[Risk]:
    """Return the success of an adversary who suspects every pattern right below the threshold.

    Methods hide a pattern by as few changes as they can, so that it ends where it is just allowed to be.
    Suspects are the patterns of the lengths that secrets have whose supporters are fewer than the threshold
    by one (``at_threshold``) or by up to a tenth of it (``near_threshold``). ``suspects`` is the share of
    them that is secret, ``exposed`` the share of hidden patterns that is suspected. In the original they
    look at what is frequent.

    Examples
    --------
    >>> from sequester.privacy import PatternHiding
    >>> from sequester.testing import symbol_table
    >>> original, released = symbol_table(5 * ["ab"]), symbol_table(["ab", "ab", "ba", "ba", "ba"])
    >>> model = PatternHiding(sensitive=frozenset({("a", "b")}), min_support=3)
    >>> secrets = Secrets.of(model, released, original, seed="any")
    >>> risk = suspicion_risks(secrets)[0]
    >>> risk.value, risk.targets, risk.baseline
    (1.0, 1, 0.25)

    References
    ----------
    Gwadera, Gkoulalas-Divanis, Loukides (2013), Preventing background knowledge attacks, (i).
    """
    n_symbols = len(secrets.released.codebook)
    n_all = sum(float(n_symbols) ** length for length in _lengths(secrets.patterns))
    lowest = max(secrets.threshold - secrets.band, 1)
    frequent_in_original = range(secrets.threshold, secrets.original.n_persons + 1)
    mined = [_mine(each, secrets, lowest) for each in (secrets.released, secrets.control)]
    raw, _ = _count_suspects(
        secrets, secrets.original, _mine(secrets.original, secrets, secrets.threshold), frequent_in_original
    )
    risks = []
    for kind, band in (("at_threshold", 1), ("near_threshold", secrets.band)):
        below = range(max(secrets.threshold - band, 1), secrets.threshold)
        (release, n_suspects), (control, _) = (
            _count_suspects(secrets, data, supports_of_all, below)
            for data, supports_of_all in zip((secrets.released, secrets.control), mined, strict=True)
        )
        for name, named, targets in (
            ("suspects", len(secrets.patterns), n_suspects),
            ("exposed", n_suspects, len(secrets.hidden)),
        ):
            chance = min(named / max(n_all, 1.0), 1.0)
            risks.append(
                Risk.of(
                    release[name], chance, control[name], raw=raw[name], name=name, kind=kind, targets=targets
                )
            )
    return risks


def _mine(data: Sequences, secrets: Secrets, min_support: int) -> Counts | None:
    """Return the supports of all frequent patterns as long as secret ones; None where there are too many."""
    lengths = _lengths(secrets.patterns)
    try:
        found = frequent(
            data,
            min_support=min_support,
            min_length=lengths[0],
            max_length=lengths[-1],
            max_patterns=MOST_PATTERNS,
        )
    except ParameterError:
        return None
    return found.supports[np.isin(np.diff(found.offsets), lengths)]


def _count_suspects(
    secrets: Secrets, data: Sequences, mined: Counts | None, band: range
) -> tuple[dict[str, Proportion], int]:
    """Return the shares of suspects that are secret and of secrets that are suspects, and all suspects."""
    if mined is None:
        # More than anybody can look through: what they would find is anything from nothing to all.
        return {"suspects": NOTHING, "exposed": NOTHING}, 0
    n_suspects, n_secret, n_hidden = (
        int(((counts >= band.start) & (counts < band.stop)).sum())
        for counts in (mined, supports(secrets.patterns, data), supports(secrets.hidden, data))
    )
    shares = {
        "suspects": Proportion.counted(n_secret, n_suspects),
        "exposed": Proportion.counted(n_hidden, len(secrets.hidden)),
    }
    return shares, n_suspects


def order_risk(
    secrets: Secrets,
    *,
    seed: str,
    kind: OrderKnowledge = "orders",
    permutations: int = 0,
    support: int = 0,
) -> Risk:
    """Return the chance that an adversary who knows the items of a hidden pattern guesses their order.

    Who knows the items only excludes ``orders`` with as many supporters as the threshold: those are not
    hidden. ``plausible_orders``: also those that nobody had, and those that are declared implausible, as
    somebody does who knows the field. ``near_orders``: of these also such as are more than a tenth of the
    threshold below it, because what is hidden ends close to it. One of the rest is picked. In the original
    they pick one of the frequent orders.

    With bounded uncertainty the publisher says that at least so many `permutations` of every hidden pattern
    have at least so much `support`. Who knows that, excludes what has less (``used_orders``) and nothing
    else, is left with as many orders, and the hidden one or not: a chance of at most one in one more.

    Examples
    --------
    >>> from sequester.privacy import PatternHiding
    >>> from sequester.testing import symbol_table
    >>> original, released = symbol_table(5 * ["ab"]), symbol_table(["ab", "ab", "ba", "ba", "ba"])
    >>> model = PatternHiding(sensitive=frozenset({("a", "b")}), min_support=3)
    >>> secrets = Secrets.of(model, released, original, seed="any")
    >>> risk = order_risk(secrets, seed="any")
    >>> risk.value, risk.baseline
    (1.0, 0.5)

    References
    ----------
    Gwadera, Gkoulalas-Divanis, Loukides (2013), Preventing background knowledge attacks, (ii).
    """
    one_of("kind", kind, get_args(OrderKnowledge))
    asked = _asked(secrets.hidden, seed)
    orders = [distinct_orders(pattern) for pattern in asked]
    flat = [order for each in orders for order in each]
    starts = offsets_of([len(each) for each in orders])
    mine = starts[:-1] + np.array(
        [each.index(pattern) for each, pattern in zip(orders, asked, strict=True)], np.int64
    )
    before = supports(flat, secrets.original)
    may_be = np.ones(len(flat), np.bool_)
    if kind in ("plausible_orders", "near_orders"):
        # Who knows the field knows what happens and what does not.
        may_be &= before > 0
        may_be &= ~np.array([_holds_any(order, secrets.implausible) for order in flat], np.bool_)
    low, high = 0, secrets.threshold
    if kind == "near_orders":
        low = high - secrets.band
    elif kind == "used_orders":
        low, high = support, len(secrets.released.person_offsets)

    def chances(data: Sequences) -> Chances:
        counts = supports(flat, data)
        return _pick(may_be & (counts >= low) & (counts < high), starts, mine)

    is_all = len(asked) == sum(n_orders(pattern) > 1 for pattern in secrets.hidden)
    estimate = partial(mean_of, is_all=is_all)
    return Risk.of(
        estimate(chances(secrets.released)),
        float((1 / np.diff(starts)).mean()) if asked else 0.0,
        estimate(chances(secrets.control)),
        raw=estimate(_pick(may_be & (before >= secrets.threshold), starts, mine)),
        name="order",
        kind=kind,
        known=max(map(len, asked), default=0),
        bound=1 / (permutations + 1) if kind == "used_orders" else None,
        targets=len(asked),
    )


def attack_hidden(model: PatternHiding, case: Case) -> list[Risk]:
    """Run the attacks on what a release hides; see `docs/attacks.md` for what is claimed."""
    if case.released is None:
        return []
    secrets = Secrets.of(model, case.released, case.original, seed=case.seed)
    risks = suspicion_risks(secrets)
    case.progress(0.5, "attacking (orders of hidden patterns)")
    kinds: tuple[OrderKnowledge, ...] = ("orders", "plausible_orders", "near_orders")
    risks += [order_risk(secrets, seed=case.seed, kind=kind) for kind in kinds]
    spread = case.parameters.get("uncertainty")
    if isinstance(spread, Mapping):
        risks.append(order_risk(secrets, seed=case.seed, kind="used_orders", **spread))
    case.progress(0.8, "attacking (implausible orders)")
    risks += recognition_risks(secrets, model)
    return risks


def _pick(remain: npt.NDArray[np.bool_], starts: Counts, mine: Counts) -> Chances:
    """Return the chance to pick ``mine[i]`` among those that remain of ``starts[i]`` to ``starts[i + 1]``."""
    running = offsets_of(remain)
    left = running[starts[1:]] - running[starts[:-1]]
    chances: Chances = np.where(remain[mine], 1 / np.maximum(left, 1), 0.0)
    return chances


def _asked(hidden: tuple[Pattern, ...], seed: str) -> list[Pattern]:
    """Choose patterns with several orders, by chance, until there are as many orders as anybody looks at."""
    several = [pattern for pattern in hidden if n_orders(pattern) > 1]
    left, asked = MOST_ORDERS, []
    for place in generator("attack orders", seed).permutation(len(several)).tolist():
        left -= n_orders(several[place])
        if left < 0:
            break
        asked.append(several[place])
    return sorted(asked)


def _holds_any(order: Pattern, patterns: tuple[Pattern, ...]) -> bool:
    """Return whether an order contains one of the patterns, gaps allowed."""
    for pattern in patterns:
        rest = iter(order)
        if all(label in rest for label in pattern):
            return True
    return False


def _lengths(patterns: tuple[Pattern, ...]) -> list[int]:
    return sorted({len(pattern) for pattern in patterns})


def n_orders(pattern: Pattern) -> int:
    """Count the different orders of a pattern's items.

    Examples
    --------
    >>> n_orders(("a", "b", "c")), n_orders(("a", "b", "a"))
    (6, 3)
    """
    return factorial(len(pattern)) // prod(map(factorial, Counter(pattern).values()))


def distinct_orders(pattern: Pattern) -> list[Pattern]:
    """List the different orders of a pattern's items, in label order.

    Examples
    --------
    >>> distinct_orders(("b", "a", "a"))
    [('a', 'a', 'b'), ('a', 'b', 'a'), ('b', 'a', 'a')]
    """
    if not pattern:
        return [()]
    firsts = {label: pattern.index(label) for label in sorted(set(pattern))}
    return [
        (label, *order)
        for label, place in firsts.items()
        for order in distinct_orders((*pattern[:place], *pattern[place + 1 :]))
    ]


def recognition_risks(secrets: Secrets, model: PatternHiding) -> list[Risk]:
    """Return the shares of released persons whose records show an order that does not happen.

    That is two items in an order that nobody had (``unseen_pairs``), or a pattern that was declared
    implausible and that nobody had (``forbidden``), if any was. A release that was told to bring in none
    claims that there is nobody.

    Examples
    --------
    >>> from sequester.attacks.pattern_hiding import Secrets
    >>> from sequester.privacy import PatternHiding
    >>> from sequester.testing import symbol_table
    >>> original, released = symbol_table(5 * ["ab"]), symbol_table(["ab", "ab", "ba", "ba", "ba"])
    >>> model = PatternHiding(sensitive=frozenset({("a", "b")}), min_support=3, forbidden="unseen")
    >>> (risk,) = recognition_risks(Secrets.of(model, released, original, seed="any"), model)
    >>> risk.value, risk.bound, risk.is_within
    (0.6, 0.0, False)
    """
    known = [each for each in secrets.implausible if not supporters(each, secrets.original).any()]

    def mark_known(data: Sequences) -> Mask:
        marks = np.zeros(data.n_persons, np.bool_)
        for each in known:
            marks |= supporters(each, data)
        return marks

    ways: list[tuple[str, Callable[[Sequences], Mask], bool]] = [
        ("unseen_pairs", partial(mark_new_pairs, original=secrets.original), model.forbidden == UNSEEN)
    ]
    if secrets.implausible:
        ways.append(("forbidden", mark_known, bool(known)))
    return [
        Risk.of(
            mean_of(mark(secrets.released), is_all=True),
            0.0,
            mean_of(mark(secrets.control), is_all=True),
            raw=exact(0.0),
            name="recognized",
            kind=kind,
            bound=0.0 if claims else None,
            targets=secrets.released.n_persons,
        )
        for kind, mark, claims in ways
    ]
