"""The tables that the papers print, by name, with their hierarchies and what is to be hidden in them.

Facts and numbers are the papers'; what they show in pictures is rebuilt from the nodes that their text names.
The module loads nothing, so that a list of names costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sequester.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from sequester.hierarchies import Hierarchy

_LONGITUDINAL = ("PID", "VID", "AdmYr", "ZIP", "DSFC", "LOS", "Disease")


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedTable:
    """A printed table, and what the paper says about it."""

    name: str
    """As in ``sequester datasets make NAME``."""
    about: str
    """What the rows are."""
    reference: str
    """Where it is printed."""
    columns: tuple[str, ...]
    """The person first, then the order."""
    rows: tuple[tuple[int | str, ...], ...]
    """As printed."""
    trees: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Column to its hierarchy, as nested tables below the root."""
    protect: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Column to the highly sensitive values."""
    patterns: tuple[tuple[str, ...], ...] = ()
    """Patterns to hide."""

    @property
    def persons(self) -> int:
        """How many persons the table has."""
        return len({row[0] for row in self.rows})

    def frame(self) -> pl.DataFrame:
        """Return the table."""
        import polars as pl  # noqa: PLC0415  (a list of names does not need it)

        return pl.DataFrame(self.rows, schema=list(self.columns), orient="row")

    def hierarchies(self) -> dict[str, Hierarchy]:
        """Return the tree of each column that has one."""
        from sequester.hierarchies import Hierarchy  # noqa: PLC0415  (a list of names does not need it)

        return {column: Hierarchy.from_tree(tree) for column, tree in self.trees.items()}


def paper(name: str) -> PrintedTable:
    """Find a paper's table by its name.

    Examples
    --------
    >>> example = paper("sehatkar-5.3")
    >>> example.frame().shape, example.protect
    ((9, 5), {'Diagnosis': ('HIV',)})
    >>> example.hierarchies()["AdmYr"].generalize("2009", 1)
    '[2009:2010]'
    """
    if name not in PAPERS:
        msg = f"the table must be one of {', '.join(PAPERS)}, got {name!r}"
        raise InputError(msg)
    return PAPERS[name]


def _years() -> dict[str, dict[str, list[str]]]:
    """Return eight years in twos and fours; the thesis calls the root ``[2005:2012]``."""
    return {
        f"[{four}:{four + 3}]": {f"[{two}:{two + 1}]": [str(two), str(two + 1)] for two in (four, four + 2)}
        for four in (2005, 2009)
    }


def _weeks() -> dict[str, object]:
    """Return the 364 days of 52 weeks in weeks, fours and twelves of weeks; groups are named by weeks.

    The text names ``[0:1)``, ``[1:2)``, ``[0:4)``, ``[4:8)`` and ``[0:12)`` (chapter 4 prints ``[0:4]`` for
    the same). Twelve does not divide 52: the last four weeks stand alone under the root.
    """

    def week(number: int) -> tuple[str, list[str]]:
        return f"[{number}:{number + 1})", [str(day) for day in range(7 * number, 7 * number + 7)]

    def four(first: int) -> tuple[str, dict[str, list[str]]]:
        return f"[{first}:{first + 4})", dict(week(number) for number in range(first, first + 4))

    twelves: dict[str, object] = {
        f"[{first}:{first + 12})": dict(four(number) for number in range(first, first + 12, 4))
        for first in range(0, 48, 12)
    }
    return twelves | dict([four(48)])


def _zips(*rows: tuple[int | str, ...]) -> dict[str, dict[str, list[str]]]:
    """Return the ZIP codes of a table under their first three and two digits; the text names ``56***``."""
    codes = sorted({str(row[3]) for row in rows})
    return {
        f"{two}***": {
            f"{three}**": [code for code in codes if code.startswith(three)]
            for three in dict.fromkeys(code[:3] for code in codes)
            if three.startswith(two)
        }
        for two in dict.fromkeys(code[:2] for code in codes)
    }


def _sequences(*lines: str, prefix: str) -> tuple[tuple[int | str, ...], ...]:
    """Enumerate the symbols of each line."""
    return tuple(
        (f"{prefix}{person}", place, symbol)
        for person, line in enumerate(lines, start=1)
        for place, symbol in enumerate(line.split(), start=1)
    )


_TABLE_4_1: tuple[tuple[int | str, ...], ...] = (
    (1, 1, 2009, "56117", 0, 3, "Hepatitis"),
    (2, 1, 2009, "56103", 0, 2, "Infection"),
    (3, 1, 2009, "56942", 0, 1, "Fever"),
    (3, 2, 2010, "56942", 0, 30, "Cancer"),
    (4, 1, 2009, "56107", 0, 2, "Cancer"),
    (4, 2, 2010, "56107", 0, 35, "Flu"),
    (5, 1, 2009, "56117", 0, 3, "Fever"),
    (6, 1, 2008, "56103", 0, 3, "Flu"),
    (6, 2, 2009, "56103", 0, 1, "Fever"),
    (6, 3, 2009, "56230", 40, 2, "HIV"),
    (7, 1, 2008, "56072", 0, 2, "Flu"),
    (8, 1, 2007, "56361", 0, 30, "Hepatitis"),
    (8, 2, 2011, "56107", 0, 3, "HIV"),
    (9, 1, 2007, "56230", 0, 35, "Flu"),
    (9, 2, 2011, "56107", 0, 3, "HIV"),
    (10, 1, 2009, "56072", 0, 2, "Flu"),
    (10, 2, 2010, "56103", 0, 35, "Fever"),
    (10, 3, 2010, "56043", 100, 30, "Infection"),
)
_TABLE_5_1: tuple[tuple[int | str, ...], ...] = (
    (1, 1, 2009, "56117", 0, 3, "Hepatitis"),
    (2, 1, 2007, "56103", 0, 2, "Infection"),
    (3, 1, 2008, "56942", 0, 1, "Diabetes"),
    (3, 2, 2010, "56942", 0, 30, "Infection"),
    (4, 1, 2008, "56107", 0, 2, "Diabetes"),
    (4, 2, 2010, "56107", 0, 35, "Flu"),
    (5, 1, 2009, "56117", 0, 3, "Diabetes"),
    (6, 1, 2009, "56103", 0, 3, "Flu"),
    (6, 2, 2009, "56103", 10, 1, "Infection"),
    (6, 3, 2010, "56230", 0, 2, "HIV"),
    (7, 1, 2008, "56072", 0, 2, "Flu"),
    (8, 1, 2007, "56361", 0, 30, "Hepatitis"),
    (8, 2, 2011, "56107", 0, 3, "HIV"),
    (9, 1, 2007, "56230", 0, 35, "Flu"),
    (9, 2, 2011, "56107", 0, 3, "HIV"),
    (10, 1, 2009, "56072", 0, 2, "Flu"),
    (10, 2, 2009, "56103", 13, 35, "Infection"),
    (10, 3, 2010, "56043", 0, 30, "Infection"),
)
_TABLE_5_3: tuple[tuple[int | str, ...], ...] = (
    (1, 1, 2009, 3, "Hepatitis"),
    (2, 1, 2010, 2, "Infection"),
    (3, 1, 2008, 1, "Diabetes"),
    (3, 2, 2010, 6, "Infection"),
    (4, 1, 2009, 3, "Flu"),
    (4, 2, 2009, 1, "Infection"),
    (4, 3, 2010, 2, "ulcer"),
    (5, 1, 2007, 4, "Hepatitis"),
    (5, 2, 2011, 3, "HIV"),
)

PAPERS = {
    each.name: each
    for each in (
        PrintedTable(
            name="sehatkar-4.1",
            about="hospital visits of ten persons, the running example of (K,C)^P-privacy",
            reference="Sehatkar (2014), Table 4.1; hierarchies of Figure 4.1",
            columns=_LONGITUDINAL,
            rows=_TABLE_4_1,
            trees={"AdmYr": _years(), "ZIP": _zips(*_TABLE_4_1), "DSFC": _weeks(), "LOS": _weeks()},
            protect={"Disease": ("Cancer", "HIV")},
        ),
        PrintedTable(
            name="sehatkar-5.1",
            about="hospital visits of ten persons, the first example of (K,C)-privacy",
            reference="Sehatkar (2014), Table 5.1; hierarchies of Figure 5.1",
            columns=_LONGITUDINAL,
            rows=_TABLE_5_1,
            trees={"AdmYr": _years(), "ZIP": _zips(*_TABLE_5_1), "DSFC": _weeks(), "LOS": _weeks()},
            protect={"Disease": ("HIV",)},
        ),
        PrintedTable(
            name="sehatkar-5.3",
            about="hospital visits of five persons, the running example of CBLDA",
            reference="Sehatkar (2014), Table 5.3; hierarchies of Figure 5.1",
            columns=("PID", "VID", "AdmYr", "LOS", "Diagnosis"),
            rows=_TABLE_5_3,
            trees={"AdmYr": _years(), "LOS": _weeks()},
            protect={"Diagnosis": ("HIV",)},
        ),
        PrintedTable(
            name="gwadera-insurance",
            about="insurances that nine customers bought one after the other, as letters",
            reference="Gwadera, Gkoulalas-Divanis, Loukides (2013), Motivation 2/3",
            columns=("customer", "place", "insurance"),
            rows=_sequences(
                "a b c d e f",
                "a b c e",
                "a c e h b",
                "f g c e a b",
                "d f g h b",
                "d h b f g",
                "f h g b",
                "c d f g e",
                "d h f g b",
                prefix="t",
            ),
            patterns=(("a", "c", "e"), ("d", "f", "g"), ("d", "h", "b")),
        ),
        PrintedTable(
            name="pensa-figure-1",
            about="ten sequences of places, as letters",
            reference="Pensa, Monreale, Pinelli, Pedreschi (2008), Figure 1(a)",
            columns=("sequence", "place", "item"),
            rows=_sequences(
                *["A B C D E F"] * 3, *["A D E F"] * 3, "B K S", *["B K"] * 2, "D E J F", prefix="s"
            ),
        ),
        # The paper prints patterns and a taxonomy, and no purchases: these are the patterns of its Examples 1
        # and 4, one after the other. The taxonomy is Figure 2; no text names the group of milk and cheese.
        PrintedTable(
            name="bonomi-groceries",
            about="what one person bought: the example patterns one after the other, with a taxonomy",
            reference="Bonomi, Fan, Jin (2016), Figure 2 and Examples 1 to 4",
            columns=("user", "place", "item"),
            rows=_sequences(
                "Beer Chips Wine Cheese Cookies Milk Beer Chips Milk Cookies Wine Beer", prefix="u"
            ),
            trees={
                "item": {
                    "Alcohol": ["Beer", "Wine"],
                    "Snack": ["Chips", "Cookies"],
                    "Dairy": ["Cheese", "Milk"],
                }
            },
            patterns=(("Beer", "Chips"), ("Wine", "Cheese"), ("Cookies", "Milk")),
        ),
    )
}
"""Name to printed table."""
