"""Persons who cannot be told apart: too few of them, or too many of them with something protected."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """A class of persons who show the same quasi-identifiers in the same events.

    Examples
    --------
    >>> events = ((("AdmYr", "2007"), ("LOS", "[0:4)")), (("AdmYr", "2011"), ("LOS", "3")))
    >>> print(Crowd(events=events, persons=1))
    AdmYr = 2007, LOS = [0:4) → AdmYr = 2011, LOS = 3: 1 person
    >>> print(Crowd(events=events, persons=3, at_risk=2))
    AdmYr = 2007, LOS = [0:4) → AdmYr = 2011, LOS = 3: a protected value for 2 of 3 persons
    >>> print(Crowd(events=events, persons=2, at_risk=2, value=("Disease", "HIV")))
    AdmYr = 2007, LOS = [0:4) → AdmYr = 2011, LOS = 3: Disease = HIV for 2 of 2 persons
    """

    events: tuple[tuple[tuple[str, str], ...], ...]
    """The quasi-identifiers of each event, in order, with their labels."""
    persons: int
    """Persons in the class."""
    at_risk: int = 0
    """Those of them with something protected, where they are too many; 0 where the class is too small."""
    value: tuple[str, str] | None = None
    """Attribute and protected value that they have; None where any counts."""

    def __str__(self) -> str:
        shown = " → ".join(", ".join(f"{name} = {label}" for name, label in event) for event in self.events)
        persons = f"{self.persons:,} {'person' if self.persons == 1 else 'persons'}"
        if not self.at_risk:
            return f"{shown}: {persons}"
        what = "a protected value" if self.value is None else f"{self.value[0]} = {self.value[1]}"
        return f"{shown}: {what} for {self.at_risk:,} of {persons}"
