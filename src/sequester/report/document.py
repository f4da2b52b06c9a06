"""The numbers of the internal page as one JSON document."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from sequester._version import __version__
from sequester.release.fields import plain_value
from sequester.release.journey import journey_counts
from sequester.report.content import Released, changes, comparison, levels, plots, released
from sequester.report.findings import NOTHING
from sequester.report.generality import generalities

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.release.release import Release
    from sequester.report.content import Figure
    from sequester.report.findings import Findings
    from sequester.report.generality import Generality
    from sequester.utility.score import Score

FORMAT = 1
"""The layout of the document."""


def internal_document(
    release: Release, *, original: EventTable | None = None, findings: Findings = NOTHING
) -> str:
    """Write what the internal page says as JSON: the same numbers, unrounded."""
    rows = Released.of(release.frame)
    changed = changes(release)
    figures = released(rows, release.unit) if original is None else comparison(rows, original)
    document = {
        "format": FORMAT,
        "software": {"name": "sequester", "version": __version__},
        "method": {"name": release.method, "parameters": release.parameters},
        "promise": {
            "model": type(release.model).__name__,
            "words": release.model.in_words(),
            "holds": bool(release.verdict.holds),
            "levels": [
                {"name": each.name, "promised": each.promised, "achieved": each.achieved}
                for each in levels(release)
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
            "journey": journey_counts(release),
            "changes": changed.total,
        },
        "singled_out": None if release.singled_out is None else release.singled_out.to_json(),
        "warnings": release.warnings,
        "limits": release.limits,
        "attacks": [risk.to_json() for risk in findings.risks],
        "explanation": None if findings.explanation is None else findings.explanation.to_json(),
        "notes": findings.notes,
        "levels": [_levels(each) for each in levels_of(release, rows, original)],
        "utility": {name: _score(score) for name, score in release.utility.items()},
        "figures": [_figure(each) for each in (*changed.figures, *plots(release), *figures)],
        "timings": None if findings.timings is None else findings.timings.to_json(),
    }
    return json.dumps(_finite(plain_value(document)), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def levels_of(release: Release, rows: Released, original: EventTable | None) -> list[Generality]:
    """Count how coarse the released values of each attribute are."""
    return generalities(rows.values, release.hierarchies, None if original is None else original.hierarchies)


def _levels(each: Generality) -> dict[str, Any]:
    return {
        "attribute": each.attribute,
        "levels": each.height,
        "released": [
            {
                "level": step.level,
                "cells": step.cells,
                "share": step.share,
                "values": step.n_values,
                "example": step.example,
            }
            for step in each.steps
        ],
    }


def _score(score: Score) -> dict[str, Any]:
    return {each: getattr(score, each) for each in score.__dataclass_fields__}


def _figure(figure: Figure) -> dict[str, Any]:
    tally = figure.tally
    return {
        "title": figure.title,
        "unit": figure.unit,
        "labels": tally.labels,
        "series": tally.series,
        "hidden": tally.hidden,
    }


def _finite(value: Any) -> Any:
    """JSON has no infinite number; null stands for one without an end."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
