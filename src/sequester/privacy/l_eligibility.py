"""l-eligibility: in no snapshot is a sensitive value more frequent than one in l."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from sequester.errors import InputError
from sequester.privacy.model import RECORD_QUASI
from sequester.privacy.snapshots import (
    COUNT,
    L_MEANING,
    TIME,
    VALUE,
    check_counts,
    exact_level,
    one_in,
    plain_level,
    records_of,
    sole_attribute,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.engine import Engine
    from sequester.privacy.model import Layout, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class LEligibility:
    """In every published snapshot no sensitive value has more than 1/`l` of the records.

    A snapshot without records is eligible. That a snapshot has at most one record of each person is what the
    method sees to; records carry no person, so nobody can check it in a release.

    Examples
    --------
    >>> frame = pl.DataFrame({"time": ["1", "1", "1", "2"], "ill": ["flu", "cold", "flu", "flu"]})
    >>> verdict = LEligibility(l=2).check_tables({"events": frame})
    >>> verdict.holds, verdict.achieved, verdict.violations
    (False, {'l': 1.0}, 2)
    >>> print(verdict.witnesses[0])
    1: ill = flu in 2 of 3 records

    References
    ----------
    Wang, Xu, Wong, Fu (2010), Definition 1.
    """

    layouts: ClassVar[tuple[Layout, ...]] = ({"events": f"{TIME}{RECORD_QUASI} sensitive"},)
    needs_hierarchies: ClassVar[bool] = False
    level_meanings: ClassVar[Mapping[str, str]] = {"l": L_MEANING}
    attacks: ClassVar[str] = "snapshots"
    has_groups: ClassVar[bool] = False
    """Records are published in groups."""

    l: int | float | str  # noqa: E741  (the paper's letter)
    """How many times more frequent a snapshot is than any sensitive value in it, at least."""
    sensitive: str = ""
    """The sensitive attribute; empty: the only one of the table that is checked."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "l", plain_level(exact_level(self.l)))

    @property
    def needs_original(self) -> bool:
        """The released files alone show whether the promise is kept."""
        return False

    def about(self, table: EventTable) -> LEligibility:
        """Return the promise with the name of the table's sensitive attribute."""
        return replace(self, sensitive=self.sensitive or sole_attribute(table, "LEligibility"))

    def about_attribute(self, sensitive: str) -> LEligibility:
        """Return the promise about this sensitive attribute."""
        return replace(self, sensitive=sensitive)

    def check(
        self,
        released: EventTable | Sequences,
        *,
        original: EventTable | Sequences | None = None,
        engine: Engine | None = None,
    ) -> Verdict:
        """Count the values of every snapshot of a table; the original is not looked at."""
        del original, engine
        records, attribute = records_of(released, model="LEligibility", sensitive=self.sensitive)
        return self._check_records(records, attribute)

    def check_tables(self, tables: Mapping[str, pl.DataFrame]) -> Verdict:
        """Count the values of every snapshot of the released records."""
        if len(tables) != 1:
            msg = f"LEligibility is about one table of records, there are {len(tables)}"
            raise InputError(msg)
        (frame,) = tables.values()
        attribute = self.sensitive or frame.columns[-1]
        missing = [column for column in (TIME, attribute) if column not in frame.columns]
        if missing:
            msg = f"LEligibility needs a column {missing[0]!r}, and the released table has none"
            raise InputError(msg)
        return self._check_records(frame, attribute)

    def _check_records(self, records: pl.DataFrame, attribute: str) -> Verdict:
        # Series by series: the attribute may have any name.
        plain = pl.DataFrame({TIME: records[TIME], VALUE: records[attribute]})
        counts = plain.group_by(TIME, VALUE, maintain_order=True).agg(pl.len().cast(pl.Int64).alias(COUNT))
        return check_counts(counts, [TIME], level=exact_level(self.l), attribute=attribute)

    def claim(self) -> dict[str, object]:
        """Return the parameters a recipient needs to check the promise."""
        return {"l": self.l, "sensitive": self.sensitive}

    def in_words(self) -> str:
        """Return the promise in a sentence."""
        return (
            f"In every published snapshot, no value of {self.sensitive or 'the sensitive attribute'} "
            f"belongs to more than {one_in(self.l)} of the records."
        )
