"""Draft a configuration for a data file, and write it as TOML with a reason for every choice."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from sequester.data.schema import ALL, ROW
from sequester.data.text import as_polars
from sequester.engine import silent
from sequester.errors import InputError, issue_warning
from sequester.io import looks_like_spmf, read_frame
from sequester.io.clinical import CLINICAL, open_clinical, recognize
from sequester.io.database import Database, local_files, locate, source_errors
from sequester.release.staging import refuse_existing, refuse_inputs, write_file
from sequester.workflow.build import errors_in, make_schema, toml_key, toml_text
from sequester.workflow.draft.attributes import QuasiDraft, draft_persons, find_constant
from sequester.workflow.draft.columns import SAMPLE
from sequester.workflow.draft.draft import Draft, make_draft
from sequester.workflow.settings import ConfigTable, DataSettings, File

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

    from sequester.data.schema import Schema
    from sequester.engine import Progress
    from sequester.errors import Warn
    from sequester.io.clinical import ClinicalFolder
    from sequester.workflow.draft.attributes import PersonsDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A configuration that has been drafted and not been written yet."""

    data: DataFile
    """The file, as the configuration will name it."""
    out: Path
    """Where the configuration goes."""
    frame: pl.DataFrame
    """What is in the file."""
    draft: Draft
    """The role of every column."""
    said: tuple[str, ...] = ()
    """What was noted while the file was read."""
    persons: DataFile | None = None
    """The table of persons, where there is one."""
    persons_frame: pl.DataFrame | None = None
    """What is in it."""
    vocabulary: QuasiDraft | None = None
    """The hierarchy of what happened, where clinical data has one."""

    def with_person(self, person: str) -> Proposed:
        """Guess again, the person being known."""
        return self.with_draft(make_draft(self.frame, person=person))

    def with_draft(self, draft: Draft) -> Proposed:
        """Take the roles of a draft, with what the other inputs say of them."""
        draft = _with_persons(draft, self.frame, self.persons_frame)
        draft = _with_vocabulary(draft, self.vocabulary)
        return replace(self, draft=replace(draft, doubts=(*self.said, *draft.doubts)))

    def with_sensitive(self, names: Iterable[str]) -> Proposed:
        """Take the steward's word for what is sensitive."""
        return replace(self, draft=self.draft.with_sensitive(names))

    def write(self) -> None:
        """Put the configuration in its place."""
        write_file(to_toml(self.draft, self.data, self.persons).encode(), self.out)

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``init --json`` prints."""
        draft = self.draft
        when = draft.when
        return {
            "path": str(self.out),
            "person": draft.person.column,
            "time": list(when.columns) if when is not None and when.is_time else [],
            "time_format": None if when is None else when.time_format,
            "order": when.columns[0] if when is not None and not when.is_time else None,
            "tie": None if draft.tie is None else draft.tie.column,
            "drop": [each.column for each in draft.drop],
            "trip": None if draft.trip is None else draft.trip.column,
            "missing": draft.missing,
            "symbol": None if draft.symbol is None else draft.symbol.column,
            "place": None if draft.place is None else [draft.place.lat, draft.place.lon],
            "quasi": {each.column: each.hierarchy.model_dump(exclude_unset=True) for each in draft.quasi},
            **({} if draft.persons is None else {"persons": _persons_json(draft.persons)}),
            "sensitive": [each.name for each in draft.sensitive],
            "sensitive_candidates": [each.name for each in draft.candidates],
            "doubts": list(draft.doubts),
        }


def init(
    data: str | Path | DataFile,
    out: str | Path = "release.toml",
    *,
    persons: str | Path | DataFile | None = None,
    person: str | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Proposed:
    """Read a file and draft a configuration for it; `Proposed.write` puts it at `out`.

    A database needs its query or table, or the format ``"omop"``. `persons` is a table of persons, with one
    row each: a file, or a database with its query or table.
    """
    out = Path(out)
    data = data if isinstance(data, DataFile) else DataFile(str(data))
    if persons is not None and not isinstance(persons, DataFile):
        persons = DataFile(str(persons))
    lines = _source_errors(data)
    lines += [] if persons is None else [f"--persons: {line}" for line in _source_errors(persons)]
    if lines:
        raise InputError(*lines)
    source, persons_source = data.locate(), None if persons is None else persons.locate()
    refuse_existing(out, force=force)
    inputs = local_files({"the data": source, "the table of persons": persons_source})
    refuse_inputs(out, inputs=inputs)
    progress(0.0, "reading")
    if data.format is None and isinstance(source, Path):
        data = replace(data, format="spmf" if looks_like_spmf(source) else recognize(source))
    said: list[str] = []
    frame = read_frame(
        source,
        format=data.format,
        delimiter=data.delimiter,
        encoding=data.encoding or "utf-8",
        warn=said.append,
    )
    progress(0.5, "examining columns")
    with errors_in(source):
        draft = make_draft(frame, person=person)
    others = None
    if persons is not None and persons_source is not None:
        others = read_frame(persons_source, warn=said.append)
        persons = replace(persons, path=_relative(persons_source, out))
    vocabulary = None
    if data.format in CLINICAL:
        folder = open_clinical(source, data.format)
        vocabulary = _vocabulary(folder, data.format, _relative(source, out))
        # Keys alone say nothing of persons.
        if others is None and (found := folder.persons()).width > 1:
            others, persons = found, DataFile("")
    tables = tuple(frame["table"].unique(maintain_order=True)) if data.format == "omop" else ()
    proposed = Proposed(
        data=replace(data, path=_relative(source, out), tables=tables),
        out=out,
        frame=frame,
        draft=draft,
        said=tuple(said),
        persons=persons,
        persons_frame=others,
        vocabulary=vocabulary,
    )
    with errors_in(persons_source):
        return proposed.with_draft(draft)


def _vocabulary(folder: ClinicalFolder, form: str, path: str) -> QuasiDraft | None:
    """Return what happened with its hierarchy, where a folder of clinical data has one."""
    if not folder.has_hierarchy():
        return None
    tree = File.model_validate({"path": path, "format": form})
    return QuasiDraft(folder.concept, tree, "what lies under what in the vocabulary of the folder")


def _source_errors(named: DataFile) -> list[str]:
    return source_errors({name: value for name, value in asdict(named).items() if value is not None})


def propose_schema(
    frame: object,
    *,
    person: str | None = None,
    sensitive: Sequence[str] = (),
    warn: Warn = issue_warning,
) -> Schema:
    """Propose the role and the hierarchy of every column of a frame, as ``sequester init`` does for a file.

    Parameters
    ----------
    frame
        One row per event: a polars or pandas frame, or anything with an Arrow stream.
    person
        The column of person keys, ``"row"`` or ``"all"``, where the guess is wrong.
    sensitive
        What nobody may learn about a person: columns, or families such as ``diag`` for ``diag_1`` and
        ``diag_2``. Nothing is sensitive unless it is named here.
    warn
        Called with each doubt; by default, a `SequesterWarning` is issued.

    Returns
    -------
    Schema
        A role for every column; change it with `dataclasses.replace`.

    Raises
    ------
    InputError
        If nothing is left to release, or `person` or `sensitive` names no column.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"user": ["a", "a", "b"], "n": [1, 2, 1], "page": ["news", "?", "news"]})
    >>> schema = propose_schema(frame)
    >>> schema.person, schema.order, schema.symbol.column, schema.missing
    ('user', 'n', 'page', ('?',))
    """
    draft = make_draft(as_polars(frame), person=person).with_sensitive(sensitive)
    for doubt in draft.doubts:
        warn(doubt)
    # What is written for a file is what is meant for a frame.
    settings = tomllib.loads(to_toml(draft, DataFile("frame")))
    return make_schema(DataSettings.model_validate(settings["data"]), Path())


def _with_persons(draft: Draft, frame: pl.DataFrame, persons: pl.DataFrame | None) -> Draft:
    """Add the attributes of persons: of their own table, or columns that never change within a person."""
    if persons is None:
        return replace(draft, persons=find_constant(frame, draft))
    if draft.person.column == ROW:
        msg = "a table of persons needs events of persons, and every row of the data is a person"
        raise InputError(msg)
    if draft.symbol is not None:
        # Beside attributes of persons, what happened is a quasi-identifier.
        draft = replace(draft, symbol=None, quasi=(draft.symbol,))
    return replace(draft, persons=draft_persons(persons, frame, draft.person.column))


def _with_vocabulary(draft: Draft, vocabulary: QuasiDraft | None) -> Draft:
    """Take the hierarchy of what happened from the vocabulary of the data."""
    if vocabulary is None:
        return draft
    return replace(
        draft,
        quasi=tuple(vocabulary if each.column == vocabulary.column else each for each in draft.quasi),
    )


def _persons_json(persons: PersonsDraft) -> dict[str, Any]:
    return {
        "person": persons.person,
        "drop": [each.column for each in persons.drop],
        "quasi": {each.column: each.hierarchy.model_dump(exclude_unset=True) for each in persons.quasi},
        "sensitive_candidates": [each.name for each in persons.candidates],
    }


def _relative(data: Path | Database, out: Path) -> str:
    """Name the data as seen from the configuration; a link stays one, because its name tells the format."""
    if isinstance(data, Database):
        return str(data if data.file is None else replace(data, address=_relative(data.file, out)))
    folder, home = (Path(os.path.realpath(path.parent)) for path in (data.absolute(), out.absolute()))
    try:
        path = Path(os.path.relpath(folder / data.absolute().name, home)).as_posix()
    except ValueError:  # on another drive
        path = (folder / data.name).as_posix()
    try:
        path.encode()
    except UnicodeEncodeError:
        msg = f"{path!r}: the name is not UTF-8, and a configuration is"
        raise InputError(msg) from None
    return path


_TEMPLATE = Path(__file__).with_name("draft") / "release.toml.jinja"


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
    looked_at = f"its {draft.n_rows:,} rows"
    if draft.n_rows > SAMPLE:
        looked_at = f"the first {SAMPLE:,} of {looked_at}; counts are of all"
    return _template().render(
        draft=draft,
        data=data,
        persons=persons,
        looked_at=looked_at,
        is_one_log=draft.person.column == ALL,
        is_row=draft.person.column == ROW,
    )


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  (TOML, which the filters escape)
    )
    environment.filters.update(toml=_toml, key=lambda name: toml_key((name,)), line=comment)
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))


def comment(text: str) -> str:
    r"""Write a text for a comment that no letter in it can end.

    Examples
    --------
    >>> comment("a\nb = 1")
    'a\\nb = 1'
    """
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in text
    )


def _toml(value: object) -> str:
    """Write a value as TOML in one line."""
    if isinstance(value, ConfigTable):
        value = value.model_dump(exclude_unset=True)
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key((name,))} = {_toml(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return str(value)
