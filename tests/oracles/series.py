"""What a series of releases promises, by enumeration: its parts laid side by side are one private table.

A part leads from pseudonyms to lists of events as in `oracles.kcp`; it has only what is new. The accumulated
table has for every pseudonym the events of all parts, in the order of the parts.
"""

from __future__ import annotations

from oracles import kcp, persons


def accumulate(parts):
    """Pseudonym to all events, in the order of the parts."""
    persons = {}
    for part in parts:
        for pseudonym, events in part.items():
            persons.setdefault(pseudonym, []).extend(events)
    return persons


def is_private(parts, trees, protect, k, c, p, **how):
    """Whether the accumulated table keeps the promise."""
    return kcp.is_private(kcp.Table(list(accumulate(parts).values()), trees, protect, **how), k, c, p)


def is_private_with_persons(attributes, attribute_trees, parts, trees, protect, k, c, p, **how):
    """The same where persons have attributes, each an event of its own, in the part that they enter with."""
    own, events = accumulate(attributes), accumulate(parts)
    assert set(events) <= set(own)
    assert all(len(each) == 1 for each in own.values())
    tables = persons.Tables(
        kcp.Table(list(own.values()), attribute_trees, {}, **how),
        kcp.Table([events.get(each, []) for each in own], trees, protect, **how),
    )
    return not persons.channels(tables, k, c, p)


def is_true(released, events, trees):
    """Whether released cells are those of a person's first events, or lie above them."""
    return len(released) <= len(events) and all(
        shown[name] == kcp.ROOT or shown[name] in kcp.above(tree, own[name])
        for shown, own in zip(released, events, strict=False)
        for name, tree in trees.items()
    )


def intersection(releases, knowledge):
    """The candidates whom several releases leave, each a list of equivalence classes of persons.

    `knowledge` tells in which class of each release the target is.
    """
    candidates = None
    for classes, number in zip(releases, knowledge, strict=True):
        candidates = set(classes[number]) if candidates is None else candidates & set(classes[number])
    return candidates
