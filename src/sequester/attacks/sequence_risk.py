"""The mean risk of persons of whom somebody knows the worst that could be known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.attacks.items import Items
from sequester.attacks.search import Search
from sequester.attacks.units import Units
from sequester.engine import LocalEngine, silent
from sequester.errors import ParameterError

if TYPE_CHECKING:
    from sequester.attacks.items import Kind
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress


def sequence_risk(
    table: EventTable,
    *,
    known: int = 2,
    kind: Kind = "ordered",
    engine: Engine | None = None,
    progress: Progress = silent,
) -> float:
    """Give the mean over persons of one over the fewest whom any `known` of their items fit.

    Everything that could be known of everybody is looked at. Somebody with fewer items is known completely.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"user": list("112233"), "n": [1, 2] * 3, "page": list("ababba")})
    >>> table = EventTable(frame, Schema(person="user", order="n", symbol="page"))
    >>> sequence_risk(table, known=1) == 1 / 3, sequence_risk(table) == (1 / 2 + 1 / 2 + 1) / 3
    (True, True)

    References
    ----------
    Pellungrini, Pappalardo, Pratesi, Monreale (2018), A Data Mining Approach to Assess Privacy Risk in Human
    Mobility Data; the location sequence attack of scikit-mobility.
    """
    if known < 1:
        msg = f"known must be at least 1, got {known}"
        raise ParameterError(msg)
    engine = engine or LocalEngine()
    units = Units.of(Items.of(table), kind)
    # With every number as a bound, a target is done with only when no smaller crowd is possible.
    bounds = range(1, table.n_persons + 2)
    search = Search(units, np.arange(table.n_persons), known=known, bounds=bounds)
    for size in range(1, known + 1):
        search.run(size, engine=engine, progress=progress, phase=f"counting crowds ({size} of {known} items)")
    return float((search.n_drawn / search.found.fewest).sum() / max(table.n_persons, 1))
