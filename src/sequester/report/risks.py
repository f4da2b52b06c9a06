"""Risks on a page: the worst case of each attack, curves over background knowledge, and all numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from sequester.attacks.risk import Proportion
from sequester.report.plot import INK, RULE, SERIES
from sequester.report.text import (
    KNOWLEDGE,
    attack_means,
    attack_title,
    kind_title,
    percent,
    plain_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sequester.attacks.risk import Risk


GENERAL = (
    *("marketer", "unique", "singled_out", "below_k", "prosecutor", "journalist", "candidates"),
    *("confidence", "at_risk", "guess", "group", "close"),
    *("membership", "absence"),
)
"""Attacks that every release meets, in the order of the page: re-identification, inference, membership."""
_DRAWN = ("marketer", "confidence")
"""Those whose curves are drawn."""
_BEYOND = ("marketer", "unique", "singled_out", "prosecutor", "confidence", "guess", "membership")


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskRow:
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
class KnowledgeRows:
    """All attacks with one kind of knowledge."""

    title: str
    """The kind."""
    means: str
    """What is known."""
    rows: tuple[RiskRow, ...]
    """Attack by attack, by how much is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskSummary:
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
    claimed: tuple[RiskRow, ...]
    """The worst case of each attack that the promise speaks of."""
    beyond: tuple[RiskRow, ...]
    """The worst case of the most telling attacks that it does not speak of."""
    curves: tuple[Curves, ...]
    """The most telling attacks over what is known."""
    kinds: tuple[KnowledgeRows, ...]
    """All numbers, by kind of knowledge."""
    defined: tuple[RiskRow, ...]
    """One row of each attack whose meaning is known."""


def summarize_risks(risks: Sequence[Risk]) -> RiskSummary | None:
    """Return what a page shows about risks; None where there are none."""
    if not risks:
        return None
    names = _in_order(risk.name for risk in risks)
    of = {name: [risk for risk in risks if risk.name == name] for name in names}
    claimed = {name: [risk for risk in of[name] if risk.bound is not None] for name in names}
    beyond = {name: [risk for risk in of[name] if risk.bound is None] for name in names}
    telling = [name for name in names if name in _BEYOND or plain_name(name) not in GENERAL]
    return RiskSummary(
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
    """Return the attacks in the order of the page, those of a special promise last."""
    met = list(dict.fromkeys(names))
    return [
        *(name for plain in GENERAL for name in met if plain_name(name) == plain),
        *(name for name in met if plain_name(name) not in GENERAL),
    ]


def _worst(risks: Sequence[Risk]) -> Risk:
    """Return the risk that exceeds its claim, or the largest; the least knowledge first."""
    return max(risks, key=lambda risk: (not risk.is_within, risk.value, risk.raw.value, -risk.known))


def _row(risk: Risk, *, drawn: bool = False) -> RiskRow:
    release = Proportion(risk.value, risk.interval)
    case = kind_title(risk.kind) if risk.kind else ""
    known = f"{risk.known} known" if risk.known else ""
    return RiskRow(
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
    return KNOWLEDGE[kind][1] if kind in KNOWLEDGE else ""


def _interval(share: Proportion) -> str:
    low, high = share.interval
    if low == high:
        return "exactly"
    return "or more" if is_largest(share) else f"{percent(low)} to {percent(high)}"


def _curves(of: dict[str, list[Risk]]) -> Iterable[Curves]:
    drawn = [*_DRAWN, *(name for name in of if plain_name(name) not in GENERAL)]
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
            release=tuple(Proportion(risk.value, risk.interval) for risk in line),
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


def _kinds(risks: Sequence[Risk]) -> Iterable[KnowledgeRows]:
    for kind in dict.fromkeys(risk.kind for risk in risks):
        of = [risk for risk in risks if risk.kind == kind]
        order = {name: place for place, name in enumerate(_in_order(risk.name for risk in of))}
        of.sort(key=lambda risk: (order[risk.name], risk.known))
        yield KnowledgeRows(
            title=kind_title(kind),
            means=_kind_means(kind),
            rows=tuple(_row(risk) for risk in of),
        )


CONTROL = "#6b7280"
"""The line of the control; the page's style sheet turns it in dark mode."""
CLAIM = "#a12a22"
"""The line that the release claims not to cross."""
_WIDTH, _HEIGHT = 272, 168
_LEFT, _RIGHT, _TOP, _BOTTOM = 42, 12, 10, 26
_STEPS = (*(step / 10**ten for ten in (4, 3, 2) for step in (10, 20, 30, 40, 60, 80)), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """What one adversary achieves who knows more and more, in three places."""

    title: str
    """What is known."""
    means: str
    """The same in more words."""
    known: tuple[int, ...]
    """Items, ascending."""
    raw: tuple[Proportion, ...]
    """In the original."""
    release: tuple[Proportion, ...]
    """In the release."""
    control: tuple[Proportion, ...]
    """In the control."""
    bound: tuple[float | None, ...]
    """What is claimed, where something is."""

    @property
    def top(self) -> float:
        """The largest value of all."""
        lines = (self.raw, self.release, self.control)
        return max((each.value for line in lines for each in line), default=0.0)


def is_largest(share: Proportion) -> bool:
    """Return whether this is a largest value, for which a sample gives no upper bound.

    Examples
    --------
    >>> from sequester.attacks.risk import Proportion
    >>> is_largest(Proportion(0.2, (0.2, 1.0))), is_largest(Proportion(0.2, (0.1, 0.3)))
    (True, False)
    """
    return share.value < 1 and share.interval == (share.value, 1.0)


def scale_for(curves: Sequence[Curve]) -> float:
    """Return the end of an axis that holds all curves, a round number.

    Examples
    --------
    >>> scale_for([])
    0.001
    """
    top = max((each.top for each in curves), default=0.0)
    return next((step for step in _STEPS if top <= step), 1.0)


def draw_curve(curve: Curve, *, end: float, label: str) -> Markup:
    """Draw the curves of one kind of knowledge on an axis from 0 to `end`; `label` is read out instead."""
    xs = _places(curve.known)
    opening = f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
    parts = [f'{opening}width="{_WIDTH}" height="{_HEIGHT}">']
    for share in (0.0, end / 2, end):
        y = _height(share, end)
        parts.append(
            f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}" stroke="{RULE}"/>'
            f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" font-size="11" fill="{INK}">'
            f"{percent(share)}</text>"
        )
    parts += [
        f'<text x="{x:.1f}" y="{_HEIGHT - 8}" text-anchor="middle" font-size="11" fill="{INK}">{known}</text>'
        for x, known in zip(xs, curve.known, strict=True)
    ]
    if len(xs) > 1:
        bands = ((curve.raw, SERIES[0]), (curve.release, SERIES[1]))
        parts += [_band(xs, line, end, color) for line, color in bands if not any(map(is_largest, line))]
    claimed = [
        (x, bound) for x, bound in zip(xs, curve.bound, strict=True) if bound is not None and bound <= end
    ]
    parts.append(_line(claimed, end, CLAIM, width=1.2, dashes="2 3"))
    parts.append(_line(_points(xs, curve.control), end, CONTROL, width=1.5, dashes="5 4"))
    for line, color in ((curve.raw, SERIES[0]), (curve.release, SERIES[1])):
        parts.append(_line(_points(xs, line), end, color, width=2.2))
        parts += [
            f'<circle cx="{x:.1f}" cy="{_height(each.value, end):.1f}" r="3.2" fill="{color}"/>'
            for x, each in zip(xs, line, strict=True)
        ]
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704  (the label is escaped above, the rest are numbers)


def draw_span(raw: Proportion, release: Proportion, control: Proportion, bound: float | None) -> Markup:
    """Draw one risk on a line from 0 to 1: from the original to the release with its interval.

    It stands beside the same numbers in words, so that it need not be read out.
    """
    width, height, edge = 220, 26, 6
    middle = height / 2

    def at(share: float) -> float:
        return edge + (width - 2 * edge) * min(max(share, 0.0), 1.0)

    low, high = (at(each) for each in release.interval)
    parts = [
        f'<svg aria-hidden="true" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f'<line x1="{edge}" y1="{middle}" x2="{width - edge}" y2="{middle}" stroke="{RULE}"/>',
    ]
    parts += [
        f'<line x1="{at(end):.1f}" y1="{middle - 4}" x2="{at(end):.1f}" y2="{middle + 4}" stroke="{RULE}"/>'
        for end in (0.0, 0.5, 1.0)
    ]
    if bound is not None:
        parts.append(
            f'<line x1="{at(bound):.1f}" y1="2" x2="{at(bound):.1f}" y2="{height - 2}" stroke="{CLAIM}" '
            'stroke-width="1.5" stroke-dasharray="2 2"/>'
        )
    if not is_largest(release):
        parts.append(
            f'<line x1="{low:.1f}" y1="{middle}" x2="{high:.1f}" y2="{middle}" stroke="{SERIES[1]}" '
            'stroke-width="5" stroke-opacity="0.35"/>'
        )
    parts.append(
        f'<line x1="{at(control.value):.1f}" y1="{middle - 6}" x2="{at(control.value):.1f}" '
        f'y2="{middle + 6}" stroke="{CONTROL}" stroke-width="2"/>'
        f'<circle cx="{at(raw.value):.1f}" cy="{middle}" r="5" fill="{SERIES[0]}"/>'
        f'<circle cx="{at(release.value):.1f}" cy="{middle}" r="5" fill="{SERIES[1]}"/>'
    )
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704  (nothing but numbers)


def _places(known: Sequence[int]) -> list[float]:
    inner = _WIDTH - _LEFT - _RIGHT
    step = inner / max(len(known), 1)
    return [_LEFT + step * (place + 0.5) for place in range(len(known))]


def _height(share: float, end: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * min(share / end, 1.0)


def _points(xs: Sequence[float], line: Sequence[Proportion]) -> list[tuple[float, float]]:
    return [(x, each.value) for x, each in zip(xs, line, strict=True)]


def _line(
    points: Sequence[tuple[float, float]], end: float, color: str, *, width: float, dashes: str = ""
) -> str:
    corners = " ".join(f"{x:.1f},{_height(share, end):.1f}" for x, share in points)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<polyline points="{corners}" fill="none" stroke="{color}" stroke-width="{width}"{dashed}/>'


def _band(xs: Sequence[float], line: Sequence[Proportion], end: float, color: str) -> str:
    low = [(x, each.interval[0]) for x, each in zip(xs, line, strict=True)]
    high = [(x, each.interval[1]) for x, each in zip(xs, line, strict=True)]
    corners = " ".join(f"{x:.1f},{_height(share, end):.1f}" for x, share in [*low, *reversed(high)])
    return f'<polygon points="{corners}" fill="{color}" fill-opacity="0.16"/>'
