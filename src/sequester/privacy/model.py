"""What every privacy model offers, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from sequester._repr import Card

if TYPE_CHECKING:
    import polars as pl

    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.engine import Engine


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a model holds, the best level the data reaches, and who breaks it.

    Examples
    --------
    >>> verdict = Verdict(holds=False, achieved={"k": 1}, witnesses=(("a", "b"),), violations=1)
    >>> verdict
    Verdict(holds=False, achieved={'k': 1}, witnesses=(('a', 'b'),))
    >>> bool(verdict)
    False
    """

    holds: bool
    """The model is satisfied."""
    achieved: Mapping[str, float]
    """Parameter to the best value that holds."""
    witnesses: tuple[object, ...] = ()
    """What breaks the promise, in labels, shortest first; a few of them."""
    violations: int = field(default=0, repr=False)
    """How many break the promise, witnesses included."""

    def __bool__(self) -> bool:
        return self.holds

    def _repr_html_(self) -> str:
        more = self.violations - len(self.witnesses)
        return Card(
            title=f"The promise {'holds' if self.holds else 'does not hold'}",
            good=self.holds,
            facts=tuple((name, f"{value:.4g}") for name, value in self.achieved.items()),
            remarks=(
                *(f"broken by {spelled(witness)}" for witness in self.witnesses),
                *((f"and {more:,} more",) if more > 0 else ()),
            ),
        ).html()


def spelled(witness: object) -> str:
    """Write what breaks a promise in one line.

    Examples
    --------
    >>> spelled(("news", "sports")), spelled("events.csv is missing")
    ('news → sports', 'events.csv is missing')
    """
    return " → ".join(map(str, witness)) if isinstance(witness, tuple | list) else str(witness)


def in_percent(c: float | str) -> str:
    """Write a share for people, with all its digits: a rounded one could promise more than is checked.

    Examples
    --------
    >>> in_percent(0.5), in_percent(0.3333334), in_percent("1/3")
    ('50 %', '33.33334 %', '1/3')
    """
    if isinstance(c, str):
        return c
    percent = (100 * Decimal(repr(float(c)))).normalize()
    return f"{percent:f} %"


K_MEANING = "at least so many persons match"
"""What k counts in promises about persons."""
Layout = Mapping[str, str]
"""Table to the roles of its columns, as a regular expression; technical columns stand there by name."""
ONE_SYMBOL: Layout = {"events": "person order (symbol|region)"}
"""Histories of one symbol per event."""
HISTORIES: Layout = {
    "events": r"person order( quasi(\+sensitive|\+region)?)*( sensitive)*( keep)*",
}
"""Histories of several attributes."""
WITH_PERSONS: Layout = {**HISTORIES, "persons": r"person( quasi(\+sensitive)?)*( sensitive)*( keep)*"}
"""The same beside attributes of persons."""
RECORD_QUASI = r"( quasi(\+region)?)*"
"""The quasi-identifiers of records without persons."""


class PrivacyModel(Protocol):
    """A promise with its parameters. Implementations are frozen dataclasses; their fields are the claim."""

    layouts: ClassVar[tuple[Layout, ...]]
    """What the files of a release with this promise may be."""
    needs_hierarchies: ClassVar[bool]
    """Released symbols are nodes of a hierarchy, which is released, too."""
    level_meanings: ClassVar[Mapping[str, str]]
    """What each level that `Verdict.achieved` may have counts, in words for the reports."""
    attacks: ClassVar[str]
    """The attacks on this kind of promise alone, by their name in `sequester.attacks.attack`.

    Empty where there are none.
    """

    @property
    def needs_original(self) -> bool:
        """The released files alone cannot show that the promise is kept."""
        ...

    def about(self, table: EventTable) -> PrivacyModel:
        """The promise with what it takes from the table that is protected, such as protected values."""
        ...

    def check(
        self,
        released: EventTable | Sequences,
        *,
        original: EventTable | Sequences | None = None,
        engine: Engine | None = None,
    ) -> Verdict:
        """Return whether the promise is kept, counted on the released data.

        Parameters
        ----------
        released
            The released table or sequences.
        original
            What they were made from; needed where `needs_original`.
        engine
            Where to count; threads of this process by default.

        Returns
        -------
        Verdict
            Whether it holds, the best level that holds, and witnesses where it does not.
        """
        ...

    def claim(self) -> dict[str, object]:
        """The parameters that a recipient may see and needs for a check of their own."""
        ...

    def in_words(self) -> str:
        """The promise in a sentence for people."""
        ...


class AdversaryLike(Protocol):
    """What a promise must know about an adversary to bound what they achieve."""

    @property
    def goal(self) -> str:
        """``"linkage"``, ``"inference"`` or ``"presence"``."""
        ...

    @property
    def measure(self) -> str:
        """What of their success is counted."""
        ...

    @property
    def kind(self) -> str:
        """The kind of background knowledge."""
        ...

    @property
    def known(self) -> int:
        """The number of known items, at most."""
        ...

    @property
    def shown(self) -> bool:
        """A suppressed cell matches nothing."""
        ...

    @property
    def narrowed(self) -> bool:
        """Generalized values are narrowed by the columns that they depend on."""
        ...

    @property
    def few(self) -> int:
        """Candidate sets below this size are small."""
        ...


@runtime_checkable
class BoundedModel(PrivacyModel, Protocol):
    """A promise that bounds what adversaries with background knowledge achieve."""

    def bound(self, adversary: AdversaryLike) -> float | None:
        """Return the largest risk that the promise leaves to an adversary; None where it bounds none."""
        ...


def linkage_bound(adversary: AdversaryLike, k: int) -> float | None:
    """Return the bound on linkage where every candidate set is empty or has at least `k` persons."""
    if adversary.measure == "unique":
        return 0.0
    if adversary.measure == "below_k":
        return 0.0 if adversary.few <= k else None
    return 1 / k


@runtime_checkable
class RecordModel(PrivacyModel, Protocol):
    """A promise about records without persons, in one table or in several."""

    def about_attribute(self, sensitive: str) -> RecordModel:
        """The promise with the name of the sensitive attribute, where there is no table to take it from."""
        ...

    def check_tables(self, tables: Mapping[str, pl.DataFrame]) -> Verdict:
        """Count in the released tables, by file name without ending, and say whether the promise is kept."""
        ...
