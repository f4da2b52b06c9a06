"""Sehatkar (2014), chapter 6: the figures of the thesis by their numbers, and what it says of them."""

from __future__ import annotations

from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

import polars as pl

from sequester.reproduce.plan import Claim, Drawing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.reproduce.plan import Tables, Value

    Curves = dict[str, dict[float, float]]

CMS, SYN_1000, SYN_10000 = "CMS", "Syn-1000", "Syn-10000"
"""What the figures are grouped by: claims, and made sets of 1,000 and 10,000 persons."""
LOSS, ERROR = "information_loss", "relative_error"
_NAMES = {LOSS: "information loss", ERROR: "average relative error"}
FIXED: dict[str, float] = {"K": 5, "C": 0.7, "P": 3}
"""Thresholds where they do not vary."""
_AXES = {"K": "K, persons", "C": "C, share at risk", "P": "P, items that are known"}
_CLASSES, _LEVELS = "classes", "levels"
_TITLES = {_CLASSES: "CBLDA and its baseline", _LEVELS: "HALT and GloGen"}

FIGURES = (
    ("6.1a", _CLASSES, LOSS, "K", CMS),
    ("6.1b", _CLASSES, LOSS, "C", CMS),
    ("6.2", _CLASSES, LOSS, "K", SYN_1000),
    ("6.3", _CLASSES, LOSS, "K", SYN_10000),
    ("6.4", _CLASSES, LOSS, "C", SYN_1000),
    ("6.5", _CLASSES, LOSS, "C", SYN_10000),
    ("6.6a", _CLASSES, ERROR, "K", CMS),
    ("6.6b", _CLASSES, ERROR, "C", CMS),
    ("6.7", _CLASSES, ERROR, "K", SYN_1000),
    ("6.8", _CLASSES, ERROR, "K", SYN_10000),
    ("6.9", _CLASSES, ERROR, "C", SYN_1000),
    ("6.10", _CLASSES, ERROR, "C", SYN_10000),
    ("6.11a", _LEVELS, LOSS, "K", CMS),
    ("6.11b", _LEVELS, LOSS, "C", CMS),
    ("6.12", _LEVELS, LOSS, "K", SYN_1000),
    ("6.13", _LEVELS, LOSS, "K", SYN_10000),
    ("6.14", _LEVELS, LOSS, "C", SYN_1000),
    ("6.15", _LEVELS, LOSS, "C", SYN_10000),
    ("6.16", _LEVELS, LOSS, "P", CMS),
    ("6.17", _LEVELS, LOSS, "P", SYN_1000),
    ("6.18", _LEVELS, LOSS, "P", SYN_10000),
    ("6.19a", _LEVELS, ERROR, "K", CMS),
    ("6.19b", _LEVELS, ERROR, "C", CMS),
    ("6.20", _LEVELS, ERROR, "K", SYN_1000),
    ("6.21", _LEVELS, ERROR, "K", SYN_10000),
    ("6.22", _LEVELS, ERROR, "C", SYN_1000),
    ("6.23", _LEVELS, ERROR, "C", SYN_10000),
    ("6.24", _LEVELS, ERROR, "P", CMS),
    ("6.25", _LEVELS, ERROR, "P", SYN_1000),
    ("6.26", _LEVELS, ERROR, "P", SYN_10000),
)
"""Number, table, what is measured, what varies, and where."""


def _drawing(number: str, table: str, measured: str, varies: str, group: str) -> Drawing:
    fixed = [name for name in ("K", "C", "P") if name != varies and (name != "P" or table == _LEVELS)]
    where: dict[str, Value] = {name: FIXED[name] for name in fixed}
    held = ", ".join(f"{name} = {value}" for name, value in where.items())
    return Drawing(
        name=f"figure-{number.replace('.', '-')}",
        title=f"Figure {number}: {_NAMES[measured]} of {_TITLES[table]} by {varies} on {group} ({held})",
        table=table,
        x=varies,
        y=measured,
        x_title=_AXES[varies],
        y_title=_NAMES[measured],
        series="method",
        panel="data",
        where={"group": group, **where},
    )


DRAWINGS = tuple(_drawing(*figure) for figure in FIGURES)

_GROUPS = (CMS, SYN_1000, SYN_10000)
_MOSTLY = 0.9
"""Share of the data sets that must have the shape of the figures."""
_FLAT = 0.05
"""Curves that move by no more than this are flat."""

_UNKNOWN = (
    "loss depends on the hierarchies and on how values are spread, and the thesis prints neither its "
    "generator nor the hierarchies of these data"
)
_FEW = (
    "where few persons share what three known values may tell, HALT, too, loses most of what there "
    f"is, and GloGen nearly all of it; {_UNKNOWN}"
)
_LOW = (
    "what a release does not show is estimated by an even spread, and even one that shows nothing is off by "
    "about 1 only: there is little to fall by, and what is still shown of a suppressed column misleads"
)
_BASELINE = (
    "our baseline, too, merges the two nearest clusters, and differs from CBLDA only where histories differ "
    "in length; with so few events per person there is little to align. Nobody is dropped by either, while "
    "the thesis drops its last cluster at no cost"
)
_COARSE = "lower than printed; the thesis does not say how it drew its queries, and some of ours are coarse"


def claims(tables: Tables) -> list[Claim]:
    """Compare the tables with the statements of the thesis."""
    classes, levels = tables["classes"], tables["levels"]
    return [
        _moves(classes, "CBLDA", LOSS, "K", 1, "6.1 to 6.3"),
        _moves(classes, "CBLDA", LOSS, "C", -1, "6.1, 6.4, 6.5"),
        _drops(classes),
        _lower(classes, ("CBLDA", "Baseline"), LOSS, {CMS: 0.62}, "Figure 6.1a", _BASELINE),
        _at_most(classes, "CBLDA", LOSS, CMS, None, 0.26, "6.1a"),
        _at_most(classes, "CBLDA", LOSS, SYN_1000, 5, 0.3, "6.2"),
        _at_most(classes, "CBLDA", LOSS, SYN_10000, 5, 0.2, "6.3"),
        _larger(classes),
        _grows_with(classes, 3, "the number of quasi-identifiers"),
        _grows_with(classes, 2, "the number of events per person"),
        _moves(classes, "CBLDA", ERROR, "K", 1, "6.6 to 6.8"),
        _at_most(classes, "CBLDA", ERROR, CMS, None, 1.0, "6.6a"),
        _at_most(classes, "CBLDA", ERROR, SYN_1000, None, 1.5, "6.7"),
        _at_most(classes, "CBLDA", ERROR, SYN_10000, None, 1.0, "6.8"),
        _flat(classes, "CBLDA", ERROR, 0.5, "6.6b"),
        _moves(levels, "HALT", LOSS, "K", 1, "6.11 to 6.13"),
        _moves(levels, "HALT", LOSS, "C", -1, "6.11, 6.14, 6.15"),
        _flat(levels, "HALT", LOSS, 0.7, "6.11b"),
        _moves(levels, "HALT", LOSS, "P", 1, "6.16 to 6.18"),
        _lower(
            levels,
            ("HALT", "GloGen"),
            LOSS,
            {CMS: 0.54, SYN_1000: 0.34, SYN_10000: 0.45},
            "Figures 6.11 to 6.13",
            _FEW,
        ),
        _lower(
            levels,
            ("HALT", "GloGen"),
            ERROR,
            {CMS: 0.68, SYN_1000: 0.47, SYN_10000: 0.45},
            "Figures 6.19 to 6.21",
            _LOW,
        ),
        _at_most(levels, "HALT", ERROR, CMS, 50, 1.6, "6.19a"),
        _moves(levels, "HALT", ERROR, "P", 1, "6.24 to 6.26"),
        _bounded(levels),
        _comparable(classes, levels),
    ]


def curves(table: pl.DataFrame, method: str, measured: str, varies: str, group: str | None = None) -> Curves:
    """Return, for every data set, the means over its sets by what varies; the rest has its default.

    Examples
    --------
    >>> rows = {"group": "CMS", "data": "CMS", "method": "CBLDA", "C": 0.7, "K": [5, 5, 50]}
    >>> curves(pl.DataFrame(rows | {"information_loss": [0.1, 0.3, 0.4]}), "CBLDA", LOSS, "K")
    {'CMS': {5: 0.2, 50: 0.4}}
    """
    rows = table.filter(pl.col("method") == method)
    if group is not None:
        rows = rows.filter(pl.col("group") == group)
    for name, value in FIXED.items():
        if name != varies and name in rows.columns:
            rows = rows.filter(pl.col(name) == value)
    means = rows.group_by("data", varies, maintain_order=True).agg(pl.col(measured).mean()).sort(varies)
    found: Curves = {}
    for data, x, y in means.iter_rows():
        found.setdefault(data, {})[x] = y
    return dict(sorted(found.items()))


def _moves(table: pl.DataFrame, method: str, measured: str, varies: str, way: int, figures: str) -> Claim:
    ends = [list(each.values()) for each in curves(table, method, measured, varies).values()]
    holds = [way * (ys[-1] - ys[0]) > 0 for ys in ends if len(ys) > 1]
    back = sum(any(way * (after - before) < 0 for before, after in pairwise(ys)) for ys in ends)
    means = fmean(ys[0] for ys in ends), fmean(ys[-1] for ys in ends)
    agrees = sum(holds) >= _MOSTLY * len(holds)
    return Claim(
        says=f"{_NAMES[measured].capitalize()} of {method} {'rises' if way > 0 else 'falls'} with {varies} "
        f"(Figures {figures}).",
        measured=f"on {sum(holds)} of {len(holds)} data sets; from {means[0]:.2f} to {means[1]:.2f} on "
        "average",
        agrees=agrees,
        why=_steps(back) if agrees else (_LOW if measured == ERROR else _UNKNOWN),
    )


def _steps(back: int) -> str:
    return f"not at every step, on {back} of them: what is found is not always the best" if back else ""


def _drops(table: pl.DataFrame) -> Claim:
    of = curves(table, "CBLDA", LOSS, "C").values()
    falls = [ys[min(ys)] - ys[FIXED["C"]] for ys in of]
    later = [ys[FIXED["C"]] - ys[max(ys)] for ys in of]
    agrees = all(first > max(then, 0) for first, then in zip(falls, later, strict=True))
    return Claim(
        says="Loss is high while C is below the share of persons at risk, and drops when C passes it "
        "(Figures 6.1b, 6.4, 6.5).",
        measured=f"from C = 0.1 to 0.7 it falls by {min(falls):.2f} to {max(falls):.2f}, above that by at "
        f"most {max(later):.2f}",
        agrees=agrees,
        why="" if agrees else "on made data with many events most persons are at risk, up to C = 0.7",
    )


def _lower(
    table: pl.DataFrame,
    methods: tuple[str, str],
    measured: str,
    printed: Mapping[str, float],
    figures: str,
    why: str,
) -> Claim:
    found = {}
    for group in printed:
        ours, others = (curves(table, method, measured, "K", group) for method in methods)
        ratios = [
            1 - y / others[data][k] for data, ys in ours.items() for k, y in ys.items() if others[data][k]
        ]
        if ratios:
            found[group] = fmean(ratios)
    # Other data cannot give the same shares; a third is what all of those printed have in common.
    agrees = all(less >= 1 / 3 for less in found.values())
    says = ", ".join(f"{less:.0%} ({group})" for group, less in printed.items())
    return Claim(
        says=f"{_NAMES[measured].capitalize()} of {methods[0]} is below that of {methods[1]}, on average "
        f"over K by {says} ({figures}).",
        measured=", ".join(f"{less:.0%} ({group})" for group, less in found.items()),
        agrees=agrees,
        why="at least a third is taken as agreement" if agrees else why,
    )


def _at_most(
    table: pl.DataFrame, method: str, measured: str, group: str, k: int | None, most: float, figure: str
) -> Claim:
    found = curves(table, method, measured, "K", group)
    values = [y for ys in found.values() for x, y in ys.items() if k is None or x == k]
    within = sum(value <= most for value in values)
    # Of made data the thesis says that it is so for most sets.
    agrees = within == len(values) if group == CMS else 2 * within > len(values)
    return Claim(
        says=f"{_NAMES[measured].capitalize()} of {method} on {group} is at most {most} "
        f"{'for all K' if k is None else f'at K = {k}'}{'' if group == CMS else ', for most sets'} "
        f"(Figure {figure}).",
        measured=f"{min(values):.2f} to {max(values):.2f}, {fmean(values):.2f} on average; at most {most} in "
        f"{within} of {len(values)} cases",
        agrees=agrees,
        why=(_COARSE if measured == ERROR else "") if agrees else _size(group),
    )


def _size(group: str) -> str:
    if group == CMS:
        return (
            "these samples have about 3,000 persons each, those of the thesis more than ten times as many "
            f"claims: who looks for company finds nearer persons there. Also, {_UNKNOWN}"
        )
    return _UNKNOWN


def _larger(table: pl.DataFrame) -> Claim:
    small, large = (
        {data.split("_", 2)[2]: ys[5] for data, ys in curves(table, "CBLDA", LOSS, "K", group).items()}
        for group in (SYN_1000, SYN_10000)
    )
    less = [1 - loss / small[shape] for shape, loss in large.items() if shape in small]
    agrees = bool(less) and min(less) > 0
    return Claim(
        says="Ten times as many persons lose less, by 38 % on average at K = 5 (Figures 6.2, 6.3).",
        measured=f"{fmean(less):.0%} on average, over Y_Z of {', '.join(large)}"
        if less
        else "no shape of both sizes",
        agrees=agrees,
        why="" if agrees else "made persons differ too much for larger crowds to help",
    )


def _grows_with(table: pl.DataFrame, part: int, what: str) -> Claim:
    at_k = {data: ys[5] for data, ys in curves(table, "CBLDA", LOSS, "K").items() if data != CMS}
    shown = []
    for data, loss in at_k.items():
        own = data.split("_")
        for other, more in at_k.items():
            its = other.split("_")
            alike = own[:part] + own[part + 1 :] == its[:part] + its[part + 1 :]
            if alike and int(own[part]) < int(its[part]):
                shown.append(more - loss)
    grows = [more > 0 for more in shown]
    agrees = all(grows) and bool(grows)
    return Claim(
        says=f"Loss of CBLDA rises with {what} (Figures 6.2, 6.3).",
        measured=f"in {sum(grows)} of {len(grows)} pairs of shapes at K = 5, by "
        f"{fmean(shown) if shown else 0:.2f} on average",
        agrees=agrees,
        why="" if agrees else "a further column that is easily made alike lowers the mean over columns",
    )


def _flat(table: pl.DataFrame, method: str, measured: str, start: float, figure: str) -> Claim:
    (ys,) = curves(table, method, measured, "C", CMS).values()
    above = [y for c, y in ys.items() if c >= start]
    spread = max(above) - min(above)
    agrees = spread <= _FLAT
    return Claim(
        says=f"{_NAMES[measured].capitalize()} of {method} on {CMS} hardly changes for C of {start} and more "
        f"(Figure {figure}).",
        measured=f"between {min(above):.3f} and {max(above):.3f}",
        agrees=agrees,
        why="" if agrees else "classes of five with many persons at risk are still merged at these C",
    )


def _bounded(table: pl.DataFrame) -> Claim:
    worst = max(y for ys in curves(table, "HALT", ERROR, "P").values() for y in ys.values())
    return Claim(
        says="Average relative error of HALT does not exceed 3 for any P (Figures 6.24 to 6.26).",
        measured=f"at most {worst:.2f}",
        agrees=worst <= 3,
        why="" if worst <= 3 else _LOW,
    )


def _comparable(classes: pl.DataFrame, levels: pl.DataFrame) -> Claim:
    ours, others = (
        {
            group: fmean(ys[5] for ys in found.values())
            for group in _GROUPS
            if (found := curves(table, name, LOSS, "K", group))
        }
        for table, name in ((levels, "HALT"), (classes, "CBLDA"))
    )
    shown = [f"{ours[group]:.2f} beside {others[group]:.2f} ({group})" for group in ours]
    agrees = all(abs(ours[group] - others[group]) <= 0.15 for group in ours)
    return Claim(
        says="Loss of HALT is comparable with that of CBLDA on the same data (section 6.4.1).",
        measured=f"at K = 5: {', '.join(shown)}",
        agrees=agrees,
        why=""
        if agrees
        else "levels are the same for everybody in HALT, so that rare values cost all others; and a "
        "suppressed cell counts as something known, which the thesis leaves open",
    )
