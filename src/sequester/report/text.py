"""Text of a page: numbers, labels and parameters, and the titles of attacks and background knowledge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sequester._repr import number, shown

if TYPE_CHECKING:
    from collections.abc import Iterable


def population_for(shares: Iterable[float]) -> int:
    """Return a round number of persons in which the smallest of some shares is at least one person.

    Examples
    --------
    >>> population_for([0.2, 0.00007]), population_for([0.0]), population_for([0.5])
    (100000, 1000, 100)
    """
    found = [each for each in shares if each > 0]
    if not found:
        return 1000
    # One that differs from a whole number by less than a twentieth is not told finer.
    return next((ten for ten in (100, 1_000, 10_000, 100_000) if min(found) * ten >= 0.95), 1_000_000)


def in_population(share: float, population: int) -> str:
    """Return a share as a number of persons among so many.

    Examples
    --------
    >>> in_population(0.00007, 100_000), in_population(0.0787, 1_000), in_population(1e-9, 1_000_000)
    ('7 in 100,000', '79 in 1,000', 'fewer than 1 in 1,000,000')
    """
    count = round(share * population)
    return f"{'fewer than 1' if share and not count else f'{count:,}'} in {population:,}"


def seconds(value: float) -> str:
    """Return a duration as text.

    Examples
    --------
    >>> seconds(0.004), seconds(0.31), seconds(12.3), seconds(125)
    ('below 0.1 s', '0.3 s', '12 s', '2 min 5 s')
    """
    if value < 0.1:
        return "below 0.1 s"
    if value < 60:
        return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"
    whole = round(value)
    return f"{whole // 60} min {whole % 60} s"


def capitalize_first(text: str) -> str:
    """Return the text with a capital first letter.

    Examples
    --------
    >>> capitalize_first("share of HIV")
    'Share of HIV'
    """
    return text[:1].upper() + text[1:]


def parameter_text(value: object) -> str:
    """Return a parameter as text that needs no knowledge of Python.

    Examples
    --------
    >>> parameter_text(True), parameter_text(None), parameter_text({"Disease": ["HIV"]})
    ('yes', 'none', 'Disease: HIV')
    >>> parameter_text([["a", "b"], ["c"]])
    'a, b; c'
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "none"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, Mapping):
        return (
            "; ".join(f"{parameter_text(key)}: {parameter_text(each)}" for key, each in value.items())
            or "none"
        )
    if isinstance(value, list | tuple):
        nested = any(isinstance(each, list | tuple | Mapping) for each in value)
        return ("; " if nested else ", ").join(parameter_text(each) for each in value) or "none"
    if isinstance(value, set | frozenset):
        return ", ".join(sorted(parameter_text(each) for each in value)) or "none"
    return shown(str(value), 400)


ATTACKS = {
    "marketer": (
        "Expected re-identification (prosecutor)",
        "expected share of targets re-identified by picking at random from the candidate set",
    ),
    "unique": ("Singled out", "share of targets whose candidate set is one person"),
    "below_k": (
        "Fewer than k candidates",
        "share of targets with fewer candidates than promised (5, where nothing is promised)",
    ),
    "prosecutor": (
        "Worst case (prosecutor)",
        "largest probability to re-identify a target known to be in the data: 1 / the smallest candidate set",
    ),
    "journalist": (
        "Worst case (journalist)",
        "largest probability to re-identify a target who may not be in the data",
    ),
    "candidates": ("Median case (prosecutor)", "one over the median size of the candidate set"),
    "absence": ("No candidate", "share of targets that no released person matches"),
    "membership": (
        "Membership inference",
        "how much more often knowledge matches a person of the data than a person who does not exist",
    ),
    "confidence": ("Inference, worst case", "largest share of a candidate set with the same protected value"),
    "at_risk": (
        "Inference of any protected value, worst case",
        "largest share of a candidate set with any protected value",
    ),
    "guess": (
        "Inference, on average",
        "mean share of a candidate set with the target's own protected value; chance: the share of everybody",
    ),
    "group": (
        "Inference of a group, on average",
        "mean share of a candidate set with a value of the same group as the target's own",
    ),
    "close": (
        "Inference within 5%, on average",
        "mean share of a candidate set with a number within 5% of the range around the target's own",
    ),
    "singled_out": ("Singled out by whole columns", "share of persons whose values nobody else has"),
    "refinement": (
        "Refinement of coarse values",
        "share of coarse values that other columns of the same event make finer",
    ),
    "suspects": (
        "Hidden patterns among suspects",
        "share of patterns just below min_support that are hidden ones",
    ),
    "exposed": ("Hidden patterns suspected", "share of the hidden patterns that are just below min_support"),
    "order": (
        "Inference of the order",
        "mean probability to pick the hidden order of known items, among those not excluded",
    ),
    "recognized": (
        "Changes recognized",
        "share of released persons whose record must have been changed, because nobody had such an order",
    ),
    "position": (
        "Inference of positions, on average",
        "mean probability that a position that may have had a secret pattern did",
    ),
    "surest_position": (
        "Inference of positions, worst case",
        "largest share of a secret pattern among positions that look alike",
    ),
    "leakage": (
        "Leakage",
        "largest share of the information about positions that is disclosed (mutual information)",
    ),
    "paper_leakage": (
        "Leakage by the paper's measure",
        "the same by the measure of the promise, which leaves out positions without a secret pattern",
    ),
    "arrival": (
        "Inference by arrival, on average",
        "mean belief in a record's true value of an adversary who knows when it came, and the method",
    ),
    "surest_arrival": (
        "Inference by arrival, worst case",
        "largest such belief in one value, as far as it is true",
    ),
    "moved": ("Moves recognized", "share of records that were moved among those suspected of it"),
    "intersection": (
        "Inference by several snapshots",
        "probability to pick a person's value among those possible in each of their snapshots",
    ),
    "minimality": (
        "Minimality attack, on average",
        "mean belief in a protected value of an adversary who knows all else, and that the method is minimal",
    ),
    "surest_minimality": ("Minimality attack, worst case", "largest such belief in any protected value"),
    "destination": (
        "Re-identification by the whole sequence, on average",
        "mean probability to pick a target among the records that became what their whole sequence becomes",
    ),
    "surest_destination": ("Re-identification by the whole sequence, worst case", "largest such probability"),
}
"""Name of an attack to a title and a definition."""
_VARIANTS = {
    "_narrowed": (
        "columns combined",
        "for an adversary who first refines coarse values by the columns they depend on",
    ),
    "_side_by_side": ("releases side by side", "for an adversary who can tell who is who in all releases"),
    "_shown": ("without suppressed values", "for an adversary who ignores *"),
}
"""Ending of a name to what it adds to a title and a definition."""

KNOWLEDGE = {
    "anywhere": "In any order",
    "ordered": "In order",
    "consecutive": "Consecutive",
    "event": "In one event",
    "generalized": "Generalized",
    "mixed": "Generalized, at several levels",
    "gaps": "With the days between",
    "count": "With the number of events",
    "negative": "With an absent value",
    "sensitive": "With unprotected values",
    "protected": "With another protected value",
    "other_sensitive": "With a value of another attribute",
    "kept": "Kept columns of one event",
    "released": "Any columns of one event",
    "demographics": "Attributes of the person",
    "demographics_events": "Attributes and events",
    "kept_record": "All kept columns",
    "sensitive_record": "All unprotected values",
    "whole_record": "The whole record",
    "dependent": "Columns that depend on others",
    "at_threshold": "Just below the threshold",
    "near_threshold": "Near the threshold",
    "orders": "The items of a pattern",
    "plausible_orders": "The items, and what is plausible",
    "near_orders": "The items, and the threshold",
    "used_orders": "The items, and the method",
    "unseen_pairs": "Orders that nobody had",
    "forbidden": "Forbidden orders",
    "taxonomy": "A secret pattern",
    "mapping": "A secret pattern, and the mapping",
    "snapshot": "A snapshot",
    "group": "A group",
    "minimality": "When records came, and the method",
    "snapshots": "Several snapshots",
    "everybody": "Everybody, and the method",
    "sample": "Everybody of a sample, and the method",
    "whole_sequence": "The whole sequence",
}
"""Kind of knowledge to a title; `docs/attacks.md` defines them."""


def plain_name(name: str) -> str:
    """Return the name of an attack without its variants.

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
    """Return the title of an attack.

    Examples
    --------
    >>> attack_title("marketer"), attack_title("seen_below_support")
    ('Expected re-identification (prosecutor)', 'Seen below support')
    """
    plain, variants = _without_variants(name)
    title = ATTACKS[plain][0] if plain in ATTACKS else _spelled(plain)
    return ", ".join([title, *(_VARIANTS[each][0] for each in variants)])


def attack_means(name: str) -> str:
    """Return the definition of the number of an attack; empty where the attack is not known here.

    Examples
    --------
    >>> attack_means("unique_shown")
    'share of targets whose candidate set is one person, for an adversary who ignores *'
    """
    plain, variants = _without_variants(name)
    if plain not in ATTACKS:
        return ""
    return ", ".join([ATTACKS[plain][1], *(_VARIANTS[each][1] for each in variants)])


def kind_title(kind: str) -> str:
    """Return the title of a kind of background knowledge.

    Examples
    --------
    >>> kind_title("event"), kind_title("all_permutations"), kind_title("")
    ('In one event', 'All permutations', 'Any')
    """
    return KNOWLEDGE.get(kind) or _spelled(kind)


def _spelled(word: str) -> str:
    return word.replace("_", " ").replace("-", " ").strip().capitalize() or "Any"
