"""The numbers of the internal page as one JSON document."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from sequester._version import __version__
from sequester.release.fields import plain_value
from sequester.release.release import data_flow_counts
from sequester.report.content import (
    Released,
    comparison_figures,
    method_figures,
    promised_levels,
    released_figures,
    summarize_changes,
)
from sequester.report.findings import NO_FINDINGS
from sequester.report.measures import generalization_levels

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.release.release import Release
    from sequester.report.content import Figure
    from sequester.report.findings import Findings
    from sequester.report.measures import AttributeLevels
    from sequester.utility.score import Score

FORMAT = 1
"""The layout of the document."""


def internal_document(
    release: Release, *, original: EventTable | None = None, findings: Findings = NO_FINDINGS
) -> str:
    """Return the numbers of the internal page as JSON, unrounded."""
    rows = Released.of(release.frame)
    changed = summarize_changes(release)
    figures = released_figures(rows, release.unit) if original is None else comparison_figures(rows, original)
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
            "changes": changed.total,
        },
        "singled_out": None if release.singled_out is None else release.singled_out.to_json(),
        "warnings": release.warnings,
        "limits": release.limits,
        "attacks": [risk.to_json() for risk in findings.risks],
        "explanation": None if findings.explanation is None else findings.explanation.to_json(),
        "notes": findings.notes,
        "levels": [_levels(each) for each in levels_by_attribute(release, rows, original)],
        "utility": {name: _score(score) for name, score in release.utility.items()},
        "figures": [_figure(each) for each in (*changed.figures, *method_figures(release), *figures)],
        "timings": None if findings.timings is None else findings.timings.to_json(),
    }
    return json.dumps(_finite(plain_value(document)), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def levels_by_attribute(
    release: Release, rows: Released, original: EventTable | None
) -> list[AttributeLevels]:
    """Return the generalization levels of the released values, per attribute."""
    return generalization_levels(
        rows.values, release.hierarchies, None if original is None else original.hierarchies
    )


def _levels(each: AttributeLevels) -> dict[str, Any]:
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
    """Return a document in which null stands for infinite numbers, which JSON does not have."""
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
