"""A table of persons beside their events: one row each, matched by the person's key."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.alike import canonical_labels, settle_keys
from sequester.data.problems import Problem
from sequester.data.schema import ROW, Schema
from sequester.data.text import as_polars, as_text
from sequester.errors import SchemaError
from sequester.hierarchies.labels import counted, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester._typing import Mask, RowNumbers
    from sequester.data.schema import Protect, Quasi, Sensitive
    from sequester.hierarchies.builder import HierarchyBuilder
    from sequester.hierarchies.hierarchy import Hierarchy

LEFT_OUT = "; dropped"
"""How a problem ends whose rows were left out."""
_DENSE = 8
"""Numbers per key among which keys are looked up."""
DROPPED = (LEFT_OUT, '; invalid = "drop" leaves such rows out')
"""How the same problem ends as a warning, and as an error."""
_FIRST_ROW = (
    "; the first row of each person counts",
    '; invalid = "drop" takes the first row of each person',
)
"""The same, where rows were left out, and their persons were not."""


@dataclass(frozen=True, slots=True, init=False)
class Persons:
    """What is known of persons apart from their events, such as sex and birth year, and what it means.

    A person's attributes are an event before all others that holds only these items. What an adversary knows
    may mix them with items of events. In that event the columns of events hold nothing, and in all other
    events the columns of persons hold nothing; nothing is no value, not even a missing or suppressed one, and
    so it is not known.

    Parameters
    ----------
    frame
        One row per person; None: the columns are in the table of events, and never change within a person.
    person
        The column of person keys; by default it has the name that it has in the events.
    quasi, sensitive, keep, drop
        The roles of all other columns, as in `Schema`.

    Examples
    --------
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> frame = pl.DataFrame({"PID": [1, 2], "Sex": ["f", "m"], "name": ["Ann", "Bob"]})
    >>> Persons(frame, quasi={"Sex": Hierarchy.flat()}, drop=["name"]).schema.attributes
    ('Sex',)
    """

    frame: pl.DataFrame | None
    """One row per person; None where the columns are in the table of events."""
    person: str | None
    """The column of person keys; None where it has the name that it has in the events."""
    schema: Schema
    """The roles of the other columns."""
    rows: RowNumbers | None = field(repr=False)
    """The row of the input that each row comes from, counted from 1; None where they are those of `frame`."""

    def __init__(
        self,
        frame: object = None,
        *,
        person: str | None = None,
        quasi: Mapping[str, Hierarchy | HierarchyBuilder | Quasi] | None = None,
        sensitive: Mapping[str, Sequence[str] | str | Mapping[str, Sequence[str]] | Protect | Sensitive]
        | None = None,
        keep: Sequence[str] = (),
        drop: Sequence[str] = (),
        rows: RowNumbers | None = None,
    ) -> None:
        schema = Schema(person=ROW, quasi=quasi, sensitive=sensitive, keep=keep, drop=drop)
        object.__setattr__(self, "frame", None if frame is None else as_polars(frame))
        object.__setattr__(self, "person", person)
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "rows", rows)

    def among(self, events: Schema) -> Schema:
        """Return the roles of the columns, the key among them, in a table read as the events are."""
        drop = (*self.schema.drop, self.person or events.person)
        return replace(self.schema, alike=events.alike, released=events.released, drop=drop)


def refuse_persons(problems: Sequence[Problem]) -> None:
    """Raise one error for all problems of a table of persons."""
    # Labels that look alike only stop those who publish the table.
    errors = [problem for problem in problems if problem.severity == "error" and not problem.alike]
    lines = [f"persons: {problem}" for problem in errors]
    if lines:
        raise SchemaError(*lines)


def split_constant(
    source: pl.DataFrame, schema: Schema, persons: Persons, problems: list[Problem]
) -> tuple[pl.DataFrame, Persons]:
    """Part the columns of persons from a table of events, in which they may not change within a person.

    Returns the events without them, and a table of persons with the first row of each.
    """
    own = persons.schema
    columns = [*own.attributes, *own.keep, *own.drop]
    missing = [column for column in columns if column not in source.columns]
    refuse_persons(
        [
            Problem(f"column {quoted(name)} is an attribute of persons, and the table has no such column")
            for name in missing
        ]
    )
    if schema.person not in source.columns:
        return source, persons
    key = as_text(source[schema.person]).alias("key")
    for column, changed in _find_changes(source, key, (*own.attributes, *own.keep)).items():
        what = f"column {quoted(column)} is an attribute of persons, and changes within a person"
        problems += invalid_rows(schema, what, column, changed.to_numpy(), ends=_FIRST_ROW)
    refuse_persons(problems)
    firsts = np.flatnonzero((key.is_first_distinct() & key.is_not_null()).to_numpy())
    given = {name: getattr(own, name) for name in ("quasi", "sensitive", "keep", "drop")}
    frame = source.select(schema.person, *columns)[firsts]
    return source.drop(columns), Persons(frame, person=schema.person, rows=firsts + 1, **given)


def read_persons(
    persons: Persons, schema: Schema, events: pl.DataFrame, problems: list[Problem]
) -> tuple[pl.DataFrame, pl.Series, RowNumbers]:
    """Return one row per person, their keys, and the row of the input that each is; or raise.

    `events` is the table of events as it was given. Whole numbers stay what they are, others become text.
    """
    frame, name = persons.frame, persons.person or schema.person
    if frame is None or schema.person == ROW:
        msg = 'persons: the table is matched by person keys, and person is "row"'
        raise SchemaError(msg)
    if name not in frame.columns:
        msg = f"persons: column {quoted(name)} is named as person, and the table has no such column"
        raise SchemaError(msg)
    released = {*persons.schema.attributes, *persons.schema.keep}
    found = [
        Problem(f"column {quoted(column)} is in the table of events, too: drop or rename one of them")
        for column in events.columns
        if column in released and column not in schema.drop
    ]
    found += _differing_kinds(events[schema.person], frame[name], name)
    rows = np.arange(1, frame.height + 1) if persons.rows is None else persons.rows
    key = frame[name] if frame[name].dtype.is_integer() else as_text(frame[name])
    if key.dtype == pl.String and not schema.released:
        key = settle_keys(pl.DataFrame({name: key}), Schema(person=name, alike=schema.alike), found)[name]
    is_gap = key.is_null().to_numpy()
    what = f"column {quoted(name)}: person is missing"
    found += invalid_rows(schema, what, name, is_gap, rows, ends=DROPPED)
    if not is_gap.any() and key.n_unique() == len(key):
        refuse_persons(found)
        problems += found
        return frame, key, rows
    is_first = (key.is_first_distinct() & key.is_not_null()).to_numpy()
    if not (is_first | is_gap).all():
        found += _find_repeats(frame, key, persons.schema, schema, name)
    refuse_persons(found)
    problems += found
    return frame.filter(is_first), key.filter(is_first), rows[is_first]


def places_of_keys(keys: pl.Series, persons: pl.Series) -> pl.Series:
    """Return the place among distinct `keys` of each of `persons`, which are text; null where there is none.

    Examples
    --------
    >>> places_of_keys(pl.Series([7, 5]), pl.Series(["5", "6"])).to_list()
    [1, None]
    """
    wanted = persons.cast(keys.dtype, strict=False) if keys.dtype.is_integer() else persons
    if keys.dtype.is_integer() and len(keys) and not wanted.null_count():
        low, span = int(keys.min()), int(keys.max()) - int(keys.min()) + 1  # type: ignore[arg-type]
        numbers = wanted.to_numpy().astype(np.int64) - low
        if span <= _DENSE * len(keys):
            # Keys that leave few numbers out are looked up, which is faster than a join.
            place_of = np.full(span + 1, -1, np.int64)
            place_of[keys.to_numpy().astype(np.int64) - low] = np.arange(len(keys))
            found = pl.Series("place", place_of[np.where((numbers >= 0) & (numbers < span), numbers, span)])
            return found.set(found < 0, None)
    places = pl.DataFrame({"key": keys, "place": np.arange(len(keys))})
    return pl.DataFrame({"key": wanted}).join(places, on="key", how="left", maintain_order="left")["place"]


def match_persons(
    keys: pl.Series, persons: pl.Series, places: pl.Series, schema: Schema, problems: list[Problem]
) -> pl.Series:
    """Return the places among `keys` of persons of the events, where they look alike: merged, or refused.

    `places` are those of persons whose key is the same, null for others.
    """
    if keys.dtype != pl.String or schema.alike == "keep" or schema.released:
        return places
    is_free = np.ones(len(keys), np.bool_)
    is_free[places.drop_nulls().to_numpy()] = False
    others = pl.DataFrame({"form": canonical_labels(keys.filter(is_free)), "place": np.flatnonzero(is_free)})
    lonely = persons.filter(places.is_null()).alias("person")
    found = (
        pl.DataFrame([lonely, canonical_labels(lonely).alias("form")])
        .join(others.unique("form", keep="first"), on="form", maintain_order="left")
        .unique("place", keep="first", maintain_order=True)
    )
    if not found.height:
        return places
    first, place = found["person"][0], found["place"][0]
    number = counted(found.height, "person looks", "persons look")
    what = (
        f"column {quoted(schema.person)}: {number} like one of the table of persons, {quoted(first)} like "
        f"{quoted(keys[place])}"
    )
    if schema.alike != "merge":
        problems.append(Problem(f'{what}; say alike = "merge" or alike = "keep"', schema.person))
        return places
    problems.append(Problem(f"{what}; merged", schema.person, severity="note", alike=True))
    merged = pl.DataFrame([persons.alias("person")]).join(
        found, on="person", how="left", maintain_order="left"
    )
    return places.fill_null(merged["place"])


def invalid_rows(
    schema: Schema,
    what: str,
    column: str,
    where: Mask,
    rows: RowNumbers | None = None,
    ends: tuple[str, str] = (LEFT_OUT, ""),
) -> list[Problem]:
    """Return the problem of rows that `invalid` decides about, if there are any.

    It is a warning where they are left out, and otherwise an error; each has its own end.
    """
    if not where.any():
        return []
    if schema.invalid == "drop":
        return [Problem.at(f"{what}{ends[0]}", column, where, rows, severity="warning")]
    return [Problem.at(f"{what}{ends[1]}", column, where, rows)]


def _differing_kinds(in_events: pl.Series, in_persons: pl.Series, name: str) -> list[Problem]:
    """Find keys that are numbers in one table and text in the other."""
    kinds = ["a number" if each.dtype.is_numeric() else "text" for each in (in_events, in_persons)]
    if kinds[0] == kinds[1]:
        return []
    what = (
        f"column {quoted(name)} is {kinds[1]}, and in the events the person is {kinds[0]}: '00501' and '501' "
        "are not the same person, so write both as text or both as numbers"
    )
    return [Problem(what, name)]


def _find_changes(frame: pl.DataFrame, key: pl.Series, columns: Sequence[str]) -> dict[str, pl.Series]:
    """Return the columns that change within a person, and mark rows unlike the first one of their person."""
    rows = pl.DataFrame({"key": key}).with_row_index("row")
    first = rows.select(pl.col("row").first().over("key")).to_series()
    texts = [as_text(frame[name]) for name in columns]
    changed = {text.name: text.ne_missing(text.gather(first)) & key.is_not_null() for text in texts}
    return {name: where for name, where in changed.items() if where.any()}


def _find_repeats(
    frame: pl.DataFrame, key: pl.Series, own: Schema, schema: Schema, name: str
) -> list[Problem]:
    """Find persons with several rows, apart by whether these are alike."""
    moved = _find_changes(frame, key, (*own.attributes, *own.keep))
    several = f"column {quoted(name)}: a person has several rows"
    is_repeated = key.is_duplicated() & key.is_not_null()
    changing = pl.concat([key.filter(where) for where in moved.values()]) if moved else key.clear()
    changes = is_repeated & key.is_in(changing.implode())
    what = f"{several}, and {listed(list(moved))} changes between them"
    return [
        *invalid_rows(schema, what, name, changes.to_numpy(), ends=_FIRST_ROW),
        *invalid_rows(
            schema, f"{several}, which are alike", name, (is_repeated & ~changes).to_numpy(), ends=_FIRST_ROW
        ),
    ]
