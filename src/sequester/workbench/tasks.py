"""The tasks of jobs: each calls what a command calls, and returns what the page shows."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import escape
from pydantic import ValidationError

from sequester.attacks.context import TARGETS
from sequester.data.roles import RESERVED
from sequester.engine import part
from sequester.errors import HierarchyError, InputError
from sequester.release.staging import write_file
from sequester.report.plot import draw_frontier
from sequester.verification.claim import claimed_model
from sequester.verification.verify import open_parts
from sequester.workflow.advise import advise as weigh
from sequester.workflow.compare import KNOWN, CompareOptions, compare_config
from sequester.workflow.comparison.comparison import Comparison, describe_adversary
from sequester.workflow.comparison.grid import read_methods, read_settings
from sequester.workflow.comparison.trial import Knowledge, TrialResult
from sequester.workflow.config import Config
from sequester.workflow.draft.attributes import Proposal, propose_hierarchy
from sequester.workflow.draft.columns import Column
from sequester.workflow.draft.roles import NOTHING_SAYS_SO
from sequester.workflow.hierarchy import build_hierarchy, lint_hierarchies, show_hierarchy
from sequester.workflow.init import DataFile, init, to_toml
from sequester.workflow.inspect import inspect_config
from sequester.workflow.protect import protect as make
from sequester.workflow.run import RunContext
from sequester.workflow.settings import Settings
from sequester.workflow.verify import verify_release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.workflow.draft.attributes import QuasiDraft
    from sequester.workflow.draft.roles import Guess
    from sequester.workflow.hierarchy import HierarchyCounts
    from sequester.workflow.init import Proposed

Task = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext(RunContext):
    """What every task is given: its folder, and whom it tells how far it is and what must be known."""

    folder: Path


HEAD = 20
"""Rows of a table that are shown."""
BARS = 12
"""Values of a column that are drawn."""
VALUES = 10_000
"""Values of a column that hierarchies are tried on and lists show."""
CHILDREN, NODES = 200, 3_000
"""Nodes under one, and of a tree, that are shown."""
ROWS = 60
"""Rows that are shown before and after."""


def draft(
    work: TaskContext,
    *,
    data: str,
    out: str,
    keep: bool = False,  # noqa: ARG001  (for the project, which adopts the draft)
    persons: str | None = None,
    **reading: Any,
) -> dict[str, Any]:
    """Draft a configuration, and describe every column; with `keep`, describe those of one that is there."""
    file = DataFile(data, **reading)
    proposed = init(file, out, persons=persons, force=True, progress=work.progress)
    work.progress(0.8, "examining values")
    text = to_toml(proposed.draft, proposed.data, proposed.persons)
    tables = {"events": proposed.frame, "persons": proposed.persons_frame}
    columns = [
        (which, Column(name, frame[name]))
        for which, frame in tables.items()
        if frame is not None
        for name in frame.columns
    ]
    reasons = _reasons(proposed)
    for place, (_, column) in enumerate(columns):
        values = [list(row) for row in column.counts.head(VALUES).iter_rows()]
        write_file(json.dumps(values).encode(), work.folder / "values" / f"{place}.json")
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
    guesses: list[tuple[str, Guess | QuasiDraft | None]] = [
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


def hierarchy(work: TaskContext, *, config: str, attribute: str) -> dict[str, Any]:
    """Count events and persons under each node of a hierarchy, and say what is wrong with it."""
    linted = lint_hierarchies(config, progress=part(work.progress, 0.0, 0.5))
    findings = [finding for each in linted if each.attribute == attribute for finding in each.findings]
    marks = {label: each.kind.replace("-", " ") for each in findings for label in each.labels}
    found: dict[str, Any] = {
        "findings": [{"severity": each.severity, "text": str(each)} for each in findings],
        "tree": None,
    }
    try:
        counted = show_hierarchy(config, attribute, progress=part(work.progress, 0.5, 1.0))
    except HierarchyError:  # the findings say why
        return found
    found["tree"] = _nested(counted, 0, marks, [NODES])
    return found


def _nested(counted: HierarchyCounts, node: int, marks: Mapping[str, str], left: list[int]) -> dict[str, Any]:
    """Return a node with what is below it, as far as there is room."""
    tree = counted.tree
    left[0] -= 1
    below = sorted(tree.children(node), key=lambda child: -int(counted.events[child]))
    shown = below[: max(min(CHILDREN, left[0]), 0)]
    return {
        "label": tree.labels[node],
        "events": int(counted.events[node]),
        "persons": int(counted.persons[node]),
        "leaves": int(tree.leaves[node]),
        "problem": marks.get(tree.labels[node], ""),
        "below": [_nested(counted, child, marks, left) for child in shown],
        "hidden": len(below) - len(shown),
    }


def build(work: TaskContext, *, config: str, attribute: str, out: str) -> dict[str, Any]:
    """Write a hierarchy as an ARX file."""
    return build_hierarchy(config, attribute, out, run=work).to_json()


def inspect(work: TaskContext, *, config: str) -> dict[str, Any]:
    """Inspect the data: its problems and risks."""
    page = work.folder / "inspect.html"
    found = inspect_config(config, out=page, force=True, run=work)
    # The page runs no script and escapes every label, so that its body can stand in another page.
    text = page.read_text(encoding="utf-8")
    body = text[text.index("<main>") + len("<main>") : text.rindex("</main>")]
    return {**found.to_json(), "body": body}


def compare(
    work: TaskContext,
    *,
    config: str,
    methods: str,
    out: str,
    set: list[str],  # noqa: A002  (as on the command line)
    write_releases: bool,
) -> dict[str, Any]:
    """Try methods and parameters; what is done is drawn as it comes."""
    drawn: list[str] = []

    def report(fraction: float, phase: str) -> None:
        work.progress(fraction, phase)
        done = _results(Path(out))
        if len(done) > len(drawn):
            drawn[:] = done
            write_file(json.dumps(_draw(done, config)).encode(), work.folder / "partial.json")

    compare_config(
        config,
        out=Path(out),
        methods=read_methods(methods),
        settings=read_settings(set),
        asked=CompareOptions(write_releases=write_releases),
        run=replace(work, progress=report),
    )
    return _draw(_results(Path(out)), config)


def _results(out: Path) -> dict[str, TrialResult]:
    """Return all results in the folder of a comparison, by their keys, in the order in which they came."""
    paths = sorted((out / "results").glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    return {path.stem: TrialResult.of(json.loads(path.read_bytes())) for path in paths}


def _draw(results: Mapping[str, TrialResult], config: str) -> dict[str, Any]:
    """Draw the frontier, with a link at each candidate, and list them."""
    data = Config.load(config).settings.data
    is_sequence = data.symbol is not None or (data.place is not None and not data.quasi)
    knowledge = Knowledge(kind="ordered" if is_sequence else "anywhere", known=KNOWN, targets=TARGETS)
    found = Comparison.of(list(results.values()), knowledge=knowledge)
    keys = list(results)
    marks = list(found.marks(lambda place: f"/explore?candidate={keys[place]}"))
    drawing = str(draw_frontier(marks, found.axes())) if marks else ""
    for mark in marks:
        # The renderer has no names for links.
        name = escape(f"Look at {mark.series} {mark.label}")
        drawing = drawing.replace(f'href="{mark.link}"', f'href="{mark.link}" aria-label="{name}"')
    candidates = [
        {
            **candidate,
            "key": key,
            "score": None if (score := found.score(place)) is None else score.value,
            "is_recommended": place == found.recommended,
            "is_on_frontier": place in found.frontier,
        }
        for place, (key, candidate) in enumerate(zip(keys, found.to_json()["candidates"], strict=True))
    ]
    return {
        "drawing": drawing,
        "measure": found.measure.replace("_", " "),
        "adversary": describe_adversary(found.adversary, knowledge),
        "candidates": candidates,
    }


def changes(work: TaskContext, *, config: str, internal: str) -> dict[str, Any]:
    """Put the first rows of the input beside what has become of them."""
    work.progress(0.0, "reading")
    loaded = Config.load(config)
    schema, frame = loaded.schema, loaded.frame(work.warn)
    released = [
        name
        for name in (*schema.attributes, *schema.sensitive_columns, *schema.keep)
        if name in frame.columns
    ]
    columns = list(dict.fromkeys([*([schema.person] if schema.person in frame.columns else []), *released]))
    head = _head(frame.select(columns), ROWS)
    changed = pl.read_parquet(Path(internal) / "changes.parquet").filter(pl.col("row") <= ROWS)
    symbol = "" if schema.symbol is None else schema.symbol.column
    cells: dict[tuple[int, str], list[str]] = {}
    for each in changed.iter_rows(named=True):
        after = cells.setdefault((each["row"] - 1, each.get("column") or symbol), [])
        after += [] if each.get("to") is None else [str(each["to"])]
    return {
        "header": columns,
        "rows": [
            [
                {
                    "before": cell,
                    "after": "a pseudonym"
                    if name == schema.person
                    else " + ".join(cells.get((row, name), [cell])) or "(gone)",
                    "is_changed": (row, name) in cells,
                }
                for name, cell in zip(columns, line, strict=True)
            ]
            for row, line in enumerate(head["rows"])
        ],
        "n_changes": changed.height,
        "n_rows": frame.height,
    }


def advise(work: TaskContext, *, config: str, **answers: str) -> dict[str, Any]:
    """Recommend a method."""
    return weigh(config, progress=work.progress, **answers).to_json()  # type: ignore[arg-type]


def protect(work: TaskContext, *, config: str, out: str) -> dict[str, Any]:
    """Make a release."""
    done = make(config, out=out, run=work)
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


def verify(work: TaskContext, *, release: str, original: str | None = None) -> dict[str, Any]:
    """Check a release by its files."""
    return verify_release(release, original=original, run=work).to_json()


def look(
    work: TaskContext,
    *,
    release: str,
    column: str = "",
    value: str = "",
    persons: bool = False,
) -> dict[str, Any]:
    """Open a release as its recipient does, and estimate how many had a value."""
    work.progress(0.0, "opening")
    opened = open_parts(release)
    expected = opened.expected_count({column: value}, persons=persons) if column else None
    return {
        "promise": claimed_model(opened.certificate).in_words(),
        "head": _head(opened.frame),
        "columns": list(
            dict.fromkeys(
                name for each in opened.tables.values() for name in each.columns if name not in RESERVED
            )
        ),
        "expected": expected,
    }


TASKS: Mapping[str, Task] = {
    task.__name__: task
    for task in (draft, hierarchy, build, inspect, compare, changes, advise, protect, verify, look)
}
"""Name to task."""
