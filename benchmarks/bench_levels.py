"""HALT against an adversary who mixes levels: what it loses and costs beside one who does not.

    python benchmarks/bench_levels.py                   all data sets
    python benchmarks/bench_levels.py biofam billing    some of them

Each data set is released with ``levels = "same"`` and with ``levels = "mixed"`` (k = 5, c = 0.5). A row says
the loss and the processor time of each, and the largest share of a protected value that mixed knowledge finds
in the release under "same", with the number of g-sequences that break the promise. The real data sets are
read from --data, and left out where it has none. Exits 1 where a release breaks its own promise.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from bench_halt import claims, visits
from ledger import note
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets.public import load
from sequester.errors import SequesterWarning
from sequester.hierarchies import Hierarchy
from sequester.methods import HALT
from sequester.privacy import KCPPrivacy

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
K, C = 5, 0.5
DEMO_PERSONS = 5_000
STATES = {
    "single": ["with parents", "left home"],
    "married": ["married, with parents", "married, left home"],
    "parent": ["parent, with parents", "parent, left home", "married parent"],
    "divorced or widowed": ["divorced"],
}
"""The family states of biofam, 0 to 7 as the data numbers them."""


def biofam(data: Path) -> EventTable:
    """Return family lives of 2,000 persons: an event for each change of state; religion is sensitive."""
    names = [name for states in STATES.values() for name in states]
    wide = load("biofam", data).with_row_index("person")
    long = wide.unpivot(
        [f"a{age}" for age in range(15, 31)],
        index=["person", "birthyr", "p02r01"],
        variable_name="age",
        value_name="state",
    ).with_columns(
        pl.col("age").str.slice(1),
        pl.col("birthyr").cast(pl.Float64).cast(pl.Int64).cast(pl.String),
        pl.col("state").cast(pl.Float64).cast(pl.Int64).replace_strict(range(len(names)), names),
        pl.col("p02r01").fill_null("not told"),
    )
    long = long.sort("person", "age")
    changed = long.filter(pl.col("state") != pl.col("state").shift().over("person").fill_null(""))
    quasi = {
        "age": Hierarchy.intervals([2, 4, 8], origin=15),
        "birthyr": Hierarchy.intervals([5, 10], origin=1900),
        "state": Hierarchy.from_tree(STATES),
    }
    protected = ["Jewish", "Muslim", "no denomination or religion"]
    frame = changed.with_row_index("n")
    return EventTable(frame, Schema(person="person", order="n", quasi=quasi, sensitive={"p02r01": protected}))


def billing(data: Path) -> EventTable:
    """Return billing events of a hospital: what was done in which month; the diagnosis is sensitive."""
    frame = load("hospital-billing", data).select(
        "case_id",
        pl.col("timestamp").str.slice(0, 10).alias("day"),
        "activity",
        pl.col("diagnosis").fill_null("none"),
    )
    quasi = {"day": Hierarchy.dates(["month", "quarter", "year"]), "activity": Hierarchy.flat()}
    rare = frame["diagnosis"].value_counts().filter(pl.col("count") < 10)["diagnosis"].to_list()
    frame = frame.with_row_index("n")
    return EventTable(frame, Schema(person="case_id", order="n", quasi=quasi, sensitive={"diagnosis": rare}))


def synthea(data: Path) -> EventTable:
    """Return conditions of 986 synthetic patients with month and duration; a few are protected."""
    days = (pl.col("STOP").str.to_date() - pl.col("START").str.to_date()).dt.total_days()
    frame = (
        load("synthea-conditions", data)
        .with_columns(pl.col("START").str.slice(0, 4).alias("year"), days.cast(pl.String).alias("days"))
        .filter(pl.col("year") >= "2010")
        .select("PATIENT", "START", "year", pl.col("days").fill_null("-1"), "DESCRIPTION")
    )
    quasi = {
        "year": Hierarchy.intervals([2, 10], origin=2000),
        "days": Hierarchy.intervals([7, 28, 84], origin=0),
    }
    protected = ["Drug overdose", "Seizure disorder", "Miscarriage in first trimester"]
    frame = frame.with_row_index("n")
    return EventTable(
        frame,
        Schema(
            person="PATIENT", order="n", quasi=quasi, sensitive={"DESCRIPTION": protected}, drop=["START"]
        ),
    )


SETS: dict[str, tuple[str, Callable[[Path], EventTable], tuple[int, ...]]] = {
    "demo": ("demo hospital", lambda _: visits(DEMO_PERSONS), (2, 3)),
    "medicare": ("Medicare claims", claims, (2, 3)),
    "biofam": ("biofam", biofam, (2, 3)),
    "billing": ("hospital billing", billing, (2,)),
    "synthea": ("Synthea conditions", synthea, (2,)),
}
"""What each data set is called, how it is read, and how much is known."""


HEAD = """\
| data | persons | p | loss, same | loss, mixed | time, same | time, mixed | largest share, mixed, in "same" |
|---|---|---|---|---|---|---|---|"""


def measure(name: str, table: EventTable, p: int) -> bool:
    """Release a table under both, and print a row."""
    kept, losses, seconds, releases = True, {}, {}, {}
    for levels in ("same", "mixed"):
        start = time.process_time()
        release = HALT(k=K, c=C, p=p, levels=levels, suppression="global").apply(table)
        seconds[levels] = time.process_time() - start
        losses[levels] = release.utility["information_loss"].value
        releases[levels] = release
        kept = kept and release.model.check(release.table).holds
    mixed = KCPPrivacy(k=K, c=C, p=p, levels="mixed").check(releases["same"].table)
    shown = f"{mixed.achieved['c']:.2f}" + (f" ({mixed.violations:,} broken)" if mixed.violations else "")
    print(
        f"| {name} | {table.n_persons:,} | {p} | {losses['same']:.3f} | {losses['mixed']:.3f} "
        f"| {seconds['same']:.1f} s | {seconds['mixed']:.1f} s | {shown} |",
        flush=True,
    )
    what = f"{name}, {table.n_persons:,} persons, p = {p}"
    note("equality", f"{what}: both releases keep their promise", kept)
    note("loss", f"{what}: levels are the same", losses["same"])
    note("loss", f"{what}: levels are mixed", losses["mixed"])
    note("cost", f"{what}: mixed beside the same, processor time", seconds["mixed"] / seconds["same"])
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(SETS)} (default: all)")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("SEQUESTER_DATA", ROOT.parent / "shared" / "data")),
        help="the folder of public data (default: ../shared/data)",
    )
    asked = parser.parse_args()
    unknown = [name for name in asked.sets if name not in SETS]
    if unknown:
        parser.error(f"no such data set: {', '.join(unknown)}")
    warnings.simplefilter("ignore", SequesterWarning)
    HALT(k=2, c=1, p=1).apply(visits(50))  # compiles
    print(HEAD)
    answers = []
    for key in asked.sets or SETS:
        name, read, known = SETS[key]
        if key != "demo" and not asked.data.is_dir():
            print(f"{name}: left out, there is no folder {asked.data}")
            continue
        table = read(asked.data)
        answers += [measure(name, table, p) for p in known]
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
