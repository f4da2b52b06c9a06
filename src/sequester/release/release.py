"""The result of a method: released tables, changes, and the promise with its verdict."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - a certificate is read by the types of its fields
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sequester._repr import Card, CardRepr
from sequester.attacks.risk import percent
from sequester.data.persons import Persons
from sequester.data.table import EventTable
from sequester.hierarchies.labels import counted
from sequester.release.plot import Figure, Released, change_figures, data_figures
from sequester.utility.score import Scores

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from sequester.attacks.singling_out import SinglingOut
    from sequester.data.places import Regions
    from sequester.data.problems import ReadSummary
    from sequester.data.schema import Schema
    from sequester.privacy.model import PrivacyModel, Verdict
    from sequester.release.files import OtherFormat
    from sequester.release.series import Series
    from sequester.utility.score import Score

NAMES = ("title", "publisher", "contact", "licence", "description", "created")
"""What can be said about a release; each is text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The publisher's own words, for the certificate and the pages; empty where nothing is said.

    Examples
    --------
    >>> About(title="Visits", licence="CC-BY-4.0").rows()
    [('Licence', 'CC-BY-4.0')]
    """

    title: str = ""
    """What the data is called."""
    publisher: str = ""
    """Who publishes it."""
    contact: str = ""
    """Whom to ask."""
    licence: str = ""
    """Under which terms it may be used."""
    description: str = ""
    """What it is about."""
    created: str = ""
    """When the release was made; no clock is asked."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Released column to what it means."""

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self))

    def rows(self) -> list[tuple[str, str]]:
        """Return name and value of what a page shows beside title and description."""
        rest = ("publisher", "contact", "licence", "created")
        return [(name.capitalize(), getattr(self, name)) for name in rest if getattr(self, name)]

    def to_json(self) -> dict[str, Any]:
        """Return what is said, as the certificate has it; what is empty is left out."""
        said = {name: getattr(self, name) for name in NAMES if getattr(self, name)}
        return {**said, **({"columns": dict(self.columns)} if self.columns else {})}


PERSON = "person"
"""The column of pseudonyms in a release."""
ORDER = "order"
"""The column that numbers the events of a person from 1 in a release."""
EVENTS = "events"
"""The table of histories, by file name without ending."""
PERSONS = "persons"
"""The table of attributes of persons, by file name without ending."""


@dataclass(frozen=True, slots=True)
class SeriesLink:
    """Which part of a series a release is, and what it continues."""

    part: int
    """The number of the part, from 1."""
    continues: str = ""
    """The hash of the previous part's certificate; empty for the first part."""

    def to_json(self) -> dict[str, Any]:
        """Return the part of the certificate about it."""
        return {"part": self.part} | ({"continues": self.continues} if self.continues else {})


def released_table(
    tables: Mapping[str, pl.DataFrame], schema: Schema, persons_schema: Schema | None
) -> EventTable:
    """Return the released tables with their roles, as a recipient would read them."""
    persons = None
    if persons_schema is not None:
        roles = {name: getattr(persons_schema, name) for name in ("quasi", "sensitive", "keep")}
        persons = Persons(tables[PERSONS], **roles)
    return EventTable(next(iter(tables.values())), schema, persons)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Release(CardRepr):
    """A release in memory, verified by its model, ready to be written.

    Examples
    --------
    >>> from sequester.methods import PrefixPruning
    >>> from sequester.testing import symbol_table
    >>> release = PrefixPruning(k=2).apply(symbol_table(["ab", "ab", "c"]))
    >>> release.verdict.achieved, release.n_lost_events
    ({'k': 2}, 1)
    >>> release.frame.columns
    ['person', 'order', 'symbol']
    """

    tables: Mapping[str, pl.DataFrame]
    """What would be published, by file name without ending; ``events`` where persons keep their histories."""
    schema: Schema
    """The roles of the released columns."""
    persons_schema: Schema | None = None
    """The roles of the released attributes of persons; None where there are none."""
    hierarchies: Mapping[str, pl.DataFrame]
    """Per released attribute the nodes at or above the released values: ``node``, ``parent``, ``leaves``."""
    method: str
    """The method's name on the command line."""
    parameters: Mapping[str, object]
    """The method's parameters."""
    unpublished: frozenset[str] = frozenset()
    """Those of them that are internal, because they say what is hidden."""
    model: PrivacyModel
    """The promise."""
    verdict: Verdict
    """What the model said about the released tables."""
    limits: tuple[str, ...]
    """What is not promised, in plain words, safe to hand out."""
    warnings: tuple[str, ...] = ()
    """What the steward must know, not for the recipient."""
    utility: Mapping[str, Score] = field(default_factory=Scores)
    """Measures against the original; only a rounded ``information_loss`` is public."""
    change_list: pl.LazyFrame
    """Every changed cell or event, keyed by input row, to be read piece by piece. Internal."""
    pseudonyms: pl.DataFrame
    """``person`` as in the input and ``pseudonym``. Internal."""
    method_plots: tuple[Figure, ...] = ()
    """What is drawn for the steward beside what is drawn of every release. Internal."""
    evidence: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """How the promise is kept in detail, such as person by person, by a name. Internal."""
    trips: bool = False
    """What has a pseudonym is a trip, and a person may have several."""
    regions: Regions | None = None
    """What the values of the column ``region`` stand for."""
    event_log: OtherFormat | None = None
    """The events are also written in this format, which the input had."""
    n_parts: int | None = None
    """Each table is written in so many files, as the input was; None writes each as CSV and as Parquet."""
    singled_out: SinglingOut | None = None
    """Who can be singled out by columns that the promise does not cover; None where there are none."""
    seed: str
    """Repeats the run. Internal."""
    n_input_persons: int
    """Persons in the input, or trips where there are."""
    n_input_events: int
    """Events in the input."""
    n_lost_events: int
    """Events of the input that the release no longer shows: absent, nothing but ``*``, or not aligned."""
    n_moved_items: int = 0
    """Released items that their person had, but elsewhere in the order."""
    n_invented_items: int = 0
    """Released items that their person never had."""
    reading: ReadSummary | None = None
    """What became of the rows of the input before the method got them."""
    about: About = field(default_factory=About)
    """What the publisher says about the data."""
    link: SeriesLink | None = None
    """Which part of a series it is; None where it is of no series."""
    series: Series | None = None
    """The series with this part; what `table` and `verdict` are about. Internal."""

    @property
    def frame(self) -> pl.DataFrame:
        """The main table, as it would be published."""
        return next(iter(self.tables.values()))

    @property
    def changes(self) -> pl.DataFrame:
        """Every changed cell or event, keyed by input row. Internal."""
        return self.change_list.collect()

    @property
    def plots(self) -> tuple[Figure, ...]:
        """What the report draws: the released data, the changes and the plots of the method. Internal.

        Each shows itself in a notebook, and has a `chart` of Altair.
        """
        return self._figures(None)

    def plot(self, original: EventTable | None = None) -> Any:
        """Return all plots in one chart of Altair, below each other; with `original`, before and after.

        Parameters
        ----------
        original
            The table that was released.

        Returns
        -------
        altair.Chart
            All plots, below each other.

        Examples
        --------
        >>> from sequester.methods import PrefixPruning
        >>> from sequester.testing import symbol_table
        >>> table = symbol_table(["ab", "ab", "c"])
        >>> release = PrefixPruning(k=2).apply(table)
        >>> [figure.title for figure in release.plots][:2]
        ['Events per person', 'Most frequent values of symbol']
        >>> type(release.plot(original=table)).__name__
        'VConcatChart'
        """
        import altair as alt  # noqa: PLC0415  (takes most of a second to load)

        charts = [figure.layers() for figure in self._figures(original)]
        together = alt.vconcat(*charts).resolve_scale(color="independent", yOffset="independent")
        return together.configure_view(stroke=None)

    def _figures(self, original: EventTable | None) -> tuple[Figure, ...]:
        rows = Released.of(self.frame)
        changes = change_figures(self.change_list, self.n_input_persons, self.unit)
        return (*data_figures(rows, self.unit, original), *changes, *self.method_plots)

    @cached_property
    def table(self) -> EventTable:
        """The main table with its roles, as a recipient would read it."""
        return released_table(self.tables, self.schema, self.persons_schema)

    @property
    def persons(self) -> pl.DataFrame | None:
        """The attributes of persons, as they would be published; None where there are none."""
        return self.tables.get(PERSONS)

    def with_table(self, table: EventTable) -> Release:
        """Return the same release, whose `table` was built before."""
        other = replace(self)
        vars(other)["table"] = table
        return other

    def forget_table(self) -> None:
        """Let `table` go, which is built again when it is asked for; that of a series has all parts."""
        if self.link is None:
            vars(self).pop("table", None)

    def published_as(self, form: OtherFormat | None, about: About, *, n_parts: int | None = None) -> Release:
        """Return the same release with what its publisher says, also written in a format of event logs.

        With `n_parts`, tables are written in so many files, each person in one of them; records without
        persons are not.
        """
        released = {column for frame in self.tables.values() for column in frame.columns}
        columns = {name: text for name, text in about.columns.items() if name in released}
        parts = n_parts if PERSON in self.frame.columns else None
        other = replace(self, event_log=form, about=replace(about, columns=columns), n_parts=parts)
        return other.with_table(vars(self)["table"]) if "table" in vars(self) else other

    @property
    def published_parameters(self) -> dict[str, object]:
        """The method's parameters that a recipient may see."""
        return {name: value for name, value in self.parameters.items() if name not in self.unpublished}

    @property
    def n_persons(self) -> int | None:
        """Persons in the release; None where it has records without persons."""
        return len(self.pseudonyms) if PERSON in self.frame.columns else None

    @property
    def unit(self) -> str:
        """What has a pseudonym of its own: persons, or their trips."""
        return "trips" if self.trips else "persons"

    @property
    def lost_share(self) -> float:
        """Share of the events that the method got and the release no longer shows."""
        return self.n_lost_events / max(self.n_input_events, 1)

    @property
    def unseen_share(self) -> float:
        """Share of the rows that were read and the release no longer shows; what ``max_suppressed`` bounds.

        Rows that were left out on reading count, and of the others the share that is lost.
        """
        n_events = max(self.n_input_events, 1)
        rows, left_out = (
            (1, 0) if self.reading is None else (max(self.reading.rows, 1), self.reading.left_out)
        )
        # In whole numbers, so that a share that is just allowed is not taken for more.
        return (left_out * n_events + (rows - left_out) * self.n_lost_events) / (rows * n_events)

    def _card(self) -> Card:
        """Return a card with the promise, its verdict, what is left of the data, and the first rows."""
        first = self.frame.head(_SHOWN_ROWS)
        state = "holds" if self.verdict else "does not hold"
        return Card(
            good=bool(self.verdict),
            title=f"Release by {self.method}: {type(self.model).__name__} {state}",
            facts=tuple(_facts(self)),
            remarks=(
                *(f"warning: {line}" for line in self.warnings),
                *(f"limit: {line}" for line in self.limits),
            ),
            header=tuple(first.columns),
            rows=tuple(tuple(str(cell) for cell in row) for row in first.iter_rows()),
        )


_SHOWN_ROWS = 5
_SHOWN_SCORES = 9


def _facts(release: Release) -> Iterator[tuple[str, str]]:
    yield "asked", ", ".join(f"{name} = {value}" for name, value in release.model.claim().items())
    yield "achieved", ", ".join(f"{name} = {value}" for name, value in release.verdict.achieved.items())
    if release.n_persons is not None:
        yield release.unit, f"{release.n_persons:,} of {release.n_input_persons:,}"
    yield (
        "events" if release.n_persons is not None else "records",
        f"{release.frame.height:,} of {release.n_input_events:,}",
    )
    lost = counted(release.n_lost_events, "event", "events")
    yield "lost", f"{lost} ({release.lost_share:.1%})"
    if release.n_invented_items:
        yield "invented", f"{counted(release.n_invented_items, 'released item', 'released items')}"
    if release.n_moved_items:
        yield "moved", f"{counted(release.n_moved_items, 'released item', 'released items')}"
    reading = release.reading
    if reading is not None and reading.left_out:
        yield "left out on reading", f"{reading.left_out:,} of {counted(reading.rows, 'row', 'rows')}"
        yield "no longer shown", f"{release.unseen_share:.1%} of all that was read"
    if release.singled_out is not None:
        found = release.singled_out
        yield "singled out", f"{percent(found.share(found.by_all))} by everything that is released"
        if found.kept:
            yield "by kept columns", percent(found.share(found.by_kept))
        if found.sensitive:
            yield "by unprotected values", percent(found.share(found.by_sensitive))
    shown = list(release.utility.items())[:_SHOWN_SCORES]
    for name, score in shown:
        yield name, f"{score.value:.3g}"
    if len(release.utility) > len(shown):
        yield "further measures", f"{len(release.utility) - len(shown)}, all of them in utility"


def data_flow(release: Release) -> Iterator[tuple[str, int, int | None]]:
    """Yield the counts from reading to release: what, how many, and of how many where that helps."""
    reading = release.reading
    if reading is not None:
        yield "rows read", reading.rows, None
        for rule, count in reading.reasons.items():
            yield f"left out: {rule}", count, reading.rows
        if reading.outside:
            yield "left out: point in no region", reading.outside, reading.rows
        if reading.left_out:
            yield "left out, all reasons together", reading.left_out, reading.rows
        if reading.folded:
            yield "folded: points of one visit that are no event of their own", reading.folded, None
        if reading.crossed:
            yield "added: visits of regions between two points", reading.crossed, None
        if reading.events != release.n_input_events:
            yield "events made of the rows, of which a sample was taken", reading.events, None
    n_released = release.frame.height
    yield "events that the method got", release.n_input_events, None
    yield "lost: left out, or without any value", release.n_lost_events, release.n_input_events
    yield "released" if release.n_persons is not None else "released as records", n_released, None
    if release.n_moved_items:
        yield "of these moved: elsewhere in the person's order", release.n_moved_items, n_released
    if release.n_invented_items:
        yield "of these invented: the person never had them", release.n_invented_items, n_released


def data_flow_counts(release: Release) -> dict[str, Any]:
    """Return the same counts under the names that they have in JSON documents."""
    return {
        "reading": None if release.reading is None else release.reading.to_json(),
        "method": {
            "events": release.n_input_events,
            "lost": release.n_lost_events,
            "released": release.frame.height,
            "moved": release.n_moved_items,
            "invented": release.n_invented_items,
        },
        "unseen_share": release.unseen_share,
    }
