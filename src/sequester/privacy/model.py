"""What every privacy model offers, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, runtime_checkable

from sequester._repr import Card
from sequester._validation import at_least, lists_of_text, share
from sequester.data.schema import texts
from sequester.data.table import EventTable
from sequester.errors import InputError
from sequester.hierarchies.labels import in_label_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from sequester.data.table import SequenceData
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


def all_digits(number: float | Decimal) -> str:
    """Write a number for people, with all its digits: a rounded one could promise more than is checked.

    Examples
    --------
    >>> all_digits(5.0), all_digits(0.1234567), all_digits(1e-05)
    ('5', '0.1234567', '0.00001')
    """
    return f"{Decimal(str(number)).normalize():f}"


def in_percent(c: float | str) -> str:
    """Write a share for people, with all its digits.

    Examples
    --------
    >>> in_percent(0.5), in_percent(0.3333334), in_percent("1/3")
    ('50%', '33.33334%', '1/3')
    """
    if isinstance(c, str):
        return c
    return f"{all_digits(100 * Decimal(str(float(c))))}%"


N_WITNESSES = 5
"""How many witnesses a verdict shows."""
NO_BOUND = "; inference of protected values is not bounded (c = 1)"
"""What a promise says where every share of a protected value is allowed."""
K_MEANING = "fewest matching persons"
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
        """Return the promise with what it takes from the table, such as protected values."""
        ...

    def check(
        self, released: SequenceData, *, original: SequenceData | None = None, engine: Engine | None = None
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
        """Return the parameters that a recipient may see and needs for a check of their own."""
        ...

    def in_words(self) -> str:
        """Return the promise in a sentence for people."""
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
        """Return the promise about this sensitive attribute, where there is no table to take it from."""
        ...

    def check_tables(self, tables: Mapping[str, pl.DataFrame]) -> Verdict:
        """Count in the released tables, by file name without ending, and say whether the promise is kept."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KCModel:
    """Whatever is known matches at least `k` persons, and a share of at most `c` of them is at risk.

    What may be known is up to the model; this holds the parameters that a certificate carries, checked,
    and what is taken from the table that the model is about.
    """

    layouts: ClassVar[tuple[Layout, ...]] = (HISTORIES, WITH_PERSONS)
    needs_original: ClassVar[bool] = False
    """The released files alone show whether the promise is kept."""
    needs_hierarchies: ClassVar[bool] = False
    level_meanings: ClassVar[Mapping[str, str]] = {
        "k": K_MEANING,
        "c": "largest share of them who show a protected value, as the promise counts it",
    }
    attacks: ClassVar[str] = "minimality"

    k: int
    """Persons who match whatever is known."""
    c: float | str
    """Largest share of them at risk; a number, or a fraction such as ``"1/3"``."""
    protect: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Sensitive attribute to its protected values; empty: those of the table that is checked."""
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Sensitive attribute to its source columns, where it is not one column of its name."""
    persons: Sequence[str] = ()
    """Quasi-identifiers of persons: they are known as those of an event before all others."""

    def __post_init__(self) -> None:
        # A certificate may hold anything.
        object.__setattr__(self, "k", at_least("k", self.k, 2))
        object.__setattr__(self, "c", share("c", self.c))
        protect = lists_of_text("protect", self.protect)
        object.__setattr__(
            self, "protect", {name: tuple(in_label_order(labels)) for name, labels in protect.items()}
        )
        object.__setattr__(self, "columns", lists_of_text("columns", self.columns))
        object.__setattr__(self, "persons", texts("persons", self.persons))

    def about(self, table: EventTable) -> Self:
        """Return the promise with the protected values, columns and persons' attributes of a table."""
        table = table.histories
        protect = self.protect or {name: tuple(labels) for name, labels in table.protected_nodes.items()}
        named = {
            name: each.columns
            for name, each in table.schema.sensitive.items()
            if name in protect and each.columns != (name,)
        }
        persons = self.persons or tuple(name for name in table.schema.quasi if name in table.of_persons)
        return replace(self, protect=protect, columns={**named, **self.columns}, persons=persons)

    def claim_with(self, **parameters: object) -> dict[str, object]:
        """Return the parameters a recipient needs to check the promise, those of the model among them."""
        claim = {"k": self.k, "c": self.c, **parameters, "protect": dict(self.protect)}
        claim |= {"columns": dict(self.columns)} if self.columns else {}
        return claim | ({"persons": list(self.persons)} if self.persons else {})

    @property
    def persons_words(self) -> str:
        """What the promise says of persons' attributes, in a sentence; empty where there are none."""
        if not self.persons:
            return ""
        *most, last = self.persons
        names = f"{', '.join(most)} and {last}" if most else last
        return f" A person's {names} count as values of an event before all others."


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """Items of events, in order, that leave few persons, or many of them with one protected value.

    Examples
    --------
    >>> known = ((("AdmYr", "2007"),), (("AdmYr", "2011"), ("LOS", "[0:4)")))
    >>> print(Channel(events=known, persons=1))
    AdmYr = 2007 → AdmYr = 2011, LOS = [0:4): 1 person
    >>> print(Channel(events=known, persons=2, value=("Disease", "HIV"), with_value=2))
    AdmYr = 2007 → AdmYr = 2011, LOS = [0:4): Disease = HIV for 2 of 2 persons
    >>> print(Channel(events=(), persons=3, value=("Disease", "HIV"), with_value=2))
    nothing known: Disease = HIV for 2 of 3 persons
    """

    events: tuple[tuple[tuple[str, str], ...], ...]
    """The items of each event, in order: quasi-identifier and label; no event where nothing is known."""
    persons: int
    """Persons who match them."""
    value: tuple[str, str] | None = None
    """Attribute and protected value that too many of them have; None where they are too few."""
    with_value: int = 0
    """Persons among them who have it."""

    @property
    def length(self) -> int:
        """Number of items."""
        return sum(map(len, self.events))

    def __str__(self) -> str:
        events = (", ".join(f"{name} = {label}" for name, label in event) for event in self.events)
        known = " → ".join(events) or "nothing known"
        persons = f"{self.persons:,} {'person' if self.persons == 1 else 'persons'}"
        if self.value is None:
            return f"{known}: {persons}"
        name, label = self.value
        return f"{known}: {name} = {label} for {self.with_value:,} of {persons}"


def with_quasi_identifiers(released: SequenceData, model: str) -> EventTable:
    """Return the histories of a table with a schema and quasi-identifiers; refuse any other."""
    if not isinstance(released, EventTable):
        msg = f"{model} is about quasi-identifiers with hierarchies: it needs a table with a schema"
        raise InputError(msg)
    if released.schema.symbol is not None:
        msg = f"{model} is about quasi-identifiers, and the table has a symbol instead"
        raise InputError(msg)
    return released.histories
