"""A release at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.attacks.share import percent
from sequester.display.card import Card
from sequester.hierarchies.labels import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sequester.release.release import Release

_SHOWN_ROWS = 5
_SHOWN_SCORES = 9


def glance(release: Release) -> Card:
    """Show the promise, whether it holds, what is left of the data, and the first released rows."""
    first = release.frame.head(_SHOWN_ROWS)
    state = "holds" if release.verdict else "does not hold"
    return Card(
        good=bool(release.verdict),
        title=f"Release by {release.method}: {type(release.model).__name__} {state}",
        facts=tuple(_facts(release)),
        remarks=(
            *(f"warning: {line}" for line in release.warnings),
            *(f"limit: {line}" for line in release.limits),
        ),
        header=tuple(first.columns),
        rows=tuple(tuple(str(cell) for cell in row) for row in first.iter_rows()),
    )


def _facts(release: Release) -> Iterator[tuple[str, str]]:
    yield "asked", ", ".join(f"{name} = {value}" for name, value in release.model.claim().items())
    yield "achieved", ", ".join(f"{name} = {value}" for name, value in release.verdict.achieved.items())
    if release.n_persons is not None:
        yield release.unit, f"{release.n_persons:,} of {release.n_input_persons:,}"
    yield (
        "events" if release.n_persons is not None else "records",
        f"{release.frame.height:,} of {release.n_input_events:,}",
    )
    lost = counted(release.n_lost_events, "event", "events")
    yield "lost", f"{lost} ({release.lost_share:.1%})"
    if release.n_invented_items:
        yield "invented", f"{counted(release.n_invented_items, 'released item', 'released items')}"
    if release.n_moved_items:
        yield "moved", f"{counted(release.n_moved_items, 'released item', 'released items')}"
    reading = release.reading
    if reading is not None and reading.left_out:
        yield "left out on reading", f"{reading.left_out:,} of {counted(reading.rows, 'row', 'rows')}"
        yield "no longer shown", f"{release.unseen_share:.1%} of all that was read"
    if release.singled_out is not None:
        found = release.singled_out
        yield "singled out", f"{percent(found.share(found.by_all))} by everything that is released"
        if found.kept:
            yield "by kept columns", percent(found.share(found.by_kept))
        if found.sensitive:
            yield "by unprotected values", percent(found.share(found.by_sensitive))
    shown = list(release.utility.items())[:_SHOWN_SCORES]
    for name, score in shown:
        yield name, f"{score.value:.3g}"
    if len(release.utility) > len(shown):
        yield "further measures", f"{len(release.utility) - len(shown)}, all of them in utility"
