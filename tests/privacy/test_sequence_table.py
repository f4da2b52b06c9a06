"""Counting sequence by sequence in a hash table gives what listing every sequence of every row gives."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.privacy import g_sequences
from sequester.privacy.sequence_table import (
    AMONG,
    COMPARES,
    COUNTS,
    FEWEST,
    HAVE,
    HOLDS,
    MAKES,
    N_WORST_FIELDS,
    RAREST,
    SUREST,
    VALUE,
    WITH_VALUE,
    OwnedRows,
    SequenceTable,
    Views,
)

pytestmark = pytest.mark.kernel

N_VALUES = 2


def rows_of(rows, owners=None):
    """Rows as the kernels take them: kinds of events, persons, those with each value, those with any."""
    flat = [kind for kinds, *_ in rows for kind in kinds]
    held = [pair for _, _, values, _ in rows for pair in values.items()]
    return OwnedRows(
        np.array(flat, np.int32),
        np.cumsum([0, *(len(kinds) for kinds, *_ in rows)]).astype(np.int64),
        np.arange(len(rows), dtype=np.int32) if owners is None else np.array(owners, np.int32),
        np.array([persons + have * WITH_VALUE for _, persons, _, have in rows], np.int64),
        np.cumsum([0, *(len(values) for _, _, values, _ in rows)]).astype(np.int64),
        np.array(held, np.int64).reshape(-1, 2),
    )


def views_of(items, columns, is_exact):
    used = np.arange(1 << len(columns))
    return Views(
        np.array(items, np.int32),
        np.array(columns, np.int32),
        np.array([exact << view for view, exact in is_exact], np.int64),
        np.array([len(columns) - int(each).bit_count() for each in used], np.int64),
    )


def table_of(case, firsts=None):
    _, items, columns, is_exact, most = case
    firsts = range(len(is_exact)) if firsts is None else firsts
    return SequenceTable(views_of(items, columns, is_exact), most=most, n_values=N_VALUES, firsts=firsts)


@st.composite
def cases(draw):
    """Rows over few kinds of events, through one to three views, of which two may share a column."""
    n_views = draw(st.integers(1, 3))
    columns = sorted(draw(st.lists(st.integers(0, 2), min_size=n_views, max_size=n_views)))
    sizes = [draw(st.integers(1, 2)) for _ in range(n_views)]
    starts = np.cumsum([0, *sizes])
    kind = st.tuples(*(st.integers(-1, size - 1) for size in sizes))
    items = [
        [-1 if item < 0 else int(starts[view]) + item for view, item in enumerate(each)]
        for each in draw(st.lists(kind, min_size=1, max_size=4))
    ]
    is_exact = [(view, draw(st.integers(0, 3)) > 0) for view, size in enumerate(sizes) for _ in range(size)]
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        persons = draw(st.integers(1, 3))
        values = {value: draw(st.integers(1, persons)) for value in draw(st.sets(st.integers(0, 1)))}
        most = max(values.values(), default=0)
        have = draw(st.integers(most, min(persons, sum(values.values()))))
        rows.append((draw(st.lists(st.integers(0, len(items) - 1), max_size=4)), persons, values, have))
    return rows, items, columns, is_exact, draw(st.integers(1, 4))


def listed(row, items, columns, is_exact, most):
    """Every sequence that a row holds, as the kernel writes it, if it uses every view."""
    places = [
        (event, view) for event, kind in enumerate(row) for view, item in enumerate(items[kind]) if item >= 0
    ]
    found = set()
    for size in range(1, most + 1):
        for chosen in combinations(places, size):
            if any(a[0] == b[0] and columns[a[1]] == columns[b[1]] for a, b in combinations(chosen, 2)):
                continue
            path = tuple(
                (items[row[event]][view], place > 0 and chosen[place - 1][0] == event)
                for place, (event, view) in enumerate(chosen)
            )
            if {is_exact[item][0] for item, _ in path if is_exact[item][1]} == set(range(len(columns))):
                found.add(path)
    return found


def expected(rows, items, columns, is_exact, most):
    """Sequence to persons, and sequence and value to persons."""
    persons, held, have = Counter(), Counter(), Counter()
    for row, weight, values, any_value in rows:
        for path in listed(row, items, columns, is_exact, most):
            persons[path] += weight
            have[path] += any_value
            held.update({(path, value): count for value, count in values.items()})
    return persons, have, held


def paths_of(table, nodes, numbers):
    """The items of sequences, and whether each belongs to the event of the one before."""
    items, is_same = table.paths(nodes.keys, np.asarray(numbers))
    return [
        tuple((item, same) for item, same in zip(*row, strict=True) if item >= 0)
        for row in zip(items.tolist(), is_same.tolist(), strict=True)
    ]


def counted(table):
    """What the nodes say: sequence to persons, and to those with any value."""
    nodes = table.list_nodes()
    complete = np.flatnonzero(nodes.is_complete)
    paths = paths_of(table, nodes, complete)
    assert len(set(paths)) == len(paths)
    return (
        dict(zip(paths, nodes.persons[complete].tolist(), strict=True)),
        dict(zip(paths, nodes.at_risk[complete].tolist(), strict=True)),
    )


@given(cases())
def test_every_sequence_of_every_row_is_counted_once_per_row(case):
    table = table_of(case)
    assert table.walk(rows_of(case[0]), MAKES | COUNTS)
    persons, have, _ = expected(*case)
    assert counted(table) == (dict(persons), {path: have[path] for path in persons})


@given(cases())
def test_rows_that_make_no_nodes_add_to_those_that_are_there(case):
    rows = sorted(case[0], key=lambda row: not row[2])
    n_counted = sum(1 for row in rows if row[2])
    table = table_of(case)
    table.walk(rows_of(rows), MAKES | COUNTS, span=range(n_counted))
    table.walk(rows_of(rows), COUNTS, span=range(n_counted, len(rows)))
    persons, _, _ = expected(rows, *case[1:])
    known, _, _ = expected(rows[:n_counted], *case[1:])
    assert counted(table)[0] == {path: persons[path] for path in known}


@given(cases(), st.data())
def test_parts_are_the_whole(case, data):
    n_items = len(case[3])
    middle = data.draw(st.integers(0, n_items))
    together = {}
    for firsts in (range(middle), range(middle, n_items)):
        table = table_of(case, firsts)
        table.walk(rows_of(case[0]), MAKES | COUNTS)
        found, _ = counted(table)
        assert all(path[0][0] in firsts for path in found)
        together |= found
    assert together == dict(expected(*case)[0])


@given(cases(), st.data())
def test_owners_of_several_rows_count_once(case, data):
    rows = case[0]
    owners = sorted(data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))))
    weights = [(kinds, owner + 1, {}, 0) for (kinds, *_), owner in zip(rows, owners, strict=True)]
    packed = rows_of(weights, owners)._replace(weights=np.array([1, 2, 3], np.int64))
    table = table_of(case)
    table.walk(packed, MAKES | COUNTS)
    holders = {}
    for (kinds, *_), owner in zip(rows, owners, strict=True):
        for path in listed(kinds, *case[1:]):
            holders.setdefault(path, set()).add(owner)
    assert counted(table)[0] == {path: sum(owner + 1 for owner in each) for path, each in holders.items()}


@given(cases())
def test_comparing_finds_the_worst_of_each_owner(case):
    rows, *_, most = case
    packed, table = rows_of(rows), table_of(case)
    table.walk(packed, MAKES | COUNTS)
    nodes = table.list_nodes()
    table.forget_rows()
    table.walk(packed, HOLDS)
    table.forget_rows()
    n_persons = 1 + sum(weight for _, weight, *_ in rows)
    worst = np.full((len(rows), N_WORST_FIELDS), n_persons, np.int64)
    worst[:, [RAREST, SUREST]] = 0
    # Nothing is known of those with values, and of the others there is nothing to find out.
    worst[[bool(values) for *_, values, _ in rows], HAVE] = 0
    table.walk(packed, COMPARES, worst=worst)
    persons, _, held = expected(*case)
    for found, (row, _, values, _) in zip(worst, rows, strict=True):
        paths = [path for path in listed(row, *case[1:]) if len(path) == most]
        assert found[FEWEST] == min((persons[path] for path in paths), default=n_persons)
        if paths:
            assert persons[paths_of(table, nodes, [found[RAREST]])[0]] == found[FEWEST]
        shares = [
            (Fraction(held[path, value], persons[path]), persons[path]) for path in paths for value in values
        ]
        assert (Fraction(int(found[HAVE]), int(found[AMONG])), found[AMONG]) == max(
            shares, default=(Fraction(int(not values)), n_persons)
        )
        if shares:
            (path,) = paths_of(table, nodes, [found[SUREST]])
            assert (held[path, found[VALUE]], persons[path]) == (found[HAVE], found[AMONG])


def test_more_sequences_than_there_is_room_for_are_told():
    case = [([0, 1, 0, 1], 1, {}, 0)], [[0], [1]], [0], [(0, True), (0, True)], 3
    assert not table_of(case).walk(rows_of(case[0]), MAKES | COUNTS, room=2)
    table = table_of(case)
    assert table.walk(rows_of(case[0]), MAKES | COUNTS, room=100)
    assert len(table.list_nodes().keys) == 1 + 2 + 4 + 4


def test_the_table_grows_as_it_fills():
    n_items = 40
    rows = [([first, second], 1, {0: 1}, 1) for first in range(n_items) for second in range(n_items)]
    case = rows, [[item] for item in range(n_items)], [0], [(0, True)] * n_items, 2
    table, packed = table_of(case), rows_of(rows)
    table.walk(packed, MAKES | COUNTS)
    found, _ = counted(table)
    assert len(found) == n_items + n_items**2
    assert all(count == (2 * n_items - 1 if len(path) == 1 else 1) for path, count in found.items())
    table.forget_rows()
    table.walk(packed, HOLDS)
    numbers, values, have = table.list_values()
    assert set(values.tolist()) == {0}
    assert dict(zip(numbers.tolist(), have.tolist(), strict=True)) == {
        number: count for number, count in enumerate(table.list_nodes().persons.tolist()) if number
    }


@given(cases())
def test_only_wanted_sequences_hold_protected_values(case):
    table, packed = table_of(case), rows_of(case[0])
    table.walk(packed, MAKES | COUNTS)
    nodes = table.list_nodes()
    is_wanted = nodes.is_complete & (nodes.persons > 1)
    above = np.flatnonzero(is_wanted)
    while (above := above[above > 0]).size:
        is_wanted[above] = True
        above = table.parents(nodes.keys[above])
    table.look_only_for(nodes, is_wanted)
    table.walk(packed, HOLDS)
    numbers, values, have = table.list_values()
    found = dict(
        zip(zip(paths_of(table, nodes, numbers), values.tolist(), strict=True), have.tolist(), strict=True)
    )
    persons, _, held = expected(*case)
    assert {pair: count for pair, count in found.items() if persons[pair[0]] > 1} == {
        pair: count for pair, count in held.items() if persons[pair[0]] > 1
    }


@given(cases(), st.data())
def test_projected_persons_add_up(case, data):
    rows = case[0]
    n_kinds = len(case[1])
    kind_of = data.draw(st.lists(st.integers(-1, 2), min_size=n_kinds, max_size=n_kinds))
    packed = rows_of(rows)
    persons = g_sequences.PersonRows(
        packed.kinds,
        packed.offsets,
        packed.weights % WITH_VALUE,
        packed.weights // WITH_VALUE,
        np.column_stack([np.repeat(np.arange(len(rows)), np.diff(packed.value_offsets)), packed.values]),
    ).project(np.array(kind_of, np.int32))
    merged = {}
    for kinds, weight, own, have in rows:
        shown = tuple(kind_of[kind] for kind in kinds if kind_of[kind] >= 0)
        total, values, at_risk = merged.get(shown, (0, Counter(), 0))
        merged[shown] = total + weight, values + Counter(own), at_risk + have
    found = {}
    for row, (low, high) in enumerate(pairwise(persons.offsets.tolist())):
        own = persons.values[persons.values[:, 0] == row]
        found[tuple(persons.kinds[low:high].tolist())] = (
            int(persons.persons[row]),
            Counter(dict(own[:, 1:].tolist())),
            int(persons.at_risk[row]),
        )
    assert found == merged
    assert sorted(persons.at_risk.tolist(), key=lambda each: each == 0) == persons.at_risk.tolist()
