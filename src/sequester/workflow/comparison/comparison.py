"""The result of a comparison: risk and utility of all candidates, the frontier, the recommendation, files."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sequester._repr import Card, number
from sequester.errors import InputError, ParameterError
from sequester.release.staging import write_file
from sequester.report.page import Number, Section, template
from sequester.report.plot import FrontierAxes, Mark, as_png, draw_frontier
from sequester.report.text import in_population, population_for
from sequester.workflow.comparison.pool import OUTPUTS
from sequester.workflow.comparison.trial import LOST, PERSONS, RECORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Literal

    from markupsafe import Markup

    from sequester.attacks.risk import Proportion
    from sequester.utility.score import Score
    from sequester.workflow.comparison.trial import Knowledge, TrialResult


_PREFERRED = ("information_loss", "edit_distance", LOST)
"""Measures for the frontier, the first that says the same of all candidates."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Comparison:
    """What was tried, and what stands out; shows itself in a notebook."""

    tried: tuple[TrialResult, ...]
    """All candidates, in the order of the grid."""
    knowledge: Knowledge
    """What the adversary knows."""
    adversary: str
    """Whose risk is compared."""
    measure: str
    """The measure on the frontier's axis."""
    goal: Literal["minimize", "maximize"]
    """Which way it is better."""
    max_risk: float | None
    """The risk that was asked for, at most."""
    frontier: tuple[int, ...]
    """Candidates that no other one beats, from the lowest risk on."""
    local_optima: tuple[int, ...]
    """Candidates that lose less than both their neighbours in k."""
    recommended: int | None
    """The candidate to look at first."""
    out: Path | None = None
    """The folder with everything."""
    warnings: tuple[str, ...] = ()
    """What the steward must know."""

    @classmethod
    def of(
        cls,
        tried: Sequence[TrialResult],
        *,
        knowledge: Knowledge,
        adversary: str | None = None,
        measure: str | None = None,
        max_risk: float | None = None,
        out: Path | None = None,
    ) -> Comparison:
        """Compare what was tried; `measure` and `adversary` are chosen by default."""
        made = [each for each in tried if each.holds]
        adversary = _shared_adversary(made, adversary)
        measure = _shared_measure([each for each in made if adversary in each.risks], measure)
        goals = [each.utility[measure].goal for each in made if measure in each.utility]
        goal = goals[0] if goals else "minimize"
        sign = 1 if goal == "minimize" else -1
        losses = {
            place: sign * each.utility[measure].value
            for place, each in enumerate(tried)
            if each.holds and measure in each.utility
        }
        points = {
            place: Point(
                found.value, loss, found.interval[1], promised_k(tried[place]), least=found.interval[0]
            )
            for place, loss in losses.items()
            if (found := _risk(tried[place], adversary)) is not None
        }
        return cls(
            tried=tuple(tried),
            knowledge=knowledge,
            adversary=adversary,
            measure=measure,
            goal=goal,
            max_risk=max_risk,
            frontier=frontier(points),
            local_optima=local_optima(tried, losses),
            recommended=recommend(points, max_risk=max_risk),
            out=out,
        )

    @property
    def made(self) -> tuple[TrialResult, ...]:
        """Candidates that keep their promise."""
        return tuple(each for each in self.tried if each.holds)

    @property
    def beaten(self) -> tuple[TrialResult, ...]:
        """Candidates against which an adversary achieves more than they claim."""
        return tuple(each for each in self.made if not all(risk.is_within for risk in each.risks.values()))

    @property
    def incomparable(self) -> bool:
        """The measure does not mean the same for all candidates."""
        return (
            len({each.utility[self.measure].means for each in self.made if self.measure in each.utility}) > 1
        )

    @property
    def original(self) -> Proportion | None:
        """What the adversary achieves against the original."""
        return next(
            (each.risks[self.adversary].raw for each in self.made if self.adversary in each.risks), None
        )

    def risk(self, place: int) -> Proportion | None:
        """Return what the adversary achieves against a candidate; None where there is nobody to look for."""
        return _risk(self.tried[place], self.adversary)

    def score(self, place: int) -> Score | None:
        """Return the candidate's value of the measure."""
        return self.tried[place].utility.get(self.measure)

    @property
    def population(self) -> int:
        """Out of how many persons risks are stated, the same for all candidates."""
        return population_for(
            found.value for place in range(len(self.tried)) if (found := self.risk(place)) is not None
        )

    def risk_text(self, place: int) -> str:
        """Write the risk of a candidate as a number of persons; empty where there is none."""
        risk = self.risk(place)
        return "" if risk is None else in_population(risk.value, self.population)

    def interval_text(self, place: int) -> str:
        """Write where the risk of a candidate lies; empty where it is exact."""
        risk, of = self.risk(place), self.population
        if risk is None or risk.is_exact:
            return ""
        low, high = risk.interval
        return f"{round(low * of):,} to {round(high * of):,}"

    def told_apart(self, place: int) -> bool:
        """Return whether the interval of a candidate's risk lies apart from that of the recommended one."""
        own, best = self.risk(place), None if self.recommended is None else self.risk(self.recommended)
        if own is None or best is None:
            return True
        return own.interval[0] > best.interval[1] or best.interval[0] > own.interval[1]

    def axes(self) -> FrontierAxes:
        """Name what is drawn."""
        return FrontierAxes(
            risk=ADVERSARIES[self.adversary], measure=self.measure.replace("_", " "), goal=self.goal
        )

    def marks(self, link: Callable[[int], str] = lambda _: "") -> Iterator[Mark]:
        """Return what is drawn: every candidate that has both numbers; `link` is where each leads to."""
        for place, each in enumerate(self.tried):
            risk, score = self.risk(place), self.score(place)
            if risk is not None and score is not None and each.holds:
                yield Mark(
                    series=each.method,
                    label=each.label.removeprefix(each.method).strip() or each.method,
                    risk=risk.value,
                    interval=risk.interval,
                    value=score.value,
                    on_frontier=place in self.frontier,
                    recommended=place == self.recommended,
                    optimum=place in self.local_optima,
                    link=link(place),
                )

    def drawing(self, *, standalone: bool = False) -> Markup:
        """Draw the frontier."""
        return draw_frontier(list(self.marks()), self.axes(), standalone=standalone)

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``compare --json`` prints, and ``candidates.json`` holds."""
        return {
            "candidates": [self._candidate(place) for place in range(len(self.tried))],
            "recommended": self.recommended,
            "frontier": list(self.frontier),
            "local_optima": list(self.local_optima),
            "measure": self.measure,
            "goal": self.goal,
            "adversary": {
                "name": self.adversary,
                "kind": self.knowledge.kind,
                "known": self.knowledge.known,
                "targets": self.knowledge.targets,
                "original": None if self.original is None else self.original.to_json(),
            },
            "max_risk": self.max_risk,
            "out": None if self.out is None else str(self.out),
            "warnings": list(self.warnings),
        }

    def _candidate(self, place: int) -> dict[str, Any]:
        document = self.tried[place].to_json()
        found = self.risk(place)
        first = {name: document.pop(name) for name in ("method", "parameters", "holds")}
        return {
            **first,
            "risk": None if found is None else found.value,
            "risk_interval": None if found is None else list(found.interval),
            **document,
        }

    def __repr__(self) -> str:
        return str(self._card())

    def _repr_html_(self) -> str:
        return self._card().html() + (str(self.drawing(standalone=True)) if any(self.marks()) else "")

    def _card(self) -> Card:
        states = Counter(each.state for each in self.tried)
        facts: list[tuple[str, str]] = [(state, f"{count:,}") for state, count in states.items()]
        if self.recommended is not None:
            facts.append(("recommended", self.tried[self.recommended].label))
        return Card(
            title=f"Comparison of {len(self.tried):,} candidates",
            facts=(*facts, ("risk", ADVERSARIES[self.adversary]), ("measure", self.measure)),
            remarks=tuple(f"{each.label}: {each.reason}" for each in self.tried if each.reason),
            header=("", "candidate", "risk", self.measure, "seconds"),
            rows=tuple(self._row(place) for place, each in enumerate(self.tried) if each.holds),
        )

    def _row(self, place: int) -> tuple[str, ...]:
        score = self.score(place)
        stands = "recommended" if place == self.recommended else "frontier" if place in self.frontier else ""
        return (
            stands,
            self.tried[place].label,
            self.risk_text(place),
            "" if score is None else f"{score.value:.3g}",
            f"{self.tried[place].seconds:.1f}",
        )


def _risk(tried: TrialResult, adversary: str) -> Proportion | None:
    return tried.risks[adversary].release if adversary in tried.risks else None


def _shared_adversary(made: Sequence[TrialResult], wanted: str | None) -> str:
    """Take the adversary that was asked for, or the first who can try anybody."""
    found = [name for name in (*PERSONS, RECORDS) if any(name in each.risks for each in made)]
    if wanted is None or not found:
        return wanted or next(iter(found), PERSONS[0])
    if wanted not in found:
        msg = f"adversary {wanted!r} cannot try any of these releases; there are {', '.join(found)}"
        raise InputError(msg)
    return wanted


def _shared_measure(made: Sequence[TrialResult], wanted: str | None) -> str:
    """Take the measure that was asked for, or the first that all have and that says the same of all."""
    names = list(dict.fromkeys(name for each in made for name in each.utility))
    if wanted is not None:
        if made and wanted not in names:
            msg = f"measure {wanted!r} is not among those of these releases: {', '.join(names)}"
            raise InputError(msg)
        return wanted
    for name in _PREFERRED:
        means = {each.utility[name].means if name in each.utility else "" for each in made}
        if len(means) == 1 and means != {""}:
            return name
    return LOST


PARAMETERS = ("k", "l")
"""Parameters that bound the size of candidate sets."""
_ALIKE = 1e-12


@dataclass(frozen=True, slots=True)
class Point:
    """What a candidate costs: who may be found, and what is lost."""

    risk: float
    """What the adversary achieves."""
    loss: float
    """What is lost; a measure that should be large, with its sign turned."""
    most: float = math.nan
    """The upper end of the interval of the risk."""
    k: float = 0.0
    """The k (or l) that is promised."""
    least: float = math.nan
    """The lower end of the interval of the risk; the risk itself where nothing was drawn."""


def comparable_risks(points: Mapping[int, Point]) -> dict[int, float]:
    """Return the risk of each point; those that cannot be told from the lowest of a group share its risk.

    From the lowest risk on, a new group begins where an interval lies wholly above that of the first of the
    group before.

    Examples
    --------
    >>> points = {0: Point(0.1, 1, 0.2, least=0.0), 1: Point(0.15, 1, 0.3, least=0.1)}
    >>> comparable_risks(points | {2: Point(0.4, 1, 0.5, least=0.3)})
    {0: 0.1, 1: 0.1, 2: 0.4}
    """
    risks: dict[int, float] = {}
    first: Point | None = None
    # What differs by the order of additions only is the same.
    for place in sorted(
        points, key=lambda each: (round(points[each].risk, 12), round(points[each].loss, 12), each)
    ):
        point = points[place]
        least = point.risk if math.isnan(point.least) else point.least
        if first is None or least > (first.risk if math.isnan(first.least) else first.most):
            first = point
        risks[place] = first.risk
    return {place: risks[place] for place in points}


def frontier(points: Mapping[int, Point]) -> tuple[int, ...]:
    """List, from the lowest risk on, the points that no other one beats in one way and equals in the other.

    Risks whose intervals cannot tell them apart are equal; there the larger promised k counts as lower.

    Examples
    --------
    >>> frontier({0: Point(0.1, 0.5), 1: Point(0.2, 0.3), 2: Point(0.2, 0.4), 3: Point(0.3, 0.3)})
    (0, 1)
    """
    risks = comparable_risks(points)
    best = math.inf
    kept = []
    for place in sorted(
        points,
        key=lambda each: (round(risks[each], 12), -points[each].k, round(points[each].loss, 12), each),
    ):
        if points[place].loss < best - _ALIKE:
            kept.append(place)
            best = points[place].loss
    return tuple(kept)


def recommend(points: Mapping[int, Point], *, max_risk: float | None = None) -> int | None:
    """Pick a point of the frontier; None where there is none.

    With `max_risk`: the least loss among points whose risk is certainly, by the upper end of its interval, at
    most that. Without: the knee, which is the point nearest to the best risk and the best loss of the
    frontier, each counted in shares of the way from its best to its worst there. Of two that are as near, the
    one with the lower risk. Where intervals tell no two risks of the frontier apart, one over the promised
    k takes the place of the risk.

    Examples
    --------
    >>> points = {0: Point(0.1, 0.9, 0.11), 1: Point(0.2, 0.4, 0.21), 2: Point(0.9, 0.3, 0.91)}
    >>> recommend(points), recommend(points, max_risk=0.15), recommend(points, max_risk=0.05)
    (1, 0, None)
    """
    if max_risk is not None:
        points = {place: each for place, each in points.items() if each.most <= max_risk}
        return min(
            points,
            key=lambda each: (points[each].loss, points[each].risk, -points[each].k, each),
            default=None,
        )
    kept = frontier(points)
    if not kept:
        return None
    comparable = comparable_risks(points)
    risks = [comparable[each] for each in kept]
    if len(set(risks)) == 1:
        risks = [1 / max(points[each].k, 1.0) for each in kept]
    losses = [points[each].loss for each in kept]
    distances = [
        round(math.hypot(_scaled(risk, risks), _scaled(loss, losses)), 12)
        for risk, loss in zip(risks, losses, strict=True)
    ]
    return kept[distances.index(min(distances))]


def promised_k(tried: TrialResult) -> float:
    """Return the k, or l, of a candidate; 0 where it has neither."""
    for parameter in PARAMETERS:
        value = tried.parameters.get(parameter)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return 0.0


def _scaled(value: float, values: Sequence[float]) -> float:
    """Return the share of the way from the best to the worst."""
    best, worst = min(values), max(values)
    return (value - best) / (worst - best) if worst > best else 0.0


def local_optima(tried: Sequence[TrialResult], losses: Mapping[int, float]) -> tuple[int, ...]:
    """List the candidates that lose less than both their neighbours, which differ from them in k (or l) only.

    Neighbours are the next smaller and the next larger value that was tried and can be kept; the smallest and
    the largest have only one, and are never listed.
    """
    found = []
    for parameter in PARAMETERS:
        rows: dict[tuple[str, str], list[tuple[float, int]]] = {}
        for place in losses:
            value = tried[place].parameters.get(parameter)
            if isinstance(value, int | float) and not isinstance(value, bool):
                others = {name: each for name, each in tried[place].parameters.items() if name != parameter}
                rows.setdefault((tried[place].method, repr(sorted(others.items()))), []).append(
                    (value, place)
                )
        for row in rows.values():
            places = [place for _, place in sorted(row)]
            for (before, here), (_, after) in pairwise(pairwise(places)):
                if losses[here] < min(losses[before], losses[after]) - _ALIKE:
                    found.append(here)
    return tuple(sorted(found))


_MEASURED = (
    *("persons", "events", "lost_share", "moved", "invented"),
    *("seconds", "peak_memory", "report", "release"),
)
"""What the table of candidates has of each, beside risk and utility."""
_STATES = {"unattainable": "not feasible", "unfit": "does not apply"}
_FRONTIER = (
    "The frontier is made of the candidates that no other one beats: lower risk at the same value of the "
    "measure, or a better value at the same risk. Risks whose intervals overlap that of the lowest of their "
    "group are not ranked: they count as equal, and the larger promised k (or l) as the safer choice."
)


def write_outputs(found: Comparison, folder: Path) -> None:
    """Write everything, each file whole or not at all, for its owner only."""
    svg = str(found.drawing(standalone=True))
    contents = (
        candidates_csv(found).encode(),
        (json.dumps(found.to_json(), indent=1, ensure_ascii=False) + "\n").encode(),
        svg.encode(),
        as_png(svg),
        page(found).encode(),
    )
    for name, content in zip(OUTPUTS, contents, strict=True):
        write_file(content, folder / name)
        (folder / name).chmod(0o600)


def candidates_csv(found: Comparison) -> str:
    """Write one line per candidate: its parameters, its verdict, its risk and every measure."""
    parameters = dict.fromkeys(name for each in found.tried for name in each.parameters)
    measures = dict.fromkeys(name for each in found.tried for name in each.utility)
    rows: list[dict[str, Any]] = []
    for place, each in enumerate(found.tried):
        risk, raw = found.risk(place), each.risks.get(found.adversary)
        low, high = (None, None) if risk is None else risk.interval
        rows.append(
            {
                "candidate": each.label,
                **{name: getattr(each, name) for name in ("method", "holds", "state", "reason")},
                "recommended": place == found.recommended,
                "frontier": place in found.frontier,
                "local_optimum": place in found.local_optima,
                **{f"set_{name}": each.parameters.get(name) for name in parameters},
                "risk": None if risk is None else risk.value,
                "risk_low": low,
                "risk_high": high,
                "risk_original": None if raw is None else raw.raw.value,
                **{name: each.utility[name].value if name in each.utility else None for name in measures},
                **{name: getattr(each, name) for name in _MEASURED},
            }
        )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([rows[0], *(map(_cell, row.values()) for row in rows)])
    return text.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def page(found: Comparison) -> str:
    """Write the page: the drawing, the candidates with their pages, and what the numbers mean."""
    best = None if found.recommended is None else found.tried[found.recommended]
    lead = (
        "No candidate keeps its promise."
        if not found.made
        else "No candidate is within the risk that was asked for."
        if best is None
        else f"Recommended: {best.label}."
    )
    several = sum(bool(each.release) for each in found.tried) > 1
    return template("comparison.html").render(
        kind="Comparison",
        title="Which release to make",
        notice=(
            "Internal: do not share this page",
            "It compares with the original, and is as sensitive as the input.",
        ),
        lead=lead,
        several=HANDING_OUT if several else "",
        numbers=list(_numbers(found)),
        drawing=found.drawing() if any(found.marks()) else None,
        found=found,
        candidates={
            place: ", ".join(_stands(found, place)) for place, each in enumerate(found.tried) if each.holds
        },
        measure=found.measure.replace("_", " "),
        sections=list(_sections(found)),
    )


def _numbers(found: Comparison) -> Iterator[Number]:
    yield Number(name="Candidates", value=number(len(found.tried)))
    yield Number(name="Keep their promise", value=number(len(found.made)))
    if found.original is not None:
        low, high = found.original.interval
        of = population_for([found.original.value])
        span = "" if found.original.is_exact else f" ({round(low * of):,} to {round(high * of):,})"
        value = in_population(found.original.value, of)
        yield Number(name="Risk today", value=value, about=f"in the original{span}")
    if found.recommended is not None:
        risk, score = found.risk(found.recommended), found.score(found.recommended)
        if risk is not None and score is not None:
            value = in_population(risk.value, found.population)
            yield Number(name="Risk", value=value, about="of the recommended candidate")
            yield Number(
                name=found.measure.replace("_", " ").capitalize(),
                value=f"{score.value:.3g}",
                about="of the recommended candidate",
            )


def _stands(found: Comparison, place: int) -> Iterator[str]:
    if place == found.recommended:
        yield "recommended"
    if place in found.frontier:
        yield "frontier"
    if place in found.local_optima:
        yield "better than both neighbours"
    if place != found.recommended and not found.told_apart(place):
        yield "risk not distinguishable from the recommended one"


def _sections(found: Comparison) -> Iterator[Section]:
    refused = [each for each in found.tried if not each.holds]
    if refused:
        yield Section(
            title="Not feasible",
            header=("candidate", "", "why"),
            rows=tuple((each.label, _STATES.get(each.state, each.state), each.reason) for each in refused),
        )
    for each in found.made:
        if each.parts:
            yield Section(
                title=f"Parts of the series, {each.label}",
                header=tuple(name.replace("_", " ") for name in each.parts[-1]),
                rows=tuple(
                    tuple("" if value is None else number(value) for value in row.values())
                    for row in each.parts
                ),
            )
    measures = dict.fromkeys(name for each in found.made for name in each.utility)
    yield Section(
        title="All measures",
        header=("candidate", *(name.replace("_", " ") for name in measures)),
        rows=tuple(
            (
                each.label,
                *(number(each.utility[name].value) if name in each.utility else "" for name in measures),
            )
            for each in found.made
        ),
    )
    means = dict.fromkeys(
        each.utility[found.measure].means for each in found.made if found.measure in each.utility
    )
    optima = (
        "A ring of dashes marks a candidate that does better, by the measure, than its neighbours with the "
        "next smaller and the next larger k: larger candidate sets than the smaller k promises, for less."
    )
    yield Section(
        title="What the numbers mean",
        text=(
            describe_adversary(found.adversary, found.knowledge),
            *(f"{found.measure.replace('_', ' ')}: {each}" for each in means),
            _FRONTIER,
            describe_rule(found.max_risk),
            *((optima,) if found.local_optima else ()),
            HANDING_OUT,
        ),
        remarks=found.warnings,
    )


ADVERSARIES = {
    "found": "expected share of persons re-identified",
    "marketer": "mean chance to re-identify a person who is known to be in the release",
    "prosecutor": "largest chance to re-identify a person who is known to be in the release",
    "journalist": "largest chance to re-identify a person who may not be in the release",
    "candidates": "1 / the median size of candidate sets",
    "unique": "share of persons who are singled out",
    "absence": "share of persons without a candidate in the release",
    "membership": "advantage of guessing who is in the data",
    "guess": "mean chance to guess a protected value",
    "confidence": "largest share of one protected value in a candidate set",
    "at_risk": "largest share of protected values among those who fit",
    RECORDS: "mean chance to guess a record's sensitive value",
}
"""What each adversary achieves, as an axis says it."""
HANDING_OUT = (
    "Hand out one of these releases only. A recipient of two can compare them and learn more than either "
    "promises to hide: what is coarse in one may be fine in the other, and promises do not add up."
)
"""What to know where several releases of the same persons are made."""


def check_adversary(name: str | None) -> None:
    """Refuse an adversary that there is not."""
    if name is not None and name not in ADVERSARIES:
        msg = f"adversary must be one of {', '.join((*PERSONS, RECORDS))}, got {name!r}"
        raise ParameterError(msg)


def describe_knowledge(knowledge: Knowledge) -> str:
    """Describe what the adversary knows.

    Examples
    --------
    >>> from sequester.workflow.comparison.trial import Knowledge
    >>> describe_knowledge(Knowledge(kind="ordered", known=2, targets=10))
    'who knows 2 items of a person, of different events and in their order'
    """
    items = "1 item" if knowledge.known == 1 else f"{knowledge.known} items"
    how = "of different events and in their order" if knowledge.kind == "ordered" else "of any events"
    return f"who knows {items} of a person, {how}"


def describe_adversary(name: str, knowledge: Knowledge) -> str:
    """Describe who the adversary is and what the number means."""
    if name == RECORDS:
        return (
            f"The risk is the {ADVERSARIES[name]}, for an adversary who knows when it was published and all "
            "its quasi-identifiers, and so its group, on average over all published records."
        )
    return (
        f"The risk is the {ADVERSARIES[name]}, for an adversary {describe_knowledge(knowledge)}. "
        f"{knowledge.targets:,} such targets were drawn from the original, the same for all "
        "candidates. It is a measure of linkage, not of everything that a method promises: the page of each "
        "candidate says more."
    )


def describe_rule(max_risk: float | None) -> str:
    """Describe how the recommended candidate was chosen."""
    if max_risk is not None:
        return (
            "Recommended is the best value of the measure among candidates whose risk, by the upper end of "
            f"its interval, is at most {max_risk:g}."
        )
    return (
        "Recommended is the knee of the frontier: the candidate nearest to the lowest risk and the best "
        "value on it, each counted in shares of the way from best to worst there. It depends on what was "
        "tried, and says where a further step costs much for little. You decide how "
        "much risk is right: with --max-risk, the best value within it is recommended."
    )
