"""Wide data: 100,000 events with 43 and with 50 quasi-identifiers, every command within a minute.

    python benchmarks/bench_wide.py                                    made data of 50 columns
    python benchmarks/bench_wide.py "made 43" medicare --only halt     other tables, and some commands

Made visits look like public records of diabetes in hospitals: diagnoses of hundreds of values, numbers with
long tails, and many medicines that hardly anybody takes. The public one are Medicare claims with all that is
known of the beneficiary (the folder desynpuf of --data), of 43 columns. Each command runs in a process of its
own, with kernels compiled. Its bar is a minute on an idle machine; beside the seconds on the wall stands the
processor time of all cores, which does not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from ledger import note

ROOT = Path(__file__).parents[1]
EVENTS, MOST_SECONDS = 100_000, 60.0
FLAT = '{ kind = "flat" }'
MASK = '{ kind = "mask", levels = [3, 1] }'
"""Codes whose first characters say what kind they are."""
CATEGORIES = {
    "race": 6,
    "gender": 3,
    "weight": 10,
    "admission_type": 8,
    "discharge": 26,
    "source": 17,
    "payer": 18,
    "specialty": 72,
    "glucose": 4,
    "a1c": 4,
    "change": 2,
    "medication": 2,
    "region": 9,
    "language": 12,
    "marital": 6,
    "smoker": 3,
    "plan": 5,
}
NUMBERS = {
    "age": (99, [10, 50]),
    "stay": (14, [2, 6]),
    "lab_procedures": (118, [10, 40]),
    "procedures": (7, [2]),
    "medicines": (75, [5, 20]),
    "outpatient": (39, [2, 10]),
    "emergency": (63, [2, 10]),
    "inpatient": (21, [2, 10]),
    "diagnoses": (16, [4]),
    "transfers": (9, [3]),
    "children": (8, [2]),
}
"""Largest value, and widths of intervals."""
CODES = {"diagnosis_1": 716, "diagnosis_2": 748, "diagnosis_3": 789}
ANSWERS = ("--recipient", "partner", "--known", "few", "--keep", "records", "--release", "once")
METHODS = {
    "halt, p = 2": 'name = "halt"\nk = 5\nc = 0.5\np = 2',
    "halt, p = 3": 'name = "halt"\nk = 5\nc = 0.5\np = 3',
    "halt, p = 3, global": 'name = "halt"\nk = 5\nc = 0.5\np = 3\nsuppression = "global"',
    "cblda": 'name = "cblda"\nk = 5\nc = 0.5',
}
USUAL = "made 50"
"""The table that is measured unless others are named."""


def made(n_columns: int) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return visits, and the hierarchy of each quasi-identifier."""
    rng = np.random.default_rng(7)
    sizes = rng.geometric(0.715, EVENTS)
    persons = np.repeat(np.arange(EVENTS), sizes)[:EVENTS]
    order = np.arange(EVENTS) - np.searchsorted(persons, persons)
    columns: dict[str, np.ndarray] = {"person": persons, "visit": order}
    hierarchies = {}
    # How ill somebody is shows in many columns.
    severity = rng.random(int(persons[-1]) + 1)[persons]
    for name, most in CATEGORIES.items():
        shares = 1 / np.arange(1, most + 1) ** 1.5
        fixed = rng.choice(most, int(persons[-1]) + 1, p=shares / shares.sum())
        columns[name] = np.char.add(f"{name[:2]}", fixed[persons].astype(str))
        hierarchies[name] = FLAT
    for name, (most, widths) in NUMBERS.items():
        drawn = rng.exponential(most / 8 * (0.5 + severity))
        columns[name] = np.minimum(drawn.astype(int), most)
        hierarchies[name] = f'{{ kind = "intervals", width = {widths}, origin = 0 }}'
    for name, most in CODES.items():
        shares = 1 / np.arange(1, most + 1)
        drawn = rng.choice(most, EVENTS, p=shares / shares.sum())
        # Codes that are close stand for diseases of one kind.
        columns[name] = np.array([f"{code % 997:03d}.{code % 7}" for code in drawn * 13])
        hierarchies[name] = MASK
    for place in range(n_columns - len(hierarchies)):
        rarity = 0.3 * 0.7**place
        taken = rng.random(EVENTS) < rarity * (0.5 + severity)
        dose = rng.choice(["steady", "up", "down"], EVENTS, p=[0.8, 0.12, 0.08])
        columns[f"drug_{place}"] = np.where(taken, dose, "no")
        hierarchies[f"drug_{place}"] = FLAT
    readmitted = np.where(rng.random(EVENTS) < 0.05 + 0.12 * severity, "<30", "no")
    frame = pl.DataFrame(columns).with_columns(pl.Series("secret", readmitted))
    return frame, dict(list(hierarchies.items())[:n_columns])


def medicare(folder: Path) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return inpatient claims with their diagnoses, procedures, and what is known of the beneficiary."""
    claims = pl.concat(
        pl.read_csv(path, infer_schema=False) for path in sorted(folder.glob("*Inpatient_Claims*.csv.gz"))
    )
    known = (
        pl.concat(
            pl.read_csv(path, infer_schema=False) for path in sorted(folder.glob("*Beneficiary*.csv.gz"))
        )
        .unique("DESYNPUF_ID", keep="first", maintain_order=True)
        .select("DESYNPUF_ID", "^BENE_(BIRTH_DT|SEX_IDENT_CD|RACE_CD|ESRD_IND)$", "^SP_.*$")
    )
    codes = [f"ICD9_DGNS_CD_{place}" for place in range(2, 11)]
    codes += [f"ICD9_PRCDR_CD_{place}" for place in range(1, 7)] + ["ADMTNG_ICD9_DGNS_CD"]
    amounts = ["CLM_PMT_AMT", "NCH_PRMRY_PYR_CLM_PD_AMT", "CLM_PASS_THRU_PER_DIEM_AMT"]
    amounts += ["NCH_BENE_IP_DDCTBL_AMT", "NCH_BENE_PTA_COINSRNC_LBLTY_AM", "NCH_BENE_BLOOD_DDCTBL_LBLTY_AM"]
    days = ["CLM_ADMSN_DT", "NCH_BENE_DSCHRG_DT", "CLM_FROM_DT", "CLM_THRU_DT"]
    frame = (
        claims.unique("CLM_ID", keep="first", maintain_order=True)
        .join(known, on="DESYNPUF_ID", how="left", maintain_order="left")
        .sort("DESYNPUF_ID", "CLM_ADMSN_DT", "CLM_ID")
        .head(EVENTS)
        .with_columns(
            pl.col(amounts).cast(pl.Float64).cast(pl.Int64), pl.col("CLM_UTLZTN_DAY_CNT").cast(pl.Int64)
        )
        .with_columns(pl.col(days).str.to_date("%Y%m%d", strict=False))
        .with_row_index("visit")
    )
    hierarchies = dict.fromkeys(codes, MASK)
    hierarchies |= dict.fromkeys(amounts, '{ kind = "intervals", width = [500, 5000], origin = 0 }')
    hierarchies |= dict.fromkeys(days, '{ kind = "dates", levels = ["month", "year"] }')
    hierarchies["CLM_UTLZTN_DAY_CNT"] = '{ kind = "intervals", width = [7, 28], origin = 0 }'
    hierarchies["BENE_BIRTH_DT"] = '{ kind = "mask", levels = [4, 3] }'
    hierarchies |= dict.fromkeys([name for name in known.columns if name not in hierarchies][1:], FLAT)
    secret = pl.col("ICD9_DGNS_CD_1").fill_null("").str.slice(0, 3).alias("secret")
    frame = frame.with_columns(secret).select("DESYNPUF_ID", "visit", *hierarchies, "secret")
    return frame.rename({"DESYNPUF_ID": "person"}), hierarchies


def config(hierarchies: dict[str, str], protect: str, method: str = "") -> str:
    """Return a configuration."""
    lines = ["[data]", 'path = "wide.csv"', 'person = "person"', 'order = "visit"']
    for name, hierarchy in hierarchies.items():
        lines += [f"[data.quasi.{name}]", f"hierarchy = {hierarchy}"]
    lines += ["[data.sensitive.secret]", f'protect = ["{protect}"]']
    return "\n".join([*lines, *(["[method]", method] if method else [])]) + "\n"


def measure(folder: Path, *arguments: str) -> tuple[float, float, str]:
    """Run a command; return its seconds, those of all cores, and its last lines where it did not end well."""
    log = folder / "log.txt"
    with log.open("w") as file:
        started = time.perf_counter()
        command = subprocess.Popen(
            [sys.executable, "-m", "sequester", *arguments], cwd=folder, stdout=file, stderr=file
        )
        _, status, used = os.wait4(command.pid, 0)
        seconds = time.perf_counter() - started
    said = log.read_text()
    print("\n".join(line for line in said.splitlines() if "warning" in line.lower() or "thorough" in line))
    return seconds, used.ru_utime + used.ru_stime, said[-2000:] if status else ""


def run(name: str, frame: pl.DataFrame, hierarchies: dict[str, str], protect: str, only: str) -> bool:
    """Run every command on one table; return whether all met their bars."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        frame.write_csv(folder / "wide.csv")
        (folder / "bare.toml").write_text(config(hierarchies, protect))
        commands = {
            "inspect": ("inspect", "bare.toml"),
            "advise": ("advise", "bare.toml", *ANSWERS),
        }
        for place, (method, text) in enumerate(METHODS.items()):
            (folder / f"{place}.toml").write_text(config(hierarchies, protect, text))
            commands[f"{method}: dry run"] = ("protect", f"{place}.toml", "--dry-run", "--out", "dry")
            commands[f"{method}: protect"] = ("protect", f"{place}.toml", "--out", f"out{place}")
        first = next(iter(METHODS))
        commands[f"{first}: attack"] = ("attack", "out0/release", "--original", "0.toml")
        met = True
        for what, arguments in commands.items():
            if only in what:
                seconds, cores, wrong = measure(folder, *arguments)
                title = f"{name}, {frame.height:,} events: {what}"
                print(f"{title}: {cores:.1f} s of all cores, {wrong}")
                met &= note("seconds", title, seconds, bar=MOST_SECONDS) and not wrong
    return met


def main() -> int:
    """Say the figures, and return whether every bar is met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--only", default="")
    parser.add_argument("--write", type=Path, help="write the tables into this folder, and end")
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("SEQUESTER_DATA", ROOT.parent / "shared" / "data"))
    )
    asked = parser.parse_args()
    tables = {"made 43": lambda: (*made(43), "<30"), USUAL: lambda: (*made(50), "<30")}
    if (asked.data / "desynpuf").is_dir():
        tables["medicare"] = lambda: (*medicare(asked.data / "desynpuf"), "428")
    answers = []
    for name, make in tables.items():
        if name not in (asked.tables or [USUAL]):
            continue
        frame, hierarchies, protect = make()
        if asked.write:
            folder = asked.write / name.replace(" ", "_")
            folder.mkdir(parents=True, exist_ok=True)
            frame.write_csv(folder / "wide.csv")
            (folder / "bare.toml").write_text(config(hierarchies, protect))
            for place, text in enumerate(METHODS.values()):
                (folder / f"{place}.toml").write_text(config(hierarchies, protect, text))
            continue
        answers.append(run(name, frame, hierarchies, protect, asked.only))
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
