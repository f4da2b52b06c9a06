"""Gwadera, Gkoulalas-Divanis, Loukides (2013): permutation beside deletion, on clicks, baskets and long rows.

The slides' trucks are not public; in their place stand utterances of sign language, which are as long and as
few. BMSWebView1 has lost the order of its clicks in all public copies, so only itemsets are compared there.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
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
from sequester.errors import SequesterWarning
from sequester.methods.ph.abul import Abul
from sequester.methods.ph.ph import PH
from sequester.methods.ph.sbsh import SBSH
from sequester.mining.frequent import frequent
from sequester.release.randomness import Randomness
from sequester.reproduce.plan import Drawing, Plan, Source, Statement, grid, judge
from sequester.workflow.job import table_digest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from sequester.methods.ph.pattern_method import PatternMethod
    from sequester.reproduce.plan import Rows, Tables

    Pattern = tuple[str, ...]

CLICKS, BASKETS, LONG = "clicks", "baskets", "long rows"
"""Data in place of MSNBC, BMS and TRUCKS."""
SEED = "experiments of Gwadera et al."
"""Seed of everything random."""
METHODS: dict[str, type[PatternMethod]] = {"PH": PH, "SBSH": SBSH, "Abul": Abul}
"""What hides the patterns; SBSH is ours, in the style of the paper of that name."""
MSNBC_PERSONS = 989_818
"""Persons whom the thresholds of the slides are for."""
NOTES = (
    (
        "Patterns of clicks and baskets are chosen among the frequent ones of two to four items, evenly over "
        "their ranks by support, because the slides do not name theirs. Long rows have 50 of five items, "
        "taken from the rarer half, or 10 where only a part of the grid is run: every supporter too many is "
        "one more row to change, and one more pattern that may become a ghost has to be followed."
    ),
    (
        "Forbidden are so many in a hundred, drawn at random, of all orders of two to four different items "
        "of a sensitive pattern that nobody has."
    ),
    (
        "Side effects are lost patterns and ghosts of at most five items. A share of ghosts is one of all "
        "frequent patterns. SBSH is our reconstruction: the text of its paper was not at hand."
    ),
    (
        "Times are those of hiding alone, without mining, measuring and writing. Half of the 28 % would "
        "count as agreement."
    ),
)
"""What a reader must know."""
_LENGTHS = (2, 3, 4)
_LONG_LENGTH, _LONG_PATTERNS, _FEW_LONG = 5, 50, 10
_MAX_LENGTH = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceSource(Source):
    """Sequences, with the thresholds and numbers of the patterns to hide."""

    min_supports: tuple[int, ...]
    """Thresholds, in persons."""
    n_patterns: tuple[int, ...]
    """Numbers of patterns to hide."""
    forbidden: tuple[int, ...] = (0,)
    """Forbidden orders, in percent."""


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
    pool = quest.Pool(items=items, itemsets=2 * items, sequences=items // 2)
    frame = quest.make(persons=persons, mean_baskets=mean_baskets, mean_items=1.2, pool=pool)
    rows = frame.select("customer", pl.int_range(pl.len()).alias("n"), "item")
    return EventTable(rows, Schema(person="customer", order="n", symbol="item"))


def sources_of(data: Path | None, *, quick: bool) -> list[SequenceSource]:
    """List the data: public sets where they are given."""
    thresholds = (4949, 19796) if quick else (3711, 4949, 9898, 19796)
    shares = (0, 30) if quick else (0, 10, 20, 30)
    numbers = (10,) if quick else (5, 10, 20)
    n_clicks = 40_000 if quick else (None if data is not None else 200_000)
    scale = 1.0 if n_clicks is None else n_clicks / MSNBC_PERSONS
    if data is None:
        few, some = (3_000, 10_000) if quick else (10_000, 50_000)
        loads = (
            partial(made_clicks, n_clicks or 0),
            partial(made_baskets, some, 2.5, 500),
            partial(made_baskets, few // 10, 40.0, 60),
        )
        about: tuple[str, ...] = (
            "clicks of the generator",
            "baskets of the generator",
            "long baskets of the generator",
        )
        floors = (some // 1000, few // 50)
    else:
        loads = (
            partial(symbols, "msnbc", data, n_clicks),
            partial(symbols, "spmf-bms", data, None),
            partial(symbols, "spmf-sign", data, None),
        )
        about = (
            "visitors of msnbc.com",
            "visitors of a web shop, BMSWebView1",
            "utterances of sign language",
        )
        floors = (59, 219)
    if n_clicks is not None:
        about = (f"{about[0]}, thresholds in proportion", *about[1:])
    few_long = _FEW_LONG if quick else _LONG_PATTERNS
    long_supports = (floors[1],) if quick else (floors[1], round(1.2 * floors[1]))
    table = (
        (CLICKS, [max(round(each * scale), 2) for each in thresholds], numbers, (0,)),
        (BASKETS, [floors[0]], numbers, (0,)),
        (LONG, long_supports, (few_long,), shares),
    )
    return [
        SequenceSource(
            name=name,
            about=text,
            load=cache(load),
            min_supports=tuple(supports),
            n_patterns=n_patterns,
            forbidden=forbidden,
        )
        for (name, supports, n_patterns, forbidden), text, load in zip(table, about, loads, strict=True)
    ]


def plan(data: Path | None, *, quick: bool) -> Plan:
    """Plan the grid: thresholds, numbers of patterns and forbidden orders, for every method."""
    sources = sources_of(data, quick=quick)
    cells = [
        cell
        for source in sources
        for cell in grid(
            "hidden",
            partial(hide, source),
            {"data": source.name},
            weight=source.load().n_events / 1e5,
            min_support=source.min_supports,
            patterns=source.n_patterns,
            forbidden=source.forbidden,
            method=METHODS,
        )
        # Methods that only delete put nothing anywhere: forbidden orders do not change their results.
        if cell.parameters["method"] == "PH" or cell.parameters["forbidden"] == source.forbidden[0]
    ]
    return Plan(
        sources=[_describe(source) for source in sources],
        fingerprint=" ".join(table_digest(source.load()) for source in sources),
        cells=cells,
        drawings=DRAWINGS,
        claims=partial(judge, STATEMENTS),
        notes=NOTES,
    )


def _describe(source: Source) -> str:
    table = source.load()
    book = table.sequences.codebooks[table.sequences.symbol]
    return (
        f"{source.name}: {table.n_persons:,} {source.about}; {len(book)} items, "
        f"{table.n_events / table.n_persons:.1f} events each."
    )


def choose_patterns(
    table: EventTable, min_support: int, n_patterns: int, lengths: tuple[int, ...], *, rarer: bool = False
) -> list[Pattern]:
    """Return frequent patterns, evenly over their ranks by support, length by length, or of the rarer half.

    Examples
    --------
    >>> from sequester.testing import symbol_table
    >>> choose_patterns(symbol_table(["abc", "abc", "ab", "b"]), 2, 2, (2,))
    [('a', 'b'), ('b', 'c')]
    """
    found = frequent(table, min_support=min_support, max_length=max(lengths))
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


def hide(source: Source, min_support: int, patterns: int, forbidden: int, method: str) -> Rows:
    """Hide patterns with a method, and count the side effects."""
    table = source.load()
    lengths = (_LONG_LENGTH,) if source.name == LONG else _LENGTHS
    secrets = choose_patterns(table, min_support, patterns, lengths, rarer=source.name == LONG)
    given: dict[str, Any] = {"patterns": secrets, "min_support": min_support, "max_length": _MAX_LENGTH}
    orders = draw_forbidden(table, secrets, forbidden) if method == "PH" else []
    if orders:
        given["forbidden"] = orders
    hiding = METHODS[method](**given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        hiding.accept(table)
        _compile(method)
        start = time.process_time()
        outcome = hiding.transform(
            table, randomness=Randomness.of(SEED), engine=LocalEngine(), progress=silent
        )
        seconds = time.process_time() - start
    scores = hiding.evaluate(outcome, table, progress=silent)
    n_frequent, n_itemsets = (
        float(scores[name].bounds[1] or 1) for name in ("lost_patterns", "lost_itemsets")
    )
    lost, ghosts = scores["lost_patterns"].value, scores["ghost_patterns"].value
    return [
        {
            "hidden": len(secrets),
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


# Figures and claims

_BY_THRESHOLD: dict[str, Any] = {
    "table": "hidden",
    "x": "min_support",
    "x_title": "min_support, persons",
    "series": "method",
    "panel": "patterns",
    "where": {"data": CLICKS},
    "log_x": True,
}
_BY_FORBIDDEN: dict[str, Any] = {
    "table": "hidden",
    "x": "forbidden",
    "x_title": "forbidden orders, percent",
    "series": "method",
    "panel": "min_support",
    "where": {"data": LONG},
}
_BY_NUMBER: dict[str, Any] = {
    "table": "hidden",
    "x": "patterns",
    "x_title": "patterns that are hidden",
    "series": "method",
    "where": {"data": BASKETS},
}
_ITEMS = "Divergence of the supports of items, clicks"
_ITEMSETS = "Divergence of the supports of frequent itemsets, clicks"
_LONG_EFFECTS = "Side effects, long rows, patterns of length 5"
_SHARE, _SECONDS = "share of frequent itemsets", "processor seconds"
_FIGURES = (
    (
        "side-effects-clicks",
        "Side effects, clicks",
        "side_effects",
        "lost patterns and ghosts",
        _BY_THRESHOLD,
    ),
    ("lost-itemsets-baskets", "Lost frequent itemsets, baskets", "lost_itemset_share", _SHARE, _BY_NUMBER),
    ("kl-items-clicks", _ITEMS, "kl_items", "bits", _BY_THRESHOLD),
    ("kl-itemsets-clicks", _ITEMSETS, "kl_itemsets", "bits", _BY_THRESHOLD),
    ("side-effects-long", _LONG_EFFECTS, "side_effects", "patterns", _BY_FORBIDDEN),
    ("lost-itemsets-long", "Lost frequent itemsets, long rows", "lost_itemset_share", _SHARE, _BY_FORBIDDEN),
    ("runtime-long", "Time of hiding, long rows", "seconds", _SECONDS, _BY_FORBIDDEN),
    ("runtime-clicks", "Time of hiding, clicks", "seconds", _SECONDS, _BY_THRESHOLD),
)
DRAWINGS = tuple(
    Drawing(name=name, title=title, y=y, y_title=y_title, **axes)
    for name, title, y, y_title, axes in _FIGURES
)

_FEWER, _MOST_GHOSTS, _TIMES_SLOWER = 0.28, 0.015, 3.8
_REPEATED = (
    "no permutation hides a pattern with a repeated item, nor two patterns that are each other's reversals: "
    "there symbols are deleted, as SBSH does"
)


def _beside(tables: Tables, data: str | None = None) -> pl.DataFrame:
    """Return the rows of PH, those of SBSH beside them."""
    key = ["data", "min_support", "patterns"]
    table = tables["hidden"] if data is None else tables["hidden"].filter(data=data)
    other = table.filter(method="SBSH", forbidden=0)
    return table.filter(method="PH").join(other, on=key, suffix="_sbsh", maintain_order="left")


def _pairs(pairs: pl.DataFrame, column: str) -> Iterable[tuple[float, float]]:
    """Yield the numbers of PH and SBSH, as floats of Python."""
    return (
        (float(ours), float(theirs)) for ours, theirs in pairs.select(column, f"{column}_sbsh").iter_rows()
    )


def _fewer(tables: Tables) -> tuple[str, bool, str]:
    pairs = _beside(tables, CLICKS)
    ours, theirs = (sum(each) for each in zip(*_pairs(pairs, "side_effects"), strict=True))
    fewer = 1 - ours / theirs if theirs else 0.0
    measured = (
        f"{ours:,.0f} side effects beside {theirs:,.0f} of SBSH, {fewer:+.0%} fewer, over "
        f"{pairs.height} settings"
    )
    why = f"{_REPEATED}; and the slides do not name the patterns they hid, nor all of SBSH"
    return measured, fewer >= _FEWER / 2, why if fewer < _FEWER else ""


def _few_ghosts(tables: Tables) -> tuple[str, bool]:
    most = max((ours for ours, _ in _pairs(_beside(tables, CLICKS), "ghost_share")), default=0.0)
    return f"at most {most:.1%} of the frequent patterns are ghosts", most < _MOST_GHOSTS


def _no_itemset_lost(tables: Tables, data: str) -> tuple[str, bool, str]:
    pairs = list(_pairs(_beside(tables, data), "lost_itemset_share"))
    ours, theirs = (max((pair[at] for pair in pairs), default=0.0) for at in (0, 1))
    why = f"{_REPEATED}, and an itemset goes with its symbol" if ours > 0.001 else ""
    return f"at most {ours:.1%} are lost, by SBSH {theirs:.1%}", ours <= 0.001 and theirs >= ours, why


def _better(tables: Tables, column: str, least: float) -> tuple[str, bool, str]:
    ratios = [theirs / ours for ours, theirs in _pairs(_beside(tables, CLICKS), column) if ours > 0]
    low, high = min(ratios, default=0.0), max(ratios, default=0.0)
    why = f"{_REPEATED}, so that supports move by both" if low < least else ""
    return f"{low:.1f} to {high:.1f} times smaller than by SBSH", low >= 1 and high >= least, why


def _with_forbidden(tables: Tables) -> tuple[str, bool, str]:
    pairs = _beside(tables, LONG)
    means = pairs.group_by("forbidden").agg(pl.col("side_effects").mean()).sort("forbidden")
    by_share: dict[int, float] = dict(means.iter_rows())
    theirs = fmean(other for _, other in _pairs(pairs, "side_effects"))
    listed = ", ".join(f"{value:,.0f} at {share} %" for share, value in by_share.items())
    why = (
        "where an order is forbidden for every permutation symbols are deleted, in long rows many of "
        f"them; the fewest on average are {min(by_share.values(), default=0.0):,.0f}"
    )
    agrees = max(by_share.values(), default=0.0) <= theirs
    return f"on average {listed} forbidden, beside {theirs:,.0f} of SBSH", agrees, "" if agrees else why


def _slower(tables: Tables) -> tuple[str, bool]:
    ratios = [ours / theirs for ours, theirs in _pairs(_beside(tables), "seconds")]
    measured = f"{median(ratios):.1f} times, the median over {len(ratios)} settings"
    return measured, median(ratios) <= _TIMES_SLOWER


STATEMENTS = (
    Statement("MSNBC: 28 % fewer side effects than SBSH", _fewer),
    Statement(
        "MSNBC: fewer than 1.5 % ghosts",
        _few_ghosts,
        "a pattern that has many supporters above the threshold has to be permuted in as many rows, and "
        "its reversals become frequent (hole 5); the slides do not say how far above theirs were",
    ),
    Statement(
        "BMS: no frequent itemset is lost, where SBSH loses up to 20 %",
        partial(_no_itemset_lost, data=BASKETS),
    ),
    Statement(
        "MSNBC: the divergence of items is 4 to 35 times smaller",
        partial(_better, column="kl_items", least=4.0),
    ),
    Statement(
        "MSNBC: the divergence of frequent itemsets is 2.1 to 32.5 times smaller",
        partial(_better, column="kl_itemsets", least=2.1),
    ),
    Statement(
        "TRUCKS, 50 patterns of length 5: fewer side effects than SBSH, also with 10 to 30 % of orders "
        "forbidden",
        _with_forbidden,
    ),
    Statement(
        "TRUCKS: no frequent itemset is lost, where SBSH loses up to 20 %",
        partial(_no_itemset_lost, data=LONG),
    ),
    Statement(
        "1.3 to 3.8 times slower than SBSH on average",
        _slower,
        "constraints are tested on whole rows, against all patterns",
    ),
)
"""What the slides say."""
