"""Bonomi, Fan, Jin (2016): bounds, costs, lengths, numbers and frequencies of patterns, and side effects."""

from __future__ import annotations

import time
from functools import cache, partial
from itertools import zip_longest
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from sequester import kernels
from sequester.data.sequences import Sequences
from sequester.datasets.taxonomies import areas
from sequester.errors import InputError
from sequester.hierarchies.labels import ROOT
from sequester.methods.mutual_information.bottom_up import BottomUp
from sequester.methods.mutual_information.plan import Plan as Search
from sequester.methods.mutual_information.top_down import TopDown
from sequester.reproduce.bonomi_2016_claims import DRAWINGS, ONE, claims
from sequester.reproduce.bonomi_2016_data import one_by_one, sources_of
from sequester.reproduce.plan import Cell, Plan
from sequester.utility.top_patterns import TopPatterns
from sequester.workflow.digest import table_digest

if TYPE_CHECKING:
    from pathlib import Path

    from sequester._typing import Codes, Counts
    from sequester.data.table import EventTable
    from sequester.reproduce.bonomi_2016_data import Source
    from sequester.reproduce.plan import Rows, Value

    Pattern = tuple[str, ...]

WAYS = {"Top-Down": TopDown, "Bottom-Up": BottomUp}
"""The two methods, as the paper calls them."""
COSTS = ("information-loss", "linear", "exponential")
"""What generalizing costs; after Figure 5 the paper goes on with the first two."""
ALPHAS = (2, 4, 8, 16, 32)
"""How many times more frequent one of two patterns is than the other, at least."""
WINDOW, FREQUENT, LENGTH, NUMBER, SHARE = 10, 10, 2, 4, 0.5
"""Table 1: window, least frequency, length and number of patterns, bound as a share of the entropy."""
BITS = 0.1
"""The bound of Figure 8."""
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


@cache
def pool_of(source: Source, person: int, length: int) -> tuple[list[Pattern], Counts]:
    """Give the frequent patterns of a person, and how often each occurs; counted once."""
    return frequent_patterns(source.load()[person], length)


def frequent_patterns(table: EventTable, length: int) -> tuple[list[Pattern], Counts]:
    """List the patterns of a person that occur often enough to be drawn, with their frequencies.

    Examples
    --------
    >>> from sequester.testing import symbol_table
    >>> patterns, counts = frequent_patterns(symbol_table(["abababab"]), 2)
    >>> patterns, counts.tolist()
    ([('a', 'b')], [10])
    """
    sequences = table.sequences
    book = sequences.codebooks[sequences.symbol]
    module = kernels.index_tuples
    tuples, counts = module.count_tuples(
        sequences.columns[sequences.symbol], len(book), length, WINDOW, module.DENSE, module.MOST_DISTINCT
    )
    often = counts >= FREQUENT
    return [tuple(book.labels[code] for code in each) for each in tuples[often].tolist()], counts[often]


def plan(data: Path | None, *, quick: bool) -> Plan:
    """Plan the grid: one quantity varies, the others stay as in Table 1."""
    sources = sources_of(data)
    shares = [each / 10 for each in range(1, 10, 2 if quick else 1)]
    lengths, numbers, draws = ((2, 3, 4), (2, 4, 8), 10) if quick else ((2, 3, 4, 5), (2, 4, 6, 8, 10), 25)
    cells = []
    for source in sources:
        size = sum(table.n_events for table in source.load()) * draws / 1e6
        varied: list[tuple[str, dict[str, Any], tuple[str, ...], float]] = [
            *(("bounds", {"share": share}, COSTS, 1.0) for share in shares),
            *(("lengths", {"length": length}, COSTS[:2], 4.0 ** (length - 2)) for length in lengths),
            *(("numbers", {"number": number}, COSTS[:2], 1.0) for number in numbers),
        ]
        for table, given, costs, weight in varied:
            for way in WAYS:
                for cost in costs:
                    told: dict[str, Value] = {"data": source.role, "method": way, "cost": cost}
                    run = partial(hide, source, way=way, cost=cost, draws=draws, **given)
                    parameters = {**told, **given, "draws": draws}
                    cells.append(Cell(table=table, parameters=parameters, run=run, weight=weight * size))
    source = sources[0]
    for alpha in ALPHAS:
        for way in WAYS:
            for cost in COSTS[:2]:
                for persons in (ONE, "all persons"):
                    who: dict[str, Value] = {"persons": persons, "method": way, "cost": cost, "alpha": alpha}
                    run = partial(hide_two, source, persons == ONE, way, cost, alpha, draws)
                    cells.append(Cell(table="frequencies", parameters={**who, "draws": draws}, run=run))
    cells += [
        Cell(table="kept", parameters={"method": way, "draws": draws}, run=partial(kept, source, way, draws))
        for way in WAYS
    ]
    cells.append(Cell(table="top", parameters={"method": "Top-Down"}, run=partial(top, source)))
    return Plan(
        sources=[_told(source) for source in sources],
        fingerprint=" ".join(table_digest(table) for source in sources for table in source.load()),
        cells=cells,
        drawings=DRAWINGS,
        claims=claims,
        notes=NOTES,
    )


def _told(source: Source) -> str:
    tables = source.load()
    sizes = [table.n_events for table in tables]
    labels = {label for table in tables for label in table.sequences.codebooks[table.sequences.symbol].labels}
    return (
        f"{source.role}: {len(tables)} {source.about}; {sum(sizes):,} events, {min(sizes):,} to "
        f"{max(sizes):,} each, {len(labels)} symbols."
    )


def draw(source: Source, person: int, number: int, length: int, turn: int) -> list[Pattern]:
    """Draw patterns of a person; where more are drawn in the same turn, the fewer are among them."""
    pool, _ = pool_of(source, person, length)
    places = np.random.default_rng([person, length, turn]).permutation(len(pool))
    return [pool[place] for place in places[:number].tolist()]


def sanitize(
    table: EventTable,
    way: str,
    patterns: list[Pattern],
    *,
    measure: Literal["exact", "paper"] = "paper",
    **asked: Any,
) -> tuple[Codes, float, float]:
    """Return the released nodes of a person, the loss per symbol, and the seconds of the search."""
    method = WAYS[way](patterns=tuple(patterns), window=WINDOW, measure=measure, **asked)
    search = Search.of(method, table)
    task = search.task
    times = []
    for _ in range(_TIMES):
        start = time.process_time()
        nodes = search.solver.solve(task, search.items, search.found[:, 0], None)
        times.append(time.process_time() - start)
    loss = float(task.costs[search.items, task.tree.depth[nodes]].mean())
    return nodes, loss, min(times)


@cache
def _warm(way: str) -> None:
    """Have the kernels of a method compiled, so that no cell pays for it."""
    frame = pl.DataFrame({"who": ["one"] * 9, "what": list("121323112")})
    (table,) = one_by_one(frame, "who", "what", areas(3, width=2))
    for share in (0.0, 0.9):
        sanitize(table, way, [("1", "2"), ("2", "3")], max_leakage=share)


def _means(found: list[list[tuple[float, float]]], way: str, cost: str) -> Rows:
    """Average losses and seconds over the draws of each person, then over persons."""
    if not (by_person := [each for each in found if each]):
        return []
    loss, seconds = (fmean(fmean(row[at] for row in each) for each in by_person) for at in (0, 1))
    counted = {"persons_drawn": len(by_person), "runs": sum(map(len, by_person))}
    return [{"series": f"{way}, {cost}", "loss": loss, "seconds": seconds, **counted}]


def hide(
    source: Source,
    *,
    way: str,
    cost: str,
    draws: int,
    share: float = SHARE,
    length: int = LENGTH,
    number: int = NUMBER,
) -> Rows:
    """Hide patterns of every person, several times."""
    _warm(way)
    found: list[list[tuple[float, float]]] = []
    for person, table in enumerate(source.load()):
        drawn = [draw(source, person, number, length, turn) for turn in range(draws)]
        runs = (sanitize(table, way, each, cost=cost, max_leakage=share) for each in drawn if each)
        found.append([run[1:] for run in runs])
    return _means(found, way, cost)


def draw_two(source: Source, person: int, alpha: int, draws: int) -> list[list[Pattern]]:
    """Draw pairs of patterns, one at least `alpha` times as frequent as the other; none where none is."""
    pool, counts = pool_of(source, person, LENGTH)
    often, seldom = np.nonzero(counts[:, None] >= alpha * counts[None, :])
    chance = np.random.default_rng([person, alpha])
    places = chance.integers(often.size, size=draws).tolist() if often.size else []
    return [[pool[often[place]], pool[seldom[place]]] for place in places]


def with_all_ratios(source: Source) -> list[int]:
    """Give the persons who have patterns of all ratios, in an order drawn by chance."""
    order = np.random.default_rng(2016).permutation(len(source.load())).tolist()
    found = [person for person in order if draw_two(source, person, ALPHAS[-1], 1)]
    if not found:
        msg = f"{source.role}: nobody has a pattern that is {ALPHAS[-1]} times as frequent as another"
        raise InputError(msg)
    return found


def hide_two(source: Source, one: bool, way: str, cost: str, alpha: int, draws: int) -> Rows:
    """Hide two patterns whose frequencies differ, of one person or of all, at a bound in bits."""
    _warm(way)
    tables = source.load()
    found = [
        [
            sanitize(tables[person], way, pair, cost=cost, max_leakage_bits=BITS)[1:]
            for pair in draw_two(source, person, alpha, draws)
        ]
        for person in with_all_ratios(source)[: 1 if one else None]
    ]
    return _means(found, way, cost)


def _released(source: Source, person: int, way: str, turn: int) -> tuple[Sequences, dict[str, str]]:
    """Sanitize a person as in Table 1: the released sequence, and what each label became."""
    table = source.load()[person]
    nodes, _, _ = sanitize(table, way, draw(source, person, NUMBER, LENGTH, turn), max_leakage=SHARE)
    names = table.hierarchies[table.sequences.symbol].labels
    labels = [names[node] for node in nodes.tolist()]
    (row,) = table.sequences.to_rows()
    return Sequences.from_rows([labels]), dict(zip(row, labels, strict=True))


def top(source: Source) -> Rows:
    """List the most frequent pairs of one person before and after (Figure 9)."""
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


def kept(source: Source, way: str, draws: int) -> Rows:
    """Average over persons and draws what of the most frequent pairs is left, and how their counts spread."""
    measure = TopPatterns(window=WINDOW)
    found = []
    for person, table in enumerate(source.load()):
        before = measure.top(table)
        for turn in range(draws):
            sequences, became = _released(source, person, way, turn)
            after = measure.top(sequences)
            names = {pattern for pattern, _ in after}
            images = [tuple(became[label] for label in pattern) for pattern, _ in before]
            # What is released as the root has no meaning left to be preserved.
            coarse = [image in names and ROOT not in image for image in images]
            as_such = [pattern in names for pattern, _ in before]
            distance = apart(*([count for _, count in each] for each in (before, after)))
            found.append((fmean(as_such), fmean(coarse), distance))
    means = (fmean(each) for each in zip(*found, strict=True))
    return [dict(zip(("kept", "kept_coarser", "distance"), means, strict=True), runs=len(found))]


def apart(before: list[int], after: list[int]) -> float:
    """Give the total variation between two lists of counts, rank by rank, each as shares of its sum.

    Examples
    --------
    >>> apart([3, 1], [6, 2]), apart([3, 1], [4])
    (0.0, 0.25)
    """
    shares = [[count / sum(each) for count in each] for each in (before, after)]
    return sum(abs(one - other) for one, other in zip_longest(*shares, fillvalue=0.0)) / 2
