"""A page about a stream: which snapshots were published, in the order of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester._repr import number
from sequester.report.page import Number, Section, section_page
from sequester.report.text import share
from sequester.verification.stream_page import in_time_order
from sequester.verification.verify import read_certificates
from sequester.workflow.output_file import write_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PAGE = "report.html"
"""The page, in the folder of the state."""


def write_page(out: Path, state: Path, *, lost: Mapping[str, int]) -> None:
    """Write the page of a stream from its published certificates; `lost` counts records by value."""
    found = in_time_order(read_certificates(out))
    rows = [
        (
            stem,
            number(certificate.events),
            ", ".join(f"{name} = {number(value)}" for name, value in certificate.achieved.items()),
            "yes" if certificate.holds else "no",
        )
        for stem, (certificate, _) in found
    ]
    n_published = sum(certificate.events for _, (certificate, _) in found)
    n_lost = sum(lost.values())
    sections = [
        Section(
            title="Published snapshots, in the order of time",
            header=("snapshot", "records", "reached", "promise holds"),
            rows=tuple(rows),
        )
    ]
    if n_lost:
        sections.append(
            Section(
                title="Records that found no place",
                text=("Leaving out some values more often than others is a bias.",),
                header=("value", "records"),
                rows=tuple((value, number(count)) for value, count in sorted(lost.items()) if count),
            )
        )
    page = section_page(
        kind="Stream",
        title="What was published so far",
        lead=f"{number(len(found))} snapshots with {number(n_published)} records.",
        notice=("Internal: do not share this page", "It says which records were lost."),
        numbers=(
            Number(name="Snapshots", value=number(len(found))),
            Number(name="Records", value=number(n_published)),
            Number(name="Lost", value=number(n_lost), about=share(n_lost, n_lost + n_published)),
        ),
        sections=tuple(sections),
    )
    write_file(page.encode(), state / PAGE)
    (state / PAGE).chmod(0o600)
