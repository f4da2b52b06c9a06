"""H3 cells as regions, and their parents as groups; needs the extra ``geo``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.data.regions import Regions
from sequester.hierarchies.h3_cells import load_h3

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes

    Reals = npt.NDArray[np.float64]


def h3_regions(lat: Reals, lon: Reals, resolution: int, parts: tuple[str, ...]) -> tuple[Codes, Regions]:
    """Give the region of each point, and the regions."""
    h3 = load_h3()
    # The library takes one place at a time, so each place is asked for once.
    places, place_of_point = np.unique(np.stack([lat, lon], axis=1), axis=0, return_inverse=True)
    names = np.array([h3.latlng_to_cell(*place, resolution) for place in places.tolist()], dtype=object)
    labels, region_of_place = np.unique(names, return_inverse=True)
    groups = {
        label: tuple(h3.cell_to_parent(label, coarse) for coarse in range(resolution - 1, -1, -1))
        for label in labels.tolist()
    }
    # A level at which all cells have one parent says no more than the root.
    n_levels = max((sum(len(set(level)) > 1 for level in zip(*groups.values(), strict=True)), 0))
    groups = {label: above[:n_levels] for label, above in groups.items()}
    nodes = dict.fromkeys([*groups, *(group for above in groups.values() for group in above)])
    outlines = {node: tuple(h3.cell_to_boundary(node)) for node in nodes}
    inner = {node: tuple(h3.cell_to_latlng(node)) for node in nodes}
    codes = region_of_place.reshape(-1).astype(np.int32)[place_of_point.reshape(-1)]
    return codes, Regions(outlines, groups, parts, inner)
