"""Reposition: equality with exhaustive search, then time, memory and growth; the durable stream; the program.

Run: python benchmarks/bench_reposition.py [PART ...] [--records N] [--days N]; parts are equality, search,
planning, feed, program, durable, constant.
Bars are held against the wall; the time of the process itself stands beside it, because other work may run on
the machine. Exits 1 where an answer differs or a bar is missed.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from ledger import growth, note
from oracles import reposition as oracle
from sequester.methods.reposition.integer_program import best_arrangement
from sequester.methods.reposition.method import Costs
from sequester.methods.reposition.window import Window
from sequester.workflow.stream.stream import stream

VALUES, WINDOW, LEVEL = 100, 7, 10
FEED_RATE, DURABLE_RATE, RESTART_SECONDS = 5_000_000, 300_000, 2.0
HUGE = 100_000_000
SLOWEST_PLAN = 5.0
"""Seconds that planning again may add to a snapshot."""
MOST_GROWTH = 1.05
"""Peak memory after so many records, relative to that after the first window."""


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def new_window(size=WINDOW, level=LEVEL, cost="linear"):
    return Window(size=size, level=Fraction(level), costs=Costs.of(cost, window=size), seed=1)


def day(chance, n_records, n_values=VALUES):
    shares = chance.dirichlet(np.full(n_values, 0.7))
    values = chance.choice(n_values, n_records, p=shares).astype(np.int32)
    return values, chance.integers(0, 30 * n_records, n_records)


def equality(count=200):
    what = f"{count} random streams: the cost that exhaustive search finds"
    chance = np.random.default_rng(5)
    for _ in range(count):
        size, level = int(chance.integers(1, 4)), int(chance.integers(2, 4))
        window = new_window(size, level)
        beta = dict.fromkeys(range(3), window.costs.beta)
        for number in range(4):
            values = chance.integers(0, 3, chance.integers(0, 5)).tolist()
            published, held = contents(window, number)
            first = oracle.suppress_most_frequent(values, level)
            published += [(number, number, value) for value in first.elements()]
            left = list(values)
            for value in first.elements():
                left.remove(value)
            held += [(number, value) for value in left]
            best = oracle.best_loss(published, held, number, level, window.costs.mu, beta)
            window.feed(np.array(values, np.int32))
            if abs(window.loss() - best) > 1e-9:
                print(f"{values}: {window.loss()}, by exhaustive search {best}")
                return note("equality", what, False)
    return note("equality", what, True)


def contents(window, number):
    published, held = [], []
    for slot in range(max(number - window.size + 1, 0), number):
        for distance in range(window.size):
            for value in range(window.n_values):
                n = int(window.lists.counts[slot % window.size, distance, value])
                published += [(slot, slot - distance, value)] * n
        for value in range(window.n_values):
            held += [(slot, value)] * int(window.lists.held_counts[slot % window.size, value])
    return published, held


def feed_rate(n_records, n_days, n_values=VALUES):
    chance = np.random.default_rng(0)
    days = [day(chance, n_records, n_values) for _ in range(12)]
    window = new_window()
    for each in days[: WINDOW + 1]:
        window.feed(*each)
    relays = window.n_relays
    own, wall = time.process_time(), time.perf_counter()
    n_out = n_lost = 0
    for number in range(n_days):
        for gone in window.feed(*days[number % len(days)]):
            n_out += gone.rows.size
            n_lost += int(gone.expired.sum())
    own, wall = time.process_time() - own, time.perf_counter() - wall
    total = n_records * n_days
    print(
        f"feed {n_values:>5} values, {n_records:>9,} a day: {total / own / 1e6:5.1f} M records/s of its own "
        f"time, {total / wall / 1e6:5.1f} by the wall; {(window.n_relays - relays) / n_days:,.0f} relays, "
        f"{n_lost / max(n_out + n_lost, 1):.2%} lost"
    )
    return total / own, total / wall


def feed(n_records, n_days):
    sizes = (n_records // 4, n_records // 2, n_records)
    rates = [feed_rate(size, n_days) for size in sizes]
    times = [size / wall for size, (_, wall) in zip(sizes, rates, strict=True)]
    for n_values in (20, 1000):
        _, wall = feed_rate(n_records, n_days, n_values)
        note("rate", f"records through feed, {n_values} values, window {WINDOW}", wall)
    own, wall = rates[-1]
    what = f"records through feed, {VALUES} values, window {WINDOW}"
    note("rate", f"{what}, of the process's own time", own)
    note("memory", what, 2**20 * peak())
    note("growth", f"{sizes[0]:,} to {sizes[-1]:,} records a day", growth(sizes, times))
    return note("rate", what, wall, bar=FEED_RATE)


def constant(n_records):
    chance = np.random.default_rng(0)
    days = [day(chance, n_records) for _ in range(12)]
    window = new_window()
    for each in days:
        window.feed(*each)
    before = peak()
    wall = time.perf_counter()
    for number in range(HUGE // n_records):
        window.feed(*days[number % len(days)])
    wall = time.perf_counter() - wall
    what = f"{HUGE:,} records through feed"
    note("seconds", what, wall)
    return note("memory", f"{what}: constant", 2**20 * peak(), bar=2**20 * MOST_GROWTH * before)


def durable(n_records, n_days):
    chance = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        (folder / "c.toml").write_text(
            '[data]\nperson = "who"\ntime = "at"\n[data.quasi.age]\nhierarchy = { kind = "flat" }\n'
            '[data.quasi.district]\nhierarchy = { kind = "flat" }\n[data.sensitive.ill]\nprotect = "all"\n'
            f'[method]\nname = "reposition"\nl = {LEVEL}\nwindow = {WINDOW}\ncost = "linear"\n'
            '[release]\nseed = "a sentence that nobody guesses"\n'
        )
        first = np.datetime64("2024-01-01")
        for number in range(n_days):
            values, persons = day(chance, n_records)
            pl.DataFrame(
                {
                    "who": persons,
                    "at": np.full(n_records, first + number),
                    "age": chance.integers(0, 100, n_records).astype(str),
                    "district": chance.integers(0, 50, n_records).astype(str),
                    "ill": np.array([f"d{value:03d}" for value in range(VALUES)])[values],
                }
            ).write_parquet(folder / "in" / f"{first + number}.parquet")
        places = {"inputs": folder / "in", "out": folder / "out", "state": folder / "state"}
        own, wall = time.process_time(), time.perf_counter()
        stream(folder / "c.toml", **places)
        own, wall = time.process_time() - own, time.perf_counter() - wall
        total = n_records * n_days
        what = f"records, Parquet in and out, durable, {n_days} days of {n_records:,}"
        note("rate", f"{what}, of the process's own time, all threads", total / own)
        fine = note("rate", what, total / wall, bar=DURABLE_RATE)
        again = time.perf_counter()
        stream(folder / "c.toml", **places)
        again = time.perf_counter() - again
        return note("seconds", "restart with nothing to do", again, bar=RESTART_SECONDS) and fine


def program(n_records, n_values=20):
    chance = np.random.default_rng(2)
    days = [day(chance, n_records, n_values) for _ in range(WINDOW)]
    window = new_window(cost="quadratic")
    wall = time.perf_counter()
    for each in days:
        window.feed(*each)
    grown, loss = time.perf_counter() - wall, window.loss()
    present = np.stack([np.bincount(values, minlength=n_values) for values, _ in days])
    mu, betas = np.array(window.costs.mu), np.full(n_values, window.costs.beta)
    wall = time.perf_counter()
    best = best_arrangement(present, level=Fraction(LEVEL), mu=mu, betas=betas)
    took = time.perf_counter() - wall
    distance = np.arange(WINDOW)[None, :] - np.arange(WINDOW)[:, None]
    moved = (best.sum(axis=2) * mu[np.maximum(distance, 0)]).sum()
    exact = moved + (present.sum(axis=0) - best.sum(axis=(0, 1))) @ betas
    what = f"first window, {n_values} values, {n_records:,} a day"
    note("seconds", f"{what}: grown, at cost {loss:,.0f}", grown)
    note("seconds", f"{what}: by the integer program, at cost {exact:,.0f}, persons not considered", took)
    return exact <= loss


def search(count=40, n_days=25, size=4, level=2):
    """Measure cost and lost records of noisy small streams, beside the best for the whole stream."""
    means = {}
    for n_persons, which in ((None, "noisy small streams"), (6, "noisy small streams of 6 persons")):
        figures = {"greedy": [], "improve": [], "optimum": []}
        chance = np.random.default_rng(1)
        for _ in range(count):
            days = [
                chance.choice(4, chance.integers(0, 6), p=chance.dirichlet(np.full(4, 0.3))).astype(np.int32)
                for _ in range(n_days)
            ]
            who = [n_persons and chance.integers(0, n_persons, len(values)) for values in days]
            for name in ("greedy", "improve"):
                window = new_window(size, level)
                window.search = name
                published = [
                    each
                    for values, persons in zip(days, who, strict=True)
                    for each in window.feed(values, persons)
                ] + window.flush()
                moved = sum(window.costs.mu[each.number - home] for each in published for home in each.homes)
                lost = sum(int(each.expired.sum()) for each in published)
                figures[name].append((moved + lost * window.costs.beta, lost / sum(map(len, days))))
            if not n_persons:
                figures["optimum"].append(whole_stream(days, window.costs, level))
        for name, values in figures.items():
            if values:
                means[which, name] = cost, lost = np.mean(values, axis=0)
                note("loss", f"{count} {which}, cost, {name}", float(cost))
                note("loss", f"{count} {which}, share of records lost, {name}", float(lost))
    return all(
        (mean < means[which, "greedy"]).all() for (which, name), mean in means.items() if name == "improve"
    )


def whole_stream(days, costs, level):
    """Return the cost and the share of lost records if all is known from the beginning."""
    n_days, size = len(days), len(costs.mu)
    present = np.array([np.bincount(values, minlength=4) for values in days])
    # Farther than the window is dearer than any loss.
    mu = np.append(costs.mu, np.full(n_days - size, 1e4))
    best = best_arrangement(present, level=Fraction(level), mu=mu, betas=np.full(4, costs.beta))
    lost = int(present.sum() - best.sum())
    distance = np.maximum(np.arange(n_days)[None, :] - np.arange(n_days)[:, None], 0)
    moved = float((best.sum(axis=2) * mu[distance]).sum())
    return moved + lost * costs.beta, lost / present.sum()


def planning(n_days=12, n_values=80, size=7):
    """Measure the slowest snapshot where each is planned again, at the largest program that there may be."""
    chance = np.random.default_rng(3)
    window = new_window(size)
    window.search = "improve"
    slowest = 0.0
    for _ in range(n_days):
        each = day(chance, 50, n_values)
        start = time.process_time()
        window.feed(*each)
        slowest = max(slowest, time.process_time() - start)
    what = f"one snapshot, planned again: {size} snapshots, {n_values} values"
    print(f"not planned: {window.n_unplanned} of {n_days}")
    return note("seconds", what, slowest, bar=SLOWEST_PLAN)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts",
        nargs="*",
        default=["equality", "search", "planning", "feed", "program", "durable", "constant"],
    )
    parser.add_argument("--records", type=int, default=100_000, help="records a day")
    parser.add_argument("--days", type=int, default=30, help="days that are timed")
    asked = parser.parse_args()
    known = {
        "equality": equality,
        "search": search,
        "planning": planning,
        "feed": lambda: feed(asked.records, asked.days),
        "program": lambda: program(min(asked.records, 2_000)),
        "durable": lambda: durable(asked.records, max(asked.days, WINDOW + 3)),
        "constant": lambda: constant(asked.records),
    }
    if unknown := [part for part in asked.parts if part not in known]:
        parser.error(f"unknown part {unknown[0]!r}: there are {', '.join(known)}")
    missed = []
    for part in asked.parts:
        print(f"\n{part}")
        if not known[part]():
            missed.append(part)
    print(f"\nmissed: {', '.join(missed) or 'nothing'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
