"""Top-Down and Bottom-Up: equal to a twin that reads the sequence for each trial, then time, memory, growth.

    python benchmarks/bench_mutual_information.py [twin] [million] [growth] [msnbc] [searches] [online]
                                                  [measures] [--events N] [--data DIR]

The bars are those of the project: one million symbols over 69 areas, window 10, 4 patterns, length 2 under
3 s and length 3 under 20 s; the MSNBC users with 500 or more clicks under 5 s together; at least 100 times
the twin; Top-Down at most 0.12 per symbol above the optimum, and the local search at most half of that.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl

from ledger import growth as power
from ledger import note
from sequester.data.schema import Schema, Symbol
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.datasets import clicks
from sequester.datasets.clicks import msnbc
from sequester.datasets.public import areas
from sequester.engine import LocalEngine
from sequester.errors import InputError, SequesterWarning
from sequester.hierarchies import Hierarchy
from sequester.io import read_frame
from sequester.methods.mutual_information.algorithm import LeakagePlan, count_index_tuples
from sequester.methods.mutual_information.method import BottomUp, TopDown
from sequester.privacy import MutualInformationPrivacy
from sequester.privacy.mutual_information import count_spelled, count_tuples
from sequester.reproduce.bonomi_2016 import ALGORITHMS, LENGTH, NUMBER, data_sets, draw_patterns, sanitize

ROOT = Path(__file__).parents[1]
N_AREAS = 69
WINDOW = 10
N_PATTERNS = 4
LONGEST = {2: 3.0, 3: 20.0}
LONGEST_MSNBC = 5.0
LEAST_LEAD = 100
MOST_GREEDY = 0.12
FREQUENT = 10


def one_person(n_events: int, *, seed: int = 0) -> EventTable:
    """Return areas of a person who stays, returns to a few of them, and rarely goes elsewhere."""
    chance = np.random.default_rng(seed)
    weights = 1 / np.arange(1, N_AREAS + 1)
    numbers = chance.permutation(N_AREAS)[chance.choice(N_AREAS, n_events, p=weights / weights.sum())] + 1
    frame = pl.DataFrame({"user": pl.repeat("one", n_events, eager=True), "n": np.arange(n_events)})
    frame = frame.with_columns(area=pl.Series(numbers).cast(pl.String))
    schema = Schema(person="user", order="n", symbol=Symbol("area", areas(N_AREAS)))
    return EventTable(frame, schema)


def take_patterns(table: EventTable, length: int, *, seed: int) -> list[list[str]]:
    """Return patterns of the person's own, each from a few places within the window."""
    chance = np.random.default_rng(seed)
    row = table.sequences.to_rows()[0]
    patterns: set[tuple[str, ...]] = set()
    while len(patterns) < N_PATTERNS:
        start = int(chance.integers(0, len(row) - WINDOW))
        places = start + np.sort(chance.choice(WINDOW, length, replace=False))
        patterns.add(tuple(row[place] for place in places))
    return [list(pattern) for pattern in sorted(patterns)]


def solve(method, table: EventTable) -> tuple[np.ndarray, float]:
    start = time.perf_counter()
    nodes = LeakagePlan.of(method, table).run(engine=LocalEngine())
    return nodes, time.perf_counter() - start


def rescanning_top_down(method: TopDown, table: EventTable, *, counts_all: bool) -> np.ndarray:
    """Run Algorithm 1 as printed: rounds over the active symbols, each trial counted in the sequence itself.

    With `counts_all` a trial counts all index tuples of the generalized sequence, as the method does once;
    otherwise it looks only for the images of the patterns, which is the most that can be saved without
    keeping counts.
    """
    plan = LeakagePlan.of(method, table)
    task, row = plan.task, plan.items
    whole, everybody = np.array([0, len(row)]), np.ones(1, np.bool_)
    found = plan.found[:, 0]
    n_codes = len(task.leaf_depths)
    frequencies = np.bincount(row, minlength=n_codes)
    sizes = {len(pattern): count_tuples(len(row), len(pattern), method.window) for pattern in task.patterns}

    def alike_in(released, nodes):
        if not counts_all:
            for pattern in task.patterns:
                look = nodes[pattern]
                yield count_spelled(released, released, whole, look, look, method.window, everybody)[0]
            return
        tables = {
            length: count_index_tuples(released, len(task.tree), length, method.window) for length in sizes
        }
        for pattern in task.patterns:
            tuples, counts = tables[len(pattern)]
            yield counts[(tuples == nodes[pattern]).all(axis=1)].sum()

    def private(depths):
        nodes = task.paths[np.arange(n_codes), depths]
        bits, entropy = dict.fromkeys(sizes, 0.0), dict.fromkeys(sizes, 0.0)
        for pattern, often, alike in zip(task.patterns, found, alike_in(nodes[row], nodes), strict=True):
            length, size = len(pattern), sizes[len(pattern)]
            bits[length] += often / size * np.log2(size / alike)
            entropy[length] += often / size * np.log2(size / often)
        return all(bits[m] <= (method.max_leakage + 0.5e-9) * entropy[m] for m in bits)

    def loss(depths):
        return float((frequencies * task.costs[np.arange(n_codes), depths]).sum())

    sensitive = sorted({int(code) for pattern in task.patterns for code in pattern})
    active = [code for code in range(n_codes) if frequencies[code]]
    depths = task.leaf_depths.copy()
    depths[sensitive] = 0
    if private(depths):
        active = sensitive
    else:
        depths[active] = 0
    active.sort(key=lambda code: (-frequencies[code], code))
    scale = 1e-12 * float((frequencies * task.costs[:, 0]).sum())
    movable = set(active)
    while True:
        best, least, pruned = None, np.inf, set()
        for code in active:
            if code in pruned or depths[code] == task.leaf_depths[code]:
                continue
            depth = depths[code] + 1
            child = task.paths[code, depth]
            block = [b for b in movable if depths[b] == depth - 1 and task.paths[b, depth] == child]
            trial = depths.copy()
            trial[block] = depth
            cost = loss(trial)
            if cost > least + scale:
                continue
            if private(trial):
                best, least = trial, cost
            else:
                pruned |= set(block)
        active = [code for code in active if code not in pruned]
        if best is None:
            return task.paths[np.arange(n_codes), depths][row]
        depths = best


def share_that_needs_all(table: EventTable, patterns: list[list[str]]) -> float:
    """Return a share of the entropy just below what leaks when only symbols of patterns are on the root."""
    sequences = table.sequences
    column = sequences.symbol
    secret = {label for pattern in patterns for label in pattern}
    row = ["*" if label in secret else label for label in sequences.to_rows()[0]]
    found = TopDown(patterns=patterns).model().leakage(Sequences.from_rows([row], column=column), table)
    return 0.98 * float(found.leakage.sum() / found.entropy.sum())


def twin(n_events: int) -> bool:
    """Compare answers and times with the twins, at a share for which all symbols have to move.

    The bar is for the twin that counts anew what the method counts once. The other one, which only looks for
    the patterns, is told beside it, and so is a share for which few symbols move and there are few trials.
    """
    table = one_person(n_events)
    answers = []
    for length in (2, 3):
        patterns = take_patterns(table, length, seed=1)
        all_of_them = share_that_needs_all(table, patterns)
        for share, bar in ((all_of_them, LEAST_LEAD), (1.1 * all_of_them, None)):
            method = TopDown(patterns=patterns, max_leakage=share, measure="paper", search="greedy")
            solve(method, table)
            nodes, seconds = solve(method, table)
            what = f"{n_events:,} symbols, length {length}, share {share:.2f}"
            for counts_all, which in ((True, "counts anew"), (False, "looks for patterns")):
                start = time.perf_counter()
                slow = rescanning_top_down(method, table, counts_all=counts_all)
                lead = (time.perf_counter() - start) / seconds
                twin = f"{what}: the twin that {which} for each trial"
                answers.append(note("equality", twin, np.array_equal(nodes, slow)))
                answers.append(note("lead", twin, lead, bar=bar if counts_all else None))
    return all(answers)


def million(n_events: int) -> bool:
    """Measure each method and length, at a share that needs few symbols and at one that needs all."""
    table = one_person(n_events)
    table.sequences.distinct()
    kept = True
    for length, longest in LONGEST.items():
        patterns = take_patterns(table, length, seed=2)
        for method in (TopDown, BottomUp):
            for share in (0.5, 0.1):
                asked = method(patterns=patterns, max_leakage=share)
                solve(asked, table)
                nodes, seconds = solve(asked, table)
                what = f"{n_events:,} symbols, length {length}, {method.__name__}, share {share}"
                print(f"{what}: {np.mean(nodes == 0):.0%} on the root")
                kept &= note("seconds", what, seconds, bar=longest)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        TopDown(patterns=patterns).apply(table)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    what = f"{n_events:,} symbols: from table to checked release"
    note("seconds", what, time.perf_counter() - start)
    note("memory", what, peak)
    return kept


def growth(n_events: int) -> bool:
    """Measure three sizes."""
    for length in (2, 3):
        sizes, times = (n_events // 16, n_events // 4, n_events), []
        for size in sizes:
            table = one_person(size)
            method = TopDown(patterns=take_patterns(table, length, seed=3), max_leakage=0.1)
            solve(method, table)
            _, seconds = solve(method, table)
            print(f"length {length}, {size:,} symbols: {seconds:.3f} s")
            times.append(seconds)
        note("growth", f"{sizes[0]:,} to {sizes[-1]:,} symbols, length {length}", power(sizes, times))
    return True


def users(data: Path) -> EventTable:
    """Return the users of MSNBC with 500 clicks or more, or synthetic ones of the same kind."""
    path = data / "msnbc" / "msnbc990928.seq.gz"
    if path.exists():
        frame = read_frame(path)
        counts = frame.group_by("person").len().filter(pl.col("len") >= 500)
        frame = frame.join(counts.select("person"), on="person", how="semi", maintain_order="left")
        return EventTable(frame, Schema(person="person", order="order", symbol=Symbol("symbol", msnbc())))
    print("MSNBC is not here; invented clicks instead")
    frame = clicks.make(persons=60_000).with_columns(user=pl.col("user").str.slice(1).cast(pl.Int64) // 100)
    return EventTable(frame, Schema(person="user", time="at", symbol=Symbol("page", msnbc())))


def on_msnbc(data: Path) -> bool:
    """Measure all users together, several draws of patterns, both ways and the closer searches."""
    table = users(data)
    print(f"{table.n_persons} users, {table.n_events:,} clicks")
    kept = True
    for method, more in (
        (TopDown, {}),
        (BottomUp, {}),
        (TopDown, {"scope": "local"}),
        (TopDown, {"search": "greedy"}),
        (BottomUp, {"search": "greedy"}),
    ):
        seconds, losses = [], []
        for draw in range(5):
            asked = method(patterns=take_patterns(table, 2, seed=draw), max_leakage=0.5, **more)
            solve(asked, table)
            nodes, took = solve(asked, table)
            tree = msnbc()
            seconds.append(took)
            losses.append(float(tree.loss[nodes].mean()))
        how = " ".join([method.__name__, *(f"{key} = {value}" for key, value in more.items())])
        what = f"{table.n_persons} users, {table.n_events:,} clicks, {how}"
        kept &= note("seconds", f"{what}, slowest of 5", max(seconds), bar=None if more else LONGEST_MSNBC)
        note("loss", f"{what}: per symbol", float(np.mean(losses)))
    return kept


def searches(n_cases: int = 1000) -> bool:
    """Measure how far from the optimum each search is, on a thousand random cases over four letters."""
    tree = Hierarchy.from_tree({"A": ["a", "b"], "B": ["c", "d"]})
    chance = np.random.default_rng(6)
    losses: dict[str, list[float]] = {}
    while len(losses.get("top-down, optimum", ())) < n_cases:
        row = chance.choice(list("abcd"), chance.integers(4, 14)).tolist()
        frame = pl.DataFrame({"u": ["x"] * len(row), "n": range(len(row)), "s": row})
        table = EventTable(frame, Schema(person="u", order="n", symbol=Symbol("s", tree)))
        patterns = [chance.choice(list("abcd"), 2).tolist() for _ in range(chance.integers(1, 4))]
        asked = {"patterns": patterns, "window": 3, "max_leakage": float(chance.choice([0.3, 0.5, 0.7]))}

        def loss(method) -> float:
            return float(tree.loss[solve(method, table)[0]].mean())  # noqa: B023 - used at once

        try:
            least = loss(TopDown(**asked, search="optimal"))
        except InputError:  # no pattern occurs
            continue
        for method in (TopDown, BottomUp):
            losses.setdefault(f"{method.name}, optimum", []).append(least)
            for way in ("greedy", "improve"):
                found = loss(method(**asked, search=way))
                losses.setdefault(f"{method.name}, {way}", []).append(found)
    means = {name: float(np.mean(each)) for name, each in losses.items()}
    best, greedy = means["top-down, optimum"], means["top-down, greedy"]
    bars = {"top-down, greedy": best + MOST_GREEDY, "top-down, improve": (best + greedy) / 2}
    what = f"{n_cases:,} small cases, loss per symbol"
    answers = [note("loss", f"{what}, {name}", mean, bar=bars.get(name)) for name, mean in means.items()]
    return all(answers)


def online(data: Path) -> bool:
    """Measure one user's clicks as they come, beside the offline answer for the same bits."""
    table = users(data)
    longest = int(np.argmax(np.diff(table.person_offsets) * (np.diff(table.person_offsets) < 3000)))
    row = table.sequences.to_rows()[longest]
    frame = pl.DataFrame({"u": ["x"] * len(row), "n": range(len(row)), "s": row})
    alone = EventTable(frame, Schema(person="u", order="n", symbol=Symbol("s", msnbc())))
    kept = True
    patterns = take_patterns(alone, 2, seed=0)[:1]
    for bits in (0.05, 0.1, 0.2, 0.4):
        method = TopDown(patterns=patterns, max_leakage_bits=bits)
        running = method.follow(msnbc())
        start = time.perf_counter()
        list(running.run(row))
        took = time.perf_counter() - start
        nodes, _ = solve(method, alone)
        kept = kept and running.leakage_bits <= bits + 1e-9
        print(
            f"{len(row):,} clicks, {bits} bits: loss per symbol {running.loss_per_symbol:.3f} online, "
            f"{msnbc().loss[nodes].mean():.3f} offline; {1e3 * took / len(row):.1f} ms per click; "
            f"{running.leakage_bits:.3f} bits told at most"
        )
    return kept


def measures(data: Path, draws: int = 5) -> bool:
    """Print loss and time by the exact measure and by the paper's, for the same patterns, in Markdown.

    Beside them, how much of the entropy the releases tell that the paper's measure lets pass: the mean of the
    exact share over persons and draws.
    """
    print(
        "| data | method | bound | loss: paper | exact | ms: paper | exact | told by the paper's releases |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for source in data_sets(data):
        drawn = [
            (table, patterns)
            for person, table in enumerate(source.load())
            for turn in range(draws)
            if (patterns := draw_patterns(source, person, NUMBER, LENGTH, turn))
        ]
        for way in ALGORITHMS:
            for bound in (
                *({"max_leakage": share} for share in (0.1, 0.3, 0.5, 0.7, 0.9)),
                {"max_leakage": 0.5, "worst_case": True},
                {"max_leakage_bits": 0.1},
            ):
                found = {}
                for measure in ("paper", "exact"):
                    sanitize(*drawn[0][:1], way, drawn[0][1], measure=measure, **bound)
                    runs = [sanitize(table, way, each, measure=measure, **bound) for table, each in drawn]
                    found[measure] = [np.mean([run[at] for run in runs]) for at in (1, 2)]
                    if measure == "paper":
                        told = np.mean(
                            [
                                exact_share(table, each, run[0], **bound)
                                for (table, each), run in zip(drawn, runs, strict=True)
                            ]
                        )
                (loss, seconds), (exact_loss, exact_seconds) = found["paper"], found["exact"]
                words = ", ".join(f"{key} = {str(value).lower()}" for key, value in bound.items())
                print(
                    f"| {source.name} | {way} | {words} | {loss:.3f} | {exact_loss:.3f} | "
                    f"{1e3 * seconds:.2f} | {1e3 * exact_seconds:.2f} | {told:.0%} |"
                )
    return True


def exact_share(table, patterns, nodes, *, worst_case: bool = False, **_) -> float:
    """Return the largest share of the entropy that a release tells, by the exact measure."""
    column = table.sequences.symbol
    labels = table.hierarchies[column].labels
    released = Sequences.from_rows([[labels[node] for node in nodes]], column=column)
    model = MutualInformationPrivacy(sensitive=frozenset(patterns), window=WINDOW, worst_case=worst_case)
    _, leakage, entropy, _ = model.bounds(model.leakage(released, table))
    return float((leakage / np.maximum(entropy, 1e-300)).max())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = ["twin", "million", "growth", "msnbc", "searches", "online", "measures"]
    parser.add_argument("parts", nargs="*", default=known)
    parser.add_argument("--events", type=int, default=1_000_000, help="symbols of the long sequence")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("SEQUESTER_DATA", ROOT.parent / "shared" / "data")),
        help="the folder of public data sets (default: ../shared/data)",
    )
    arguments = parser.parse_args()
    if unknown := [part for part in arguments.parts if part not in known]:
        parser.error(f"unknown part {unknown[0]!r}: there are {', '.join(known)}")
    run = {
        "twin": lambda: twin(arguments.events),
        "million": lambda: million(arguments.events),
        "growth": lambda: growth(arguments.events),
        "msnbc": lambda: on_msnbc(arguments.data),
        "searches": searches,
        "online": lambda: online(arguments.data),
        "measures": lambda: measures(arguments.data),
    }
    missed = []
    for part in arguments.parts:
        print(f"\n{part}")
        if not run[part]():
            missed.append(part)
    print(f"\nmissed: {', '.join(missed) or 'nothing'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
