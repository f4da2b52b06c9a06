"""What (K,C)-privacy and (K,C)^P-privacy share: their parameters, and what somebody could know."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Self

from sequester._validation import at_least, lists_of_text, share
from sequester.data.schema import texts
from sequester.data.table import EventTable
from sequester.errors import InputError
from sequester.hierarchies.labels import in_label_order
from sequester.privacy.model import HISTORIES, K_MEANING, WITH_PERSONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.data.sequences import Sequences
    from sequester.privacy.model import Layout


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """Whatever is known fits at least `k` persons, and a share of at most `c` of them is at risk.

    What somebody may know is up to the model; this holds the parameters that a certificate carries, checked,
    and what is taken from the table that the model is about.
    """

    layouts: ClassVar[tuple[Layout, ...]] = (HISTORIES, WITH_PERSONS)
    needs_hierarchies: ClassVar[bool] = False
    level_meanings: ClassVar[Mapping[str, str]] = {
        "k": K_MEANING,
        "c": "no larger share of them shows a protected value, as the promise counts it",
    }
    attacks: ClassVar[str] = "minimality"

    k: int
    """Persons whom whatever is known fits."""
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

    @property
    def needs_original(self) -> bool:
        """The released files alone show whether the promise is kept."""
        return False

    def about(self, table: EventTable) -> Self:
        """The promise with what it takes from a table: protected values, columns, and persons' attributes."""
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
        """The parameters a recipient needs to check the promise, those of the model among them."""
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
    """Persons whom they fit."""
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


def with_quasi_identifiers(released: EventTable | Sequences, model: str) -> EventTable:
    """Return the histories of a table with a schema and quasi-identifiers; refuse any other."""
    if not isinstance(released, EventTable):
        msg = f"{model} is about quasi-identifiers with hierarchies: it needs a table with a schema"
        raise InputError(msg)
    if released.schema.symbol is not None:
        msg = f"{model} is about quasi-identifiers, and the table has a symbol instead"
        raise InputError(msg)
    return released.histories
