"""(K,C)^P-privacy: a few known items leave k persons, and no protected value is likely among them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING

from sequester._validation import at_least, exact_fraction, one_of, true_or_false
from sequester.data.schema import Quasi
from sequester.engine import LocalEngine
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import ROOT
from sequester.privacy.g_sequences import Bounds, GSequences
from sequester.privacy.model import (
    N_WITNESSES,
    NO_BOUND,
    KCModel,
    Verdict,
    in_percent,
    linkage_bound,
    with_quasi_identifiers,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sequester.data.table import EventTable, SequenceData
    from sequester.engine import Engine
    from sequester.privacy.model import AdversaryLike

LEVELS = ("same", "mixed")
"""What `levels` may be."""
STARS = ("counted", "ignored")
"""What `stars` may be."""
COVERED = ("ordered", "event", "generalized", "mixed", "demographics", "demographics_events")
"""Kinds of background knowledge that are g-sequences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KCPPrivacy(KCModel):
    """Up to `p` known items of a person match at least `k` persons, and no protected value above `c`.

    An item is a value of a quasi-identifier, as it is released or coarser. What is known are items of one
    event or of several, in their order, with any events in between: a g-sequence. It fits everybody whose
    events show it. Every g-sequence of at most `p` items that fits anybody in the release fits at least `k`
    persons, and of those a share of at most `c` has any one protected value, in whatever event. That holds
    for no item at all, too: at least `k` persons, and no base rate above `c`.

    In a quasi-identifier that is sensitive, too, a protected value is what is to be learned: it is no
    item. What is above it is one, and fits whoever has the value. A node is no item only if every leaf below
    it is protected; it counts as a protected value itself, and `protect` names it. A release does not show
    which leaves there were: there, a node that is not named is an item.

    A person's attributes are an event before all others that holds only these items: what is known may mix
    them with items of events, at most `p` together. Nothing else is an item there, and nothing of it later.

    With `sensitive_known`, values of sensitive attributes are items, too, protected ones among them: whoever
    wants to learn a value of one attribute may know values of the others, as they are released, in their
    events, among the `p` items. For each attribute with protected values, every such g-sequence fits at least
    `k` persons, and a share of at most `c` of them has any one protected value of that attribute.

    The root ``*`` says nothing and is no item. A suppressed cell does say something, in a column that shows
    values elsewhere: with ``stars="counted"`` it is an item of its own, beside items of any level.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> frame = pl.DataFrame(
    ...     {
    ...         "person": ["a", "a", "b", "b", "c", "c"],
    ...         "order": [1, 2, 1, 2, 1, 2],
    ...         "stay": ["short", "long", "short", "long", "long", "short"],
    ...         "ill": ["flu", "HIV", "flu", "flu", "flu", "flu"],
    ...     }
    ... )
    >>> roles = {"quasi": {"stay": Hierarchy.flat()}, "sensitive": {"ill": ["HIV"]}}
    >>> table = EventTable(frame, Schema(person="person", order="order", **roles))
    >>> KCPPrivacy(k=2, c=0.5, p=1).check(table)
    Verdict(holds=True, achieved={'k': 3, 'c': 0.3333333333333333}, witnesses=())
    >>> verdict = KCPPrivacy(k=2, c=0.5, p=2).check(table)
    >>> verdict.holds, verdict.achieved
    (False, {'k': 1, 'c': 0.5})
    >>> print(verdict.witnesses[0])
    stay = long → stay = short: 1 person

    References
    ----------
    Sehatkar (2014), Definitions 4.1 to 4.10. Base rate and stars are ours.
    """

    p: int
    """Items that an adversary may know."""
    levels: str = "mixed"
    """``"mixed"``: each item is known at its own level. ``"same"``: those of one quasi-identifier at one."""
    stars: str = "counted"
    """``"counted"``: a suppressed cell is an item of its own. ``"ignored"``: it is nothing."""
    sensitive_known: bool = False
    """Values of other sensitive attributes than the one that is to be learned are items."""

    def __post_init__(self) -> None:
        KCModel.__post_init__(self)
        object.__setattr__(self, "p", at_least("p", self.p, 1))
        one_of("levels", self.levels, LEVELS)
        one_of("stars", self.stars, STARS)
        true_or_false("sensitive_known", self.sensitive_known)

    def bound(self, adversary: AdversaryLike) -> float | None:
        """Return the largest risk that the promise leaves to an adversary; None where it bounds none."""
        # What follows from the columns that a value depends on is not shown, and not covered.
        if adversary.known > self.p or adversary.narrowed:
            return None
        # One value has one level; of several, those of one attribute are at one where levels are the same.
        if adversary.kind == "mixed" and self.levels != "mixed" and adversary.known > 1:
            return None
        if adversary.goal == "linkage":
            # Each candidate shows the items in some order, stars included, and k persons show the same. Where
            # stars are no items, nothing is promised to those who match by a star.
            # With several attributes to learn, any value of one is known to who wants another.
            n_secret = sum(1 for labels in self.protect.values() if labels)
            is_known = self.sensitive_known and n_secret > 1 and adversary.kind in ("sensitive", "protected")
            is_covered = is_known or adversary.kind in (*self._covered, "anywhere")
            is_counted = adversary.shown or self.stars == "counted"
            return linkage_bound(adversary, self.k) if is_covered and is_counted else None
        # The promise is about persons who show the same items. Several such candidate sets together, as a
        # star or an unknown order makes them, may hold more protected values than each of them.
        if adversary.kind in self._covered and adversary.shown and adversary.measure == "confidence":
            return float(exact_fraction("c", self.c))
        return None

    @property
    def _covered(self) -> tuple[str, ...]:
        """The kinds of background knowledge that are g-sequences of items."""
        return (*COVERED, "other_sensitive") if self.sensitive_known else COVERED

    def check(
        self, released: SequenceData, *, original: SequenceData | None = None, engine: Engine | None = None
    ) -> Verdict:
        """Count, person by person, every g-sequence that occurs; the original is not looked at.

        ``achieved["k"]`` is the smallest number of persons who match anything, ``achieved["c"]`` the largest
        confidence in a protected value. `violations` counts the g-sequences that break the promise; the
        witnesses are the first five of them, shortest first, then in label order. In a table without persons
        there is nobody to find, and it reaches what is asked for. With `sensitive_known`, what somebody
        knows who wants to learn one attribute is counted apart from what others know.

        Parameters
        ----------
        released
            The released table or sequences.
        original
            What they were made from.
        engine
            Where to count; threads of this process by default.

        Returns
        -------
        Verdict
            Whether the promise holds, the best level that holds, and witnesses where it does not.
        """
        del original
        table = with_quasi_identifiers(released, "KCPPrivacy")
        if not table.n_persons:
            return Verdict(holds=True, achieved={"k": self.k, "c": 0.0})
        model = self.about(table)
        bounds = Bounds(k=self.k, c=float(exact_fraction("c", self.c)), most=self.p, shown=N_WITNESSES)
        verdicts = [
            GSequences.of(
                known,
                protect=protect,
                columns=model.columns,
                mixed=self.levels == "mixed",
                stars=self.stars == "counted",
            ).judge(bounds, engine or LocalEngine())
            for known, protect in _adversaries(model, table)
        ]
        # The same may be found by several; each list has the shortest first.
        channels = dict.fromkeys(channel for verdict in verdicts for channel in verdict.witnesses)
        return Verdict(
            holds=all(verdicts),
            achieved={
                "k": min(verdict.achieved["k"] for verdict in verdicts),
                "c": max(verdict.achieved["c"] for verdict in verdicts),
            },
            witnesses=tuple(sorted(channels, key=attrgetter("length"))[:N_WITNESSES]),
            violations=sum(verdict.violations for verdict in verdicts),
        )

    def claim(self) -> dict[str, object]:
        """Return the parameters a recipient needs to check the promise."""
        known = {"sensitive_known": True} if self.sensitive_known else {}
        return self.claim_with(p=self.p, levels=self.levels, stars=self.stars, **known)

    def in_words(self) -> str:
        """Return the promise in a sentence for people."""
        aside = share = throughout = ""
        if any(self.protect.values()):
            aside = " (protected values aside)"
            share = (
                NO_BOUND
                if exact_fraction("c", self.c) == 1
                else f"; and no protected value is shown for more than {in_percent(self.c)} of the persons "
                "matched"
            )
        if self.levels == "same":
            throughout = ", those of one quasi-identifier at one level throughout"
        if self.p == 1:
            known, values = "one value", "as it is released or coarser"
        else:
            known = f"up to {self.p:,} values"
            values = (
                "of one event or of several in order with any events in between, each as it is released or "
                f"coarser{throughout}"
            )
        known_of = "quasi-identifiers"
        if self.sensitive_known and any(self.protect.values()):
            aside = " (protected values of the attribute to be learned aside)"
            known_of += " and sensitive attributes other than the one to be learned"
        stars = "counts as a value where its column shows others"
        if self.stars == "ignored":
            stars = "does not count as a value"
        return (
            f"An adversary who knows {known} of a person's {known_of}{aside}, {values}, matches at "
            f"least {self.k:,} persons in the release, or none{share}. A suppressed value (*) {stars}."
            f"{self.persons_words}"
        )


def other_attributes(table: EventTable, protect: Mapping[str, Collection[str]], target: str) -> list[str]:
    """Return the sensitive attributes that may be known to an adversary who wants to learn one of `target`.

    They are all others; none where no value of `target` is protected.
    """
    return [name for name in table.schema.sensitive if name != target] if protect.get(target) else []


def with_known(table: EventTable, attributes: Sequence[str]) -> EventTable:
    """Return the table in which values of these sensitive attributes are items: nothing is above them.

    A column that is a quasi-identifier already stays what it is.
    """
    columns = [
        column
        for name in attributes
        for column in table.schema.sensitive[name].columns
        if column not in table.schema.quasi
    ]
    trees = {
        column: Hierarchy.from_edges((label, ROOT) for label in labels if label != ROOT)
        for column in columns
        if (labels := table.labels[column]) and labels != [ROOT]
    }
    quasi = {**table.schema.quasi, **{column: Quasi(tree) for column, tree in trees.items()}}
    return table.replace(schema=replace(table.schema, quasi=quasi), hierarchies=table.hierarchies | trees)


def _adversaries(
    model: KCPPrivacy, table: EventTable
) -> list[tuple[EventTable, Mapping[str, Sequence[str]]]]:
    """Return what each adversary can know, and the protected values that they want to learn."""
    targets = [name for name, labels in model.protect.items() if labels]
    if not model.sensitive_known or not targets:
        return [(table, model.protect)]
    return [
        (with_known(table, other_attributes(table, model.protect, name)), {name: model.protect[name]})
        for name in targets
    ]
