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
        ("marketer", "unique", "singled_out", "below_k", "prosecutor", "journalist", "candidates"),
        ("marketer",),
    ),
    Goal(
        "Learning a protected value",
        ("confidence", "at_risk", "guess", "group", "close"),
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
    "journalist": (
        "Surest pick, presence unknown",
        "largest chance to pick a target for somebody who does not know whether they were released",
    ),
    "candidates": ("Typical pick", "one over the median number of persons whom it fits"),
    "absence": ("No match left", "share of targets whom nobody in the release fits any more"),
    "membership": (
        "Told from strangers",
        "how much more often somebody fits a person of the data than a person who does not exist",
    ),
    "confidence": (
        "Surest conclusion",
        "largest share of a crowd that has one and the same protected value",
    ),
    "at_risk": ("Surest suspicion", "largest share of a crowd that has any protected value"),
    "guess": (
        "Right guesses",
        "mean share of a crowd that has the target's own protected value; chance is the same among everybody",
    ),
    "group": (
        "Right guesses of a group",
        "mean share of a crowd that has a value of the same group as the target's own",
    ),
    "close": (
        "Close guesses",
        "mean share of a crowd that has a number within 5% of the range around the target's own",
    ),
    "singled_out": (
        "Singled out by whole columns",
        "share of persons of whom nobody else has the same values",
    ),
    "given_back": (
        "Given back",
        "share of coarse values that can be made finer by reading other columns of the same event",
    ),
    "suspects": (
        "Secret among suspects",
        "share of patterns just below min_support that really are hidden ones",
    ),
    "exposed": ("Hidden patterns suspected", "share of the hidden patterns that lie just below min_support"),
    "order": (
        "Order guessed",
        "mean chance to pick the hidden order of items that are known, among those not excluded",
    ),
    "recognized": (
        "Changes recognized",
        "share of released persons whose record must have been changed, because nobody had such an order",
    ),
    "position": (
        "Places pointed at",
        "mean chance that a place which may have been a secret pattern was one",
    ),
    "surest_position": (
        "Surest place",
        "largest share of a secret pattern among places that look alike",
    ),
    "leakage": (
        "Leakage",
        "largest share of what could be learned about the places that is learned (mutual information)",
    ),
    "paper_leakage": (
        "Leakage by the paper's measure",
        "largest share of it by the measure of the promise, which leaves out places without a secret pattern",
    ),
    "arrival": (
        "Value by arrival",
        "mean belief in a record's true value of somebody who knows when it came, and the method",
    ),
    "surest_arrival": ("Surest value by arrival", "largest such belief in one value, as far as it is true"),
    "moved": ("Moves recognized", "share of records that were moved among those suspected of it"),
    "intersection": (
        "Value by several snapshots",
        "chance to pick a person's value among those that are possible in each of their snapshots",
    ),
    "minimality": (
        "Belief by the method",
        "mean belief in a protected value of somebody who knows all else, and that nothing needless was done",
    ),
    "surest_minimality": ("Surest belief by the method", "largest such belief in any protected value"),
    "destination": (
        "Found by the whole sequence",
        "mean chance to pick a target among the records that became what their whole sequence becomes",
    ),
    "surest_destination": ("Surest find by the whole sequence", "largest such chance"),
}
"""Name of an attack to a title and a definition."""
_VARIANTS = {
    "_narrowed": (
        "columns combined",
        "for somebody who first makes coarse values finer by the columns they depend on",
    ),
    "_shown": ("stars not counted", "for somebody who takes * for nothing at all"),
}
"""Ending of a name to what it adds to a title and a definition."""

KINDS = {
    "anywhere": ("In any order", "values of any events, in no order"),
    "ordered": ("In order", "one value of each of several events, in their order, others in between or not"),
    "consecutive": ("In a row", "one value of each of several events that follow each other directly"),
    "event": ("In one event", "several values of one event"),
    "generalized": ("Roughly", "ordered values, those of one column equally coarse"),
    "mixed": ("Some roughly, some precisely", "ordered values, each at a level of its own"),
    "gaps": ("With the days between", "ordered values and the days from one event to the next"),
    "count": ("With the number of events", "ordered values, one fewer, and how many events there are"),
    "negative": ("With what never was", "ordered values, one fewer, and something the person never had"),
    "sensitive": ("With unprotected values", "values of any events, one of them sensitive but not protected"),
    "protected": ("With another protected value", "values of any events, one of them a protected value"),
    "kept": ("Kept columns of one event", "several kept values of one event"),
    "released": (
        "Any columns of one event",
        "several released values of one event, one of them kept, or sensitive but not protected",
    ),
    "kept_record": ("All kept columns", "the kept values of all events of a person, in order"),
    "sensitive_record": (
        "All unprotected values",
        "the unprotected sensitive values of all events of a person, in order",
    ),
    "whole_record": ("The whole record", "everything that is released of a person, protected values aside"),
    "dependent": ("Columns that depend on others", "the released values of the other columns"),
    "at_threshold": ("Just below the threshold", "patterns with one supporter fewer than min_support"),
    "near_threshold": ("Near the threshold", "patterns with up to a tenth fewer supporters than min_support"),
    "orders": ("The items of a pattern", "which items it has; frequent orders are excluded"),
    "plausible_orders": ("The items, and what is plausible", "orders that nobody had are excluded, too"),
    "near_orders": ("The items, and the threshold", "orders far below min_support are excluded, too"),
    "used_orders": ("The items, and the method", "orders that the method never uses are excluded"),
    "unseen_pairs": ("Orders that nobody had", "pairs of items that never stood in this order"),
    "forbidden": ("Forbidden orders", "patterns that were declared impossible"),
    "taxonomy": ("A secret pattern", "which pattern it is, and the taxonomy"),
    "mapping": ("A secret pattern, and the mapping", "also what each symbol was released as"),
    "snapshot": ("A snapshot", "in which snapshot a record was published"),
    "group": ("A group", "in which group a record was published"),
    "minimality": ("When records came, and the method", "how many records came when"),
    "snapshots": ("Several snapshots", "the quasi-identifiers of a person, and when they came"),
    "everybody": ("Everybody, and the method", "the quasi-identifiers of all persons"),
    "sample": (
        "Everybody of a sample, and the method",
        "the quasi-identifiers of some persons, as if they were all",
    ),
    "whole_sequence": ("The whole sequence", "all items of a person, and the method"),
}
"""Kind of knowledge to a title and a definition."""


def plain_name(name: str) -> str:
    """Give the name of an attack without what it varies.

    Examples
    --------
    >>> plain_name("confidence_shown_narrowed")
    'confidence'
    """
    return _without_variants(name)[0]


def _without_variants(name: str) -> tuple[str, list[str]]:
    variants = [ending for ending in _VARIANTS if name.endswith(ending) or f"{ending}_" in name]
    for ending in variants:
        name = name.replace(ending, "")
    return name, variants


def attack_title(name: str) -> str:
    """Say what an attack is called on a page.

    Examples
    --------
    >>> attack_title("marketer"), attack_title("confidence_shown"), attack_title("seen_below_support")
    ('Persons found', 'Surest conclusion, stars not counted', 'Seen below support')
    """
    plain, variants = _without_variants(name)
    title = NAMES[plain][0] if plain in NAMES else _spelled(plain)
    return ", ".join([title, *(_VARIANTS[each][0] for each in variants)])


def attack_means(name: str) -> str:
    """Say what the number of an attack means; nothing where the attack is not known here.

    Examples
    --------
    >>> attack_means("unique_shown")
    'share of targets whom nobody else fits, for somebody who takes * for nothing at all'
    """
    plain, variants = _without_variants(name)
    if plain not in NAMES:
        return ""
    return ", ".join([NAMES[plain][1], *(_VARIANTS[each][1] for each in variants)])


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
