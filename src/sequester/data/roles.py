"""The roles of columns, and what they bring: labels, hierarchies and protected values."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, get_args

import numpy as np
import polars as pl

from sequester.data.places import REGION, Gap
from sequester.data.problems import SHOWN_ROWS, Problem
from sequester.data.schema import ALL, ROW, Derivation
from sequester.data.text import is_number, is_plain
from sequester.errors import HierarchyError, SchemaError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import MISSING, ROOT, listed, match_alike, quoted
from sequester.hierarchies.lint import ALIKE, lint

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sequester._typing import Mask, RowNumbers
    from sequester.data.problems import Severity
    from sequester.data.schema import Alike, Quasi, Schema
    from sequester.hierarchies.builder import HierarchyBuilder
    from sequester.hierarchies.lint import Finding

RESERVED = ("person", "order", "time", "group", "count")
"""Columns that a release makes itself; no released attribute may have these names."""

_ALLOWED_PAIRS = ({"quasi", "sensitive"}, {"order", "quasi"}, {"time", "quasi"})
_NEEDS_TIME = frozenset(get_args(Derivation)) - {"event_count"}


def roles_of(schema: Schema) -> dict[str, list[str]]:
    """Return the roles of each column that the schema names.

    Examples
    --------
    >>> from sequester.data.schema import Schema
    >>> roles_of(Schema(person="user", time="at", symbol="page", keep=["page"]))
    {'user': ['person'], 'at': ['time'], 'page': ['symbol', 'keep']}
    """
    roles: dict[str, list[str]] = {}
    for column, role in _named(schema):
        roles.setdefault(column, []).append(role)
    return roles


def _named(schema: Schema) -> Iterator[tuple[str, str]]:
    if schema.person_column is not None:
        yield schema.person_column, "person"
    if schema.order is not None:
        yield schema.order, "order"
    yield from ((column, "time") for column in schema.time_columns)
    if schema.tie is not None:
        yield schema.tie, "tie"
    if schema.weight is not None:
        yield schema.weight, "weight"
    if isinstance(schema.trip, str):
        yield schema.trip, "trip"
    if schema.place is not None:
        yield schema.place.lat, "place"
        yield schema.place.lon, "place"
    if schema.symbol is not None:
        yield schema.symbol.column, "symbol"
    yield from ((column, "quasi") for column in schema.quasi)
    yield from ((column, "sensitive") for column in schema.sensitive_columns)
    yield from ((column, "keep") for column in schema.keep)
    yield from ((column, "drop") for column in schema.drop)


def check_roles(schema: Schema, columns: Sequence[str]) -> list[Problem]:
    """List everything that is wrong between a schema and the columns of a table.

    Examples
    --------
    >>> from sequester.data.schema import Schema
    >>> for problem in check_roles(Schema(person="user", time="at", symbol="page"), ["user", "page", "name"]):
    ...     print(problem)
    column 'at' is named as time, and the table has no such column
    column 'name' has no role: give it one, or name it in drop
    """
    roles = roles_of(schema)
    present = {*columns, *schema.derive}
    return [
        *_check_shape(schema),
        *(
            Problem(
                f"column {column!r} is named as {named[0]}, and the table has no such column"
                f"{nearest_name(column, [each for each in columns if each not in roles] or columns)}",
                column,
            )
            for column, named in roles.items()
            if column not in present
        ),
        *(
            Problem(f"column {column!r} has no role: give it one, or name it in drop", column)
            for column in columns
            if column not in roles and column
        ),
        *(
            Problem(f"column {place} of the table has no name", column)
            for place, column in enumerate(columns, start=1)
            if not column
        ),
        *(
            Problem(
                f"column {column!r} has {len(named)} roles ({', '.join(named)}), and may have one", column
            )
            for column, named in roles.items()
            if len(named) > 1 and not (len(named) == 2 and set(named) in _ALLOWED_PAIRS)
        ),
        *_check_names(schema),
        *_check_places(schema, columns),
        *_check_derived(schema, columns, roles),
    ]


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return a question that names the column most like `name`; nothing where none is.

    Examples
    --------
    >>> nearest_name("Desease", ["person", "disease"]), nearest_name("x", ["disease"])
    ("; did you mean 'disease'?", '')
    """
    lowered = {each.casefold(): each for each in known}
    close = difflib.get_close_matches(name.casefold(), lowered, n=1)
    return f"; did you mean {lowered[close[0]]!r}?" if close else ""


def refuse_patterns(columns: Sequence[str]) -> None:
    """Refuse names that polars takes for patterns wherever they stand.

    Examples
    --------
    >>> refuse_patterns(["page", "^page$"])
    Traceback (most recent call last):
    sequester.errors.SchemaError: column '^page$' has a name from ^ to $, which is a pattern: rename it
    """
    lines = [
        f"column {column!r} has a name from ^ to $, which is a pattern: rename it"
        for column in dict.fromkeys(columns)
        if column.startswith("^") and column.endswith("$")
    ]
    if lines:
        raise SchemaError(*lines)


def _check_shape(schema: Schema) -> Iterator[Problem]:
    if schema.order is not None and schema.time is not None:
        yield Problem("order and time are both given, and one of them is needed")
    if schema.order is None and schema.time is None and schema.person not in (ROW, ALL):
        yield Problem("order or time is needed: the column that says which event comes first")
    if schema.time_format is not None and schema.time is None:
        yield Problem("time_format is given without time")
    if schema.symbol is None and not schema.quasi and not schema.sensitive and schema.place is None:
        yield Problem("nothing to release: give symbol, place, quasi or sensitive")
    if schema.symbol is not None and schema.quasi:
        yield Problem("symbol and quasi are both given: a symbol stands instead of quasi-identifiers")
    if schema.symbol is not None and schema.sensitive:
        yield Problem("symbol and sensitive are both given: a symbol is the only attribute of an event")


def _check_names(schema: Schema) -> Iterator[Problem]:
    released = dict.fromkeys((*schema.attributes, *schema.sensitive, *schema.keep))
    for name in released:
        if name in RESERVED:
            what = f"column {name!r} would clash with the column of that name in a release"
            yield Problem(f'{what}: rename it, as in rename = {{ {name} = "{name}_" }}', name)


def _check_places(schema: Schema, columns: Sequence[str]) -> Iterator[Problem]:
    if schema.person == ROW and (schema.trip is not None or schema.place is not None):
        yield Problem('trip and place need a column of persons, and person is "row"')
    if isinstance(schema.trip, Gap) and schema.time is None:
        yield Problem("trip = { gap } needs a time column")
    if schema.place is None:
        return
    if schema.symbol is not None:
        yield Problem("place and symbol are both given: regions are the symbol, or a quasi-identifier")
    if REGION in columns or REGION in schema.derive:
        yield Problem(f"column {REGION!r} has the name that the regions of place get: rename it", REGION)
    if schema.place.time_of_day and schema.time is None:
        yield Problem("place.time_of_day needs a time column")
    if schema.place.max_speed is not None and schema.time is None:
        yield Problem("place.max_speed needs a time column")


def _check_derived(schema: Schema, columns: Sequence[str], roles: dict[str, list[str]]) -> Iterator[Problem]:
    for name, kind in schema.derive.items():
        if name in columns:
            yield Problem(f"derived column {name!r} has the name of a column of the table", name)
        elif "quasi" not in roles.get(name, []):
            yield Problem(f"derived column {name!r} needs a hierarchy: name it in quasi", name)
        if kind in _NEEDS_TIME and schema.time is None:
            yield Problem(f"derived column {name!r} ({kind}) needs a time column", name)


def check_labels(
    frame: pl.DataFrame,
    labels: Mapping[str, list[str]],
    schema: Schema,
    rows: RowNumbers,
    problems: list[Problem],
) -> None:
    """Find reserved values among the labels of each column."""
    for column, known in labels.items():
        text = frame[column]
        if ROOT in known and not schema.released:
            what = f"column {quoted(column)}: the value '*' stands for a suppressed value and may not occur"
            problems.append(Problem.at(what, column, (text == ROOT).fill_null(False).to_numpy(), rows))
        if text.null_count() and (text == MISSING).any():
            what = f"column {quoted(column)}: '(missing)' stands for a gap, and the column has gaps too"
            problems.append(Problem.at(what, column, (text == MISSING).fill_null(False).to_numpy(), rows))


def find_protected(
    schema: Schema, labels: dict[str, list[str]], problems: list[Problem]
) -> dict[str, frozenset[str]]:
    """Return the protected labels of each sensitive attribute; a rule that matches nothing is named."""
    protected = {}
    for name, sensitive in schema.sensitive.items():
        occurring = dict.fromkeys(
            label for column in sensitive.columns for label in labels.get(column, ()) if label != MISSING
        )
        if sensitive.protect == "all":
            protected[name] = frozenset(occurring)
            continue
        found = set(sensitive.protect.values)
        for rule in sensitive.protect.rules():
            matches = rule.matches(occurring)
            found.update(matches)
            if not matches:
                what = f"sensitive attribute {quoted(name)}: the protected {rule} does not occur in the data"
                problems.append(Problem(what, name, severity="warning"))
        protected[name] = frozenset(found)
    return protected


def with_protected_nodes(
    protected: dict[str, frozenset[str]], schema: Schema, hierarchies: dict[str, Hierarchy]
) -> dict[str, frozenset[str]]:
    """Add the nodes that have nothing but protected leaves below them, above values that are protected.

    Who knows such a node of a person knows that a protected value is among their values: it is no
    background knowledge, as a protected value is none. It matters where a quasi-identifier is sensitive, too.
    A leaf counts as protected whether or not it occurs. A release does not show which leaves its hierarchies
    had: there, such nodes are named one by one.

    Examples
    --------
    >>> from sequester.data.schema import Schema
    >>> from sequester.hierarchies import Hierarchy
    >>> ill = Hierarchy.from_tree({"infectious": {"STD": ["HIV", "syphilis"], "flu": {}}, "other": ["gout"]})
    >>> schema = Schema(person="who", order="n", quasi={"ill": ill}, sensitive={"ill": ["HIV", "syphilis"]})
    >>> sorted(with_protected_nodes({"ill": frozenset(["HIV", "syphilis"])}, schema, {"ill": ill})["ill"])
    ['HIV', 'STD', 'syphilis']
    """
    if schema.released:
        return protected
    found = {}
    for name, sensitive in schema.sensitive.items():
        secret, known = set[str](), set[str]()
        for column in sensitive.columns:
            if column not in schema.quasi or column not in hierarchies:
                continue
            tree = hierarchies[column]
            leaves = [tree.labels[node] for node in tree.leaf_nodes.tolist()]
            rule = sensitive.protect
            covered = {*leaves} - {MISSING} if rule == "all" else {*rule.of(leaves)}
            is_open = tree.is_leaf & np.array([label not in covered for label in tree.labels])
            n_open = np.concatenate([[0], np.cumsum(is_open)])
            present = [tree.node(label) for label in protected[name] if label in tree]
            above = {node for each in present for node in tree.ancestors(each)[1:-1]}
            for node in above:
                is_secret = n_open[tree.subtree_end[node]] == n_open[node]
                (secret if is_secret else known).add(tree.labels[node])
        found[name] = protected[name] | (secret - known)
    return found


_SEVERITY: dict[str, Severity] = {"error": "error", "warning": "warning", "info": "note"}


def bind(
    frame: pl.DataFrame,
    schema: Schema,
    labels: dict[str, list[str]],
    rows: RowNumbers,
    problems: list[Problem],
) -> dict[str, Hierarchy]:
    """Build the hierarchy of every column in `labels` that has one; what does not fit becomes a problem."""
    bound = {}
    for column, known in labels.items():
        source = _source(schema, column)
        if source is None:
            continue
        tree = (
            _bind_released(source, column, known, problems)
            if schema.released
            else _bind_values(source, frame[column], known, rows, schema.alike, problems)
        )
        if tree is None:
            continue
        bound[column] = tree
        if column in schema.quasi:
            problems += [Problem(line, column) for line in check_limits(schema.quasi[column], column, tree)]
    return bound


def _source(schema: Schema, column: str) -> Hierarchy | HierarchyBuilder | None:
    if schema.symbol is not None and schema.symbol.column == column:
        return schema.symbol.hierarchy
    return schema.quasi[column].hierarchy if column in schema.quasi else None


def _bind_values(
    source: Hierarchy | HierarchyBuilder,
    text: pl.Series,
    labels: list[str],
    rows: RowNumbers,
    alike: Alike | None,
    problems: list[Problem],
) -> Hierarchy | None:
    column = text.name
    counts = text.alias("value").value_counts(name="rows")
    # Quantiles learn from how often a value occurs; label order keeps what they learn repeatable.
    often = dict(counts.iter_rows())
    values = {label: often[label] for label in labels if label in often and label != ROOT}
    findings = lint(source, values, column)
    problems += [_problem(finding, text, rows, alike) for finding in findings]
    if any(finding.severity == "error" for finding in findings):
        return None
    try:
        return source.build(values, column=column, missing=text.null_count() > 0 or MISSING in values)
    except HierarchyError as error:
        problems += [Problem(line, column) for line in error.lines]
        return None


def _problem(finding: Finding, text: pl.Series, rows: RowNumbers, alike: Alike | None) -> Problem:
    """Turn a finding into a problem, with the rows where it is about values of the data."""
    severity = _SEVERITY[finding.severity]
    if finding.kind == ALIKE:
        severity = severity if alike is None else "error" if alike == "refuse" else "note"
        return Problem(str(finding), text.name, severity=severity, alike=True)
    if finding.severity != "error" or finding.rows or not finding.labels:
        return Problem(str(finding), text.name, severity=severity)
    where = text.is_in(list(finding.labels)).fill_null(value=False).to_numpy()
    places = np.sort(rows[where])
    return Problem(
        str(finding), text.name, len(places), tuple(places[:SHOWN_ROWS].tolist()), severity=severity
    )


def _bind_released(
    source: Hierarchy | HierarchyBuilder, column: str, labels: list[str], problems: list[Problem]
) -> Hierarchy | None:
    """Return the tree as it is: released values may be any of its nodes, and nothing is learned from them."""
    if not isinstance(source, Hierarchy):
        return None
    unknown = [label for label in labels if label not in source]
    if unknown:
        what = (
            f"column {quoted(column)}: released values that are no nodes of the hierarchy: {listed(unknown)}"
        )
        problems.append(Problem(what, column))
    return source


def check_limits(quasi: Quasi, column: str, tree: Hierarchy) -> list[str]:
    """List what a quasi-identifier asks for that its hierarchy does not have.

    Examples
    --------
    >>> from sequester.data.schema import Quasi
    >>> tree = Hierarchy.from_paths([["56001", "56***"], ["56002", "56***"]])
    >>> for line in check_limits(Quasi(tree, max_level=9, never_suppress=("1",)), "ZIP", tree):
    ...     print(line)
    quasi.ZIP.max_level must be at most 2, got 9
    quasi.ZIP.never_suppress names values without a leaf: '1'
    """
    lines = []
    if quasi.max_level is not None and quasi.max_level > tree.height:
        lines.append(f"quasi.{column}.max_level must be at most {tree.height}, got {quasi.max_level}")
    unknown = [
        value for value in quasi.never_suppress if value not in tree or not tree.is_leaf[tree.node(value)]
    ]
    if unknown:
        line = f"quasi.{column}.never_suppress names values without a leaf: {listed(unknown)}"
        like = match_alike(unknown, (tree.labels[node] for node in tree.leaf_nodes))
        lines.append(line + (f"; did you mean {listed([leaf for _, leaf in like])}?" if like else ""))
    return lines


def settle_cells(
    source: pl.DataFrame, schema: Schema, problems: list[Problem], others: Sequence[str] = ()
) -> tuple[pl.DataFrame, Schema]:
    """Return the table with its new names and without markers, and the schema, which then has neither.

    `others` are the columns of a table of persons, for which markers may be named as well.
    """
    columns = [schema.rename.get(name, name) for name in source.columns]
    lines = [
        f"rename: the table has no column {quoted(old)}{nearest_name(old, source.columns)}"
        for old in schema.rename
        if old not in source.columns
    ]
    twice = [name for name, count in Counter(columns).items() if count > 1 and schema.rename]
    lines += [f"rename: several columns would be called {quoted(name)}" for name in twice]
    named = schema.missing if isinstance(schema.missing, Mapping) else {}
    lines += [
        f"missing: the table has no column {quoted(name)}{nearest_name(name, columns)}"
        for name in named
        if name not in (*columns, *others)
    ]
    if lines:
        raise SchemaError(*lines)
    if schema.rename:
        refuse_patterns(columns)
        source = source.rename(dict(schema.rename))
    if not schema.rename and not schema.missing:
        return source, schema
    frame = without_markers(source, schema.missing, problems, passed_over=schema.drop)
    return frame, replace(schema, rename={}, missing=())


def without_markers(
    frame: pl.DataFrame,
    missing: Sequence[str] | Mapping[str, Sequence[str]],
    problems: list[Problem],
    passed_over: Sequence[str] = (),
) -> pl.DataFrame:
    """Return the table with a gap for every cell that stands for a missing value; each kind is noted."""
    emptied = []
    for column, dtype in frame.schema.items():
        markers = missing.get(column, ()) if isinstance(missing, Mapping) else missing
        if not markers or column in passed_over or not is_plain(dtype):
            continue
        values, is_gap, unseen = frame[column], np.zeros(frame.height, np.bool_), dict.fromkeys(markers)
        for marker, where in find_markers(values, markers):
            unseen.pop(marker)
            is_gap |= where
            what = f"column {quoted(column)}: {quoted(marker)} is taken as missing"
            problems.append(Problem.at(what, column, where, severity="note"))
        if isinstance(missing, Mapping):
            problems += [
                Problem(f"missing.{column}: {quoted(each)} does not occur", column, severity="warning")
                for each in unseen
            ]
        if is_gap.any():
            emptied.append(values.set(pl.Series(is_gap), None))
    return frame.with_columns(emptied)


def find_markers(values: pl.Series, markers: Iterable[str]) -> Iterator[tuple[str, Mask]]:
    """Return the markers that occur, each with its cells; blanks around a cell do not count.

    Examples
    --------
    >>> [(marker, where.tolist()) for marker, where in find_markers(pl.Series(["7", " ?", "NA"]), ["?", "-"])]
    [('?', [False, True, False])]
    >>> [marker for marker, _ in find_markers(pl.Series([1.5, 9999.0]), ["9999", "?"])]
    ['9999']
    """
    is_numeric = values.dtype.is_numeric()
    cells = values if is_numeric else values.cast(pl.String).str.strip_chars()
    for marker in dict.fromkeys(markers):
        if is_numeric and not is_number(pl.Series([marker])).item():
            continue
        where = (cells == (float(marker) if is_numeric else marker)).fill_null(value=False)
        if where.any():
            yield marker, where.to_numpy()
