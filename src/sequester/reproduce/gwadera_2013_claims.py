"""Gwadera, Gkoulalas-Divanis, Loukides (2013): the figures of its slides, and what they say."""

from __future__ import annotations

from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import polars as pl

from sequester.reproduce.plan import Claim, Drawing

if TYPE_CHECKING:
    from collections.abc import Mapping

CLICKS, BASKETS, LONG = "clicks", "baskets", "long rows"
"""What stands for MSNBC, BMS and TRUCKS."""
_FEWER, _MOST_GHOSTS, _TIMES_SLOWER = 0.28, 0.015, (1.3, 3.8)
_BETTER_ITEMS, _BETTER_ITEMSETS = (4.0, 35.0), (2.1, 32.5)
_REPEATED = (
    "no permutation hides a pattern with a repeated item, nor two patterns that are each other's reversals: "
    "there symbols are deleted, as SBSH does"
)


def _by_threshold(name: str, title: str, y: str, y_title: str, **more: Any) -> Drawing:
    return Drawing(
        name=name,
        title=title,
        table="hidden",
        x="min_support",
        y=y,
        x_title="min_support, persons",
        y_title=y_title,
        series="method",
        panel="patterns",
        where={"data": CLICKS},
        log_x=True,
        **more,
    )


def _of_long_rows(name: str, title: str, y: str, y_title: str) -> Drawing:
    return Drawing(
        name=name,
        title=title,
        table="hidden",
        x="forbidden",
        y=y,
        x_title="forbidden orders, percent",
        y_title=y_title,
        series="method",
        panel="min_support",
        where={"data": LONG},
    )


DRAWINGS = (
    _by_threshold("side-effects-clicks", "Side effects, clicks", "side_effects", "lost patterns and ghosts"),
    Drawing(
        name="lost-itemsets-baskets",
        title="Lost frequent itemsets, baskets",
        table="hidden",
        x="patterns",
        y="lost_itemset_share",
        x_title="patterns that are hidden",
        y_title="share of frequent itemsets",
        series="method",
        where={"data": BASKETS},
    ),
    _by_threshold("kl-items-clicks", "Divergence of the supports of items, clicks", "kl_items", "bits"),
    _by_threshold(
        "kl-itemsets-clicks", "Divergence of the supports of frequent itemsets, clicks", "kl_itemsets", "bits"
    ),
    _of_long_rows(
        "side-effects-long", "Side effects, long rows, patterns of length 5", "side_effects", "patterns"
    ),
    _of_long_rows(
        "lost-itemsets-long", "Lost frequent itemsets, long rows", "lost_itemset_share", "share of itemsets"
    ),
    _of_long_rows("runtime-long", "Time of hiding, long rows", "seconds", "processor seconds"),
    _by_threshold("runtime-clicks", "Time of hiding, clicks", "seconds", "processor seconds"),
)


def claims(tables: Mapping[str, pl.DataFrame]) -> list[Claim]:
    """Hold what was measured against the slides."""
    pairs = _beside(tables["hidden"])
    click = pairs.filter(pl.col("data") == CLICKS)
    return [
        _fewer(click, "MSNBC: 28 % fewer side effects than SBSH"),
        _few_ghosts(click),
        _no_itemset_lost(pairs.filter(pl.col("data") == BASKETS), "BMS"),
        _better(click, "kl_items", "items", _BETTER_ITEMS),
        _better(click, "kl_itemsets", "frequent itemsets", _BETTER_ITEMSETS),
        _forbidden(pairs.filter(pl.col("data") == LONG)),
        _no_itemset_lost(pairs.filter(pl.col("data") == LONG), "TRUCKS"),
        _slower(pairs),
    ]


def _beside(table: pl.DataFrame) -> pl.DataFrame:
    """Put what SBSH does beside each row of PH."""
    key = ["data", "min_support", "patterns"]
    other = table.filter((pl.col("method") == "SBSH") & (pl.col("forbidden") == 0))
    return table.filter(pl.col("method") == "PH").join(other, on=key, suffix="_sbsh", maintain_order="left")


def _column(pairs: pl.DataFrame, name: str) -> list[float]:
    """Give the numbers of a column, as Python has them."""
    return [float(each) for each in pairs[name].to_list()]


def _fewer(pairs: pl.DataFrame, says: str) -> Claim:
    ours, theirs = sum(_column(pairs, "side_effects")), sum(_column(pairs, "side_effects_sbsh"))
    fewer = 1 - ours / theirs if theirs else 0.0
    return Claim(
        says=says,
        measured=f"{ours:,.0f} side effects beside {theirs:,.0f} of SBSH, {fewer:+.0%} fewer, over "
        f"{pairs.height} settings",
        agrees=fewer >= _FEWER / 2,
        why=f"{_REPEATED}; and the slides do not name the patterns they hid, nor all of SBSH"
        if fewer < _FEWER
        else "",
    )


def _few_ghosts(pairs: pl.DataFrame) -> Claim:
    most = max(_column(pairs, "ghost_share"), default=0.0)
    return Claim(
        says="MSNBC: fewer than 1.5 % ghosts",
        measured=f"at most {most:.1%} of the frequent patterns are ghosts",
        agrees=most < _MOST_GHOSTS,
        why="a pattern that has many supporters above the threshold has to be permuted in as many rows, and "
        "its reversals become frequent (hole 5); the slides do not say how far above theirs were"
        if most >= _MOST_GHOSTS
        else "",
    )


def _no_itemset_lost(pairs: pl.DataFrame, name: str) -> Claim:
    ours = max(_column(pairs, "lost_itemset_share"), default=0.0)
    theirs = max(_column(pairs, "lost_itemset_share_sbsh"), default=0.0)
    says = f"{name}: no frequent itemset is lost, where SBSH loses up to 20 %"
    return Claim(
        says=says,
        measured=f"at most {ours:.1%} are lost, by SBSH {theirs:.1%}",
        agrees=ours <= 0.001 and theirs >= ours,
        why=f"{_REPEATED}, and an itemset goes with its symbol" if ours > 0.001 else "",
    )


def _better(pairs: pl.DataFrame, column: str, what: str, said: tuple[float, float]) -> Claim:
    both = zip(_column(pairs, column), _column(pairs, f"{column}_sbsh"), strict=True)
    ratios = [theirs / ours for ours, theirs in both if ours > 0]
    low, high = min(ratios, default=0.0), max(ratios, default=0.0)
    return Claim(
        says=f"MSNBC: the divergence of {what} is {said[0]:g} to {said[1]:g} times smaller",
        measured=f"{low:.1f} to {high:.1f} times smaller than by SBSH",
        agrees=low >= 1 and high >= said[0],
        why=f"{_REPEATED}, so that supports move by both" if low < said[0] else "",
    )


def _forbidden(pairs: pl.DataFrame) -> Claim:
    means = pairs.group_by("forbidden").agg(pl.col("side_effects").mean()).sort("forbidden")
    by_share: dict[int, float] = dict(means.iter_rows())
    theirs = fmean(_column(pairs, "side_effects_sbsh"))
    told = ", ".join(f"{value:,.0f} at {share} %" for share, value in by_share.items())
    fewest = min(by_share.values(), default=0.0)
    agrees = max(by_share.values(), default=0.0) <= theirs
    return Claim(
        says="TRUCKS, 50 patterns of length 5: fewer side effects than SBSH, also with 10 to 30 % of orders "
        "forbidden",
        measured=f"on average {told} forbidden, beside {theirs:,.0f} of SBSH",
        agrees=agrees,
        why=""
        if agrees
        else "where an order is forbidden for every permutation symbols are deleted, in long rows many of "
        f"them; the fewest on average are {fewest:,.0f}",
    )


def _slower(pairs: pl.DataFrame) -> Claim:
    both = zip(_column(pairs, "seconds"), _column(pairs, "seconds_sbsh"), strict=True)
    ratio = median(ours / theirs for ours, theirs in both)
    return Claim(
        says="1.3 to 3.8 times slower than SBSH on average",
        measured=f"{ratio:.1f} times, the median over {pairs.height} settings",
        agrees=ratio <= _TIMES_SLOWER[1],
        why="" if ratio <= _TIMES_SLOWER[1] else "constraints are tested on whole rows, against all patterns",
    )
