"""Write a synthetic data set to a file."""

from __future__ import annotations

import gzip
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sequester.datasets import DATASETS, SEED, make
from sequester.datasets.hospital import FORMS
from sequester.engine import silent
from sequester.errors import InputError
from sequester.workflow.output_file import refuse_existing, write_file, write_folder

if TYPE_CHECKING:
    import polars as pl

    from sequester.engine import Progress

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
"""How a file may be called, which says how it is written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeDataset:
    """What was made."""

    persons: int
    events: int
    hierarchies: tuple[Path, ...] = ()


def make_dataset(
    name: str,
    out: str | Path,
    *,
    persons: int | None = None,
    seed: str = SEED,
    format: str | None = None,  # noqa: A002 - the name it has in the configuration
    force: bool = False,
    progress: Progress = silent,
) -> MadeDataset:
    """Write the data set `name` to the file `out`; a run that dies leaves no file.

    Hierarchies that come with it are put beside: ``log.csv`` gets ``log.activity.csv``. With a `format` of
    clinical data, `out` is a folder.
    """
    out = Path(out)
    if format is not None:
        return _make_folder(name, out, persons=persons, seed=seed, form=format)
    if not out.name.endswith(ENDINGS):
        msg = f"--out must end in one of {', '.join(ENDINGS)}, got {out.name!r}"
        raise InputError(msg)
    trees = DATASETS[name].hierarchies() if name in DATASETS else {}
    stem = next(out.name.removesuffix(ending) for ending in ENDINGS if out.name.endswith(ending))
    beside = {out.with_name(f"{stem}.{column}.csv"): tree for column, tree in trees.items()}
    refuse_existing(out, *beside, force=force)
    progress(0.0, "inventing events")
    frame = make(name, persons=persons, seed=seed)
    progress(0.5, "writing")
    write_file(_encode(frame, out.name), out)
    for path, tree in beside.items():
        tree.write_arx(path)
    persons = frame[DATASETS[name].columns[0]].n_unique()
    return MadeDataset(persons=persons, events=len(frame), hierarchies=tuple(beside))


def _make_folder(name: str, out: Path, *, persons: int | None, seed: str, form: str) -> MadeDataset:
    if name != "hospital" or form not in FORMS:
        msg = f"--format must be one of {', '.join(FORMS)}, and NAME hospital; got {form!r} and {name}"
        raise InputError(msg)
    # A folder may hold what nobody made here: it is never replaced.
    if os.path.lexists(out):
        msg = f"{out} exists already; name another folder"
        raise InputError(msg)
    persons = DATASETS[name].persons if persons is None else persons
    write_folder(FORMS[form](persons=persons, seed=seed), out)
    return MadeDataset(persons=persons, events=len(make(name, persons=persons, seed=seed)))


def _encode(frame: pl.DataFrame, name: str) -> bytes:
    buffer = io.BytesIO()
    if name.endswith(".parquet"):
        frame.write_parquet(buffer)
        return buffer.getvalue()
    separator = "\t" if ".tsv" in Path(name).suffixes[-2:] else ","
    frame.write_csv(buffer, separator=separator, datetime_format="%Y-%m-%dT%H:%M:%S")
    # Without a time in the header, the same data is the same file.
    return gzip.compress(buffer.getvalue(), 6, mtime=0) if name.endswith(".gz") else buffer.getvalue()
