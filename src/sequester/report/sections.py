"""A page of sections: text, plots and a table each; one file that needs no network and runs no script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester.report.page import template

if TYPE_CHECKING:
    from sequester.report.content import Figure


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


def section_page(
    *,
    kind: str,
    title: str,
    lead: str,
    notice: tuple[str, str],
    numbers: tuple[Number, ...],
    sections: tuple[Section, ...],
) -> str:
    """Write a page: what it is, a heading and a sentence, a notice (title, text), numbers, sections."""
    return template("sections.html").render(
        kind=kind, title=title, lead=lead, notice=notice, numbers=numbers, sections=sections
    )
