"""The thesis' longitudinal table, built from the public DE-SynPUF inpatient claims of Medicare.

Of several codes of Table 6.2 in one claim the first is taken, which the thesis leaves open. In one thing this
departs from it: the diagnosis related group (``CLM_DRG_CD``) is not looked at, because it is no ICD-9 code;
its 291 stands for heart failure, and the ICD-9 code 291 for what alcohol does.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.schema import Protect
from sequester.datasets import SEED
from sequester.datasets.draws import generator
from sequester.errors import InputError
from sequester.io import read_frame

if TYPE_CHECKING:
    from collections.abc import Iterable

TABLE_6_2 = {
    "HIV": Protect(range=("042-044",)),
    "other pregnancy with abortive outcome": Protect(range=("634-639",)),
    "ectopic and molar pregnancy": Protect(range=("630-633",)),
    "abuse or assault": Protect(prefix=("9955", "99581", "99582", "99583", "E95", "E96", "V154")),
    "substance abuse or dependence": Protect(prefix=("291", "292", "303", "304", "305")),
    "psychosexual disorders": Protect(prefix=("302",)),
    "mental retardation": Protect(range=("317-319",)),
    "plastic surgery for unacceptable cosmetic appearance": Protect(prefix=("V501",)),
    "aftercare involving the use of plastic surgery": Protect(prefix=("V51",)),
}
"""The highly sensitive diagnoses of the thesis, by their ICD-9 codes without the point."""

PROTECTED = Protect(
    prefix=tuple(text for each in TABLE_6_2.values() for text in each.prefix),
    range=tuple(text for each in TABLE_6_2.values() for text in each.range),
)
"""All of Table 6.2, as a schema takes it."""

QUASI = ("admission", "discharge", "LOS", "payment", "DSFC")
"""The quasi-identifiers of the thesis."""

# Claims, longest history, and percentage of claims with a code of Table 6.2.
TABLE_6_3 = {
    1: (66773, 14, 8.39),
    2: (66494, 14, 8.06),
    3: (66672, 15, 8.18),
    4: (66253, 15, 8.03),
    5: (66414, 12, 8.23),
    6: (66977, 15, 8.42),
    7: (66791, 15, 8.21),
    8: (66490, 14, 8.20),
    9: (66763, 12, 8.47),
    10: (66585, 12, 8.18),
    11: (66425, 14, 8.51),
    12: (66717, 15, 8.25),
    13: (66324, 12, 8.25),
    14: (67024, 13, 8.14),
    15: (66846, 12, 8.15),
    16: (66800, 12, 8.25),
    17: (66495, 12, 8.13),
    18: (66428, 13, 8.13),
    19: (67037, 13, 8.12),
    20: (66514, 12, 8.27),
}
"""What the thesis counts in each whole sample of the CMS; ours may hold a part of one."""

_DIAGNOSES = (*(f"ICD9_DGNS_CD_{number}" for number in range(1, 11)), "ADMTNG_ICD9_DGNS_CD")
_DATES = {"admission": "CLM_ADMSN_DT", "discharge": "NCH_BENE_DSCHRG_DT"}
_OTHERS = ("DESYNPUF_ID", "CLM_ID", "CLM_FROM_DT", "CLM_UTLZTN_DAY_CNT", "CLM_PMT_AMT")
_FILE = re.compile(r"Inpatient_Claims_Sample_(\d+)\.csv(?:\.gz)?$")


def table(source: str | Path | Iterable[str | Path], *, seed: str = SEED) -> pl.DataFrame:
    """Build the events of the thesis: one row per claim, in order of admission per person.

    Columns: ``PID``, ``claim``, ``sample``, ``admission``, ``discharge``, ``LOS``, ``payment`` (in whole
    dollars), ``DSFC`` (days since the person's first admission of the year) and ``diagnosis``: a code of
    Table 6.2 if the claim has one, otherwise one of its codes, chosen by the seed; missing where it has none
    at all. Second segments of a claim, which have no claim dates, are dropped.

    Parameters
    ----------
    source
        The folder of the CMS files, or some of the files; their names end in
        ``Inpatient_Claims_Sample_1.csv``, also with ``.gz``.
    seed
        The same text chooses the same diagnoses from the same files.
    """
    claims = pl.concat(_read(path, sample) for path, sample in _files(source))
    events = claims.filter(pl.col("CLM_FROM_DT").is_not_null()).select(
        pl.col("DESYNPUF_ID").alias("PID"),
        pl.col("CLM_ID").alias("claim"),
        "sample",
        *(pl.col(column).str.to_date("%Y%m%d").alias(name) for name, column in _DATES.items()),
        pl.col("CLM_UTLZTN_DAY_CNT").cast(pl.Int64).alias("LOS"),
        pl.col("CLM_PMT_AMT").cast(pl.Float64).round().cast(pl.Int64).alias("payment"),
        *_DIAGNOSES,
    )
    events = events.sort("sample", "PID", "admission", "claim")
    first = pl.col("admission").min().over("PID", pl.col("admission").dt.year())
    return events.select(
        pl.exclude(_DIAGNOSES),
        DSFC=(pl.col("admission") - first).dt.total_days(),
        diagnosis=_diagnosis(events.select(_DIAGNOSES), seed),
    )


def protected_shares(source: str | Path | Iterable[str | Path], *, without: str) -> list[dict[str, float]]:
    """Count the claims with a code of Table 6.2 among the first one, two, ... of their codes.

    Each row has the number of ``codes``, the share of claims that are ``protected``, and that share where
    codes that begin with `without` do not count (``protected_without``). The last code is that of admission.
    """
    claims = pl.concat(_read(path, sample) for path, sample in _files(source))
    claims = claims.filter(pl.col("CLM_FROM_DT").is_not_null())
    is_protected = [_is_protected(claims[name]) for name in _DIAGNOSES]
    is_other = [
        each & ~claims[name].str.starts_with(without).fill_null(value=False)
        for each, name in zip(is_protected, _DIAGNOSES, strict=True)
    ]
    return [
        {
            "codes": number,
            "claims": len(claims),
            "protected": np.logical_or.reduce(is_protected[:number]).mean(),
            "protected_without": np.logical_or.reduce(is_other[:number]).mean(),
        }
        for number in range(1, len(_DIAGNOSES) + 1)
    ]


def _files(source: str | Path | Iterable[str | Path]) -> list[tuple[Path, int]]:
    """List the files with the number of their sample, in order of the numbers."""
    if isinstance(source, str | Path):
        folder = Path(source)
        paths = (
            [path for path in folder.iterdir() if _FILE.search(path.name)] if folder.is_dir() else [folder]
        )
    else:
        paths = [Path(path) for path in source]
    found = [(path, int(match[1])) for path in paths if (match := _FILE.search(path.name))]
    if not found or len(found) < len(paths):
        msg = f"{source}: the files must be called ...Inpatient_Claims_Sample_1.csv, or .csv.gz"
        raise InputError(msg)
    return sorted(found, key=lambda each: each[1])


def _read(path: Path, sample: int) -> pl.DataFrame:
    frame = read_frame(path)
    wanted = [*_OTHERS, *_DATES.values(), *_DIAGNOSES]
    missing = [column for column in wanted if column not in frame.columns]
    if missing:
        raise InputError(*(f"{path}: has no column {column!r}" for column in missing))
    return frame.select(*wanted, sample=pl.lit(sample))


def _is_protected(codes: pl.Series) -> pl.Series:
    protected = PROTECTED.of(codes.drop_nulls().unique(maintain_order=True).to_list())
    return codes.is_in(protected).fill_null(value=False)


def _diagnosis(codes: pl.DataFrame, seed: str) -> pl.Series:
    """Choose one code of each row: the first that is protected, otherwise any that is there."""
    columns = codes.get_columns()
    is_there = np.stack([column.is_not_null().to_numpy() for column in columns], axis=1)
    is_protected = np.stack([_is_protected(column).to_numpy() for column in columns], axis=1)
    drawn = generator("desynpuf", seed).random(len(codes)) * is_there.sum(axis=1)
    one_of_them = (np.cumsum(is_there, axis=1) > drawn[:, None]).argmax(axis=1)
    chosen = np.where(is_protected.any(axis=1), is_protected.argmax(axis=1), one_of_them)
    flat = pl.concat([column.alias("diagnosis") for column in columns])
    return flat.gather(chosen * len(codes) + np.arange(len(codes)))
