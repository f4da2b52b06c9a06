"""A series: a release and its continuations, joined by pseudonyms, and what the next part needs of them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sequester.data.ordering import group_persons
from sequester.errors import InputError, InternalError, SchemaError
from sequester.hierarchies.labels import quoted
from sequester.ragged import places_of
from sequester.release.fields import safe_repr
from sequester.release.folder import PSEUDONYMS, check_files, read_certificate
from sequester.release.release import EVENTS, ORDER, PERSON, PERSONS, SeriesLink

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from sequester.data.table import EventTable
    from sequester.release.certificate import Certificate
    from sequester.release.release import Release

STATE = "series.json"
"""The number of the part, its certificate's hash, the levels of the columns, and a row about each part."""
TREES = "hierarchies"
KEYS = "keys"
FIRST_ROWS = 5
"""Rows that a message names."""


def state_file(name: str) -> str:
    """Return the internal file that holds a table of the series so far."""
    return f"series-{name}.parquet"


def join_tables(parts: Sequence[Mapping[str, pl.DataFrame]]) -> dict[str, pl.DataFrame]:
    """Return the accumulated tables: of every person the events of all parts, in the order of the parts.

    Examples
    --------
    >>> first = pl.DataFrame({"person": ["b", "a"], "order": [1, 1], "stay": ["1", "2"]})
    >>> second = pl.DataFrame({"person": ["a", "c"], "order": [1, 1], "stay": ["3", "4"]})
    >>> join_tables([{"events": first}, {"events": second}])["events"].rows()
    [('b', 1, '1'), ('a', 1, '2'), ('a', 2, '3'), ('c', 1, '4')]
    """
    events = pl.concat([part[EVENTS] for part in parts])
    grouping = group_persons(events[PERSON])
    if grouping.order is not None:
        events = events[grouping.order]
    order = pl.Series(ORDER, places_of(grouping.offsets) + 1, dtype=pl.Int64)
    joined = {EVENTS: events.with_columns(order)}
    if PERSONS in parts[0]:
        joined[PERSONS] = pl.concat([part[PERSONS] for part in parts])
    return joined


def join_hierarchies(parts: Sequence[Mapping[str, pl.DataFrame]]) -> dict[str, pl.DataFrame]:
    """Return for each column the nodes of all parts; a node has the same parent in each, or it is refused.

    Where a hierarchy is built from the values that occur, parts differ in numbers of leaves: the largest
    counts, and no node has fewer than those below it.
    """
    joined = {}
    for column in dict.fromkeys(name for part in parts for name in part):
        rows = pl.concat(
            [part[column].select("node", "parent", "leaves") for part in parts if column in part]
        )
        nodes = rows.group_by("node", maintain_order=True).agg(
            pl.col("parent").fill_null("").unique(maintain_order=True), pl.col("leaves").max()
        )
        leaves: Counter[str] = Counter()
        # Every part lists parents first, and so do all parts together.
        for node, (above, *others), count in reversed(nodes.rows()):
            if others:
                msg = (
                    f"column {safe_repr(column)}: {safe_repr(node)} lies below {safe_repr(others[0])} here, "
                    f"and below {safe_repr(above)} in an earlier part: give the column the "
                    "hierarchy that the series began with, in a file if it is learned from the data"
                )
                raise InputError(msg)
            leaves[node] = max(leaves[node], count)
            leaves[above] += leaves[node]
        joined[column] = nodes.with_columns(
            pl.col("parent").list.first(), pl.Series("leaves", [leaves[node] for node in nodes["node"]])
        )
    return joined


@dataclass(frozen=True, kw_only=True)
class Series:
    """All parts of a series so far, as they were released, and who is who. Internal."""

    part: int
    """The number of the last part."""
    tables: Mapping[str, pl.DataFrame]
    """The accumulated tables."""
    keys: pl.Series
    """The order or time in the input of each accumulated event, as text."""
    hierarchies: Mapping[str, pl.DataFrame]
    """Column to its released nodes, of all parts."""
    pseudonyms: pl.DataFrame
    """``person`` as in the input and ``pseudonym``, of all parts."""
    depths: Mapping[str, int]
    """Column to its level in all parts, as steps from the root."""
    history: tuple[Mapping[str, Any], ...] = ()
    """What each part released, held back and lost, the first one first."""
    certificate: Certificate | None = None
    """The certificate of the last part; None until it is written."""
    certificate_sha256: str = ""
    """Its hash."""
    path: str = field(default="", compare=False)
    """The folder of the last part, as it was given."""
    arrived: EventTable | None = field(default=None, compare=False)
    """What of the input was new in the last part, while that is not written; None for the first part."""
    before: Series | None = field(default=None, compare=False)
    """The series without its last part, while that is not written; None for the first part."""

    @property
    def certified(self) -> Certificate:
        """The certificate of the last part, of a series that was read."""
        if self.certificate is None:
            msg = "the last part of the series is not written yet"
            raise InternalError(msg)
        return self.certificate

    @property
    def link(self) -> SeriesLink:
        """What the certificate of the next part says."""
        return SeriesLink(self.part + 1, self.certificate_sha256)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Series:
        """Read the series up to the part in a folder, which holds ``release`` and ``internal``.

        Raises
        ------
        InputError
            If the part is not as certified, is no part of a series, or its internal files are not there.
        """
        folder = Path(path)
        internal = folder / "internal"
        certificate, own_hash = read_certificate(folder / "release")
        if findings := check_files(folder / "release", certificate.files):
            raise InputError(*(f"{folder}/release: {finding}" for finding in findings))
        if certificate.series is None or not (internal / STATE).is_file():
            why = "the release is not of a series" if certificate.series is None else f"no internal/{STATE}"
            msg = (
                f"{folder} cannot be continued: {why}. The first part has [release] series = true, and every "
                "part is continued from its internal folder"
            )
            raise InputError(msg)
        try:
            state = json.loads((internal / STATE).read_text(encoding="utf-8"))
            if state["certificate"] != own_hash:
                msg = f"{folder} cannot be continued: internal/ belongs to another release than release/"
                raise InputError(msg)
            names = [EVENTS, *([PERSONS] if PERSONS in certificate.columns else [])]
            trees = pl.read_parquet(internal / state_file(TREES)).partition_by(
                "column", as_dict=True, include_key=False
            )
            return cls(
                part=certificate.series.part,
                tables={name: pl.read_parquet(internal / state_file(name)) for name in names},
                keys=pl.read_parquet(internal / state_file(KEYS))["key"],
                hierarchies={str(column): tree for (column,), tree in trees.items()},
                pseudonyms=pl.read_parquet(internal / PSEUDONYMS),
                depths=state["depths"],
                history=tuple(state["history"]),
                certificate=certificate,
                certificate_sha256=own_hash,
                path=str(folder),
            )
        except (OSError, KeyError, ValueError, pl.exceptions.PolarsError) as error:
            msg = f"{folder} cannot be continued: its internal files are not readable ({error})"
            raise InputError(msg) from None

    def write(self, folder: Path, certificate_sha256: str) -> None:
        """Write the internal files that the next part needs, `pseudonyms.parquet` among them."""
        state = {
            "certificate": certificate_sha256,
            "depths": dict(self.depths),
            "history": [dict(row) for row in self.history],
        }
        (folder / STATE).write_text(json.dumps(state, indent=1) + "\n", encoding="utf-8", newline="\n")
        for name, frame in self.tables.items():
            frame.write_parquet(folder / state_file(name))
        self.keys.alias("key").to_frame().write_parquet(folder / state_file(KEYS))
        trees = [
            tree.select(pl.lit(column).alias("column"), "node", "parent", "leaves")
            for column, tree in self.hierarchies.items()
        ]
        pl.concat(trees).write_parquet(folder / state_file(TREES))
        self.pseudonyms.write_parquet(folder / PSEUDONYMS)

    def extended(
        self,
        release: Release,
        tables: Mapping[str, pl.DataFrame],
        keys: pl.Series,
        row: Mapping[str, Any],
    ) -> Series:
        """Return the series with one more part.

        `tables` are the accumulated ones, `keys` those of the events of the part, `row` is about it.
        """
        events = pl.concat([self.tables[EVENTS][PERSON], release.tables[EVENTS][PERSON]])
        grouping = group_persons(events)
        together = pl.concat([self.keys.alias("key"), keys.alias("key")])
        return replace(
            self,
            part=self.part + 1,
            tables=tables,
            keys=together if grouping.order is None else together.gather(grouping.order),
            hierarchies=join_hierarchies([self.hierarchies, release.hierarchies]),
            pseudonyms=pl.concat([self.pseudonyms, release.pseudonyms]).unique(
                "pseudonym", maintain_order=True
            ),
            history=(*self.history, row),
            certificate=None,
            certificate_sha256="",
            before=self,
        )

    def with_fresh_loss(self, loss: float) -> Series:
        """Note what a fresh series would lose instead of the last part."""
        row = {**self.history[-1], "fresh_loss": round(loss, 4)}
        return replace(self, history=(*self.history[:-1], row))

    @classmethod
    def begun(
        cls, release: Release, keys: pl.Series, row: Mapping[str, Any], depths: Mapping[str, int]
    ) -> Series:
        """Return a series that has one part."""
        return cls(
            part=1,
            tables=release.tables,
            keys=keys,
            hierarchies=release.hierarchies,
            pseudonyms=release.pseudonyms,
            depths=depths,
            history=(row,),
        )


def check_series_table(table: EventTable) -> None:
    """Refuse a table that no series can have: without an order, or with a column that counts events.

    Raises
    ------
    SchemaError
        With the reason.
    """
    event_keys(table.frame, table.times, table.schema.order)
    for name, kind in table.schema.derive.items():
        if kind == "event_count":
            msg = f"column {quoted(name)} counts events, and a series has more of them in every part"
            raise SchemaError(msg)


def event_keys(frame: pl.DataFrame, times: pl.Series | None, order: str | None) -> pl.Series:
    """Return the time or order of each event as text that is the same in every part.

    Raises
    ------
    SchemaError
        If there is neither.
    """
    if times is not None:
        return times.dt.strftime("%Y-%m-%dT%H:%M:%S%.6f")
    if order is None:
        msg = "a series needs an order or a time: without one, nobody can tell which events are new"
        raise SchemaError(msg)
    return frame[order].cast(pl.String)
