"""An opened release at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.display.card import Card

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sequester.bundle.open import Opened

_SHOWN_ROWS = 5


def glance(opened: Opened) -> Card:
    """Show what is promised, what is there, what is not promised, and the first rows."""
    certificate = opened.certificate
    first = opened.frame.head(_SHOWN_ROWS)
    state = "holds" if certificate.holds else "does not hold"
    return Card(
        title=f"Opened release: {certificate.model} {state}",
        good=certificate.holds,
        facts=tuple(_facts(opened)),
        remarks=tuple(f"limit: {line}" for line in certificate.limits),
        header=tuple(first.columns),
        rows=tuple(tuple(str(cell) for cell in row) for row in first.iter_rows()),
    )


def _facts(opened: Opened) -> Iterator[tuple[str, str]]:
    certificate = opened.certificate
    yield "promised", ", ".join(f"{name} = {value}" for name, value in certificate.claim.items())
    yield "reached", ", ".join(f"{name} = {value:.4g}" for name, value in certificate.achieved.items())
    yield "method", certificate.method
    if certificate.persons is not None:
        yield "persons", f"{certificate.persons:,}"
    yield "events" if certificate.persons is not None else "records", f"{certificate.events:,}"
    for name, tree in opened.hierarchies.items():
        yield "generalized", f"{name} ({tree.height:,} nodes)"
    for name, score in certificate.utility.items():
        yield name.replace("_", " "), f"{score.value:.3g}"
