"""How many generalized values their neighbours give back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.attacks.risk import Risk
from sequester.attacks.share import Share
from sequester.datasets.draws import generator

if TYPE_CHECKING:
    from sequester.attacks.narrowing import Narrowing
    from sequester.attacks.world import World


def given_back(world: World, narrowing: Narrowing) -> Risk:
    """Give the share of generalized values of dependent columns that somebody can make finer.

    They read what is released of the other columns of the same event. All values are looked at, so the share
    is exact. In the control the values of every column are dealt out anew, so that neighbours do not belong
    together; nothing of the original is generalized.
    """
    cells = world.ground.cells(world.released.sequences)
    rng = generator("attack control", world.seed)
    dealt = np.stack([rng.permutation(column) for column in cells.T], axis=1)
    finer, coarse = narrowing.given_back(cells)
    release, control = Share.counted(finer, coarse), Share.counted(*narrowing.given_back(dealt))
    return Risk(
        release.value,
        release.interval,
        0.0,
        control,
        raw=Share.counted(0, 0),
        name="given_back",
        kind="dependent",
        targets=coarse,
    )
