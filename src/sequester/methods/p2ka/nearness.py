"""How near regions count as partly the same when a cut sequence looks for its closest path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester._validation import positive
from sequester.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester._typing import Codes
    from sequester.data.places import Regions


_AT_ONCE = 500
"""Regions whose distances to all others are held at once."""


@dataclass(frozen=True, kw_only=True)
class Near:
    """A region counts the more, the fewer metres lie between it and the one that was visited.

    A pair of equal symbols weighs 1, as it does in a longest common subsequence. A pair of regions whose
    middles are ``d`` metres apart weighs ``1 - d / metres``, and nothing from `metres` on. Where symbols have
    parts of the day, they must be the same; with `minutes`, a gap of ``g`` minutes between two parts takes
    another factor ``1 - g / minutes``. Weights are rounded down to thousandths; only equal symbols reach 1.
    """

    metres: float
    """From this distance on, regions have nothing in common."""
    minutes: float | None = None
    """From this gap on, parts of the day have nothing in common; without it, only equal parts do."""

    def __post_init__(self) -> None:
        positive("nearness: metres", self.metres)
        if self.minutes is not None:
            positive("nearness: minutes", self.minutes)

    @classmethod
    def of(cls, given: object) -> Near:
        """Take a number of metres, or a table of metres and minutes as a configuration or a release has it.

        Examples
        --------
        >>> Near.of(500) == Near.of({"metres": 500})
        True
        """
        if isinstance(given, Near):
            return given
        if not isinstance(given, Mapping):
            return cls(metres=given)  # type: ignore[arg-type]  # anything else is refused there
        if not {"metres"} <= {*given} <= {"metres", "minutes"}:
            msg = f"nearness must be metres, or a table of metres and minutes, got {dict(given)!r}"
            raise ParameterError(msg)
        return cls(**given)

    def unreachable(self, regions: Regions, symbols: Sequence[str]) -> str | None:
        """Return a warning where no region has another so near that it counts; None where some have.

        Examples
        --------
        >>> from sequester.data.places import Regions, box
        >>> squares = {"a": box(0, 0, 0.01, 0.01), "b": box(0, 0.01, 0.01, 0.02)}
        >>> regions = Regions(squares, dict.fromkeys("ab", ()))
        >>> Near(metres=2000).unreachable(regions, ["a", "b"]) is None
        True
        >>> print(Near(metres=500).unreachable(regions, ["a", "b"]))
        nearness of 500 m reaches no neighbour: the middles of the nearest regions are 1,112 m apart
        """
        # Loaded here so that `sequester methods` need not wait for it.
        import numpy as np  # noqa: PLC0415

        places = list(dict.fromkeys(regions.split(symbol)[0] for symbol in symbols))
        nearest = np.inf
        for start in range(0, len(places), _AT_ONCE):
            apart = regions.metres(places[start : start + _AT_ONCE], places)
            np.fill_diagonal(apart[:, start:], np.inf)
            nearest = min(nearest, float(apart.min(initial=np.inf)))
            if nearest < self.metres:
                return None
        if len(places) < 2:
            return None
        return (
            f"nearness of {self.metres:g} m reaches no neighbour: the middles of the nearest regions are "
            f"{nearest:,.0f} m apart"
        )

    def weights(self, regions: Regions, symbols: Sequence[str], others: Sequence[str]) -> Codes:
        """Weigh each of `symbols` with each of `others`, in thousandths.

        Examples
        --------
        >>> from sequester.data.places import Regions, box
        >>> squares = {"a": box(0, 0, 0.01, 0.01), "b": box(0, 0.01, 0.01, 0.02), "c": box(0, 1, 0.01, 1.01)}
        >>> regions = Regions(squares, dict.fromkeys("abc", ()))
        >>> Near(metres=2000).weights(regions, ["a", "b"], ["a", "b", "c"]).tolist()
        [[1000, 444, 0], [444, 1000, 0]]
        """
        # Loaded here so that `sequester methods` need not wait for it.
        import numpy as np  # noqa: PLC0415

        near = np.clip(1 - regions.metres(symbols, others) / self.metres, 0, None)
        if regions.parts:
            parts, other_parts = (
                np.array([regions.split(symbol)[1] for symbol in each]) for each in (symbols, others)
            )
            alike = parts[:, None] == other_parts[None, :]
            if self.minutes is not None:
                gaps = regions.minutes(symbols, others)
                near = near * np.where(alike, 1, np.clip(1 - gaps / self.minutes, 0, None))
            else:
                near = np.where(alike, near, 0)
        weights = np.minimum(np.floor(near * 1000), 999).astype(np.int32)
        weights[np.array(symbols)[:, None] == np.array(others)[None, :]] = 1000
        return weights
