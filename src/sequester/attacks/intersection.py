"""Intersection: a person in several snapshots has what the candidates of all of them have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.attacks.chances import exact_of
from sequester.attacks.risk import Risk, mean_of
from sequester.attacks.snapshots import SLOT, VALUE
from sequester.datasets.draws import generator
from sequester.hierarchies.labels import MISSING, ROOT
from sequester.privacy.snapshots import GROUP, TIME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from sequester._typing import Counts
    from sequester.attacks.snapshots import Snapshots
    from sequester.data.table import EventTable

    Key = tuple[int, tuple[str, ...]]
    """A snapshot, and the quasi-identifiers of records in it."""
    Index = dict[Key, set[int]]
    """The values that are possible for whoever has these quasi-identifiers in this snapshot."""

MOST_TARGETS = 500
"""Persons whose snapshots are laid side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intersection:
    """Somebody knows a person's quasi-identifiers, and the snapshots in which their records came.

    They suppose that the person had one sensitive value throughout, as with an illness that stays. In every
    snapshot in which a record may be published, the values of the groups that the quasi-identifiers fit are
    possible; the values that are possible each time remain, and one of them is picked. ``intersection`` is
    the mean chance to be right, over persons who came in several snapshots and really had one value. The
    control is somebody who looks at one of the snapshots alone.

    Examples
    --------
    >>> from sequester.attacks.remake import Stream
    >>> from sequester.attacks.snapshots import Snapshots
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> came = pl.DataFrame({"who": list("abac"), "day": [1, 1, 2, 2], "ill": ["HIV", "flu", "HIV", "cold"]})
    >>> table = EventTable(came, Schema(person="who", order="day", sensitive={"ill": "all"}))
    >>> out = {"events": pl.DataFrame({"time": list("1122"), "ill": ["HIV", "flu", "HIV", "cold"]})}
    >>> snapshots = Snapshots.of(out, table, Stream(np.array([0, 1, 0, 1]), ("1", "2"), 1), sensitive="ill")
    >>> risk = Intersection().judge(snapshots, out, table, targets=9, seed="any")
    >>> risk.value, risk.control.value, risk.targets
    (1.0, 0.5, 1)
    """

    def judge(
        self,
        snapshots: Snapshots,
        tables: Mapping[str, pl.DataFrame],
        original: EventTable,
        *,
        targets: int,
        seed: str,
    ) -> Risk:
        """Lay the snapshots of persons side by side; nobody is a target where nobody came twice."""
        owners = np.repeat(np.arange(original.n_persons), np.diff(original.person_offsets))
        chosen, n_fit = _targets(snapshots, owners, original.n_persons, min(targets, MOST_TARGETS), seed)
        events = np.flatnonzero(np.isin(owners, chosen))
        names = list(original.schema.quasi)
        quasi = [original.frame[name].fill_null(MISSING) for name in names]
        known = list(zip(*(each.gather(events).to_list() for each in quasi), strict=True))
        known = known or [()] * len(events)
        above = _above(original, names, known)
        homes = snapshots.homes[events].tolist()
        slots = [range(home, min(home + snapshots.reach, len(snapshots.labels))) for home in homes]
        asked = {
            (slot, lifted)
            for reached, labels in zip(slots, known, strict=True)
            for slot in reached
            for lifted in above[labels]
        }
        released = _released(snapshots, tables, names, asked)
        came = pl.DataFrame(
            {SLOT: snapshots.homes, **dict(zip(_keys(names), quasi, strict=True)), VALUE: snapshots.codes}
        )
        raw = _index(came, _keys(names), set(zip(homes, known, strict=True)))
        tried: dict[int, list[tuple[set[int], set[int]]]] = {}
        for event, home, reached, labels in zip(events.tolist(), homes, slots, known, strict=True):
            keys = ((slot, lifted) for slot in reached for lifted in above[labels])
            possible: set[int] = set().union(*(released.get(key, set()) for key in keys))
            tried.setdefault(int(owners[event]), []).append((possible, raw[home, labels]))
        truth = dict(zip(owners[events].tolist(), snapshots.codes[events].tolist(), strict=True))
        chances = np.array([_chances(sets, truth[person]) for person, sets in tried.items()])
        chances = chances.reshape(-1, 3)
        estimate = exact_of if len(chosen) == n_fit else mean_of
        release, single, before = (estimate(chances[:, place]) for place in range(3))
        return Risk(
            release.value,
            release.interval,
            1 / max(len(snapshots.values), 1),
            single,
            raw=before,
            name="intersection",
            kind="snapshots",
            known=max(len(names), 1),
            targets=len(chosen),
            control_of="no reasoning",
        )


def _chances(sets: Sequence[tuple[set[int], set[int]]], value: int) -> tuple[float, float, float]:
    """Give the chance by all snapshots, by one of them, and by all of the original's."""
    singles = [_chance(released, value) for released, _ in sets]
    return (
        _chance(set.intersection(*(released for released, _ in sets)), value),
        sum(singles) / len(singles),
        _chance(set.intersection(*(before for _, before in sets)), value),
    )


def _chance(possible: set[int], value: int) -> float:
    return 1 / len(possible) if value in possible else 0.0


def _targets(
    snapshots: Snapshots, owners: Counts, n_persons: int, most: int, seed: str
) -> tuple[Counts, int]:
    """Draw persons who came in several snapshots with one value, and say how many there are."""

    def extremes(values: npt.NDArray[np.integer]) -> tuple[Counts, Counts]:
        low = np.full(n_persons, np.iinfo(np.int64).max)
        high = np.full(n_persons, -1, np.int64)
        np.minimum.at(low, owners, values)
        np.maximum.at(high, owners, values)
        return low, high

    first, last = extremes(snapshots.homes)
    low, high = extremes(snapshots.codes)
    fit = np.flatnonzero((last > first) & (low == high)).astype(np.int64)
    if len(fit) <= most:
        return fit, len(fit)
    rng = generator("attack intersection", seed)
    return np.sort(rng.choice(fit, most, replace=False)), len(fit)


def _above(
    original: EventTable, names: Sequence[str], known: Sequence[tuple[str, ...]]
) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """For each combination of labels all that may be released of it: every label, or what lies above."""
    chains: list[dict[str, list[str]]] = []
    for place, name in enumerate(names):
        tree = original.hierarchies[name]
        labels = {each[place] for each in known}
        chains.append(
            {label: [tree.labels[node] for node in tree.ancestors(tree.node(label))] for label in labels}
        )
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for labels_of in set(known):
        lifted: list[tuple[str, ...]] = [()]
        for place, label in enumerate(labels_of):
            lifted = [(*part, each) for part in lifted for each in chains[place].get(label, [label, ROOT])]
        found[labels_of] = lifted
    return found


def _released(
    snapshots: Snapshots,
    tables: Mapping[str, pl.DataFrame],
    names: Sequence[str],
    asked: set[Key],
) -> Index:
    """List the values of the groups that show each combination of quasi-identifiers."""
    main = next(iter(tables.values()))
    slot_of = {label: slot for slot, label in enumerate(snapshots.labels)}
    group = main[GROUP] if GROUP in main.columns else pl.Series(GROUP, np.arange(main.height))
    shown = pl.DataFrame(
        {
            SLOT: main[TIME].replace_strict(slot_of, return_dtype=pl.Int64),
            GROUP: group,
            **{key: main[name] for key, name in zip(_keys(names), names, strict=True)},
        }
    ).unique()
    values = snapshots.cells.select(SLOT, GROUP, VALUE)
    return _index(shown.join(values, on=[SLOT, GROUP]), _keys(names), asked)


def _index(records: pl.DataFrame, keys: Sequence[str], asked: set[Key]) -> Index:
    """List the values of the records of each snapshot and combination of labels that is asked for."""
    wanted = pl.DataFrame(
        [(slot, *labels) for slot, labels in sorted(asked)],
        schema={SLOT: pl.Int64, **dict.fromkeys(keys, pl.String)},
        orient="row",
    )
    index: Index = {}
    found = records.join(wanted, on=[SLOT, *keys], how="semi").select(SLOT, *keys, VALUE).unique()
    for slot, *labels, value in found.iter_rows():
        index.setdefault((slot, tuple(labels)), set()).add(value)
    return index


def _keys(names: Sequence[str]) -> list[str]:
    """Name the quasi-identifiers so that none is called as anything else here."""
    return [f"known {place}" for place in range(len(names))]
