"""Bonomi, Fan, Jin (2016): Figures 4 to 9, and what the paper says of them.

The lines between agreement and disagreement were drawn from the words of the paper before anything was run:
"rises" and "falls" compare the two ends of an axis. Two were drawn tighter afterwards, where chance or
nothing would have passed for agreement: "typically faster" also asks for a tenth less time over all settings,
and a pair with the root is not "preserved at a coarser granularity".
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from sequester.reproduce.plan import Claim, Drawing

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """Draw times and losses; the letters of the paper's plots are part of the name."""
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


def claims(tables: Mapping[str, pl.DataFrame]) -> list[Claim]:
    """Hold the tables against what the paper says of each figure."""
    bounds, lengths = tables["bounds"], tables["lengths"]
    numbers, ratios = tables["numbers"], tables["frequencies"]
    up, down = (bounds.filter(method=way) for way in ("Bottom-Up", "Top-Down"))
    many, few = (numbers.filter(method="Top-Down", data=data) for data in (CLICKS, LOGS))
    clicks, logs = (down.filter(data=data) for data in (CLICKS, LOGS))
    loose = logs.filter(pl.col("share") >= 0.5)
    share, seconds, falls, rises = "share", "seconds", "falls", "rises"
    return [
        _trend("4b, 5b: Bottom-Up takes less time the looser the bound", up, share, seconds, falls),
        _trend("4a: on MSNBC Top-Down takes more time the looser the bound", clicks, share, seconds, rises),
        _trend("5a: on RM Top-Down takes less the looser it is, from 0.5 on", loose, share, seconds, falls),
        _faster(bounds),
        _much_faster(bounds.filter(data=LOGS)),
        _falls_all_along(bounds),
        _better(bounds),
        _cheapest(bounds),
        _similar(bounds),
        _trend("6a, 6b: time rises with the length of patterns", lengths, "length", seconds, rises),
        _robust(lengths),
        _trend("7a: on MSNBC Top-Down takes more time for more patterns", many, "number", seconds, rises),
        _stable(few),
        _trend("7c, 7d: loss rises with the number of patterns", numbers, "number", "loss", rises),
        _trend("8a: time rises with alpha", ratios, "alpha", seconds, rises),
        _trend("8b: loss rises with alpha", ratios, "alpha", "loss", rises),
        *_side_effects(tables["kept"], tables["top"]),
    ]


def _curves(table: pl.DataFrame, x: str, y: str) -> dict[tuple[str, ...], list[float]]:
    """Give every curve of a figure: its values from left to right."""
    keys = [key for key in ("data", "persons", "method", "cost") if key in table.columns]
    parts = table.sort(x, maintain_order=True).partition_by(keys, as_dict=True, maintain_order=True)
    return {tuple(map(str, key)): part[y].to_list() for key, part in parts.items()}


def _trend(says: str, table: pl.DataFrame, x: str, y: str, way: str) -> Claim:
    """Compare the two ends of every curve."""
    curves = _curves(table, x, y)
    right = [each[-1] > each[0] if way == "rises" else each[-1] < each[0] for each in curves.values()]
    starts, ends = ([each[at] for each in curves.values()] for at in (0, -1))
    first, last = min(table[x].to_list()), max(table[x].to_list())
    if y == "seconds":
        times = [end / start for start, end in zip(starts, ends, strict=True)]
        told = f"from {first:g} to {last:g} the time becomes {_span(times)} times as much"
    else:
        told = f"the loss is {_span(starts)} at {first:g}, {_span(ends)} at {last:g}"
    why = ""
    if not all(right):
        others = [", ".join(key) for key, holds in zip(curves, right, strict=True) if not holds]
        reason = _ONCE if y == "seconds" else "a heuristic does not always use the room that it has"
        why = f"it does not for {'; '.join(others)}: {reason}"
    return Claim(
        says=says,
        measured=f"{told}; it {way} in {sum(right)} of {len(right)} curves",
        agrees=all(right),
        why=why,
    )


def _beside(table: pl.DataFrame, on: str, values: str) -> pl.DataFrame:
    keys = [key for key in ("data", "method", "cost", "share") if key != on]
    return table.pivot(on=on, index=keys, values=values, maintain_order=True)


def _faster(bounds: pl.DataFrame) -> Claim:
    both = _beside(bounds, "method", "seconds")
    sooner = (both["Bottom-Up"] < both["Top-Down"]).to_list()
    ratio = sum(both["Bottom-Up"].to_list()) / sum(both["Top-Down"].to_list())
    agrees = sum(sooner) > len(sooner) / 2 and ratio <= _FASTER
    return Claim(
        says="4, 5: Bottom-Up is typically faster than Top-Down",
        measured=f"in {sum(sooner)} of {len(sooner)} settings; over all of them its time is {ratio:.2f} of "
        "that of Top-Down",
        agrees=agrees,
        why="" if agrees else f"they hardly differ: {_ONCE}",
    )


def _much_faster(logs: pl.DataFrame) -> Claim:
    both = _beside(logs, "method", "seconds")
    ratio = sum(both["Top-Down"].to_list()) / sum(both["Bottom-Up"].to_list())
    return Claim(
        says="5: on RM Bottom-Up is faster by one order of magnitude",
        measured=f"Top-Down takes {ratio:.2f} times as long",
        agrees=ratio >= _ORDER,
        why="" if ratio >= _ORDER else _ONCE,
    )


def _falls_all_along(bounds: pl.DataFrame) -> Claim:
    curves = _curves(bounds, "share", "loss").values()
    steps = [max(b - a for a, b in pairwise(each)) for each in curves]
    falls = all(each[-1] < each[0] for each in curves) and max(steps) <= _BUMP
    lows, highs = ([each[at] for each in curves] for at in (-1, 0))
    return Claim(
        says="4c, 4d, 5c, 5d: both methods lose less the looser the bound",
        measured=f"loss falls from {_span(highs)} at the tightest bound to {_span(lows)} at the loosest; the "
        f"largest step upwards is {max(0.0, *steps):.3f}",
        agrees=falls,
        why="" if falls else "greedy steps that a looser bound allows may end in something worse",
    )


def _better(bounds: pl.DataFrame) -> Claim:
    both = _beside(bounds, "method", "loss")
    better = (both["Top-Down"] <= both["Bottom-Up"]).to_list()
    agrees = sum(better) >= _MOSTLY * len(better)
    means = [sum(both[way].to_list()) / len(better) for way in ("Top-Down", "Bottom-Up")]
    return Claim(
        says="4, 5: Top-Down loses less than Bottom-Up",
        measured=f"in {sum(better)} of {len(better)} settings; {means[0]:.3f} and {means[1]:.3f} on average",
        agrees=agrees,
        why=""
        if agrees
        else "where the symbols of the patterns do not suffice, which is at tight bounds, Top-Down puts all "
        "symbols on the root, and Bottom-Up only lifts them one by one",
    )


def _cheapest(bounds: pl.DataFrame) -> Claim:
    by_cost = _beside(bounds, "cost", "loss")
    others = by_cost.select(pl.min_horizontal("linear", "exponential"))["linear"]
    least = (by_cost["information-loss"] <= others).to_list()
    agrees = sum(least) >= _MOSTLY * len(least)
    return Claim(
        says="4, 5: information loss gives the least loss of the three costs",
        measured=f"in {sum(least)} of {len(least)} settings",
        agrees=agrees,
        why=""
        if agrees
        else "inner nodes cost little by it, and at tight bounds Bottom-Up lifts all symbols to them; by "
        "depth it lifts fewer, to the root",
    )


def _similar(bounds: pl.DataFrame) -> Claim:
    by_cost = _beside(bounds, "cost", "loss")
    gaps = (by_cost["linear"] - by_cost["exponential"]).abs().to_list()
    mean = sum(gaps) / len(gaps)
    return Claim(
        says="4, 5: linear and exponential costs perform alike",
        measured=f"they differ by {mean:.3f} on average, at most by {max(gaps):.3f}",
        agrees=mean <= _ALIKE,
        why=""
        if mean <= _ALIKE
        else "between leaf and root the two costs differ by up to a sixth per symbol",
    )


def _robust(lengths: pl.DataFrame) -> Claim:
    curves = _curves(lengths, "length", "loss")
    changes = {key: max(each) - min(each) for key, each in curves.items()}
    most = max(changes, key=lambda key: changes[key])
    agrees = changes[most] <= _FLAT
    return Claim(
        says="6c, 6d: loss does not change substantially with the length of patterns",
        measured=f"it changes by {_span(list(changes.values()))}, most for {', '.join(most)}",
        agrees=agrees,
        why=""
        if agrees
        else "longer patterns have more of the few symbols of a log, and these have to be generalized",
    )


def _stable(logs: pl.DataFrame) -> Claim:
    ratios = [max(each) / min(each) for each in _curves(logs, "number", "seconds").values()]
    agrees = max(ratios) <= _STABLE
    return Claim(
        says="7b: the time of Top-Down is stable in the number of patterns on RM",
        measured=f"the longest is {_span(ratios)} times the shortest",
        agrees=agrees,
        why="" if agrees else "more patterns have more symbols, whose tuples have to be counted",
    )


def _side_effects(kept: pl.DataFrame, top: pl.DataFrame) -> list[Claim]:
    (down,) = kept.filter(method="Top-Down").rows(named=True)
    n_both = int(top.filter(sequence="original")["in_both"].sum())
    coarse = down["kept_coarser"]
    return [
        Claim(
            says="9: a large number of the ten most frequent patterns is preserved",
            measured=f"{n_both} of the ten of one person, {down['kept']:.0%} on average over all",
            agrees=down["kept"] > 0.5,
            why="" if down["kept"] > 0.5 else "most of the ten have a symbol of the drawn patterns",
        ),
        Claim(
            says="9: frequent patterns are preserved at a coarser granularity",
            measured=f"{coarse:.0%} of the ten are among those of the release in a form without the root",
            agrees=coarse > 0.5,
            why="" if coarse > 0.5 else "much is released as the root, which says nothing",
        ),
        Claim(
            says="9: the two distributions of frequencies are very similar",
            measured=f"they are {down['distance']:.3f} apart on average, in total variation",
            agrees=down["distance"] <= _SIMILAR,
            why="" if down["distance"] <= _SIMILAR else "generalized symbols make one pair of many",
        ),
    ]


def _span(values: list[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"
