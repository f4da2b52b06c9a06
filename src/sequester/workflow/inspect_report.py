"""An inspection for people: the lines of a terminal, an HTML page, and what a notebook shows."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from sequester._repr import Card, aligned
from sequester.attacks.risk import percent
from sequester.hierarchies.labels import counted
from sequester.release.plot import Figure
from sequester.report.page import Number, Section, template
from sequester.report.plot import bars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from sequester.attacks import AttributeExposure, Exposure, Pattern, Proportion
    from sequester.attacks.singling_out import SinglingOut
    from sequester.workflow.inspect import ChannelCounts, Inspection, Quartiles, Shape


KINDS = {
    "ordered": "items of different events, in their order, with gaps",
    "event": "items of one event",
    "anywhere": "items of any events, in no order",
    "demographics": "attributes of the person alone; in the other kinds they are an event before all others",
}
"""Kinds of background knowledge, in words."""
BY_ATTRIBUTE = (
    "The share of persons whom some values of the attribute, of different events and in order, single out. "
    "Together: values of all attributes, in the worst kind of knowledge."
)
"""What is counted of one attribute alone."""
_WORST_CASE = (
    "The worst case over all background knowledge: a person counts if some of their own items, at most as "
    "many as stated, match that few persons, themselves included."
)
_TOGETHER = " The trips of a person are looked at together, one after the other."


def counts(shape: Shape) -> str:
    """Write how many persons, trips, events and items there are."""
    trips = "" if shape.trips is None else f"{counted(shape.trips, 'trip', 'trips')}, "
    persons, events = counted(shape.persons, "person", "persons"), counted(shape.events, "event", "events")
    return f"{persons}, {trips}{events}, {counted(shape.alphabet, 'different item', 'different items')}"


ONE_PERSON = (
    "There is one person, who cannot be hidden among others. What can be hidden are patterns that you name, "
    "with top-down or bottom-up."
)
"""What is said instead of risks among persons."""


def describe_confidence(base_rate: float) -> str:
    """Describe what is counted about protected values."""
    return (
        "Confidence: of the persons with a protected value, those for whom some of their own items match a "
        "candidate set in which a value of theirs is more common than stated. Without background knowledge "
        f"the most common protected value has a confidence of {percent(base_rate)}, its share of everybody."
    )


def by_kind(exposures: Sequence[Exposure]) -> list[tuple[str, list[Exposure]]]:
    """Bring together what is known in the same way."""
    kinds = dict.fromkeys(each.kind for each in exposures)
    return [(kind, [each for each in exposures if each.kind == kind]) for kind in kinds]


def by_attribute(found: Sequence[AttributeExposure]) -> dict[str, list[Proportion]]:
    """Bring together the shares of each attribute, of 1, 2, ... items."""
    shares: dict[str, list[Proportion]] = {}
    for each in found:
        shares.setdefault(each.attribute, []).append(each.unique)
    return shares


def together(exposures: Sequence[Exposure]) -> list[Proportion]:
    """Return the shares whom 1, 2, ... items of any attributes single out, in the worst kind of knowledge."""
    sizes = dict.fromkeys(each.known for each in exposures)
    return [
        max((each.unique for each in exposures if each.known == size), key=lambda share: share.value)
        for size in sizes
    ]


def items(number: int) -> str:
    """Write how many items are known."""
    return counted(number, "item", "items")


def channels(counts: ChannelCounts) -> str:
    """Describe what a channel is, and how far they were counted."""
    confidence = f", or shows a protected value with a confidence above {percent(counts.c)}"
    text = (
        "A channel is background knowledge of a person, recorded or coarser, that matches fewer than "
        f"{counts.k:,} persons{confidence if counts.c < 1 else ''}. It is minimal if nothing more general is "
        "one. These are what halt has to break."
    )
    if not counts.counts:
        return f"{text} They were not counted, because there is too much to count."
    return f"{text} Counted up to {items(len(counts.counts))}."


def singled_out(found: SinglingOut) -> list[str]:
    """Describe who is singled out by columns that no promise covers, as the data stands."""
    return [f"{line}." for line in found.lines(raw=True)]


def with_interval(share: Proportion) -> str:
    """Write a share with its interval, where it has one."""
    if share.is_exact:
        return percent(share.value)
    low, high = share.interval
    return f"{percent(share.value)} ({percent(low)} to {percent(high)})"


def span(days: float) -> str:
    """Write a time in the unit that suits it.

    Examples
    --------
    >>> span(0), span(25 / 86400), span(0.5), span(1), span(454.0)
    ('0 s', '25 s', '12 h', '1 day', '454 days')
    """
    if days >= 1:
        return counted(round(days), "day", "days")
    for unit, per_day in (("h", 24), ("min", 1_440)):
        if days * per_day >= 1:
            return f"{days * per_day:.0f} {unit}"
    return f"{days * 86_400:.0f} s"


def spread_of(shape: Shape) -> list[tuple[str, str]]:
    """Describe how many events persons and trips have, and how much time lies between events."""
    facts = [("events per person", _spread(shape.events_per_person, "everybody has"))]
    if shape.trips is not None:
        facts.append(("events per trip", _spread(shape.events_per_trip, "every trip has")))
    if shape.days_between_events is not None:
        facts.append(("between events", _spread(shape.days_between_events, "always", half="are", write=span)))
    return facts


def _spread(
    spread: Quartiles | None,
    always: str,
    *,
    half: str = "have",
    write: Callable[[float], str] = "{:,.0f}".format,
) -> str:
    if spread is None:
        return "nobody has any"
    if spread.least == spread.most:
        return f"{always} {write(spread.least)}"
    return (
        f"{write(spread.least)} to {write(spread.most)}; half {half} at most {write(spread.median)}, "
        f"nine in ten at most {write(spread.nine_tenths)}"
    )


def knowledge(pattern: Pattern, kind: str) -> str:
    """Write what is known: items in order, or side by side."""
    return (" > " if kind == "ordered" else " + ").join(pattern.items) or "nothing"


def drawn(exposures: tuple[Exposure, ...], n_persons: int) -> str:
    """Report whether everybody was looked at; empty where they were."""
    targets = exposures[0].targets if exposures else n_persons
    if targets == n_persons:
        return ""
    return (
        f"{targets:,} persons were drawn at random, and their items compared with those of everybody; in "
        f"parentheses, where the share of all {n_persons:,} lies with a confidence of 95%."
    )


def cut(exposures: tuple[Exposure, ...]) -> str:
    """Report whether some items were left out; empty where none were."""
    most = max((each.cut for each in exposures), default=0)
    if not most:
        return ""
    return (
        f"{counted(most, 'person has', 'persons have')} too many items to combine all of them: only the "
        "rarest were combined, and the shares may be larger, up to the upper end in parentheses."
    )


_WIDTH = 100
_SHOWN = 20
"""Remarks and rows of a section that a terminal shows."""


def lines(inspection: Inspection) -> Iterator[str]:
    """Yield the sections of the page as lines for a terminal, without the plots."""
    yield counts(inspection.shape)
    for section in _sections(inspection):
        yield ""
        yield section.title
        for text in section.text:
            yield from textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  ")
        yield from _first([f"  {line}" for line in section.remarks])
        if section.rows:
            header, *rows = aligned([section.header, *section.rows], indent="    ")
            yield header
            yield from _first(rows)


def _first(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield f"  and {len(lines) - _SHOWN:,} more"


_PLOTTED_ATTRIBUTES = 8
_RISK = ("knows", "kind", "singled out", "fewer than 5", "fewer than 10")


def page(inspection: Inspection) -> str:
    """Write everything as one HTML file."""
    return template("sections.html").render(
        kind="Inspection",
        title="Privacy risks of the data as it is",
        lead="Its shape, its problems, and the risk from an adversary who knows a few items of a person.",
        notice=(
            "Internal: do not share this page",
            "It names combinations of values that few persons have, and is as sensitive as the data.",
        ),
        numbers=tuple(_numbers(inspection)),
        sections=tuple(_sections(inspection)),
    )


def _sections(inspection: Inspection) -> Iterator[Section]:
    """Yield everything that is said of the data, for the page and for a terminal."""
    yield from _risk_sections(inspection)
    yield from _confidence_sections(inspection.exposures)
    yield from _uncovered_sections(inspection)
    yield from _data_sections(inspection)


def fragment(inspection: Inspection) -> str:
    """Write a card and the plots as a fragment of HTML without scripts, classes or links."""
    shape = inspection.shape
    card = Card(
        title=counts(shape),
        facts=tuple(spread_of(shape)),
        remarks=(
            *(f"{each.severity}: {each}" for each in inspection.problems),
            *(str(each) for each in inspection.dependent),
            *_remarks(inspection),
            *(() if inspection.singled_out is None else singled_out(inspection.singled_out)),
        ),
        header=_RISK,
        rows=tuple(_risk_rows(inspection.exposures)),
    )
    plots = "".join(
        f'<figure style="margin:0.8em 0"><figcaption>{figure.title} ({figure.unit})</figcaption>'
        f"{bars(figure, title=figure.title)}</figure>"
        for figure in _candidate_set_figures(inspection.exposures)
    )
    return f'<div style="background:#fff;color:#20262e;padding:0.5em">{card.html()}{plots}</div>'


def _remarks(inspection: Inspection) -> Iterator[str]:
    """Describe what is counted about candidate sets, and of whom."""
    together = "" if inspection.shape.trips is None else _TOGETHER
    yield f"{_WORST_CASE}{together}" if inspection.exposures else ONE_PERSON
    yield from filter(
        None, (drawn(inspection.exposures, inspection.shape.persons), cut(inspection.exposures))
    )


def _numbers(inspection: Inspection) -> Iterator[Number]:
    shape = inspection.shape
    yield Number(name="Persons", value=f"{shape.persons:,}")
    if shape.trips is not None:
        yield Number(name="Trips", value=f"{shape.trips:,}")
    yield Number(name="Events", value=f"{shape.events:,}")
    yield Number(name="Different items", value=f"{shape.alphabet:,}")
    if inspection.exposures:
        last = max(inspection.exposures, key=lambda each: each.unique.value)
        about = f"worst case, {items(last.known)} known ({last.kind})"
        yield Number(name="Unique persons", value=percent(last.unique.value), about=about)
    if inspection.singled_out is not None:
        found = inspection.singled_out
        columns = [*(["kept columns"] if found.kept else []), *(["unprotected"] if found.sensitive else [])]
        yield Number(
            name="Singled out",
            value=percent(found.share(found.by_all)),
            about=f"by everything that would be released, {' and '.join(columns)} included",
        )


def _risk_sections(inspection: Inspection) -> Iterator[Section]:
    exposures = inspection.exposures
    yield Section(
        title="Re-identification risk from an adversary who knows a few items of a person",
        text=tuple(_remarks(inspection)),
        remarks=tuple(f"{kind}: {KINDS[kind]}" for kind in dict.fromkeys(each.kind for each in exposures)),
        figures=tuple(_candidate_set_figures(exposures)),
        header=_RISK,
        rows=tuple(_risk_rows(exposures)),
    )
    if inspection.by_attribute:
        alone, all_together = by_attribute(inspection.by_attribute), together(exposures)
        yield Section(
            title="Persons singled out by one attribute alone, and by all together",
            text=(BY_ATTRIBUTE,),
            figures=tuple(_attribute_figures(alone, all_together, exposures[0].targets)),
            header=("attribute", *map(items, range(1, len(all_together) + 1))),
            rows=tuple(
                (name, *map(with_interval, shares))
                for name, shares in (*alone.items(), ("all together", all_together))
            ),
        )
    # What one item leads to is the same for all kinds.
    worst = [
        (each, pattern)
        for each in exposures
        if each.known > 1 or each.kind == exposures[0].kind
        for pattern in each.worst
    ]
    if worst:
        yield Section(
            title="Smallest combinations of items that match the fewest persons",
            header=("items", "kind", "persons"),
            rows=tuple(
                (knowledge(pattern, each.kind), each.kind, f"{pattern.persons:,}") for each, pattern in worst
            ),
        )


def _uncovered_sections(inspection: Inspection) -> Iterator[Section]:
    if inspection.singled_out is not None:
        found = inspection.singled_out
        yield Section(
            title="Kept columns and unprotected sensitive values, which no promise covers",
            text=tuple(singled_out(found)),
            header=("kept column", "singled out by it alone") if found.by_column else (),
            rows=tuple((name, percent(found.share(count))) for name, count in found.by_column),
        )
    if inspection.channels is not None:
        yield Section(
            title="Minimal inference channels",
            text=(channels(inspection.channels),),
            header=("length", "minimal channels"),
            rows=tuple(
                (items(length), f"{count:,}")
                for length, count in enumerate(inspection.channels.counts, start=1)
            ),
        )


def _data_sections(inspection: Inspection) -> Iterator[Section]:
    if any("quasi" in column.role for column in inspection.shape.columns):
        yield Section(
            title="Quasi-identifiers that follow from others",
            text=(
                "What is made coarse in one column is undone by a finer one that says the same."
                if inspection.dependent
                else "No quasi-identifier follows from another, or is the sum or difference of two others.",
            ),
            remarks=tuple(map(str, inspection.dependent)),
        )
    yield Section(
        title="Problems in the data",
        text=() if inspection.problems else ("None.",),
        remarks=(
            *(f"{each.severity}: {each}" for each in inspection.problems),
            *(() if inspection.reading is None else inspection.reading.lines()),
        ),
    )
    yield Section(
        title="Shape",
        text=tuple(f"{what.capitalize()}: {spread}." for what, spread in spread_of(inspection.shape)),
        header=("column", "role", "different values", "missing"),
        rows=tuple(
            (each.name, each.role, "" if each.labels is None else f"{each.labels:,}", f"{each.missing:,}")
            for each in inspection.shape.columns
        ),
    )
    if inspection.frequent is not None:
        found = inspection.frequent
        listed = f"The {len(found.patterns):,} most frequent of {found.total:,}" if found.total else "None"
        yield Section(
            title="Frequent patterns",
            text=(f"{listed} that occur in the events of at least {found.min_support:,} persons.",),
            header=("items", "persons"),
            rows=tuple((" > ".join(items), f"{persons:,}") for items, persons in found.patterns),
        )


def _confidence_sections(exposures: Sequence[Exposure]) -> Iterator[Section]:
    found = [(each, each.confidence) for each in exposures if each.confidence is not None]
    if not found:
        return
    yield Section(
        title="Confidence with which a protected value can be inferred",
        text=(describe_confidence(found[0][1].base_rate),),
        figures=tuple(_confidence_figures(exposures)),
        header=("knows", "kind", "above 50%", "above 80%", "largest"),
        rows=tuple(
            (
                items(each.known),
                each.kind,
                with_interval(confidence.above_half),
                with_interval(confidence.above_80),
                percent(confidence.largest),
            )
            for each, confidence in found
        ),
    )
    yield Section(
        title="Items that allow the most confident inference",
        header=("items", "kind", "persons", "with the value", "share"),
        rows=tuple(
            (
                knowledge(pattern, each.kind),
                each.kind,
                f"{pattern.persons:,}",
                pattern.value,
                percent(pattern.confidence),
            )
            for each, confidence in found
            if each.known > 1 or each.kind == exposures[0].kind
            for pattern in confidence.worst
        ),
    )


def _risk_rows(exposures: Sequence[Exposure]) -> Iterator[tuple[str, ...]]:
    for each in exposures:
        shares = (each.unique, each.below_5, each.below_10)
        yield (items(each.known), each.kind, *map(with_interval, shares))


def _candidate_set_figures(exposures: Sequence[Exposure]) -> Iterator[Figure]:
    """Plot, kind by kind, how many of the targets are in small candidate sets."""
    for kind, rows in by_kind(exposures):
        shares = {
            each.known: {"unique": each.unique, "below 5": each.below_5, "below 10": each.below_10}
            for each in rows
        }
        yield _figure(kind, "looked at", rows[0].targets, shares)


def _attribute_figures(
    alone: Mapping[str, Sequence[Proportion]], all_together: Sequence[Proportion], targets: int
) -> Iterator[Figure]:
    """Plot, for 1, 2, ... known items, whom the worst attributes single out, and all together."""
    names = list(alone)[:_PLOTTED_ATTRIBUTES]
    for place, everything in enumerate(all_together):
        shares = [*(alone[name][place] for name in names), everything]
        counts = (targets, *(round(share.value * targets) for share in shares))
        labels = ("looked at", *names, "all together")
        title, hidden = f"{items(place + 1)} known", len(alone) - len(names)
        yield Figure(labels, {"persons": counts}, hidden, title=title, unit="persons singled out")


def _confidence_figures(exposures: Sequence[Exposure]) -> Iterator[Figure]:
    """Plot, kind by kind, of how many of the targets with a protected value it can be guessed."""
    for kind, rows in by_kind(exposures):
        found = {each.known: each.confidence for each in rows if each.confidence is not None}
        shares = {
            known: {"above 50%": each.above_half, "above 80%": each.above_80} for known, each in found.items()
        }
        yield _figure(kind, "with a value", next(iter(found.values())).targets, shares)


def _figure(kind: str, whom: str, targets: int, shares: Mapping[int, Mapping[str, Proportion]]) -> Figure:
    bars_of = {whom: targets}
    for known, each in shares.items():
        bars_of |= {f"{items(known)}, {name}": round(share.value * targets) for name, share in each.items()}
    title = f"{kind}: {KINDS[kind]}"
    return Figure(tuple(bars_of), {"persons": tuple(bars_of.values())}, title=title, unit="persons")
