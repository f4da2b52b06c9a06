"""The pages, each one file that needs no network and runs no script, and their numbers as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import jinja2

from sequester._repr import number, percent, shown
from sequester._version import __version__
from sequester.hierarchies.labels import counted
from sequester.release.fields import plain_value
from sequester.release.plot import Released, data_figures
from sequester.release.release import PERSON, data_flow, data_flow_counts
from sequester.report import text
from sequester.report.findings import (
    NO_FINDINGS,
    coarse_example,
    data_files,
    describe_columns,
    describe_persons,
    evidence_samples,
    generalization_levels,
    group_measures,
    promised_levels,
    summarize_changes,
)
from sequester.report.plot import bars, maps
from sequester.report.summary import ReleaseSummary, summarize_risks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.data.table import EventTable
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.release.plot import Figure
    from sequester.release.release import Release
    from sequester.report.findings import Findings
    from sequester.utility.score import Score


__all__ = ["external_page", "internal_document", "internal_page", "template"]


def external_page(release: Release) -> str:
    """Return the page for recipients: the promise, how it was checked, its limits, and the released data.

    It says nothing that the released rows and the certificate do not say: no number about what was changed
    but the rounded information loss, no value but released ones.
    """
    rows = Released.of(release.frame)
    return template("external.html").render(
        **_shared(release, rows),
        maps=maps(release),
        parameters=release.published_parameters,
        figures=data_figures(rows, release.unit),
        generalities=generalization_levels(rows.values, release.hierarchies),
        example=coarse_example(release, rows),
        about_rows=release.about.rows(),
    )


def internal_page(
    release: Release, *, original: EventTable | None = None, findings: Findings = NO_FINDINGS
) -> str:
    """Return the internal page: privacy, changes and utility of a release.

    With the `original` at hand it also shows how the data looked before. `findings` are the attacks, the
    reasons and the timings; what is not among them has no section.
    """
    rows = Released.of(release.frame)
    return template("internal.html").render(
        **_shared(release, rows, original),
        release=release,
        findings=findings,
        figures=data_figures(rows, release.unit, original),
        maps=maps(release, original),
        compared=original is not None,
        changes=summarize_changes(release),
        evidence=evidence_samples(release),
        measures=group_measures(release.utility),
        generalities=generalization_levels(rows.values, release.hierarchies, _trees(original)),
        risks=summarize_risks(findings.risks),
        summary=ReleaseSummary.of(release, original=original, risks=findings.risks),
        journey=tuple(data_flow(release)),
    )


def _persons(release: Release, original: EventTable | None) -> dict[str, Any] | None:
    if release.persons is None:
        return None
    rows = Released.of(release.persons)
    own = None if original is None else original.demographics
    figures = data_figures(rows, release.unit, own)
    return {
        "columns": describe_persons(release, rows),
        "n_persons": rows.n_rows,
        "n_without_events": release.persons.join(release.frame, on=PERSON, how="anti").height,
        "generalities": generalization_levels(rows.values, release.hierarchies, _trees(own)),
        # Everybody has one row, which needs no plot.
        "figures": [replace(each, unit=release.unit) for each in figures[1:]],
    }


def _shared(release: Release, rows: Released, original: EventTable | None = None) -> dict[str, object]:
    loss = release.utility.get("information_loss")
    return {
        "promise": release.model.in_words(),
        "model": type(release.model).__name__,
        "holds": release.verdict.holds,
        "levels": promised_levels(release),
        "needs_original": release.model.needs_original,
        "limits": release.limits,
        "singled_out": release.singled_out,
        "method": release.method,
        "information_loss": None if loss is None else round(loss.value, 2),
        "information_loss_means": "" if loss is None else loss.means,
        "about": release.about,
        "unit": release.unit,
        "n_persons": rows.n_persons,
        "n_events": rows.n_rows,
        "files": data_files(release),
        "n_tables": len(release.tables),
        "in_parts": release.n_parts is not None,
        "columns": describe_columns(release, rows),
        "persons": _persons(release, original),
        "part": None if release.link is None else release.link.part,
    }


@cache
def environment() -> jinja2.Environment:
    """Return the environment of all pages, which escapes whatever a template is given."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("sequester.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(
        shown=shown,
        number=number,
        counted=counted,
        setting=text.parameter_text,
        percent=percent,
        seconds=text.seconds,
        capital=text.capitalize_first,
        bars=bars,
    )
    made.globals.update(version=__version__)
    return made


def template(name: str) -> jinja2.Template:
    """Return the template of a page; it escapes whatever it is given."""
    return environment().get_template(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a page; what is empty is left out."""

    title: str
    """Its heading."""
    text: tuple[str, ...] = ()
    """Paragraphs."""
    remarks: tuple[str, ...] = ()
    """A list."""
    figures: tuple[Figure, ...] = ()
    """Plots with their numbers."""
    header: tuple[str, ...] = ()
    """Column names of the table."""
    rows: tuple[tuple[str, ...], ...] = ()
    """The table; labels are data and are escaped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A number that is set large at the top."""

    name: str
    """What is counted."""
    value: str
    """The number."""
    about: str = ""
    """A word below it."""


FORMAT = 1
"""The layout of the document."""


def internal_document(
    release: Release, *, original: EventTable | None = None, findings: Findings = NO_FINDINGS
) -> str:
    """Return the numbers of the internal page as JSON, unrounded."""
    rows = Released.of(release.frame)
    changed = summarize_changes(release)
    figures = data_figures(rows, release.unit, original)
    document = {
        "format": FORMAT,
        "software": {"name": "sequester", "version": __version__},
        "method": {"name": release.method, "parameters": release.parameters},
        "promise": {
            "model": type(release.model).__name__,
            "words": release.model.in_words(),
            "holds": bool(release.verdict.holds),
            "levels": [
                {name: each[name] for name in ("name", "promised", "achieved")}
                for each in promised_levels(release)
            ],
        },
        "counts": {
            release.unit: {"input": release.n_input_persons, "released": rows.n_persons},
            "events": {
                "input": release.n_input_events,
                "released": rows.n_rows,
                "lost": release.n_lost_events,
                "invented": release.n_invented_items,
            },
            "journey": data_flow_counts(release),
            "changes": changed["total"],
        },
        "singled_out": None if release.singled_out is None else release.singled_out.to_json(),
        "warnings": release.warnings,
        "limits": release.limits,
        "attacks": [risk.to_json() for risk in findings.risks],
        "series": None if release.series is None else list(release.series.history),
        "explanation": None if findings.explanation is None else findings.explanation.to_json(),
        "notes": findings.notes,
        "levels": generalization_levels(rows.values, release.hierarchies, _trees(original)),
        "utility": {name: _score(score) for name, score in release.utility.items()},
        "figures": [_figure(each) for each in (*changed["figures"], *release.method_plots, *figures)],
        "timings": None if findings.timings is None else findings.timings.to_json(),
        "summary": ReleaseSummary.of(release, original=original, risks=findings.risks).to_json(),
    }
    return json.dumps(_finite(plain_value(document)), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _trees(original: EventTable | None) -> Mapping[str, Hierarchy] | None:
    return None if original is None else original.hierarchies


def _score(score: Score) -> dict[str, Any]:
    return {each: getattr(score, each) for each in score.__dataclass_fields__}


def _figure(figure: Figure) -> dict[str, Any]:
    return {name: getattr(figure, name) for name in ("title", "unit", "labels", "series", "hidden")}


def _finite(value: Any) -> Any:
    """Return a document in which null stands for infinite numbers, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
