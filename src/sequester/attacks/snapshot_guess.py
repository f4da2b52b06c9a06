"""What somebody finds out of records that are published in snapshots: their values, and when they came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import polars as pl

from sequester.attacks.arrivals import believe
from sequester.attacks.chances import exact_of, exactly
from sequester.attacks.intersection import Intersection
from sequester.attacks.risk import Risk
from sequester.attacks.snapshots import SLOT, VALUE, Snapshots
from sequester.attacks.special import Case, special_attacks
from sequester.datasets.draws import generator
from sequester.errors import ParameterError, SequesterError
from sequester.privacy.l_diversity import LDiversity
from sequester.privacy.l_eligibility import LEligibility
from sequester.privacy.skew import COUNT, exact_level
from sequester.privacy.snapshots import GROUP

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Counts
    from sequester.attacks.share import Share

    Amounts = npt.NDArray[np.float64]

Crowd = Literal["snapshot", "group"]
"""Where a record is known to be: in a published snapshot, or in a group of it."""
ArrivalMeasure = Literal["arrival", "surest_arrival", "moved"]
"""What is counted; see `ArrivalGuess`."""
MOST_REMADE = 300_000
"""Events of an original that is done again, to see which records were moved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotGuess:
    """Somebody knows in which published snapshot, or group of it, a record is, and guesses its value.

    ``confidence`` is the largest share that one value has. This is what l is about.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.attacks.remake import Stream
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> ills = ["flu", "flu", "flu", "HIV", "cold", "x"]
    >>> came = pl.DataFrame({"who": list("abcdef"), "day": [1, 1, 1, 1, 2, 2], "ill": ills})
    >>> table = EventTable(came, Schema(person="who", order="day", sensitive={"ill": "all"}))
    >>> shown = ["flu", "HIV", "cold", "x", "flu", "flu"]
    >>> out = pl.DataFrame({"time": ["1", "1", "2", "2", "2", "2"], "ill": shown})
    >>> stream = Stream(np.array([0, 0, 0, 0, 1, 1]), ("1", "2"), 2)
    >>> snapshots = Snapshots.of({"events": out}, table, stream, sensitive="ill")
    >>> risk = SnapshotGuess().judge(snapshots, snapshots, level=2)
    >>> risk.value, risk.raw.value, risk.bound
    (0.5, 0.75, 0.5)
    """

    kind: Crowd = "snapshot"
    """Where the record is known to be."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Crowd):
            msg = f"kind must be one of {', '.join(get_args(Crowd))}, got {self.kind!r}"
            raise ParameterError(msg)

    def judge(self, snapshots: Snapshots, control: Snapshots, *, level: object) -> Risk:
        """Find the largest share in the release, in the original's snapshots, and among values dealt anew."""
        everything = snapshots.published.sum(axis=0)
        release = self._largest(snapshots)
        return Risk(
            release.value,
            release.interval,
            float(everything.max(initial=0) / max(everything.sum(), 1)),
            self._largest(control),
            raw=exactly(_largest_share(snapshots.came)),
            name="confidence",
            kind=self.kind,
            bound=float(1 / exact_level(level)),
            targets=int(everything.sum()),
        )

    def _largest(self, snapshots: Snapshots) -> Share:
        if self.kind == "snapshot":
            return exactly(_largest_share(snapshots.published))
        shares = (
            snapshots.cells.group_by(SLOT, GROUP, VALUE)
            .agg(pl.col(COUNT).sum())
            .group_by(SLOT, GROUP)
            .agg((pl.col(COUNT).max() / pl.col(COUNT).sum()).alias("share"))["share"]
        )
        return exactly(float(np.max(shares.to_numpy(), initial=0.0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalGuess:
    """Somebody knows in which snapshot a record came, how many came then, and how the program works.

    What came when is worked out as `believe` says. ``arrival`` is the mean belief in the value that a record
    really has, ``surest_arrival`` the largest belief in any value of a snapshot, as far as it is true of the
    records that came then, ``moved`` the share of records that were moved among those suspected of it, picked
    by how many of a snapshot and value are suspected. The control is the same person without the reasoning,
    who takes a snapshot as it is published; for ``moved``, whose reasoning is all there is, values dealt out
    anew.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.attacks.remake import Stream
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> ills = ["flu", "flu", "flu", "HIV", "cold", "x"]
    >>> came = pl.DataFrame({"who": list("abcdef"), "day": [1, 1, 1, 1, 2, 2], "ill": ills})
    >>> table = EventTable(came, Schema(person="who", order="day", sensitive={"ill": "all"}))
    >>> shown = ["flu", "HIV", "cold", "x", "flu", "flu"]
    >>> out = pl.DataFrame({"time": ["1", "1", "2", "2", "2", "2"], "ill": shown})
    >>> stream = Stream(np.array([0, 0, 0, 0, 1, 1]), ("1", "2"), 2)
    >>> snapshots = Snapshots.of({"events": out}, table, stream, sensitive="ill")
    >>> risk = ArrivalGuess(measure="surest_arrival").judge(snapshots, snapshots)
    >>> risk.value, risk.control.value
    (0.75, 0.5)

    References
    ----------
    Wong, Fu, Wang, Pei (2007), Minimality attack in privacy preserving data publishing.
    """

    measure: ArrivalMeasure = "arrival"
    """What is counted."""

    def __post_init__(self) -> None:
        if self.measure not in get_args(ArrivalMeasure):
            msg = f"measure must be one of {', '.join(get_args(ArrivalMeasure))}, got {self.measure!r}"
            raise ParameterError(msg)

    def judge(self, snapshots: Snapshots, control: Snapshots, *, moved: Counts | None = None) -> Risk:
        """Reason about the release; `moved` tells how many records per snapshot and value came earlier."""
        believed, shown = believe(snapshots), snapshots.published
        came = snapshots.came
        if self.measure == "moved":
            truth = np.zeros(shown.shape, np.int64) if moved is None else moved
            return self._risk(
                _caught(believed.moved, shown, truth),
                _caught(believe(control).moved, shown, truth),
                raw=exactly(0.0),
                baseline=float(truth.sum() / max(shown.sum(), 1)),
                targets=int(shown[believed.moved > 0].sum()),
            )
        everything = shown.sum(axis=0) / max(shown.sum(), 1)
        if self.measure == "arrival":
            return self._risk(
                exact_of(_belief(believed.came, snapshots)),
                exact_of(_belief(shown, snapshots)),
                raw=exact_of(_belief(came, snapshots)),
                baseline=float(everything @ came.sum(axis=0) / max(came.sum(), 1)),
                targets=int(came.sum()),
            )
        return self._risk(
            _surest(believed.came, came),
            _surest(shown, came),
            raw=_surest(came, came),
            baseline=float(np.max(came.sum(axis=0) / max(came.sum(), 1), initial=0.0)),
            targets=int(came.sum()),
        )

    def _risk(self, release: Share, control: Share, *, raw: Share, baseline: float, targets: int) -> Risk:
        return Risk(
            release.value,
            release.interval,
            baseline,
            control,
            raw=raw,
            name=self.measure,
            kind="minimality",
            targets=targets,
            control_of="shuffled" if self.measure == "moved" else "no reasoning",
        )


@special_attacks.register(LEligibility)
@special_attacks.register(LDiversity)
def attack_snapshots(model: LEligibility | LDiversity, case: Case) -> list[Risk]:
    """Let those try who look at snapshots; only how frequent a value is in them is claimed."""
    if case.stream is None:
        return []
    case.progress(0.0, "attacking (snapshots)")
    sensitive = model.sensitive or next(iter(case.original.schema.sensitive))
    snapshots = Snapshots.of(case.tables, case.original, case.stream, sensitive=sensitive)
    control = snapshots.dealt(generator("attack control", case.seed))
    kinds: tuple[Crowd, ...] = ("snapshot", "group") if isinstance(model, LDiversity) else ("snapshot",)
    risks = [SnapshotGuess(kind=kind).judge(snapshots, control, level=model.l) for kind in kinds]
    risks += [
        ArrivalGuess(measure=measure).judge(snapshots, control) for measure in ("arrival", "surest_arrival")
    ]
    case.progress(0.3, "attacking (records that were moved)")
    moved = _moved(case, snapshots)
    if moved is not None and moved.any():
        risks.append(ArrivalGuess(measure="moved").judge(snapshots, control, moved=moved))
    case.progress(0.7, "attacking (persons in several snapshots)")
    risk = Intersection().judge(snapshots, case.tables, case.original, targets=case.targets, seed=case.seed)
    if risk.targets:
        risks.append(risk)
    case.progress(1.0, "attacked")
    return risks


def _moved(case: Case, snapshots: Snapshots) -> Counts | None:
    """Count, per snapshot and value, the published records that came earlier; None where it is not known."""
    if case.remake is None or snapshots.reach < 2 or case.original.n_events > MOST_REMADE:
        return None
    try:
        changes = case.remake(case.original).changes
    except SequesterError:
        return None
    later = changes.filter(pl.col("to").is_not_null())
    slot_of = {label: slot for slot, label in enumerate(snapshots.labels)}
    code_of = {label: code for code, label in enumerate(snapshots.values)}
    counts = np.zeros(snapshots.published.shape, np.int64)
    for slot, value, count in later.group_by("to", "value").len().iter_rows():
        counts[slot_of[slot], code_of[value]] += count
    return counts


def _largest_share(counts: Counts) -> float:
    totals = counts.sum(axis=1)
    shares = counts.max(axis=1, initial=0) / np.maximum(totals, 1)
    return float(shares.max(initial=0.0))


def _belief(amounts: Amounts | Counts, snapshots: Snapshots) -> Amounts:
    """Give, for each record that came, the belief in its value by the amounts of its snapshot."""
    totals = amounts.sum(axis=1, keepdims=True)
    n_values = max(amounts.shape[1], 1)
    # Who sees nothing believes anything.
    shares = np.where(totals > 0, amounts / np.maximum(totals, 1e-300), 1 / n_values)
    beliefs: Amounts = shares[snapshots.homes, snapshots.codes]
    return beliefs


def _surest(amounts: Amounts | Counts, came: Counts) -> Share:
    """Give the largest belief, by the amounts, as far as it is true of those who came."""
    totals = amounts.sum(axis=1, keepdims=True)
    believed = amounts / np.where(totals > 0, totals, 1)
    true = came / np.maximum(came.sum(axis=1, keepdims=True), 1)
    return exactly(float(np.minimum(believed, true).max(initial=0.0)))


def _caught(suspected: Amounts, shown: Counts, moved: Counts) -> Share:
    """Give the share of moved records among those picked by how many of their kind are suspected."""
    total = float(suspected.sum())
    right = float((suspected * moved / np.maximum(shown, 1)).sum())
    return exactly(right / total if total else 0.0)
