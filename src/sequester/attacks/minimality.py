"""Minimality attacks: an adversary who knows that the method changes no more than it must.

On promises of a confidence, they rule out originals that give another release; on sequence k-anonymity,
records that merely contain the sequence that they know.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import permutations, product
from math import factorial, prod
from typing import TYPE_CHECKING

import numpy as np

from sequester.attacks.domain import value_names, values_of
from sequester.attacks.risk import NOTHING, Proportion, Risk, exact, largest_of, mean_of
from sequester.datasets.draws import generator
from sequester.errors import SequesterError
from sequester.mining.support import supports_of_codes
from sequester.ragged import gather_rows, owners_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    import numpy.typing as npt

    from sequester._typing import Counts, Mask
    from sequester.attacks.context import Case, Replay
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.privacy.model import KCModel
    from sequester.privacy.sequence_k import SequenceKAnonymity

    Chances = npt.NDArray[np.float64]
    Record = tuple[tuple[str, ...], ...]


MOST_PERSONS = 60
"""Persons of the small world that is thought through, or four times k where that is more."""
CLASSES = 4
"""How many equivalence classes of k persons a small world has room for."""
LARGEST_WORLD = 400
"""Where k needs a larger world than this, nobody thinks it through."""
MOST_COLUMNS = 12
"""Quasi-identifiers; with more of them a method takes minutes to run it many times."""
MOST_WORLDS = 50
"""Permutations of sensitive values that are tried; all of them where there are no more."""


@dataclass(frozen=True, slots=True)
class PossibleWorlds:
    """Persons whose sensitive values could be permuted, and what an adversary believes of them."""

    has: Mask
    """Cell ``[i, v]``: person ``i`` has the protected value ``v``."""
    is_open: Mask
    """Persons who could have the values of another person who looks the same in the release."""
    shown: Chances
    """Cell ``[i, v]``: share of those who look the same that has it: all that the release itself tells."""
    believed: Chances
    """Cell ``[i, v]``: share of the worlds in which the person has it, among those that fit the release."""
    n_tried: int
    """Worlds that were tried."""
    n_fit: int
    """Those of them from which the method makes the same release."""
    is_all: bool
    """Every permutation of the values was tried."""

    @classmethod
    def of(cls, table: EventTable, replay: Replay, *, seed: str, progress: Progress) -> PossibleWorlds:
        """Permute sensitive values among persons who look the same, and replay the method."""
        made = replay(table).sequences
        classes = _classes(made, tuple(table.schema.quasi))
        # Whose events are not all released keeps what they have: which values would go where is not told.
        lengths = np.diff(table.person_offsets)
        is_whole = (np.diff(made.person_offsets) == lengths) & (classes >= 0)
        members = [np.flatnonzero((classes == each) & is_whole) for each in np.unique(classes[is_whole])]
        has = _has(table)
        is_open = np.zeros(table.n_persons, np.bool_)
        shown = has.astype(np.float64)
        for group in members:
            is_open[group] = True
            shown[group] = has[group].mean(axis=0)
        wanted = _records(made, table)
        columns = _permuted_columns(table)
        codes = np.array([table.sequences.columns[name] for name in columns], np.int32)
        codes = codes.reshape(len(columns), table.n_events)
        # Worlds with the same values at every event are one table, and the method is run once for it.
        fits = {codes.tobytes(): True}
        is_all = prod(factorial(len(group)) for group in members) <= MOST_WORLDS
        believed = np.zeros(has.shape)
        n_tried = n_fit = 0
        for sources in _permutations(members, table.n_persons, is_all=is_all, seed=seed):
            progress(n_tried / MOST_WORLDS, "attacking (minimality)")
            n_tried += 1
            events = _events_of(table, sources)
            world = codes[:, events].tobytes()
            if world not in fits:
                fits[world] = _fits(table, events, replay, wanted)
            if fits[world]:
                n_fit += 1
                believed += has[sources]
        return cls(has, is_open, shown, believed / max(n_fit, 1), n_tried, n_fit, is_all)


def minimality_risks(worlds: PossibleWorlds, *, kind: str) -> list[Risk]:
    """Return what an adversary who knows all quasi-identifiers and the method believes of protected values.

    The release tells which sensitive values are among those who look the same. Of all ways to permute these
    among them, only those remain from which the method makes this release: a method that generalizes no more
    than it must would have done something else with the others. ``minimality`` is the mean belief in a
    protected value of those who have it, ``surest_minimality`` the largest belief in any protected value. The
    control is the same person without the reasoning, who believes the share.

    Examples
    --------
    Two persons look the same, and one of them has the value. In the only world that fits it is the first.

    >>> worlds = PossibleWorlds(
    ...     has=np.array([[True], [False]]),
    ...     is_open=np.array([True, True]),
    ...     shown=np.array([[0.5], [0.5]]),
    ...     believed=np.array([[1.0], [0.0]]),
    ...     n_tried=2,
    ...     n_fit=1,
    ...     is_all=True,
    ... )
    >>> [(risk.value, risk.control.value) for risk in minimality_risks(worlds, kind="everybody")]
    [(1.0, 0.5), (1.0, 0.5)]

    References
    ----------
    Wong, Fu, Wang, Pei (2007), Minimality attack in privacy preserving data publishing.
    """
    asked = worlds.has & worlds.is_open[:, None]
    shares = worlds.has.mean(axis=0) if worlds.has.size else np.zeros(worlds.has.shape[1])
    mean = mean_of(worlds.believed[asked], is_all=worlds.is_all) if worlds.n_fit else NOTHING
    surest = largest_of(worlds.believed[worlds.is_open], is_all=worlds.is_all)
    if not worlds.is_all:
        drawn = Proportion.drawn(round(surest.value * worlds.n_fit), worlds.n_fit)
        surest = Proportion(surest.value, (drawn.interval[0], 1.0))
    at_random = np.broadcast_to(shares, worlds.has.shape)[asked]
    return [
        Risk.of(
            release,
            baseline,
            control,
            raw=exact(float(asked.any())),
            name=name,
            kind=kind,
            targets=int(asked.sum()),
            control_of="no reasoning",
        )
        for name, release, baseline, control in (
            (
                "minimality",
                mean,
                float(at_random.mean()) if at_random.size else 0.0,
                mean_of(worlds.shown[asked], is_all=True),
            ),
            (
                "surest_minimality",
                surest,
                float(shares.max(initial=0.0)),
                largest_of(worlds.shown[worlds.is_open].ravel(), is_all=True),
            ),
        )
    ]


def attack_minimality(model: KCModel, case: Case) -> list[Risk]:
    """Run the minimality attack, on a sample of persons where there are many."""
    protects = any(case.original.histories.protected.values())
    if case.replay is None or not protects or case.original.owners is not None:
        return []
    if (n_columns := len(case.original.schema.quasi)) > MOST_COLUMNS and not case.thorough:
        case.warn(
            f"the attack minimality was left out: with {n_columns:,} quasi-identifiers it takes minutes; "
            "--thorough runs it"
        )
        return []
    most = max(MOST_PERSONS, CLASSES * model.k)
    if case.original.n_persons > most > LARGEST_WORLD:
        return []
    table, kind = case.original.histories, "everybody"
    if table.n_persons > most:
        drawn = generator("attack minimality", case.seed).choice(table.n_persons, most, replace=False)
        table, kind = table.take(np.sort(drawn)), "sample"
    try:
        worlds = PossibleWorlds.of(table, case.replay, seed=case.seed, progress=case.progress)
    except SequesterError:
        # So few persons cannot satisfy this promise.
        return []
    return minimality_risks(worlds, kind=kind)


def _events_of(table: EventTable, sources: Counts) -> Counts:
    """Return the event whose values each event has where person ``i`` has those of ``sources[i]``."""
    starts = table.person_offsets[:-1]
    return np.arange(table.n_events) + np.repeat(starts[sources] - starts, np.diff(table.person_offsets))


def _fits(table: EventTable, events: Counts, replay: Replay, wanted: list[Record]) -> bool:
    """Return whether the release stays the same where event ``i`` has the values of ``events[i]``."""
    columns = {name: table.frame[name].gather(events) for name in _permuted_columns(table)}
    try:
        made = replay(table.replace(frame=table.frame.with_columns(**columns))).sequences
    except SequesterError:
        return False
    return _records(made, table) == wanted


def _permutations(members: list[Counts], n_persons: int, *, is_all: bool, seed: str) -> Iterator[Counts]:
    """Yield permutations of the values: for each person whose values they have."""
    rng = generator("attack worlds", seed)
    orders: Iterable[Iterable[Any]] = (
        product(*(permutations(group.tolist()) for group in members))
        if is_all
        else ([rng.permutation(group) for group in members] for _ in range(MOST_WORLDS))
    )
    for order in orders:
        sources = np.arange(n_persons)
        for group, own in zip(members, order, strict=True):
            sources[group] = own
        yield sources


def _permuted_columns(table: EventTable) -> list[str]:
    """List the columns whose values are permuted: sensitive, and not known as quasi-identifiers."""
    return [name for name in table.schema.sensitive_columns if name not in table.schema.quasi]


def _records(sequences: Sequences, table: EventTable) -> list[Record]:
    """Write what is released as a list of histories without names, in label order."""
    names = (*table.schema.quasi, *_permuted_columns(table))
    return sorted(zip(*(sequences.to_rows(name) for name in names), strict=True))


def _classes(sequences: Sequences, quasi: tuple[str, ...]) -> Counts:
    """Number the persons by what is released of their quasi-identifiers; -1 for those who are not."""
    shown = list(zip(*(sequences.to_rows(name) for name in quasi), strict=True))
    numbers = {record: number for number, record in enumerate(sorted(set(shown)))}
    classes = np.array([numbers[record] for record in shown], np.int64)
    classes[np.diff(sequences.person_offsets) == 0] = -1
    return classes


def _has(table: EventTable) -> Mask:
    """Mark the protected values of each person."""
    names = value_names(table)
    values, offsets = values_of(table.sequences, table.schema, names)
    has = np.zeros((table.n_persons, len(names)), np.bool_)
    has[owners_of(offsets), values] = True
    return has


MOST_TARGETS = 1_000
"""Persons whose whole sequence is known, at most."""


@dataclass(frozen=True, slots=True)
class Destinations:
    """How many records a target may be behind, for an adversary who knows their whole sequence."""

    reasoned: Chances
    """Chance to pick a target among the records that are what the method made of this sequence."""
    fitting: Chances
    """Chance among the records that contain the sequence, or among all where none does."""
    raw: Chances
    """Chance among those who have the same sequence in the original."""
    n_released: int
    """Records in the release."""
    is_everybody: bool
    """Everybody is a target."""

    @classmethod
    def of(
        cls,
        released: Sequences,
        original: Sequences,
        *,
        targets: int,
        seed: str,
        engine: Engine | None = None,
    ) -> Destinations:
        """Find what became of targets; both have the same persons in the same order."""
        persons: Counts = np.arange(original.n_persons)
        is_everybody = len(persons) <= min(targets, MOST_TARGETS)
        if not is_everybody:
            rng = generator("attack destinations", seed)
            persons = np.sort(rng.choice(persons, min(targets, MOST_TARGETS), replace=False))
        lengths = np.diff(released.person_offsets)
        after, before = released.distinct(), original.distinct()
        is_out = lengths[persons] > 0
        n_released = int((lengths > 0).sum())
        codes, offsets = gather_rows(original.codes, original.person_offsets, persons.astype(np.int64))
        fitting = supports_of_codes(
            codes, offsets, original.codebook, after, released.codebook, engine=engine
        )
        return cls(
            np.where(is_out, 1 / after.weights[after.row_of_person[persons]], 0.0),
            1 / np.where(fitting > 0, fitting, max(n_released, 1)),
            1 / before.weights[before.row_of_person[persons]],
            n_released,
            is_everybody,
        )


def destination_risks(found: Destinations) -> list[Risk]:
    """Return the chance of an adversary who knows a person's whole sequence, and how the method works.

    A method that changes a sequence only where it must leaves frequent ones alone, and brings others where it
    always brings them. So records that merely contain the sequence are ruled out, and those that became what
    this sequence becomes remain. ``destination`` is the mean chance to pick the target among them,
    ``surest_destination`` the largest. The control is the same person without the reasoning, who takes any
    record that contains the sequence.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> rows = Sequences.from_rows(["a", "ab", "ab"])
    >>> _, surest = destination_risks(Destinations.of(rows, rows, targets=9, seed="any"))
    >>> surest.value, surest.control.value
    (1.0, 0.5)
    """
    risks = []
    for name, estimate in (("destination", mean_of), ("surest_destination", largest_of)):
        release, control, raw = (
            estimate(chances, is_all=found.is_everybody)
            for chances in (found.reasoned, found.fitting, found.raw)
        )
        risks.append(
            Risk.of(
                release,
                1 / max(found.n_released, 1),
                control,
                raw=raw,
                name=name,
                kind="whole_sequence",
                targets=len(found.reasoned),
                control_of="no reasoning",
            )
        )
    return risks


def attack_destinations(model: SequenceKAnonymity, case: Case) -> list[Risk]:
    """Run the attack by whole sequences, where it is known what became of each person."""
    del model
    if case.original.owners is not None:
        return []
    histories = case.histories
    if histories is None and case.replay is not None:
        # It is not known who is who, but what the method makes of everybody.
        with suppress(SequesterError):
            histories = case.replay(case.original).sequences
    if histories is None:
        return []
    case.progress(0.5, "attacking (whole sequences)")
    found = Destinations.of(
        histories, case.original.sequences, targets=case.targets, seed=case.seed, engine=case.engine
    )
    return destination_risks(found)
