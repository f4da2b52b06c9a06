"""What a method is suitable for: four questions about a release, and the answers that it serves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its possible answers."""

    name: str
    """As an option of the command line."""
    text: str
    """What is asked."""
    answers: Mapping[str, str]
    """Answer to what it means."""


RECIPIENT = Question(
    "recipient",
    "Who receives the data?",
    {
        "public": "anybody, including people who will try hard to identify somebody",
        "partner": "a few organizations that have signed an agreement",
        "colleague": "people of the same organization, under its rules",
        "service": "an app or a service to which a person gives their own log",
    },
)
KNOWN = Question(
    "known",
    "What may they know or look for?",
    {
        "few": "a few values or events of a person, in their order",
        "all": "everything about a person but what is sensitive",
        "time": "when a person is in the data",
        "patterns": "nothing about persons: they look for orders of events that you can name",
    },
)
KEEP = Question(
    "keep",
    "What must stay true?",
    {
        "records": "what a record shows is true of its person",
        "complete": "nothing is missing; values may be coarser, or moved",
        "patterns": "which orders of events are frequent",
        "counts": "how many have which value",
        "times": "when something happened",
        "yardstick": "nothing: a simple method to compare others with",
    },
)
RELEASE = Question(
    "release",
    "Is it one release, or will there be more of the same people?",
    {"once": "one release", "repeated": "again and again, as data comes in"},
)
QUESTIONS = (RECIPIENT, KNOWN, KEEP, RELEASE)
"""The four questions, in the order in which they are asked."""

RECIPIENTS_OF_MANY = frozenset({"public", "partner", "colleague"})
"""Who receives data about many persons."""
BEST, GOOD, FAIR = 3, 2, 1
"""How well something is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suitability:
    """The answers that a method serves."""

    known: frozenset[str]
    """What others may know or look for, and still the promise holds."""
    keeps: Mapping[str, tuple[int, str]]
    """What stays true, how well, and why."""
    recipients: frozenset[str] = RECIPIENTS_OF_MANY
    """Who may receive it."""
    release: frozenset[str] = frozenset({"once"})
    """How often the same people may be released."""
    more: Mapping[str, str] = field(default_factory=dict)
    """Why it covers what is known, where the promise does not say it."""
    cautions: Mapping[str, str] = field(default_factory=dict)
    """Answer to what has to be said beside it."""
    most_labels: int | None = None
    """Above so many labels another method of the kind is quicker."""
