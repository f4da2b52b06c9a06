"""An inspection as an HTML page, and as what a notebook shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester._repr import Card
from sequester.attacks.risk import percent
from sequester.release.plot import Figure, Tally
from sequester.report.page import Number, Section, section_page
from sequester.report.plot import bars
from sequester.workflow import inspect_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sequester.attacks import Exposure, Proportion
    from sequester.workflow.inspect import Inspection


_PLOTTED_ATTRIBUTES = 8
_RISK = ("knows", "kind", "fits nobody else", "fewer than 5", "fewer than 10")


def page(inspection: Inspection) -> str:
    """Write everything as one HTML file."""
    return section_page(
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


def fragment(inspection: Inspection) -> str:
    """Write a card and the plots as a fragment of HTML without scripts, classes or links."""
    shape = inspection.shape
    gaps = () if shape.gaps is None else (("between events", inspect_text.between_events(shape.gaps)),)
    card = Card(
        title=inspect_text.counts(shape),
        facts=(*inspect_text.events_of(shape), *gaps),
        remarks=(
            *(f"{each.severity}: {each}" for each in inspection.problems),
            *(str(each) for each in inspection.dependent),
            *_remarks(inspection),
            *(() if inspection.singled_out is None else inspect_text.singled_out(inspection.singled_out)),
        ),
        header=_RISK,
        rows=tuple(_risk_rows(inspection.exposures)),
    )
    plots = "".join(
        f'<figure style="margin:0.8em 0"><figcaption>{figure.title} ({figure.unit})</figcaption>'
        f"{bars(figure.tally, title=figure.title)}</figure>"
        for figure in _crowd_figures(inspection.exposures)
    )
    return f'<div style="background:#fff;color:#20262e;padding:0.5em">{card.html()}{plots}</div>'


def _remarks(inspection: Inspection) -> Iterator[str]:
    yield inspect_text.worst_case(inspection.shape) if inspection.exposures else inspect_text.ONE_PERSON
    yield from filter(
        None,
        (
            inspect_text.drawn(inspection.exposures, inspection.shape.persons),
            inspect_text.cut(inspection.exposures),
        ),
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
        about = f"worst case, {inspect_text.items(last.known)} known ({last.kind})"
        yield Number(name="Unique persons", value=percent(last.unique.value), about=about)
    if inspection.singled_out is not None:
        found = inspection.singled_out
        columns = [*(["kept columns"] if found.kept else []), *(["unprotected"] if found.sensitive else [])]
        yield Number(
            name="Singled out",
            value=percent(found.share(found.by_all)),
            about=f"by everything that would be released, {' and '.join(columns)} included",
        )


def _sections(inspection: Inspection) -> Iterator[Section]:
    yield from _risk_sections(inspection)
    yield from _guess_sections(inspection.exposures)
    yield from _uncovered_sections(inspection)
    yield from _data_sections(inspection)


def _risk_sections(inspection: Inspection) -> Iterator[Section]:
    exposures = inspection.exposures
    yield Section(
        title="Re-identification risk from an adversary who knows a few items of a person",
        text=tuple(_remarks(inspection)),
        remarks=tuple(
            f"{kind}: {inspect_text.KINDS[kind]}" for kind in dict.fromkeys(each.kind for each in exposures)
        ),
        figures=tuple(_crowd_figures(exposures)),
        header=_RISK,
        rows=tuple(_risk_rows(exposures)),
    )
    if inspection.by_attribute:
        by_attribute = inspect_text.by_attribute(inspection.by_attribute)
        together = inspect_text.together(exposures)
        yield Section(
            title="Persons singled out by one attribute alone, and by all together",
            text=(inspect_text.BY_ATTRIBUTE,),
            figures=tuple(_attribute_figures(by_attribute, together, exposures[0].targets)),
            header=("attribute", *map(inspect_text.items, range(1, len(together) + 1))),
            rows=tuple(
                (name, *map(inspect_text.with_interval, shares))
                for name, shares in (*by_attribute.items(), ("all together", together))
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
            title="Smallest combinations of items that fit the fewest persons",
            header=("items", "kind", "persons"),
            rows=tuple(
                (inspect_text.knowledge(pattern, each.kind), each.kind, f"{pattern.persons:,}")
                for each, pattern in worst
            ),
        )


def _uncovered_sections(inspection: Inspection) -> Iterator[Section]:
    if inspection.singled_out is not None:
        found = inspection.singled_out
        yield Section(
            title="Kept columns and unprotected sensitive values, which no promise covers",
            text=tuple(inspect_text.singled_out(found)),
            header=("kept column", "singled out by it alone") if found.by_column else (),
            rows=tuple((name, percent(found.share(count))) for name, count in found.by_column),
        )
    if inspection.channels is not None:
        yield Section(
            title="Minimal inference channels",
            text=(inspect_text.channels(inspection.channels),),
            header=("length", "minimal channels"),
            rows=tuple(
                (inspect_text.items(length), f"{count:,}")
                for length, count in enumerate(inspection.channels.counts, start=1)
            ),
        )


def _data_sections(inspection: Inspection) -> Iterator[Section]:
    yield Section(
        title="Quasi-identifiers that follow from others",
        text=(
            "What is made coarse in one column is undone by a finer one that says the same."
            if inspection.dependent
            else "No quasi-identifier follows from another, and none is the sum or difference of two others.",
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
    yield _shape_section(inspection)
    if inspection.frequent is not None:
        yield Section(
            title="Frequent patterns",
            text=(
                f"Each is contained in the events of at least {inspection.frequent.min_support:,} persons.",
            ),
            header=("items", "persons"),
            rows=tuple(
                (" > ".join(items), f"{persons:,}") for items, persons in inspection.frequent.patterns
            ),
        )


def _guess_sections(exposures: Sequence[Exposure]) -> Iterator[Section]:
    found = [(each, each.confidence) for each in exposures if each.confidence is not None]
    if not found:
        return
    yield Section(
        title="Confidence with which a protected value can be inferred",
        text=(inspect_text.sure_case(found[0][1].base_rate),),
        figures=tuple(_guess_figures(exposures)),
        header=("knows", "kind", "above 50%", "above 80%", "largest"),
        rows=tuple(
            (
                inspect_text.items(each.known),
                each.kind,
                inspect_text.with_interval(confidence.above_half),
                inspect_text.with_interval(confidence.above_80),
                percent(confidence.largest),
            )
            for each, confidence in found
        ),
    )
    yield Section(
        title="Items that allow the most confident inference",
        header=("items", "kind", "persons", "of whom have", "share"),
        rows=tuple(
            (
                inspect_text.knowledge(pattern, each.kind),
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


def _shape_section(inspection: Inspection) -> Section:
    shape = inspection.shape
    gaps = () if shape.gaps is None else (f"Between events: {inspect_text.between_events(shape.gaps)}.",)
    return Section(
        title="Shape",
        text=(*(f"{what.capitalize()}: {events}." for what, events in inspect_text.events_of(shape)), *gaps),
        header=("column", "role", "different values", "missing"),
        rows=tuple(
            (each.name, each.role, "" if each.labels is None else f"{each.labels:,}", f"{each.missing:,}")
            for each in shape.columns
        ),
    )


def _risk_rows(exposures: Sequence[Exposure]) -> Iterator[tuple[str, ...]]:
    for each in exposures:
        shares = (each.unique, each.below_5, each.below_10)
        yield (inspect_text.items(each.known), each.kind, *map(inspect_text.with_interval, shares))


def _crowd_figures(exposures: Sequence[Exposure]) -> Iterator[Figure]:
    """Plot, kind by kind, how many of the targets are in small candidate sets."""
    for kind, rows in inspect_text.by_kind(exposures):
        bars_of = {"looked at": rows[0].targets}
        for each in rows:
            for name, share in (
                ("unique", each.unique),
                ("below 5", each.below_5),
                ("below 10", each.below_10),
            ):
                bars_of[f"{inspect_text.items(each.known)}, {name}"] = round(share.value * each.targets)
        yield _figure(f"{kind}: {inspect_text.KINDS[kind]}", bars_of)


def _attribute_figures(
    by_attribute: Mapping[str, Sequence[Proportion]], together: Sequence[Proportion], targets: int
) -> Iterator[Figure]:
    """Plot, for 1, 2, ... known items, whom the worst attributes single out, and all together."""
    names = list(by_attribute)[:_PLOTTED_ATTRIBUTES]
    for place, everything in enumerate(together):
        shares = [*(by_attribute[name][place] for name in names), everything]
        counts = (targets, *(round(share.value * targets) for share in shares))
        labels = ("looked at", *names, "all together")
        tally = Tally(labels, {"persons": counts}, hidden=len(by_attribute) - len(names))
        yield Figure(f"{inspect_text.items(place + 1)} known", "persons singled out", tally)


def _guess_figures(exposures: Sequence[Exposure]) -> Iterator[Figure]:
    """Plot, kind by kind, of how many of the targets with a protected value it can be guessed."""
    for kind, rows in inspect_text.by_kind(exposures):
        found = [(each.known, each.confidence) for each in rows if each.confidence is not None]
        bars_of = {"with a value": found[0][1].targets}
        for known, each in found:
            for name, share in (("above 50%", each.above_half), ("above 80%", each.above_80)):
                bars_of[f"{inspect_text.items(known)}, {name}"] = round(share.value * each.targets)
        yield _figure(f"{kind}: {inspect_text.KINDS[kind]}", bars_of)


def _figure(title: str, bars_of: dict[str, int]) -> Figure:
    return Figure(title, "persons", Tally(tuple(bars_of), {"persons": tuple(bars_of.values())}))
