"""A release in one screen: three risks, what happened to each column, its loss, and what is not covered.

Risks are shown by the worst case of each attack, on a page and in the terminal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sequester._repr import percent, shown
from sequester.hierarchies.labels import ROOT, counted
from sequester.privacy.l_diversity import COUNT, GROUP, TIME
from sequester.release.plot import Released
from sequester.report.text import (
    attack_means,
    attack_title,
    capitalize_first,
    kind_title,
    plain_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sequester.attacks.risk import Proportion, Risk
    from sequester.data.table import EventTable
    from sequester.release.release import Release
    from sequester.utility.score import Score

_FAMILIES = (
    ("Singling out", "Can a person be singled out?", ("unique",)),
    ("Linkability", "Can a record be linked to a person?", ("marketer", "prosecutor", "destination")),
    (
        "Inference",
        "Can a secret be inferred?",
        ("confidence", "surest_arrival", "leakage", "surest_position", "order", "exposed"),
    ),
)
"""The three risks of Opinion 05/2014 (Article 29 Working Party), each with its attacks."""
_NAMED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskAnswer:
    """One of the three risks: what the worst adversary achieves before and after, and what is promised."""

    name: str
    """Singling out, linkability or inference."""
    question: str
    """The same as a question."""
    risk: Risk | None
    """The worst that the promise covers, or of all where it covers none; None where none was tried."""

    @property
    def means(self) -> str:
        """What the number is, and what the adversary knows."""
        if self.risk is None:
            return ""
        case = case_text(self.risk)
        means = attack_means(self.risk.name) or self.risk.name
        return f"{means} (known: {case})" if case else means

    @property
    def before(self) -> str:
        """Against the original."""
        return "not tried" if self.risk is None else percent(self.risk.raw.value)

    @property
    def after(self) -> str:
        """Against the release."""
        return "not tried" if self.risk is None else percent(self.risk.value)

    @property
    def promised(self) -> str:
        """The bound of the promise."""
        if self.risk is None:
            return "not tried"
        if self.risk.bound is None or self.risk.bound >= 1:
            return "nothing"
        return f"at most {percent(self.risk.bound)}" if self.risk.bound else "0%"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFate:
    """What happened to a column.

    Examples
    --------
    >>> ColumnFate(name="ZIP", before=40, after=2, coarser=0.75, suppressed=0.25).text
    'coarser: 2 values instead of 40, * in 25%'
    >>> ColumnFate(name="sex", before=2, after=0, suppressed=1.0).text
    'gone: every value is *'
    """

    name: str
    """The column."""
    before: int | None
    """Different values in the original; None where it is not at hand."""
    after: int
    """Different values in the release, ``*`` left out."""
    coarser: float = 0.0
    """Share of the released cells that stand for several values, ``*`` left out."""
    suppressed: float = 0.0
    """Share of the released cells that are ``*``."""

    @property
    def is_gone(self) -> bool:
        """Nothing of it is left."""
        return self.after == 0

    @property
    def is_changed(self) -> bool:
        """It is not released as it was recorded."""
        return bool(
            self.coarser or self.suppressed or self.is_gone or self.after != (self.before or self.after)
        )

    @property
    def text(self) -> str:
        """What happened, in a few words."""
        if self.is_gone:
            return "gone: every value is *" if self.suppressed else "gone"
        stars = f", * in {percent(self.suppressed)}" if self.suppressed else ""
        values = counted(self.after, "value", "values")
        if self.coarser:
            instead = "" if self.before is None else f" instead of {self.before:,}"
            return f"coarser: {values}{instead}{stars}"
        if self.before is not None and self.after < self.before:
            return f"as recorded, {self.after:,} of {self.before:,} values are left{stars}"
        return f"as recorded{stars}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSummary:
    """What a board asks first, for the internal page, the terminal and the demonstration."""

    risks: tuple[RiskAnswer, ...]
    """The three risks."""
    n_attacks: int
    """Attacks that were tried."""
    n_claimed: int
    """Those that the promise bounds."""
    n_beaten: int
    """Those that achieved more than their bound."""
    columns: tuple[ColumnFate, ...]
    """Released columns, those with the largest loss first."""
    dropped: tuple[str, ...]
    """Columns of the original that are not released."""
    price: Score | None
    """The information loss."""
    not_covered: tuple[str, ...]
    """What no promise covers, the measured shares first."""

    @classmethod
    def of(
        cls, release: Release, *, original: EventTable | None = None, risks: Sequence[Risk] = ()
    ) -> ReleaseSummary:
        """Return the summary of a release that `risks` were found against."""
        return cls(
            risks=tuple(_answer(name, question, attacks, risks) for name, question, attacks in _FAMILIES),
            n_attacks=len(risks),
            n_claimed=sum(risk.bound is not None for risk in risks),
            n_beaten=sum(not risk.is_within for risk in risks),
            columns=tuple(sorted(_fates(release, original), key=_importance)),
            dropped=_dropped(release, original),
            price=release.utility.get("information_loss"),
            not_covered=release.limits,
        )

    @property
    def changed(self) -> tuple[ColumnFate, ...]:
        """Columns that are not released as they were recorded."""
        return tuple(each for each in self.columns if each.is_changed)

    @property
    def unchanged(self) -> tuple[str, ...]:
        """Columns that are released as they were recorded."""
        return tuple(each.name for each in self.columns if not each.is_changed)

    def price_text(self) -> str:
        """Return the information loss as a line."""
        if self.price is None:
            return "The information loss was not measured."
        return f"Information loss: {self.price.value:.2f} (0: nothing is lost, 1: everything)"

    def column_lines(self, most: int) -> Iterator[str]:
        """Yield at most so many lines about columns, one for each while there is room, the worst first."""
        parts = (("as recorded", self.unchanged), ("not released", self.dropped))
        rest = [_listing(title, names) for title, names in parts if names]
        room = max(most - bool(rest), 1)
        alone = self.changed if len(self.changed) <= room else self.changed[: room - 1]
        yield from (f"{shown(each.name, 40)}: {each.text}" for each in alone)
        others = self.changed[len(alone) :]
        if others:
            gone = sum(each.is_gone for each in others)
            also = f" ({gone:,} of them gone)" if gone else ""
            yield _listing(f"changed, too{also}", [each.name for each in others])
        if rest:
            yield capitalize_first("; ".join(rest))

    def risk_lines(self) -> Iterator[str]:
        """Yield a line for each of the three risks, and one about all attacks; none where none was tried."""
        if not self.n_attacks:
            return
        claimed = (
            f"{self.n_claimed:,} of them against the promise"
            if self.n_claimed
            else "none bounded by the promise"
        )
        kept = f"{self.n_beaten:,} exceed their bound" if self.n_beaten else "none exceeds its bound"
        outcome = f": {kept}" if self.n_claimed else ""
        yield f"Simulated adversaries: {self.n_attacks:,} attacks, {claimed}{outcome}"
        for each in self.risks:
            yield (
                f"  {each.name}: {each.before} before, {each.after} after, promised {each.promised}"
                if each.risk is not None
                else f"  {each.name}: not tried"
            )

    def to_json(self) -> dict[str, Any]:
        """Return the part of the documents about this summary."""
        return {
            "risks": [
                {
                    "name": each.name,
                    "attack": None if each.risk is None else each.risk.name,
                    "before": None if each.risk is None else each.risk.raw.value,
                    "after": None if each.risk is None else each.risk.value,
                    "promised": None if each.risk is None else each.risk.bound,
                }
                for each in self.risks
            ],
            "columns": [
                {
                    "name": each.name,
                    "values": {"before": each.before, "after": each.after},
                    "coarser": each.coarser,
                    "suppressed": each.suppressed,
                    "text": each.text,
                }
                for each in self.columns
            ],
            "not_released": list(self.dropped),
            "price": None if self.price is None else {"value": self.price.value, "means": self.price.means},
        }


def _answer(name: str, question: str, attacks: Sequence[str], risks: Sequence[Risk]) -> RiskAnswer:
    for attack in attacks:
        found = [risk for risk in risks if plain_name(risk.name) == attack]
        if found:
            covered = [risk for risk in found if risk.bound is not None]
            return RiskAnswer(name=name, question=question, risk=worst(covered or found))
    return RiskAnswer(name=name, question=question, risk=None)


def _fates(release: Release, original: EventTable | None) -> Iterator[ColumnFate]:
    recorded = {} if original is None else original.histories.labels
    # Sensitive values that may be known are suppressed, too.
    is_known = bool(getattr(release.model, "sensitive_known", False))
    for frame in release.tables.values():
        rows = Released.of(frame)
        technical = () if rows.lengths is not None else (TIME, GROUP, COUNT)
        for name, values in rows.values.items():
            if name in technical:
                continue
            counts = dict(values.iter_rows())
            leaves = (
                dict(release.hierarchies[name].select("node", "leaves").iter_rows())
                if name in release.hierarchies
                else {}
            )
            total = max(rows.n_rows, 1)
            stars = counts.get(ROOT, 0) if name in release.hierarchies or is_known else 0
            coarse = sum(
                count for value, count in counts.items() if value != ROOT and leaves.get(value, 1) > 1
            )
            labels = recorded.get(name)
            yield ColumnFate(
                name=name,
                before=None if labels is None else len(labels),
                after=len(counts) - (stars > 0),
                coarser=coarse / total,
                suppressed=stars / total,
            )


def _importance(fate: ColumnFate) -> tuple[bool, bool, float]:
    return not fate.is_gone, not fate.is_changed, -fate.suppressed - fate.coarser


def _dropped(release: Release, original: EventTable | None) -> tuple[str, ...]:
    if original is None:
        return ()
    schema = original.schema
    asked = [*schema.drop, schema.order, *schema.time_columns, schema.weight]
    released = {column for frame in release.tables.values() for column in frame.columns}
    return tuple(dict.fromkeys(name for name in asked if name is not None and name not in released))


def _listing(title: str, names: Sequence[str]) -> str:
    others = len(names) - _NAMED
    more = f" and {others:,} more" if others > 0 else ""
    return f"{title}: {', '.join(shown(name, 40) for name in names[:_NAMED])}{more}"


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
    """Return what an adversary knows in a few words: how many values, and of which kind.

    Examples
    --------
    >>> from sequester.attacks.risk import Proportion, Risk
    >>> case_text(Risk(0.5, (0.5, 1.0), 0.01, Proportion(0.1, (0.1, 1.0)), kind="event", known=2))
    '2 values, in one event'
    """
    values = counted(risk.known, "value", "values") if risk.known else ""
    return ", ".join(filter(None, (values, kind_title(risk.kind).lower() if risk.kind else "")))


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
    """Return the attacks in the order of the page, those on one kind of promise last."""
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
