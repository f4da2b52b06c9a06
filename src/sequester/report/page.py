"""The two pages of a release: each one file that needs no network and runs no script."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import jinja2

from sequester._version import __version__
from sequester.release.journey import journey
from sequester.report import wording
from sequester.report.content import (
    Released,
    changes,
    coarse_example,
    columns,
    comparison,
    evidence,
    files,
    levels,
    plots,
    released,
)
from sequester.report.document import internal_document, levels_of
from sequester.report.findings import NOTHING
from sequester.report.generality import in_words
from sequester.report.map import maps
from sequester.report.measures import grouped
from sequester.report.plot import bars, meter
from sequester.report.risks import judgement

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.release.release import Release
    from sequester.report.findings import Findings

__all__ = ["external_page", "internal_document", "internal_page", "template"]


def external_page(release: Release) -> str:
    """Write the page a recipient reads: the promise, how it was checked, its limits, and the released data.

    It says nothing that the released rows and the certificate do not say: no number about what was changed
    but the rounded information loss, no value but released ones.
    """
    rows = Released.of(release.frame)
    return template("external.html").render(
        **_shared(release, rows),
        maps=maps(release),
        parameters=release.published_parameters,
        figures=released(rows, release.unit),
        generalities=levels_of(release, rows, None),
        example=coarse_example(release, rows),
    )


def internal_page(
    release: Release, *, original: EventTable | None = None, findings: Findings = NOTHING
) -> str:
    """Write the page that stays in the house: what is promised, what that withstands, and what it cost.

    With the `original` at hand it also shows how the data looked before. `findings` are the attacks, the
    reasons and the timings; what is not among them has no section.
    """
    rows = Released.of(release.frame)
    return template("internal.html").render(
        **_shared(release, rows),
        parameters=release.parameters,
        figures=released(rows, release.unit) if original is None else comparison(rows, original),
        maps=maps(release, original),
        compared=original is not None,
        changes=changes(release),
        plots=plots(release),
        evidence=evidence(release),
        measures=grouped(release.utility),
        generalities=levels_of(release, rows, original),
        judgement=judgement(findings.risks),
        explanation=findings.explanation,
        timings=findings.timings,
        notes=findings.notes,
        warnings=release.warnings,
        n_input_persons=release.n_input_persons,
        n_input_events=release.n_input_events,
        n_lost_events=release.n_lost_events,
        n_invented_items=release.n_invented_items,
        n_moved_items=release.n_moved_items,
        n_rows=None if release.reading is None else release.reading.rows,
        n_left_out=0 if release.reading is None else release.reading.left_out,
        unseen_share=release.unseen_share,
        journey=tuple(journey(release)),
    )


def _shared(release: Release, rows: Released) -> dict[str, object]:
    loss = release.utility.get("information_loss")
    return {
        "promise": release.model.in_words(),
        "model": type(release.model).__name__,
        "holds": release.verdict.holds,
        "levels": levels(release),
        "needs_original": release.model.needs_original,
        "limits": release.limits,
        "singled_out": release.singled_out,
        "method": release.method,
        "information_loss": None if loss is None else round(loss.value, 2),
        "information_loss_means": "" if loss is None else loss.means,
        "unit": release.unit,
        "n_persons": rows.n_persons,
        "n_events": rows.n_rows,
        "files": files(release),
        "n_tables": len(release.tables),
        "columns": columns(release, rows),
    }


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sequester.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        shown=wording.shown,
        number=wording.number,
        share=wording.share,
        setting=wording.setting,
        percent=wording.percent,
        seconds=wording.seconds,
        capital=wording.capital,
        example=in_words,
        bars=bars,
        meter=meter,
    )
    environment.globals.update(version=__version__)
    return environment


def template(name: str) -> jinja2.Template:
    """Load a page's template, which escapes whatever it is given."""
    return _environment().get_template(name)
