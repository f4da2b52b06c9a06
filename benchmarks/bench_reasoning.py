"""Adversaries who reason about a method, on a million events: equality with definitions, time and growth.

Hidden patterns, places of secret patterns, snapshots of records and whole sequences at three sizes, and the
worlds of a sample of hospital visits. Everything is timed on tables that are already read, once everything
is compiled. Exits 1 where an answer differs or a bar is missed.

    python benchmarks/bench_reasoning.py [--events 1000000]
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from ledger import growth, note
from sequester.attacks.attack import model_attacks
from sequester.attacks.context import Case
from sequester.attacks.pattern_hiding import Secrets, order_risk, suspicion_risk
from sequester.attacks.snapshots import Snapshots, estimate_arrivals
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets.hospital import PROTECTED, make
from sequester.hierarchies import Hierarchy
from sequester.methods import CBLDA, HALT, Reposition
from sequester.privacy import MutualInformationPrivacy, PatternHiding, SequenceKAnonymity
from sequester.workflow.attack import background_knowledge

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from oracles import hidden_patterns, snapshots

if TYPE_CHECKING:
    from sequester.methods.method import Method

LONGEST, LONGEST_WORLDS = 30.0, 15.0
SEED = "kept in a safe place"


def clicks(events: int, *, length: int = 10, pages: int = 17) -> EventTable:
    """Return sequences of pages, few of them frequent."""
    rng = np.random.default_rng(1)
    persons = events // length
    labels = np.array([f"p{page:02d}" for page in range(pages)])
    page = labels[np.minimum(rng.geometric(0.25, persons * length) - 1, pages - 1)]
    who, n = np.repeat(np.arange(persons), length), np.tile(np.arange(length), persons)
    return EventTable(
        pl.DataFrame({"user": who, "n": n, "page": page}), Schema(person="user", order="n", symbol="page")
    )


def reports(events: int) -> EventTable:
    """Return case reports of a year; some persons come again."""
    rng = np.random.default_rng(2)
    ills = np.array([f"ill {number}" for number in range(12)])
    frame = pl.DataFrame(
        {
            "who": rng.integers(0, max(events // 3, 1), events),
            "day": np.sort(rng.integers(0, 365, events)),
            "zip": pl.Series(rng.integers(100, 300, events)).cast(pl.String),
            "ill": ills[np.minimum(rng.geometric(0.35, events) - 1, 11)],
        }
    ).unique(["who", "day"], maintain_order=True)
    schema = Schema(
        person="who", order="day", quasi={"zip": Hierarchy.mask([2, 1])}, sensitive={"ill": "all"}
    )
    return EventTable(frame, schema)


def case_of(method: Method, table: EventTable) -> tuple[object, Case]:
    """Return a release, and what is known of it."""
    release = method.apply(table, seed=SEED)
    released = None if method.name == "reposition" else release.table
    known = background_knowledge(method, released, table, None)
    return release.model, Case(tables=release.tables, released=released, original=table, seed=SEED, **known)


def timed(model: object, case: Case) -> float:
    """Attack, and return the seconds."""
    began = time.perf_counter()
    model_attacks(model, case)
    return time.perf_counter() - began


def equal() -> bool:
    """Compare small cases with the definitions."""
    rng = np.random.default_rng(3)
    rows = ["".join(rng.choice(list("abc"), rng.integers(1, 7))) for _ in range(60)]
    frame = [(number, place, label) for number, row in enumerate(rows) for place, label in enumerate(row)]
    table = EventTable(
        pl.DataFrame(frame, schema=["user", "n", "page"], orient="row"), Schema("user", "n", symbol="page")
    )
    secret = [("a", "b"), ("b", "c", "a")]
    model = PatternHiding(sensitive=frozenset(secret), min_support=11)
    secrets = Secrets.of(model, table, table, seed=SEED)
    expected = hidden_patterns.suspicion(rows, rows, secret, 11, 1)["suspects"][0]
    same = bool(np.isclose(suspicion_risk(secrets).value, float(expected)))
    expected = hidden_patterns.order_chance(rows, rows, secret, 11, "orders")[0]
    same &= bool(np.isclose(order_risk(secrets, seed=SEED).value, float(expected)))
    cases = reports(300)
    method = Reposition(l=3, window=3, snapshot="order", then="none")
    release = method.apply(cases, seed=SEED)
    stream = background_knowledge(method, None, cases, None)["stream"]
    assert stream is not None
    seen = Snapshots.of(release.tables, cases, stream, sensitive="ill")
    published = [
        [value for value, count in zip(seen.values, row, strict=True) for _ in range(count)]
        for row in seen.published.tolist()
    ]
    came, _ = snapshots.believed(published, seen.sizes.tolist(), seen.reach)
    told = [[float(row.get(value, 0)) for value in seen.values] for row in came]
    return same & bool(np.allclose(estimate_arrivals(seen).came, told))


def main() -> int:
    """Run everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000)
    events = parser.parse_args().events
    warnings.simplefilter("ignore")
    met = note("equality", "suspects, orders and arrivals beside their definitions", equal())
    sizes = [events // 16, events // 4, events]
    seconds: dict[str, list[float]] = {}
    for size in sizes:
        table = clicks(size)
        places = MutualInformationPrivacy(sensitive=frozenset({("p00", "p01"), ("p02", "p03", "p01")}))
        hiding = PatternHiding(
            sensitive=frozenset({("p00", "p01", "p02"), ("p03", "p02", "p01", "p00")}),
            min_support=max(size // 300, 2),
        )
        case = Case(tables={}, released=table, original=table, histories=table.sequences, seed=SEED)
        attacks = {
            "hidden patterns": (hiding, case),
            "places of patterns": (places, case),
            "whole sequences": (SequenceKAnonymity(k=5), case),
            "snapshots": case_of(Reposition(l=3, window=4, snapshot="order", then="anatomy"), reports(size)),
        }
        for name, (model, known) in attacks.items():
            if size == sizes[0]:
                timed(model, known)
            seconds.setdefault(name, []).append(timed(model, known))
    for name, spent in seconds.items():
        met &= note("seconds", f"{name}, {events:,} events", spent[-1], bar=LONGEST)
        note("growth", f"{name}, {sizes[0]:,} to {events:,} events", growth(sizes, spent))
    quasi = {
        "AdmYr": Hierarchy.flat(),
        "ZIP": Hierarchy.mask([3, 1]),
        "LOS": Hierarchy.intervals([7, 28]),
    }
    schema = Schema("PID", "VID", quasi=quasi, sensitive={"Disease": list(PROTECTED)}, drop=["DSFC"])
    visits = EventTable(make(persons=1_000), schema)
    for method in (HALT(k=5, c=0.5, p=2), CBLDA(k=5, c=0.3)):
        model, known = case_of(method, visits)
        met &= note("seconds", f"worlds of {method.name}, a sample", timed(model, known), bar=LONGEST_WORLDS)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    note("memory", f"all of them, {events:,} events", peak)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
