"""What somebody could know, and what it tells them: too few persons, or a protected value too surely."""

from __future__ import annotations

from dataclasses import dataclass


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
