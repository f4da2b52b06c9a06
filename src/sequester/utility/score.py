"""What every utility measure answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One number about what a release is still good for, with its direction and range."""

    value: float
    """The number."""
    goal: Literal["minimize", "maximize"]
    """Which way is better."""
    bounds: tuple[float, float | None]
    """Smallest and largest possible value; None where there is no largest."""
    means: str
    """What the number says, in one sentence, with its parameters."""
    formula: str = ""
    """How it is computed, as it would be written on paper."""
    reference: str = ""
    """Where the definition is from, and where it was completed."""
