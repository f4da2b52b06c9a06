"""Bonomi, Fan, Jin (2016): Figures 4 to 9, and what the paper says of them.

The thresholds of agreement were chosen from the words of the paper before anything was run: "rises" and
"falls" compare the two ends of an axis. Two were made stricter afterwards, where chance would have passed for
agreement: "typically faster" also requires a tenth less time over all settings, and a pair with the root is
not "preserved at a coarser granularity".
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from sequester.reproduce.plan import Drawing, Statement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.reproduce.plan import Check, Tables

CLICKS, LOGS = "clicks", "logs"
"""What stands for MSNBC, and what stands for Reality Mining."""
ONE = "one person"
"""Whom Figure 8 is about."""
_MOSTLY = 0.9
"""A statement without "always" may fail in one cell of ten."""
_BUMP = 0.01
"""Loss that a curve which falls may rise by from one point to the next."""
_ALIKE = 0.05
"""Mean difference of loss between costs that perform alike."""
_ORDER = 5.0
"""A ratio that passes for one order of magnitude."""
_FASTER = 0.9
"""Share of the other's time that is faster in general."""
_FLAT = 0.1
"""Change of loss that is not substantial, on a scale from 0 to 1."""
_STABLE = 1.5
"""Ratio of the longest to the shortest time of a curve that is stable."""
_SIMILAR = 0.1
"""Total variation between distributions that are very similar."""
_ONCE = (
    "here all index tuples are counted once, by both methods alike, and that is most of the time; where the "
    "symbols of the patterns suffice, only their tuples are counted, which is more often so the looser the "
    "bound and the more patterns there are; the paper's program reads the sequence again for each trial"
)

_TIME: dict[str, Any] = {"y": "seconds", "y_title": "seconds per person"}
_LOSS: dict[str, Any] = {"y": "loss", "y_title": "loss per symbol"}


def _drawings(
    figure: str, table: str, x: str, x_title: str, data: str | None = None, **more: Any
) -> tuple[Drawing, ...]:
    """Return drawings of times and losses; the letters of the paper's plots are part of the name."""
    letters = ("a", "b") if figure == "8" else ("ab", "cd")
    return tuple(
        Drawing(
            name=f"figure-{figure}{letter}",
            title=f"Figure {figure}: {what} against {x_title}" + ("" if data is None else f", {data}"),
            table=table,
            x=x,
            x_title=x_title,
            where={} if data is None else {"data": data},
            **shown,
            **more,
        )
        for letter, what, shown in zip(letters, ("time", "loss"), (_TIME, _LOSS), strict=True)
    )


_BY_COST: dict[str, Any] = {"series": "cost", "panel": "method"}
_BY_DATA: dict[str, Any] = {"series": "series", "panel": "data"}
_SHARE = "the bound, as a share of the entropy"
DRAWINGS = (
    *_drawings("4", "bounds", "share", _SHARE, CLICKS, **_BY_COST),
    *_drawings("5", "bounds", "share", _SHARE, LOGS, **_BY_COST),
    *_drawings("6", "lengths", "length", "the length of patterns", own_y=True, **_BY_DATA),
    *_drawings("7", "numbers", "number", "the number of patterns", own_y=True, **_BY_DATA),
    *_drawings(
        "8", "frequencies", "alpha", "the ratio of frequencies", series="series", panel="persons", log_x=True
    ),
    Drawing(
        name="figure-9",
        title="Figure 9: the ten most frequent pairs of one person, before and after Top-Down",
        table="top",
        x="rank",
        y="occurrences",
        x_title="rank; the pairs are in top.csv",
        y_title="occurrences",
        series="sequence",
    ),
)


def _curves(table: pl.DataFrame, x: str, y: str) -> dict[tuple[str, ...], list[float]]:
    """Return every curve of a figure: its values from left to right."""
    keys = [key for key in ("data", "persons", "method", "cost") if key in table.columns]
    parts = table.sort(x, maintain_order=True).partition_by(keys, as_dict=True, maintain_order=True)
    return {tuple(map(str, key)): part[y].to_list() for key, part in parts.items()}


def _compare_ends(
    tables: Tables, *, name: str, x: str, y: str, way: str, least: float, where: Mapping[str, str]
) -> tuple[str, bool, str]:
    """Compare the two ends of every curve."""
    table = tables[name].filter(pl.col(x) >= least, **where)
    curves = _curves(table, x, y)
    right = [each[-1] > each[0] if way == "rises" else each[-1] < each[0] for each in curves.values()]
    starts, ends = ([each[at] for each in curves.values()] for at in (0, -1))
    first, last = min(table[x].to_list()), max(table[x].to_list())
    if y == "seconds":
        times = [end / start for start, end in zip(starts, ends, strict=True)]
        shown = f"from {first:g} to {last:g} the time becomes {_span(times)} times as much"
    else:
        shown = f"the loss is {_span(starts)} at {first:g}, {_span(ends)} at {last:g}"
    why = ""
    if not all(right):
        others = [", ".join(key) for key, holds in zip(curves, right, strict=True) if not holds]
        reason = _ONCE if y == "seconds" else "a heuristic does not always use the room that it has"
        why = f"it does not for {'; '.join(others)}: {reason}"
    return f"{shown}; it {way} in {sum(right)} of {len(right)} curves", all(right), why


def _beside(tables: Tables, on: str, values: str, **where: str) -> pl.DataFrame:
    keys = [key for key in ("data", "method", "cost", "share") if key != on]
    return tables["bounds"].filter(**where).pivot(on=on, index=keys, values=values, maintain_order=True)


def _faster(tables: Tables) -> tuple[str, bool]:
    both = _beside(tables, "method", "seconds")
    sooner = (both["Bottom-Up"] < both["Top-Down"]).to_list()
    ratio = sum(both["Bottom-Up"].to_list()) / sum(both["Top-Down"].to_list())
    measured = (
        f"in {sum(sooner)} of {len(sooner)} settings; over all of them its time is {ratio:.2f} of "
        "that of Top-Down"
    )
    return measured, sum(sooner) > len(sooner) / 2 and ratio <= _FASTER


def _much_faster(tables: Tables) -> tuple[str, bool]:
    both = _beside(tables, "method", "seconds", data=LOGS)
    ratio = sum(both["Top-Down"].to_list()) / sum(both["Bottom-Up"].to_list())
    return f"Top-Down takes {ratio:.2f} times as long", ratio >= _ORDER


def _falls_all_along(tables: Tables) -> tuple[str, bool]:
    curves = _curves(tables["bounds"], "share", "loss").values()
    steps = [max(b - a for a, b in pairwise(each)) for each in curves]
    lows, highs = ([each[at] for each in curves] for at in (-1, 0))
    measured = (
        f"loss falls from {_span(highs)} at the tightest bound to {_span(lows)} at the loosest; the "
        f"largest step upwards is {max(0.0, *steps):.3f}"
    )
    return measured, all(each[-1] < each[0] for each in curves) and max(steps) <= _BUMP


def _better(tables: Tables) -> tuple[str, bool]:
    both = _beside(tables, "method", "loss")
    better = (both["Top-Down"] <= both["Bottom-Up"]).to_list()
    down, up = (fmean(both[way].to_list()) for way in ("Top-Down", "Bottom-Up"))
    measured = f"in {sum(better)} of {len(better)} settings; {down:.3f} and {up:.3f} on average"
    return measured, sum(better) >= _MOSTLY * len(better)


def _cheapest(tables: Tables) -> tuple[str, bool]:
    by_cost = _beside(tables, "cost", "loss")
    others = by_cost.select(pl.min_horizontal("linear", "exponential"))["linear"]
    least = (by_cost["information-loss"] <= others).to_list()
    return f"in {sum(least)} of {len(least)} settings", sum(least) >= _MOSTLY * len(least)


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


def _stable(tables: Tables) -> tuple[str, bool]:
    curves = _curves(tables["numbers"].filter(data=LOGS, method="Top-Down"), "number", "seconds")
    ratios = [max(each) / min(each) for each in curves.values()]
    return f"the longest is {_span(ratios)} times the shortest", max(ratios) <= _STABLE


def _top_down(tables: Tables, column: str) -> float:
    (value,) = tables["kept"].filter(method="Top-Down")[column].to_list()
    return float(value)


def _preserved(tables: Tables) -> tuple[str, bool]:
    n_both = int(tables["top"].filter(sequence="original")["in_both"].sum())
    share = _top_down(tables, "kept")
    return f"{n_both} of the ten of one person, {share:.0%} on average over all", share > 0.5


def _preserved_coarser(tables: Tables) -> tuple[str, bool]:
    share = _top_down(tables, "kept_coarser")
    return f"{share:.0%} of the ten are among those of the release in a form without the root", share > 0.5


def _same_distribution(tables: Tables) -> tuple[str, bool]:
    distance = _top_down(tables, "distance")
    return f"they are {distance:.3f} apart on average, in total variation", distance <= _SIMILAR


def _span(values: list[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


def _trend(name: str, x: str, y: str, way: str, *, least: float = 0.0, **where: str) -> Check:
    return partial(_compare_ends, name=name, x=x, y=y, way=way, least=least, where=where)


STATEMENTS = (
    Statement(
        "4b, 5b: Bottom-Up takes less time the looser the bound",
        _trend("bounds", "share", "seconds", "falls", method="Bottom-Up"),
    ),
    Statement(
        "4a: on MSNBC Top-Down takes more time the looser the bound",
        _trend("bounds", "share", "seconds", "rises", method="Top-Down", data=CLICKS),
    ),
    Statement(
        "5a: on RM Top-Down takes less the looser it is, from 0.5 on",
        _trend("bounds", "share", "seconds", "falls", method="Top-Down", data=LOGS, least=0.5),
    ),
    Statement("4, 5: Bottom-Up is typically faster than Top-Down", _faster, f"they hardly differ: {_ONCE}"),
    Statement("5: on RM Bottom-Up is faster by one order of magnitude", _much_faster, _ONCE),
    Statement(
        "4c, 4d, 5c, 5d: both methods lose less the looser the bound",
        _falls_all_along,
        "greedy steps that a looser bound allows may end in something worse",
    ),
    Statement(
        "4, 5: Top-Down loses less than Bottom-Up",
        _better,
        "where the symbols of the patterns do not suffice, which is at tight bounds, Top-Down puts all "
        "symbols on the root, and Bottom-Up only lifts them one by one",
    ),
    Statement(
        "4, 5: information loss gives the least loss of the three costs",
        _cheapest,
        "inner nodes cost little by it, and at tight bounds Bottom-Up lifts all symbols to them; by "
        "depth it lifts fewer, to the root",
    ),
    Statement(
        "4, 5: linear and exponential costs perform alike",
        _similar,
        "between leaf and root the two costs differ by up to a sixth per symbol",
    ),
    Statement(
        "6a, 6b: time rises with the length of patterns", _trend("lengths", "length", "seconds", "rises")
    ),
    Statement(
        "6c, 6d: loss does not change substantially with the length of patterns",
        _robust,
        "longer patterns have more of the few symbols of a log, and these have to be generalized",
    ),
    Statement(
        "7a: on MSNBC Top-Down takes more time for more patterns",
        _trend("numbers", "number", "seconds", "rises", method="Top-Down", data=CLICKS),
    ),
    Statement(
        "7b: the time of Top-Down is stable in the number of patterns on RM",
        _stable,
        "more patterns have more symbols, whose tuples have to be counted",
    ),
    Statement("7c, 7d: loss rises with the number of patterns", _trend("numbers", "number", "loss", "rises")),
    Statement("8a: time rises with alpha", _trend("frequencies", "alpha", "seconds", "rises")),
    Statement("8b: loss rises with alpha", _trend("frequencies", "alpha", "loss", "rises")),
    Statement(
        "9: a large number of the ten most frequent patterns is preserved",
        _preserved,
        "most of the ten have a symbol of the drawn patterns",
    ),
    Statement(
        "9: frequent patterns are preserved at a coarser granularity",
        _preserved_coarser,
        "much is released as the root, which says nothing",
    ),
    Statement(
        "9: the two distributions of frequencies are very similar",
        _same_distribution,
        "generalized symbols make one pair of many",
    ),
)
"""What the paper says, by its figures."""
