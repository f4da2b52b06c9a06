"""What the attacks are called on a page, and what their numbers mean."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Goal:
    """What adversaries are after, in a few words."""

    title: str
    """The heading of its attacks."""
    attacks: tuple[str, ...]
    """Their names, the most telling first."""
    drawn: tuple[str, ...]
    """Those whose curves are drawn."""


GOALS = (
    Goal(
        "Finding a person",
        ("marketer", "unique", "below_k", "prosecutor", "prosecutor_shown", "journalist", "candidates"),
        ("marketer",),
    ),
    Goal(
        "Learning a protected value",
        ("confidence", "confidence_shown", "at_risk", "guess", "group", "close"),
        ("confidence",),
    ),
    Goal("Telling who is in the data", ("membership", "absence"), ()),
)
"""In the order of the page; what belongs to none of them stands last, under its own name."""

NAMES = {
    "marketer": (
        "Persons found",
        "expected share of targets who are found by picking one of all whom they fit",
    ),
    "unique": ("Alone", "share of targets whom nobody else fits"),
    "below_k": (
        "In a small crowd",
        "share of targets who share it with fewer persons than are promised (5, where none are)",
    ),
    "prosecutor": (
        "Surest pick",
        "largest chance to pick a target who is known to be there: one over the smallest crowd",
    ),
    "prosecutor_shown": (
        "Surest pick, stars not counted",
        "the same for somebody who takes * for nothing at all",
    ),
    "journalist": (
        "Surest pick, presence unknown",
        "the same for somebody who does not know whether the target was released",
    ),
    "candidates": ("Typical pick", "one over the median number of persons whom it fits"),
    "absence": ("No match left", "share of targets whom nobody in the release fits any more"),
    "membership": (
        "Told from strangers",
        "how much more often somebody fits a person of the data than a person who does not exist",
    ),
    "confidence": ("Surest conclusion", "largest share of a crowd that has one and the same protected value"),
    "confidence_shown": (
        "Surest conclusion, stars not counted",
        "the same for somebody who takes * for nothing at all",
    ),
    "at_risk": ("Surest suspicion", "largest share of a crowd that has any protected value"),
    "guess": (
        "Right guesses",
        "mean share of a crowd that has the target's own protected value; chance is the same among everybody",
    ),
    "group": ("Right guesses of a group", "the same for groups of similar values"),
    "close": ("Close guesses", "the same for numbers within 5% of the range"),
}
"""Name of an attack to a title and a definition."""

KINDS = {
    "anywhere": ("In any order", "values of any events, in no order"),
    "ordered": ("In order", "one value of each of several events, in their order, others in between or not"),
    "consecutive": ("In a row", "the same of events that follow each other directly"),
    "event": ("In one event", "several values of one event"),
    "generalized": ("Roughly", "ordered values, each as coarse as chance wills"),
    "gaps": ("With the days between", "ordered values and the days from one event to the next"),
    "count": ("With the number of events", "ordered values, one fewer, and how many events there are"),
    "negative": ("With what never was", "ordered values, one fewer, and something the person never had"),
    "sensitive": ("With unprotected values", "values of any events, one of them sensitive but not protected"),
}
"""Kind of knowledge to a title and a definition."""


def attack_title(name: str) -> str:
    """Say what an attack is called on a page.

    Examples
    --------
    >>> attack_title("marketer"), attack_title("seen_below_support")
    ('Persons found', 'Seen below support')
    """
    return NAMES[name][0] if name in NAMES else _spelled(name)


def kind_title(kind: str) -> str:
    """Say what a kind of knowledge is called on a page.

    Examples
    --------
    >>> kind_title("event"), kind_title("all_permutations"), kind_title("")
    ('In one event', 'All permutations', 'Any')
    """
    return KINDS[kind][0] if kind in KINDS else _spelled(kind)


def _spelled(word: str) -> str:
    return word.replace("_", " ").replace("-", " ").strip().capitalize() or "Any"
