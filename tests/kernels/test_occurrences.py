"""Counting sequence by sequence in a hash table gives what listing every sequence of every row gives."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.kernels.occurrence_rows import WITH_VALUE, Rows, leave_out, merge_rows
from sequester.kernels.occurrence_verdicts import SAME_EVENT, judge, list_slots, want
from sequester.kernels.occurrences import COUNT, KEY, NAME, Signature, count_occurrences, no_nodes

pytestmark = pytest.mark.kernel

N_VALUES = 2
NO_LIMIT = 1 << 40


def rows_of(rows):
    """Rows as the kernels take them: kinds of events, persons, those with each value, those with any."""
    flat = [kind for kinds, *_ in rows for kind in kinds]
    held = [pair for _, _, values, _ in rows for pair in values.items()]
    return Rows(
        np.array(flat, np.int32),
        np.cumsum([0, *(len(kinds) for kinds, *_ in rows)]).astype(np.int64),
        np.array([persons + have * WITH_VALUE for _, persons, _, have in rows], np.int64),
        np.array([value for value, _ in held], np.int32),
        np.array([count for _, count in held], np.int64),
        np.cumsum([0, *(len(values) for _, _, values, _ in rows)]).astype(np.int64),
    )


def signature_of(items, columns, is_exact):
    return Signature(
        np.array(items, np.int32),
        np.array(columns, np.int32),
        np.array([exact << view for view, exact in is_exact], np.int64),
        np.arange(len(is_exact), dtype=np.int64) * 10,
        N_VALUES,
    )


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


def path_of(nodes, slot_of, number, base):
    path = []
    while number:
        key = int(nodes[slot_of[number], KEY])
        path.append((key % base >> 1, bool(key & 1)))
        number = key // base
    return tuple(reversed(path))


def counted(nodes, slot_of, base):
    """What the nodes say: sequence to persons, and to those with any value."""
    complete = [number for number in range(1, len(slot_of)) if nodes[slot_of[number], NAME] & 1]
    counts = {
        path_of(nodes, slot_of, number, base): divmod(int(nodes[slot_of[number], COUNT]), WITH_VALUE)
        for number in complete
    }
    assert len(counts) == len(complete)
    return {path: each[1] for path, each in counts.items()}, {path: each[0] for path, each in counts.items()}


@given(cases())
def test_every_sequence_of_every_row_is_counted_once_per_row(case):
    rows, items, columns, is_exact, most = case
    signature, base = signature_of(items, columns, is_exact), 2 * len(is_exact)
    nodes, _, n_sequences = count_occurrences(
        rows_of(rows), signature, most, no_nodes(4), len(rows), 0, 1, NO_LIMIT
    )
    persons, have, _ = expected(*case)
    assert counted(nodes, list_slots(nodes, n_sequences), base) == (
        dict(persons),
        {path: have[path] for path in persons},
    )


@given(cases())
def test_rows_that_make_no_nodes_add_to_those_that_are_there(case):
    rows, items, columns, is_exact, most = case
    rows = sorted(rows, key=lambda row: not row[2])
    n_counted = sum(1 for row in rows if row[2])
    signature, base = signature_of(items, columns, is_exact), 2 * len(is_exact)
    nodes, _, n_sequences = count_occurrences(
        rows_of(rows), signature, most, no_nodes(4), n_counted, 0, 1, NO_LIMIT
    )
    persons, _, _ = expected(rows, items, columns, is_exact, most)
    known, _, _ = expected(rows[:n_counted], items, columns, is_exact, most)
    found, _ = counted(nodes, list_slots(nodes, n_sequences), base)
    assert found == {path: persons[path] for path in known}


@given(cases(), st.integers(2, 3))
def test_parts_are_the_whole(case, n_parts):
    rows, items, columns, is_exact, most = case
    signature, base = signature_of(items, columns, is_exact), 2 * len(is_exact)
    together = {}
    for part in range(n_parts):
        nodes, _, n_sequences = count_occurrences(
            rows_of(rows), signature, most, no_nodes(4), len(rows), part, n_parts, NO_LIMIT
        )
        found, _ = counted(nodes, list_slots(nodes, n_sequences), base)
        assert all(path[0][0] % n_parts == part for path in found)
        together |= found
    assert together == dict(expected(*case)[0])


def test_more_sequences_than_there_is_room_for_are_told():
    rows = rows_of([([0, 1, 0, 1], 1, {}, 0)])
    signature = signature_of([[0], [1]], [0], [(0, True), (0, True)])
    assert count_occurrences(rows, signature, 3, no_nodes(4), 1, 0, 1, 2)[2] == -1
    assert count_occurrences(rows, signature, 3, no_nodes(4), 1, 0, 1, 100)[2] == 1 + 2 + 4 + 4


def test_the_table_grows_as_it_fills():
    n_items = 40
    items = [[item] for item in range(n_items)]
    signature = signature_of(items, [0], [(0, True)] * n_items)
    rows = rows_of([([first, second], 1, {0: 1}, 1) for first in range(n_items) for second in range(n_items)])
    nodes, _, n_sequences = count_occurrences(rows, signature, 2, no_nodes(4), n_items**2, 0, 1, NO_LIMIT)
    slot_of = list_slots(nodes, n_sequences)
    found, _ = counted(nodes, slot_of, 2 * n_items)
    assert len(found) == n_sequences - 1 == n_items + n_items**2
    assert all(count == (2 * n_items - 1 if len(path) == 1 else 1) for path, count in found.items())
    assert want(nodes, slot_of, signature, 0.5, 0, 1) == n_sequences - 1
    _, held, _ = count_occurrences(rows, signature, 2, nodes, -1, 0, 1, NO_LIMIT)
    assert {int(key) // N_VALUES: int(count) for key, count in held if key >= 0} == {
        number: int(nodes[slot_of[number], COUNT]) % WITH_VALUE for number in range(1, n_sequences)
    }


@given(
    cases(), st.sampled_from([0.3, 0.5, 1.0]), st.sampled_from([(0, 1), (1, 2), (2, 3)]), st.integers(1, 4)
)
def test_judging_finds_the_rarest_the_most_telling_and_what_breaks_the_bounds(case, c, known, k):
    rows, items, columns, is_exact, most = case
    signature = signature_of(items, columns, is_exact)
    packed = rows_of(rows)
    nodes, held, n_sequences = count_occurrences(
        packed, signature, most, no_nodes(4), len(rows), 0, 1, NO_LIMIT
    )
    slot_of = list_slots(nodes, n_sequences)
    persons, have, values = expected(*case)
    wanted = {
        path
        for path in persons
        if have[path] > c * persons[path] + 1e-9 * persons[path]
        or have[path] * known[1] > known[0] * persons[path]
    }
    assert want(nodes, slot_of, signature, c, *known) == len(wanted)
    if wanted:
        nodes, held, _ = count_occurrences(packed, signature, most, nodes, -1, 0, 1, NO_LIMIT)
    found = judge(nodes, slot_of, held, signature, most, k, c, 3)

    assert found.fewest == min(persons.values(), default=-1)
    largest = max((values[path, value] / persons[path] for path, value in values), default=0)
    if largest > known[0] / known[1]:
        assert found.with_value / found.among == largest
    broken = []
    for path in persons:
        above = [value for value in range(N_VALUES) if values[path, value] > c * persons[path] * (1 + 1e-9)]
        if persons[path] < k:
            broken.append((path, persons[path], -1, 0))
        elif above:
            value = max(above, key=lambda value: (values[path, value], -value))
            broken.append((path, persons[path], value, values[path, value]))
    broken.sort(key=lambda each: (len(each[0]), [(same, item) for item, same in each[0]]))
    assert found.violations == len(broken)
    shown = [
        tuple((int(code) % SAME_EVENT // 10, bool(code >= SAME_EVENT)) for code in path if code >= 0)
        for path in found.paths
    ]
    assert [
        (path, *numbers)
        for path, *numbers in zip(shown, found.persons, found.values, found.counts, strict=True)
    ] == broken[:3]


@given(
    st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=5), st.lists(st.integers(-1, 2), min_size=4)
)
def test_events_get_new_kinds_or_are_left_out(rows, kind_of):
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    kinds = np.array([kind for row in rows for kind in row], np.int32)
    kept, new_offsets = leave_out(kinds, offsets, np.array(kind_of, np.int32))
    assert [kept[a:b].tolist() for a, b in pairwise(new_offsets)] == [
        [kind_of[kind] for kind in row if kind_of[kind] >= 0] for row in rows
    ]


@given(cases(), st.data())
def test_merged_rows_add_up(case, data):
    rows = case[0]
    groups = data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    weights, values, counts, offsets = merge_rows(rows_of(rows), np.array(groups, np.int32), 3)
    for group in range(3):
        members = [row for row, its_group in zip(rows, groups, strict=True) if its_group == group]
        assert weights[group] == sum(persons + have * WITH_VALUE for _, persons, _, have in members)
        merged = sum((Counter(row[2]) for row in members), Counter())
        low, high = offsets[group], offsets[group + 1]
        assert dict(zip(values[low:high].tolist(), counts[low:high].tolist(), strict=True)) == merged
        assert high - low == len(merged)
