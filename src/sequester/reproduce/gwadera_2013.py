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
from sequester.reproduce.gwadera_2013_claims import BASKETS, CLICKS, DRAWINGS, LONG, claims
from sequester.reproduce.plan import Cell, Plan
from sequester.workflow.digest import table_digest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sequester.methods.ph.pattern_method import PatternMethod
    from sequester.reproduce.plan import Rows

    Pattern = tuple[str, ...]

SEED = "experiments of Gwadera et al."
"""What everything random comes from."""
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
class Source:
    """Sequences, the thresholds that patterns are hidden below, and which patterns."""

    role: str
    """Which of the slides' data sets it stands for."""
    about: str
    """What it is, for the page."""
    load: Callable[[], EventTable]
    """Reads or makes it."""
    min_supports: tuple[int, ...]
    """Thresholds, in persons."""
    n_patterns: tuple[int, ...]
    """How many patterns are hidden."""
    forbidden: tuple[int, ...] = (0,)
    """Forbidden orders, in percent."""


def symbols(name: str, data: Path, persons: int | None) -> EventTable:
    """Read sequences, or the first of them."""
    frame = public.load(name, data)
    if persons is not None:
        frame = frame.filter(frame["person"].rle_id() < persons)
    return EventTable(frame, Schema(person="person", order="order", symbol="symbol"))


def made_clicks(persons: int) -> EventTable:
    """Make clicks on the pages of a news site."""
    return EventTable(clicks.make(persons=persons), Schema(person="user", time="at", symbol="page"))


def made_baskets(persons: int, mean_baskets: float, items: int) -> EventTable:
    """Make purchases, one item after the other."""
    pool = quest.Pool(items=items, itemsets=2 * items, sequences=items // 2)
    frame = quest.make(persons=persons, mean_baskets=mean_baskets, mean_items=1.2, pool=pool)
    rows = frame.select("customer", pl.int_range(pl.len()).alias("n"), "item")
    return EventTable(rows, Schema(person="customer", order="n", symbol="item"))


def sources_of(data: Path | None, *, quick: bool) -> list[Source]:
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
        told = ("clicks of the generator", "baskets of the generator", "long baskets of the generator")
        floors = (some // 1000, few // 50)
    else:
        loads = (
            partial(symbols, "msnbc", data, n_clicks),
            partial(symbols, "spmf-bms", data, None),
            partial(symbols, "spmf-sign", data, None),
        )
        told = ("visitors of msnbc.com", "visitors of a web shop, BMSWebView1", "utterances of sign language")
        floors = (59, 219)
    return [
        Source(
            role=CLICKS,
            about=told[0] if n_clicks is None else f"{told[0]}, thresholds in proportion",
            load=cache(loads[0]),
            min_supports=tuple(max(round(each * scale), 2) for each in thresholds),
            n_patterns=numbers,
        ),
        Source(
            role=BASKETS,
            about=told[1],
            load=cache(loads[1]),
            min_supports=(floors[0],),
            n_patterns=numbers,
        ),
        Source(
            role=LONG,
            about=told[2],
            load=cache(loads[2]),
            min_supports=(floors[1],) if quick else (floors[1], round(1.2 * floors[1])),
            n_patterns=(_FEW_LONG if quick else _LONG_PATTERNS,),
            forbidden=shares,
        ),
    ]


def plan(data: Path | None, *, quick: bool) -> Plan:
    """Plan the grid: thresholds, numbers of patterns and forbidden orders, for every method."""
    sources = sources_of(data, quick=quick)
    cells = [
        Cell(
            table="hidden",
            parameters={
                "data": source.role,
                "min_support": min_support,
                "patterns": n_patterns,
                "forbidden": share,
                "method": name,
            },
            run=partial(hide, source, min_support, n_patterns, share, name),
            weight=source.load().n_events / 1e5 * (3 if name == "PH" else 1),
        )
        for source in sources
        for min_support in source.min_supports
        for n_patterns in source.n_patterns
        for share in source.forbidden
        for name in METHODS
        # Nothing is put where it was not by those who only delete: once is enough.
        if name == "PH" or share == source.forbidden[0]
    ]
    return Plan(
        sources=[_told(source) for source in sources],
        fingerprint=" ".join(table_digest(source.load()) for source in sources),
        cells=cells,
        drawings=DRAWINGS,
        claims=claims,
        notes=NOTES,
    )


def _told(source: Source) -> str:
    table = source.load()
    book = table.sequences.codebooks[table.sequences.symbol]
    return (
        f"{source.role}: {table.n_persons:,} {source.about}; {len(book)} items, "
        f"{table.n_events / table.n_persons:.1f} events each."
    )


def choose(
    table: EventTable, min_support: int, n_patterns: int, lengths: tuple[int, ...], *, rarer: bool = False
) -> list[Pattern]:
    """Choose frequent patterns evenly over their ranks by support, each length in turn, or the rarer half.

    Examples
    --------
    >>> from sequester.testing import symbol_table
    >>> choose(symbol_table(["abc", "abc", "ab", "b"]), 2, 2, (2,))
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


def forbid(table: EventTable, patterns: list[Pattern], percent: int) -> list[Pattern]:
    """Draw orders of items of the patterns that nobody has: so many in a hundred."""
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
def _warm(name: str) -> None:
    """Have the kernels of a method compiled, so that no cell pays for it."""
    rows = pl.DataFrame({"who": list("112233"), "n": [1, 2] * 3, "what": list("ababba")})
    table = EventTable(rows, Schema(person="who", order="n", symbol="what"))
    method = METHODS[name](patterns=(("a", "b"),), min_support=2)
    method.transform(table, randomness=Randomness.of(SEED), engine=LocalEngine(), progress=silent)


def hide(source: Source, min_support: int, n_patterns: int, share: int, name: str) -> Rows:
    """Hide patterns with a method, and count what else changed."""
    table = source.load()
    lengths = (_LONG_LENGTH,) if source.role == LONG else _LENGTHS
    patterns = choose(table, min_support, n_patterns, lengths, rarer=source.role == LONG)
    asked: dict[str, Any] = {"patterns": patterns, "min_support": min_support, "max_length": _MAX_LENGTH}
    forbidden = forbid(table, patterns, share) if name == "PH" else []
    if forbidden:
        asked["forbidden"] = forbidden
    method = METHODS[name](**asked)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        method.accept(table)
        _warm(name)
        start = time.process_time()
        outcome = method.transform(
            table, randomness=Randomness.of(SEED), engine=LocalEngine(), progress=silent
        )
        seconds = time.process_time() - start
    scores = method.evaluate(outcome, table, progress=silent)
    n_frequent = float(scores["lost_patterns"].bounds[1] or 1)
    n_itemsets = float(scores["lost_itemsets"].bounds[1] or 1)
    lost, ghosts = scores["lost_patterns"].value, scores["ghost_patterns"].value
    return [
        {
            "hidden": len(patterns),
            "forbidden_orders": len(forbidden),
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
