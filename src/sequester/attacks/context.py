"""The context of attacks: the release, the original, a control, and what those on one promise are told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypedDict, get_args

import numpy as np

from sequester._validation import at_least
from sequester.attacks.background_knowledge import TargetPool
from sequester.attacks.candidate_sets import (
    CandidateSets,
    DayRanges,
    Evidence,
    ValueRanges,
    find_candidates,
)
from sequester.attacks.domain import Domain
from sequester.attacks.narrowing import Narrowing
from sequester.data.text import as_text
from sequester.datasets import SEED
from sequester.datasets.draws import generator
from sequester.engine import silent
from sequester.errors import InputError, ParameterError, ignore_warning
from sequester.ragged import owners_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from sequester._typing import Codes, Counts
    from sequester.attacks.background_knowledge import BackgroundKnowledge, KnowledgeKind
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.errors import Warn


TARGETS = 10_000
"""Pieces of knowledge that are tried of every kind and size."""
Place = Literal["original", "release", "shuffled"]
"""Where adversaries look; ``shuffled`` is the release with the values of every column permuted."""


class Trial(NamedTuple):
    """Background knowledge, and its candidate sets in one table."""

    context: AttackContext
    """Where it is tried."""
    knowledge: BackgroundKnowledge
    """What is known."""
    windows: ValueRanges
    """The protected values of the targets that could be found out."""
    evidence: Evidence
    """What the place shows."""
    candidates: CandidateSets
    """Who matches there."""
    in_original: CandidateSets
    """Who matches in the original."""


class Trials(NamedTuple):
    """The same adversary in three places."""

    raw: Trial
    """In the original."""
    release: Trial
    """In the release."""
    control: Trial
    """Where success is chance: with persons who were held out, or with values that were permuted."""


class ContextOptions(TypedDict, total=False):
    """What an `AttackContext` is made with, beside the two tables."""

    held_out: EventTable | None
    owners: Codes | None
    targets: int
    seed: str
    groups: Mapping[str, str] | None


@dataclass(frozen=True)
class AttackContext:
    """A release and its original, ready to be attacked; whatever was found is remembered."""

    released: EventTable
    """What became of the original."""
    original: EventTable
    """The table that was protected."""
    _: KW_ONLY
    held_out: EventTable | None = None
    """Persons who are not in the release, as a control; without them its values are permuted."""
    owners: Codes | None = None
    """Whose each released trip is, where persons have several; then persons are counted."""
    targets: int = TARGETS
    """Pieces of every kind and size that are tried."""
    seed: str = SEED
    """Decides who is a target, what is known of them, and how the control is permuted."""
    groups: Mapping[str, str] | None = None
    """Protected label to its group of similar ones; others have a group of their own."""
    engine: Engine | None = None
    """Runs the counting."""
    _evidence: dict[tuple[Place, bool, bool], Evidence] = field(default_factory=dict, repr=False)
    _found: dict[tuple[KnowledgeKind, int, bool, bool, bool], Trials] = field(
        default_factory=dict, repr=False
    )

    def __post_init__(self) -> None:
        at_least("targets", self.targets, 1)

    @cached_property
    def domain(self) -> Domain:
        """The trees that all tables share."""
        others = () if self.held_out is None else (self.held_out,)
        return Domain.of(self.original, self.released, *others, groups=self.groups)

    @cached_property
    def inside(self) -> TargetPool:
        """The persons of the original, of whom something is known."""
        return TargetPool.of(self.original, self.domain)

    @cached_property
    def outside(self) -> TargetPool | None:
        """Persons who were held out, as a control; None where there are none."""
        return None if self.held_out is None else _held_out(self.held_out, self.domain)

    @property
    def control_of(self) -> Literal["shuffled", "held out"]:
        """What the control is."""
        return "shuffled" if self.held_out is None else "held out"

    @cached_property
    def narrowing(self) -> Narrowing | None:
        """How values follow from others of their event; None where none do."""
        return Narrowing.of(self.original, self.domain)

    def evidence(self, place: Place, *, timed: bool = False, narrowed: bool = False) -> Evidence:
        """Return what a table shows; when events were counts only if `timed`."""
        if (place, timed, narrowed) not in self._evidence:
            clock = DayRanges.of(self.original, self.domain) if timed else None
            make = partial(
                Evidence.of,
                domain=self.domain,
                clock=clock,
                narrowing=self.narrowing if narrowed else None,
            )
            if place == "original":
                made = make(self.original)
            else:
                shuffle = generator("attack control", self.seed) if place == "shuffled" else None
                made = make(self.released, owners=self.owners, shuffle=shuffle)
            self._evidence[place, timed, narrowed] = made
        return self._evidence[place, timed, narrowed]

    def draw(
        self, kind: KnowledgeKind, known: int, *, strangers: bool = False, rarest: bool = False
    ) -> BackgroundKnowledge:
        """Draw pieces of persons of the original, or of strangers: who were held out, or do not exist.

        With `rarest`, take the rarest items of those who are there instead of any at random.
        """
        at_least("known", known, 1)
        rng = generator(f"attack {kind} {known}{' rarest' * rarest}", self.seed)
        if rarest:
            source = self.inside if self.outside is None or not strangers else self.outside
            return source.draw_rarest(kind, known, self.targets, rng=rng)
        if strangers and self.outside is not None:
            return self.outside.draw(kind, known, self.targets, rng=rng)
        return self.inside.draw(kind, known, self.targets, rng=rng, strangers=strangers)

    def find(
        self,
        kind: KnowledgeKind,
        known: int,
        *,
        shown: bool = False,
        narrowed: bool = False,
        rarest: bool = False,
    ) -> Trials:
        """Find candidates in all three, and count their targets' own values; `shown`: stars fit nothing.

        Knowledge is drawn at random, or has the `rarest` items.
        """
        key = kind, known, shown, narrowed, rarest
        if key not in self._found:
            show = partial(self.evidence, timed=kind == "gaps", narrowed=narrowed)
            # Where there are no stars, it does not matter what they fit.
            plain = self._found.get((kind, known, False, narrowed, rarest)) if shown else None
            knowledge = self.draw(kind, known, rarest=rarest) if plain is None else plain.raw.knowledge
            windows = self.inside.windows(knowledge)

            look = partial(find_candidates, domain=self.domain, shown=shown, engine=self.engine)

            def look_at(place: Place, number: int) -> CandidateSets:
                if plain is not None and not show(place).has_stars:
                    return plain[number].candidates
                return look(knowledge, show(place), windows=windows)

            raw, release = look_at("original", 0), look_at("release", 1)
            if self.outside is None:
                control = Trial(self, knowledge, windows, show("shuffled"), look_at("shuffled", 2), raw)
            else:
                others = self.draw(kind, known, strangers=True, rarest=rarest)
                theirs = self.outside.windows(others)
                control = Trial(
                    self,
                    others,
                    theirs,
                    show("release"),
                    look(others, show("release"), windows=theirs),
                    look(others, show("original"), windows=theirs),
                )
            self._found[key] = Trials(
                Trial(self, knowledge, windows, show("original"), raw, raw),
                Trial(self, knowledge, windows, show("release"), release, raw),
                control,
            )
        return self._found[key]

    def prepare(
        self, kinds: Iterable[KnowledgeKind], *, engine: Engine, narrowed: bool, progress: Progress
    ) -> None:
        """Read what adversaries with such knowledge look at, side by side; also `narrowed` tables."""
        times = {kind == "gaps" for kind in kinds}
        finer = [False, True] if narrowed and self.narrowing is not None else [False]
        needed = [(place, *more) for more in product(times, finer) for place in get_args(Place)]
        read = engine.map(_read, needed, shared=self, progress=progress, phase="attacking")
        self._evidence.update(zip(needed, read, strict=True))
        if needed:
            _ = self.inside.holders

    def forget(self, kind: KnowledgeKind, known: int) -> None:
        """Clear what was found with such knowledge; it can be found again."""
        for key in [key for key in self._found if key[:2] == (kind, known)]:
            del self._found[key]


def _read(asked: tuple[Place, bool, bool], context: AttackContext) -> Evidence:
    """Return what a table shows: which, whether it tells when events were, and whether it is narrowed."""
    place, timed, narrowed = asked
    return context.evidence(place, timed=timed, narrowed=narrowed)


def _held_out(table: EventTable, domain: Domain) -> TargetPool:
    """Read persons who were held out, whose columns are those of the original."""
    if not table.n_events:
        msg = "held_out must have events, there are none"
        raise ParameterError(msg)
    missing = [column for column in domain.columns if column not in table.sequences.columns]
    if missing:
        msg = f"held_out must have the columns of the original, and has no {missing[0]!r}"
        raise InputError(msg)
    return TargetPool.of(table, domain)


MOST_LABELS = 50_000
"""A kept column with more different values is as good as a key: whole records tell what it gives away."""
MOST_CELLS = 50_000_000
"""Kept cells that are coded at most; where there are more, the columns with the most values are."""


def coded_kept(table: EventTable) -> list[str]:
    """Choose the kept columns that adversaries know values of: all of them, unless the table is very large.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> frame = pl.DataFrame({"user": list("ab"), "n": 1, "zip": [1, 2], "ward": ["x", "y"]})
    >>> schema = Schema(person="user", order="n", quasi={"zip": Hierarchy.flat()}, keep=["ward"])
    >>> coded_kept(EventTable(frame, schema))
    ['ward']
    """
    sizes = {name: as_text(table.frame[name]).n_unique() for name in table.schema.keep}
    some = [name for name, size in sizes.items() if size <= MOST_LABELS]
    widest = sorted(some, key=lambda name: -sizes[name])[: max(MOST_CELLS // max(table.n_events, 1), 3)]
    return [name for name in some if name in widest]


def hold_out(table: EventTable, *, share: float = 0.5, seed: str = SEED) -> tuple[EventTable, EventTable]:
    """Split the persons of a table by chance: those to protect, and a share who are held out.

    Both parts have the hierarchies of the whole, so that what is known of one can be looked for in the other.
    All trips of a person are in the same part.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"user": list("abcd"), "n": [1] * 4, "page": list("xxyy")})
    >>> inside, outside = hold_out(EventTable(frame, Schema(person="user", order="n", symbol="page")))
    >>> sorted(inside.persons.to_list() + outside.persons.to_list()), outside.n_persons
    (['a', 'b', 'c', 'd'], 2)
    """
    n_out = round(table.n_owners * share) if 0 < share < 1 else 0
    if not 0 < n_out < table.n_owners:
        msg = (
            f"share must be between 0 and 1 and leave somebody on both sides, got {share} of "
            f"{table.n_owners:,} persons"
        )
        raise ParameterError(msg)
    is_out = np.zeros(table.n_owners, np.bool_)
    is_out[generator("attack hold out", seed).choice(table.n_owners, n_out, replace=False)] = True
    if table.owners is not None:
        is_out = is_out[table.owners]
    return table.take(~is_out), table.take(is_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A release as its recipients have it, the original, and how hard adversaries try."""

    tables: Mapping[str, pl.DataFrame]
    """What was published, by file name without ending."""
    released: EventTable | None
    """The events with their roles; None where the release has records without persons."""
    original: EventTable
    """The table that was protected."""
    method: str = ""
    """The method's name on the command line; adversaries may know how it works."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    """The method's parameters, as far as they are known here."""
    histories: Sequences | None = None
    """The released events in the order of the original's persons; None where it is not known who is who."""
    replay: Replay | None = None
    """Does with another table what was done with the original; None where the method is not at hand."""
    stream: Stream | None = None
    """When records came, where they are published in snapshots."""
    known: Sequence[int] = (1, 2, 3)
    """Numbers of items that adversaries know."""
    targets: int = TARGETS
    """Targets that are tried of every kind of knowledge."""
    seed: str = SEED
    """Decides whatever is drawn."""
    thorough: bool = False
    """Attacks run, too, that take minutes."""
    engine: Engine | None = None
    """Runs the counting."""
    progress: Progress = silent
    """Called with how far it is, from 0 to 1."""
    warn: Warn = ignore_warning
    """Called with what could not be tried."""


class Replayed(Protocol):
    """What a method makes of a table, before persons are shuffled."""

    @property
    def sequences(self) -> Sequences:
        """Events of each person of the table, in the table's order; who is not released has none."""
        ...

    @property
    def changes(self) -> pl.DataFrame | pl.LazyFrame:
        """Every changed cell, event or record, keyed by input row."""
        ...


Replay = Callable[["EventTable"], Replayed]
"""Apply the method to another table as to the original; raises `SequesterError` where that cannot be."""


@dataclass(frozen=True, slots=True)
class Stream:
    """When the records of an original came, and how much later they may be published."""

    homes: Counts
    """The number of the snapshot that each event came with."""
    labels: tuple[str, ...]
    """What each snapshot is called."""
    reach: int
    """Snapshots in which a record may be published, the one it came with included."""


def permute(sequences: Sequences, rng: np.random.Generator, *, within_persons: bool = False) -> Sequences:
    """Permute all symbols, among all events or among those of each person.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> permuted = permute(Sequences.from_rows(["aab", "cc"]), np.random.default_rng(5), within_persons=True)
    >>> [sorted(row) for row in permuted.to_rows()]
    [['a', 'a', 'b'], ['c', 'c']]
    """
    chance = rng.random(sequences.n_events)
    if within_persons:
        order = np.lexsort((chance, owners_of(sequences.person_offsets)))
    else:
        order = np.argsort(chance)
    columns = {name: codes[order] for name, codes in sequences.columns.items()}
    # What was folded before is not what is folded now, and `replace` starts anew.
    return replace(sequences, columns=columns)
