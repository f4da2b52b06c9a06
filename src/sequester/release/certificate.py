"""The certificate of a release: the claim with the roles of columns, the verdict, and hashes of files."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, cast

from pydantic import Field

from sequester._version import __version__
from sequester.data.places import REGION
from sequester.data.schema import Protect, Schema, Sensitive
from sequester.data.table import EventTable
from sequester.errors import InputError, InternalError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.privacy import MODELS
from sequester.privacy.l_diversity import COUNT, GROUP, TIME
from sequester.privacy.model import RecordModel
from sequester.release.fields import (
    Count,
    Number,
    Table,
    field_line,
    plain_table,
    plain_value,
    read_document,
    read_fields,
    safe_repr,
)
from sequester.release.files import first_of_each, unsafe_path_reason
from sequester.release.release import EVENTS, ORDER, PERSON, PERSONS, About, SeriesLink, released_table
from sequester.utility.score import Score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from sequester.release.release import Release


FORMAT = 1
"""The shape of the certificate; a higher number is one that this version cannot read."""
CERTIFICATE = "certificate.json"
"""The certificate's name in the release folder."""
HASH = "sha256:"
"""What every hash starts with."""
SOFTWARE = "sequester"
"""The name of this program in certificates."""
PUBLIC_MEASURE = "information_loss"
"""The only measure that compares with the original and is published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A claim about the files beside it; nothing in it singles anybody out.

    Examples
    --------
    >>> certificate = Certificate(
    ...     method="p2ka",
    ...     parameters={"k": 2, "strict": True},
    ...     model="SequenceKAnonymity",
    ...     claim={"k": 2, "strict": True},
    ...     columns={"events": {"person": "technical", "order": "technical", "page": "symbol"}},
    ...     holds=True,
    ...     achieved={"k": 3},
    ...     persons=3,
    ...     events=4,
    ...     files={"events.csv": "sha256:" + 64 * "0"},
    ... )
    >>> Certificate.from_json(certificate.to_json()) == certificate
    True
    """

    software: str = SOFTWARE
    """Name of the program that made the release."""
    version: str = __version__
    """Version of that program."""
    method: str
    """The method's name on the command line."""
    parameters: Mapping[str, object]
    """The method's parameters that may be published."""
    model: str
    """The promise, by the name of its class."""
    claim: Mapping[str, object]
    """The parameters of the promise: all that a recipient needs to check it."""
    columns: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Table to its columns, in their order, and the role of each; empty in releases of older versions."""
    holds: bool
    """What the check of the released files said."""
    achieved: Mapping[str, float]
    """Parameter to the best value that holds in the released files."""
    persons: int | None
    """Persons in the released files; None where they hold records without persons."""
    events: int
    """Events in the released files."""
    utility: Mapping[str, Score] = field(default_factory=dict)
    """The information loss, rounded; no other measure against the original is public."""
    limits: tuple[str, ...] = ()
    """What is not promised, in plain words."""
    about: About = field(default_factory=About)
    """What the publisher says about the data; nobody can check it."""
    series: SeriesLink | None = None
    """Which part of a series it is; None where it is of no series."""
    files: Mapping[str, str]
    """Every other file of the folder and its hash."""

    @classmethod
    def of(cls, release: Release, files: Mapping[str, str]) -> Certificate:
        """Return the certificate of a release whose other files have the hashes `files`."""
        frame = release.frame
        return cls(
            method=release.method,
            parameters=plain_table(release.published_parameters),
            model=type(release.model).__name__,
            claim=plain_table(release.model.claim()),
            columns=column_roles(release),
            holds=bool(release.verdict.holds),
            achieved={name: _plain_number(value) for name, value in release.verdict.achieved.items()},
            persons=_count_persons(release),
            events=frame.height,
            utility={
                # The file has neither formula nor reference: `means` is what a recipient reads.
                name: replace(score, value=round(float(score.value), 2), formula="", reference="")
                for name, score in release.utility.items()
                if name == PUBLIC_MEASURE
            },
            limits=tuple(release.limits),
            about=release.about,
            series=release.link,
            files=dict(sorted(files.items())),
        )

    def part_files(self, table: str) -> list[str]:
        """Return the listed files in the folder of a table; none where the table is one file."""
        return sorted(name for name in self.files if name.startswith(f"{table}/"))

    def data_file(self, table: str) -> str:
        """Return what a table is called in messages: its Parquet file, or the folder of its parts."""
        return f"{table}/" if self.part_files(table) else f"{table}.parquet"

    def to_json(self) -> str:
        """Return the text of ``certificate.json``: the same for the same certificate."""
        document = {
            "format": FORMAT,
            "software": {"name": self.software, "version": self.version},
            "method": {"name": self.method, "parameters": self.parameters},
            "claim": {
                "model": self.model,
                "parameters": self.claim,
                **({"columns": self.columns} if self.columns else {}),
            },
            "verdict": {"holds": self.holds, "achieved": self.achieved},
            "counts": {
                **({} if self.persons is None else {"persons": self.persons}),
                "events": self.events,
            },
            "utility": {
                name: {
                    "value": score.value,
                    "goal": score.goal,
                    "bounds": list(score.bounds),
                    "means": score.means,
                }
                for name, score in self.utility.items()
            },
            "limits": list(self.limits),
            **({"about": self.about.to_json()} if self.about else {}),
            **({} if self.series is None else {"series": self.series.to_json()}),
            "files": self.files,
        }
        return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Certificate:
        """Return the certificate; raise by field where it is unreadable, incomplete or newer."""
        document = read_document(text, CERTIFICATE)
        if document.get("format", FORMAT) != FORMAT:
            must = f"must be {FORMAT}, the one that this version reads"
            _refuse("format", f"{must}, got {safe_repr(document['format'])}")
        read = read_fields(_Document, document, CERTIFICATE)
        # A promise about records is about no persons, and their number is internal.
        is_of_records = hasattr(MODELS.get(read.claim.model), "check_tables")
        _expect("counts.persons", read.counts.persons, needed=not is_of_records)
        link: _Link | None = read.series
        if link is not None:
            _expect("series.continues", link.continues, needed=link.part > 1)
        claimed = {column for columns in read.claim.columns.values() for column in columns}
        for column in read.about.columns:
            if column not in claimed:
                _refuse(f"about.columns.{column}", "must be a column that the claim names")
        for name in read.files:
            reason = "is the certificate itself" if name == CERTIFICATE else unsafe_path_reason(name)
            if reason is not None:
                _refuse("files", f"names {safe_repr(name)}, which {reason}")
        return cls(
            software=read.software.name,
            version=read.software.version,
            method=read.method.name,
            parameters=read.method.parameters,
            model=read.claim.model,
            claim=read.claim.parameters,
            columns=read.claim.columns,
            holds=read.verdict.holds,
            achieved=read.verdict.achieved,
            persons=read.counts.persons,
            events=read.counts.events,
            utility={name: Score(**dict(score)) for name, score in read.utility.items()},
            limits=read.limits,
            about=read.about,
            series=None if link is None else SeriesLink(link.part, link.continues or ""),
            files=read.files,
        )


Role = Literal[
    "quasi", "quasi+sensitive", "quasi+region", "sensitive", "keep", "symbol", "region", "technical"
]
"""What a released column can be."""


_ABSENT: Any = None
"""What a field that is not there becomes; no field may be null."""


class _Software(Table):
    name: str
    version: str


class _Method(Table):
    name: str
    parameters: dict[str, Any]


class _Claim(Table):
    model: str
    parameters: dict[str, Any]
    columns: dict[str, dict[str, Role]] = Field(default={})
    """Older releases have none; verify and open report it."""


class _Verdict(Table):
    holds: bool
    achieved: dict[str, Number]


class _Counts(Table):
    persons: Count = _ABSENT
    events: Count


class _Score(Table):
    value: Number
    goal: Literal["minimize", "maximize"]
    bounds: tuple[Number, Number | None]
    means: str


_Hash = Annotated[str, Field(pattern=f"^{HASH}[0-9a-f]{{64}}$")]


class _Link(Table):
    part: Annotated[int, Field(ge=1)]
    continues: _Hash = _ABSENT


class _Document(Table):
    """The fields of ``certificate.json``."""

    format: Count
    software: _Software
    method: _Method
    claim: _Claim
    verdict: _Verdict
    counts: _Counts
    utility: dict[str, _Score]
    limits: tuple[str, ...]
    about: About = About()
    series: _Link = _ABSENT
    files: dict[str, _Hash]


def _expect(field: str, value: object, *, needed: bool) -> None:
    """Refuse a field that is missing, or is there and has nothing to say."""
    if needed != (value is not None):
        _refuse(field, "is missing" if needed else "is not known to this version")


def _refuse(field: str, reason: str) -> NoReturn:
    raise InputError(field_line(CERTIFICATE, [field], reason))


def _count_persons(release: Release) -> int | None:
    """Return the persons of a release, of a part of a series with those who have nothing new in it."""
    if release.link is not None:
        return len(release.pseudonyms)
    frame = release.frame if release.persons is None else release.persons
    # The events of a person stand together in a release, which verification makes sure of.
    return len(first_of_each(frame[PERSON])) if PERSON in frame.columns else None


def _plain_number(value: object) -> float:
    plain = plain_value(value)
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        msg = f"achieved must be a number, got {value!r}"
        raise InternalError(msg)
    return plain


TECHNICAL, QUASI, SENSITIVE, KEEP, SYMBOL, AREA = (
    "technical",
    "quasi",
    "sensitive",
    "keep",
    "symbol",
    "region",
)
QUASI_SENSITIVE, QUASI_AREA = f"{QUASI}+{SENSITIVE}", f"{QUASI}+{AREA}"
QUASI_ROLES = (QUASI, QUASI_SENSITIVE, QUASI_AREA)
"""Roles of what an adversary may know."""
SENSITIVE_ROLES = (SENSITIVE, QUASI_SENSITIVE)
"""Roles of what must not be learned."""
REGION_ROLES = (AREA, QUASI_AREA)
"""Roles of places, whose outlines are released."""
NUMBERS = (ORDER, GROUP, COUNT)
"""Technical columns that hold whole numbers; every other released column holds text."""


def column_roles(release: Release) -> dict[str, dict[str, str]]:
    """Return the role of every released column, per table, in the order of the columns.

    A region may be the symbol (``region``) or one of several quasi-identifiers (``quasi+region``).
    """
    is_of_records = isinstance(release.model, RecordModel)
    technical = (TIME, GROUP, COUNT) if is_of_records else (PERSON, ORDER)
    # The main table of Anatomy has no sensitive column, and a stream releases leaves without hierarchies.

    def role_of(column: str, schema: Schema) -> str:
        sensitive = (getattr(release.model, "sensitive", ""),) if is_of_records else schema.sensitive_columns
        if column in technical:
            return TECHNICAL
        is_place = release.regions is not None and column == REGION
        if schema.symbol is not None and column == schema.symbol.column:
            return AREA if is_place else SYMBOL
        is_quasi = column in schema.quasi or (is_of_records and column not in sensitive)
        if is_quasi:
            return QUASI_SENSITIVE if column in sensitive else QUASI_AREA if is_place else QUASI
        if column in sensitive:
            return SENSITIVE
        if column in schema.keep:
            return KEEP
        msg = f"the release has a column {column!r} without a role"
        raise InternalError(msg)

    roles = {PERSONS: release.persons_schema}
    return {
        name: {column: role_of(column, roles.get(name) or release.schema) for column in frame.columns}
        for name, frame in release.tables.items()
    }


def released_schema(
    hierarchies: Mapping[str, pl.DataFrame],
    *,
    protect: Mapping[str, Iterable[str]],
    columns: Mapping[str, Sequence[str]] | None = None,
    keep: Sequence[str] = (),
) -> Schema:
    """Return the schema of a release whose quasi-identifiers have the released `hierarchies`.

    `protect` leads from every sensitive attribute to its protected values, `columns` from those that are not
    one column of their name to the columns they have.

    Examples
    --------
    >>> stay = Hierarchy.from_tree({"short": ["1", "2"], "long": ["30"]}).above(["short", "long"])
    >>> schema = released_schema({"stay": stay}, protect={"ill": ["HIV"]}, columns={"ill": ["D1", "D2"]})
    >>> schema.attributes, schema.released
    (('stay', 'D1', 'D2'), True)
    """
    return Schema(
        person=PERSON,
        order=ORDER,
        quasi={name: Hierarchy.from_frame(frame) for name, frame in hierarchies.items()},
        sensitive={
            name: Sensitive(
                columns=tuple((columns or {}).get(name, (name,))),
                # No value of the attribute is protected where none of those asked for occurs; a schema
                # cannot say so, and the model has its own list.
                protect=Protect(values=tuple(sorted(values))) if (values := list(labels)) else "all",
            )
            for name, labels in protect.items()
        },
        keep=keep,
        released=True,
    )


def released_schema_of(table: EventTable, hierarchies: Mapping[str, pl.DataFrame]) -> Schema:
    """Return the schema of a release of `table`, whose protected values and kept columns it has."""
    return released_schema(
        hierarchies,
        protect=table.protected_nodes,
        columns={name: each.columns for name, each in table.schema.sensitive.items()},
        keep=table.schema.keep,
    )


def columns_with_role(columns: Mapping[str, Mapping[str, str]], roles: Sequence[str]) -> list[str]:
    """Return the columns of all tables that have one of these roles."""
    return [column for table in columns.values() for column, role in table.items() if role in roles]


def rebuild_table(
    tables: Mapping[str, pl.DataFrame], certificate: Certificate, hierarchies: Mapping[str, pl.DataFrame]
) -> EventTable:
    """Return the released tables with the roles of the claim."""
    frame = next(iter(tables.values()))
    columns = certificate.columns
    symbols = columns_with_role(columns, (SYMBOL, AREA))
    if symbols:
        return EventTable(frame, Schema(person=PERSON, order=ORDER, symbol=symbols[0], released=True))
    schema = released_schema(
        # In the order of the table: a release lists its files in the order of their names.
        {column: hierarchies[column] for column in columns_with_role(columns, QUASI_ROLES)},
        protect=cast("Mapping[str, Sequence[str]]", certificate.claim.get("protect", {})),
        columns=cast("Mapping[str, Sequence[str]]", certificate.claim.get("columns", {})),
        keep=columns_with_role(columns, (KEEP,)),
    )
    own = columns.get(PERSONS)
    events = [name for name in columns[EVENTS] if name not in (PERSON, ORDER)]
    return released_table(
        tables,
        schema.only(events),
        None if own is None else schema.only([name for name in own if name != PERSON]),
    )
