"""What a release has suppressed or made so coarse that little is left of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.hierarchies.labels import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester._typing import Counts
    from sequester.hierarchies.hierarchy import Hierarchy

HEAVY = 0.5
"""A generalized value that stands for a larger share of its domain than this has lost its meaning."""
GENERALIZED = "generalized"


def lost_parts(
    changes: pl.DataFrame, hierarchies: Mapping[str, Hierarchy], *, harmless: frozenset[str] = frozenset()
) -> Counts:
    """Number the parts that are lost: events, or values of events where changes name columns.

    Lost is what was removed, replaced by ``*`` or by a value that is not the person's, and what is
    generalized to more than half of its domain. A part has the same number whatever else was changed.

    Examples
    --------
    >>> from sequester.hierarchies import Hierarchy
    >>> tree = Hierarchy.from_tree({"ab": ["a", "b"], "cde": ["c", "d", "e", "f"]})
    >>> changes = pl.DataFrame(
    ...     {
    ...         "row": [1, 2, 3, 4],
    ...         "column": ["x"] * 4,
    ...         "what": ["generalized", "generalized", "suppressed", "dropped"],
    ...         "from": ["a", "c", "d", "e"],
    ...         "to": ["ab", "cde", "*", None],
    ...     }
    ... )
    >>> lost_parts(changes, {"x": tree}).tolist()
    [2, 3, 4]
    """
    is_lost = pl.col("from").is_not_null() & ~pl.col("what").cast(pl.String).is_in(list(harmless))
    columns = sorted(hierarchies)
    has_columns = "column" in changes.columns
    heavy = [
        (pl.col("column") == column if has_columns else pl.lit(value=True))
        & pl.col("to").is_in(
            [label for label, loss in zip(tree.labels, tree.loss, strict=True) if loss > HEAVY]
        )
        for column, tree in hierarchies.items()
    ]
    is_coarse = pl.any_horizontal(pl.col("to") == ROOT, *heavy)
    lost = changes.filter(is_lost & ((pl.col("what").cast(pl.String) != GENERALIZED) | is_coarse))
    rows = lost["row"].to_numpy().astype(np.int64)
    if has_columns:
        places = {column: place for place, column in enumerate(columns)}
        which = lost["column"].replace_strict(places, return_dtype=pl.Int64).to_numpy()
        rows = rows * len(columns) + which
    return np.unique(rows)
