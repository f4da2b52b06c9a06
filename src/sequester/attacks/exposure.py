"""What somebody who knows a few items of a person finds, in shares and examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sequester.attacks.items import Kind
    from sequester.attacks.share import Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Items that somebody could know, and the crowd that they leave; no person is named."""

    items: tuple[str, ...]
    """Labels, in order where order counts."""
    persons: int
    """Persons whom they fit."""
    value: str = ""
    """A protected value that some of them have."""
    confidence: float = 0.0
    """The share of them who have it."""

    def to_json(self) -> dict[str, Any]:
        """Give the part of the document that ``inspect --json`` prints."""
        document: dict[str, Any] = {"items": list(self.items), "persons": self.persons}
        return document | ({"value": self.value, "confidence": self.confidence} if self.value else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """How sure somebody can become of a protected value of a person who has it."""

    targets: int
    """Targets with a protected value, of whom the shares are."""
    base_rate: float
    """The largest share of all persons with one protected value: the confidence without any knowledge."""
    largest: float
    """The largest confidence in a value of a target's own."""
    above_half: Share
    """Of the persons with a protected value, those for whom it rises above one half."""
    above_80: Share
    """Of the persons with a protected value, those for whom it rises above 80 %."""
    worst: tuple[Pattern, ...]
    """Some of the items, exactly so many, that tell more than fewer do; the largest confidence first."""

    def to_json(self) -> dict[str, Any]:
        """Give the part of the document that ``inspect --json`` prints."""
        return {
            "targets": self.targets,
            "base_rate": self.base_rate,
            "largest": self.largest,
            "above_half": self.above_half.to_json(),
            "above_80": self.above_80.to_json(),
            "worst": [each.to_json() for each in self.worst],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """What somebody who knows at most `known` items of one kind finds; the worst case over which items."""

    known: int
    """How many items."""
    kind: Kind
    """Of which events."""
    unique: Share
    """Persons of whom some such items fit nobody else."""
    below_5: Share
    """Persons of whom some such items fit fewer than 5 persons, themselves included."""
    below_10: Share
    """Persons of whom some such items fit fewer than 10 persons, themselves included."""
    confidence: Confidence | None
    """None where nobody has a protected value."""
    worst: tuple[Pattern, ...]
    """Some of the items, exactly so many, that leave smaller crowds than fewer do; the smallest first."""
    targets: int
    """Persons who were looked at: everybody, or as many as were drawn."""
    cut: int
    """Targets with so many items that only the rarest were combined, and who may be in smaller crowds yet."""

    def to_json(self) -> dict[str, Any]:
        """Give the part of the document that ``inspect --json`` prints."""
        return {
            "known": self.known,
            "kind": self.kind,
            "unique": self.unique.to_json(),
            "below_5": self.below_5.to_json(),
            "below_10": self.below_10.to_json(),
            "confidence": None if self.confidence is None else self.confidence.to_json(),
            "worst": [each.to_json() for each in self.worst],
            "targets": self.targets,
            "cut": self.cut,
        }
