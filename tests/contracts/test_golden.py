"""Released data stays as it was recorded, byte for byte, whatever the code that makes it looks like.

`golden.json` has, per case, the SHA-256 of every released table, hierarchy file and ``changes.parquet``, and
the claim with its verdict. Parquet files count by their content, since their bytes belong to polars. A change
that is meant is recorded with ``SEQUESTER_RECORD=1 pytest tests/contracts/test_golden.py``, and its commit
says why.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from sequester.datasets import DATASETS, make
from sequester.errors import SequesterWarning
from sequester.workflow.convert import Source, convert
from sequester.workflow.protect import protect
from sequester.workflow.stream.stream import stream

GOLDEN = Path(__file__).with_name("golden.json")
SEED = "a sentence that nobody guesses"

HOSPITAL = """
[data]
path = "data.csv"
person = "PID"
order = "VID"
{extra}
[data.quasi.AdmYr]
hierarchy = {{ kind = "flat" }}
[data.quasi.ZIP]
hierarchy = {{ kind = "mask", levels = [3, 1] }}
[data.quasi.DSFC]
hierarchy = {{ kind = "intervals", width = [7, 28, 84], origin = 0 }}
[data.sensitive.Disease]
protect = ["HIV", "Alcoholism"]
"""
LENGTH = """
[data.quasi.LOS]
hierarchy = { kind = "quantiles", bins = [8, 2] }
"""
VISITS = HOSPITAL.format(extra='drop = ["LOS"]')
WARDS = HOSPITAL.format(extra='keep = ["LOS"]')
STAYS = HOSPITAL.format(extra="") + LENGTH
PATIENTS = """
[data]
path = "data.csv"
person = "patient"
time = "date"
[data.quasi.sex]
hierarchy = { kind = "flat" }
[data.quasi.age]
hierarchy = { kind = "intervals", width = [10, 30], origin = 0 }
[data.quasi.district]
hierarchy = { kind = "flat" }
[data.sensitive.diagnosis]
protect = ["depression"]
"""
RECORDS = PATIENTS.replace('["depression"]', '"all"')
CLICKS = """
[data]
path = "data.csv"
person = "user"
time = "at"
[data.symbol]
column = "page"
hierarchy = { path = "data.page.csv" }
"""
BROWSING = CLICKS.replace('symbol]\ncolumn = "page"', "quasi.page]")
PAGES = """
[data]
path = "data.csv"
person = "user"
time = "at"
[data.sensitive.page]
protect = "all"
"""
ADMISSIONS = """
[data]
path = "data.csv"
person = "PID"
time = "AdmYr"
time_format = "%Y"
drop = ["VID", "DSFC"]
[data.quasi.ZIP]
hierarchy = { kind = "mask", levels = [3, 1] }
[data.quasi.LOS]
hierarchy = { kind = "intervals", width = [7, 28], origin = 0 }
[data.sensitive.Disease]
protect = "all"
"""
DISEASES = """
[data]
path = "data.csv"
person = "PID"
order = "VID"
drop = ["AdmYr", "ZIP", "DSFC", "LOS"]
[data.symbol]
column = "Disease"
"""
BASKETS = """
[data]
path = "data.csv"
person = "customer"
order = "basket"
[data.symbol]
column = "item"
"""
LOG = """
[data]
path = "data.csv"
person = "user"
time = "at"
[data.symbol]
column = "activity"
hierarchy = { path = "data.activity.csv" }
"""
GROCERIES = """
[data]
path = "data.csv"
person = "user"
order = "place"
[data.symbol]
column = "item"
hierarchy = { path = "data.item.csv" }
"""
EVENT_LOG = """
[data]
path = "data.xes"
person = "case:concept:name"
time = "time:timestamp"
[data.symbol]
column = "concept:name"
"""
TRIPS = """
[data]
path = "data.csv"
person = "user"
time = "at"
trip = "trip"
[data.place]
lat = "lat"
lon = "lon"
regions = { kind = "grid", cell = 2000 }
"""
DENSITY = TRIPS.replace('"grid", cell = 2000', '"density", cell = 500, threshold = 0.05, touch = "points"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One release: the data set, how large it is, its roles, and the method."""

    dataset: str
    persons: int | None
    roles: str
    method: str
    rows: int | None = None

    def config(self, folder: Path) -> Path:
        """Write the input and the configuration."""
        frame = make(self.dataset, persons=self.persons, seed="golden").head(self.rows or 10**9)
        frame.write_csv(folder / "data.csv", datetime_format="%Y-%m-%dT%H:%M:%S")
        for column, tree in DATASETS[self.dataset].hierarchies().items():
            tree.write_arx(folder / f"data.{column}.csv")
        if "data.xes" in self.roles:
            (folder / "roles.toml").write_text(CLICKS, encoding="utf-8")
            convert(Source(path=folder / "roles.toml"), folder / "data.xes")
        path = folder / "release.toml"
        release = 'path = "out"\nmax_suppressed = 1.0\naccept_unprotected = true'
        text = f"{self.roles}\n[method]\n{self.method}\n[release]\n{release}\n"
        path.write_text(text, encoding="utf-8")
        return path


def _cases() -> dict[str, Case]:
    visits = {"dataset": "hospital", "persons": 250}
    clicks = {"dataset": "clicks", "persons": 300, "roles": CLICKS}
    xes = {"dataset": "clicks", "persons": 120, "roles": EVENT_LOG}
    quest = {"dataset": "quest", "persons": 40, "roles": BASKETS, "rows": 400}
    trips = {"dataset": "trips", "persons": 80}
    log = {"dataset": "activities", "persons": 1, "roles": LOG, "rows": 500}
    days = {"dataset": "days", "persons": 1500}
    cases = {}
    suppression = 'suppression = "{}"\n'
    for name, how in {"halt": "global", "halt local": "local", "glogen": ""}.items():
        asked = f'name = "{name.split()[0]}"\nk = 3\nc = 0.5\ninfeasible = "drop"\n'
        asked += suppression.format(how) if how else ""
        cases[f"{name} hospital"] = Case(**visits, roles=VISITS, method=f'{asked}p = 2\nlevels = "same"')
        cases[f"{name} kept"] = Case(**visits, roles=WARDS, method=f'{asked}p = 1\nlevels = "mixed"')
        cases[f"{name} days"] = Case(**days, roles=PATIENTS, method=f'{asked}p = 2\nlevels = "mixed"')
    for name, how in {"halt": "global", "halt local": "local"}.items():
        cases[f"{name} stars"] = Case(
            **visits,
            roles=STAYS,
            method='name = "halt"\nk = 3\nc = "1/3"\np = 2\nstars = "ignored"\nsearch = "full"\n'
            f'levels = "same"\ninfeasible = "drop"\n{suppression.format(how)}',
        )
    for name in ("cblda", "cblda-baseline"):
        asked = f'name = "{name}"\nk = 4\nc = 0.5\ninfeasible = "drop"\n'
        cases[f"{name} hospital"] = Case(**visits, roles=STAYS, method=asked)
        cases[f"{name} kept"] = Case(**visits, roles=WARDS, method=f'{asked}reading = "each"')
        cases[f"{name} days"] = Case(**days, roles=PATIENTS, method=asked)
    asked = 'name = "cblda"\nk = 4\nc = 0.5\ninfeasible = "drop"\nsearch = "greedy"\n'
    cases["cblda greedy"] = Case(**visits, roles=STAYS, method=asked)
    for name in ("p2ka", "prefix-pruning"):
        asked = f'name = "{name}"\nk = 4\n'
        cases[f"{name} clicks"] = Case(**clicks, method=asked)
        cases[f"{name} xes"] = Case(**xes, method=asked)
        cases[f"{name} trips"] = Case(**trips, roles=TRIPS, method=asked)
    cases["p2ka density"] = Case(**trips, roles=DENSITY, method='name = "p2ka"\nk = 3\nstrict = false')
    cases["p2ka nearness"] = Case(**trips, roles=TRIPS, method='name = "p2ka"\nk = 4\nnearness = 3000')
    pages = 'patterns = [["news", "sports"], ["frontpage", "on-air"]]\n'
    items = 'patterns = [["i04837", "i06049"]]\n'
    for name in ("ph", "sbsh", "abul"):
        asked = f'name = "{name}"\nmin_support = 4\n'
        cases[f"{name} clicks"] = Case(**clicks, method=asked + pages)
        cases[f"{name} xes"] = Case(**xes, method=asked + pages)
        cases[f"{name} quest"] = Case(**quest, method=asked.replace("4", "2") + items)
    for name in ("top-down", "bottom-up"):
        asked = f'name = "{name}"\nmeasure = "paper"\n'
        cases[f"{name} clicks"] = Case(
            **(clicks | {"persons": 60}), method=f'{asked}{pages}scope = "local"\nmax_leakage = 0.6'
        )
        cases[f"{name} log"] = Case(
            **log, method=f'{asked}patterns = [["toilet", "shower"]]\nmax_leakage_bits = 0.05'
        )
        cases[f"{name} exact"] = Case(
            **log, method=f'name = "{name}"\npatterns = [["toilet", "shower"]]\nmax_leakage = 0.3'
        )
        cases[f"{name} groceries"] = Case(
            dataset="bonomi-groceries",
            persons=None,
            roles=GROCERIES,
            method=f'{asked}patterns = [["Beer", "Chips"], ["Wine", "Cereal"]]\nwindow = 3\n'
            "worst_case = true",
        )
    for name in ("reposition", "suppress-only", "merge-snapshots"):
        for then in ("anatomy", "generalize", "none"):
            cases[f"{name} {then}"] = Case(
                **days, roles=RECORDS, method=f'name = "{name}"\nl = 3\nwindow = 4\nthen = "{then}"'
            )
    return cases | _third_data_sets()


def _third_data_sets() -> dict[str, Case]:
    """Return what brings every method to three data sets: the other cases repeat some with other roles."""
    clicks = {"dataset": "clicks", "persons": 300}
    log = {"dataset": "activities", "persons": 1, "roles": LOG, "rows": 500}
    cases = {}
    for name in ("halt", "glogen", "cblda", "cblda-baseline"):
        asked = f'name = "{name}"\nk = 3\nc = 0.5\ninfeasible = "drop"\n'
        asked += "p = 2\n" if name in {"halt", "glogen"} else ""
        cases[f"{name} clicks"] = Case(**clicks, roles=BROWSING, method=asked)
    for name in ("p2ka", "prefix-pruning"):
        asked = f'name = "{name}"\nk = 3'
        cases[f"{name} hospital"] = Case(dataset="hospital", persons=250, roles=DISEASES, method=asked)
    for name in ("ph", "sbsh", "abul"):
        asked = f'name = "{name}"\nmin_support = 1\nmax_length = 2\npatterns = [["toilet", "shower"]]'
        cases[f"{name} log"] = Case(**log, method=asked)
    for name in ("reposition", "suppress-only", "merge-snapshots"):
        asked = f'name = "{name}"\nl = 3\nwindow = 4\n'
        cases[f"{name} hospital"] = Case(dataset="hospital", persons=250, roles=ADMISSIONS, method=asked)
        cases[f"{name} clicks"] = Case(**clicks, roles=PAGES, method=f'{asked}then = "none"')
    return cases


CASES = _cases()


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, of a Parquet file's types and rows."""
    if path.suffix == ".parquet":
        frame = pl.read_parquet(path)
        return hashlib.sha256((str(frame.schema) + frame.write_csv()).encode()).hexdigest()
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fingerprint(folder: Path) -> dict[str, object]:
    """Return what must stay of a release: hashes of its files, and per certificate its claim and verdict."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.suffix in {".csv", ".parquet", ".xes", ".geojson"} and "pseudonyms" not in name:
            found[name] = digest(path)
        elif path.name == "croissant.json":
            described = json.loads(path.read_text(encoding="utf-8"))
            # The files are recorded by themselves, and the version is in the description.
            names = [each["@id"] for each in described.pop("distribution")]
            del described["description"]
            text = json.dumps([described, names], sort_keys=True)
            found[name] = hashlib.sha256(text.encode()).hexdigest()
        elif name.endswith("certificate.json"):
            document = json.loads(path.read_text(encoding="utf-8"))
            found[name] = {"claim": document["claim"], "verdict": document["verdict"]}
    return found


def expect(name: str, found: dict[str, object]) -> None:
    """Compare with what was recorded, or record it."""
    recorded = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    if os.environ.get("SEQUESTER_RECORD"):
        recorded[name] = found
        text = json.dumps(dict(sorted(recorded.items())), indent=1, sort_keys=True, ensure_ascii=False)
        GOLDEN.write_text(text + "\n", encoding="utf-8")
    assert found == recorded[name]


@pytest.mark.parametrize("name", CASES)
def test_released_bytes_are_those_that_were_recorded(name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        protect(CASES[name].config(tmp_path), seed=SEED, quick=True)
    expect(name, fingerprint(tmp_path / "out"))


def test_streamed_bytes_are_those_that_were_recorded(tmp_path):
    config = Case(dataset="days", persons=600, roles=RECORDS, method='name = "reposition"\nl = 3\nwindow = 3')
    path = config.config(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").split("[release]")[0] + f'[release]\nseed = "{SEED}"\n')
    days = pl.read_csv(tmp_path / "data.csv", infer_schema=False)
    (tmp_path / "in").mkdir()
    for (day,), records in sorted(days.group_by("date")):
        records.write_csv(tmp_path / "in" / f"{day}.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        stream(path, inputs=tmp_path / "in", out=tmp_path / "out", state=tmp_path / "state", finish=True)
    expect("stream", fingerprint(tmp_path / "out"))


def test_every_method_has_three_data_sets():
    from sequester.methods import METHODS

    for name in METHODS:
        assert len({case.dataset for key, case in CASES.items() if key.split()[0] == name}) >= 3
