"""Releases made by hand, for tests that need one without a method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.privacy import SequenceKAnonymity
from sequester.release.release import Release
from sequester.report.findings import NO_FINDINGS, Findings
from sequester.utility.score import Score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.data.table import EventTable
    from sequester.privacy import PrivacyModel

ROWS = ("ab", "ab", "abc", "abc", "c")
"""Every part of a record is in at least two records; ``abc`` in exactly two."""


class Pages:
    """Report pages that say little, and take no time."""

    def external_page(self, release: Release) -> str:
        """The page for recipients."""
        return f"<!doctype html><title>{release.method}</title>\n"

    def internal_page(
        self, release: Release, *, original: EventTable | None = None, findings: Findings = NO_FINDINGS
    ) -> str:
        """The internal page."""
        return f"<!doctype html><title>{release.method}, {release.n_lost_events} lost</title>\n"

    def internal_document(
        self, release: Release, *, original: EventTable | None = None, findings: Findings = NO_FINDINGS
    ) -> str:
        """Its numbers."""
        return f'{{"attacks": {len(findings.risks)}}}\n'


def frame_of(rows: Sequence[Sequence[str]], column: str = "page") -> pl.DataFrame:
    """Events of persons p1, p2, ... with the symbols of `rows`."""
    digits = max(3, len(str(len(rows))))
    events = [
        (f"p{person:0{digits}}", order, symbol)
        for person, row in enumerate(rows)
        for order, symbol in enumerate(row, start=1)
    ]
    schema = {"person": pl.String, "order": pl.Int64, column: pl.String}
    return pl.DataFrame(events, schema=schema, orient="row")


def release_of(
    rows: Sequence[Sequence[str]] = ROWS,
    *,
    k: int = 2,
    column: str = "page",
    model: PrivacyModel | None = None,
    hierarchies: Mapping[str, pl.DataFrame] | None = None,
    lost: int = 0,
    loss: float = 0.123456,
) -> Release:
    """A release of `rows` that claims what `model` says about them."""
    model = model or SequenceKAnonymity(k=k)
    frame = frame_of(rows, column)
    persons = frame["person"].unique(maintain_order=True)
    sequences = Sequences.from_rows(rows, column=column)
    return Release(
        tables={"events": frame},
        schema=Schema(person="person", order="order", symbol=column, released=True),
        hierarchies=hierarchies or {},
        method="p2ka",
        parameters={"k": k, "strict": True},
        model=model,
        verdict=model.check(sequences, original=sequences if model.needs_original else None),
        limits=("Records are not truthful.",),
        utility={
            "information_loss": Score(
                value=loss, goal="minimize", bounds=(0, 1), means="Share of lost items."
            ),
            "sim1": Score(value=0.777, goal="maximize", bounds=(0, 1), means="Kept patterns."),
        },
        change_list=pl.LazyFrame({"row": [1], "was": ["secret-label"], "is": ["a"]}),
        pseudonyms=pl.DataFrame({"person": [f"raw-{name}" for name in persons], "pseudonym": persons}),
        seed="a seed that stays inside",
        n_input_persons=len(rows),
        n_input_events=frame.height + lost,
        n_lost_events=lost,
    )
