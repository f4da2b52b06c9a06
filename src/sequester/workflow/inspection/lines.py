"""An inspection as lines of text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from sequester.workflow.inspection import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sequester.attacks import Exposure, Share
    from sequester.workflow.inspection.inspection import Inspection

_WIDTH = 100
_BAR = 10
_SHOWN_DEPENDENT = 20
_SHOWN_PATTERNS = 2


def lines(inspection: Inspection, *, bar: str = "█") -> Iterator[str]:
    """Tell everything, section by section; `bar` is what bars are made of."""
    shape = inspection.shape
    yield words.counts(shape)
    if inspection.reading is not None:
        yield from inspection.reading.lines()
    yield ""
    yield "Shape"
    yield from _facts(_shape(inspection))
    yield ""
    yield "Problems"
    yield from (f"  {each.severity}: {each}" for each in inspection.problems)
    if not inspection.problems:
        yield "  none"
    if inspection.dependent:
        yield ""
        yield "Quasi-identifiers that follow from others, so that a coarse one is undone by a fine one"
        yield from (f"  {each}" for each in inspection.dependent[:_SHOWN_DEPENDENT])
        if len(inspection.dependent) > _SHOWN_DEPENDENT:
            yield f"  and {len(inspection.dependent) - _SHOWN_DEPENDENT:,} more"
    yield ""
    yield "What somebody could do today who knows a few items of a person"
    yield from _wrapped(words.worst_case(shape))
    yield from _wrapped(words.drawn(inspection.exposures, shape.persons))
    yield from _wrapped(words.cut(inspection.exposures))
    guesses = [each.confidence for each in inspection.exposures if each.confidence is not None]
    if guesses:
        yield from _wrapped(words.sure_case(guesses[0].base_rate))
    for kind, rows in words.by_kind(inspection.exposures):
        yield ""
        yield from _crowds(kind, rows, bar)
        if rows[-1].confidence is not None:
            yield from _guesses(rows, bar)
    if inspection.singled_out is not None:
        yield ""
        yield "Kept columns and unprotected sensitive values, which no promise covers"
        for each in words.singled_out(inspection.singled_out):
            yield from _wrapped(each)
    if inspection.channels is not None:
        yield ""
        yield "Minimal inference channels"
        yield from _wrapped(words.channels(inspection.channels))
        for length, count in enumerate(inspection.channels.counts, start=1):
            yield f"    {words.items(length):<9}{count:,}"
    if inspection.frequent is not None:
        yield ""
        yield f"Frequent patterns, each of at least {inspection.frequent.min_support:,} persons"
        for items, persons in inspection.frequent.patterns:
            yield f"  {persons:>11,}  {' > '.join(items)}"
        left = inspection.frequent.total - len(inspection.frequent.patterns)
        if left or not inspection.frequent.total:
            yield f"  and {left:,} more" if left else "  none"


def _shape(inspection: Inspection) -> Iterator[tuple[str, str]]:
    shape = inspection.shape
    yield from words.events_of(shape)
    if shape.gaps is not None:
        yield "between events", words.between_events(shape.gaps)
    for column in shape.columns:
        labels = "" if column.labels is None else f", {column.labels:,} labels"
        missing = f", {column.missing:,} missing" if column.missing else ""
        yield column.name, f"{column.role}{labels}{missing}"


def _facts(facts: Iterator[tuple[str, str]]) -> Iterator[str]:
    pairs = list(facts)
    width = min(max(len(name) for name, _ in pairs), 30)
    yield from (f"  {name:<{width}}  {value}" for name, value in pairs)


def _wrapped(text: str, *, indent: int = 2) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=" " * indent, subsequent_indent=" " * indent)


def _crowds(kind: str, rows: list[Exposure], bar: str) -> Iterator[str]:
    yield f"  {kind}: {words.KINDS[kind]}"
    header = ("fits nobody else", "fewer than 5", "fewer than 10")
    yield from _table(header, {each.known: (each.unique, each.below_5, each.below_10) for each in rows}, bar)
    for each in rows:
        for pattern in each.worst[:_SHOWN_PATTERNS]:
            yield f"    {words.persons(pattern.persons)}: {words.knowledge(pattern, kind)}"


def _guesses(rows: list[Exposure], bar: str) -> Iterator[str]:
    found = {each.known: each.confidence for each in rows if each.confidence is not None}
    shares = {known: (each.above_half, each.above_80) for known, each in found.items()}
    yield from _table(("confidence above 50%", "above 80%"), shares, bar)
    for each in found.values():
        for pattern in each.worst[:_SHOWN_PATTERNS]:
            yield (
                f"    {words.persons(pattern.persons)}, {words.percent(pattern.confidence)} with "
                f"{pattern.value}: {words.knowledge(pattern, rows[0].kind)}"
            )


def _table(header: tuple[str, ...], shares: Mapping[int, tuple[Share, ...]], bar: str) -> Iterator[str]:
    cells = {known: [words.with_interval(each) for each in row] for known, row in shares.items()}
    numbers = [max(len(row[place]) for row in cells.values()) for place in range(len(header))]
    widths = [max(len(title), number + 1 + _BAR) for title, number in zip(header, numbers, strict=True)]
    titles = [f"{title:<{width}}" for title, width in zip(header, widths, strict=True)]
    yield f"    {'knows':<9}{'  '.join(titles)}".rstrip()
    for known, row in cells.items():
        parts = [
            f"{f'{cell:>{number}} {bar * round(_BAR * share.value)}':<{width}}"
            for cell, number, width, share in zip(row, numbers, widths, shares[known], strict=True)
        ]
        yield f"    {words.items(known):<9}{'  '.join(parts)}".rstrip()
