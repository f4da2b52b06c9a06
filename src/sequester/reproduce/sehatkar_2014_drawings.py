"""Sehatkar (2014), chapter 6: the figures of the thesis, by their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.reproduce.plan import Drawing

if TYPE_CHECKING:
    from sequester.reproduce.plan import Value

CMS, SYN_1000, SYN_10000 = "CMS", "Syn-1000", "Syn-10000"
"""What the figures are grouped by: claims, and made sets of 1,000 and 10,000 persons."""
LOSS, ERROR = "information_loss", "relative_error"
_WORDS = {LOSS: "information loss", ERROR: "average relative error"}
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
    fixed: dict[str, Value] = {"K": 5, "C": 0.7} if table == _CLASSES else {"K": 5, "C": 0.7, "P": 3}
    where = {name: value for name, value in fixed.items() if name != varies}
    held = ", ".join(f"{name} = {value}" for name, value in where.items())
    return Drawing(
        name=f"figure-{number.replace('.', '-')}",
        title=f"Figure {number}: {_WORDS[measured]} of {_TITLES[table]} by {varies} on {group} ({held})",
        table=table,
        x=varies,
        y=measured,
        x_title=_AXES[varies],
        y_title=_WORDS[measured],
        series="method",
        panel="data",
        where={"group": group, **where},
    )


DRAWINGS = tuple(_drawing(*figure) for figure in FIGURES)
"""All of them."""
