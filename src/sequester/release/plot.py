"""A few numbers to be drawn for the steward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """Labels with one number per series. Stays in the house."""

    title: str
    """What is shown."""
    unit: str
    """What the numbers count."""
    labels: tuple[str, ...]
    """What the numbers belong to, in the order they are shown."""
    series: Mapping[str, tuple[float, ...]]
    """Series to its numbers, beside `labels`."""
