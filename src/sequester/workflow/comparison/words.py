"""What a comparison says in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.errors import ParameterError
from sequester.workflow.comparison.task import PERSONS, RECORDS

if TYPE_CHECKING:
    from sequester.workflow.comparison.task import Knowledge

ADVERSARIES = {
    "found": "share of persons expected to be found",
    "marketer": "mean chance to find a person who is known to be in the release",
    "prosecutor": "largest chance to find a person who is known to be in the release",
    "journalist": "largest chance to find a person, who may not be in the release",
    "candidates": "one over the median number of persons who fit",
    "unique": "share of persons whom nobody else fits",
    "absence": "share of persons whom nobody in the release fits",
    "membership": "advantage in telling who is in the data",
    "guess": "mean chance to guess a protected value",
    "confidence": "largest share of one protected value among those who fit",
    "at_risk": "largest share of protected values among those who fit",
    RECORDS: "mean chance to guess a record's sensitive value",
}
"""What each adversary achieves, as an axis says it."""
HANDING_OUT = (
    "Hand out one of these releases only. Whoever has two can compare them, and learns more than either "
    "promises to hide: what is coarse in one may be fine in the other, and promises do not add up."
)
"""What to know where several releases of the same persons are made."""


def check_adversary(name: str | None) -> None:
    """Refuse an adversary that there is not."""
    if name is not None and name not in ADVERSARIES:
        msg = f"adversary must be one of {', '.join((*PERSONS, RECORDS))}, got {name!r}"
        raise ParameterError(msg)


def known_words(knowledge: Knowledge) -> str:
    """Say what the adversary knows.

    Examples
    --------
    >>> from sequester.workflow.comparison.task import Knowledge
    >>> known_words(Knowledge(kind="ordered", known=2, targets=10))
    'who knows 2 items of a person, of different events and in their order'
    """
    items = "1 item" if knowledge.known == 1 else f"{knowledge.known} items"
    how = "of different events and in their order" if knowledge.kind == "ordered" else "of any events"
    return f"who knows {items} of a person, {how}"


def adversary_words(name: str, knowledge: Knowledge) -> str:
    """Say who the adversary is and what the number means."""
    if name == RECORDS:
        return (
            f"The risk is the {ADVERSARIES[name]}, for somebody who knows when it was published and all its "
            "quasi-identifiers, and so its group, on average over all published records."
        )
    return (
        f"The risk is the {ADVERSARIES[name]}, for somebody {known_words(knowledge)}. "
        f"{knowledge.targets:,} such pieces of knowledge were drawn from the original, the same for all "
        "candidates. It is a measure of linkage, not of everything that a method promises: the page of each "
        "candidate says more."
    )


def rule_words(max_risk: float | None) -> str:
    """Say how the recommended candidate was chosen."""
    if max_risk is not None:
        return (
            "Recommended is the best value of the measure among candidates whose risk, by the upper end of "
            f"its interval, is at most {max_risk:g}."
        )
    return (
        "Recommended is the knee of the frontier: the candidate nearest to the lowest risk and the best "
        "value on it, each counted in shares of the way from best to worst there. It depends on what was "
        "tried, and says where a further step costs much for little. How much risk is right is for you to "
        "say: with a largest risk, the best value within it is recommended."
    )
