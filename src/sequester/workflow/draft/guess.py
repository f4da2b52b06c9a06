"""A guess: what is proposed, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Guess:
    """A column and the reason for its role."""

    column: str
    """Its name."""
    why: str
    """The evidence, in one line."""
    doubt: str | None = None
    """What the steward should look at before trusting it."""
