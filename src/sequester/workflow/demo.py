"""Made-up data: write it to a file, or protect, attack and verify it for a first look."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sequester.datasets import DATASETS, SEED, make
from sequester.datasets.hospital import FORMS, PROTECTED, make_persons
from sequester.engine import silent
from sequester.errors import InputError
from sequester.io.contents import compress
from sequester.io.parquet import write_parquet
from sequester.release.staging import refuse_existing, write_file, write_folder
from sequester.workflow.config import Config
from sequester.workflow.protect import protect
from sequester.workflow.run import SILENT, RunContext
from sequester.workflow.verify import verify_release

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester.attacks import Risk
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.release.release import Release
    from sequester.report.summary import ColumnFate
    from sequester.verification.claim import Verification
    from sequester.workflow.protect import Protected

PERSONS = 5_000
"""Patients of the invented hospital."""
K, C, P = 5, 0.5, 2
"""What somebody knows, up to p values, fits k persons, and no protected disease more than c of them."""
_DATA = "visits.csv"
_PATIENTS = "patients.csv"
_CONFIG = "release.toml"
_MARK = "# Made by `sequester demo`, which replaces this folder when it runs again."
_TOML = f"""{_MARK}
# Try another k, c or p, then: sequester protect {_CONFIG} --force

[data]
path = "{_DATA}"
person = "PID"
order = "VID"

[data.quasi.AdmYr]
hierarchy = {{ kind = "flat" }}

[data.quasi.ZIP]
hierarchy = {{ kind = "mask", levels = [3, 1] }}

[data.quasi.DSFC]
hierarchy = {{ kind = "intervals", width = [7, 28, 84], origin = 0 }}

[data.quasi.LOS]
hierarchy = {{ kind = "intervals", width = [7, 28], origin = 0 }}

[data.sensitive.Disease]
protect = [{", ".join(f'"{disease}"' for disease in PROTECTED)}]

[data.persons]
path = "{_PATIENTS}"

[data.persons.quasi.Sex]
hierarchy = {{ kind = "flat" }}

[data.persons.quasi.BirthYear]
hierarchy = {{ kind = "intervals", width = [5, 10, 20], origin = 0 }}

[method]
name = "halt"
k = {K}
c = {C}
p = {P}

[release]
path = "."
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One visit that two values single out, of the visit or of the patient."""

    person: str
    """The key in the input."""
    disease: str
    """A protected disease of this person."""
    order: int
    """Which of the person's visits, counted from 1."""
    values: dict[str, str]
    """Two values of the visit or the patient, which no other person has with one visit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRisk:
    """The risk in the raw file, counted without anything that has to be compiled first."""

    persons: int
    """Patients."""
    events: int
    """Their visits."""
    alone: int
    """Persons whom two values single out, of one of their visits or of who they are."""
    example: Example | None
    """Of those who are singled out and have a protected disease, one whose two values are frequent."""

    @classmethod
    def of(cls, table: EventTable) -> RawRisk:
        """Find who is singled out by two values of a visit or the patient; fewer single out nobody else."""
        table = table.with_attributes
        names = list(table.schema.quasi)
        visits = table.frame.with_columns(
            pl.col(names).cast(pl.String), order=pl.int_range(1, pl.len() + 1).over("PID")
        ).with_row_index("row")
        pairs = list(combinations(names, P))
        # Rare values are suppressed: an example with frequent ones shows what generalization does.
        alone = pl.concat(
            visits.with_columns(
                pair=place, shared=pl.min_horizontal(pl.col("PID").n_unique().over(name) for name in pair)
            ).filter(pl.col("PID").n_unique().over(pair) == 1)
            for place, pair in enumerate(pairs)
        )
        ill = visits.filter(pl.col("Disease").is_in(PROTECTED)).group_by("PID").agg(pl.col("Disease").first())
        found = alone.join(ill, on="PID", suffix="_of_ill").sort(
            "shared", "row", "pair", descending=[True, False, False]
        )
        examples = [
            Example(
                person=visit["PID"],
                disease=visit["Disease_of_ill"],
                order=visit["order"],
                values={name: visit[name] for name in pairs[visit["pair"]]},
            )
            for visit in found.head(1).iter_rows(named=True)
        ]
        return cls(
            persons=table.n_persons,
            events=table.n_events,
            alone=alone["PID"].n_unique(),
            example=next(iter(examples), None),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What the demonstration did, and where to look."""

    folder: Path
    """Where everything is."""
    raw: RawRisk
    """The risk in the input."""
    columns: tuple[ColumnFate, ...]
    """What became of the quasi-identifiers."""
    after: dict[str, str]
    """What the release says instead of the values of the example; empty without one."""
    alike: int
    """Persons with a visit of which the release says the same."""
    protected: Protected
    """The release."""
    found: Risk
    """The expected share of patients who are re-identified by as many values of a visit as is promised."""
    learned: Risk
    """The largest confidence in a protected disease, by any background knowledge that the promise covers."""
    verification: Verification
    """What a check of the files said, made as a recipient would."""

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``demo --json`` prints."""
        return {
            **self.protected.to_json(),
            **self.verification.to_json(),
            "alone": self.raw.alone,
            "report": str(self.protected.written.path / "report.html"),
            "found": self.found.to_json(),
            "learned": self.learned.to_json(),
        }


def demo(
    out: str | Path,
    *,
    seed: str | None = None,
    show: Callable[[RawRisk], None] = lambda _: None,
    run: RunContext = SILENT,
) -> Demo:
    """Make a data set in `out`, protect it, attack it, and verify it from its files.

    `show` is called with the risk in the raw file, before anything is protected.
    """
    out = Path(out)
    is_new = not os.path.lexists(out)
    _refuse_what_is_not_ours(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
        run.progress(0.0, "generating visits to a hospital")
        seed_of_data = SEED if seed is None else seed
        make_dataset("hospital", out / _DATA, persons=PERSONS, seed=seed_of_data, force=True)
        make_persons(persons=PERSONS, seed=seed_of_data).write_csv(out / _PATIENTS)
        (out / _CONFIG).write_text(_TOML, encoding="utf-8")
        config = Config.load(out / _CONFIG)
        table = config.table()
        raw = RawRisk.of(table)
        show(raw)
        done = protect(config, seed=seed, force=True, run=run.part(0.1, 0.9))
        run.progress(0.9, "verifying as a recipient would")
        after, alike = _after(raw.example, done.release)
        fates, risks = {each.name: each for each in done.summary.columns}, done.audit.risks
        inferred = [risk for risk in risks if risk.name == "confidence_shown" and risk.bound is not None]
        shown = Demo(
            folder=out,
            raw=raw,
            columns=tuple(fates[name] for name in table.histories.schema.quasi),
            after=after,
            alike=alike,
            protected=done,
            found=next(r for r in risks if (r.name, r.kind, r.known) == ("marketer", "event", P)),
            learned=max(inferred, key=lambda risk: risk.value),
            verification=verify_release(done.written.path),
        )
        run.progress(1.0, "done")
    except BaseException as error:
        if is_new:
            shutil.rmtree(out, ignore_errors=True)
        if isinstance(error, OSError):
            msg = f"cannot write {out}: {error.strerror}"
            raise InputError(msg) from None
        raise
    return shown


def _after(example: Example | None, release: Release) -> tuple[dict[str, str], int]:
    """Return what the release says of the visit of the example, and of how many persons."""
    if example is None:
        return {}, 0
    pseudonym = release.pseudonyms.filter(pl.col("person") == example.person)["pseudonym"].item()
    visits = release.table.with_attributes.frame
    visit = visits.filter((pl.col("person") == pseudonym) & (pl.col("order") == example.order))
    after = visit.select(*example.values).row(0, named=True)
    alike = visits.filter(pl.all_horizontal(pl.col(name) == label for name, label in after.items()))
    return after, alike["person"].n_unique()


def _refuse_what_is_not_ours(out: Path) -> None:
    if not os.path.lexists(out):
        return
    if not out.is_dir():
        msg = f"{out} is a file, not a folder"
        raise InputError(msg)
    config = out / _CONFIG
    is_ours = config.is_file() and config.read_text(encoding="utf-8", errors="replace").startswith(_MARK)
    if any(out.iterdir()) and not is_ours:
        msg = f"{out} exists already and was not made by a demo; name another folder with --out"
        raise InputError(msg)


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
    progress(0.0, "generating events")
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
    if name.endswith(".parquet"):
        return write_parquet(frame)
    separator = "\t" if ".tsv" in Path(name).suffixes[-2:] else ","
    text = frame.write_csv(separator=separator, datetime_format="%Y-%m-%dT%H:%M:%S").encode()
    return compress(text) if name.endswith(".gz") else text
