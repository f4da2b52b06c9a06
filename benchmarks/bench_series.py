"""Series: what it takes to continue a release, and what three years of Medicare claims lose.

    python benchmarks/bench_series.py                    everything
    python benchmarks/bench_series.py million            a million persons with 250,000 new events
    python benchmarks/bench_series.py medicare classes   three years, and what classes that stay together keep
    python benchmarks/bench_series.py attacks            a series, and independent releases side by side

``million`` continues a release beside a fresh release of the same events, in processor time. ``medicare``
releases 2008, 2009 and 2010 as three parts, with attributes of beneficiaries, beside fresh releases of the
same events; each row says what is held back and lost. ``classes`` takes the classes that CBLDA makes of 2008,
and counts how much of the later years could be kept if they stayed together. ``attacks`` releases the claims
of 2008, of 2008 and 2009, and of all three years, as a series and as three independent releases, and attacks
each three together with ``attack --also``. Data is read from --data, and left out where there is none. What
was measured in full is written into docs/series.md. Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from bench_halt import QUASI
from ledger import note
from sequester.attacks.linkage import ENDING
from sequester.data.persons import Persons
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import desynpuf, hospital
from sequester.datasets.public import load
from sequester.errors import SequesterWarning
from sequester.hierarchies import Hierarchy
from sequester.methods import CBLDA, HALT
from sequester.workflow.attack import attack_release
from sequester.workflow.protect import protect
from sequester.workflow.write import write

if TYPE_CHECKING:
    from sequester.attacks import Risk

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "series.md"
PERSONS, NEW = 1_000_000, 250_000
LARGEST_SHARE = 0.5
"""Of the time of a fresh release."""
YEARS = (2008, 2009, 2010)
SAMPLES = range(1, 9)
"""Samples of the claims whose beneficiaries have summaries."""


CONFIG = """
[data]
path = "claims-{year}.parquet"
person = "PID"
time = "admission"
[data.quasi.LOS]
hierarchy = {{ kind = "intervals", width = [7, 28], origin = 0 }}
[data.quasi.DSFC]
hierarchy = {{ kind = "intervals", width = [28, 84, 168], origin = 0 }}
[data.quasi.payment]
hierarchy = {{ kind = "intervals", width = [5_000, 20_000, 80_000], origin = -20_000 }}
[data.sensitive.diagnosis]
protect = {{ prefix = {prefix}, range = {range} }}
[method]
name = "halt"
k = 5
c = 0.7
p = 2
suppression = "global"
[release]
path = "{path}"
{more}
"""
"""Claims of all years up to one, as a part of a series or a release of its own."""
KNOWN = 2
"""Values that an adversary knows of a person."""
KINDS = ("ordered", "event", "whole_record")
"""What they know: values of several events or of one, which the promise covers; or the whole record."""


def fill_page(name: str, lines: list[str]) -> None:
    """Print a table, and write it into its place on the page about series."""
    print("\n".join(lines), flush=True)
    before, begin, rest = PAGE.read_text().partition(
        f"<!-- {name}: written by benchmarks/bench_series.py -->\n"
    )
    _, end, after = rest.partition("<!-- end -->")
    PAGE.write_text("".join([before, begin, "\n", "\n".join(lines), "\n\n", end, after]))


def apply(method: HALT, table: EventTable, **how: object) -> tuple[object, float]:
    """Return a release, and the processor time that it took."""
    start = time.process_time()
    release = method.apply(table, **how)
    return release, time.process_time() - start


def visits(frame: pl.DataFrame) -> EventTable:
    """Return visits with four quasi-identifiers, and hierarchies that do not depend on them."""
    quasi = QUASI | {"AdmYr": Hierarchy.intervals([1], origin=0)}
    sensitive = {"Disease": list(hospital.PROTECTED)}
    return EventTable(frame, Schema(person="PID", order="VID", quasi=quasi, sensitive=sensitive))


def million(persons: int, n_new: int) -> bool:
    """Continue a release of a million persons beside a fresh release of the same events."""
    frame = hospital.make(persons=persons)
    # The last visits of some persons are new; of persons with one visit, they are new as a whole.
    last = frame.group_by("PID", maintain_order=True).agg(pl.col("VID").max())
    chosen = last.sample(n_new, seed=1).with_columns(is_new=pl.lit(value=True))
    marked = frame.join(chosen, on=["PID", "VID"], how="left", maintain_order="left")
    is_new = marked["is_new"].fill_null(value=False)
    method = HALT(k=5, c=0.5, p=2, suppression="global")
    with tempfile.TemporaryDirectory() as name:
        first, _ = apply(method, visits(frame.filter(~is_new)), series=True, evaluate=False)
        write(first, Path(name) / "first")
        new, whole = visits(frame.filter(is_new)), visits(frame)
        later, continued = apply(method, new, continues=Path(name) / "first", evaluate=False)
        _, fresh = apply(method, whole, evaluate=False)
    row = later.series.history[-1]
    what = f"{persons:,} persons, {n_new:,} new events"
    print(f"{what}: {fresh:.1f} s fresh, {continued:.1f} s continued; {row}")
    if persons < PERSONS:
        return True
    fill_page(
        "million",
        [
            "| persons | new events | fresh release | continued | held back |",
            "|---|---|---|---|---|",
            f"| {persons:,} | {n_new:,} | {fresh:.1f} s | {continued:.1f} s | {row['held_back']:,} |",
        ],
    )
    note("seconds", f"{what}: fresh release", fresh)
    note("seconds", f"{what}: continued", continued)
    note("loss", f"{what}: held back", row["held_back"] / n_new)
    note("memory", f"{what}", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    return note("cost", f"{what}: continued, beside a fresh release", continued / fresh, bar=LARGEST_SHARE)


def claims(data: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the claims of beneficiaries with a summary, by year, and what the first summary says of them."""
    files = [
        path
        for path in sorted((data / "desynpuf").glob("*Inpatient_Claims_Sample_*"))
        if int(path.name.split("_Sample_")[1].split(".")[0]) in SAMPLES
    ]
    frame = desynpuf.table(files).with_columns(year=pl.col("admission").dt.year())
    columns = {"DESYNPUF_ID": "PID", "BENE_SEX_IDENT_CD": "sex", "BENE_RACE_CD": "race"}
    people = load("desynpuf-beneficiaries", data)
    born = people["BENE_BIRTH_DT"].str.slice(0, 4).alias("born")
    people = people.select(*columns).rename(columns).with_columns(born).unique("PID", maintain_order=True)
    return frame.filter(pl.col("year").is_in(YEARS)).join(people, on="PID", how="semi"), people


def medicare_table(frame: pl.DataFrame, people: pl.DataFrame) -> EventTable:
    """Return claims with length of stay, payment and days since the first claim of the year."""
    quasi = {
        "LOS": Hierarchy.intervals([7, 28], origin=0),
        "DSFC": Hierarchy.intervals([28, 84, 168], origin=0),
        "payment": Hierarchy.intervals([5_000, 20_000, 80_000], origin=-20_000),
    }
    schema = Schema(
        person="PID",
        time="admission",
        quasi=quasi,
        sensitive={"diagnosis": desynpuf.PROTECTED},
        drop=("claim", "sample", "discharge", "year"),
    )
    flat = Hierarchy.flat()
    own = {"sex": flat, "race": flat, "born": Hierarchy.intervals([10, 20], origin=1900)}
    return EventTable(frame, schema, Persons(people.join(frame, on="PID", how="semi"), quasi=own))


def medicare(data: Path) -> bool:
    """Release three years as a series, and beside it as fresh releases of the same events."""
    frame, people = claims(data)
    method, holds = HALT(k=5, c=0.7, p=2, suppression="global"), True
    lines = [
        "| part | new events | of persons | released | held back | suppressed | loss | fresh loss | time |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name:
        for part, year in enumerate(YEARS, start=1):
            # What was held back comes again with the next year.
            events = frame.filter(pl.col("year") <= year)
            table = medicare_table(events, people)
            how = {"continues": Path(name) / str(year - 1)} if part > 1 else {"series": True}
            release, seconds = apply(method, table, **how)
            write(release, Path(name) / str(year))
            fresh, fresh_seconds = apply(method, table)
            row = release.series.history[-1]
            losses = row["information_loss"], fresh.utility["information_loss"].value
            lines.append(
                f"| {year} | {release.n_input_events:,} | {release.n_input_persons:,} | {row['events']:,} | "
                f"{row['held_back']:,} | {row['suppressed']:,} | {losses[0]:.3f} | {losses[1]:.3f} | "
                f"{seconds:.1f} s, fresh {fresh_seconds:.1f} s |"
            )
            note("loss", f"Medicare {year}, part {part}", losses[0])
            note("loss", f"Medicare up to {year}, fresh", losses[1])
            note("loss", f"Medicare {year}: share held back", row["held_back"] / release.n_input_events)
            holds &= bool(release.verdict)
    fill_page("medicare", lines)
    return holds


def attacks(data: Path) -> bool:
    """Attack three parts of a series together, and beside them three independent releases of the same."""
    frame, _ = claims(data)
    columns = ["PID", "admission", "LOS", "DSFC", "payment", "diagnosis"]
    found: dict[str, dict[tuple[str, str], Risk]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for year in YEARS:
            frame.filter(pl.col("year") <= year).select(columns).write_parquet(
                folder / f"claims-{year}.parquet"
            )
        for how in ("series", "independent"):
            for year in YEARS:
                begin = "series = true" if year == YEARS[0] else f'continues = "{how}/{year - 1}"'
                more = begin if how == "series" else "pseudonyms = true"
                text = CONFIG.format(
                    year=year,
                    prefix=list(desynpuf.PROTECTED.prefix),
                    range=list(desynpuf.PROTECTED.range),
                    path=f"{how}/{year}",
                    more=more,
                )
                (folder / f"{how}-{year}.toml").write_text(text)
                protect(folder / f"{how}-{year}.toml", quick=True)
            parts = [folder / how / str(year) for year in YEARS]
            attacked = attack_release(
                parts[-1],
                *parts[:-1],
                original=folder / f"{how}-{YEARS[-1]}.toml",
                known=[KNOWN],
                targets=1_000,
            )
            found[how] = {(risk.name, risk.kind): risk for risk in attacked.risks}
    lines = [
        "| adversary | knowledge | series | one independent release | three side by side |",
        "|---|---|---|---|---|",
    ]
    for (name, kind), risk in found["independent"].items():
        measure = name.removesuffix(ENDING)
        own = found["series"].get((measure, kind))
        if measure != name and kind in KINDS and own is not None:
            lines.append(
                f"| {measure} | {kind} | {own.value:.3f} | {risk.control.value:.3f} | {risk.value:.3f} |"
            )
            note("risk", f"Medicare, series of three parts: {measure} ({kind})", own.value, bar=own.bound)
            note("risk", f"Medicare, three releases side by side: {measure} ({kind})", risk.value)
    fill_page("attacks", lines)
    return all(risk.is_within for risk in found["series"].values())


def classes(data: Path) -> bool:
    """Count what the classes of CBLDA could keep of later years if their members stayed together.

    All members of a class show the same events. So of a later year a class keeps at most as many events of
    each member as the member with the fewest has.
    """
    frame, people = claims(data)
    first = medicare_table(frame.filter(pl.col("year") == YEARS[0]), people).events
    first = first.sample(persons=5_000, events=10**9, seed="classes that stay together")
    release = CBLDA(k=5, c=0.7).apply(first, evaluate=False)
    kinds = release.frame.group_by("person", maintain_order=True).agg(
        pl.struct(pl.exclude("person", "diagnosis")).alias("shown")
    )
    group = pl.Series([str(each) for each in kinds["shown"].to_list()]).rank("dense")
    persons = kinds.select("person", group=group).join(
        release.pseudonyms.rename({"person": "PID"}), left_on="person", right_on="pseudonym"
    )
    for year in YEARS[1:]:
        later = frame.filter(pl.col("year") == year).group_by("PID").len()
        counts = persons.join(later, on="PID", how="left").with_columns(pl.col("len").fill_null(0))
        kept = counts.group_by("group").agg(kept=pl.col("len").min() * pl.len(), of=pl.col("len").sum())
        share = kept["kept"].sum() / max(kept["of"].sum(), 1)
        print(f"CBLDA, classes of {YEARS[0]} in {year}: at most {share:.1%} of {kept['of'].sum():,} events")
        note("loss", f"CBLDA, classes of {YEARS[0]} stay together: of {year} lost, at least", 1 - share)
    return bool(np.isfinite(share))


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="*", help="of million, medicare, classes, attacks (default: all)")
    parser.add_argument("--persons", type=int, default=PERSONS, help="persons of million")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("SEQUESTER_DATA", ROOT.parent / "shared" / "data")),
        help="the folder of public data (default: ../shared/data)",
    )
    asked = parser.parse_args()
    parts = {"medicare": medicare, "classes": classes, "attacks": attacks}
    wanted = asked.what or ["million", *parts]
    warnings.simplefilter("ignore", SequesterWarning)
    answers = []
    if "million" in wanted:
        million(2_000, 500)  # compiles
        answers.append(million(asked.persons, asked.persons * NEW // PERSONS))
    for name, part in parts.items():
        if name in wanted and asked.data.is_dir():
            answers.append(part(asked.data))
        elif name in wanted:
            print(f"{name} is left out, there is no folder {asked.data}")
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
