"""Taxonomies for public data that comes without one. They are ours: the publishers give none."""

from __future__ import annotations

from sequester.datasets.draws import at_least
from sequester.hierarchies.hierarchy import Hierarchy

_MSNBC = {
    "Overview": ["frontpage", "summary", "on-air", "misc"],
    "News": {
        "Current": ["news", "msn-news", "local", "weather"],
        "Expert": ["business", "tech", "opinion"],
    },
    "Social": {
        "Sport": ["sports", "msn-sports"],
        "Life": ["health", "living", "travel", "bbs"],
    },
}


def msnbc() -> Hierarchy:
    """Give a taxonomy of MSNBC's seventeen page categories, by name.

    Bonomi, Fan and Jin draw one (Figure 3), of which the text names the inner nodes Social, with health and
    sports below it, and Overview. The rest of this one is ours.

    Examples
    --------
    >>> print(msnbc())
    * (17 leaves)
      News (7 leaves)
        Current (4 leaves)
          local
          msn-news
          news
          weather
        Expert (3 leaves)
          business
          opinion
          tech
      Overview (4 leaves)
        frontpage
        misc
        on-air
        summary
      Social (6 leaves)
        Life (4 leaves)
          bbs
          health
          living
          travel
        Sport (2 leaves)
          msn-sports
          sports
    """
    return Hierarchy.from_tree(_MSNBC)


def areas(n_areas: int, *, first: int = 1, width: int = 10) -> Hierarchy:
    """Give a taxonomy of numbered areas in bins of ten consecutive numbers, as for Reality Mining.

    Examples
    --------
    >>> tens = areas(69)
    >>> tens.level_labels(1)
    ('[11:20]', '[1:10]', '[21:30]', '[31:40]', '[41:50]', '[51:60]', '[61:69]')
    >>> tens.generalize("65", 1)
    '[61:69]'
    """
    at_least("n_areas", n_areas, 1)
    at_least("width", width, 2)
    last = first + n_areas - 1
    bins = {}
    for low in range(first, last + 1, width):
        high = min(low + width - 1, last)
        # A bin of one number is the number itself.
        bins[f"[{low}:{high}]" if high > low else str(low)] = (
            [str(number) for number in range(low, high + 1)] if high > low else {}
        )
    return Hierarchy.from_tree(bins)
