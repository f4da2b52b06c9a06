"""Prepare a frame: check, sort and complete its events, and report all problems at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.alike import settle_attributes, settle_keys
from sequester.data.ordering import (
    Grouping,
    derive_columns,
    find_repeats,
    group_persons,
    order_keys,
    sort_events,
    warn_of_text_order,
)
from sequester.data.persons import LEFT_OUT, invalid_rows
from sequester.data.places import REGION, Gap
from sequester.data.problems import Problem, ReadSummary
from sequester.data.roles import bind, check_labels, check_roles, find_protected, refuse_patterns, roles_of
from sequester.data.schema import ALL, ROW, Quasi, Schema, Symbol
from sequester.data.text import as_labels, as_text, distinct_labels, is_plain
from sequester.data.times import clock_ahead, read_times
from sequester.data.trajectories import (
    SortedEvents,
    find_jumps,
    into_regions,
    read_coordinates,
    split_by_column,
    split_by_gap,
)
from sequester.errors import ParameterError, SchemaError
from sequester.hierarchies.labels import quoted

if TYPE_CHECKING:
    from sequester._typing import Mask, RowNumbers
    from sequester.data.places import Regions


def prepare(source: pl.DataFrame, schema: Schema) -> dict[str, object]:
    """Return the fields of the table of `source`, its events checked, sorted and completed.

    All errors come in one report.
    """
    refuse_patterns([*source.columns, *schema.derive, *schema.sensitive])
    problems = [*check_roles(schema, source.columns), *_check_types(source, schema)]
    frame, keys, everybody = _read_rows(source, schema, problems)
    if "when" in keys.columns and schema.time_format is not None and len(schema.time_columns) == 1:
        # What time_format reads is written as ISO where it is released, so that people and dates can read it.
        iso = as_text(keys["when"].dt.replace_time_zone(None))
        frame = frame.with_columns(iso.alias(schema.time_columns[0]))
    events = _sort(source, frame, keys, schema, problems)
    regions, n_points, n_outside = None, len(events.rows), 0
    if schema.trip is not None or schema.place is not None:
        if _is_refused(problems):
            raise _refusal(problems)
        events, n_dropped = _split(events, schema, problems)
        n_points -= n_dropped
        events, regions, schema, n_outside = _into_regions(events, schema, problems)
    frame, rows, persons = events.frame, events.rows, events.persons
    times = None if schema.time is None else events.keys.get_column("when", default=None)
    frame = frame.with_columns(derive_columns(schema, events.offsets, times, taken=frame.columns))

    # Derived columns come last.
    names = (*(name for name in schema.attributes if name not in schema.derive), *schema.derive)
    attributes = [name for name in names if name in frame.columns]
    frame = frame.with_columns(as_labels(frame[column]).alias(column) for column in attributes)
    labels = {column: distinct_labels(frame[column]) for column in attributes}
    frame, schema, labels = settle_attributes(frame, schema, labels, rows, problems)
    check_labels(frame, labels, schema, rows, problems)
    protected = find_protected(schema, labels, problems)
    hierarchies = bind(frame, schema, labels, rows, problems)
    if _is_refused(problems):
        raise _refusal(problems)
    if schema.person_column is not None and frame[schema.person].dtype != pl.String:
        owners = np.repeat(np.arange(len(persons)), np.diff(events.offsets))
        frame = frame.with_columns(persons.gather(owners).alias(schema.person))
    return {
        "schema": schema,
        "frame": frame,
        "rows": rows,
        "persons": persons,
        "person_offsets": events.offsets,
        "times": times,
        "labels": labels,
        "hierarchies": hierarchies,
        "protected": protected,
        "owners": events.owners,
        "regions": regions,
        "reading": _reading(source.height, everybody, events, n_points, n_outside, problems),
        "problems": tuple(problems),
    }


def _read_rows(
    source: pl.DataFrame, schema: Schema, problems: list[Problem]
) -> tuple[pl.DataFrame, pl.DataFrame, pl.Series | None]:
    """Read persons, times and places, and drop rows that lack one if the schema says so.

    Returns the rows that can be used, in the order of the input, and their keys: the number in the input
    (``row``, from 1) and, where they can be read, the ``person``, the order or time (``when``), and how far
    the clock is ``ahead`` of UTC. Also returns the persons of all rows.
    """
    # Series by series: as an expression, a column of the name * would mean others as well.
    plain = [column for column, dtype in source.schema.items() if is_plain(dtype)]
    frame = pl.DataFrame({column: source[column] for column in plain if column not in schema.drop}).rechunk()
    dtype = pl.Int32 if frame.height <= np.iinfo(np.int32).max else pl.Int64
    frame = settle_keys(frame, schema, problems)
    person, when = _read_person(frame, schema, problems), _read_when(frame, schema, problems)
    read = {"person": person, "when": when, "ahead": _read_clock(frame, schema, when, problems)}
    if schema.tie is not None and schema.tie in frame.columns:
        problems += warn_of_text_order(_gaps_as_null(frame[schema.tie]))
    frame, has_place = _read_place(frame, schema, problems)
    numbers = pl.int_range(1, frame.height + 1, dtype=dtype, eager=True)
    keys = pl.DataFrame({"row": numbers, **{name: each for name, each in read.items() if each is not None}})
    if schema.invalid == "drop":
        valid = _is_complete(keys) & pl.Series(has_place)
        if not valid.all():
            frame, keys = frame.filter(valid), keys.filter(valid)
            if not keys.height:
                place = "" if schema.place is None else " and a place"
                problems.append(Problem(f"no row has both a person and a readable time{place}"))
    return frame, keys, person


def _is_complete(keys: pl.DataFrame) -> pl.Series:
    """Mark the rows that have all keys."""
    return keys.select(pl.all_horizontal(pl.all().is_not_null())).to_series()


def _sort(
    source: pl.DataFrame, frame: pl.DataFrame, keys: pl.DataFrame, schema: Schema, problems: list[Problem]
) -> SortedEvents:
    """Sort the events by person and time; where some rows lack one, which is a problem, nothing is sorted."""
    if "person" not in keys.columns or ("when" not in keys.columns and schema.person not in (ROW, ALL)):
        return _unsorted(frame, keys)
    valid = _is_complete(keys)
    if not valid.all():
        _, sorted_keys, grouping = _arrange(frame.filter(valid), keys.filter(valid), schema)
        problems += find_repeats(source, schema, sorted_keys, grouping.offsets)
        return _unsorted(frame, keys)
    frame, keys, grouping = _arrange(frame, keys, schema)
    problems += find_repeats(source, schema, keys, grouping.offsets)
    persons = grouping.persons.cast(pl.String)
    return SortedEvents(frame=frame, keys=keys, persons=persons, offsets=grouping.offsets)


def _unsorted(frame: pl.DataFrame, keys: pl.DataFrame) -> SortedEvents:
    """Return the events as those of nobody, so that other problems are found as well."""
    offsets = np.array([0, frame.height])
    return SortedEvents(frame=frame, keys=keys.select("row"), persons=pl.Series([""]), offsets=offsets)


def _is_refused(problems: list[Problem]) -> bool:
    """Return whether no table can be made; labels that look alike only stop those who publish it."""
    return any(problem.severity == "error" and not problem.alike for problem in problems)


def _refusal(problems: list[Problem]) -> SchemaError:
    """Return one error for all problems, with warnings and notes beside it."""
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


def _read_person(frame: pl.DataFrame, schema: Schema, problems: list[Problem]) -> pl.Series | None:
    """Return the person key of each row; None where the column cannot be read."""
    if schema.person == ROW:
        return pl.int_range(1, frame.height + 1, eager=True).cast(pl.String)
    if schema.person == ALL:
        return pl.repeat(ALL, frame.height, eager=True)
    if schema.person not in frame.columns:
        return None
    person = frame[schema.person]
    # Whole numbers are grouped as they are, which is faster, and written as text once per person.
    person = person if person.dtype.is_integer() else as_text(person)
    problems += _invalid(schema, schema.person, "person is missing", person.is_null().to_numpy())
    return person


def _read_when(frame: pl.DataFrame, schema: Schema, problems: list[Problem]) -> pl.Series | None:
    """Return the order or time of each row, null where it cannot be read; None without readable columns."""
    if schema.order is not None:
        if schema.order not in frame.columns:
            return None
        order = _gaps_as_null(frame[schema.order])
        problems += _invalid(schema, schema.order, "order is missing", order.is_null().to_numpy())
        problems += warn_of_text_order(order)
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
        f"not a time as in {schema.time_format}"
        if schema.time_format
        else "not an ISO 8601 time, and no time_format is given"
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
) -> pl.Series | None:
    """Return how far clocks are ahead of UTC; None without parts of the day, and without offsets."""
    if schema.place is None or not schema.place.parts or schema.time is None or when is None:
        return None
    try:
        ahead = clock_ahead([frame[column] for column in schema.time_columns], schema.time_format, when)
    except ParameterError as error:
        problems += [Problem(line) for line in error.lines]
        return None
    if ahead is not None and (ahead == 0).all():
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


def _split(events: SortedEvents, schema: Schema, problems: list[Problem]) -> tuple[SortedEvents, int]:
    """Split persons into trips, without impossible points; also counts those that were dropped."""
    n_before = len(events.rows)
    if isinstance(schema.trip, str):
        events = split_by_column(events, schema.trip)
    place = schema.place
    if place is not None and place.max_speed is not None and schema.time is not None:
        rule, where = find_jumps(events, place, place.max_speed)
        problems += _invalid(schema, " ".join(schema.time_columns), rule, where, events.rows)
        if schema.invalid == "refuse" and where.any():
            raise _refusal(problems)
        events = events.without(where)
    if isinstance(schema.trip, Gap):
        events = split_by_gap(events, schema.trip)
    return events, n_before - len(events.rows)


def _into_regions(
    events: SortedEvents, schema: Schema, problems: list[Problem]
) -> tuple[SortedEvents, Regions | None, Schema, int]:
    """Make regions of points, as the schema asks; they are its symbol then, or a quasi-identifier.

    Also counts points in no region.
    """
    if schema.place is None:
        return events, None, schema, 0
    events, regions, n_outside = into_regions(events, schema, schema.place, problems)
    names = events.frame[REGION]
    values = distinct_labels(names.drop_nulls())
    if not values or _is_refused(problems):
        raise _refusal([*problems, *([] if values else [Problem("no trajectory crosses a region")])])
    tree = regions.hierarchy(values, missing=names.null_count() > 0)
    if schema.quasi or schema.sensitive:
        schema = replace(schema, place=None, trip=None, quasi={**schema.quasi, REGION: Quasi(tree)})
    else:
        schema = replace(schema, place=None, trip=None, symbol=Symbol(REGION, tree))
    return events, regions, schema, n_outside


def _reading(
    n_rows: int,
    everybody: pl.Series | None,
    events: SortedEvents,
    n_points: int,
    n_outside: int,
    problems: list[Problem],
) -> ReadSummary:
    """Account for every row of the input: an event, a part of one, or left out."""
    n_events, n_inside = len(events.rows), n_points - n_outside
    n_persons = len(events.persons) if events.owners is None else int(events.owners.max(initial=-1)) + 1
    if n_inside == n_rows:
        everybody = None  # Who looks for persons that were left out finds none.
    return ReadSummary(
        rows=n_rows,
        dropped=n_rows - n_points,
        reasons={
            problem.what.removesuffix(LEFT_OUT): problem.count
            for problem in problems
            if problem.what.endswith(LEFT_OUT)
        },
        outside=n_outside,
        folded=max(n_inside - n_events, 0),
        crossed=max(n_events - n_inside, 0),
        persons_left_out=0 if everybody is None else everybody.drop_nulls().n_unique() - n_persons,
        events=n_events,
    )


def _gaps_as_null(values: pl.Series) -> pl.Series:
    values = values.fill_nan(None) if values.dtype.is_float() else values
    return as_text(values) if values.dtype == pl.String else values


def _invalid(
    schema: Schema, column: str, rule: str, where: Mask, rows: RowNumbers | None = None
) -> list[Problem]:
    return invalid_rows(schema, f"column {quoted(column)}: {rule}", column, where, rows)


def _arrange(
    frame: pl.DataFrame, keys: pl.DataFrame, schema: Schema
) -> tuple[pl.DataFrame, pl.DataFrame, Grouping]:
    """Group events by person and sort them; the keys then have a ``key`` that orders a person's events."""
    person, keys = keys["person"], keys.drop("person")
    if schema.person == ROW:
        return frame, keys, Grouping(person, np.arange(frame.height + 1, dtype=np.int64), None)
    grouping = group_persons(person)
    order = grouping.order
    if "when" in keys.columns:
        key = order_keys(keys["when"])
        keys = keys.with_columns(pl.Series("key", key))
        sorting = [key]
        if schema.tie is not None and schema.tie in frame.columns:
            tie = _gaps_as_null(frame[schema.tie])
            if tie.null_count() < frame.height:
                is_gap = tie.is_null().cast(pl.Int32).to_numpy()
                sorting += [is_gap, order_keys(tie.fill_null(tie.drop_nulls()[0]))]
        if order is not None:
            sorting = [each[order] for each in sorting]
        within = sort_events(grouping.offsets, sorting)
        if within is not None:
            order = within if order is None else order[within]
    if order is not None:
        frame, keys = frame[order], keys[order]
    return frame, keys, grouping
