"""Bind hierarchies to the columns of a table: every value of the data has its leaf, or is reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from sequester._typing import Counts
    from sequester.data.problems import Problem
    from sequester.data.schema import Schema
    from sequester.hierarchies.hierarchy import Hierarchy


def bind(
    frame: pl.DataFrame, schema: Schema, labels: dict[str, list[str]], rows: Counts, problems: list[Problem]
) -> dict[str, Hierarchy]:
    """Build the hierarchy of every column in `labels` that has one; what does not fit becomes a problem."""
    return {}
