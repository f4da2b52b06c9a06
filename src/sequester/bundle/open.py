"""Open a release as a recipient: the table, what its values mean, and what is promised."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from sequester.bundle.expected import by_node, plain_counts, weights
from sequester.bundle.glance import glance
from sequester.errors import InputError, ParameterError
from sequester.release.release import PERSON
from sequester.verify.contents import read_contents
from sequester.verify.files import check_files, read_certificate

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from sequester.release.certificate import Certificate


@dataclass(frozen=True, slots=True, repr=False)
class Opened:
    """A release that came from somebody else; its files are those that the certificate lists.

    Examples
    --------
    >>> import tempfile, warnings
    >>> from sequester.bundle.write import write
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.methods import GloGen
    >>> frame = pl.DataFrame(
    ...     {"who": list("abcdef"), "n": [1] * 6, "days": ["1", "2", "2", "3", "8", "9"], "ill": ["flu"] * 6}
    ... )
    >>> quasi = {"days": Hierarchy.intervals([5, 10])}
    >>> schema = Schema(person="who", order="n", quasi=quasi, sensitive={"ill": ["HIV"]})
    >>> with warnings.catch_warnings(action="ignore"):
    ...     release = GloGen(k=2, c=0.5, p=1).apply(EventTable(frame, schema))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     opened = open_release(write(release, folder))
    >>> opened.expected_counts("days").rows()
    [('*', 10, 0, 6.0), ('[0:9]', 10, 0, 6.0), ('[0:4]', 5, 4, 4.0), ('[5:9]', 5, 2, 2.0)]
    >>> opened.expected_count(days="2")  # four events in [0:4], which covers five values
    0.8
    """

    frame: pl.DataFrame
    """One row per event: ``person``, ``order``, then the attributes; or one per record, from ``time`` on."""
    hierarchies: Mapping[str, pl.DataFrame]
    """Per attribute that has one: ``node``, ``parent`` (empty at the root) and ``leaves``."""
    certificate: Certificate
    """What is promised, how it was checked, and what is not promised."""
    tables: Mapping[str, pl.DataFrame]
    """Every table by its name, the main one first."""

    def expected_count(
        self,
        values: Mapping[str, str] | None = None,
        /,
        *,
        persons: bool = False,
        under: Mapping[str, str] | None = None,
        **more: str,
    ) -> float:
        """Estimate how many events, or persons with such an event, had these values.

        A generalized value is each of the values that it covers with the same chance, and cells are
        independent of each other: the estimate adds up the chances of all rows. It is exact where nothing
        was generalized.

        Parameters
        ----------
        values
            Column to value; as keywords too. A value may be a released one, one above it, or one below.
        persons
            Count persons with at least one such event instead of events.
        under
            Column to the finest released value that covers a value below it. Not needed where labels tell:
            ranges, masked codes, parts of dates.

        Raises
        ------
        ParameterError
            Where there is no such column, or where it cannot be told what covers a value.
        """
        wanted = {**(values or {}), **more}
        if not wanted:
            msg = "expected_count needs a column and its value, such as expected_count(ZIP='56001')"
            raise ParameterError(msg)
        chance = weights(
            self.tables, self.hierarchies, {name: str(value) for name, value in wanted.items()}, under or {}
        )
        if not persons:
            return float(chance.sum())
        if PERSON not in self.frame.columns:
            msg = "persons cannot be counted in a release of records without persons"
            raise ParameterError(msg)
        none = pl.DataFrame({PERSON: self.frame[PERSON], "none": 1 - chance})
        return float((1 - none.group_by(PERSON).agg(pl.col("none").product())["none"]).sum())

    def expected_counts(self, column: str) -> pl.DataFrame:
        """List the values of a column: how many events show them, and how many are expected to have had them.

        ``value``, ``leaves`` (values of the source that it covers), ``shown`` and ``expected``, which takes
        in the coarser values above by their share, and all values below.
        """
        if column not in self.frame.columns:
            msg = f"column {column!r} is not in the release"
            raise ParameterError(msg)
        tree = self.hierarchies.get(column)
        return plain_counts(self.frame[column]) if tree is None else by_node(self.frame[column], tree)

    def __repr__(self) -> str:
        return str(glance(self))

    def _repr_html_(self) -> str:
        return glance(self).html()


def open_release(path: str | os.PathLike[str]) -> Opened:
    """Read a release folder; files that are not as certified are refused.

    The claim itself is checked by `sequester.verify`, which takes longer.
    """
    folder = Path(path)
    certificate, _ = read_certificate(folder)
    findings = check_files(folder, certificate.files)
    if findings:
        raise InputError(*findings)
    contents, findings = read_contents(folder, certificate)
    if contents is None:
        raise InputError(*findings)
    return Opened(contents.frame, contents.hierarchies, certificate, contents.tables)
