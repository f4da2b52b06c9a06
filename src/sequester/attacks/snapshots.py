"""Attacks on records that are published in snapshots: their values, when they came, and who came again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.attacks.risk import Risk, exact, largest_of, mean_of
from sequester.data.text import as_text
from sequester.datasets.draws import generator
from sequester.errors import InputError, SequesterError
from sequester.hierarchies.labels import MISSING
from sequester.privacy.l_diversity import COUNT, GROUP, RECORDS, TIME, VALUES, exact_level, records_of
from sequester.ragged import owners_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from sequester._typing import Codes, Counts
    from sequester.attacks.context import Case, Stream
    from sequester.attacks.risk import Proportion
    from sequester.data.table import EventTable
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.privacy.l_diversity import LDiversity, LEligibility

    Amounts = npt.NDArray[np.float64]


SLOT, VALUE = "slot", "value"
"""Columns of `Snapshots.cells`."""
PERSON, EVENT, TRUTH = "person", "event", "truth"
"""Columns of what is tried: whose event it is, its number, and the value that it really has."""


@dataclass(frozen=True, slots=True)
class Snapshots:
    """What was published when, beside what came when; snapshots that are published as one count as one."""

    values: tuple[str, ...]
    """The sensitive values of release and original, in label order."""
    published: Counts
    """Cell ``[t, s]``: records of value ``s`` that are published in snapshot ``t``."""
    came: Counts
    """Cell ``[t, s]``: records of value ``s`` that came in snapshot ``t``."""
    reach: int
    """Snapshots in which a record may be published, the one it came with included."""
    labels: tuple[str, ...]
    """What each snapshot is called in the release, or would be."""
    homes: Counts
    """The snapshot that each event of the original came with."""
    codes: Codes
    """The value of each event of the original."""
    cells: pl.DataFrame
    """One row per snapshot, group (or record) and value: ``slot``, ``group``, ``value`` and ``count``."""

    @classmethod
    def of(
        cls, tables: Mapping[str, pl.DataFrame], original: EventTable, stream: Stream, *, sensitive: str
    ) -> Snapshots:
        """Count the records of the released tables and those of the original."""
        if sensitive not in original.schema.sensitive:
            msg = f"the release protects {sensitive!r}, and the original has no such sensitive attribute"
            raise InputError(msg)
        slots, labels = _slots(tables, stream)
        column = original.schema.sensitive[sensitive].columns[0]
        texts = as_text(original.frame[column]).fill_null(MISSING)
        cells = _cells(tables, sensitive)
        values = tuple(sorted({*texts.unique().to_list(), *cells[VALUE].unique().to_list()}))
        cells = cells.with_columns(
            pl.col(SLOT).replace_strict(labels, range(len(labels)), return_dtype=pl.Int64),
            pl.col(VALUE).replace_strict(values, range(len(values)), return_dtype=pl.Int64),
        )
        homes = slots[stream.homes]
        codes = texts.replace_strict(values, range(len(values)), return_dtype=pl.Int32).to_numpy()
        shape = (len(labels), len(values))
        published, came = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        np.add.at(published, (cells[SLOT].to_numpy(), cells[VALUE].to_numpy()), cells[COUNT].to_numpy())
        np.add.at(came, (homes, codes), 1)
        return cls(values, published, came, stream.reach, labels, homes, codes, cells)

    @property
    def sizes(self) -> Counts:
        """How many records came in each snapshot; that is often known."""
        sizes: Counts = self.came.sum(axis=1)
        return sizes

    def permuted(self, rng: np.random.Generator) -> Snapshots:
        """Return the same with the values permuted among all published records."""
        n_slots, n_values = self.published.shape
        cells = self.cells
        counts = cells[COUNT].to_numpy()
        records = rng.permutation(np.repeat(cells[VALUE].to_numpy(), counts))
        slots = np.repeat(cells[SLOT].to_numpy(), counts)
        groups = np.repeat(cells[GROUP].to_numpy(), counts)
        anew = (
            pl.DataFrame({SLOT: slots, GROUP: groups, VALUE: records})
            .group_by(SLOT, GROUP, VALUE)
            .agg(pl.len().cast(pl.Int64).alias(COUNT))
        )
        flat = np.bincount(slots * n_values + records, minlength=n_slots * n_values)
        return replace(self, published=flat.reshape(n_slots, n_values).astype(np.int64), cells=anew)


def _slots(tables: Mapping[str, pl.DataFrame], stream: Stream) -> tuple[Counts, tuple[str, ...]]:
    """Return the number of each snapshot among the published ones, and what those are called.

    A time such as ``a/b`` stands for all snapshots from a to b.
    """
    numbers = {label: number for number, label in enumerate(stream.labels)}
    spans = {}
    for time in next(iter(tables.values()))[TIME].unique().to_list():
        if time not in numbers:
            first, last = _ends(time, numbers)
            spans[first] = (last, time)
    slots = np.zeros(len(stream.labels), np.int64)
    labels: list[str] = []
    number = 0
    while number < len(stream.labels):
        last, label = spans.get(number, (number, stream.labels[number]))
        slots[number : last + 1] = len(labels)
        labels.append(label)
        number = last + 1
    return slots, tuple(labels)


def _ends(time: str, numbers: Mapping[str, int]) -> tuple[int, int]:
    """Return the first and the last snapshot of a span; its ends may have a slash in their names, too."""
    places = (place for place, letter in enumerate(time) if letter == "/")
    for place in places:
        if time[:place] in numbers and time[place + 1 :] in numbers:
            return numbers[time[:place]], numbers[time[place + 1 :]]
    msg = f"the release has a snapshot {time!r}, and in the original nothing came then"
    raise InputError(msg)


def _cells(tables: Mapping[str, pl.DataFrame], sensitive: str) -> pl.DataFrame:
    """Count the values of every published group; without groups a record is a group of its own."""
    main = next(iter(tables.values()))
    if VALUES in tables:
        values = tables[VALUES]
        times = pl.DataFrame({GROUP: main[GROUP], SLOT: main[TIME]}).unique()
        plain = pl.DataFrame({GROUP: values[GROUP], VALUE: values[sensitive], COUNT: values[COUNT]})
        joined = plain.join(times, on=GROUP, maintain_order="left")
        return joined.select(SLOT, GROUP, VALUE, COUNT)
    plain = pl.DataFrame({SLOT: main[TIME], GROUP: _groups(main), VALUE: main[sensitive].fill_null(MISSING)})
    # In the order of the records, because the control permutes the values of these rows by the seed.
    counted = plain.group_by(SLOT, GROUP, VALUE, maintain_order=True)
    return counted.agg(pl.len().cast(pl.Int64).alias(COUNT))


def _groups(records: pl.DataFrame) -> pl.Series:
    """Return the group of each record; without groups it is one of its own."""
    return records[GROUP] if GROUP in records.columns else pl.Series(GROUP, np.arange(records.height))


_NONE = 1e-12


def estimate_arrivals(snapshots: Snapshots) -> tuple[Amounts, Amounts]:
    """Estimate, per snapshot and value, the records that came, and the published ones that came earlier.

    An adversary knows the program, and how many records came in each snapshot. A program that changes only
    what it must takes records from a snapshot only where their value is as frequent there as any may be. So
    if a snapshot shows more records than came in it, those too many are of values that were held back in one
    of the snapshots before, within reach: as many of each as it is frequent here, from the latest first. If
    it shows fewer than came in it, and they are not accounted for by later snapshots, they are of the values
    that are most frequent in it, as many of each. Fractions of records are beliefs.

    Examples
    --------
    Flu came three times and HIV once, then cold and x. No value may have more than half of the records of a
    snapshot, so two of the three were published later.

    >>> import polars as pl
    >>> from sequester.attacks.context import Stream
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> ills = ["flu", "flu", "flu", "HIV", "cold", "x"]
    >>> came = pl.DataFrame({"who": list("abcdef"), "day": [1, 1, 1, 1, 2, 2], "ill": ills})
    >>> table = EventTable(came, Schema(person="who", order="day", sensitive={"ill": "all"}))
    >>> out = pl.DataFrame(
    ...     {"time": ["1", "1", "2", "2", "2", "2"], "ill": ["flu", "HIV", "cold", "x", "flu", "flu"]}
    ... )
    >>> stream = Stream(np.array([0, 0, 0, 0, 1, 1]), ("1", "2"), 2)
    >>> snapshots = Snapshots.of({"events": out}, table, stream, sensitive="ill")
    >>> snapshots.values, estimate_arrivals(snapshots)[0][0].tolist()
    (('HIV', 'cold', 'flu', 'x'), [1.0, 0.0, 3.0, 0.0])
    """
    published, sizes = snapshots.published, snapshots.sizes
    totals = published.sum(axis=1)
    is_full = (published == published.max(axis=1, initial=0)[:, None]) & (published > 0)
    missing = np.maximum(sizes - totals, 0).astype(np.float64)
    excess = np.maximum(totals - sizes, 0).astype(np.float64)
    came, moved = published.astype(np.float64), np.zeros(published.shape)
    for slot in np.flatnonzero(excess).tolist():
        before = range(slot - 1, max(slot - snapshots.reach, -1), -1)
        # Records of each value that may have been held back in the snapshots before.
        room = missing[list(before)] @ is_full[list(before)]
        here = np.minimum(published[slot], room) * (published[slot] > 0)
        suspected = published[slot] * (here > _NONE)
        if not suspected.any():
            continue
        taken = np.minimum(excess[slot] * suspected / suspected.sum(), here)
        for value in np.flatnonzero(taken > _NONE).tolist():
            left = float(taken[value])
            for home in before:
                part = min(left, float(missing[home])) if is_full[home, value] else 0.0
                came[home, value] += part
                missing[home] -= part
                left -= part
            amount = float(taken[value]) - left
            came[slot, value] -= amount
            moved[slot, value] += amount
    everything = published.sum(axis=0) / max(published.sum(), 1)
    for slot in np.flatnonzero(missing > _NONE).tolist():
        full = is_full[slot]
        came[slot] += missing[slot] * (full / full.sum() if full.any() else everything)
    return came, moved


def guess_records(tables: Mapping[str, pl.DataFrame], *, sensitive: str) -> Proportion:
    """Return the chance to guess a record's sensitive value, on average over published records.

    The adversary knows when the record was published and all its quasi-identifiers, and so its group: what
    the release calls a group, or else the records of the snapshot that share all quasi-identifiers. They
    take the value of any record of the group. Nothing is drawn: everybody's chance is counted.

    Examples
    --------
    >>> records = pl.DataFrame({"time": ["1"] * 3, "age": ["30", "31", "32"], "group": [1, 1, 2]})
    >>> values = pl.DataFrame({"group": [1, 1, 2], "ill": ["flu", "cold", "flu"], "count": [1, 1, 1]})
    >>> guess_records({"records": records, "values": values}, sensitive="ill").value  # (1/2 + 1/2 + 1) / 3
    0.6666666666666666
    """
    if VALUES in tables:
        values = tables[VALUES]
        return _mean_chance(pl.DataFrame({GROUP: values[GROUP], COUNT: values[COUNT]}), [GROUP])
    records = next(iter(tables.values())) if RECORDS not in tables else tables[RECORDS]
    known = [GROUP] if GROUP in records.columns else [name for name in records.columns if name != sensitive]
    return _guess(records, known, sensitive)


def guess_original(table: EventTable, *, sensitive: str) -> Proportion:
    """Return the same chance for an adversary with the original, whose groups share all quasi-identifiers."""
    records, attribute = records_of(table, model="the adversary", sensitive=sensitive)
    return _guess(records, [name for name in records.columns if name != attribute], attribute)


def _guess(records: pl.DataFrame, known: Sequence[str], sensitive: str) -> Proportion:
    # By numbers, because a column may be named as the value is.
    columns = {f"known {place}": records[name] for place, name in enumerate(known)}
    named = pl.DataFrame({**columns, VALUE: records[sensitive]})
    counts = named.group_by(named.columns).agg(pl.len().cast(pl.Int64).alias(COUNT))
    return _mean_chance(counts.drop(VALUE), list(columns))


def _mean_chance(counts: pl.DataFrame, by: Sequence[str]) -> Proportion:
    """Add up, over all groups and values, the records of a value times its share of the group."""
    chances = counts.group_by(by).agg((pl.col(COUNT) ** 2).sum() / pl.col(COUNT).sum())
    total = int(counts[COUNT].sum())
    return exact(float(chances[COUNT].sum()) / total if total else 0.0)


MOST_REMADE = 300_000
"""Events of an original that is done again, to see which records were moved."""


def snapshot_risks(
    snapshots: Snapshots, control: Snapshots, *, level: object, by_group: bool = False
) -> list[Risk]:
    """Return the largest share of one value where a record is known to be: in a snapshot, or a group of it.

    ``confidence`` is the largest share that one value has. This is what l is about.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.attacks.context import Stream
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> ills = ["flu", "flu", "flu", "HIV", "cold", "x"]
    >>> came = pl.DataFrame({"who": list("abcdef"), "day": [1, 1, 1, 1, 2, 2], "ill": ills})
    >>> table = EventTable(came, Schema(person="who", order="day", sensitive={"ill": "all"}))
    >>> shown = ["flu", "HIV", "cold", "x", "flu", "flu"]
    >>> out = pl.DataFrame({"time": ["1", "1", "2", "2", "2", "2"], "ill": shown})
    >>> stream = Stream(np.array([0, 0, 0, 0, 1, 1]), ("1", "2"), 2)
    >>> snapshots = Snapshots.of({"events": out}, table, stream, sensitive="ill")
    >>> (risk,) = snapshot_risks(snapshots, snapshots, level=2)
    >>> risk.value, risk.raw.value, risk.bound
    (0.5, 0.75, 0.5)
    """
    everything = snapshots.published.sum(axis=0)
    return [
        Risk.of(
            _largest_among(snapshots, known),
            float(everything.max(initial=0) / max(everything.sum(), 1)),
            _largest_among(control, known),
            raw=_surest(snapshots.came, snapshots.came),
            name="confidence",
            kind=known[-1].replace(SLOT, "snapshot"),
            bound=float(1 / exact_level(level)),
            targets=int(everything.sum()),
        )
        for known in ([SLOT], [SLOT, GROUP])[: 1 + by_group]
    ]


def _largest_among(snapshots: Snapshots, known: Sequence[str]) -> Proportion:
    """Return the largest share of one value among records that have the same in the known columns."""
    counts = snapshots.cells.group_by(*known, VALUE).agg(pl.col(COUNT).sum())
    shares = counts.group_by(known).agg(pl.col(COUNT).max() / pl.col(COUNT).sum())
    return largest_of(shares[COUNT].to_numpy(), is_all=True)


def arrival_risks(snapshots: Snapshots, control: Snapshots, *, moved: Counts | None = None) -> list[Risk]:
    """Return what an adversary believes who knows when a record came, how many came then, and the method.

    What came when is estimated by `estimate_arrivals`. ``arrival`` is the mean belief in the value that a
    record really has, ``surest_arrival`` the largest belief in any value of a snapshot, as far as it is
    true of the records that came then, ``moved`` the share of records that were moved among those suspected
    of it, picked by how many of a snapshot and value are suspected; nobody looks where none were `moved`. The
    control is the same person without the reasoning, who takes a snapshot as it is published; for ``moved``,
    whose reasoning is all there is, permuted values.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.attacks.context import Stream
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> ills = ["flu", "flu", "flu", "HIV", "cold", "x"]
    >>> came = pl.DataFrame({"who": list("abcdef"), "day": [1, 1, 1, 1, 2, 2], "ill": ills})
    >>> table = EventTable(came, Schema(person="who", order="day", sensitive={"ill": "all"}))
    >>> shown = ["flu", "HIV", "cold", "x", "flu", "flu"]
    >>> out = pl.DataFrame({"time": ["1", "1", "2", "2", "2", "2"], "ill": shown})
    >>> stream = Stream(np.array([0, 0, 0, 0, 1, 1]), ("1", "2"), 2)
    >>> snapshots = Snapshots.of({"events": out}, table, stream, sensitive="ill")
    >>> _, surest = arrival_risks(snapshots, snapshots)
    >>> surest.value, surest.control.value
    (0.75, 0.5)

    References
    ----------
    Wong, Fu, Wang, Pei (2007), Minimality attack in privacy preserving data publishing.
    """
    (believed, suspected), shown, came = estimate_arrivals(snapshots), snapshots.published, snapshots.came
    everything, targets = shown.sum(axis=0) / max(shown.sum(), 1), int(came.sum())
    by_number = float(everything @ came.sum(axis=0) / max(targets, 1))
    most_frequent = float(np.max(came.sum(axis=0) / max(targets, 1), initial=0.0))
    risk = partial(Risk.of, kind="minimality", targets=targets, control_of="no reasoning")
    amounts = believed, shown, came
    release, naive, raw = (mean_of(_belief(each, snapshots), is_all=True) for each in amounts)
    risks = [risk(release, by_number, naive, raw=raw, name="arrival")]
    release, naive, raw = (_surest(each, came) for each in amounts)
    risks.append(risk(release, most_frequent, naive, raw=raw, name="surest_arrival"))
    if moved is not None and moved.any():
        guesses = suspected, estimate_arrivals(control)[1]
        release, permuted = (_caught(each, shown, moved) for each in guesses)
        suspects = int(shown[suspected > 0].sum())
        more = {"raw": exact(0.0), "name": "moved", "targets": suspects, "control_of": "shuffled"}
        risks.append(risk(release, float(moved.sum() / max(shown.sum(), 1)), permuted, **more))
    return risks


def attack_snapshots(model: LEligibility | LDiversity, case: Case) -> list[Risk]:
    """Run the attacks on snapshots; only how frequent a value is in them is claimed."""
    if case.stream is None:
        return []
    sensitive = model.sensitive or next(iter(case.original.schema.sensitive))
    snapshots = Snapshots.of(case.tables, case.original, case.stream, sensitive=sensitive)
    control = snapshots.permuted(generator("attack control", case.seed))
    risks = snapshot_risks(snapshots, control, level=model.l, by_group=model.has_groups)
    case.progress(0.3, "attacking (records that were moved)")
    risks += arrival_risks(snapshots, control, moved=_moved(case, snapshots))
    case.progress(0.7, "attacking (persons in several snapshots)")
    risk = intersection_risk(snapshots, case.tables, case.original, targets=case.targets, seed=case.seed)
    if risk.targets:
        risks.append(risk)
    return risks


def _moved(case: Case, snapshots: Snapshots) -> Counts | None:
    """Count, per snapshot and value, the published records that came earlier; None where it is not known."""
    if case.replay is None or snapshots.reach < 2 or case.original.n_events > MOST_REMADE:
        return None
    try:
        changes = case.replay(case.original).changes
    except SequesterError:
        return None
    later = changes.lazy().filter(pl.col("to").is_not_null()).group_by("to", "value").len().collect()
    counts = np.zeros(snapshots.published.shape, np.int64)
    slots, codes = (
        later[name].replace_strict(labels, range(len(labels)), return_dtype=pl.Int64).to_numpy()
        for name, labels in (("to", snapshots.labels), ("value", snapshots.values))
    )
    counts[slots, codes] = later["len"]
    return counts


def _belief(amounts: Amounts | Counts, snapshots: Snapshots) -> Amounts:
    """Return, for each record that came, the belief in its value by the amounts of its snapshot."""
    totals = amounts.sum(axis=1, keepdims=True)
    n_values = max(amounts.shape[1], 1)
    # Who sees nothing believes anything.
    shares = np.where(totals > 0, amounts / np.maximum(totals, 1e-300), 1 / n_values)
    beliefs: Amounts = shares[snapshots.homes, snapshots.codes]
    return beliefs


def _surest(amounts: Amounts | Counts, came: Counts) -> Proportion:
    """Return the largest belief, by the amounts, as far as it is true of those who came."""
    totals = amounts.sum(axis=1, keepdims=True)
    believed = amounts / np.where(totals > 0, totals, 1)
    true = came / np.maximum(came.sum(axis=1, keepdims=True), 1)
    return largest_of(np.minimum(believed, true), is_all=True)


def _caught(suspected: Amounts, shown: Counts, moved: Counts) -> Proportion:
    """Return the share of moved records among those picked by how many of their kind are suspected."""
    total = float(suspected.sum())
    right = float((suspected * moved / np.maximum(shown, 1)).sum())
    return exact(right / total if total else 0.0)


MOST_TARGETS = 500
"""Persons whose snapshots are laid side by side."""


def intersection_risk(
    snapshots: Snapshots,
    tables: Mapping[str, pl.DataFrame],
    original: EventTable,
    *,
    targets: int,
    seed: str,
) -> Risk:
    """Return the chance of an adversary who intersects what a person's snapshots show.

    They suppose that the person had one sensitive value throughout, as with an illness that stays. In every
    snapshot in which a record may be published, the values of the groups that the quasi-identifiers fit are
    possible; the values that are possible each time remain, and one of them is picked. ``intersection`` is
    the mean chance to be right, over persons who came in several snapshots and really had one value. The
    control is an adversary who looks at one of the snapshots alone.

    Examples
    --------
    >>> from sequester.attacks.context import Stream
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> came = pl.DataFrame({"who": list("abac"), "day": [1, 1, 2, 2], "ill": ["HIV", "flu", "HIV", "cold"]})
    >>> table = EventTable(came, Schema(person="who", order="day", sensitive={"ill": "all"}))
    >>> out = {"events": pl.DataFrame({"time": list("1122"), "ill": ["HIV", "flu", "HIV", "cold"]})}
    >>> snapshots = Snapshots.of(out, table, Stream(np.array([0, 1, 0, 1]), ("1", "2"), 1), sensitive="ill")
    >>> risk = intersection_risk(snapshots, out, table, targets=9, seed="any")
    >>> risk.value, risk.control.value, risk.targets
    (1.0, 0.5, 1)
    """
    columns = {f"known {place}": name for place, name in enumerate(original.schema.quasi)}
    known = [SLOT, *columns]
    texts = {key: as_text(original.frame[name]).fill_null(MISSING) for key, name in columns.items()}
    came = pl.DataFrame({PERSON: owners_of(original.person_offsets), SLOT: snapshots.homes, **texts})
    came = came.with_columns(pl.Series(VALUE, snapshots.codes)).with_row_index(EVENT)
    persons = came.group_by(PERSON, maintain_order=True).agg(pl.col(SLOT, VALUE).n_unique())
    chosen = fit = persons.filter(pl.col(SLOT) > 1, pl.col(VALUE) == 1)[PERSON].to_numpy()
    if len(fit) > (most := min(targets, MOST_TARGETS)):
        chosen = np.sort(generator("attack intersection", seed).choice(fit, most, replace=False))
    events = came.filter(pl.col(PERSON).is_in(chosen)).rename({VALUE: TRUTH})
    main = next(iter(tables.values()))
    slots = main[TIME].replace_strict(snapshots.labels, range(len(snapshots.labels)), return_dtype=pl.Int64)
    shown = pl.DataFrame(
        {SLOT: slots, GROUP: _groups(main), **{key: main[name] for key, name in columns.items()}}
    ).unique()
    published = shown.join(snapshots.cells.select(SLOT, GROUP, VALUE), on=[SLOT, GROUP])
    # Each event in all snapshots in which it may be published, with all that may be shown of it.
    stop = pl.min_horizontal(pl.col(SLOT) + snapshots.reach, pl.lit(len(snapshots.labels)))
    may_be = events.with_columns(pl.int_ranges(pl.col(SLOT), stop).alias(SLOT)).explode(SLOT)
    for place, (key, name) in enumerate(columns.items(), start=2):
        above = _above(original.hierarchies[name], events[key].unique())
        lifted = may_be.join(above, on=key).drop(key).rename({"above": key})
        may_be = lifted.join(published, on=known[:place], how="semi")
    release, single = _chances(events, may_be.join(published, on=known))
    raw, _ = _chances(events, events.join(came.select(*known, VALUE), on=known))
    before, alone, after = (mean_of(each, is_all=len(chosen) == len(fit)) for each in (raw, single, release))
    return Risk.of(
        after,
        1 / max(len(snapshots.values), 1),
        alone,
        raw=before,
        name="intersection",
        kind="snapshots",
        known=max(len(columns), 1),
        targets=len(chosen),
        control_of="no reasoning",
    )


def _above(tree: Hierarchy, labels: pl.Series) -> pl.DataFrame:
    """List all that may be released of each label: itself, and what lies above."""
    above = [[tree.labels[node] for node in tree.ancestors(tree.node(label))] for label in labels]
    return labels.to_frame().with_columns(pl.Series("above", above, pl.List(pl.String))).explode("above")


def _chances(events: pl.DataFrame, possible: pl.DataFrame) -> tuple[Amounts, Amounts]:
    """Return each person's chance by the values that all their events allow, and the mean by one of them."""
    possible = possible.select(PERSON, EVENT, TRUTH, VALUE).unique()
    n_events = events.group_by(PERSON, maintain_order=True).len()
    always = possible.group_by(PERSON, TRUTH, VALUE).len().join(n_events, on=[PERSON, "len"])
    picked = pl.when((pl.col(VALUE) == pl.col(TRUTH)).any()).then(1 / pl.len()).otherwise(0.0).alias("chance")
    by_all, by_one = (
        each.join(found.group_by(key).agg(picked), on=key, how="left", maintain_order="left")
        .group_by(PERSON, maintain_order=True)
        .agg(pl.col("chance").fill_null(0.0).mean())["chance"]
        .to_numpy()
        for each, found, key in ((n_events, always, PERSON), (events, possible, EVENT))
    )
    return by_all, by_one
