"""Read a folder or database in the form of the OMOP common data model as events and persons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from sequester.errors import InputError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import quoted
from sequester.io.contents import check_cells, read_contents
from sequester.io.csv import read_csv
from sequester.io.database import Database
from sequester.io.parquet import check_parquet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.hierarchies.builder import HierarchyBuilder

TABLES = {
    "visit_occurrence": ("visit_concept_id", "visit_start_date"),
    "condition_occurrence": ("condition_concept_id", "condition_start_date"),
    "drug_exposure": ("drug_concept_id", "drug_exposure_start_date"),
    "procedure_occurrence": ("procedure_concept_id", "procedure_date"),
    "measurement": ("measurement_concept_id", "measurement_date"),
    "observation": ("observation_concept_id", "observation_date"),
    "death": ("cause_concept_id", "death_date"),
}
"""Tables that become events, with their columns of what happened and when."""
PERSON = "person_id"
"""The column of keys."""
_ENDINGS = (".parquet", ".csv", ".csv.gz")
_FIXED = {
    "0": "No matching concept",
    "8507": "MALE",
    "8532": "FEMALE",
    "8515": "Asian",
    "8516": "Black or African American",
    "8527": "White",
    "8557": "Native Hawaiian or Other Pacific Islander",
    "8657": "American Indian or Alaska Native",
}
"""Names that the model fixes, for folders whose table of concepts leaves them out."""


class Omop:
    """The tables of a folder or database; what they hold is read when it is asked for.

    Parameters
    ----------
    folder
        One file per table, Parquet or CSV, called as the model calls them, in any case; or a database with
        such tables.
    tables
        Which of `TABLES` become events; without them, those that have rows.
    """

    concept = "concept"
    """The column of events that says what happened."""

    def __init__(self, folder: Path | Database, tables: Sequence[str] | None = None) -> None:
        self.folder = folder
        self.files: dict[str, Path | str] = (
            {name.lower(): name for name in folder.tables()}
            if isinstance(folder, Database)
            else {**table_files(folder)}
        )
        unknown = [name for name in tables or () if name not in TABLES]
        if unknown or tables == []:
            got = quoted(unknown[0]) if unknown else "none"
            msg = f"{folder}: tables must be some of {', '.join(TABLES)}, got {got}"
            raise InputError(msg)
        absent = [name for name in ("person", "concept", *(tables or ())) if name not in self.files]
        if absent:
            what = "database" if isinstance(folder, Database) else "folder"
            raise InputError(*(f"{folder}: is no OMOP {what}, it has no table {name}" for name in absent))
        self.notes: tuple[str, ...] = ()
        self.tables = tuple(name for name in TABLES if name in (tables or self.files))

    def events(self) -> pl.DataFrame:
        """Return one row per occurrence, with the name of its concept, by person and date."""
        labels = self._labels()
        parts = []
        for name in self.tables:
            concept, date = TABLES[name]
            time = date.removesuffix("date") + "datetime"
            rows = self._table(name, [PERSON, concept, date], also=(time, "value_as_number"))
            parts.append(
                rows.select(
                    PERSON,
                    pl.col(date).str.head(10).alias("date"),
                    pl.lit(name).alias("table"),
                    pl.col(concept).fill_null("0").alias(self.concept),
                    pl.col("value_as_number").alias("value"),
                    pl.col(time).alias("moment"),
                )
            )
        events = pl.concat(parts)
        if not events.height:
            msg = f"{self.folder}: {', '.join(self.tables) or 'every table of events'} has no rows"
            raise InputError(msg)
        # A date is in every table, and a time of day only in some: it orders events of one day.
        events = events.sort(PERSON, "date", "moment", nulls_last=True, maintain_order=True).drop("moment")
        events = events.with_columns(pl.col(self.concept).replace_strict(labels))
        unused = [] if events["value"].count() else ["value"]
        return check_cells(events.drop(unused), str(self.folder))

    def persons(self) -> pl.DataFrame:
        """Return one row per person: sex, birth year, race and ethnicity."""
        concepts = ["gender_concept_id", "race_concept_id", "ethnicity_concept_id"]
        rows = self._table("person", [PERSON, "year_of_birth", *concepts])
        if not rows.height:
            msg = f"{self.folder}: person has no rows"
            raise InputError(msg)
        names = self._names(pl.concat([rows[each].alias("id") for each in concepts]))
        renamed = {each: each.removesuffix("_concept_id") for each in concepts}
        return rows.select(
            PERSON,
            "year_of_birth",
            *(pl.col(each).fill_null("0").replace_strict(names).alias(renamed[each]) for each in concepts),
        )

    def has_hierarchy(self) -> bool:
        """Return whether the vocabulary says which concept lies under which."""
        return "concept_ancestor" in self.files and bool(self._ancestors().height)

    def hierarchy(self) -> HierarchyBuilder:
        """Return what builds the hierarchy of concepts; one that lies directly above another is a parent."""
        if not self.has_hierarchy():
            msg = f'{self.folder}: concept_ancestor has no rows; use hierarchy = {{ kind = "flat" }}'
            raise InputError(msg)
        labels, rows = self._labels(), self._ancestors()
        ids = [*labels, *rows["parent"], *rows["child"]]
        others = self._names(pl.Series("id", ids, pl.String).unique())
        taken = {*labels.values()}
        others = {each: f"{name} ({each})" if name in taken else name for each, name in others.items()}
        parents: dict[str, list[str]] = {}
        for parent, child in rows.iter_rows():
            above, below = (labels.get(each) or others[each] for each in (parent, child))
            parents.setdefault(below, []).append(above)
        where = self.folder.name if isinstance(self.folder, Path) else str(self.folder)
        return Hierarchy.graph(parents, f"{where}/concept_ancestor")

    def _ancestors(self) -> pl.DataFrame:
        """Return pairs of concepts of which one lies directly above the other."""
        parent, child, levels = "ancestor_concept_id", "descendant_concept_id", "min_levels_of_separation"
        rows = self._table("concept_ancestor", [parent, child, levels])
        return rows.filter(pl.col(levels) == "1").select(
            pl.col(parent).alias("parent"), pl.col(child).alias("child")
        )

    def _labels(self) -> dict[str, str]:
        """Return the names of all concepts that occur, whatever tables are chosen; see `_names`."""
        parts = [
            self._table(name, [TABLES[name][0]])[TABLES[name][0]].alias("id")
            for name in TABLES
            if name in self.files
        ]
        return self._names(pl.concat(parts or [pl.Series("id", [], pl.String)]))

    def _names(self, ids: pl.Series) -> dict[str, str]:
        """Return the name of each concept; one that several have ends in the number of the concept."""
        wanted = ids.fill_null("0").unique()
        rows = self._table("concept", ["concept_id", "concept_name"]).drop_nulls()
        rows = rows.filter(pl.col("concept_id").is_in(wanted.implode())).unique("concept_id")
        is_shared = rows["concept_name"].is_duplicated()
        named = {
            each: f"{name} ({each})" if shared else name
            for (each, name), shared in zip(rows.iter_rows(), is_shared, strict=True)
        }
        return {each: named.get(each) or _FIXED.get(each, f"concept {each}") for each in sorted(wanted)}

    def _table(self, name: str, columns: Sequence[str], also: Sequence[str] = ()) -> pl.DataFrame:
        """Return columns of a table as text; `also` may be absent, and is then empty."""
        path = self.files[name]
        if isinstance(self.folder, Database) and isinstance(path, str):
            return self._from_database(self.folder, path, columns, also)
        path = Path(path)
        if path.name.lower().endswith(".parquet"):
            check_parquet([path])
            source = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        else:
            contents = read_contents(path)
            # A table may be empty, and then has a header only.
            head, _, rest = contents.partition(b"\n")
            if rest.strip():
                source = read_csv(contents, str(path)).lazy()
            else:
                source = read_csv(head + b"\n" + head + b"\n", str(path)).clear().lazy()
        found = _find_columns(source.collect_schema().names(), columns, also, str(path))
        return source.select(_as_texts(found)).collect()

    def _from_database(
        self, database: Database, name: str, columns: Sequence[str], also: Sequence[str]
    ) -> pl.DataFrame:
        found = _find_columns(database.columns_of(name), columns, also, f"{database}: table {name}")
        frame = database.read_columns(name, [own for own in found.values() if own is not None])
        return frame.select(_as_texts(found))


def _find_columns(
    present: Sequence[str], columns: Sequence[str], also: Sequence[str], where: str
) -> dict[str, str | None]:
    """Return each column by the name that it has, in any case; None where one of `also` is absent."""
    found = {each.lower(): each for each in present}
    absent = [each for each in columns if each not in found]
    if absent:
        raise InputError(*(f"{where}: has no column {quoted(each)}" for each in absent))
    return {each: found.get(each) for each in (*columns, *also)}


def _as_texts(found: Mapping[str, str | None]) -> list[pl.Expr]:
    return [
        (pl.lit(None) if own is None else pl.col(own)).cast(pl.String).alias(each)
        for each, own in found.items()
    ]


def table_files(folder: Path) -> dict[str, Path]:
    """Return the tables of a folder by their names in lower case."""
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        for ending in _ENDINGS:
            if path.name.lower().endswith(ending) and path.is_file():
                files.setdefault(path.name.lower().removesuffix(ending), path)
    return files


def is_omop(folder: Path) -> bool:
    """Return whether a folder has tables of events as the model calls them."""
    return not TABLES.keys().isdisjoint(table_files(folder))
