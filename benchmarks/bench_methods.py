"""How good and how fast every method is, on made data that it is meant for.

    python benchmarks/bench_methods.py

Every method makes a release, checked and timed, is measured by what it lost, and is attacked by those against
whom it promises something: the one who comes closest to the bound is told. Promises differ, so only releases
of one data set can be compared with each other. Where a method has a former and a newer way, both are run.
Exits 1 where a promise is not kept.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ledger import note
from sequester.data.places import GridRegions, Place
from sequester.data.schema import Schema, Symbol
from sequester.data.table import EventTable
from sequester.datasets import activities, clicks, days, hospital, trips
from sequester.errors import SequesterWarning
from sequester.hierarchies import Hierarchy
from sequester.methods import METHODS
from sequester.methods.ph.method import PatternMethod
from sequester.mining import frequent
from sequester.workflow.attack import attack

if TYPE_CHECKING:
    from sequester.methods.method import Method
    from sequester.release.release import Release

SEED = "one seed for every method"
VISITS, CLICKS, TRIPS, LOGS, RECORDS = 5_000, 20_000, 2_000, 20, 20_000
N_PATTERNS = 5
WAYS = {
    "halt": [("suppression", "global", "local")],
    "cblda": [("search", "greedy", "improve")],
    "ph": [("search", "greedy", "improve"), ("prefer", "least-harm", "permutation")],
    "top-down": [("search", "greedy", "improve")],
    "bottom-up": [("search", "greedy", "improve")],
    "reposition": [("search", "greedy", "improve")],
    "p2ka": [("reconstruction", "closest", "truthful")],
}
"""Method to the options that have a former and a newer way, or two for different recipients."""


@dataclass(frozen=True, kw_only=True)
class Set:
    """A data set, and the methods that are meant for it."""

    name: str
    table: EventTable
    methods: list[Method]


def visits() -> Set:
    quasi = {
        "AdmYr": Hierarchy.flat(),
        "ZIP": Hierarchy.mask([3, 1]),
        "DSFC": Hierarchy.intervals([7, 28, 84], origin=0),
        "LOS": Hierarchy.intervals([7, 28], origin=0),
    }
    schema = Schema(person="PID", order="VID", quasi=quasi, sensitive={"Disease": list(hospital.PROTECTED)})
    asked = {"halt": {"p": 2}, "glogen": {"p": 2}, "cblda": {}, "cblda-baseline": {}}
    return Set(
        name=f"visits of {VISITS:,} patients",
        table=EventTable(hospital.make(persons=VISITS), schema),
        methods=[METHODS[name](k=5, c=0.5, **more) for name, more in asked.items()],
    )


def pages() -> EventTable:
    return EventTable(clicks.make(persons=CLICKS), Schema(person="user", time="at", symbol="page"))


def anonymous_clicks() -> Set:
    methods = [METHODS[name](k=10) for name in ("p2ka", "prefix-pruning")]
    return Set(name=f"clicks of {CLICKS:,} visitors", table=pages(), methods=methods)


def hidden_patterns() -> Set:
    table = pages()
    least = CLICKS // 50
    found = frequent(table, min_support=least, max_length=3)
    ranked = sorted((-count, labels) for labels, count in found.items() if len({*labels}) == len(labels) > 1)
    patterns = [list(labels) for _, labels in ranked[:: max(len(ranked) // N_PATTERNS, 1)][:N_PATTERNS]]
    return Set(
        name=f"{len(patterns)} patterns of {CLICKS:,} visitors",
        table=table,
        methods=[METHODS[name](patterns=patterns, min_support=least) for name in ("ph", "sbsh", "abul")],
    )


def regions() -> Set:
    schema = Schema(person="user", time="at", trip="trip", place=Place("lat", "lon", GridRegions(2_000)))
    return Set(
        name=f"trips of {TRIPS:,} persons",
        table=EventTable(trips.make(persons=TRIPS), schema),
        methods=[METHODS[name](k=10) for name in ("p2ka", "prefix-pruning")],
    )


def logs() -> Set:
    symbol = Symbol("activity", hierarchy=activities.taxonomy())
    table = EventTable(activities.make(persons=LOGS), Schema(person="user", time="at", symbol=symbol))
    asked = {"patterns": [list(each) for each in activities.SENSITIVE], "window": 5, "max_leakage": 0.5}
    return Set(
        name=f"logs of {LOGS} persons",
        table=table,
        methods=[METHODS[name](**asked) for name in ("top-down", "bottom-up")],
    )


def records() -> Set:
    quasi = {
        "sex": Hierarchy.flat(),
        "age": Hierarchy.intervals([10, 30], origin=0),
        "district": Hierarchy.flat(),
    }
    frame = days.make(persons=RECORDS)
    schema = Schema(person="patient", time="date", quasi=quasi, sensitive={"diagnosis": "all"})
    return Set(
        name=f"records of {RECORDS:,} persons over 90 days",
        table=EventTable(frame, schema),
        methods=[
            METHODS[name](l=3, window=7, snapshot="day")
            for name in ("reposition", "suppress-only", "merge-snapshots")
        ],
    )


def loss_of(method: Method, release: Release, table: EventTable) -> float:
    """Return what a method of this kind is judged by: values, frequent patterns, or records."""
    if isinstance(method, PatternMethod):
        lost, ghosts = release.utility["lost_patterns"], release.utility["ghost_patterns"]
        return (lost.value + ghosts.value) / (lost.bounds[1] or 1)
    if "information_loss" in release.utility:
        return release.utility["information_loss"].value
    return 1 - release.frame.height / table.n_events


def surest(method: Method, release: Release, table: EventTable) -> tuple[str, float, float, float]:
    """Return the adversary closest to what is promised: name, risk in original and release, and the bound."""
    if isinstance(method, PatternMethod):
        # Nothing is promised about persons: whoever mines finds none of the patterns.
        wanted = {tuple(pattern) for pattern in method.patterns}
        before, after = (
            len(wanted & {*frequent(each, min_support=method.min_support, max_length=3).labels}) / len(wanted)
            for each in (table, release.table)
        )
        return "mined", before, after, 0.0
    risks = attack(release, original=table, known=(2,), targets=1_000, seed=SEED)
    told = [(risk, risk.bound) for risk in risks if risk.bound]
    risk, bound = max(told, key=lambda each: (each[0].value / each[1], each[0].raw.value))
    return risk.name, risk.raw.value, risk.value, bound


def both_ways(method: Method, table: EventTable, what: str) -> bool:
    """Note what the former and the newer way of a method lose and take, side by side; are promises kept?"""
    answers = []
    asked = [(option, value) for option, *values in WAYS.get(method.name, ()) for value in values]
    for option, value in asked:
        way = replace(method, **{option: value})
        way.apply(table, seed=SEED)  # compiles
        start = time.process_time()
        release = way.apply(table, seed=SEED)
        seconds = time.process_time() - start
        told = f"{what}, {option} = {value}"
        answers.append(note("equality", f"{told}, promised and kept", bool(release.verdict)))
        note("seconds", told, seconds)
        note("loss", told, loss_of(way, release, table))
    return all(answers)


def judge(each: Set) -> bool:
    print(f"{each.name}: {each.table.n_events:,} events")
    answers = []
    for method in each.methods:
        method.apply(each.table, seed=SEED)  # compiles
        start = time.perf_counter()
        release = method.apply(each.table, seed=SEED)
        seconds = time.perf_counter() - start
        what = f"{each.name}: {method.name}"
        answers.append(note("equality", f"{what}, promised and kept", bool(release.verdict)))
        note("seconds", what, seconds)
        note("loss", what, loss_of(method, release, each.table))
        who, before, after, promised = surest(method, release, each.table)
        note("risk", f"{what} / {who} before", before)
        answers.append(note("risk", f"{what} / {who}", after, bar=promised))
        answers.append(both_ways(method, each.table, what))
    return all(answers)


def main() -> int:
    warnings.simplefilter("ignore", SequesterWarning)
    answers = [judge(make()) for make in (visits, anonymous_clicks, hidden_patterns, regions, logs, records)]
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
