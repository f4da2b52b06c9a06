"""Drafts a configuration for a file, with a reason for every guess."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sequester.engine import silent
from sequester.errors import InputError
from sequester.io import looks_like_spmf, read_frame
from sequester.workflow.draft.draft import Draft, draft_of
from sequester.workflow.draft.toml_text import DataFile, to_toml
from sequester.workflow.output_file import put, refuse_existing, refuse_inputs

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from sequester.engine import Progress


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

    def with_person(self, person: str) -> Proposed:
        """Guess again, the person being known."""
        return replace(self, draft=draft_of(self.frame, person=person))

    def with_sensitive(self, names: Iterable[str]) -> Proposed:
        """Take the steward's word for what is sensitive."""
        return replace(self, draft=self.draft.with_sensitive(names))

    def write(self) -> None:
        """Put the configuration in its place."""
        put(to_toml(self.draft, self.data).encode(), self.out)

    def to_json(self) -> dict[str, Any]:
        """Give the document that ``init --json`` prints."""
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
            "symbol": None if draft.symbol is None else draft.symbol.column,
            "quasi": {each.column: each.hierarchy.model_dump(exclude_unset=True) for each in draft.quasi},
            "sensitive": [each.name for each in draft.sensitive],
            "sensitive_candidates": [each.name for each in draft.candidates],
            "doubts": list(draft.doubts),
        }


def init(
    data: str | Path,
    out: str | Path = "release.toml",
    *,
    person: str | None = None,
    format: str | None = None,  # noqa: A002 - the name it has in the configuration
    delimiter: str | None = None,
    encoding: str | None = None,
    force: bool = False,
    progress: Progress = silent,
) -> Proposed:
    """Read a file and draft a configuration for it; `Proposed.write` puts it at `out`."""
    data, out = Path(data), Path(out)
    refuse_existing(out, force=force)
    refuse_inputs(out, inputs={"the data": data})
    progress(0.0, "reading")
    if format is None and looks_like_spmf(data):
        format = "spmf"  # noqa: A001 - as above
    frame = read_frame(data, format=format, delimiter=delimiter, encoding=encoding or "utf-8")
    progress(0.5, "looking at the columns")
    try:
        draft = draft_of(frame, person=person)
    except InputError as error:
        raise InputError(*(f"{data}: {line}" for line in error.lines)) from None
    named = DataFile(_relative(data, out), format, delimiter, encoding)
    return Proposed(data=named, out=out, frame=frame, draft=draft)


def _relative(data: Path, out: Path) -> str:
    """Name the data as seen from the configuration; a link stays one, because its name tells the format."""
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
