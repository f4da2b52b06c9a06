"""Reposition: publish some records a little later than they came, so that no snapshot is skewed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from sequester._validation import one_of, true_or_false
from sequester.methods.reposition.limits import LATE, SEVERAL
from sequester.methods.reposition.snapshot_method import SnapshotMethod
from sequester.release.purpose import BEST, GOOD, Suitability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester.methods.reposition.costs import Costs
    from sequester.methods.reposition.window import Window


@dataclass(frozen=True, kw_only=True)
class Reposition(SnapshotMethod):
    """l-eligible snapshots by moving records to later ones within a window, and l-diverse groups in them.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame(
    ...     {"who": list("abcdef"), "day": [1, 1, 1, 2, 2, 2], "ill": ["flu", "flu", "x", "x", "y", "x"]}
    ... )
    >>> table = EventTable(frame, Schema(person="who", order="day", sensitive={"ill": "all"}))
    >>> method = Reposition(l=2, window=2, snapshot="order", then="none")
    >>> release = method.apply(table, seed="a sentence nobody guesses")
    >>> release.frame.group_by("time").len().sort("time").rows()
    [('1', 2), ('2', 4)]
    >>> release.verdict
    Verdict(holds=True, achieved={'l': 2.0}, witnesses=())

    References
    ----------
    Wang, Xu, Wong, Fu (2010), OptimalReposition with at least one record per level-lifting step.
    """

    name: ClassVar[str] = "reposition"
    changes: ClassVar[str] = (
        "Publishes records up to a window later than they came, the fewest and as near as possible, and "
        "leaves out those that find no place; the persons' histories are not released."
    )
    use_when: ClassVar[str] = (
        "Records come day by day, each day must be published by itself and on time, and small days are "
        "skewed: case reports, crimes, discharges."
    )
    time_limit: ClassVar[str] = LATE
    serves: ClassVar[Suitability] = Suitability(
        known=frozenset({"time"}),
        release=frozenset({"once", "repeated"}),
        keeps={
            "counts": (BEST, "nearly all records are published, a little later where they have to"),
            "complete": (BEST, "records are moved to later snapshots before any is left out"),
            "records": (GOOD, "what a record says is true, but for when it came"),
        },
        cautions={"repeated": SEVERAL},
    )

    cost: Literal["linear", "quadratic"] | tuple[float, ...] = "quadratic"
    """What moving by a number of snapshots costs: by itself, squared, or a list from distance 0 on."""
    suppression_cost: float | dict[str, float] | None = field(default=None, metadata={"published": False})
    """What leaving a record out costs, for all or per value; without it, more than any distance."""
    first_window: Literal["grow", "ilp"] = "grow"
    """How the first window is settled: snapshot by snapshot, or at once by an integer program."""
    randomize: bool = False
    """Choose among moves of equal cost by chance, and add some: blurs what the method gives away."""

    def __post_init__(self) -> None:
        super().__post_init__()
        cost: object = self.cost  # A configuration may hold anything.
        if isinstance(cost, list):
            object.__setattr__(self, "cost", tuple(cost))
        _ = self.costs
        one_of("first_window", self.first_window, ("grow", "ilp"))
        true_or_false("randomize", self.randomize)

    @property
    def costs(self) -> Costs:
        """The costs of every distance and of suppression."""
        from sequester.methods.reposition.costs import Costs  # noqa: PLC0415  (beside the window)

        return Costs.of(self.cost, window=self.window, suppression=self.suppression_cost)

    def new_window(self, seed: int) -> Window:
        """Make the window that snapshots go through."""
        # Loaded here so that `sequester methods` need not wait for numba.
        from sequester.methods.reposition.window import Window  # noqa: PLC0415

        return Window(
            size=self.window,
            level=self.level,
            costs=self.costs,
            seed=seed,
            randomize=self.randomize,
            first_window=self.first_window,
        )

    def stream(self, *, values: Sequence[str] = (), seed: str | None = None) -> Window:
        """Give the engine itself: ``feed(snapshot)`` with arrays, and ``flush()`` at the end.

        `values` says what the codes of sensitive values mean, where suppression costs differ between them.

        Examples
        --------
        >>> import numpy as np
        >>> stream = Reposition(l=2, window=2).stream(seed="a sentence nobody guesses")
        >>> for codes in ([0, 0, 1], [1, 2], [0, 1]):
        ...     for published in stream.feed(np.array(codes, np.int32)):
        ...         print(published.number, published.homes.tolist(), sorted(published.rows.tolist()))
        0 [0, 0] [1, 2]
        >>> [each.number for each in stream.flush()]
        [1, 2]
        """
        from sequester.methods.reposition.transform import window_seed  # noqa: PLC0415  (as above)
        from sequester.release.randomness import Randomness  # noqa: PLC0415

        window = self.new_window(window_seed(Randomness.of(seed)))
        window.labels = list(values)
        return window
