"""The files of a comparison: CSV, JSON, a plot, a page, and the sentences in them."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from sequester._repr import number
from sequester.errors import ParameterError
from sequester.release.staging import write_file
from sequester.report.page import Number, Section, template
from sequester.report.plot import as_png
from sequester.report.text import in_population, population_for
from sequester.workflow.comparison.pool import OUTPUTS
from sequester.workflow.comparison.trial import PERSONS, RECORDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sequester.workflow.comparison.comparison import Comparison
    from sequester.workflow.comparison.trial import Knowledge, TrialResult


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
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    fixed = ("candidate", "method", "holds", "state", "reason", "recommended", "frontier", "local_optimum")
    risks = ("risk", "risk_low", "risk_high", "risk_original")
    last = (
        "persons",
        "events",
        "lost_share",
        "moved",
        "invented",
        "seconds",
        "peak_memory",
        "report",
        "release",
    )
    writer.writerow([*fixed, *(f"set_{name}" for name in parameters), *risks, *measures, *last])
    for place, each in enumerate(found.tried):
        risk, raw = found.risk(place), each.risks.get(found.adversary)
        stands = (place == found.recommended, place in found.frontier, place in found.local_optima)
        writer.writerow(
            [
                *(_cell(value) for value in (each.label, each.method, each.holds, each.state, each.reason)),
                *map(_cell, stands),
                *(_cell(each.parameters.get(name)) for name in parameters),
                *(("", "", "") if risk is None else (risk.value, *risk.interval)),
                "" if raw is None else raw.raw.value,
                *(each.utility[name].value if name in each.utility else "" for name in measures),
                *(_cell(getattr(each, name)) for name in last),
            ]
        )
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
        candidates=list(_linked(found)),
        measure=found.measure.replace("_", " "),
        goal=found.goal,
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


def _linked(found: Comparison) -> Iterator[dict[str, Any]]:
    for place, each in enumerate(found.tried):
        if not each.holds:
            continue
        score = found.score(place)
        yield {
            "label": each.label,
            "page": each.report,
            "stands": list(_stands(found, place)),
            "risk": found.risk_text(place),
            "interval": found.interval_text(place),
            "score": "" if score is None else number(score.value),
            "lost": f"{each.lost_share:.1%}",
            "invented": f"{each.invented:,} invented" if each.invented else "",
            "achieved": ", ".join(f"{name} = {number(value)}" for name, value in each.achieved.items()),
            "seconds": f"{each.seconds:.1f}",
            "memory": f"{each.peak_memory / 2**20:,.0f}" if each.peak_memory else "",
        }


def _stands(found: Comparison, place: int) -> Iterator[str]:
    if place == found.recommended:
        yield "recommended"
    if place in found.frontier:
        yield "frontier"
    if place in found.local_optima:
        yield "better than both neighbours"
    if place != found.recommended and not found.told_apart(place):
        yield "risk not told apart from the recommended one"


def _sections(found: Comparison) -> Iterator[Section]:
    refused = [each for each in found.tried if not each.holds]
    if refused:
        yield Section(
            title="Not feasible",
            header=("candidate", "", "why"),
            rows=tuple((each.label, _state(each), each.reason) for each in refused),
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


def _state(tried: TrialResult) -> str:
    return {"unattainable": "not feasible", "unfit": "does not apply"}.get(tried.state, tried.state)


ADVERSARIES = {
    "found": "share of persons expected to be found",
    "marketer": "mean chance to find a person who is known to be in the release",
    "prosecutor": "largest chance to find a person who is known to be in the release",
    "journalist": "largest chance to find a person, who may not be in the release",
    "candidates": "one over the median number of persons who fit",
    "unique": "share of persons whom nobody else fits",
    "absence": "share of persons whom nobody in the release fits",
    "membership": "advantage in telling who is in the data",
    "guess": "mean chance to guess a protected value",
    "confidence": "largest share of one protected value among those who fit",
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
            f"The risk is the {ADVERSARIES[name]}, for somebody who knows when it was published and all its "
            "quasi-identifiers, and so its group, on average over all published records."
        )
    return (
        f"The risk is the {ADVERSARIES[name]}, for somebody {describe_knowledge(knowledge)}. "
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
