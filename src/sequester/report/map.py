"""A map of regions as inline SVG: shaded by visits, frequent ways drawn; no tiles, no network, no script."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup, escape

from sequester._repr import display_width, shown
from sequester.data.trajectories import METRES_PER_DEGREE
from sequester.hierarchies.labels import counted
from sequester.mining.support import sequences_of
from sequester.release.plot import INK, RULE, SERIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from sequester._typing import Counts
    from sequester.data.places import Regions
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.release.release import Release

    Point = npt.NDArray[np.float64]

REGION = "region"
"""The column of regions."""
WAYS = 20
"""The most frequent ways from one region to another that are drawn."""
_WIDTH = 436.0
_TALLEST = 560.0
_EDGE = 6.0
_KEY = 30.0
_LETTER = 7.0
_FAINTEST, _FULLEST = 0.08, 0.85


@dataclass(frozen=True, slots=True)
class Traffic:
    """Visits of regions, and ways from one to the next."""

    regions: tuple[str, ...]
    """The regions that are visited, parts of the day put together."""
    visits: Counts
    """Visits of each."""
    ways: tuple[tuple[int, int, int], ...]
    """The most frequent ways: from, to, and how often."""

    @classmethod
    def of(cls, regions: Regions, data: EventTable | Sequences, *, ways: int = WAYS) -> Traffic:
        """Return the visits and ways of a table, original or released.

        Examples
        --------
        >>> from sequester.data.places import Regions, box
        >>> from sequester.data.sequences import Sequences
        >>> regions = Regions({"a": box(0, 0, 1, 1), "b": box(0, 1, 1, 2)}, {"a": (), "b": ()})
        >>> traffic = Traffic.of(regions, Sequences.from_rows(["aba", "ab"], column="region"))
        >>> traffic.visits.tolist(), traffic.ways
        ([3, 2], ((0, 1, 2), (1, 0, 1)))
        """
        sequences = sequences_of(data)
        codes, labels = sequences.columns[REGION], sequences.codebooks[REGION].labels
        places = [regions.split(label)[0] for label in labels]
        names = tuple(dict.fromkeys(place for place in places if place in regions.outlines))
        numbers = np.array([names.index(p) if p in regions.outlines else -1 for p in places], np.int64)
        at = numbers[codes]
        visits = np.bincount(at[at >= 0], minlength=len(names)).astype(np.int64)
        is_first = np.zeros(len(at) + 1, np.bool_)
        is_first[sequences.person_offsets] = True
        moves = (at[:-1] >= 0) & (at[1:] >= 0) & (at[:-1] != at[1:]) & ~is_first[1:-1]
        pairs, counts = np.unique(at[:-1][moves] * len(names) + at[1:][moves], return_counts=True)
        most = np.argsort(-counts, kind="stable")[:ways]
        drawn = tuple((int(pairs[i]) // len(names), int(pairs[i]) % len(names), int(counts[i])) for i in most)
        return cls(names, visits, drawn)


def draw_map(
    regions: Regions,
    data: EventTable | Sequences,
    *,
    title: str = "Visits per region",
    beside: Sequence[EventTable | Sequences] = (),
) -> Markup:
    """Draw the regions that `data` visits, darker where visits are many, and its most frequent ways.

    `beside` are other tables, such as the data before, that share the frame of the map and its scale.

    Examples
    --------
    >>> from sequester.data.places import Regions, box
    >>> from sequester.data.sequences import Sequences
    >>> regions = Regions({"a": box(0, 0, 1, 1), "b": box(0, 1, 1, 2)}, {"a": (), "b": ()})
    >>> svg = draw_map(regions, Sequences.from_rows(["ab", "ab", "a"], column="region"))
    >>> svg.count("<polygon"), svg.count("<line")
    (2, 1)
    """
    here, *others = (Traffic.of(regions, each) for each in (data, *beside))
    view = _View.around(regions, [here, *others])
    busiest = max((int(each.visits.max(initial=0)) for each in (here, *others)), default=0) or 1
    most = max((way[2] for each in (here, *others) for way in each.ways), default=0) or 1
    size = f"{view.width:.0f}", f"{view.height:.0f}"
    opening = f'<svg role="img" aria-label="{escape(title)}" viewBox="0 0 {size[0]} {size[1]}" '
    parts = [f'{opening}width="{size[0]}" height="{size[1]}">']
    # The largest first, so that what lies inside a group is not hidden by it.
    by_size = np.argsort([-np.prod(view.extent(regions, name)) for name in here.regions], kind="stable")
    for place in by_size.tolist():
        name, visits = here.regions[place], int(here.visits[place])
        shade = _FAINTEST + (_FULLEST - _FAINTEST) * visits / busiest
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in view.points(regions.outlines[name]).tolist())
        parts.append(
            f'<polygon points="{corners}" fill="{SERIES[0]}" fill-opacity="{shade:.2f}" stroke="{RULE}">'
            f"<title>{escape(shown(name, 40))}: {counted(visits, 'visit', 'visits')}</title></polygon>"
        )
    centres = view.points(regions.centres(here.regions))
    for start, end, count in here.ways:
        names = " to ".join(shown(here.regions[place], 40) for place in (start, end))
        about = f"{names}: {counted(count, 'time', 'times')}"
        parts.append(_arrow(centres[start], centres[end], 1 + 3 * count / most, about))
    parts += [
        _name(name, centre, view.extent(regions, name))
        for name, centre in zip(here.regions, centres, strict=True)
    ]
    if here.regions:
        parts.append(_key(view, busiest, most if here.ways else 0))
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704  (labels are escaped below)


def _arrow(start: Point, end: Point, width: float, about: str) -> str:
    """Draw a way a little to the right of the straight line, so that the way back lies beside it."""
    along = (end - start) / max(float(np.hypot(*(end - start))), 1e-9)
    right = np.array([-along[1], along[0]])
    side = (1 + width / 2) * right
    head = 3 + 1.5 * width
    (x, y), (tip_x, tip_y) = (start + side).tolist(), (end + side).tolist()
    neck_x, neck_y = (end + side - head * along).tolist()
    (left_x, left_y), (right_x, right_y) = (
        (end + side - head * along + hand * head / 2 * right).tolist() for hand in (-1, 1)
    )
    return (
        f'<g stroke="{SERIES[1]}" fill="{SERIES[1]}" opacity="0.75"><title>{escape(about)}</title>'
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{neck_x:.1f}" y2="{neck_y:.1f}" stroke-width="{width:.1f}" />'
        f'<path d="M{tip_x:.1f} {tip_y:.1f}L{left_x:.1f} {left_y:.1f}L{right_x:.1f} {right_y:.1f}Z" '
        'stroke="none" /></g>'
    )


def _name(name: str, centre: Point, extent: Point) -> str:
    """Write the name of a region in its middle, where there is room for it."""
    text = shown(name, 12)
    if extent[0] < _LETTER * (display_width(text) + 1) or extent[1] < 2 * _LETTER:
        return ""
    x, y = centre.tolist()
    return (
        f'<text x="{x:.1f}" y="{y + _LETTER / 2:.1f}" text-anchor="middle" font-size="10" fill="{INK}" '
        f'stroke="#fff" stroke-width="2" paint-order="stroke" pointer-events="none">{escape(text)}</text>'
    )


def _key(view: _View, busiest: int, most: int) -> str:
    """Draw how long a kilometre is, and say what the darkest region and the widest way stand for."""
    metres, length = view.rule()
    y = view.height - _EDGE - 6
    named = f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"
    ways = f"; widest way: {counted(most, 'time', 'times')}" if most else ""
    return (
        f'<path d="M{_EDGE} {y - 4:.1f}v4h{length:.1f}v-4" fill="none" stroke="{INK}" />'
        f'<text x="{_EDGE + length + 5:.1f}" y="{y:.1f}" font-size="11" fill="{INK}">{named}</text>'
        f'<text x="{view.width - _EDGE}" y="{y:.1f}" font-size="11" fill="{INK}" text-anchor="end">'
        f"darkest: {counted(busiest, 'visit', 'visits')}{ways}</text>"
    )


@dataclass(frozen=True, slots=True)
class Map:
    """A drawing with its title."""

    title: str
    """What is drawn."""
    drawing: Markup
    """The SVG."""


def maps(release: Release, original: EventTable | None = None) -> list[Map]:
    """Return maps of a release and of the original; none where there are no places."""
    if release.regions is None:
        return []
    table = release.table
    if original is None:
        return [Map("Visits per region", draw_map(release.regions, table))]
    before = draw_map(release.regions, original, title="Visits per region, before", beside=[table])
    after = draw_map(release.regions, table, title="Visits per region, after", beside=[original])
    return [Map("Visits per region, before", before), Map("Visits per region, after", after)]


@dataclass(frozen=True, slots=True)
class _View:
    """From degrees to the picture."""

    south: float
    west: float
    stretch: float
    scale: float
    width: float
    height: float

    @classmethod
    def around(cls, regions: Regions, shown: list[Traffic]) -> _View:
        names = {name for each in shown for name in each.regions}
        corners = np.array([corner for name in sorted(names) for corner in regions.outlines[name]])
        if not corners.size:
            return cls(0, 0, 1, 1, _WIDTH, _KEY)
        (south, west), (north, east) = corners.min(axis=0), corners.max(axis=0)
        stretch = float(np.cos(np.radians((south + north) / 2)))
        wide, tall = max((east - west) * stretch, 1e-9), max(north - south, 1e-9)
        scale = min((_WIDTH - 2 * _EDGE) / wide, (_TALLEST - 2 * _EDGE) / tall)
        return cls(south, west, stretch, scale, _WIDTH, tall * scale + 2 * _EDGE + _KEY)

    def rule(self) -> tuple[float, float]:
        """Return a round number of metres at most a quarter of the picture wide, and its width."""
        pixels = self.scale / METRES_PER_DEGREE
        most = _WIDTH / 4 / pixels
        ten = 10.0 ** np.floor(np.log10(most))
        metres = max(step * ten for step in (1, 2, 5) if step * ten <= most)
        return float(metres), float(metres * pixels)

    def points(self, places: npt.ArrayLike) -> npt.NDArray[np.float64]:
        degrees = np.asarray(places, np.float64).reshape(-1, 2)
        x = _EDGE + (degrees[:, 1] - self.west) * self.stretch * self.scale
        y = self.height - _EDGE - _KEY - (degrees[:, 0] - self.south) * self.scale
        return np.stack([x, y], axis=1)

    def extent(self, regions: Regions, name: str) -> Point:
        """Return the width and height of a region in the picture."""
        points = self.points(regions.outlines[name])
        extent: Point = points.max(axis=0) - points.min(axis=0)
        return extent
