"""One small honest release for each method and each layout, made from a configuration by its publisher."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import polars as pl

from release.samples import Pages
from sequester.io.xes import ACTIVITY, CASE, TIME, write_xes
from sequester.workflow.config import Config
from sequester.workflow.stream.stream import stream
from sequester.workflow.write import write
from workflow.stream.days import make_stream, places

if TYPE_CHECKING:
    from pathlib import Path

SEED = "a sentence that nobody guesses"
NAMES = [
    f"{first} {last}"
    for last, first in product(
        ("Amber", "Birch", "Cedar", "Dune", "Elm", "Fern"), ("Ann", "Bob", "Cat", "Dan")
    )
]
"""Persons as the publisher knows them: text that must never be in a release."""


@dataclass(frozen=True, kw_only=True)
class Publisher:
    """A release, and what the publisher has that made it."""

    name: str
    """The case."""
    out: Path
    """The folder of ``release`` and ``internal``; of a stream, the folder that it publishes to."""
    config: Path
    """The configuration."""
    is_stream: bool = False
    """Snapshots are published one by one."""


def _histories() -> pl.DataFrame:
    zips = ["56117", "56103", "57002", "57010"]
    ages = ["31", "34", "52", "58"]
    rows = []
    for number, name in enumerate(NAMES):
        # Three of four live where most live, so that some values stay as they are and others are generalized.
        for visit in (1, 2):
            zip_code = zips[0] if number % 4 else zips[1 + number // 4 % 3]
            age = ages[(number // 12 + visit) % 2 * 2 + (number % 6 == 0)]
            ill = {0: "HIV", 3: "gout"}.get(number % 6 if visit == 1 else 1, ("flu", "cold")[number % 2])
            second = "HIV" if number in {7, 15} and visit == 2 else "none"
            drug = ("aspirin", "opioid")[number % 6 == 1]
            rows.append((name, visit, zip_code, age, ill, second, drug, ("east", "west")[number % 2]))
    columns = ["pid", "n", "ZIP", "age", "D1", "D2", "drug", "ward"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def _persons() -> pl.DataFrame:
    rows = [
        (
            name,
            name,
            ("f", "m")[number % 2],
            str(1950 + number // 3),
            ("some", "rare")[number % 8 == 3],
            "north",
        )
        for number, name in enumerate([*NAMES, "Eve Gale", "Flo Gale", "Gus Gale"])
    ]
    return pl.DataFrame(rows, schema=["pid", "name", "sex", "born", "faith", "site"], orient="row")


def _symbols() -> pl.DataFrame:
    sequences = ["abc", "abc", "abd", "acd", "bcd", "bd", "cd", "ab", "acb", "abab", "dcba", "bcda"] * 2
    rows = [
        (name, place, symbol)
        for name, sequence in zip(NAMES, sequences, strict=True)
        for place, symbol in enumerate(sequence, start=1)
    ]
    return pl.DataFrame(rows, schema=["pid", "n", "page"], orient="row")


def _records() -> pl.DataFrame:
    rows = []
    for number, name in enumerate(NAMES):
        for visit in range(1, 4):
            ill = ("HIV", "flu", "cold", "gout")[(number + visit * (1 + number // 4)) % 4]
            rows.append((name, visit, str(30 + number), ("m", "f")[number % 2], ill))
    return pl.DataFrame(rows, schema=["pid", "n", "age", "sex", "ill"], orient="row")


def _points() -> pl.DataFrame:
    # Cells of about 500 metres, in the middle of which people stand; some walk another way.
    ways = [(0, 1, 2), (0, 1, 3), (0, 2)]
    rows = [
        (
            name,
            f"t{trip}",
            f"2024-05-0{1 + trip}T08:{10 * step:02d}:00",
            52.5 + 0.01 * cell,
            13.4 + 0.02 * (cell % 2),
        )
        for number, name in enumerate(NAMES)
        for trip in range(1 + number % 2)
        for step, cell in enumerate(ways[number % 7 % 3])
    ]
    return pl.DataFrame(rows, schema=["pid", "trip", "at", "lat", "lon"], orient="row")


HISTORIES = """
[data]
path = "data.csv"
person = "pid"
order = "n"
drop = ["D2", "drug", "ward"]
[data.quasi.ZIP]
hierarchy = { kind = "mask", levels = [3, 1] }
[data.quasi.age]
hierarchy = { kind = "intervals", width = [10, 40], origin = 0 }
[data.sensitive.D1]
protect = ["HIV"]
"""
RICH = """
[data]
path = "data.csv"
person = "pid"
order = "n"
keep = ["ward"]
[data.quasi.ZIP]
hierarchy = { kind = "mask", levels = [3, 1] }
[data.quasi.age]
hierarchy = { kind = "intervals", width = [10, 40], origin = 0 }
[data.sensitive.Disease]
columns = ["D1", "D2"]
protect = ["HIV", "gout"]
[data.sensitive.drug]
protect = ["opioid"]
"""
PERSONS = f"""{HISTORIES}
[data.persons]
path = "persons.csv"
drop = ["name"]
keep = ["site"]
[data.persons.quasi.sex]
hierarchy = {{ kind = "flat" }}
[data.persons.quasi.born]
hierarchy = {{ kind = "intervals", width = [10, 40], origin = 0 }}
[data.persons.sensitive.faith]
protect = ["rare"]
"""
SYMBOLS = """
[data]
path = "data.csv"
person = "pid"
order = "n"
[data.symbol]
column = "page"
"""
TREE = SYMBOLS + 'hierarchy = { kind = "tree", tree = { early = ["a", "b"], late = ["c", "d"] } }\n'
RECORDS = """
[data]
path = "data.csv"
person = "pid"
order = "n"
[data.quasi.age]
hierarchy = { kind = "intervals", width = [10, 20], origin = 0 }
[data.quasi.sex]
hierarchy = { kind = "flat" }
[data.sensitive.ill]
protect = "all"
"""
POINTS = """
[data]
path = "data.csv"
person = "pid"
time = "at"
trip = "trip"
[data.place]
lat = "lat"
lon = "lon"
regions = { kind = "grid", cell = 500 }
"""
XES = f"""
[data]
path = "data.xes"
person = "{CASE}"
time = "{TIME}"
[data.symbol]
column = "{ACTIVITY}"
"""
SPMF = """
[data]
path = "data.spmf"
"""
KCP = "k = 3\nc = 0.6\np = 2\n"
KC = "k = 3\nc = 0.6\n"
HIDE = 'patterns = [["a", "b"], ["b", "d"]]\nmin_support = 3\n'
LEAK = 'patterns = [["a", "b"]]\nwindow = 3\n'
DIVERSE = 'l = 2\nwindow = 2\nsnapshot = "order"\n'

CASES: dict[str, tuple[str, str]] = {
    "halt": (HISTORIES, f'name = "halt"\n{KCP}'),
    "glogen": (HISTORIES, f'name = "glogen"\n{KCP}'),
    "cblda": (HISTORIES, f'name = "cblda"\n{KC}'),
    "cblda-baseline": (HISTORIES, f'name = "cblda-baseline"\n{KC}'),
    "rich": (RICH, f'name = "halt"\n{KCP}'),
    "persons": (PERSONS, f'name = "halt"\n{KCP}'),
    "persons-cblda": (PERSONS, f'name = "cblda"\n{KC}'),
    "p2ka": (SYMBOLS, 'name = "p2ka"\nk = 3\n'),
    "prefix-pruning": (SYMBOLS, 'name = "prefix-pruning"\nk = 3\n'),
    "ph": (SYMBOLS, f'name = "ph"\n{HIDE}'),
    "sbsh": (SYMBOLS, f'name = "sbsh"\n{HIDE}'),
    "abul": (SYMBOLS, f'name = "abul"\n{HIDE}'),
    "top-down": (TREE, f'name = "top-down"\n{LEAK}'),
    "bottom-up": (TREE, f'name = "bottom-up"\n{LEAK}'),
    "reposition": (RECORDS, f'name = "reposition"\n{DIVERSE}'),
    "generalize": (RECORDS, f'name = "reposition"\n{DIVERSE}then = "generalize"\n'),
    "none": (RECORDS, f'name = "reposition"\n{DIVERSE}then = "none"\n'),
    "suppress-only": (RECORDS, f'name = "suppress-only"\n{DIVERSE}'),
    "merge-snapshots": (RECORDS, f'name = "merge-snapshots"\n{DIVERSE}'),
    "trips": (POINTS, 'name = "p2ka"\nk = 3\n'),
    "xes": (XES, 'name = "p2ka"\nk = 3\n'),
    "spmf": (SPMF, 'name = "p2ka"\nk = 3\n'),
    "stream": ("", ""),
}
"""Case to its data and its method; "stream" is published snapshot by snapshot."""

_DATA = {
    HISTORIES: _histories,
    RICH: _histories,
    PERSONS: _histories,
    SYMBOLS: _symbols,
    TREE: _symbols,
    RECORDS: _records,
    POINTS: _points,
}


def make(case: str, folder: Path) -> Publisher:
    """Make the release of a case in `folder`."""
    if case == "stream":
        make_stream(folder, days=2, persons=60)
        stream(folder / "c.toml", **places(folder), finish=True)
        return Publisher(name=case, out=folder / "out", config=folder / "c.toml", is_stream=True)
    data, method = CASES[case]
    if data == XES:
        frame = _symbols()
        times = pl.Series(["2024-05-01"] * frame.height).str.to_datetime() + pl.duration(hours=frame["n"])
        times = pl.select(times).to_series().dt.replace_time_zone("UTC")
        (folder / "data.xes").write_bytes(write_xes(frame["pid"], {ACTIVITY: frame["page"], TIME: times}))
    elif data == SPMF:
        rows = _symbols().group_by("pid", maintain_order=True).agg("page")["page"].to_list()
        lines = [" ".join(f"{ord(item)} -1" for item in row) + " -2" for row in rows]
        labels = [f"@ITEM={ord(item)}={item}" for item in "abcd"]
        (folder / "data.spmf").write_text("\n".join([*labels, *lines, ""]))
    else:
        _DATA[data]().write_csv(folder / "data.csv")
    if data == PERSONS:
        _persons().write_csv(folder / "persons.csv")
    config = folder / "release.toml"
    config.write_text(
        f'{data}[method]\n{method}[release]\npath = "out"\npseudonyms = true\nseed = "{SEED}"\n'
    )
    asked = Config.load(config)
    table = asked.table()
    release = replace(asked.method().apply(table, seed=SEED), event_log=asked.event_log)
    write(release, folder / "out", original=table, pseudonyms=True, report=Pages())
    return Publisher(name=case, out=folder / "out", config=config)
