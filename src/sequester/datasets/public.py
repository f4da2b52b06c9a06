"""The public data sets, by name, from the folder where they lie: every value as text, their traps handled.

None of them belongs to this project, and nothing of them is kept here. What a source has lost stays lost: the
click order of BMSWebView1, the leading zeros of the ICD codes of the MIMIC demo.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from sequester._validation import in_range
from sequester.errors import InputError, ignore_warning
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.io import read_frame
from sequester.io.contents import check_path, read_contents
from sequester.io.csv import read_csv

if TYPE_CHECKING:
    from collections.abc import Callable

    Reader = Callable[[Path], pl.DataFrame]
    """Takes the folder that holds all data sets, or the data set's one file."""


def load(name: str, source: str | Path) -> pl.DataFrame:
    """Read a public data set: from the folder that holds all of them, each in one of its own, or its file.

    A data set of one file, or one of several that are alike, is also read from that file, wherever it lies.
    Every column is text, as written in the file but for the traps: padded names of columns, lines below the
    header, runs of tabs, numbers that stand for labels, years of two digits.
    """
    if name not in PUBLIC:
        msg = f"the data set must be one of {', '.join(PUBLIC)}, got {name!r}"
        raise InputError(msg)
    return PUBLIC[name](Path(source)).cast(pl.String)


def _file(path: str, *, format: str | None = None, delimiter: str | None = None) -> Reader:  # noqa: A002
    """Read one file as it is, blanks around the names of columns aside."""

    def read(folder: Path) -> pl.DataFrame:
        found = _find(folder, path)
        return read_frame(found, format=format, delimiter=delimiter, warn=ignore_warning)

    return read


def _find(source: Path, name: str) -> Path:
    """Return the file itself, or the one of that name in the folder, also without ``.gz``."""
    if source.is_file():
        return source
    path = source / name
    unpacked = path.with_suffix("") if path.suffix == ".gz" else path
    return unpacked if not path.exists() and unpacked.exists() else path


def _files(home: str, pattern: str) -> Reader:
    """Read all files of a folder whose names match, one below the other; named groups become columns."""
    wanted = re.compile(pattern + r"(?:\.gz)?")

    def read(folder: Path) -> pl.DataFrame:
        place = folder if folder.is_file() else folder / home
        check_path(place)
        found = [
            ([text.zfill(4) for text in match.groups()], path, match.groupdict())
            for path in ([place] if place.is_file() else place.iterdir())
            if (match := wanted.fullmatch(path.name))
        ]
        if not found:
            msg = f"{place}: {'is' if place.is_file() else 'has'} no file called {pattern}"
            raise InputError(msg)
        return pl.concat(
            read_frame(path).select(*(pl.lit(text).alias(name) for name, text in said.items()), pl.all())
            for _, path, said in sorted(found)
        )

    return read


def _need_folder(source: Path) -> None:
    if source.is_file():
        msg = f"{source}: this data set has several files; name the folder that holds all data sets"
        raise InputError(msg)


def _lines(source: Path, name: str) -> tuple[str, list[bytes]]:
    """Return the file's name and its lines, whatever ends them; in one of Kasteren's it is a bare CR."""
    path = _find(source, name)
    check_path(path)
    return str(path), read_contents(path).splitlines()


def _kasteren(house: str, kind: str, labels: str) -> Reader:
    """Read one house, and write beside each number of an activity or sensor what it stands for."""

    def read(folder: Path) -> pl.DataFrame:
        _need_folder(folder)
        events = _file(f"kasteren/K{house}_{kind}.csv.gz", delimiter="\t")(folder)
        name, lines = _lines(folder, f"kasteren/K{house}_{labels}.csv.gz")
        names = read_csv(b"\n".join(lines), name, delimiter="\t")
        names = names.with_columns(pl.col("label").str.strip_chars(" '"))
        return events.join(names, on="ID", how="left", maintain_order="left")

    return read


def _ordonez(kind: str) -> Reader:
    """Read a table with runs of tabs between its cells and a line of dashes below its header."""

    def read(folder: Path) -> pl.DataFrame:
        name, (header, _, *rows) = _lines(folder, f"uci_adl/OrdonezA_{kind}.txt.gz")
        lines = [re.sub(rb" *\t+ *", b"\t", line.strip()) for line in (header, *rows)]
        return read_csv(b"\n".join(lines), name, delimiter="\t")

    return read


def _diabetes(folder: Path) -> pl.DataFrame:
    """Read the events of the diabetes patients; 33 rows lack their last cell, which is missing then."""
    name, lines = _lines(folder, "uci_diabetes70/diabetes70.tsv.gz")
    n_tabs = lines[0].count(b"\t")
    whole = [line + b"\t" * (n_tabs - line.count(b"\t")) for line in lines]
    return read_csv(b"\n".join(whole), name, delimiter="\t")


def _mimic(table: str, *columns: str) -> Reader:
    """Read a table of the MIMIC demo, and give its dates back the century that a spreadsheet cut off.

    All dates of a patient lie within decades of the patient's anchor year, so the nearest century is the one.
    """

    def read(folder: Path) -> pl.DataFrame:
        _need_folder(folder)
        frame, patients = (_file(f"mimic4demo/{name}.csv.gz")(folder) for name in (table, "patients"))
        anchor = frame.select("subject_id").join(patients, on="subject_id", how="left", maintain_order="left")
        year = anchor["anchor_year"].cast(pl.Int64)
        return frame.with_columns(_whole_date(frame[column], year) for column in columns)

    return read


def _whole_date(text: pl.Series, near: pl.Series) -> pl.Series:
    """Write ``2/24/96 14:38`` as ``2196-02-24 14:38``, the year being the nearest to `near`."""
    parts = text.str.extract_groups(
        r"^(?<month>\d+)/(?<day>\d+)/(?<year>\d\d)(?: (?<hour>\d+):(?<minute>\d\d))?$"
    )
    cells = parts.struct.unnest()
    year = near - 50 + (cells["year"].cast(pl.Int64) - near + 50) % 100
    day = year.cast(pl.String) + "-" + cells["month"].str.zfill(2) + "-" + cells["day"].str.zfill(2)
    clock = " " + cells["hour"].str.zfill(2) + ":" + cells["minute"]
    return (day + clock.fill_null("")).alias(text.name)


PUBLIC: dict[str, Reader] = {
    "msnbc": _file("msnbc/msnbc990928.seq.gz"),
    "spmf-msnbc": _file("spmf/MSNBC.txt.gz", format="spmf"),
    "spmf-bms": _file("spmf/BMSWebView1.txt.gz", format="spmf"),
    "spmf-sign": _file("spmf/SIGN.txt.gz", format="spmf"),
    "spmf-leviathan": _file("spmf/LEVIATHAN.txt.gz", format="spmf"),
    "spmf-bike": _file("spmf/BIKE.txt.gz", format="spmf"),
    "desynpuf-claims": _files("desynpuf", r"DE1_0_2008_to_2010_Inpatient_Claims_Sample_(?P<sample>\d+)\.csv"),
    "desynpuf-beneficiaries": _files(
        "desynpuf", r"DE1_0_(?P<year>\d{4})_Beneficiary_Summary_File_Sample_(?P<sample>\d+)\.csv"
    ),
    "sepsis": _file("sepsis/Sepsis.csv.gz"),
    "bpic2013-incidents": _file("eventlogs/07_bpic2013_incidents.xes.gz"),
    "receipt": _file("eventlogs/08_receipt.xes.gz"),
    "helpdesk": _file("eventlogs/helpdesk.xes.gz"),
    "running-example": _file("eventlogs/running-example.xes.gz"),
    "traffic-fines": _file("eventlogs/traffic_fines.csv.gz"),
    "hospital-billing": _file("eventlogs/hospital_billing.csv.gz"),
    "diabetes70": _diabetes,
    "mimic4demo-patients": _mimic("patients", "dod"),
    "mimic4demo-admissions": _mimic(
        "admissions", "admittime", "dischtime", "deathtime", "edregtime", "edouttime"
    ),
    "mimic4demo-diagnoses": _file("mimic4demo/diagnoses_icd.csv.gz"),
    "synthea-patients": _file("synthea/patients.csv.gz"),
    "synthea-conditions": _file("synthea/conditions.csv.gz"),
    "synthea-medications": _file("synthea/medications.csv.gz"),
    "foursquare-nyc": _files("foursquare_nyc_week", r"(?P<part>train|test)_latlon\.csv"),
    "geolife11": _file("geolife11/geolife11.csv.gz"),
    "aruba": _file("casas_aruba/activity_dataset.csv.gz"),
    "aruba-marks": _file("casas_aruba/dataset.csv.gz"),
    "hh101": _file("casas_hh101/dataset.csv.gz"),
    "kasteren-a": _kasteren("A", "as", "activity_labels"),
    "kasteren-b": _kasteren("B", "as", "activity_labels"),
    "kasteren-c": _kasteren("C", "as", "activity_labels"),
    "kasteren-a-sensors": _kasteren("A", "ss", "sensor_labels"),
    "kasteren-b-sensors": _kasteren("B", "ss", "sensor_labels"),
    "kasteren-c-sensors": _kasteren("C", "ss", "sensor_labels"),
    "ordonez-a": _ordonez("ADLs"),
    "ordonez-a-sensors": _ordonez("Sensors"),
    "mvad": _file("lifecourse/mvad.csv.gz"),
    "biofam": _file("lifecourse/biofam.csv.gz"),
    "fitbit": _file("fitbit/hourlySteps_merged.csv.gz"),
    "houston-crime": _file("houston_crime/crime.csv.gz"),
    "hk-covid": _file("hk_covid/enhanced_sur_covid_19_eng.csv.gz"),
}
"""Name to the reader of a data set."""


def areas(n_areas: int, *, first: int = 1, width: int = 10) -> Hierarchy:
    """Return a taxonomy of numbered areas in bins of ten consecutive numbers, as for Reality Mining.

    Examples
    --------
    >>> tens = areas(69)
    >>> tens.level_labels(1)
    ('[11:20]', '[1:10]', '[21:30]', '[31:40]', '[41:50]', '[51:60]', '[61:69]')
    >>> tens.generalize("65", 1)
    '[61:69]'
    """
    in_range("n_areas", n_areas, 1)
    in_range("width", width, 2)
    last = first + n_areas - 1
    bins = {}
    for low in range(first, last + 1, width):
        high = min(low + width - 1, last)
        # A bin of one number is the number itself.
        bins[f"[{low}:{high}]" if high > low else str(low)] = (
            [str(number) for number in range(low, high + 1)] if high > low else {}
        )
    return Hierarchy.from_tree(bins)
