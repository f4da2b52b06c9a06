"""Risks on a page and in the terminal: the worst case of each attack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sequester.report.text import attack_means, attack_title, kind_title, percent, plain_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sequester.attacks.risk import Proportion, Risk


GENERAL = (
    *("marketer", "unique", "singled_out", "below_k", "prosecutor", "journalist", "candidates"),
    *("confidence", "at_risk", "guess", "group", "close"),
    *("membership", "absence"),
)
"""Attacks that every release meets, in the order of the page: re-identification, inference, membership."""
_BEYOND = ("marketer", "unique", "singled_out", "prosecutor", "confidence", "guess", "membership")


def summarize_risks(risks: Sequence[Risk]) -> dict[str, Any] | None:
    """Return what a page shows about risks; None where there are none.

    Attacks that the promise speaks of are ``claimed``, the most telling others ``beyond`` it, each by its
    worst case; ``defined`` has one row of each attack whose meaning is known.
    """
    if not risks:
        return None
    names = _in_order(risk.name for risk in risks)
    of = {name: [risk for risk in risks if risk.name == name] for name in names}
    claimed = {name: [risk for risk in of[name] if risk.bound is not None] for name in names}
    beyond = {name: [risk for risk in of[name] if risk.bound is None] for name in names}
    telling = [name for name in names if name in _BEYOND or plain_name(name) not in GENERAL]
    return {
        "n_attacks": len(risks),
        "n_claimed": sum(map(len, claimed.values())),
        "reasons": any(risk.control_of == "no reasoning" for risk in risks),
        "n_beaten": sum(not risk.is_within for risk in risks),
        "targets": max(risk.targets for risk in risks),
        "most_known": max(risk.known for risk in risks),
        "claimed": [risk_row(worst(claimed[name])) for name in names if claimed[name]],
        "beyond": [risk_row(worst(beyond[name])) for name in telling if beyond[name]],
        "defined": [risk_row(of[name][0]) for name in names if attack_means(name)],
    }


def worst(risks: Sequence[Risk]) -> Risk:
    """Return the risk that exceeds its claim, or the largest; the least knowledge first."""
    return max(risks, key=lambda risk: (not risk.is_within, risk.value, risk.raw.value, -risk.known))


def main_risks(risks: Sequence[Risk], most: int) -> list[Risk]:
    """Return the risks that matter most, at most so many, and all that are above their claim.

    After those come the worst cases of the most telling attacks: half of the room is for attacks that the
    promise bounds, because they test it, and the rest for the largest risks that it does not bound.
    """
    beaten = [risk for risk in risks if not risk.is_within]
    groups: dict[tuple[bool, str], list[Risk]] = {}
    for risk in risks:
        name = plain_name(risk.name)
        if risk.is_within and (name in _BEYOND or name not in GENERAL):
            groups.setdefault((risk.bound is None, name), []).append(risk)
    cases = {key: worst(group) for key, group in groups.items()}
    bounded = [cases[False, name] for name in _in_order(name for is_open, name in cases if not is_open)]
    others = sorted((risk for (is_open, _), risk in cases.items() if is_open), key=lambda risk: -risk.value)
    room = max(most - len(beaten), 0)
    n_bounded = max(room // 2, room - len(others))
    return [*beaten, *bounded[:n_bounded], *others][: max(most, len(beaten))]


def case_text(risk: Risk) -> str:
    """Return what an adversary knows in a few words.

    Examples
    --------
    >>> from sequester.attacks.risk import Proportion, Risk
    >>> case_text(Risk(0.5, (0.5, 1.0), 0.01, Proportion(0.1, (0.1, 1.0)), kind="event", known=2))
    'in one event, 2 known'
    """
    kind = kind_title(risk.kind).lower() if risk.kind else ""
    return ", ".join(filter(None, (kind, f"{risk.known} known" if risk.known else "")))


def is_largest(share: Proportion) -> bool:
    """Return whether this is a largest value, for which a sample gives no upper bound.

    Examples
    --------
    >>> from sequester.attacks.risk import Proportion
    >>> is_largest(Proportion(0.2, (0.2, 1.0))), is_largest(Proportion(0.2, (0.1, 0.3)))
    (True, False)
    """
    return share.value < 1 and share.interval == (share.value, 1.0)


def _in_order(names: Iterable[str]) -> list[str]:
    """Return the attacks in the order of the page, those of a special promise last."""
    met = list(dict.fromkeys(names))
    return [
        *(name for plain in GENERAL for name in met if plain_name(name) == plain),
        *(name for name in met if plain_name(name) not in GENERAL),
    ]


def risk_row(risk: Risk) -> dict[str, Any]:
    """Return a risk as text: what was tried, and its numbers with and without the release."""
    return {
        "title": attack_title(risk.name),
        "means": attack_means(risk.name),
        "case": case_text(risk),
        "raw": percent(risk.raw.value),
        "release": percent(risk.value),
        "interval": interval_text(risk.release),
        "control": percent(risk.control.value),
        "chance": percent(risk.baseline),
        "claimed": "" if risk.bound is None else percent(risk.bound),
        "is_within": risk.is_within,
    }


def interval_text(share: Proportion) -> str:
    """Return where a share lies with 95% confidence, in a few words.

    Examples
    --------
    >>> from sequester.attacks.risk import Proportion
    >>> interval_text(Proportion(0.2, (0.1, 0.3))), interval_text(Proportion(0.2, (0.2, 1.0)))
    ('10% to 30%', 'or more')
    """
    low, high = share.interval
    if low == high:
        return "exactly"
    return "or more" if is_largest(share) else f"{percent(low)} to {percent(high)}"
