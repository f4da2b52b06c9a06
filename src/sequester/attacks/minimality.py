"""Minimality attack: an adversary who knows the method rules out originals that give another release."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product
from math import factorial, prod
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from sequester._validation import one_of
from sequester.attacks.domain import value_names, values_of
from sequester.attacks.risk import NOTHING, Proportion, Risk, exact, exact_mean, mean_of
from sequester.datasets.draws import generator
from sequester.errors import SequesterError
from sequester.ragged import owners_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from sequester._typing import Counts, Mask
    from sequester.attacks.context import Case, Replay
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.privacy.model import Confidence

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

MinimalityMeasure = Literal["minimality", "surest_minimality"]
"""The mean or the largest belief."""


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


def minimality_risk(worlds: PossibleWorlds, *, kind: str, measure: MinimalityMeasure = "minimality") -> Risk:
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
    >>> risk = minimality_risk(worlds, kind="everybody")
    >>> risk.value, risk.control.value
    (1.0, 0.5)

    References
    ----------
    Wong, Fu, Wang, Pei (2007), Minimality attack in privacy preserving data publishing.
    """
    one_of("measure", measure, get_args(MinimalityMeasure))
    asked = worlds.has & worlds.is_open[:, None]
    shares = worlds.has.mean(axis=0) if worlds.has.size else np.zeros(worlds.has.shape[1])
    if measure == "minimality":
        estimate = exact_mean if worlds.is_all else mean_of
        release = estimate(worlds.believed[asked]) if worlds.n_fit else NOTHING
        control = exact_mean(worlds.shown[asked])
        baseline = float(np.broadcast_to(shares, worlds.has.shape)[asked].mean()) if asked.any() else 0.0
    else:
        largest = float(worlds.believed[worlds.is_open].max(initial=0.0))
        release = exact(largest)
        if not worlds.n_fit:
            release = NOTHING
        elif not worlds.is_all:
            drawn = Proportion.drawn(round(largest * worlds.n_fit), worlds.n_fit)
            release = Proportion(largest, (drawn.interval[0], 1.0))
        control = exact(float(worlds.shown[worlds.is_open].max(initial=0.0)))
        baseline = float(shares.max(initial=0.0))
    return Risk.of(
        release,
        baseline,
        control,
        raw=exact(float(asked.any())),
        name=measure,
        kind=kind,
        targets=int(asked.sum()),
        control_of="no reasoning",
    )


def attack_minimality(model: Confidence, case: Case) -> list[Risk]:
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
        rng = generator("attack minimality", case.seed)
        is_drawn = np.zeros(table.n_persons, np.bool_)
        is_drawn[rng.choice(table.n_persons, most, replace=False)] = True
        table = table.take(is_drawn)
        kind = "sample"
    case.progress(0.0, "attacking (minimality)")
    try:
        worlds = PossibleWorlds.of(table, case.replay, seed=case.seed, progress=case.progress)
    except SequesterError:
        # So few persons cannot satisfy this promise.
        return []
    case.progress(1.0, "attacked")
    return [minimality_risk(worlds, kind=kind, measure=measure) for measure in get_args(MinimalityMeasure)]


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
    if is_all:
        for orders in product(*(permutations(group.tolist()) for group in members)):
            sources = np.arange(n_persons)
            for group, order in zip(members, orders, strict=True):
                sources[group] = order
            yield sources
        return
    rng = generator("attack worlds", seed)
    for _ in range(MOST_WORLDS):
        sources = np.arange(n_persons)
        for group in members:
            sources[group] = rng.permutation(group)
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
