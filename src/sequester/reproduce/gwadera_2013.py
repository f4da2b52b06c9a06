"""Gwadera, Gkoulalas-Divanis, Loukides (2013): permutation beside deletion, on clicks, baskets and long rows.

The slides' trucks are not public; in their place stand utterances of sign language, which are as long and as
few. BMSWebView1 has lost the order of its clicks in all public copies, so only itemsets are compared there.
"""

from __future__ import annotations

import time
from functools import cache, partial
from itertools import pairwise, permutations
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import clicks, public, quest
from sequester.engine import LocalEngine, silent
from sequester.methods.ph.method import PH, SBSH, Abul
from sequester.mining.frequent import frequent
from sequester.release.randomness import Randomness
from sequester.reproduce import DataSet, ExperimentPlan, grid
from sequester.workflow.job import table_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from sequester.methods.ph.method import PatternMethod
    from sequester.reproduce import Design, Rows, Tables

    Pattern = tuple[str, ...]

CLICKS, BASKETS, LONG = "clicks", "baskets", "long rows"
"""Data in place of MSNBC, BMS and TRUCKS."""
SEED = "experiments of Gwadera et al."
"""Seed of everything random."""
PRINTED = "PH, permutation first"
"""The order of the slides: a permutation before a deletion, whatever it costs."""
METHODS: dict[str, type[PatternMethod]] = {"PH": PH, PRINTED: PH, "SBSH": SBSH, "Abul": Abul}
"""What hides the patterns; SBSH is ours, in the style of the paper of that name."""
KINDS = ("any", "no item twice")
"""Patterns that are hidden: any that are frequent, and such as a permutation can hide."""
MSNBC_PERSONS = 989_818
"""Persons whom the thresholds of the slides are for."""
_LENGTHS = (2, 3, 4)
_LONG_LENGTH, _LONG_PATTERNS, _FEW_LONG = 5, 50, 10
_MAX_LENGTH = 5


def symbols(name: str, data: Path, persons: int | None) -> EventTable:
    """Read sequences, or the first of them."""
    frame = public.load(name, data)
    if persons is not None:
        frame = frame.filter(frame["person"].rle_id() < persons)
    return EventTable(frame, Schema(person="person", order="order", symbol="symbol"))


def made_clicks(persons: int) -> EventTable:
    """Return synthetic clicks on the pages of a news site."""
    return EventTable(clicks.make(persons=persons), Schema(person="user", time="at", symbol="page"))


def made_baskets(persons: int, mean_baskets: float, items: int) -> EventTable:
    """Return synthetic purchases, one item after the other."""
    pool = quest.PatternPool(items=items, itemsets=2 * items, sequences=items // 2)
    frame = quest.make(persons=persons, mean_baskets=mean_baskets, mean_items=1.2, pool=pool)
    rows = frame.select("customer", pl.int_range(pl.len()).alias("n"), "item")
    return EventTable(rows, Schema(person="customer", order="n", symbol="item"))


def data_sets(data: Path | None, *, design: Design) -> list[DataSet]:
    """List the data: public sets where they are given."""
    quick = design == "quick"
    thresholds = (4949, 19796) if quick else (3711, 4949, 9898, 19796)
    shares = (0, 30) if quick else (0, 10, 20, 30)
    numbers = (5, 10, 20) if design == "whole" else (10,)
    n_clicks = {"quick": 40_000, "sampled": 100_000, "whole": 200_000 if data is None else None}[design]
    scale = 1.0 if n_clicks is None else n_clicks / MSNBC_PERSONS
    loads: tuple[tuple[str, Callable[[], EventTable]], ...]
    if data is None:
        few, some = (3_000, 10_000) if quick else (10_000, 50_000)
        floors = (some // 1000, few // 50)
        loads = (
            ("clicks of the generator", partial(made_clicks, n_clicks or 0)),
            ("baskets of the generator", partial(made_baskets, some, 2.5, 500)),
            ("long baskets of the generator", partial(made_baskets, few // 10, 40.0, 60)),
        )
    else:
        floors = (59, 219)
        loads = (
            ("visitors of msnbc.com", partial(symbols, "msnbc", data, n_clicks)),
            ("visitors of a web shop, BMSWebView1", partial(symbols, "spmf-bms", data, None)),
            ("utterances of sign language", partial(symbols, "spmf-sign", data, None)),
        )
    supports = [max(round(each * scale), 2) for each in thresholds]
    long_supports = (floors[1], round(1.2 * floors[1]))[: 2 if design == "whole" else 1]
    few_long = (_FEW_LONG if quick else _LONG_PATTERNS,)
    axes: dict[str, dict[str, Sequence[int | str]]] = {
        CLICKS: {"min_support": supports, "patterns": numbers, "forbidden": (0,), "kind": KINDS},
        BASKETS: {"min_support": floors[:1], "patterns": numbers, "forbidden": (0,), "kind": KINDS[:1]},
        LONG: {"min_support": long_supports, "patterns": few_long, "forbidden": shares, "kind": KINDS[:1]},
    }
    scaled = "" if n_clicks is None else ", thresholds in proportion"
    return [
        DataSet(name=name, about=about + scaled * (name == CLICKS), load=cache(load), axes=axes[name])
        for name, (about, load) in zip(axes, loads, strict=True)
    ]


def plan(data: Path | None, *, design: Design) -> ExperimentPlan:
    """Plan the grid: thresholds, numbers and kinds of patterns and forbidden orders, for every method."""
    sets = data_sets(data, design=design)
    cells = []
    for dataset in sets:
        weight = dataset.load().n_events / 1e5
        cells += grid(
            "hidden",
            partial(hide, dataset),
            {"data": dataset.name},
            weight=weight,
            **dataset.axes,
            method=METHODS,
        )
    return ExperimentPlan(
        sources=[_describe(dataset) for dataset in sets],
        fingerprint=" ".join(table_digest(dataset.load()) for dataset in sets),
        # Methods that only delete put nothing anywhere: forbidden orders do not change their results.
        cells=[
            each for each in cells if each.parameters["method"] == "PH" or not each.parameters["forbidden"]
        ],
    )


def _describe(dataset: DataSet) -> str:
    table = dataset.load()
    book = table.sequences.codebooks[table.sequences.symbol]
    return (
        f"{dataset.name}: {table.n_persons:,} {dataset.about}; {len(book)} items, "
        f"{table.n_events / table.n_persons:.1f} events each."
    )


def choose_patterns(
    table: EventTable,
    min_support: int,
    n_patterns: int,
    lengths: tuple[int, ...],
    *,
    rarer: bool = False,
    repeats: bool = True,
) -> list[Pattern]:
    """Return frequent patterns, evenly over their ranks by support, length by length, or of the rarer half.

    Without `repeats`, only such as have no item twice.

    Examples
    --------
    >>> from sequester.testing import symbol_table
    >>> choose_patterns(symbol_table(["abc", "abc", "ab", "b"]), 2, 2, (2,))
    [('a', 'b'), ('b', 'c')]
    """
    found = {
        labels: count
        for labels, count in frequent(table, min_support=min_support, max_length=max(lengths)).items()
        if repeats or len({*labels}) == len(labels)
    }
    chosen: list[Pattern] = []
    for place, length in enumerate(lengths):
        ranked = sorted((-count, labels) for labels, count in found.items() if len(labels) == length)
        wanted = n_patterns // len(lengths) + (place < n_patterns % len(lengths))
        if ranked:
            first = len(ranked) // 2 if rarer else 0
            ranks = np.unique(np.linspace(first, len(ranked) - 1, wanted).round().astype(int))
            chosen += [ranked[rank][1] for rank in ranks.tolist()]
    return chosen


def draw_forbidden(table: EventTable, patterns: list[Pattern], percent: int) -> list[Pattern]:
    """Return a random share, in percent, of the orders of items of the patterns that nobody has."""
    if not percent:
        return []
    have = set(frequent(table, min_support=1, max_length=2).labels)
    orders: set[Pattern] = set()
    for pattern in patterns:
        for length in (2, 3, 4):
            for order in permutations(sorted(set(pattern)), length):
                if any(pair not in have for pair in pairwise(order)):
                    orders.add(order)
    listed = sorted(orders)
    draw = np.random.default_rng(percent)
    places = draw.permutation(len(listed))[: round(len(listed) * percent / 100)]
    return [listed[place] for place in sorted(places)]


@cache
def _compile(name: str) -> None:
    """Compile the kernels of a method, so that no cell is timed with it."""
    rows = pl.DataFrame({"who": list("112233"), "n": [1, 2] * 3, "what": list("ababba")})
    table = EventTable(rows, Schema(person="who", order="n", symbol="what"))
    method = METHODS[name](patterns=(("a", "b"),), min_support=2)
    method.transform(table, randomness=Randomness.of(SEED), engine=LocalEngine(), progress=silent)


def hide(
    dataset: DataSet, min_support: int, patterns: int, forbidden: int, method: str, kind: str = KINDS[0]
) -> Rows:
    """Hide patterns with a method, and count the side effects."""
    table = dataset.load()
    lengths = (_LONG_LENGTH,) if dataset.name == LONG else _LENGTHS
    secrets = choose_patterns(
        table, min_support, patterns, lengths, rarer=dataset.name == LONG, repeats=kind == KINDS[0]
    )
    given: dict[str, Any] = {"patterns": secrets, "min_support": min_support, "max_length": _MAX_LENGTH}
    orders = draw_forbidden(table, secrets, forbidden) if method == "PH" else []
    if orders:
        given["forbidden"] = orders
    if METHODS[method] is PH:
        given["search"] = "greedy"
    if method == PRINTED:
        given["prefer"] = "permutation"
    hiding = METHODS[method](**given)
    hiding.accept(table)
    _compile(method)
    start = time.process_time()
    outcome = hiding.transform(table, randomness=Randomness.of(SEED), engine=LocalEngine(), progress=silent)
    seconds = time.process_time() - start
    scores = hiding.evaluate(outcome, table, progress=silent)
    n_frequent, n_itemsets = (
        float(scores[name].bounds[1] or 1) for name in ("lost_patterns", "lost_itemsets")
    )
    lost, ghosts = scores["lost_patterns"].value, scores["ghost_patterns"].value
    return [
        {
            "hidden": len(secrets),
            "with_repeats": sum(len({*secret}) < len(secret) for secret in secrets),
            "reversals": sum(secret != secret[::-1] in secrets for secret in secrets),
            "forbidden_orders": len(orders),
            "frequent": int(n_frequent),
            "lost": lost,
            "ghosts": ghosts,
            "side_effects": lost + ghosts,
            "side_effect_share": (lost + ghosts) / n_frequent,
            "ghost_share": ghosts / n_frequent,
            "lost_itemset_share": scores["lost_itemsets"].value / n_itemsets,
            "kl_items": scores["kl_items"].value,
            "kl_itemsets": scores["kl_itemsets"].value,
            "deletions": scores["deletions"].value,
            "swaps": scores["cayley_distance"].value,
            "seconds": seconds,
        }
    ]


# Checks of claims

_FEWER, _MOST_GHOSTS, _TIMES_SLOWER = 0.28, 0.015, 3.8
_NONE = 0.001
"""A share up to this is none: one itemset of a thousand."""


def _beside(
    tables: Tables, data: str | None = None, method: str = "PH", kind: str | None = None
) -> pl.DataFrame:
    """Return the rows of PH, or of its other order, those of SBSH beside them."""
    key = ["data", "min_support", "patterns", "kind"]
    table = tables["hidden"] if data is None else tables["hidden"].filter(data=data)
    if kind is not None:
        table = table.filter(kind=kind)
    other = table.filter(method="SBSH", forbidden=0)
    return table.filter(method=method).join(other, on=key, suffix="_sbsh", maintain_order="left")


def _pairs(pairs: pl.DataFrame, column: str) -> Iterable[tuple[float, float]]:
    """Yield the numbers of PH and SBSH, as floats of Python."""
    return (
        (float(ours), float(theirs)) for ours, theirs in pairs.select(column, f"{column}_sbsh").iter_rows()
    )


def _kinds(pairs: pl.DataFrame) -> str:
    """Return how many of the hidden patterns no permutation can hide by itself."""
    hidden, repeat, reversal = (int(pairs[name].sum()) for name in ("hidden", "with_repeats", "reversals"))
    return (
        f"of {hidden} hidden patterns {repeat} repeat an item and {reversal} have their reversal hidden, too"
    )


def _fewer(tables: Tables, kind: str, method: str = "PH") -> tuple[str, bool, bool]:
    pairs = _beside(tables, CLICKS, method, kind=kind)
    ours, theirs = (sum(each) for each in zip(*_pairs(pairs, "side_effects"), strict=True))
    fewer = 1 - ours / theirs if theirs else 0.0
    measured = (
        f"{ours:,.0f} side effects beside {theirs:,.0f} of SBSH, {abs(fewer):.0%} "
        f"{'fewer' if fewer >= 0 else 'more'}, over "
        f"{pairs.height} settings ({_kinds(pairs)})"
    )
    return measured, fewer >= _FEWER / 2, fewer < _FEWER


def _few_ghosts(tables: Tables, kind: str) -> tuple[str, bool]:
    pairs = _pairs(_beside(tables, CLICKS, kind=kind), "ghost_share")
    most = max((ours for ours, _ in pairs), default=0.0)
    return f"at most {most:.1%} of the frequent patterns are ghosts", most < _MOST_GHOSTS


def _no_itemset_lost(tables: Tables, data: str, method: str) -> tuple[str, bool, str] | None:
    beside = _beside(tables, data, method).filter(forbidden=0)
    if beside.is_empty():
        return None
    pairs = list(_pairs(beside, "lost_itemset_share"))
    ours, theirs = (max((pair[at] for pair in pairs), default=0.0) for at in (0, 1))
    deletions, effects = (int(beside[name].sum()) for name in ("deletions", "side_effects"))
    measured = (
        f"at most {ours:.1%} are lost, by SBSH {theirs:.1%} ({deletions} deletions, {effects} side effects)"
    )
    return measured, ours <= _NONE and theirs >= ours, _kinds(beside)


def _better(tables: Tables, column: str, least: float, kind: str) -> tuple[str, bool, bool]:
    pairs = _pairs(_beside(tables, CLICKS, kind=kind), column)
    ratios = [theirs / ours for ours, theirs in pairs if ours > 0]
    low, high = min(ratios, default=0.0), max(ratios, default=0.0)
    measured = f"{low:.1f} to {high:.1f} times smaller than by SBSH"
    return measured, low >= 1 and high >= least, low < least


def _with_forbidden(tables: Tables) -> tuple[str, bool, str] | None:
    pairs = _beside(tables, LONG)
    if pairs.is_empty():
        return None
    means = pairs.group_by("forbidden").agg(pl.col("side_effects").mean()).sort("forbidden")
    by_share: dict[int, float] = dict(means.iter_rows())
    theirs = fmean(other for _, other in _pairs(pairs, "side_effects"))
    listed = ", ".join(f"{value:,.0f} at {share} %" for share, value in by_share.items())
    fewest, most = (end(by_share.values(), default=0.0) for end in (min, max))
    measured = f"on average {listed} forbidden, beside {theirs:,.0f} of SBSH"
    return measured, most <= theirs, f"{fewest:,.0f}"


def _slower(tables: Tables) -> tuple[str, bool]:
    ratios = [ours / theirs for ours, theirs in _pairs(_beside(tables), "seconds")]
    measured = f"{median(ratios):.1f} times, the median over {len(ratios)} settings"
    return measured, median(ratios) <= _TIMES_SLOWER
