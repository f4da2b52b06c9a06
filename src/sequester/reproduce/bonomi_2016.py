"""Bonomi, Fan, Jin (2016): bounds, costs, lengths, numbers and frequencies of patterns, and side effects.

Reality Mining is not public. In its place stand logs of daily activities, over a taxonomy that is made as
the paper made its own: numbered labels in bins of ten.
"""

from __future__ import annotations

import time
from functools import cache, partial
from itertools import product, zip_longest
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from sequester import kernels
from sequester.data.schema import Schema, Symbol
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.datasets import activities, clicks, public
from sequester.datasets.clicks import msnbc
from sequester.datasets.public import areas
from sequester.errors import InputError
from sequester.hierarchies.labels import ROOT
from sequester.methods.mutual_information.bottom_up import BottomUp
from sequester.methods.mutual_information.plan import Plan as Search
from sequester.methods.mutual_information.top_down import TopDown
from sequester.reproduce.bonomi_2016_claims import CLICKS, DRAWINGS, LOGS, ONE, STATEMENTS
from sequester.reproduce.plan import Cell, Plan, Source, grid, judge
from sequester.utility.patterns import TopPatterns
from sequester.workflow.job import table_digest

if TYPE_CHECKING:
    from pathlib import Path

    from sequester._typing import Codes, Counts
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.reproduce.plan import Rows

    Pattern = tuple[str, ...]

ALGORITHMS = {"Top-Down": TopDown, "Bottom-Up": BottomUp}
"""The two algorithms, as the paper calls them."""
COSTS = ("information-loss", "linear", "exponential")
"""What generalizing costs; after Figure 5 the paper goes on with the first two."""
ALPHAS = (2, 4, 8, 16, 32)
"""How many times more frequent one of two patterns is than the other, at least."""
WINDOW, FREQUENT, LENGTH, NUMBER, SHARE = 10, 10, 2, 4, 0.5
"""Table 1: window, least frequency, length and number of patterns, bound as a share of the entropy."""
BITS = 0.1
"""The bound of Figure 8."""
LONG = 500
"""Least number of clicks of a user in the experiments."""
_MADE_USERS, _VISITS = 36, 200
_MADE_LOGS, _DAYS = 8, 180
_TIMES = 3
"""Runs of the same search, of which the shortest counts."""
NOTES = (
    (
        "Patterns are drawn for each person from those of their own that occur at least 10 times within a "
        "window of 10, all alike, and the same ones for every method, cost and bound; of a person who has "
        "fewer than asked for, all. Results are means over draws, then over persons. The values on the "
        "axes are ours where the text of the paper has none: bounds, lengths and numbers."
    ),
    (
        "What leaks is counted by the paper's measure, which leaves out what places without a secret pattern "
        'tell (measure = "paper"); the methods count mutual information unless they are told otherwise.'
    ),
    (
        "Loss is per symbol, by the cost that the method is told to save. Times are processor time of the "
        "search alone, the shortest of three, counting of index tuples included, kernels compiled before."
    ),
    (
        "Figure 8 and the two lists of Figure 9 are for one person, drawn by chance among those with "
        "patterns of all ratios. Figure 8 is also shown for all such persons, and Figure 9 judged over all."
    ),
)
"""What a reader must know."""


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
    return tables_by_person(frame, "person", "symbol", msnbc())


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
    return tables_by_person(numbered, "person", "symbol", areas(frame["symbol"].n_unique()))


def sources_of(data: Path | None) -> list[Source]:
    """List the data: public sets where they are given."""
    made = data is None
    about_clicks = "of the generator, visits put together" if made else "of msnbc.com with 500 or more clicks"
    return [
        Source(name=CLICKS, about=f"users {about_clicks}", load=cache(partial(long_clicks, data))),
        Source(
            name=LOGS,
            about=f"logs of daily activities {'of the generator' if made else 'in homes'}",
            load=cache(partial(logs, data)),
        ),
    ]


@cache
def frequent_of(source: Source, person: int, length: int) -> tuple[list[Pattern], Counts]:
    """Return the frequent patterns of a person, and how often each occurs; counted once."""
    return frequent_patterns(source.load()[person], length)


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
    tuples, counts = kernels.index_tuples.count_tuples(
        sequences.columns[sequences.symbol],
        len(book),
        length,
        WINDOW,
        kernels.index_tuples.DENSE,
        kernels.index_tuples.MOST_DISTINCT,
    )
    often = counts >= FREQUENT
    return [tuple(book.labels[code] for code in each) for each in tuples[often].tolist()], counts[often]


def plan(data: Path | None, *, quick: bool) -> Plan:
    """Plan the grid: one quantity varies, the others stay as in Table 1."""
    sources = sources_of(data)
    shares = [each / 10 for each in range(1, 10, 2 if quick else 1)]
    lengths, numbers, draws = ((2, 3, 4), (2, 4, 8), 10) if quick else ((2, 3, 4, 5), (2, 4, 6, 8, 10), 25)
    cells: list[Cell] = []
    point: dict[str, Any]
    for source in sources:
        size = sum(table.n_events for table in source.load()) * draws / 1e6
        varied: list[tuple[str, dict[str, Any], tuple[str, ...], float]] = [
            *(("bounds", {"share": share}, COSTS, 1.0) for share in shares),
            *(("lengths", {"length": length}, COSTS[:2], 4.0 ** (length - 2)) for length in lengths),
            *(("numbers", {"number": number}, COSTS[:2], 1.0) for number in numbers),
        ]
        for table, given, costs, weight in varied:
            for way, cost in product(ALGORITHMS, costs):
                point = {"method": way, "cost": cost, **given, "draws": draws}
                parameters = {"data": source.name, **point}
                run = partial(hide, source, **point)
                cells.append(Cell(table=table, parameters=parameters, run=run, weight=weight * size))
    source = sources[0]
    for alpha, way, cost, persons in product(ALPHAS, ALGORITHMS, COSTS[:2], (ONE, "all persons")):
        point = {"persons": persons, "method": way, "cost": cost, "alpha": alpha, "draws": draws}
        cells.append(Cell(table="frequencies", parameters=point, run=partial(hide_two, source, **point)))
    cells += grid("kept", partial(preserved, source), {}, method=ALGORITHMS, draws=[draws])
    cells += grid("top", partial(top_pairs, source), {"method": "Top-Down"})
    return Plan(
        sources=[_describe(source) for source in sources],
        fingerprint=" ".join(table_digest(table) for source in sources for table in source.load()),
        cells=cells,
        drawings=DRAWINGS,
        claims=partial(judge, STATEMENTS),
        notes=NOTES,
    )


def _describe(source: Source) -> str:
    tables = source.load()
    sizes = [table.n_events for table in tables]
    labels = {label for table in tables for label in table.sequences.codebooks[table.sequences.symbol].labels}
    return (
        f"{source.name}: {len(tables)} {source.about}; {sum(sizes):,} events, {min(sizes):,} to "
        f"{max(sizes):,} each, {len(labels)} symbols."
    )


def draw_patterns(source: Source, person: int, number: int, length: int, turn: int) -> list[Pattern]:
    """Return random patterns of a person; in the same turn, fewer patterns are the first of more."""
    pool, _ = frequent_of(source, person, length)
    places = np.random.default_rng([person, length, turn]).permutation(len(pool))
    return [pool[place] for place in places[:number].tolist()]


def sanitize(
    table: EventTable,
    method: str,
    patterns: list[Pattern],
    *,
    measure: Literal["exact", "paper"] = "paper",
    **asked: Any,
) -> tuple[Codes, float, float]:
    """Return the released nodes of a person, the loss per symbol, and the seconds of the search."""
    asked |= {"patterns": tuple(patterns), "window": WINDOW, "measure": measure}
    search = Search.of(ALGORITHMS[method](**asked), table)
    task = search.task
    times = []
    for _ in range(_TIMES):
        start = time.process_time()
        nodes = search.solver.solve(task, search.items, search.found[:, 0], None)
        times.append(time.process_time() - start)
    loss = float(task.costs[search.items, task.tree.depth[nodes]].mean())
    return nodes, loss, min(times)


@cache
def _compile(method: str) -> None:
    """Compile the kernels of an algorithm, so that no cell is timed with it."""
    frame = pl.DataFrame({"who": ["one"] * 9, "what": list("121323112")})
    (table,) = tables_by_person(frame, "who", "what", areas(3, width=2))
    for share in (0.0, 0.9):
        sanitize(table, method, [("1", "2"), ("2", "3")], max_leakage=share)


def _means(found: list[list[tuple[float, float]]], method: str, cost: str) -> Rows:
    """Return mean losses and seconds, over the draws of each person and then over persons."""
    if not (by_person := [each for each in found if each]):
        return []
    loss, seconds = (fmean(fmean(row[at] for row in each) for each in by_person) for at in (0, 1))
    counted = {"persons_drawn": len(by_person), "runs": sum(map(len, by_person))}
    return [{"series": f"{method}, {cost}", "loss": loss, "seconds": seconds, **counted}]


def hide(
    source: Source,
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
    found: list[list[tuple[float, float]]] = []
    for person, table in enumerate(source.load()):
        drawn = [draw_patterns(source, person, number, length, turn) for turn in range(draws)]
        runs = (sanitize(table, method, each, cost=cost, max_leakage=share) for each in drawn if each)
        found.append([run[1:] for run in runs])
    return _means(found, method, cost)


def draw_pairs(source: Source, person: int, alpha: int, draws: int) -> list[list[Pattern]]:
    """Return random pairs of patterns, one at least `alpha` times as frequent as the other, if there are."""
    pool, counts = frequent_of(source, person, LENGTH)
    often, seldom = np.nonzero(counts[:, None] >= alpha * counts[None, :])
    random = np.random.default_rng([person, alpha])
    places = random.integers(often.size, size=draws).tolist() if often.size else []
    return [[pool[often[place]], pool[seldom[place]]] for place in places]


def with_all_ratios(source: Source) -> list[int]:
    """Return the persons who have patterns of all ratios, in a random order."""
    order = np.random.default_rng(2016).permutation(len(source.load())).tolist()
    found = [person for person in order if draw_pairs(source, person, ALPHAS[-1], 1)]
    if not found:
        msg = f"{source.name}: nobody has a pattern that is {ALPHAS[-1]} times as frequent as another"
        raise InputError(msg)
    return found


def hide_two(source: Source, persons: str, method: str, cost: str, alpha: int, draws: int) -> Rows:
    """Hide two patterns whose frequencies differ, of one person or of all, at a bound in bits."""
    _compile(method)
    tables = source.load()
    found = [
        [
            sanitize(tables[person], method, pair, cost=cost, max_leakage_bits=BITS)[1:]
            for pair in draw_pairs(source, person, alpha, draws)
        ]
        for person in with_all_ratios(source)[: 1 if persons == ONE else None]
    ]
    return _means(found, method, cost)


def _released(source: Source, person: int, method: str, turn: int) -> tuple[Sequences, dict[str, str]]:
    """Return the sequence of a person, sanitized as in Table 1, and what each label became."""
    table = source.load()[person]
    nodes, _, _ = sanitize(
        table, method, draw_patterns(source, person, NUMBER, LENGTH, turn), max_leakage=SHARE
    )
    names = table.hierarchies[table.sequences.symbol].labels
    labels = [names[node] for node in nodes.tolist()]
    (row,) = table.sequences.to_rows()
    return Sequences.from_rows([labels]), dict(zip(row, labels, strict=True))


def top_pairs(source: Source) -> Rows:
    """Return the most frequent pairs of one person before and after (Figure 9)."""
    person = with_all_ratios(source)[0]
    sequences, _ = _released(source, person, "Top-Down", 0)
    before, after = (TopPatterns(window=WINDOW).top(each) for each in (source.load()[person], sequences))
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


def preserved(source: Source, method: str, draws: int) -> Rows:
    """Return how many of the most frequent pairs are left, and how their counts differ; means over runs."""
    measure = TopPatterns(window=WINDOW)
    found = []
    for person, table in enumerate(source.load()):
        before = measure.top(table)
        for turn in range(draws):
            sequences, became = _released(source, person, method, turn)
            after = measure.top(sequences)
            names = {pattern for pattern, _ in after}
            images = [tuple(became[label] for label in pattern) for pattern, _ in before]
            # What is released as the root has no meaning left to be preserved.
            coarse = [image in names and ROOT not in image for image in images]
            as_such = [pattern in names for pattern, _ in before]
            distance = total_variation(*([count for _, count in each] for each in (before, after)))
            found.append((fmean(as_such), fmean(coarse), distance))
    means = (fmean(each) for each in zip(*found, strict=True))
    return [dict(zip(("kept", "kept_coarser", "distance"), means, strict=True), runs=len(found))]


def total_variation(before: list[int], after: list[int]) -> float:
    """Return the total variation between two lists of counts, rank by rank, each as shares of its sum.

    Examples
    --------
    >>> total_variation([3, 1], [6, 2]), total_variation([3, 1], [4])
    (0.0, 0.25)
    """
    shares = [[count / sum(each) for count in each] for each in (before, after)]
    return sum(abs(one - other) for one, other in zip_longest(*shares, fillvalue=0.0)) / 2
