"""Small series of three parts with random arrivals, as the oracles and as the library read them."""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass, field, replace
from fractions import Fraction

import polars as pl

from methods.halt.tables import HIGH, TREES
from oracles import hierarchy, kcp
from oracles import series as oracle
from sequester.data.persons import Persons
from sequester.data.schema import Quasi, Schema
from sequester.data.table import EventTable
from sequester.errors import SequesterWarning
from sequester.hierarchies import Hierarchy
from sequester.methods.halt.method import HALT, GloGen
from sequester.release.certificate import Certificate

SEX = {"f": "*", "m": "*"}
BOTH = {"h": "bad", "i": "bad", "u": "bad", "v": "good", "w": "good", "bad": "*", "good": "*"}
"""The tree of a quasi-identifier that is sensitive, too."""


def as_past(release):
    """The series after a release, as if it had been written and read."""
    certificate = Certificate.of(release, {})
    return replace(release.series, certificate=certificate, certificate_sha256="sha256:" + 64 * "0")


def run(method, table, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return method.apply(table, evaluate=False, **how)


def table_of(rows, trees, people=None):
    """Rows of events, in the order of the columns; with people, a table of persons and their sex."""
    quasi = {name: Quasi(Hierarchy.from_edges(list(tree.items()))) for name, tree in trees.items()}
    columns = {"who": pl.String, "n": pl.Int64, **dict.fromkeys([*trees, "ill"], pl.String)}
    schema = Schema(person="who", order="n", quasi=quasi, sensitive={"ill": list(HIGH)})
    persons = None
    if people is not None:
        sexes = pl.DataFrame({"who": list(people), "sex": list(people.values())})
        persons = Persons(sexes, quasi={"sex": Hierarchy.from_edges(list(SEX.items()))})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return EventTable(pl.DataFrame(rows, schema=columns, orient="row"), schema, persons)


@dataclass
class RandomSeries:
    """People whose events come in three parts; some stop, some enter, and illness becomes more common."""

    number: int
    people: dict = field(default_factory=dict)
    """Person to events: cells, and what they have."""
    sexes: dict = field(default_factory=dict)
    n_released: dict = field(default_factory=dict)
    """Person to how many of their events are released."""

    def __post_init__(self):
        rng = self.rng = random.Random(self.number)
        self.has_both = rng.random() < 0.2
        names = "QR"[: rng.choice([1, 1, 2])]
        self.trees = {name: TREES[rng.choice(["flat", "flat", *sorted(TREES)])] for name in names}
        if self.has_both:
            self.trees = {"ill": BOTH, **dict(list(self.trees.items())[:1])}
        self.has_sexes = rng.random() < 0.3
        self.k, self.p = rng.choice([2, 3]), rng.choice([1, 2, 3])
        self.c = rng.choice([Fraction(1, 2), Fraction(1, 3), Fraction(3, 4), Fraction(1)])
        self.levels = rng.choice(["same", "mixed"])
        self.stars = rng.choice(["counted", "counted", "ignored"])
        asked = {"k": self.k, "c": str(self.c), "p": self.p, "levels": self.levels, "infeasible": "drop"}
        self.method = HALT(**asked, stars=self.stars, suppression=rng.choice(["local", "global"]))
        if rng.random() < 0.25:
            self.method, self.stars = GloGen(**asked), "counted"
        self.few = [rng.sample(sorted(hierarchy.leaf_labels(tree)), 2) for tree in self.trees.values()]

    def event(self, risk):
        """Mostly one of two values, so that some are shared by many."""
        rng, cells = self.rng, {}
        for (name, tree), few in zip(self.trees.items(), self.few, strict=True):
            cells[name] = rng.choice(few if rng.random() < 0.8 else sorted(hierarchy.leaf_labels(tree)))
        ill = rng.choice(HIGH) if rng.random() < risk else "no"
        if self.has_both:
            ill = cells["ill"] = ill if ill != "no" else rng.choice("uvw")
        return cells, ill

    def arrive(self, part):
        """Let persons enter and events happen; return the table of a part: all so far, or what is new."""
        rng, risk = self.rng, (0.1, 0.3, 0.4)[part]
        entering = [
            f"p{len(self.people) + i}"
            for i in range(rng.randint(6, 11) if not part else rng.choice([0, 1, 2, 5]))
        ]
        for who in entering:
            self.people[who] = [self.event(risk) for _ in range(rng.randint(1, 2))]
            self.sexes[who] = rng.choice("fm")
        for who, events in self.people.items():
            if part and who not in entering and rng.random() < 0.5:
                events += [self.event(risk) for _ in range(rng.randint(1, 2))]
        is_whole = rng.random() < 0.5
        rows = []
        for who, events in self.people.items():
            first = 0 if is_whole else self.n_released.get(who, 0)
            rows += [
                (who, n, *(cells[name] for name in self.trees), *(() if self.has_both else (ill,)))
                for n, (cells, ill) in enumerate(events)
                if n >= first
            ]
        return table_of(rows, self.trees, self.sexes if self.has_sexes else None)

    def read(self, release):
        """A part as the oracle reads it: attributes of new persons, and new events."""
        attributes, events = {}, {}
        if self.has_sexes:
            for who, sex in release.persons.select("person", "sex").iter_rows():
                attributes[who] = [({"sex": sex}, {})]
        for event in release.frame.iter_rows(named=True):
            cells = {name: event[name] for name in self.trees}
            events.setdefault(event["person"], []).append((cells, {"ill": {event["ill"]}}))
        return attributes, events

    def is_private(self, parts):
        """Whether all parts together keep the promise, by the oracle."""
        protect = {"ill": kcp.with_nodes(BOTH, set(HIGH)) if self.has_both else set(HIGH)}
        how = {"levels": self.levels, "stars": self.stars, "both": {"ill": "ill"} if self.has_both else {}}
        attributes, events = zip(*parts, strict=True)
        asked = (events, self.trees, protect, self.k, self.c, self.p)
        if self.has_sexes:
            return oracle.is_private_with_persons(attributes, {"sex": SEX}, *asked, **how)
        return oracle.is_private(*asked, **how)
