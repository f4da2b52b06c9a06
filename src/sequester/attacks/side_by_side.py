"""Several releases of the same people, laid side by side by an adversary who has all of them.

Where records of different releases can be told to be of one person, such as by what both show unprotected,
whoever is to be found has to fit in all of them: the candidate sets are intersected, and where both show the
same event, the finer value of each column counts. That is the worst case; it needs the pseudonyms, which are
internal.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from sequester.attacks.domain import merged_tree
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.attacks.risk import Risk
    from sequester.hierarchies.hierarchy import Hierarchy

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
    told = [
        name
        for name in (*first.schema.sensitive_columns, *first.schema.keep)
        if name not in columns and all(name in other.frame.columns for other in others)
    ]
    records, *more = (
        dict(_records(table, known, [*columns, *told]))
        for table, known in zip((first, *others), names, strict=True)
    )
    for each in more:
        # Who is known to be in all of them is looked for among those who are.
        records = {
            person: _merge(events, each[person], trees, told)
            for person, events in records.items()
            if person in each
        }
    rows = [
        {"person": person, "order": place, **event}
        for person, events in records.items()
        for place, event in enumerate(events, start=1)
    ]
    sensitive = {
        name: each for name, each in first.schema.sensitive.items() if {*each.columns} <= {*columns, *told}
    }
    schema = Schema(
        person="person",
        order="order",
        quasi=trees,
        sensitive=sensitive,
        keep=[name for name in first.schema.keep if name in told],
        released=True,
    )
    types = {"person": pl.String, "order": pl.Int64, **dict.fromkeys([*columns, *told], pl.String)}
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
    one: list[Event], other: list[Event], trees: Mapping[str, Hierarchy], told: Sequence[str]
) -> list[Event]:
    """Join two records of a person: the same events once, each with the finer values; else one by one.

    They are the same as far as the shorter one goes, if all that is shown can be of the same events.
    """
    merged = []
    for a, b in zip(one, other, strict=False):
        finer = {name: _finer(trees[name], a[name], b[name]) for name in trees}
        if None in finer.values() or any(a[name] != b[name] for name in told):
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
