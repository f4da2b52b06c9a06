"""The page of a comparison: a drawing, candidates with links to their own pages, and sections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester.report.page import template

if TYPE_CHECKING:
    from markupsafe import Markup

    from sequester.report.sections import Number, Section


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """A candidate in the table; numbers are written as they are shown."""

    label: str
    """The method and its parameters."""
    page: str
    """Its own page, relative to this one."""
    stands: tuple[str, ...]
    """How it stands out."""
    risk: str
    """What the adversary achieves."""
    interval: str
    """Where that lies."""
    score: str
    """The measure of the drawing."""
    lost: str
    """Share of events that are lost."""
    invented: str
    """How many released items their persons never had; nothing where there is none."""
    achieved: str
    """The level that the data reaches."""
    seconds: str
    """How long it took."""
    memory: str
    """Megabytes that it took."""


def comparison_page(
    *,
    title: str,
    lead: str,
    several: str,
    numbers: tuple[Number, ...],
    drawing: Markup | None,
    candidates: tuple[Linked, ...],
    measure: str,
    goal: str,
    sections: tuple[Section, ...],
) -> str:
    """Write the page; `several` is what to know where more than one release was written."""
    return template("comparison.html").render(
        kind="Comparison",
        title=title,
        lead=lead,
        notice=(
            "Keep this page in the house",
            "It compares with the original, and is as sensitive as the input.",
        ),
        several=several,
        numbers=numbers,
        drawing=drawing,
        candidates=candidates,
        measure=measure,
        goal=goal,
        sections=sections,
    )
