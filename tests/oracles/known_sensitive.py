"""What somebody finds who also knows values of other sensitive attributes, by enumeration.

Whoever wants to learn a value of one attribute may know values of all others, in their events, like those of
quasi-identifiers: a value is an item, and nothing is above it. So a table of `oracles.kcp` is looked at once
for each attribute with protected values: the others are columns of it, and only that one is to be learned.
Every event has one value of each attribute.
"""

from __future__ import annotations

from dataclasses import replace

from oracles import kcp, persons


def targets(table):
    """The attributes with protected values."""
    return [name for name, values in table.protect.items() if values]


def as_known(table, target):
    """The table as it is to somebody who wants to learn `target`."""
    others = [name for name in table.protect if name != target and name not in table.both]
    trees = dict(table.trees)
    for name in others:
        labels = {label for person in table.persons for _, values in person for label in values[name]}
        trees[name] = dict.fromkeys(sorted(labels - {kcp.ROOT}), kcp.ROOT)
    extended = [
        [
            ({**cells, **{name: next(iter(values[name])) for name in others}}, values)
            for cells, values in person
        ]
        for person in table.persons
    ]
    protect = {name: values for name, values in table.protect.items() if name == target}
    return replace(table, persons=extended, trees=trees, protect=protect)


def channels_of_persons(tables, k, c, p):
    """The same for attributes of persons and their events, as `oracles.persons` has them."""
    found = []
    for name in (*targets(tables.attributes), *targets(tables.events)):
        seen = persons.Tables(as_known(tables.attributes, name), as_known(tables.events, name))
        found += [(name, known) for known in persons.channels(seen, k, c, p)]
    return found


def channels(table, k, c, p):
    """Every attribute with each g-sequence that breaks the promise about it, and how."""
    return [(name, *each) for name in targets(table) for each in kcp.channels(as_known(table, name), k, c, p)]


def reached(table, p):
    """The smallest support and the largest confidence over all that could be known to anybody."""
    found = [kcp.reached(as_known(table, name), p) for name in targets(table)]
    return min(smallest for smallest, _ in found), max(largest for _, largest in found)


def one_by_one(table, k, c, p):
    """What breaks the promise about each attribute by itself, nothing of the others being known."""
    return [
        (name, *each)
        for name in targets(table)
        for each in kcp.channels(replace(table, protect={name: table.protect[name]}), k, c, p)
    ]
