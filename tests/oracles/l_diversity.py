"""l-eligibility and l-diversity by the definition: count every value of every place, in fractions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction


def largest_l(values):
    """The largest l for which a set of records is eligible; None without records."""
    counts = Counter(values)
    return min((Fraction(len(values), count) for count in counts.values()), default=None)


def is_eligible(values, level):
    return all(count * Fraction(level) <= len(values) for count in Counter(values).values())


def too_frequent(places, level):
    """Every (place, value, count, size) that breaks the promise; a place leads to its values."""
    return {
        (place, value, count, len(values))
        for place, values in places.items()
        for value, count in Counter(values).items()
        if count * Fraction(level) > len(values)
    }


def achieved(places):
    """The largest l that holds in all places; None where there are no records."""
    return min((largest_l(values) for values in places.values() if values), default=None)


def by_place(rows):
    """Bring (place, value) pairs together: place to its values."""
    places = {}
    for place, value in rows:
        places.setdefault(place, []).append(value)
    return places
