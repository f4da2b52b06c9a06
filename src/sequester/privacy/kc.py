"""(K,C)-privacy: who cannot be told apart are k persons, and no protected value is likely among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester._validation import exact_fraction, one_of
from sequester.kernels.shares import exceeds_share
from sequester.privacy.model import (
    N_WITNESSES,
    NO_BOUND,
    KCModel,
    Verdict,
    in_percent,
    linkage_bound,
    with_quasi_identifiers,
)

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts
    from sequester.data.table import EventTable, SequenceData
    from sequester.engine import Engine
    from sequester.privacy.model import AdversaryLike

READINGS = ("any", "each")
"""What `reading` may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EquivalenceClass:
    """Persons who show the same quasi-identifiers in the same events.

    Examples
    --------
    >>> events = ((("AdmYr", "2007"), ("LOS", "[0:4)")), (("AdmYr", "2011"), ("LOS", "3")))
    >>> print(EquivalenceClass(events=events, persons=1))
    AdmYr = 2007, LOS = [0:4) → AdmYr = 2011, LOS = 3: 1 person
    >>> print(EquivalenceClass(events=events, persons=3, at_risk=2))
    AdmYr = 2007, LOS = [0:4) → AdmYr = 2011, LOS = 3: a protected value for 2 of 3 persons
    >>> print(EquivalenceClass(events=events, persons=2, at_risk=2, value=("Disease", "HIV")))
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


@dataclass(frozen=True, slots=True, kw_only=True)
class KCPrivacy(KCModel):
    """Persons whose quasi-identifiers look alike are at least `k`, and at most `c` of them are at risk.

    A class is everybody who shows the same quasi-identifiers in the same events: equally many, one like the
    other, in the same order. Whatever is known about quasi-identifiers matches whole classes, so that the
    promise holds for everybody, whatever they know of them. Every class has at least `k` persons. With
    ``reading="any"`` a share of at most `c` of them has any protected value, in whatever event; with
    ``"each"`` every single protected value has a share of at most `c`.

    A person's attributes are an event before all others that holds only these values: a class agrees in them,
    too, and a protected value among them puts its person at risk.

    In a quasi-identifier that is sensitive, too, a protected value is seen as any other cell is: a class that
    shows it, or a node with nothing but protected leaves below it, is at risk as a whole. So classes show
    coarser nodes instead, and whatever is known of these fits whole classes.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> frame = pl.DataFrame(
    ...     {
    ...         "person": ["a", "a", "b", "b", "c", "c"],
    ...         "order": [1, 2, 1, 2, 1, 2],
    ...         "stay": ["short", "long", "short", "long", "long", "short"],
    ...         "ill": ["flu", "HIV", "flu", "flu", "flu", "flu"],
    ...     }
    ... )
    >>> roles = {"quasi": {"stay": Hierarchy.flat()}, "sensitive": {"ill": ["HIV"]}}
    >>> table = EventTable(frame, Schema(person="person", order="order", **roles))
    >>> verdict = KCPrivacy(k=2, c=0.5).check(table)
    >>> verdict.holds, verdict.achieved
    (False, {'k': 1, 'c': 0.5})
    >>> print(verdict.witnesses[0])
    stay = long → stay = short: 1 person

    References
    ----------
    Sehatkar (2014), Definition 5.1. The text counts persons with at least one protected value (section
    5.4.2), the definition speaks of any one: both readings can be asked for, and "any" implies "each".
    """

    reading: str = "any"
    """``"any"``: persons with at least one protected value count. ``"each"``: every value by itself."""

    def __post_init__(self) -> None:
        KCModel.__post_init__(self)
        one_of("reading", self.reading, READINGS)

    def bound(self, adversary: AdversaryLike) -> float | None:
        """Return the largest risk that the promise leaves to an adversary; None where it bounds none."""
        # Knowledge of quasi-identifiers fits whole classes, each of k persons and a share of at most c; what
        # follows from them is the same throughout a class. Sensitive and kept values split classes.
        if adversary.kind in ("sensitive", "protected", "kept", "released"):
            return None
        if adversary.goal == "linkage":
            return linkage_bound(adversary, self.k)
        if adversary.measure == "confidence" or (adversary.measure == "at_risk" and self.reading == "any"):
            return float(exact_fraction("c", self.c))
        return None

    def check(
        self, released: SequenceData, *, original: SequenceData | None = None, engine: Engine | None = None
    ) -> Verdict:
        """Count the persons of every class, and those at risk; the original is not looked at.

        ``achieved["k"]`` is the size of the smallest class, ``achieved["c"]`` the largest share at risk in
        any. `violations` counts the classes that break the promise; the witnesses are the first five of
        them, those with the fewest events first, then in label order. A table without persons reaches what
        is asked for.

        Parameters
        ----------
        released
            The released table or sequences.
        original
            Not looked at.
        engine
            Not used: everything is counted in one pass.

        Returns
        -------
        Verdict
            Whether the promise holds, the best level that holds, and witnesses where it does not.
        """
        del original, engine
        table = with_quasi_identifiers(released, "KCPrivacy")
        if not table.n_persons:
            return Verdict(holds=True, achieved={"k": self.k, "c": 0.0})
        model = self.about(table)
        class_of_person, first_persons = _classes(table)
        sizes = np.bincount(class_of_person).astype(np.int64)
        names, at_risk = _at_risk(table, model, class_of_person, len(sizes))
        limit = float(exact_fraction("c", self.c))
        too_many = exceeds_share(at_risk, limit, sizes).any(axis=0)
        broken = np.flatnonzero((sizes < self.k) | too_many)
        shown = [
            _describe(table, int(first_persons[each]), int(sizes[each]), names, at_risk[:, each], k=self.k)
            for each in _shown(table, first_persons, broken)
        ]
        return Verdict(
            holds=not len(broken),
            achieved={"k": int(sizes.min()), "c": float((at_risk / sizes).max(initial=0.0))},
            witnesses=tuple(shown),
            violations=len(broken),
        )

    def claim(self) -> dict[str, object]:
        """Return the parameters a recipient needs to check the promise."""
        return self.claim_with(reading=self.reading)

    def in_words(self) -> str:
        """Return the promise in a sentence for people."""
        words = (
            "An adversary who knows anything about a person's quasi-identifiers, even all of them in all "
            f"events, matches at least {self.k:,} persons in the release who are alike in all of them, or "
            "none"
        )
        if not any(self.protect.values()):
            return f"{words}.{self.persons_words}"
        share = in_percent(self.c)
        if exact_fraction("c", self.c) == 1:
            words += f"{NO_BOUND}."
        elif self.reading == "any":
            words += f"; and at most {share} of those who are alike show one or more protected values."
        else:
            words += f"; and no protected value is shown for more than {share} of those who are alike."
        return f"{words}{self.persons_words}"


def _cells(table: EventTable) -> Codes:
    """Return the codes of all quasi-identifiers, event by event."""
    columns = [table.sequences.columns[name] for name in table.schema.quasi]
    return np.stack(columns, axis=1).reshape(-1) if columns else np.empty(0, np.int32)


def _classes(table: EventTable) -> tuple[Codes, Counts]:
    """Number the classes: the class of each person, and the first person of each class."""
    n_quasi = len(table.schema.quasi)
    if not n_quasi:
        # Without quasi-identifiers the number of events is all there is to see.
        cells, offsets = np.zeros(table.n_events, np.int32), table.person_offsets
    else:
        cells, offsets = _cells(table), table.person_offsets * n_quasi
    class_of_person, first_persons = kernels.rows.fold_rows(cells, offsets)
    return class_of_person, first_persons


def _at_risk(
    table: EventTable, model: KCPrivacy, class_of_person: Codes, n_classes: int
) -> tuple[list[tuple[str, str] | None], Counts]:
    """Count in each class the persons at risk: one row for any value, or one row for each."""
    values = [(attribute, value) for attribute, labels in model.protect.items() for value in labels]
    codes, offsets = table.sequences.values_of_persons(values, model.columns)
    if model.reading == "any":
        at_risk = np.bincount(class_of_person, np.diff(offsets) > 0, minlength=n_classes)
        return [None], at_risk.astype(np.int64).reshape(1, -1)
    classes = np.repeat(class_of_person.astype(np.int64), np.diff(offsets))
    at_risk = np.bincount(codes.astype(np.int64) * n_classes + classes, minlength=len(values) * n_classes)
    at_risk = at_risk.reshape(-1, n_classes).astype(np.int64)
    occurs = np.flatnonzero(at_risk.any(axis=1))
    return [values[each] for each in occurs.tolist()], at_risk[occurs]


def _shown(table: EventTable, first_persons: Counts, broken: Counts) -> list[int]:
    """Choose the classes that are shown: fewest events first, then in label order of their cells."""
    cells = _cells(table)
    n_quasi = len(table.schema.quasi)
    offsets = table.person_offsets

    def key(each: int) -> tuple[int, list[int]]:
        person = first_persons[each]
        low, high = int(offsets[person]), int(offsets[person + 1])
        return high - low, cells[low * n_quasi : high * n_quasi].tolist()

    lengths = np.diff(offsets)[first_persons[broken]]
    if len(broken) > N_WITNESSES:
        # Only those that can be among the first are compared by their labels.
        longest = np.partition(lengths, N_WITNESSES - 1)[N_WITNESSES - 1]
        broken = broken[lengths <= longest]
    return sorted(broken.tolist(), key=key)[:N_WITNESSES]


def _describe(
    table: EventTable,
    person: int,
    size: int,
    names: list[tuple[str, str] | None],
    at_risk: Counts,
    *,
    k: int,
) -> EquivalenceClass:
    """Describe a class by one of its persons; too few of them are worse than too many at risk."""
    sequences, quasi = table.sequences, table.schema.quasi
    low, high = table.person_offsets[person], table.person_offsets[person + 1]
    events = tuple(
        tuple(
            (name, sequences.codebooks[name].labels[code])
            for name in quasi
            if (code := int(sequences.columns[name][event])) >= 0
        )
        for event in range(low, high)
    )
    if size < k:
        return EquivalenceClass(events=events, persons=size)
    worst = int(np.argmax(at_risk))
    return EquivalenceClass(events=events, persons=size, at_risk=int(at_risk[worst]), value=names[worst])
