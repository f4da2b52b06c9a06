"""Clicks on a news site in one day: a few favourite ways through it, and many that nobody else took."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.datasets import SEED
from sequester.datasets.draws import check_n_persons, generator, repeat_keys
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.ragged import offsets_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts


# page category: share of first clicks (in a thousand), chance to stay in it, where those who leave tend to go
_PAGES: dict[str, tuple[int, float, tuple[str, ...]]] = {
    "frontpage": (280, 0.55, ("news", "business", "sports")),
    "news": (80, 0.63, ("frontpage",)),
    "tech": (65, 0.56, ("frontpage", "news")),
    "local": (50, 0.70, ("misc", "frontpage")),
    "opinion": (5, 0.85, ("frontpage", "on-air")),
    "on-air": (165, 0.53, ("misc",)),
    "misc": (5, 0.60, ("local", "on-air")),
    "weather": (75, 0.90, ("frontpage",)),
    "msn-news": (65, 0.56, ("local", "misc")),
    "health": (15, 0.63, ("frontpage", "news")),
    "living": (15, 0.42, ("frontpage", "travel")),
    "business": (55, 0.65, ("frontpage",)),
    "msn-sports": (65, 0.74, ("sports",)),
    "sports": (50, 0.80, ("frontpage", "msn-sports")),
    "summary": (7, 0.30, ("on-air", "news")),
    "bbs": (1, 0.90, ("frontpage",)),
    "travel": (2, 0.33, ("frontpage", "living")),
}
PAGES = tuple(_PAGES)
"""The seventeen categories of page."""
_LONGEST = 1_000
_DAY = np.datetime64("2024-05-14T00:00:00", "s")


def make(*, persons: int = 10_000, seed: str = SEED) -> pl.DataFrame:
    """Make clicks: ``user``, ``at`` and ``page``, the clicks of a user one after the other.

    Half of the users click at most twice, one in a hundred more than thirty times.

    Examples
    --------
    >>> clicks = make(persons=2, seed="any text")
    >>> clicks["user"].unique(maintain_order=True).to_list()
    ['u1', 'u2']
    >>> clicks.equals(make(persons=2, seed="any text"))
    True
    """
    check_n_persons(persons)
    chance = generator("clicks", seed)
    lengths = _lengths(chance, persons)
    pages = _walk(chance, lengths)
    return pl.DataFrame(
        {
            "user": repeat_keys("u", lengths),
            "at": _times(chance, lengths),
            "page": pl.Series(PAGES).gather(pages),
        }
    )


def hierarchies() -> dict[str, Hierarchy]:
    """Return the taxonomy of the pages."""
    return {"page": msnbc()}


def _lengths(chance: np.random.Generator, persons: int) -> Counts:
    """Draw clicks per person; the parameters put 37 % at one click and 10 % above eleven."""
    drawn = np.exp(chance.normal(1.065, 1.11, persons))
    return np.clip(drawn, 1, _LONGEST).astype(np.int64)


def _transitions() -> npt.NDArray[np.float64]:
    """Return, per page, how likely each page is the next: stay, go where many go from here, or anywhere."""
    first = np.array([share for share, _, _ in _PAGES.values()], np.float64)
    chances = np.empty((len(PAGES), len(PAGES)))
    for page, (_, stay, favourites) in enumerate(_PAGES.values()):
        leave = 0.5 * first / first.sum()
        for rank, favourite in enumerate(favourites):
            leave[PAGES.index(favourite)] += 0.5 / 2**rank
        leave[page] = 0.0
        chances[page] = (1 - stay) * leave / leave.sum()
        chances[page, page] = stay
    return chances


def _walk(chance: np.random.Generator, lengths: Counts) -> Codes:
    """Walk all persons at once, one click per round; those who are done drop out."""
    offsets = offsets_of(lengths)
    longest_first = np.argsort(-lengths, kind="stable")
    starts = offsets[:-1][longest_first]
    walkers = np.searchsorted(-lengths[longest_first], -np.arange(lengths.max()), side="left")
    steps = np.cumsum(_transitions(), axis=1)
    first = np.cumsum([share for share, _, _ in _PAGES.values()]) / sum(s for s, _, _ in _PAGES.values())
    pages = np.empty(offsets[-1], np.int32)
    here = np.minimum(np.searchsorted(first, chance.random(len(lengths)), side="right"), len(PAGES) - 1)
    for click, walking in enumerate(walkers):
        if click:
            draw = chance.random(walking)[:, None]
            here = np.minimum((steps[here[:walking]] <= draw).sum(axis=1), len(PAGES) - 1)
        pages[starts[:walking] + click] = here
    return pages


def _times(chance: np.random.Generator, lengths: Counts) -> pl.Series:
    """Start at any hour, most often in the afternoon, and click on after a second to some minutes."""
    offsets = offsets_of(lengths)
    begin = (chance.triangular(0, 15, 24, len(lengths)) * 3600).astype(np.int64)
    gaps = np.clip(np.exp(chance.normal(3.2, 1.2, offsets[-1])), 1, 3600).astype(np.int64)
    gaps[offsets[:-1]] = 0
    since_start = np.cumsum(gaps)
    seconds = since_start - np.repeat(since_start[offsets[:-1]] - begin, lengths)
    return pl.Series((_DAY + seconds.astype("timedelta64[s]")).astype("datetime64[us]"))


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
    """Return a taxonomy of MSNBC's seventeen page categories, by name.

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
