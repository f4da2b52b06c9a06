"""From any frame to sorted, checked events; everything that is wrong is found before anything stops."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.binding import bind
from sequester.data.derive import count_events, derive
from sequester.data.ordering import Grouping, group_persons, odd_orders, order_keys, repeats, sort_events
from sequester.data.place import REGION, Gap
from sequester.data.problems import Problem, first_line
from sequester.data.roles import check_roles, refuse_patterns, roles_of
from sequester.data.schema import ROW, Quasi, Schema, Symbol
from sequester.data.text import as_text, distinct_labels, is_plain
from sequester.data.times import clock_ahead, read_times
from sequester.data.trajectories import (
    Events,
    find_impossible,
    into_regions,
    read_coordinates,
    split_by_column,
    split_by_gap,
)
from sequester.data.values import find_protected, read_labels
from sequester.errors import ParameterError, SchemaError
from sequester.hierarchies.labels import quoted

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Mask, Offsets
    from sequester.data.ordering import Keys
    from sequester.data.regions import Regions
    from sequester.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """The events of a frame, sorted, checked and completed."""

    schema: Schema
    frame: pl.DataFrame
    rows: Counts
    persons: pl.Series
    person_offsets: Offsets
    times: pl.Series | None
    labels: dict[str, list[str]]
    hierarchies: dict[str, Hierarchy]
    protected: dict[str, frozenset[str]]
    owners: Codes | None
    regions: Regions | None
    problems: tuple[Problem, ...]


def as_polars(frame: object) -> pl.DataFrame:
    """Take a polars frame as it is, and anything with an Arrow stream (pandas, pyarrow, duckdb) through it.

    Examples
    --------
    >>> import pandas
    >>> as_polars(pandas.DataFrame({"user": ["a"]}, index=[7])).columns
    ['user']
    """
    if isinstance(frame, pl.DataFrame):
        return frame
    if not hasattr(frame, "__arrow_c_stream__"):
        msg = f"a table must be a polars or pandas frame or have an Arrow stream, got {type(frame).__name__}"
        raise SchemaError(msg)
    try:
        taken = pl.DataFrame(frame)
    except Exception as error:  # noqa: BLE001 - whatever a foreign object raises, it is no table
        msg = f"the {type(frame).__name__} cannot be read as a table: {first_line(error)}"
        raise SchemaError(msg) from None
    # pandas hands over an index without a name as a column of this name.
    return taken.drop(pl.selectors.matches(r"^__index_level_\d+__$"))


def take_in(source: pl.DataFrame, schema: Schema) -> Intake:
    """Check, sort and complete the events of `source`; all errors come in one report."""
    refuse_patterns([*source.columns, *schema.derive, *schema.sensitive])
    problems = [*check_roles(schema, source.columns), *_check_types(source, schema)]
    # Series by series: as an expression, a column of the name * would mean others as well.
    plain = [column for column, dtype in source.schema.items() if is_plain(dtype)]
    frame = pl.DataFrame({column: source[column] for column in plain if column not in schema.drop}).rechunk()
    rows = np.arange(1, frame.height + 1, dtype=np.int64)
    person, when = _read_person(frame, schema, problems), _read_when(frame, schema, problems)
    ahead = _read_clock(frame, schema, when, problems)
    if schema.tie is not None and schema.tie in frame.columns:
        problems += _ordered_as_text(_gaps_as_null(frame[schema.tie]))
    frame, has_place = _read_place(frame, schema, problems)
    if schema.invalid == "drop":
        valid = _present(person, frame.height) & _present(when, frame.height) & has_place
        if not valid.all():
            frame, rows = frame.filter(valid), rows[valid]
            person = None if person is None else person.filter(valid)
            when = None if when is None else when.filter(valid)
            ahead = None if ahead is None else ahead[valid]
            if not len(rows):
                problems.append(Problem(f"no row has both a person and a readable time{_and_place(schema)}"))

    if when is not None and schema.time_format is not None and len(schema.time_columns) == 1:
        # What time_format reads is written as ISO where it is released, so that people and dates can read it.
        frame = frame.with_columns(as_text(when.dt.replace_time_zone(None)).alias(schema.time_columns[0]))
    attributes = [column for column in schema.attributes if column in frame.columns]
    frame = frame.with_columns(as_text(frame[column]).alias(column) for column in attributes)
    labels = read_labels(frame, attributes, schema, rows, problems)
    protected = find_protected(schema, labels, problems)
    hierarchies = bind(frame, schema, labels, rows, problems)

    can_sort = person is not None and not person.null_count()
    can_sort &= not when.null_count() if when is not None else schema.person == ROW
    if person is None or not can_sort:
        raise _refusal([*problems, *_repeats_among_valid(source, frame, schema, person, when)])
    grouping, order, key = _arrange(frame, schema, person, when)
    if order is not None:
        frame, rows, key = frame[order], rows[order], None if key is None else key[order]
        when = None if when is None else when.gather(order)
        ahead = None if ahead is None else ahead[order]
    if key is not None:
        problems += _look_for_repeats(source, schema, rows, grouping.offsets, key)
    events = Events(
        frame=frame,
        rows=rows,
        persons=grouping.persons.cast(pl.String),
        offsets=grouping.offsets,
        key=key,
        when=when,
        ahead=ahead,
    )
    regions = None
    if schema.trip is not None or schema.place is not None:
        if any(problem.severity == "error" for problem in problems):
            raise _refusal(problems)
        events, regions, tree = _follow(events, schema, problems)
        labels, hierarchies = {**labels}, {**hierarchies}
        if tree is not None:
            schema = _with_regions(schema, tree)
            labels |= read_labels(events.frame, [REGION], schema, events.rows, problems)
            labels = {name: labels[name] for name in schema.attributes if name in labels}
            hierarchies[REGION] = tree
    frame, rows, persons = events.frame, events.rows, events.persons
    if schema.person != ROW and frame[schema.person].dtype != pl.String:
        owners = np.repeat(np.arange(len(persons)), np.diff(events.offsets))
        frame = frame.with_columns(persons.gather(owners).alias(schema.person))
    times = None if schema.time is None else events.when

    new = _derive(schema, events.offsets, times, taken=frame.columns)
    frame = frame.with_columns(new)
    labels |= read_labels(frame, [each.name for each in new], schema, rows, problems)
    hierarchies |= bind(frame, schema, {each.name: labels[each.name] for each in new}, rows, problems)
    if any(problem.severity == "error" for problem in problems):
        raise _refusal(problems)
    return Intake(
        schema=schema,
        frame=frame,
        rows=rows,
        persons=persons,
        person_offsets=events.offsets,
        times=times,
        labels=labels,
        hierarchies=hierarchies,
        protected=protected,
        owners=events.owners,
        regions=regions,
        problems=tuple(problems),
    )


def _refusal(problems: list[Problem]) -> SchemaError:
    """Put everything that was found into one report: the errors, and beside them warnings and notes."""
    errors = [str(problem) for problem in problems if problem.severity == "error"]
    notes = [f"{problem.severity}: {problem}" for problem in problems if problem.severity != "error"]
    return SchemaError(*errors, notes=notes)


def _check_types(source: pl.DataFrame, schema: Schema) -> list[Problem]:
    kept = {*roles_of(schema)} - {*schema.drop}
    return [
        Problem(
            f"column {quoted(column)} holds {dtype}: one text, number, date or truth value is needed",
            column,
        )
        for column, dtype in source.schema.items()
        if column in kept and not is_plain(dtype)
    ]


def _present(series: pl.Series | None, height: int) -> Mask:
    return np.ones(height, np.bool_) if series is None else series.is_not_null().to_numpy()


def _read_person(frame: pl.DataFrame, schema: Schema, problems: list[Problem]) -> pl.Series | None:
    """Give the person key of each row; None where the column cannot be read."""
    if schema.person == ROW:
        return pl.int_range(1, frame.height + 1, eager=True).cast(pl.String)
    if schema.person not in frame.columns:
        return None
    person = frame[schema.person]
    # Whole numbers are grouped as they are, which is faster, and written as text once per person.
    person = person if person.dtype.is_integer() else as_text(person)
    problems += _invalid(schema, schema.person, "person is missing", person.is_null().to_numpy())
    return person


def _read_when(frame: pl.DataFrame, schema: Schema, problems: list[Problem]) -> pl.Series | None:
    """Give what says when each row was, null where it cannot be read; None without readable columns."""
    if schema.order is not None:
        if schema.order not in frame.columns:
            return None
        order = _gaps_as_null(frame[schema.order])
        problems += _invalid(schema, schema.order, "order is missing", order.is_null().to_numpy())
        problems += _ordered_as_text(order)
        return order
    columns = schema.time_columns
    if not columns or not {*columns} <= {*frame.columns}:
        return None
    try:
        times = read_times([frame[column] for column in columns], schema.time_format)
    except ParameterError as error:
        problems += [Problem(line) for line in error.lines]
        return None
    form = (
        f"no time as in {schema.time_format}"
        if schema.time_format
        else "no ISO 8601 time, and no time_format is given"
    )
    name = columns[0] if len(columns) == 1 else " ".join(columns)
    problems += _invalid(schema, name, "time is missing", times.missing)
    if times.unreadable.any():
        example = " ".join(str(frame[column][int(times.unreadable.argmax())]) for column in columns)
        problems += _invalid(schema, name, f"{quoted(example)} is {form}", times.unreadable)
    if times.mixed:
        what = (
            f"column {quoted(name)}: some times have an offset and others have none, which are taken as UTC"
        )
        problems.append(Problem(what, name, severity="warning"))
    return times.values


def _read_clock(
    frame: pl.DataFrame, schema: Schema, when: pl.Series | None, problems: list[Problem]
) -> Counts | None:
    """Give how far clocks are ahead of UTC where parts of the day are asked for and times have an offset."""
    if schema.place is None or not schema.place.parts or schema.time is None or when is None:
        return None
    try:
        ahead = clock_ahead([frame[column] for column in schema.time_columns], schema.time_format, when)
    except ParameterError as error:
        problems += [Problem(line) for line in error.lines]
        return None
    if ahead is not None and not ahead.any():
        name = " ".join(schema.time_columns)
        what = f"column {quoted(name)}: times are written in UTC, so place.time_of_day counts hours of UTC"
        problems.append(Problem(what, name, severity="note"))
    return ahead


def _read_place(frame: pl.DataFrame, schema: Schema, problems: list[Problem]) -> tuple[pl.DataFrame, Mask]:
    """Read coordinates and trips, where there are any; also marks the rows that have both."""
    has_place = np.ones(frame.height, np.bool_)
    if isinstance(schema.trip, str) and schema.trip in frame.columns:
        is_gap = as_text(frame[schema.trip]).is_null().to_numpy()
        problems += _invalid(schema, schema.trip, "trip is missing", is_gap)
        has_place &= ~is_gap
    place = schema.place
    if place is not None and {place.lat, place.lon} <= {*frame.columns}:
        degrees, wrong = read_coordinates(frame, place)
        for column, rule, where in wrong:
            problems += _invalid(schema, column, rule, where)
        frame = frame.with_columns(degrees)
        has_place &= ~degrees.select(pl.any_horizontal(pl.all().is_null())).to_series().to_numpy()
    return frame, has_place


def _follow(
    events: Events, schema: Schema, problems: list[Problem]
) -> tuple[Events, Regions | None, Hierarchy | None]:
    """Split persons into trips, and points into regions with their hierarchy, as the schema asks."""
    if isinstance(schema.trip, str):
        events = split_by_column(events, schema.trip)
    place = schema.place
    if place is not None:
        name = schema.order or " ".join(schema.time_columns)
        found = find_impossible(events, place, timed=schema.time is not None)
        for rule, where in found:
            problems += _invalid(schema, name, rule, where, events.rows)
        if found:
            if schema.invalid == "refuse":
                raise _refusal(problems)
            events = events.without(np.logical_or.reduce([where for _, where in found]))
    if isinstance(schema.trip, Gap):
        events = split_by_gap(events, schema.trip)
    if place is None:
        return events, None, None
    events, regions = into_regions(events, schema, place, problems)
    names = events.frame[REGION]
    values = distinct_labels(names.drop_nulls())
    if not values or any(problem.severity == "error" for problem in problems):
        raise _refusal([*problems, *([] if values else [Problem("no trajectory crosses a region")])])
    return events, regions, regions.hierarchy(values, missing=names.null_count() > 0)


def _with_regions(schema: Schema, tree: Hierarchy) -> Schema:
    """Give the roles of the table that points became: regions are its symbol, or a quasi-identifier."""
    is_symbol = not (schema.quasi or schema.sensitive)
    given = {each.name: getattr(schema, each.name) for each in fields(Schema)}
    given |= {"place": None, "trip": None}
    if is_symbol:
        return Schema(**given | {"symbol": Symbol(REGION, tree)})
    return Schema(**given | {"quasi": {**schema.quasi, REGION: Quasi(tree)}})


def _and_place(schema: Schema) -> str:
    return " and a place" if schema.place is not None else ""


def _gaps_as_null(values: pl.Series) -> pl.Series:
    values = values.fill_nan(None) if values.dtype.is_float() else values
    return as_text(values) if values.dtype == pl.String else values


def _ordered_as_text(values: pl.Series) -> list[Problem]:
    """Warn where a few cells turn the order of numbers into an order of texts for everybody."""
    odd = odd_orders(values)
    if odd is None:
        return []
    column, first = values.name, values[int(odd.argmax())]
    what = f"column {quoted(column)}: {quoted(first)} is no number, so all are ordered as text, 10 before 9"
    return [Problem.at(what, column, odd, severity="warning")]


def _invalid(
    schema: Schema, column: str, rule: str, where: Mask, rows: Counts | None = None
) -> list[Problem]:
    if not where.any():
        return []
    if schema.invalid == "drop":
        what = f"column {quoted(column)}: {rule}; dropped"
        return [Problem.at(what, column, where, rows, severity="warning")]
    return [Problem.at(f"column {quoted(column)}: {rule}", column, where, rows)]


def _arrange(
    frame: pl.DataFrame, schema: Schema, person: pl.Series, when: pl.Series | None
) -> tuple[Grouping, Counts | None, Keys | None]:
    """Bring persons together and sort their events: persons, order of rows, and the key of each row."""
    if schema.person == ROW or when is None:
        return Grouping(person, np.arange(frame.height + 1, dtype=np.int64), None), None, None
    grouping = group_persons(person)
    key = order_keys(when)
    keys = [key]
    if schema.tie is not None and schema.tie in frame.columns:
        tie = _gaps_as_null(frame[schema.tie])
        if tie.null_count() < frame.height:
            keys += [tie.is_null().cast(pl.Int32).to_numpy(), order_keys(tie.fill_null(tie.drop_nulls()[0]))]
    if grouping.order is not None:
        keys = [each[grouping.order] for each in keys]
    within = sort_events(grouping.offsets, keys)
    if grouping.order is None or within is None:
        return grouping, grouping.order if within is None else within, key
    return grouping, grouping.order[within], key


def _repeats_among_valid(
    source: pl.DataFrame,
    frame: pl.DataFrame,
    schema: Schema,
    person: pl.Series | None,
    when: pl.Series | None,
) -> list[Problem]:
    """Look for repeats among the rows that have a person and a time, where others have none."""
    valid = _present(person, frame.height) & _present(when, frame.height)
    if person is None or when is None or not valid.any():
        return []
    rows = np.flatnonzero(valid) + 1
    grouping, order, key = _arrange(frame.filter(valid), schema, person.filter(valid), when.filter(valid))
    if key is None:
        return []
    if order is not None:
        rows, key = rows[order], key[order]
    return _look_for_repeats(source, schema, rows, grouping.offsets, key)


def _look_for_repeats(
    source: pl.DataFrame, schema: Schema, rows: Counts, offsets: Offsets, key: Keys
) -> list[Problem]:
    """Count events of a person at the same time, and rows that are there twice."""
    again = repeats(offsets, key)
    if not again.any():
        return []
    shared = again.copy()
    shared[:-1] |= again[1:]
    name = schema.order or " ".join(schema.time_columns)
    by = f"the order of column {quoted(schema.tie)}, then " if schema.tie else ""
    what = f"column {quoted(name)}: events of a person at the same time stay in {by}file order"
    problems = [Problem.at(what, name, shared, rows, "note")]
    suspects = np.flatnonzero(shared)
    plain = pl.DataFrame({name: source[name] for name, dtype in source.schema.items() if is_plain(dtype)})
    frame = plain[rows[suspects] - 1]
    # Equal rows have equal hashes, and only those are compared in full.
    alike = frame.hash_rows().is_duplicated().to_numpy()
    if alike.any():
        first = frame.filter(alike).select(pl.struct(pl.all()).is_first_distinct()).to_series().to_numpy()
        twice = np.zeros(len(key), np.bool_)
        twice[suspects[alike][~first]] = True
        if twice.any():
            what = "rows that repeat an earlier row in every column"
            problems.append(Problem.at(what, None, twice, rows, "warning"))
    return problems


def _derive(
    schema: Schema, offsets: Offsets, times: pl.Series | None, *, taken: list[str]
) -> list[pl.Series]:
    new = []
    for name, kind in schema.derive.items():
        if name in taken or (times is None and kind != "event_count"):
            continue
        new.append((count_events(offsets) if times is None else derive(kind, offsets, times)).alias(name))
    return new
