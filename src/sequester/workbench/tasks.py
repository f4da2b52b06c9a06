"""The tasks of jobs: each calls what a command calls, and returns what the page shows."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from sequester.errors import InputError
from sequester.workflow.config import Config
from sequester.workflow.draft.columns import Column
from sequester.workflow.draft.hierarchies import Proposal, propose_hierarchy
from sequester.workflow.draft.roles import NOTHING_SAYS_SO
from sequester.workflow.draft.toml import to_toml
from sequester.workflow.init import init
from sequester.workflow.output_file import write_file
from sequester.workflow.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from sequester.engine import Progress
    from sequester.errors import Warn
    from sequester.workflow.draft.draft import Attribute
    from sequester.workflow.draft.roles import Guess
    from sequester.workflow.init import Proposed

Task = Callable[..., Any]
HEAD = 20
"""Rows of a table that are shown."""
BARS = 12
"""Values of a column that are drawn."""
VALUES = 10_000
"""Values of a column that hierarchies are tried on and lists show."""
CHILDREN = 200
"""Nodes under one that are shown."""


def draft(
    folder: Path,
    progress: Progress,
    warn: Warn,
    *,
    data: str,
    out: str,
    keep: bool = False,
    query: str | None = None,
    table: str | None = None,
    persons: str | None = None,
    **reading: str,
) -> dict[str, Any]:
    """Draft a configuration, and describe every column; with `keep`, describe those of one that is there."""
    del warn, keep
    proposed = init(
        data, out, query=query, table=table, persons=persons, force=True, progress=progress, **reading
    )
    progress(0.8, "looking at the values")
    text = to_toml(proposed.draft, proposed.data, proposed.persons)
    tables = {"events": proposed.frame, "persons": proposed.persons_frame}
    columns = [
        (which, Column(name, frame[name]))
        for which, frame in tables.items()
        if frame is not None
        for name in frame.columns
    ]
    reasons = _reasons(proposed)
    values = {
        f"{which}/{column.name}": [list(row) for row in column.counts.head(VALUES).iter_rows()]
        for which, column in columns
    }
    write_file(json.dumps(values).encode(), folder / "values.json")
    return {
        "text": text,
        "open": [
            name
            for each in proposed.draft.candidates
            if NOTHING_SAYS_SO not in each.why
            for name in each.columns
        ],
        "rows": proposed.frame.height,
        "doubts": list(proposed.draft.doubts),
        "head": _head(proposed.frame),
        "columns": [
            _describe(which, column, reasons.get((which, column.name), "")) for which, column in columns
        ],
        **_read(text, Path(out), proposed.frame),
    }


def _describe(which: str, column: Column, why: str) -> dict[str, Any]:
    proposed = propose_hierarchy(column)
    form = column.time_form
    return {
        "table": which,
        "name": column.name,
        "why": why,
        "distinct": column.n_distinct,
        "missing": column.n_missing,
        "bars": [list(row) for row in column.counts.head(BARS).iter_rows()],
        "hierarchy": proposed.hierarchy.model_dump(exclude_unset=True)
        if isinstance(proposed, Proposal)
        else None,
        "time_format": None if form is None else form.format,
    }


def _reasons(proposed: Proposed) -> dict[tuple[str, str], str]:
    """Return the reason for the guess at each column, by table and name."""
    drafted = proposed.draft
    guesses: list[tuple[str, Guess | Attribute | None]] = [
        *(("events", each) for each in (*drafted.drop, drafted.person, drafted.tie, drafted.trip)),
        *(("events", each) for each in (*drafted.quasi, drafted.symbol)),
    ]
    if drafted.persons is not None and proposed.persons_frame is not None:
        guesses += [("persons", each) for each in drafted.persons.drop]
        guesses += [("persons", each) for each in drafted.persons.quasi]
    reasons = {(which, each.column): each.why for which, each in guesses if each is not None}
    if drafted.when is not None:
        reasons |= {("events", name): drafted.when.why for name in drafted.when_columns}
    for candidate in drafted.candidates:
        if NOTHING_SAYS_SO not in candidate.why:
            reasons |= {("events", name): f"may be sensitive: {candidate.why}" for name in candidate.columns}
    return reasons


def _read(text: str, out: Path, frame: pl.DataFrame) -> dict[str, Any]:
    """Read the data as it was drafted: how many persons and events, and which rows are doubtful."""
    try:
        table = Config(out, Settings.model_validate(tomllib.loads(text))).table_of(frame)
    except (InputError, ValidationError) as error:
        lines = error.lines if isinstance(error, InputError) else (str(error),)
        return {"persons": None, "events": None, "problems": list(lines)}
    problems = [f"{each.severity}: {each}" for each in table.problems]
    return {
        "persons": table.n_owners,
        "events": table.n_events,
        "problems": [*problems, *table.reading.lines()],
    }


def _head(frame: pl.DataFrame, rows: int = HEAD) -> dict[str, Any]:
    return {
        "header": frame.columns,
        "rows": [["" if cell is None else str(cell) for cell in row] for row in frame.head(rows).iter_rows()],
    }


def advise(folder: Path, progress: Progress, warn: Warn, *, config: str, **answers: str) -> dict[str, Any]:
    """Recommend a method."""
    from sequester.workflow.advise import advise as weigh  # noqa: PLC0415  (each job loads what it needs)

    del folder, warn
    return weigh(config, progress=progress, **answers).to_json()  # type: ignore[arg-type]


def protect(folder: Path, progress: Progress, warn: Warn, *, config: str, out: str) -> dict[str, Any]:
    """Make a release."""
    from sequester.workflow.protect import protect as make  # noqa: PLC0415  (as above)

    del folder
    done = make(config, out=out, progress=progress, warn=warn)
    method = Config.load(config).method()
    loss = done.release.utility.get("information_loss")
    return {
        **done.to_json(),
        "promise": done.release.model.in_words(),
        "method": {"name": method.name, **method.parameters()},
        "information_loss": None if loss is None else loss.value,
        "risk_lines": list(done.summary.risk_lines()),
        "column_lines": list(done.summary.column_lines(100)),
        "price": done.summary.price_text(),
    }


def verify(
    folder: Path, progress: Progress, warn: Warn, *, release: str, original: str | None = None
) -> dict[str, Any]:
    """Check a release by its files."""
    from sequester.workflow.verify import verify_release  # noqa: PLC0415  (as above)

    del folder
    found = verify_release(release, original=original, progress=progress, warn=warn)
    return found.to_json()


def look(
    folder: Path,
    progress: Progress,
    warn: Warn,
    *,
    release: str,
    column: str = "",
    value: str = "",
    persons: bool = False,
) -> dict[str, Any]:
    """Open a release as its recipient does, and estimate how many had a value."""
    from sequester.verification.claim import claimed_model  # noqa: PLC0415  (as above)
    from sequester.verification.contents import open as open_release  # noqa: PLC0415  (as above)

    del folder, warn
    progress(0.0, "opening")
    opened = open_release(release)
    expected = opened.expected_count({column: value}, persons=persons) if column else None
    return {
        "promise": claimed_model(opened.certificate).in_words(),
        "head": _head(opened.frame),
        "columns": list(dict.fromkeys(name for each in opened.tables.values() for name in each.columns)),
        "expected": expected,
    }


TASKS: Mapping[str, Task] = {
    "draft": draft,
    "advise": advise,
    "protect": protect,
    "verify": verify,
    "look": look,
}
"""Name to task."""
