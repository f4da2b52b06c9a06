"""Persons who look the same are one owner, and nobody else is."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from attacks.tables import some_persons, table_of
from sequester.attacks.exposure_search import Items, SearchRows


def rows_of(units, items):
    rows = [[] for _ in units.weights]
    for owner, (a, b) in zip(units.owners.tolist(), pairwise(units.offsets), strict=True):
        rows[owner].append([items.names[code][1] for code in units.items[a:b]])
    return rows


@given(some_persons, st.sampled_from(["ordered", "event", "anywhere"]), st.data())
def test_owners_are_persons_who_look_the_same(persons, kind, data):
    labels = [
        data.draw(st.lists(st.sampled_from("HCx"), min_size=len(each), max_size=len(each)))
        for each in persons
    ]
    items = Items.of(table_of(persons, labels))
    units = SearchRows.of(items, kind)

    def look(number):
        person, protected = persons[number], frozenset(labels[number]) & {"H", "C"}
        everything = frozenset(item for event in person for item in event)
        return (everything if kind == "anywhere" else tuple(person)), protected

    owners = units.owner_of_person.tolist()
    same = [(owners[i] == owners[j]) == (look(i) == look(j)) for i in range(len(owners)) for j in range(i)]
    assert all(same)
    assert units.weights.tolist() == [owners.count(owner) for owner in range(len(units.weights))]
    for number, owner in enumerate(owners):
        values = units.values[units.value_offsets[owner] : units.value_offsets[owner + 1]]
        assert {items.value_names[value][1] for value in values} == look(number)[1]


@given(some_persons, st.sampled_from(["ordered", "event", "anywhere"]))
def test_rows_hold_the_items_of_their_kind(persons, kind):
    items = Items.of(table_of(persons))
    units = SearchRows.of(items, kind)
    rows = rows_of(units, items)
    support = {name: count for (_, name), count in zip(items.names, items.supports.tolist(), strict=True)}
    for person, owner in zip(persons, units.owner_of_person, strict=True):
        found = rows[owner]
        if kind == "ordered":
            assert found == [[item for event in person for item in event]]
        else:
            sets = [set(event) for event in person] if kind == "event" else [set().union(*person)]
            assert [set(row) for row in found] == sets
            assert all(support[a] <= support[b] for row in found for a, b in pairwise(row))
