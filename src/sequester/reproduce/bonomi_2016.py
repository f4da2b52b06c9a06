"""Bonomi, Fan, Jin (2016): bounds, costs, lengths, numbers and frequencies of patterns, and side effects.

Reality Mining is not public. In its place stand logs of daily activities, over a taxonomy that is made as
the paper made its own: numbered labels in bins of ten.
"""

from __future__ import annotations

import time
from functools import cache, partial
from itertools import pairwise, zip_longest
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from sequester.data.schema import Schema, Symbol
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.datasets import activities, clicks, public
from sequester.errors import InputError
from sequester.hierarchies.labels import ROOT
from sequester.methods.mutual_information import _kernels
from sequester.methods.mutual_information.algorithm import LeakagePlan as Search
from sequester.methods.mutual_information.algorithm import count_index_tuples, describe
from sequester.methods.mutual_information.method import BottomUp, TopDown
from sequester.reproduce import Cell, DataSet, ExperimentPlan, all_or_some, grid
from sequester.utility.patterns import top_pairs
from sequester.workflow.job import table_digest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sequester._typing import Codes, Counts, Mask
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.methods.mutual_information.algorithm import Person
    from sequester.reproduce import Agreement, Design, Rows, Tables

    Pattern = tuple[str, ...]

WINDOW, FREQUENT = 10, 10
"""Table 1: window and least frequency of a pattern."""
ALPHAS = (2, 4, 8, 16, 32)
"""How many times more frequent one of two patterns is than the other, at least."""
LENGTH = 2
"""Table 1: length of patterns."""
LONG = 500
"""Least number of clicks of a user in the experiments."""
LONG_USERS = "users of msnbc.com with 500 or more clicks"
CLICKS, LOGS = "clicks", "logs"
"""What stands for MSNBC, and what stands for Reality Mining."""
_MADE_USERS, _VISITS = 36, 200
_MADE_LOGS, _DAYS = 8, 180
ALGORITHMS = {"Top-Down": TopDown, "Bottom-Up": BottomUp}
"""The two algorithms, as the paper calls them."""
COSTS = ("information-loss", "linear", "exponential")
"""What generalizing costs; after Figure 5 the paper goes on with the first two."""
NUMBER, SHARE = 4, 0.5
"""Table 1: number of patterns, and the bound as a share of the entropy."""
BITS = 0.1
"""The bound of Figure 8."""
ONE = "one person"
"""Whom Figure 8 is about."""
_TIMES = 3
"""Runs of the same search, of which the shortest counts."""


def tables_by_person(
    frame: pl.DataFrame, person: str, symbol: str, tree: Hierarchy
) -> tuple[EventTable, ...]:
    """Return a table per person, events in the order of the frame."""
    schema = Schema(person="person", order="n", symbol=Symbol("symbol", tree))
    rows = frame.select(person=person, n=pl.int_range(pl.len()), symbol=symbol)
    return tuple(EventTable(each, schema) for each in rows.partition_by("person", maintain_order=True))


def long_clicks(data: Path | None) -> tuple[EventTable, ...]:
    """Return the users of MSNBC with 500 or more clicks, or synthetic ones with many visits each."""
    if data is None:
        made = clicks.make(persons=_MADE_USERS * _VISITS)
        number = pl.col("user").str.slice(1).cast(pl.Int64) - 1
        frame = made.select(person=(number // _VISITS).cast(pl.String), symbol="page")
    else:
        frame = public.load("msnbc", data).select("person", "symbol")
    frame = frame.filter(pl.len().over("person") >= LONG)
    return tables_by_person(frame, "person", "symbol", clicks.msnbc())


def logs(data: Path | None) -> tuple[EventTable, ...]:
    """Return logs of activities in six homes, or synthetic ones; labels are numbered, in bins of ten."""
    if data is None:
        frame = activities.make(persons=_MADE_LOGS, days=_DAYS).select(person="user", symbol="activity")
    else:
        parts = (
            ("aruba", "label"),
            ("hh101", "label"),
            ("kasteren-a", "label"),
            ("kasteren-b", "label"),
            ("kasteren-c", "label"),
            ("ordonez-a", "Activity"),
        )
        said = pl.col("symbol").str.to_lowercase().str.replace_all("_", " ")
        frame = pl.concat(
            public.load(name, data).select(person=pl.lit(name), symbol=column) for name, column in parts
        ).with_columns(said)
    numbered = frame.with_columns(pl.col("symbol").rank("dense").cast(pl.String))
    return tables_by_person(numbered, "person", "symbol", public.areas(frame["symbol"].n_unique()))


def data_sets(data: Path | None) -> list[DataSet]:
    """List the data: public sets where they are given."""
    made = data is None
    users = "users of the generator, visits put together" if made else LONG_USERS
    homes = f"logs of daily activities {'of the generator' if made else 'in homes'}"
    return [
        DataSet(name=CLICKS, about=users, load=cache(partial(long_clicks, data))),
        DataSet(name=LOGS, about=homes, load=cache(partial(logs, data))),
    ]


@cache
def frequent_of(dataset: DataSet, person: int, length: int) -> tuple[list[Pattern], Counts]:
    """Return the frequent patterns of a person, and how often each occurs; counted once."""
    return frequent_patterns(dataset.load()[person], length)


def frequent_patterns(table: EventTable, length: int) -> tuple[list[Pattern], Counts]:
    """Return the patterns of a person that occur often enough to be drawn, with their frequencies.

    Examples
    --------
    >>> from sequester.testing import symbol_table
    >>> patterns, counts = frequent_patterns(symbol_table(["abababab"]), 2)
    >>> patterns, counts.tolist()
    ([('a', 'b')], [10])
    """
    sequences = table.sequences
    book = sequences.codebooks[sequences.symbol]
    symbols = sequences.columns[sequences.symbol]
    tuples, counts = count_index_tuples(symbols, len(book), length, WINDOW)
    often = counts >= FREQUENT
    return [tuple(book.labels[code] for code in each) for each in tuples[often].tolist()], counts[often]


def draw_patterns(dataset: DataSet, person: int, number: int, length: int, turn: int) -> list[Pattern]:
    """Return random patterns of a person; in the same turn, fewer patterns are the first of more."""
    pool, _ = frequent_of(dataset, person, length)
    places = np.random.default_rng([person, length, turn]).permutation(len(pool))
    return [pool[place] for place in places[:number].tolist()]


def draw_pairs(dataset: DataSet, person: int, alpha: int, draws: int) -> list[list[Pattern]]:
    """Return random pairs of patterns, one at least `alpha` times as frequent as the other, if there are."""
    pool, counts = frequent_of(dataset, person, LENGTH)
    often, seldom = np.nonzero(counts[:, None] >= alpha * counts[None, :])
    random = np.random.default_rng([person, alpha])
    places = random.integers(often.size, size=draws).tolist() if often.size else []
    return [[pool[often[place]], pool[seldom[place]]] for place in places]


def with_all_ratios(dataset: DataSet) -> list[int]:
    """Return the persons who have patterns of all ratios, in a random order."""
    order = np.random.default_rng(2016).permutation(len(dataset.load())).tolist()
    found = [person for person in order if draw_pairs(dataset, person, ALPHAS[-1], 1)]
    if not found:
        msg = f"{dataset.name}: nobody has a pattern that is {ALPHAS[-1]} times as frequent as another"
        raise InputError(msg)
    return found


def plan(data: Path | None, *, design: Design) -> ExperimentPlan:
    """Plan the grid: one quantity varies, the others stay as in Table 1."""
    sets = data_sets(data)
    quick = design == "quick"
    shares = tuple(each / 10 for each in range(1, 10, 2 if quick else 1))
    lengths, numbers = ((2, 3, 4), (2, 4, 8)) if quick else ((2, 3, 4, 5), (2, 4, 6, 8, 10))
    draws = {"quick": 10, "sampled": 5, "whole": 25}[design]
    axes: list[tuple[str, str, tuple[float, ...], tuple[str, ...]]] = [
        ("bounds", "share", shares, COSTS),
        ("lengths", "length", lengths, COSTS[:2]),
        ("numbers", "number", numbers, COSTS[:2]),
    ]
    cells: list[Cell] = []
    for dataset in sets:
        size = sum(table.n_events for table in dataset.load()) * draws / 1e6
        for table, name, values, costs in axes:
            for value in values:
                cells += grid(
                    table,
                    partial(hide, dataset),
                    {"data": dataset.name},
                    weight=size * (4.0 ** (value - 2) if name == "length" else 1.0),
                    method=ALGORITHMS,
                    cost=costs,
                    **{name: [value]},
                    draws=[draws],
                )
    dataset = sets[0]
    cells += grid(
        "frequencies",
        partial(hide_two, dataset),
        {},
        alpha=ALPHAS,
        method=ALGORITHMS,
        cost=COSTS[:2],
        persons=(ONE, "all persons"),
        draws=[draws],
    )
    cells += grid("kept", partial(preserved, dataset), {}, method=ALGORITHMS, draws=[draws])
    cells += grid("top", partial(pairs_of_one, dataset), {"method": "Top-Down"})
    return ExperimentPlan(
        sources=[_describe(dataset) for dataset in sets],
        fingerprint=" ".join(table_digest(table) for dataset in sets for table in dataset.load()),
        cells=cells,
    )


def _describe(dataset: DataSet) -> str:
    tables = dataset.load()
    sizes = [table.n_events for table in tables]
    labels = {label for table in tables for label in table.sequences.codebooks[table.sequences.symbol].labels}
    return (
        f"{dataset.name}: {len(tables)} {dataset.about}; {sum(sizes):,} events, {min(sizes):,} to "
        f"{max(sizes):,} each, {len(labels)} symbols."
    )


def prepare(
    table: EventTable,
    method: str,
    patterns: list[Pattern],
    *,
    measure: Literal["exact", "paper"] = "paper",
    **asked: Any,
) -> Search:
    """Return the search of the paper's algorithm for some patterns of a person."""
    asked |= {"patterns": tuple(patterns), "window": WINDOW, "measure": measure, "search": "greedy"}
    return Search.of(ALGORITHMS[method](**asked), table)


def sanitize(
    table: EventTable, method: str, patterns: list[Pattern], **asked: Any
) -> tuple[Codes, float, float]:
    """Return the released nodes of a person, the loss per symbol, and the seconds of the search."""
    search = prepare(table, method, patterns, **asked)
    task = search.task
    times = []
    for _ in range(_TIMES):
        start = time.process_time()
        nodes = search.solve(0)
        times.append(time.process_time() - start)
    loss = float(task.costs[search.items, task.tree.depth[nodes]].mean())
    return nodes, loss, min(times)


@cache
def _compile(method: str) -> None:
    """Compile the kernels of an algorithm, so that no cell is timed with it."""
    frame = pl.DataFrame({"who": ["one"] * 9, "what": list("121323112")})
    (table,) = tables_by_person(frame, "who", "what", public.areas(3, width=2))
    for share in (0.0, 0.9):
        sanitize(table, method, [("1", "2"), ("2", "3")], max_leakage=share)


def _measure(table: EventTable, method: str, patterns: list[Pattern], **asked: Any) -> tuple[float, ...]:
    """Return loss per symbol, seconds, and evaluations of the algorithm as printed."""
    _, loss, seconds = sanitize(table, method, patterns, **asked)
    return loss, seconds, count_evaluations(prepare(table, method, patterns, **asked))


def _means(found: list[list[tuple[float, ...]]], method: str, cost: str) -> Rows:
    """Return mean losses, seconds and evaluations, over the draws of each person and then over persons."""
    if not (by_person := [each for each in found if each]):
        return []
    names = ("loss", "seconds", "evaluations")
    means = {
        name: fmean(fmean(row[at] for row in each) for each in by_person) for at, name in enumerate(names)
    }
    counted = {"persons_drawn": len(by_person), "runs": sum(map(len, by_person))}
    return [{"series": f"{method}, {cost}", **means, **counted}]


def hide(
    dataset: DataSet,
    *,
    method: str,
    cost: str,
    draws: int,
    share: float = SHARE,
    length: int = LENGTH,
    number: int = NUMBER,
) -> Rows:
    """Hide patterns of every person, several times."""
    _compile(method)
    found: list[list[tuple[float, ...]]] = []
    for person, table in enumerate(dataset.load()):
        drawn = [draw_patterns(dataset, person, number, length, turn) for turn in range(draws)]
        found.append([_measure(table, method, each, cost=cost, max_leakage=share) for each in drawn if each])
    return _means(found, method, cost)


def hide_two(dataset: DataSet, persons: str, method: str, cost: str, alpha: int, draws: int) -> Rows:
    """Hide two patterns whose frequencies differ, of one person or of all, at a bound in bits."""
    _compile(method)
    tables = dataset.load()
    found = [
        [
            _measure(tables[person], method, pair, cost=cost, max_leakage_bits=BITS)
            for pair in draw_pairs(dataset, person, alpha, draws)
        ]
        for person in with_all_ratios(dataset)[: 1 if persons == ONE else None]
    ]
    return _means(found, method, cost)


def _released(dataset: DataSet, person: int, method: str, turn: int) -> tuple[Sequences, dict[str, str]]:
    """Return the sequence of a person, sanitized as in Table 1, and what each label became."""
    table = dataset.load()[person]
    nodes, _, _ = sanitize(
        table, method, draw_patterns(dataset, person, NUMBER, LENGTH, turn), max_leakage=SHARE
    )
    names = table.hierarchies[table.sequences.symbol].labels
    labels = [names[node] for node in nodes.tolist()]
    (row,) = table.sequences.to_rows()
    return Sequences.from_rows([labels]), dict(zip(row, labels, strict=True))


def pairs_of_one(dataset: DataSet) -> Rows:
    """Return the most frequent pairs of one person before and after (Figure 9)."""
    person = with_all_ratios(dataset)[0]
    sequences, _ = _released(dataset, person, "Top-Down", 0)
    before, after = (top_pairs(each, window=WINDOW) for each in (dataset.load()[person], sequences))
    both = {pair for pair, _ in before} & {pair for pair, _ in after}
    return [
        {
            "sequence": name,
            "rank": rank,
            "pattern": " → ".join(pair),
            "occurrences": n,
            "in_both": pair in both,
        }
        for name, listed in (("original", before), ("sanitized", after))
        for rank, (pair, n) in enumerate(listed, start=1)
    ]


def preserved(dataset: DataSet, method: str, draws: int) -> Rows:
    """Return how many of the most frequent pairs are left, and how their counts differ; means over runs."""
    found = []
    for person, table in enumerate(dataset.load()):
        before = top_pairs(table, window=WINDOW)
        for turn in range(draws):
            sequences, became = _released(dataset, person, method, turn)
            after = top_pairs(sequences, window=WINDOW)
            names = {pattern for pattern, _ in after}
            images = [tuple(became[label] for label in pattern) for pattern, _ in before]
            # What is released as the root has no meaning left to be preserved.
            coarse = [image in names and ROOT not in image for image in images]
            gone = [pattern for pattern, _ in before if pattern not in names]
            generalized = [any(became[label] != label for label in pattern) for pattern in gone]
            distance = total_variation(*([count for _, count in each] for each in (before, after)))
            counts = (len(before) - len(gone), sum(generalized), sum(coarse))
            found.append((*(count / len(before) for count in counts), distance))
    columns = ("kept", "generalized", "kept_coarser", "distance")
    means = (fmean(each) for each in zip(*found, strict=True))
    return [dict(zip(columns, means, strict=True), runs=len(found))]


def total_variation(before: list[int], after: list[int]) -> float:
    """Return the total variation between two lists of counts, rank by rank, each as shares of its sum.

    Examples
    --------
    >>> total_variation([3, 1], [6, 2]), total_variation([3, 1], [4])
    (0.0, 0.25)
    """
    shares = [[count / sum(each) for count in each] for each in (before, after)]
    return sum(abs(one - other) for one, other in zip_longest(*shares, fillvalue=0.0)) / 2


def count_evaluations(search: Search) -> int:
    """Count how often the algorithm as printed evaluates the mutual information of a generalization.

    The test whether the symbols of the patterns suffice counts, too.
    """
    task, row, found = search.task, search.items, search.found[:, 0]
    person = describe(task, row, found, weights=None, only_sensitive=True)
    is_active = person.is_sensitive
    if search.method.way == "top-down":
        if (n_tried := refine_as_printed(person, is_active)[0]) > 1:
            return n_tried
        person = describe(task, row, found, weights=None)
        return 1 + refine_as_printed(person, np.ones(len(person.codes), np.bool_))[0]
    depths, tree = np.empty(len(person.codes), np.int64), task.tree
    n_merged: int = _kernels.bottom_up(person.problem, is_active, tree.parent, tree.depth, depths)
    if not n_merged:
        person = describe(task, row, found, weights=None)
        depths, everything = np.empty(len(person.codes), np.int64), np.ones(len(person.codes), np.bool_)
        n_merged = _kernels.bottom_up(person.problem, everything, tree.parent, tree.depth, depths)
    # Ours tests before the first step, too, and Algorithm 3 only after each.
    return max(n_merged - 1, 1)


def refine_as_printed(person: Person, is_active: Mask) -> tuple[int, Counts]:
    """Refine as Algorithm 1 does, line by line; return the number of evaluations, and the depths."""
    problem = person.problem
    paths, costs, n_patterns = problem.paths, problem.costs, len(problem.patterns.symbols)
    depths = np.where(is_active, 0, problem.leaf_depths)
    symbols = np.arange(len(depths))
    alike, counted = np.empty(n_patterns, np.int64), np.empty(n_patterns, np.int64)
    nodes = paths[symbols, depths].astype(np.int32)
    _kernels.recount_alike(problem.tuples, problem.patterns, np.full_like(nodes, -1), nodes, alike, counted)
    n_tried, alike = 1, counted.copy()
    if not _kernels.is_private(problem.patterns, nodes, counted, True):
        return n_tried, depths
    is_open = depths < problem.leaf_depths
    while is_open.any():
        best, least = np.empty(0, np.int64), np.inf
        for symbol in np.argsort(person.ranks).tolist():
            if not is_open[symbol]:
                continue
            depth = int(depths[symbol])
            block = np.flatnonzero(
                is_active & (depths == depth) & (paths[:, depth + 1] == paths[symbol, depth + 1])
            )
            loss = float((costs[block, depth + 1] - costs[block, depth]).sum())
            if loss > least + problem.near:
                continue
            new = nodes.copy()
            new[block] = paths[block, depth + 1]
            _kernels.recount_alike(problem.tuples, problem.patterns, nodes, new, alike, counted)
            n_tried += 1
            if _kernels.is_private(problem.patterns, new, counted, True):
                best, least, best_alike = block, loss, counted.copy()
            else:
                is_open[block] = False
        if best.size:
            depths[best] += 1
            nodes, alike = paths[symbols, depths].astype(np.int32), best_alike
            is_open[best] = depths[best] < problem.leaf_depths[best]
    return n_tried, depths


# Checks of claims
# The thresholds of agreement were chosen from the words of the paper before anything was run: "rises" and
# "falls" compare the two ends of an axis. Two were made stricter afterwards, where chance would have passed
# for agreement: "typically faster" also requires a tenth less time over all settings, and a pair with the
# root is not "preserved at a coarser granularity".

_MOSTLY = 0.9
"""A statement without "always" may fail in one cell of ten."""
_BUMP = 0.01
"""Loss that a curve which falls may rise by from one point to the next."""
_ALIKE = 0.05
"""Mean difference of loss between costs that perform alike."""
_ORDER = 5.0
"""A ratio that passes for one order of magnitude."""
_FASTER = 0.9
"""Share of the other's time that is faster in general; seconds that differ by less do not rise or fall."""
_FLAT = 0.1
"""Change of loss that is not substantial, on a scale from 0 to 1."""
_STABLE = 1.5
"""Ratio of the longest to the shortest time of a curve that is stable."""
_SIMILAR = 0.1
"""Total variation between distributions that are very similar."""


def _curves(table: pl.DataFrame, x: str, y: str) -> dict[tuple[str, ...], list[float]]:
    """Return every curve of a figure: its values from left to right."""
    keys = [key for key in ("data", "persons", "method", "cost") if key in table.columns]
    parts = table.sort(x, maintain_order=True).partition_by(keys, as_dict=True, maintain_order=True)
    return {tuple(map(str, key)): part[y].to_list() for key, part in parts.items()}


def _trend(
    tables: Tables,
    table: str,
    x: str,
    y: str,
    way: str,
    least: float = 0.0,
    where: Mapping[str, str] | None = None,
) -> tuple[str, bool | Agreement, str]:
    """Compare the two ends of every curve."""
    rows = tables[table].filter(pl.col(x) >= least, **(where or {}))
    if y == "work":
        rows = rows.with_columns(work=pl.col("evaluations") * pl.col("length"))
    curves = _curves(rows, x, y)
    starts, ends = ([each[at] for each in curves.values()] for at in (0, -1))
    lower, higher = (starts, ends) if way == "rises" else (ends, starts)
    margin = _FASTER if y == "seconds" else 1.0
    right = [low < high * margin for low, high in zip(lower, higher, strict=True)]
    first, last = min(rows[x].to_list()), max(rows[x].to_list())
    if y == "loss":
        shown = f"the loss is {_span(starts)} at {first:g}, {_span(ends)} at {last:g}"
    else:
        times = [end / start for start, end in zip(starts, ends, strict=True)]
        shown = f"from {first:g} to {last:g} it becomes {_span(times)} times as much"
    others = [", ".join(key) for key, holds in zip(curves, right, strict=True) if not holds]
    shown = f"{shown}; it {way} in {sum(right)} of {len(right)} curves"
    return shown, all_or_some(right), "; ".join(others)


def _beside(tables: Tables, on: str, values: str, **where: str) -> pl.DataFrame:
    keys = [key for key in ("data", "method", "cost", "share") if key != on]
    return tables["bounds"].filter(**where).pivot(on=on, index=keys, values=values, maintain_order=True)


def _mostly(holds: list[bool]) -> bool | Agreement:
    """Return whether something holds as a rule; in part where only in more than half of the settings."""
    share = sum(holds) / len(holds)
    return share >= _MOSTLY or ("agrees in part" if share > 0.5 else False)


def _where_not(table: pl.DataFrame, holds: list[bool]) -> str:
    """Return at which bounds, and with which methods if there are any, something does not hold."""
    others = table.filter(~pl.Series(holds))
    if others.is_empty():
        return ""
    ways = others["method"].unique(maintain_order=True).to_list() if "method" in others.columns else []
    low, high = (end(others["share"].to_list()) for end in (min, max))
    above = table.filter(pl.col("share") > high).height
    return f"{', '.join([*ways, f'{low:g} to {high:g}'])}, and above that it does in all {above} settings"


def _faster(tables: Tables, y: str) -> tuple[str, bool]:
    both = _beside(tables, "method", y)
    sooner = (both["Bottom-Up"] < both["Top-Down"]).to_list()
    ratio = sum(both["Bottom-Up"].to_list()) / sum(both["Top-Down"].to_list())
    measured = (
        f"in {sum(sooner)} of {len(sooner)} settings; over all of them it takes {ratio:.2f} of what "
        "Top-Down takes"
    )
    return measured, sum(sooner) > len(sooner) / 2 and ratio <= _FASTER


def _much_faster(tables: Tables, y: str) -> tuple[str, bool]:
    both = _beside(tables, "method", y, data=LOGS)
    ratio = sum(both["Top-Down"].to_list()) / sum(both["Bottom-Up"].to_list())
    return f"Top-Down takes {ratio:.2f} times as much", ratio >= _ORDER


def _falls_all_along(tables: Tables) -> tuple[str, bool]:
    curves = _curves(tables["bounds"], "share", "loss").values()
    steps = [max(b - a for a, b in pairwise(each)) for each in curves]
    lows, highs = ([each[at] for each in curves] for at in (-1, 0))
    measured = (
        f"loss falls from {_span(highs)} at the tightest bound to {_span(lows)} at the loosest; the "
        f"largest step upwards is {max(0.0, *steps):.3f}"
    )
    return measured, all(each[-1] < each[0] for each in curves) and max(steps) <= _BUMP


def _better(tables: Tables) -> tuple[str, bool | Agreement, str]:
    both = _beside(tables, "method", "loss")
    better = (both["Top-Down"] <= both["Bottom-Up"]).to_list()
    down, up = (fmean(both[way].to_list()) for way in ("Top-Down", "Bottom-Up"))
    measured = f"in {sum(better)} of {len(better)} settings; {down:.3f} and {up:.3f} on average"
    return measured, _mostly(better), _where_not(both, better)


def _cheapest(tables: Tables) -> tuple[str, bool | Agreement, str]:
    by_cost = _beside(tables, "cost", "loss")
    others = by_cost.select(pl.min_horizontal("linear", "exponential"))["linear"]
    least = (by_cost["information-loss"] <= others).to_list()
    return f"in {sum(least)} of {len(least)} settings", _mostly(least), _where_not(by_cost, least)


def _similar(tables: Tables) -> tuple[str, bool]:
    by_cost = _beside(tables, "cost", "loss")
    gaps = (by_cost["linear"] - by_cost["exponential"]).abs().to_list()
    mean = fmean(gaps)
    return f"they differ by {mean:.3f} on average, at most by {max(gaps):.3f}", mean <= _ALIKE


def _robust(tables: Tables) -> tuple[str, bool]:
    curves = _curves(tables["lengths"], "length", "loss")
    changes = {key: max(each) - min(each) for key, each in curves.items()}
    most = max(changes, key=lambda key: changes[key])
    measured = f"it changes by {_span(list(changes.values()))}, most for {', '.join(most)}"
    return measured, changes[most] <= _FLAT


def _stable(tables: Tables, y: str) -> tuple[str, bool]:
    curves = _curves(tables["numbers"].filter(data=LOGS, method="Top-Down"), "number", y)
    ratios = [max(each) / min(each) for each in curves.values()]
    return f"the most is {_span(ratios)} times the least", max(ratios) <= _STABLE


def _top_down(tables: Tables, column: str) -> float:
    (value,) = tables["kept"].filter(method="Top-Down")[column].to_list()
    return float(value)


def _kept(tables: Tables) -> tuple[str, bool, str]:
    n_both = int(tables["top"].filter(sequence="original")["in_both"].sum())
    share = _top_down(tables, "kept")
    remark = f"{_top_down(tables, 'generalized') / (1 - share):.0%}" if share < 1 else ""
    return f"{n_both} of the ten of one person, {share:.0%} on average over all", share > 0.5, remark


def _kept_coarser(tables: Tables) -> tuple[str, bool]:
    share = _top_down(tables, "kept_coarser")
    return f"{share:.0%} of the ten are among those of the release in a form without the root", share > 0.5


def _same_distribution(tables: Tables) -> tuple[str, bool]:
    distance = _top_down(tables, "distance")
    both = (tables["top"].filter(sequence=name)["occurrences"] for name in ("original", "sanitized"))
    shown = total_variation(*(each.to_list() for each in both))
    measured = f"they are {distance:.3f} apart on average, in total variation, {shown:.3f} for the one person"
    return measured, distance <= _SIMILAR


def _span(values: list[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"
