"""A purpose: what a classifier learns from a release that was priced for it, beside one that was not.

    python benchmarks/bench_tasks.py                    both data sets
    python benchmarks/bench_tasks.py fines              one of them

Needs scikit-learn (``pip install 'sequester[tasks]'``). Half of the persons are released, with and without
``purpose = { predict = ... }``; a logistic regression is trained on the release and tested on the original of
the other half. A value counts as itself and as all that is above it, so that coarse and fine ones can be
compared. The figure is the area under the ROC curve: 0.5 is a guess, 1 is always right. Five splits each.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from ledger import note
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets.public import load
from sequester.errors import SequesterWarning
from sequester.hierarchies import Hierarchy
from sequester.methods import CBLDA, HALT

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester.methods.method import Method

ROOT = Path(__file__).parents[1]
TARGET = "outcome"
SPLITS = 5
METHODS: dict[str, Method] = {
    "halt, k = 20": HALT(k=20, c=1, p=3, suppression="global"),
    "halt, k = 20, local": HALT(k=20, c=1, p=3, suppression="local"),
    "cblda, k = 20": CBLDA(k=20, c=1),
}


def fines(data: Path) -> tuple[pl.DataFrame, dict[str, Hierarchy]]:
    """Return road traffic fines as they were written; was the fine paid in the end?"""
    frame = load("traffic-fines", data)
    paid = frame.group_by("case_id").agg((pl.col("activity") == "Payment").any().alias(TARGET))
    first = frame.filter(pl.col("activity") == "Create Fine").join(paid, on="case_id", maintain_order="left")
    quasi = {
        "month": Hierarchy.dates(["month", "quarter", "year"]),
        "resource": Hierarchy.mask([2, 1]),
        "amount": Hierarchy.quantiles([10, 2]),
        "article": Hierarchy.flat(),
        "vehicle": Hierarchy.flat(),
    }
    return first.select(
        pl.col("case_id").alias("who"),
        pl.col("timestamp").alias("month"),
        "resource",
        "amount",
        "article",
        pl.col("vehicleclass").alias("vehicle"),
        pl.col(TARGET).cast(pl.Int8).cast(pl.String),
    ), quasi


def sepsis(data: Path) -> tuple[pl.DataFrame, dict[str, Hierarchy]]:
    """Return registrations of patients with suspected sepsis; did they need intensive care, or return?"""
    frame = load("sepsis", data)
    ill = frame.group_by("case_id").agg(
        pl.col("activity").is_in(["Admission IC", "Return ER"]).any().alias(TARGET)
    )
    first = frame.filter(pl.col("activity") == "ER Registration").join(
        ill, on="case_id", maintain_order="left"
    )
    signs = ["Hypotensie", "SIRSCritTachypnea", "Oligurie", "Hypoxie", "DiagnosticXthorax", "Infusion"]
    quasi = {
        "age": Hierarchy.intervals([10, 20], origin=0),
        "diagnosis": Hierarchy.flat(),
        "hour": Hierarchy.intervals([6, 12], origin=0),
        **{name: Hierarchy.flat() for name in signs},
    }
    return first.select(
        pl.col("case_id").alias("who"),
        pl.col("Age").cast(pl.Float64).cast(pl.Int64).cast(pl.String).alias("age"),
        pl.col("Diagnose").alias("diagnosis"),
        pl.col("timestamp").str.slice(11, 2).cast(pl.Int64).cast(pl.String).alias("hour"),
        *signs,
        pl.col(TARGET).cast(pl.Int8).cast(pl.String),
    ), quasi


SETS: dict[str, tuple[str, Callable[[Path], tuple[pl.DataFrame, dict[str, Hierarchy]]]]] = {
    "fines": ("traffic fines, paid in the end", fines),
    "sepsis": ("sepsis, intensive care or return", sepsis),
}


def table_of(frame: pl.DataFrame, quasi: dict[str, Hierarchy], *, purpose: bool) -> EventTable:
    """Return events with their roles."""
    schema = Schema("who", "n", quasi=quasi, keep=[TARGET], purpose={"predict": TARGET} if purpose else None)
    return EventTable(frame.with_row_index("n"), schema)


def features(frame: pl.DataFrame, trees: dict[str, Hierarchy]) -> list[dict[str, int]]:
    """Return every value of each row, with all that is above it but the root."""
    above: dict[tuple[str, str], list[str]] = {}
    for name, tree in trees.items():
        for label in frame[name].fill_null("(missing)").unique():
            nodes = tree.ancestors(tree.node(label))
            above[name, label] = [f"{name}={tree.labels[node]}" for node in nodes if node]
    names = list(trees)
    rows = frame.select(pl.col(names).fill_null("(missing)")).iter_rows()
    return [
        dict.fromkeys((key for name, label in zip(names, row, strict=True) for key in above[name, label]), 1)
        for row in rows
    ]


def score(train: pl.DataFrame, test: pl.DataFrame, trees: dict[str, Hierarchy]) -> float:
    """Return the area under the curve of a classifier that saw `train`, on `test`."""
    encoder = DictVectorizer()
    model = LogisticRegression(max_iter=2000, C=0.3)
    model.fit(encoder.fit_transform(features(train, trees)), train[TARGET].to_list())
    guessed = model.predict_proba(encoder.transform(features(test, trees)))[:, 1]
    return float(roc_auc_score(test[TARGET].to_list(), guessed))


def measure(name: str, frame: pl.DataFrame, quasi: dict[str, Hierarchy]) -> None:
    """Train and test on five splits, and note the means."""
    # The trees of all persons, so that those of both halves are the same.
    trees = table_of(frame, quasi, purpose=False).hierarchies
    found: dict[str, list[float]] = {}
    losses: dict[str, list[float]] = {}
    for split in range(SPLITS):
        is_released = np.random.default_rng(split).permutation(frame.height) < frame.height // 2
        half, test = frame.filter(is_released), frame.filter(~is_released)
        found.setdefault("original", []).append(score(half, test, trees))
        for how, method in METHODS.items():
            for purpose in (False, True):
                key = f"{how}, {'with' if purpose else 'without'} a purpose"
                table = table_of(half, trees, purpose=purpose)
                release = method.apply(table, seed=f"a split of its own, number {split}")
                found.setdefault(key, []).append(score(release.frame, test, trees))
                losses.setdefault(key, []).append(release.utility["information_loss"].value)
    for key, areas in found.items():
        note("task", f"{name}: {key}, area under the curve", float(np.mean(areas)))
    for key, lost in losses.items():
        note("loss", f"{name}: {key}", float(np.mean(lost)))


def main() -> int:
    """Run what is named, or both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", help=f"of {', '.join(SETS)}")
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("SEQUESTER_DATA", ROOT.parent / "shared" / "data"))
    )
    asked = parser.parse_args()
    warnings.simplefilter("ignore", SequesterWarning)
    start = time.process_time()
    for key in asked.sets or SETS:
        name, read = SETS[key]
        try:
            measure(name, *read(asked.data))
        except FileNotFoundError:
            print(f"{name}: not in {asked.data}")
    print(f"{time.process_time() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
