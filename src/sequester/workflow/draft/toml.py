"""Write a draft as a configuration: TOML, with the reason of every choice as a comment."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sequester.data.schema import ALL, ROW
from sequester.io.database import locate
from sequester.workflow.draft.columns import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sequester.io.database import Database
    from sequester.workflow.draft.attributes import RegionProposal
    from sequester.workflow.draft.draft import Draft
    from sequester.workflow.draft.roles import SensitiveCandidate
    from sequester.workflow.settings import HierarchySettings

_BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class DataFile:
    """The data, as the configuration names it."""

    path: str
    """Relative to the configuration; empty for the persons of a folder of clinical data."""
    format: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    tables: tuple[str, ...] = ()
    """Tables of an OMOP folder that become events."""
    query: str | None = None
    table: str | None = None

    def locate(self) -> Path | Database:
        """Return where the data is; a path is relative to the current folder."""
        return locate(self.path, Path(), query=self.query, table=self.table)


def to_toml(draft: Draft, data: DataFile, persons: DataFile | None = None) -> str:
    """Write the configuration."""
    return "\n".join(
        [
            *_head(draft, data),
            *_data(draft, data),
            *_what(draft),
            *_sensitive(draft),
            *_persons(draft, persons),
            *_method(draft),
            "",
        ]
    )


def text(value: str) -> str:
    r"""Write a text as TOML does, letters that cannot be seen as escapes.

    Examples
    --------
    >>> print(text('date "of" birth\n'), text("C:\\data"), text("\x7f"))
    "date \"of\" birth\n" "C:\\data" "\U0000007f"
    """
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in quoted)


def key(name: str) -> str:
    """Write a name as a key of TOML: bare where it may be.

    Examples
    --------
    >>> key("ZIP"), key("a.b"), key("größe"), key("")
    ('ZIP', '"a.b"', '"größe"', '""')
    """
    return name if _BARE.fullmatch(name) else text(name)


def comment(line: str) -> str:
    r"""Write a line as a comment that no letter in it can end.

    Examples
    --------
    >>> comment("a\nb = 1")
    '# a\\nb = 1'
    """
    return "# " + "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in line
    )


def _value(value: object) -> str:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return _table(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return str(value)


def _hierarchy(settings: HierarchySettings) -> str:
    return f"hierarchy = {_table(settings.model_dump(exclude_unset=True))}"


def _table(given: Mapping[str, object]) -> str:
    return "{ " + ", ".join(f"{key(name)} = {_value(value)}" for name, value in given.items()) + " }"


def _head(draft: Draft, data: DataFile) -> Iterator[str]:
    looked = (
        f"the first {SAMPLE:,} of its {draft.n_rows:,} rows; counts are of all"
        if draft.n_rows > SAMPLE
        else f"its {draft.n_rows:,} rows"
    )
    yield comment(f"Drafted by sequester init for {data.path} from {looked}.")
    yield comment(
        "Every line is a guess with its reason above or beside it. Read them all: a wrong role can expose"
    )
    yield comment(
        "people. `sequester inspect` lists problems of the data and its re-identification risk today."
    )
    for doubt in draft.doubts:
        yield comment(f"LOOK: {doubt}")
    yield ""


def _data(draft: Draft, data: DataFile) -> Iterator[str]:
    yield "[data]"
    yield f"path = {text(data.path)}"
    for name in ("query", "table", "format", "delimiter", "encoding"):
        value = getattr(data, name)
        if value is not None:
            yield f"{name} = {text(value)}"
    if data.tables:
        yield comment("tables with rows: each becomes events, so keep those that the recipient needs")
        yield f"tables = {_value(data.tables)}"
    yield comment(f"who: {draft.person.why}")
    yield f"person = {text(draft.person.column)}"
    if draft.when is not None:
        yield comment(f"when: {draft.when.why}")
        name = "time" if draft.when.is_time else "order"
        columns = draft.when.columns
        yield f"{name} = {text(columns[0]) if len(columns) == 1 else _value(list(columns))}"
        if draft.when.time_format is not None:
            yield f"time_format = {text(draft.when.time_format)}"
    if draft.tie is not None:
        yield comment(draft.tie.why)
        yield f"tie = {text(draft.tie.column)}"
    if draft.trip is not None:
        yield comment(f"trips: {draft.trip.why}")
        yield f"trip = {text(draft.trip.column)}"
    if draft.missing:
        yield comment("missing: cells that say so; blanks around them do not count")
        yield f"missing = {_value(draft.missing)}"
    if draft.invalid:
        yield comment(f'{" and ".join(draft.invalid)}: left out; "refuse" would stop instead')
        yield 'invalid = "drop"'
    if draft.alike:
        yield from map(comment, draft.alike)
        yield (
            'alike = "keep"  # a zero more makes another code; "merge" takes them for one'
            if draft.has_codes_alike
            else '# alike = "merge"  # takes labels that look alike for one, "keep" for several'
        )
    if draft.drop:
        yield comment("never released: identifiers, keys, and what says nothing")
        yield "drop = ["
        width = min(max(len(text(each.column)) for each in draft.drop), 40)
        for each in draft.drop:
            yield f"    {text(each.column) + ',':<{width + 1}}  {comment(each.why)}"
        yield "]"
    yield ""


def _what(draft: Draft) -> Iterator[str]:
    if draft.symbol is not None:
        yield comment(f"what: {draft.symbol.why}")
        yield "[data.symbol]"
        yield f"column = {text(draft.symbol.column)}"
        if draft.person.column == ALL:
            yield comment(
                "methods for one log make symbols vaguer; a tree of them would keep more than this:"
            )
            yield comment("`sequester hierarchy build` writes a file to edit and to name here")
            yield 'hierarchy = { kind = "flat" }'
        yield ""
        return
    if draft.place is not None:
        yield from _place(draft.place)
    if draft.quasi:
        yield comment("What an adversary may know of an event, and how it may be made vaguer.")
        yield ""
    for each in draft.quasi:
        yield comment(each.why)
        yield f"[data.quasi.{key(each.column)}]"
        yield _hierarchy(each.hierarchy)
        yield ""
    if draft.released_time is not None and draft.when is not None:
        order = "" if draft.person.column == ROW else ", only the order of events"
        yield comment(f"The time itself is not released{order}. To release it, coarsened:")
        yield f"#[data.quasi.{key(draft.when.columns[0])}]"
        yield f"#{_hierarchy(draft.released_time)}"
        yield ""


def _place(place: RegionProposal) -> Iterator[str]:
    yield comment(
        "where: coordinates that become the regions many cross, because nobody else was at the same"
    )
    yield comment(f"metre; {place.why}")
    yield "[data.place]"
    yield f"lat = {text(place.lat)}"
    yield f"lon = {text(place.lon)}"
    yield f"regions = {_table(place.regions.model_dump(exclude_unset=True))}"
    yield ""


def _sensitive(draft: Draft) -> Iterator[str]:
    if draft.symbol is not None or (draft.place is not None and not draft.candidates):
        return
    for each in draft.sensitive:
        yield comment(
            f"sensitive: {each.why}. All values are protected; a list protects only those that matter."
        )
        yield from _attribute(each, "")
        yield ""
    if draft.sensitive:
        return
    yield comment("What must nobody learn about a person? You decide this: nothing is decided here.")
    yield comment(
        "Take the # off one of these, or write another, and list the values that matter. Then delete its"
    )
    yield comment(
        "columns from drop, and their [data.quasi] tables unless other values may be known to an adversary."
    )
    for each in draft.candidates:
        yield comment(each.why)
        yield from _attribute(each, "#")
    if not draft.candidates:
        yield "#[data.sensitive.COLUMN]"
        yield '#protect = "all"'
    yield ""


def _persons(draft: Draft, file: DataFile | None) -> Iterator[str]:
    found = draft.persons
    if found is None:
        return
    if file is None:
        names = ", ".join(each.column for each in found.quasi)
        yield comment(f"Never changes within a person, and so is an attribute of persons: {names}.")
        yield comment(
            "To protect it as one, take the # off, and delete the [data.quasi] table of the column."
        )
        mark = "#"
    else:
        yield comment("Who a person is: an event before all others, which an adversary may know as well.")
        mark = ""
    yield f"{mark}[data.persons]"
    if file is not None:
        if file.path:
            yield f"path = {text(file.path)}"
        for name in ("query", "table"):
            if getattr(file, name) is not None:
                yield f"{name} = {text(getattr(file, name))}"
        if found.person is not None and found.person != draft.person.column:
            yield f"person = {text(found.person)}"
        if found.drop:
            yield "drop = ["
            yield from (f"    {text(each.column)},  {comment(each.why)}" for each in found.drop)
            yield "]"
    yield mark
    for each in found.quasi:
        yield comment(each.why)
        yield f"{mark}[data.persons.quasi.{key(each.column)}]"
        yield f"{mark}{_hierarchy(each.hierarchy)}"
        yield mark
    for candidate in found.candidates:
        yield comment(f"may be sensitive: {candidate.why}")
        yield from _attribute(candidate, "#", "data.persons.sensitive")
    yield ""


def _attribute(candidate: SensitiveCandidate, mark: str, table: str = "data.sensitive") -> Iterator[str]:
    yield f"{mark}[{table}.{key(candidate.name)}]"
    if candidate.columns != (candidate.name,):
        yield f"{mark}columns = {_value(list(candidate.columns))}"
    example = f"  # or only some: {_value(list(candidate.values))}" if candidate.values else ""
    yield f'{mark}protect = "all"{_in_comment(example)}'


def _in_comment(line: str) -> str:
    return comment(line)[2:] if line else line


def _method(draft: Draft) -> Iterator[str]:
    yield comment("How to protect it; `sequester advise` tries what fits.")
    is_log = draft.person.column == ALL
    name, *parameters = (
        _FOR_ONE_LOG if is_log else _FOR_SYMBOLS if draft.symbol or draft.place else _FOR_QUASI
    )
    if is_log:
        yield comment("One person cannot be hidden among others, but patterns can: name yours.")
    yield "#[method]"
    yield f"#name = {text(name)}"
    yield from (f"#{parameter}" for parameter in parameters)
    yield ""
    yield "[release]"
    yield 'path = "out"'


_FOR_SYMBOLS = ("p2ka", "k = 10")
_FOR_ONE_LOG = ("top-down", 'patterns = [["first", "then"]]', "window = 10", "max_leakage = 0.5")
_FOR_QUASI = ("halt", "k = 5", "c = 0.5", "p = 2")
