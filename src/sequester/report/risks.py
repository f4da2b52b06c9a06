"""Risks on a page: the worst of each attack before and after, curves over what is known, and all numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester.attacks.share import Share
from sequester.report.curve import Curve, draw_curve, draw_span, is_largest, scale_for
from sequester.report.risk_words import GOALS, KINDS, attack_means, attack_title, kind_title, plain_name
from sequester.report.wording import percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup

    from sequester.attacks.risk import Risk

_GENERAL = tuple(name for goal in GOALS for name in goal.attacks)
_BEYOND = ("marketer", "unique", "singled_out", "prosecutor", "confidence", "guess", "membership")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The worst case of one attack."""

    title: str
    """What the attack is called."""
    means: str
    """What its number says."""
    case: str
    """What was known, by kind and number."""
    known: int
    """The number alone."""
    raw: str
    """In the original."""
    raw_interval: str
    """Where that lies for everybody."""
    release: str
    """In the release."""
    interval: str
    """Where it lies for everybody, with 95% confidence."""
    control: str
    """In the control."""
    control_interval: str
    """Where that lies for everybody."""
    chance: str
    """Without any knowledge."""
    claimed: str
    """What the release claims; empty where nothing."""
    is_within: bool
    """The claim is kept."""
    drawing: Markup
    """The same on a line from 0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """One attack over what is known, a drawing for each kind of knowledge."""

    title: str
    """What the attack is called."""
    means: str
    """What its number says."""
    drawings: tuple[tuple[str, str, Markup], ...]
    """Kind of knowledge, its definition, and the drawing."""
    has_claim: bool
    """A line shows what is claimed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """All attacks with one kind of knowledge."""

    title: str
    """The kind."""
    means: str
    """What is known."""
    rows: tuple[Row, ...]
    """Attack by attack, by how much is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Everything that a page says about risks."""

    n_attacks: int
    """Attacks that were tried."""
    n_claimed: int
    """Those against whom the release claims something."""
    reasons: bool
    """Some adversaries reason about how the method works."""
    n_beaten: int
    """Those who achieved more than is claimed."""
    targets: int
    """Pieces of knowledge of every kind and size, at most."""
    most_known: int
    """Items that were known, at most."""
    claimed: tuple[Row, ...]
    """The worst case of each attack that the promise speaks of."""
    beyond: tuple[Row, ...]
    """The worst case of the most telling attacks that it does not speak of."""
    curves: tuple[Curves, ...]
    """The most telling attacks over what is known."""
    kinds: tuple[Kind, ...]
    """All numbers, by kind of knowledge."""
    defined: tuple[Row, ...]
    """One row of each attack whose meaning is known."""


def judgement(risks: Sequence[Risk]) -> Judgement | None:
    """Bring risks down to what a page shows; None where nobody attacked."""
    if not risks:
        return None
    names = _in_order(risk.name for risk in risks)
    of = {name: [risk for risk in risks if risk.name == name] for name in names}
    claimed = {name: [risk for risk in of[name] if risk.bound is not None] for name in names}
    beyond = {name: [risk for risk in of[name] if risk.bound is None] for name in names}
    telling = [name for name in names if name in _BEYOND or plain_name(name) not in _GENERAL]
    return Judgement(
        n_attacks=len(risks),
        n_claimed=sum(map(len, claimed.values())),
        reasons=any(risk.control_of == "no reasoning" for risk in risks),
        n_beaten=sum(not risk.is_within for risk in risks),
        targets=max(risk.targets for risk in risks),
        most_known=max(risk.known for risk in risks),
        claimed=tuple(_row(_worst(claimed[name]), drawn=True) for name in names if claimed[name]),
        beyond=tuple(_row(_worst(beyond[name]), drawn=True) for name in telling if beyond[name]),
        curves=tuple(_curves(of)),
        kinds=tuple(_kinds(risks)),
        defined=tuple(_row(of[name][0]) for name in names if attack_means(name)),
    )


def _in_order(names: Iterable[str]) -> list[str]:
    """Put the attacks in the order of the page, those of a special promise last."""
    met = list(dict.fromkeys(names))
    return [
        *(name for plain in _GENERAL for name in met if plain_name(name) == plain),
        *(name for name in met if plain_name(name) not in _GENERAL),
    ]


def _worst(risks: Sequence[Risk]) -> Risk:
    """The risk that comes closest to its claim, or the largest; the least knowledge first."""
    return max(risks, key=lambda risk: (not risk.is_within, risk.value, risk.raw.value, -risk.known))


def _row(risk: Risk, *, drawn: bool = False) -> Row:
    release = Share(risk.value, risk.interval)
    case = kind_title(risk.kind) if risk.kind else ""
    known = f"{risk.known} known" if risk.known else ""
    return Row(
        title=attack_title(risk.name),
        means=attack_means(risk.name),
        case=", ".join(filter(None, (case.lower(), known))),
        known=risk.known,
        raw=percent(risk.raw.value),
        raw_interval=_interval(risk.raw),
        release=percent(risk.value),
        interval=_interval(release),
        control=percent(risk.control.value),
        control_interval=_interval(risk.control),
        chance=percent(risk.baseline),
        claimed="" if risk.bound is None else percent(risk.bound),
        is_within=risk.is_within,
        drawing=draw_span(risk.raw, release, risk.control, risk.bound if drawn else None),
    )


def _kind_means(kind: str) -> str:
    return KINDS[kind][1] if kind in KINDS else ""


def _interval(share: Share) -> str:
    low, high = share.interval
    if low == high:
        return "exactly"
    return "or more" if is_largest(share) else f"{percent(low)} to {percent(high)}"


def _curves(of: dict[str, list[Risk]]) -> Iterable[Curves]:
    drawn = [name for goal in GOALS for name in goal.drawn]
    drawn += [name for name in of if plain_name(name) not in _GENERAL]
    for name in drawn:
        curves = [curve for curve in _curves_of(of.get(name, [])) if len(curve.known) > 1 and curve.top > 0]
        if not curves:
            continue
        end = scale_for(curves)
        yield Curves(
            title=attack_title(name),
            means=attack_means(name),
            drawings=tuple(
                (curve.title, curve.means, draw_curve(curve, end=end, label=_read_out(name, curve)))
                for curve in curves
            ),
            has_claim=any(each is not None and each <= end for curve in curves for each in curve.bound),
        )


def _curves_of(risks: Sequence[Risk]) -> Iterable[Curve]:
    for kind in dict.fromkeys(risk.kind for risk in risks):
        line = sorted((risk for risk in risks if risk.kind == kind), key=lambda risk: risk.known)
        if len({risk.known for risk in line}) < len(line):
            continue
        yield Curve(
            title=kind_title(kind),
            means=_kind_means(kind),
            known=tuple(risk.known for risk in line),
            raw=tuple(risk.raw for risk in line),
            release=tuple(Share(risk.value, risk.interval) for risk in line),
            control=tuple(risk.control for risk in line),
            bound=tuple(risk.bound for risk in line),
        )


def _read_out(name: str, curve: Curve) -> str:
    steps = "; ".join(
        f"{known} known: original {percent(raw.value)}, release {percent(release.value)}, "
        f"control {percent(control.value)}"
        for known, raw, release, control in zip(
            curve.known, curve.raw, curve.release, curve.control, strict=True
        )
    )
    return f"{attack_title(name)}, {curve.title.lower()}. {steps}"


def _kinds(risks: Sequence[Risk]) -> Iterable[Kind]:
    for kind in dict.fromkeys(risk.kind for risk in risks):
        of = [risk for risk in risks if risk.kind == kind]
        order = {name: place for place, name in enumerate(_in_order(risk.name for risk in of))}
        of.sort(key=lambda risk: (order[risk.name], risk.known))
        yield Kind(
            title=kind_title(kind),
            means=_kind_means(kind),
            rows=tuple(_row(risk) for risk in of),
        )
