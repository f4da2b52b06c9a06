"""Attributes of persons beside their events: what they cost to read, to protect, and in information.

    python benchmarks/bench_persons.py                    everything
    python benchmarks/bench_persons.py read halt          what it costs to read and to protect
    python benchmarks/bench_persons.py medicare biofam    the loss on some of the data sets

``read`` reads events with and without a million persons, from Parquet. ``halt`` protects the demo's hospital
with and without three attributes. The others release a real data set with HALT (k = 5, c = 0.5, p = 2), with
demographics and without: a row says what the events lose, what the attributes lose, and the processor time.
Data sets are read from --data, and left out where it has none. Exits 1 where a release breaks its promise.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bench_halt import claims, visits
from bench_levels import biofam, synthea
from ledger import note
from sequester.data.persons import Persons
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets.hospital import make_persons
from sequester.datasets.public import load
from sequester.errors import SequesterWarning
from sequester.hierarchies import Hierarchy
from sequester.methods import HALT
from sequester.utility.generalization import information_loss
from sequester.workflow.config import Config

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
N_PERSONS, N_EVENTS = 1_000_000, 5_000_000
MOST_PERSONS = 20_000
"""Persons of a data set, so that a run ends in minutes."""
TIMES = 5
EVENTS = """
[data]
path = "events.parquet"
person = "PID"
order = "n"
[data.quasi.ZIP]
hierarchy = { kind = "mask", levels = [3, 1] }
[data.quasi.LOS]
hierarchy = { kind = "intervals", width = [7, 28] }
[data.sensitive.D]
protect = ["HIV"]
"""
PERSONS = """
[data.persons]
path = "persons.parquet"
[data.persons.quasi.Sex]
hierarchy = { kind = "flat" }
[data.persons.quasi.Born]
hierarchy = { kind = "intervals", width = [5, 10, 20] }
"""


def read() -> bool:
    """Read both tables beside the events alone, by turns."""
    chance = np.random.default_rng(1)
    keys = np.sort(chance.integers(0, N_PERSONS, N_EVENTS))
    events = {
        "PID": keys,
        "n": np.arange(N_EVENTS),
        "ZIP": pl.Series([str(each) for each in range(56_000, 56_400)]).gather(
            chance.integers(0, 400, N_EVENTS)
        ),
        "LOS": chance.integers(0, 60, N_EVENTS),
        "D": pl.Series(["flu", "cold", "HIV"]).gather(chance.integers(0, 3, N_EVENTS)),
    }
    persons = {
        "PID": np.arange(N_PERSONS),
        "Sex": pl.Series(["F", "M"]).gather(chance.integers(0, 2, N_PERSONS)),
        "Born": chance.integers(1930, 2010, N_PERSONS),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pl.DataFrame(events).write_parquet(folder / "events.parquet")
        pl.DataFrame(persons).write_parquet(folder / "persons.parquet")
        (folder / "alone.toml").write_text(EVENTS)
        (folder / "both.toml").write_text(EVENTS + PERSONS)
        seconds = {"alone": [], "both": []}
        for _ in range(TIMES):
            for kind, taken in seconds.items():
                start = time.process_time()
                table = Config.load(folder / f"{kind}.toml").table()
                taken.append(time.process_time() - start)
    alone, both = (min(taken) for taken in seconds.values())
    what = f"{N_EVENTS:,} events of {table.n_persons:,} persons"
    print(f"read {what}: {alone:.1f} s alone, {both:.1f} s with their table, {both / alone:.2f} times")
    note("cost", f"{what}: read with a table of persons, beside events alone", both / alone, bar=1.3)
    return table.n_persons == N_PERSONS


def halt() -> bool:
    """Protect visits with three attributes of patients beside visits alone, without and with measures."""
    alone = visits(5_000)
    patients = make_persons(persons=5_000).with_columns(
        County=pl.Series([f"c{each}" for each in range(20)]).gather(np.arange(5_000) % 20)
    )
    quasi = {
        "Sex": Hierarchy.flat(),
        "BirthYear": Hierarchy.intervals([5, 10, 20]),
        "County": Hierarchy.flat(),
    }
    both = EventTable(alone.frame, alone.schema, Persons(patients, quasi=quasi))
    for evaluate, what in ((False, "the method alone"), (True, "with measures")):
        seconds = {"alone": [], "both": []}
        for _ in range(TIMES):
            for kind, table in (("alone", alone), ("both", both)):
                start = time.process_time()
                release = HALT(k=5, c=0.5, p=2, suppression="global").apply(table, evaluate=evaluate)
                seconds[kind].append(time.process_time() - start)
        one, other = (min(taken) for taken in seconds.values())
        print(f"halt, 5,000 persons, {what}: {one:.1f} s alone, {other:.1f} s with 3 attributes")
        note(
            "cost", f"halt with three attributes of persons, {what}, beside events alone", other / one, bar=2
        )
    return bool(release.verdict)


def medicare(data: Path) -> tuple[EventTable, Persons]:
    """Return inpatient claims with the first summary of each beneficiary."""
    columns = {
        "DESYNPUF_ID": "PID",
        "BENE_SEX_IDENT_CD": "sex",
        "BENE_RACE_CD": "race",
        "SP_STATE_CODE": "state",
    }
    frame = load("desynpuf-beneficiaries", data)
    born = frame["BENE_BIRTH_DT"].str.slice(0, 4).alias("born")
    frame = (
        frame.select(*columns)
        .rename(columns)
        .with_columns(born)
        .unique("PID", keep="first", maintain_order=True)
    )
    flat = Hierarchy.flat()
    quasi = {"sex": flat, "race": flat, "state": flat, "born": Hierarchy.intervals([5, 10, 20])}
    return claims(data), Persons(frame, quasi=quasi)


def conditions(data: Path) -> tuple[EventTable, Persons]:
    """Return Synthea's conditions with its patients."""
    frame = load("synthea-patients", data).select(
        "ID", "GENDER", "RACE", pl.col("BIRTHDATE").str.slice(0, 4).alias("born")
    )
    flat = Hierarchy.flat()
    quasi = {"GENDER": flat, "RACE": flat, "born": Hierarchy.intervals([5, 10, 20])}
    return synthea(data), Persons(frame, person="ID", quasi=quasi)


def families(data: Path) -> tuple[EventTable, Persons]:
    """Return family lives with sex and year of birth."""
    wide = load("biofam", data).with_row_index("person")
    frame = wide.select("person", "sex", pl.col("birthyr").cast(pl.Float64).cast(pl.Int64))
    lives = biofam(data)
    schema = Schema(
        person="person",
        order="n",
        quasi={name: each for name, each in lives.schema.quasi.items() if name != "birthyr"},
        sensitive=lives.schema.sensitive,
    )
    frame = frame.with_columns(pl.col("person").cast(pl.String))
    quasi = {"sex": Hierarchy.flat(), "birthyr": Hierarchy.intervals([5, 10], origin=1900)}
    return EventTable(lives.frame.drop("birthyr"), schema), Persons(frame, quasi=quasi)


def admissions(data: Path) -> tuple[EventTable, Persons]:
    """Return the admissions of MIMIC's demo with its patients; the type of insurance is sensitive."""
    frame = load("mimic4demo-admissions", data).select(
        "subject_id", "admission_type", "admission_location", "insurance"
    )
    frame = frame.with_row_index("n")
    flat = Hierarchy.flat()
    schema = Schema(
        person="subject_id",
        order="n",
        quasi={"admission_type": flat, "admission_location": flat},
        sensitive={"insurance": ["Medicaid"]},
    )
    patients = load("mimic4demo-patients", data).select("subject_id", "gender", "anchor_age")
    quasi = {"gender": flat, "anchor_age": Hierarchy.intervals([5, 10, 20], origin=0)}
    return EventTable(frame, schema), Persons(patients, quasi=quasi)


SETS: dict[str, tuple[str, Callable[[Path], tuple[EventTable, Persons]]]] = {
    "medicare": ("Medicare claims (DE-SynPUF)", medicare),
    "synthea": ("Synthea conditions", conditions),
    "biofam": ("biofam", families),
    "mimic": ("MIMIC-IV demo admissions", admissions),
}
"""What each data set is called, and how its two tables are read."""
HEAD = """\
| data | persons | attributes | events alone | events beside attributes | attributes | time |
|---|---|---|---|---|---|---|"""


def measure(name: str, events: EventTable, persons: Persons) -> bool:
    """Release a data set with and without attributes, and print a row."""
    keys = pl.col(events.schema.person).cast(pl.String)
    whole = EventTable(
        events.frame.with_columns(keys), replace(events.schema, drop=(), invalid="drop"), persons
    )
    table = whole.take(np.diff(whole.person_offsets) > 0).sample(
        persons=MOST_PERSONS, events=10**9, seed="attributes of persons"
    )
    method, seconds = HALT(k=5, c=0.6, p=2, suppression="global"), []
    releases = []
    for each in (table.events, table):
        start = time.process_time()
        releases.append(method.apply(each, evaluate=False))
        seconds.append(time.process_time() - start)
    alone, both = releases
    losses = [
        information_loss(alone.table, original=table.events).value,
        information_loss(both.table.events, original=table.events).value,
        information_loss(both.table.demographics, original=table.demographics).value,
    ]
    names = ", ".join(table.demographics.schema.quasi)
    print(
        f"| {name} | {table.n_persons:,} | {names} | {losses[0]:.3f} | {losses[1]:.3f} | {losses[2]:.3f} "
        f"| {seconds[1] / seconds[0]:.1f} times |",
        flush=True,
    )
    for what, loss in zip(("events alone", "events beside attributes", "attributes"), losses, strict=True):
        note("loss", f"{name}: {what}", loss)
    return bool(both.verdict)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", help=f"of read, halt, {', '.join(SETS)} (default: all)")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("SEQUESTER_DATA", ROOT.parent / "shared" / "data")),
        help="the folder of public data (default: ../shared/data)",
    )
    asked = parser.parse_args()
    wanted = asked.what or ["read", "halt", *SETS]
    unknown = [name for name in wanted if name not in ("read", "halt", *SETS)]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}")
    warnings.simplefilter("ignore", SequesterWarning)
    HALT(k=2, c=1, p=1).apply(visits(50))  # compiles
    answers = [part() for name, part in (("read", read), ("halt", halt)) if name in wanted]
    sets = [name for name in wanted if name in SETS]
    if sets and not asked.data.is_dir():
        print(f"data sets are left out, there is no folder {asked.data}")
        sets = []
    if sets:
        print(HEAD)
    answers += [measure(SETS[name][0], *SETS[name][1](asked.data)) for name in sets]
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
