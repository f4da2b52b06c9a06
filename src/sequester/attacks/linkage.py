"""Linkage: how few persons of a release match background knowledge (prosecutor, journalist, marketer)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

import numpy as np
import polars as pl

from sequester._validation import one_of
from sequester.attacks.background_knowledge import BEYOND
from sequester.attacks.context import AttackContext, coded_kept
from sequester.attacks.domain import merged_tree
from sequester.attacks.risk import Risk, largest_of, mean_of, median_of, proportion_of
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import InputError
from sequester.privacy.model import BoundedModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Unpack

    from sequester.attacks.background_knowledge import KnowledgeKind
    from sequester.attacks.context import ContextOptions, Trial, Trials
    from sequester.attacks.risk import Proportion
    from sequester.engine import Engine
    from sequester.hierarchies.hierarchy import Hierarchy

LinkageMeasure = Literal["candidates", "unique", "below_k", "prosecutor", "journalist", "marketer", "found"]
"""What is counted; see `Linkage`."""
WORST_CASES = ("prosecutor", "journalist", "confidence", "at_risk")
"""What is the largest over all targets, and so over those with the rarest items, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adversary(ABC):
    """What an adversary knows, how they look, and what of their success is counted."""

    goal: ClassVar[str]
    """What the adversary is after: linkage, inference or presence."""
    measures: ClassVar[tuple[str, ...]]
    """What can be counted."""

    kind: KnowledgeKind = "ordered"
    """What is known."""
    known: int = 1
    """How many items, at most."""
    measure: str
    """What is counted."""
    shown: bool = False
    """Stars fit nothing: only what is shown counts."""
    narrowed: bool = False
    """Generalized values are narrowed by the columns that they depend on, before anything is looked for."""

    def __post_init__(self) -> None:
        one_of("measure", self.measure, self.measures)

    @property
    def few(self) -> int:
        """Candidate sets below this size are small."""
        return 0

    @property
    def name(self) -> str:
        """What the adversary is called."""
        return f"{self.measure}{'_shown' * self.shown}{'_narrowed' * self.narrowed}"

    def run(
        self,
        released: EventTable,
        *,
        original: EventTable,
        engine: Engine | None = None,
        **options: Unpack[ContextOptions],
    ) -> Risk:
        """Draw targets and what is known of them from `original`, and look for them in `released`."""
        if self.kind in BEYOND:
            columns = coded_kept(original)
            released, original = released.with_kept(columns), original.with_kept(columns)
            if (held_out := options.get("held_out")) is not None:
                options["held_out"] = held_out.with_kept(columns)
        return self.judge(AttackContext(released, original, engine=engine, **options))

    def judge(self, context: AttackContext) -> Risk:
        """Run in a context that is ready; worst cases try the rarest items, too, which few draws have."""
        find = partial(context.find, self.kind, self.known, shown=self.shown, narrowed=self.narrowed)
        found = [find(), find(rarest=True)] if self.measure in WORST_CASES else [find()]
        raw, release, control = self._shares(found)
        return Risk.of(
            release,
            self._chance(found[0]),
            control,
            raw=raw,
            name=self.name,
            kind=self.kind,
            known=self.known,
            targets=sum(len(each.release.knowledge) for each in found),
            control_of=context.control_of,
        )

    def _shares(self, found: Sequence[Trials]) -> Iterable[Proportion]:
        """Return what is achieved against original, release and control: the most that any draw achieves."""
        return (
            max((self._share(trial) for trial in trials), key=attrgetter("value"))
            for trials in zip(*found, strict=True)
        )

    @abstractmethod
    def _share(self, trial: Trial) -> Proportion:
        """Return what is achieved in one place."""

    @abstractmethod
    def _chance(self, found: Trials) -> float:
        """Return what is achieved without knowledge."""


def bound_of(model: object, adversary: Adversary) -> float | None:
    """Return the largest risk that the promise `model` leaves to an adversary; None where it bounds none.

    Examples
    --------
    >>> from sequester.privacy import SequenceKAnonymity
    >>> bound_of(SequenceKAnonymity(k=4), Linkage(known=3))
    0.25
    >>> bound_of(SequenceKAnonymity(k=4), Linkage(known=3, kind="count")) is None
    True
    """
    return model.bound(adversary) if isinstance(model, BoundedModel) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Linkage(Adversary):
    """An adversary knows a few items of a person, and looks for them in the release.

    Who matches is a candidate. ``candidates`` is one over the median number of candidates, ``unique`` the
    share of targets with one candidate, ``below_k`` with fewer than `k` but at least one. The prosecutor
    knows that the target is in the release and takes any candidate: ``prosecutor`` is their largest chance,
    one over the fewest candidates. The journalist does not know that, so that persons who fit in the original
    may be the target, too. The marketer looks for everybody: ``marketer`` is the mean chance, and the share
    that is expected to be found. ``found`` is the same by the journalist's chances: unlike the marketer's, it
    does not rise where a method leaves persons out. Prosecutor and journalist try the rarest items, too,
    beside those drawn at random, on which all estimates rest. All suppose that the target is among the
    candidates, which can only be worse than it is.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"user": list("112233"), "n": [1, 2] * 3, "page": list("ababba")})
    >>> table = EventTable(frame, Schema(person="user", order="n", symbol="page"))
    >>> released = EventTable(frame.filter(pl.col("user") != "3"), table.schema)
    >>> risk = Linkage(known=2).run(released, original=table)
    >>> risk.value, risk.raw.value
    (0.5, 1.0)

    References
    ----------
    Dankar, El Emam (2010), A method for evaluating marketer re-identification risk.
    """

    goal: ClassVar[str] = "linkage"
    measures: ClassVar[tuple[str, ...]] = get_args(LinkageMeasure)

    measure: LinkageMeasure = "prosecutor"
    """What is counted."""
    k: int = 5
    """How many candidates are few, for ``below_k``."""

    @property
    def few(self) -> int:
        """Candidate sets below this size are small."""
        return self.k

    def _chance(self, found: Trials) -> float:
        """Return the risk where everybody is a candidate."""
        side = found.raw if self.measure == "found" else found.release
        n_persons = max(side.evidence.n_persons, 1)
        if self.measure in ("unique", "below_k"):
            return float(n_persons < (2 if self.measure == "unique" else self.k))
        return 1 / n_persons

    def _share(self, trial: Trial) -> Proportion:
        sizes = trial.candidates.sizes
        if self.measure in ("journalist", "found"):
            # Persons who fit in the original, but not in the release, may be the target, too.
            sizes = np.where(sizes > 0, np.maximum(sizes, trial.in_original.sizes), 0)
        chances = np.where(sizes > 0, 1 / np.maximum(sizes, 1), 0.0)
        match self.measure:
            case "candidates":
                return median_of(sizes[sizes > 0])
            case "unique":
                return proportion_of(sizes == 1)
            case "below_k":
                return proportion_of((sizes > 0) & (sizes < self.k))
            case "marketer" | "found":
                return mean_of(chances)
            case _:
                return largest_of(chances)


Event = dict[str, str]
"""The cells of an event, by column."""
ENDING = "_side_by_side"
"""How the name of an attack ends that has several releases."""


def lay_side_by_side(tables: Sequence[EventTable], names: Sequence[Mapping[str, str]]) -> EventTable:
    """Return one table of all that releases show of each person; `names` lead from pseudonyms to persons.

    Attributes of persons are left out: all releases of events are compared event by event.

    Raises
    ------
    InputError
        If the releases have no column in common, or a pseudonym is not known.

    Examples
    --------
    >>> from sequester.hierarchies import Hierarchy
    >>> tree = Hierarchy.from_tree({"short": ["1", "2"], "long": ["30"]})
    >>> def release(who, stay):
    ...     frame = pl.DataFrame({"who": who, "n": 1, "stay": stay, "ill": ["flu", "cold"]})
    ...     schema = Schema(person="who", order="n", quasi={"stay": tree}, sensitive={"ill": ["HIV"]})
    ...     return EventTable(frame, replace(schema, released=True))
    >>> one, two = release(["p", "q"], ["1", "*"]), release(["r", "s"], ["short", "2"])
    >>> joined = lay_side_by_side([one, two], [{"p": "Ann", "q": "Bob"}, {"r": "Ann", "s": "Bob"}])
    >>> joined.frame.select("person", "stay").rows()
    [('Ann', '1'), ('Bob', '2')]
    """
    first, *others = (each.events for each in tables)
    columns = [name for name in first.schema.quasi if all(name in other.schema.quasi for other in others)]
    if not columns:
        msg = "the releases have no quasi-identifier in common"
        raise InputError(msg)
    trees = {name: first.hierarchies[name] for name in columns}
    for other in others:
        trees = {name: merged_tree(tree, other.hierarchies[name], name) for name, tree in trees.items()}
    unchanged = [
        name
        for name in (*first.schema.sensitive_columns, *first.schema.keep)
        if name not in columns and all(name in other.frame.columns for other in others)
    ]
    records, *more = (
        dict(_records(table, known, [*columns, *unchanged]))
        for table, known in zip((first, *others), names, strict=True)
    )
    for each in more:
        # Who is known to be in all of them is looked for among those who are.
        records = {
            person: _merge(events, each[person], trees, unchanged)
            for person, events in records.items()
            if person in each
        }
    rows = [
        {"person": person, "order": place, **event}
        for person, events in records.items()
        for place, event in enumerate(events, start=1)
    ]
    sensitive = {
        name: each
        for name, each in first.schema.sensitive.items()
        if {*each.columns} <= {*columns, *unchanged}
    }
    schema = Schema(
        person="person",
        order="order",
        quasi=trees,
        sensitive=sensitive,
        keep=[name for name in first.schema.keep if name in unchanged],
        released=True,
    )
    types = {"person": pl.String, "order": pl.Int64, **dict.fromkeys([*columns, *unchanged], pl.String)}
    frame = pl.DataFrame(rows, schema=types)
    return EventTable(frame.select("person", "order", *schema.attributes, *schema.keep), schema)


def _records(
    table: EventTable, known: Mapping[str, str], columns: Sequence[str]
) -> list[tuple[str, list[Event]]]:
    """Return the events of each person under the person's own name."""
    offsets = table.person_offsets.tolist()
    cells = [table.frame[name].cast(pl.String).to_list() for name in columns]
    events = [dict(zip(columns, row, strict=True)) for row in zip(*cells, strict=True)]
    found = []
    for place, pseudonym in enumerate(table.persons.to_list()):
        if pseudonym not in known:
            msg = f"the pseudonym {pseudonym!r} is not in the file of pseudonyms"
            raise InputError(msg)
        found.append((known[pseudonym], events[offsets[place] : offsets[place + 1]]))
    return found


def _merge(
    one: list[Event], other: list[Event], trees: Mapping[str, Hierarchy], unchanged: Sequence[str]
) -> list[Event]:
    """Join two records of a person: the same events once, each with the finer values; else one by one.

    They are the same as far as the shorter one goes, if all that is shown can be of the same events.
    """
    merged = []
    for a, b in zip(one, other, strict=False):
        finer = {name: _finer(trees[name], a[name], b[name]) for name in trees}
        if None in finer.values() or any(a[name] != b[name] for name in unchanged):
            return [*one, *other]
        merged.append({**a, **{name: value for name, value in finer.items() if value is not None}})
    longer = one if len(one) > len(other) else other
    return [*merged, *longer[len(merged) :]]


def _finer(tree: Hierarchy, a: str, b: str) -> str | None:
    """Return the finer of two values of one cell; None where they cannot be of the same."""
    x, y = tree.node(a), tree.node(b)
    if x <= y < tree.subtree_end[x]:
        return b
    return a if y <= x < tree.subtree_end[y] else None


def beside_one(together: Sequence[Risk], alone: Sequence[Risk]) -> list[Risk]:
    """Return what is achieved with all releases; the control is the same adversary with one of them."""
    of = {(risk.name, risk.kind, risk.known): risk.release for risk in alone}
    return [
        replace(
            risk,
            name=f"{risk.name}{ENDING}",
            control=of[risk.name, risk.kind, risk.known],
            control_of="one release",
            bound=None,
        )
        for risk in together
        if (risk.name, risk.kind, risk.known) in of
    ]
