"""Figures of a benchmark: said aloud, held against their bars, and kept for the page about performance.

A benchmark calls `note` for each figure, equality first. Where the variable ``SEQUESTER_LEDGER`` names a
file, as ``benchmarks/run.py`` sees to, the figures are appended there, one JSON object a line.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

LEDGER = "SEQUESTER_LEDGER"

Kind = Literal["equality", "lead", "cost", "seconds", "memory", "growth", "rate", "loss", "risk", "task"]
"""What a figure is: answers are equal; times faster than another; times slower than another; seconds; peak
bytes; the power of the size that time grows with; per second; a loss of information; what an adversary
achieves; what a classifier achieves."""
MORE_IS_BETTER: tuple[Kind, ...] = ("equality", "lead", "rate", "task")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure, and the bar that it was held against."""

    kind: Kind
    what: str
    """What was measured, on what, beside what."""
    value: float
    """Equality is 1 or 0."""
    bar: float | None = None
    """The least or the most that it may be; None where there is no bar."""

    @property
    def is_met(self) -> bool:
        if self.kind == "equality":
            return bool(self.value)
        if self.bar is None:
            return True
        return self.value >= self.bar if self.kind in MORE_IS_BETTER else self.value <= self.bar

    @property
    def shown(self) -> str:
        return "equal" if self.kind == "equality" and self.value else shown(self.kind, self.value)

    @property
    def shown_bar(self) -> str:
        if self.bar is None:
            return ""
        return f"{'at least' if self.kind in MORE_IS_BETTER else 'at most'} {shown(self.kind, self.bar)}"


def shown(kind: Kind, value: float) -> str:
    """Write a value with its unit."""
    match kind:
        case "equality":
            return "DIFFERENT"
        case "lead" | "cost":
            return f"{value:,.1f} x"
        case "seconds":
            return f"{value:,.1f} s" if value >= 1 else f"{1000 * value:,.3g} ms"
        case "memory":
            return f"{value / 1e9:,.2f} GB"
        case "growth":
            return f"size ^ {value:.2f}"
        case "rate":
            return f"{value:,.0f} /s"
        case "loss" | "risk" | "task":
            return f"{value:.4f}"


def note(kind: Kind, what: str, value: float, *, bar: float | None = None) -> bool:
    """Print a figure, record it, and return whether its bar is met."""
    figure = Figure(kind=kind, what=what, value=float(value), bar=bar)
    held = f" ({figure.shown_bar}: {'met' if figure.is_met else 'MISSED'})" if figure.shown_bar else ""
    print(f"{figure.what}: {figure.shown}{held}", flush=True)
    if os.environ.get(LEDGER):
        with Path(os.environ[LEDGER]).open("a") as file:
            file.write(json.dumps(asdict(figure)) + "\n")
    return figure.is_met


def growth(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the power of the size that the time grows with: 1 is linear, 2 is quadratic."""
    slope, _ = np.polyfit(np.log(sizes), np.log(seconds), 1)
    return float(slope)
