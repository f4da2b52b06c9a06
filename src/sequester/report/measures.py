"""What a release is still good for, in groups that a reader takes in at a glance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from sequester.report.plot import RULE, SERIES
from sequester.report.wording import capital, direction, number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.utility.score import Score

_GROUPS = (
    ("What values lost", ("loss", "ncp", "precision", "discern", "classif", "level", "generaliz")),
    (
        "What is missing or made up",
        (
            "suppress",
            "lost_event",
            "delet",
            "cut_",
            "shorten",
            "unpublish",
            "drop",
            "invent",
            "left_out",
            "absent",
        ),
    ),
    ("How far counts are off", ("query", "visit", "od_", "hotspot", "window", "count")),
    (
        "Whether patterns are kept",
        ("sim1", "sim2", "pattern", "itemset", "kl_", "transition", "rank", "ghost"),
    ),
    (
        "What became of each history",
        (
            "edit",
            "length",
            "gap",
            "displace",
            "predict",
            "event",
            "survival",
            "cayley",
            "touch",
            "moved",
            "distance",
            "trip",
            "attach",
        ),
    ),
)
"""Title, and parts of the names of its measures; the first group that fits has the measure."""
_OTHERS = "What else was measured"
_SPELLED = {
    "ncp": "NCP",
    "iloss": "ILoss",
    "lm": "LM",
    "kl": "KL",
    "sim1": "SIM1",
    "sim2": "SIM2",
    "od": "OD",
}
"""Abbreviations, as their papers write them."""
_FIRST = ("suppress", "lost_event", "lost_person", "time_to", "next_event")
"""Parts of names that decide before others that they also contain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A measure with all that there is to say about it."""

    name: str
    """As in the document."""
    title: str
    """The same as people write it."""
    value: str
    """The number."""
    means: str
    """What it says."""
    direction: str
    """Which way is better, and how far it can go."""
    formula: str
    """How it is computed, where that is said."""
    reference: str
    """Where it is from, where that is said."""
    meter: Markup
    """Where the number lies between the worst and the best; empty where there is no worst."""


def grouped(utility: Mapping[str, Score]) -> list[tuple[str, list[Measure]]]:
    """Put measures that answer the same question together, in the order of the questions."""
    groups: dict[str, list[Measure]] = {title: [] for title in (*(title for title, _ in _GROUPS), _OTHERS)}
    for name, score in utility.items():
        groups[group_of(name)].append(_measure(name, score))
    return [(title, measures) for title, measures in groups.items() if measures]


def group_of(name: str) -> str:
    """Find the question that a measure answers.

    Examples
    --------
    >>> group_of("information_loss"), group_of("query_error"), group_of("sim1")
    ('What values lost', 'How far counts are off', 'Whether patterns are kept')
    >>> group_of("suppressed_events"), group_of("time_to_event"), group_of("xyz")
    ('What is missing or made up', 'What became of each history', 'What else was measured')
    """
    first = next((part for part in _FIRST if part in name), None)
    if first is not None:
        return _GROUPS[1][0] if first.startswith(("suppress", "lost")) else _GROUPS[4][0]
    return next((title for title, parts in _GROUPS if any(part in name for part in parts)), _OTHERS)


def measure_title(name: str) -> str:
    """Write the name of a measure as people do.

    Examples
    --------
    >>> measure_title("information_loss"), measure_title("ncp"), measure_title("kl_items")
    ('Information loss', 'NCP', 'KL items')
    """
    words = [_SPELLED.get(word, word) for word in name.split("_")]
    return capital(" ".join(words))


def _measure(name: str, score: Score) -> Measure:
    return Measure(
        name=name,
        title=measure_title(name),
        value=number(score.value),
        means=score.means,
        direction=direction(score),
        formula=score.formula,
        reference=score.reference,
        meter=_meter(score),
    )


def _meter(score: Score) -> Markup:
    """Draw a line from worst to best with the value on it; it stands beside the number in words."""
    low, high = score.bounds
    if high is None or high <= low:
        return Markup("")
    share = min(max((score.value - low) / (high - low), 0.0), 1.0)
    good = 1 - share if score.goal == "minimize" else share
    width, height, edge = 120, 18, 6
    middle, x = height / 2, edge + (width - 2 * edge) * good
    return Markup(  # noqa: S704  (nothing but numbers)
        f'<svg aria-hidden="true" viewBox="0 0 {width} {height}" width="{width}" height="{height}">'
        f'<line x1="{edge}" y1="{middle}" x2="{width - edge}" y2="{middle}" stroke="{RULE}" stroke-width="4" '
        'stroke-linecap="round"/>'
        f'<line x1="{edge}" y1="{middle}" x2="{x:.1f}" y2="{middle}" stroke="{SERIES[0]}" stroke-width="4" '
        f'stroke-linecap="round"/><circle cx="{x:.1f}" cy="{middle}" r="5" fill="{SERIES[0]}"/></svg>'
    )
