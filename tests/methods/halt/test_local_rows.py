"""Counting rows in parts and linking them: the release and the work of counting one row after the other."""

from __future__ import annotations

import numpy as np
import pytest

from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import make
from sequester.engine import LocalEngine
from sequester.hierarchies import Hierarchy
from sequester.methods.halt import _local_kernels as kernel
from sequester.methods.halt import algorithm, local_rows
from sequester.methods.halt.extraction import WorkBudget
from sequester.methods.halt.method import HALT

SEED = "a sentence that nobody guesses"


def hospital(persons=150):
    schema = Schema(
        person="PID",
        order="VID",
        quasi={
            "AdmYr": Hierarchy.flat(),
            "DSFC": Hierarchy.intervals([7, 28, 84]),
            "LOS": Hierarchy.intervals([7, 28]),
        },
        sensitive={"Disease": ["HIV", "Alcoholism"]},
        drop=["ZIP"],
    )
    return EventTable(make("hospital", persons=persons, seed=SEED), schema)


@pytest.fixture
def work(monkeypatch):
    """Collect what searches count as their work."""
    found = []

    def begin(most):
        found.append(WorkBudget(most))
        return found[-1]

    monkeypatch.setattr(algorithm, "WorkBudget", begin)
    return found


def release(table, engine, **asked):
    found = HALT(**{"k": 2, "c": 0.6, "p": 3, **asked}).apply(table, seed=SEED, engine=engine, evaluate=False)
    return found.frame.write_csv(), found.changes.write_csv()


@pytest.mark.filterwarnings("ignore::sequester.SequesterWarning")
@pytest.mark.parametrize("levels", ["same", "mixed"])
@pytest.mark.parametrize("stars", ["counted", "ignored"])
def test_parts_links_and_room_change_neither_the_release_nor_the_work(levels, stars, monkeypatch, work):
    table, asked = hospital(), {"levels": levels, "stars": stars}
    alone = release(table, LocalEngine(threads=1), **asked)
    for part, threads, most_links, fewest in (
        (500, 2, 1 << 24, 1 << 12),
        (30, 3, 1 << 24, 1 << 6),
        (500, 2, 40, 1 << 16),
        (1 << 30, 1, 0, 1 << 6),
    ):
        monkeypatch.setattr(local_rows, "PART", part)
        monkeypatch.setattr(local_rows, "MOST_LINKS", most_links)
        monkeypatch.setattr(local_rows, "FEWEST_ENTRIES", fewest)
        assert release(table, LocalEngine(threads=threads), **asked) == alone
    assert len({each.done for each in work}) == 1


@pytest.mark.filterwarnings("ignore::sequester.SequesterWarning")
def test_a_search_that_does_too_much_stops_at_the_same_node(monkeypatch, work):
    table = hospital()
    release(table, LocalEngine(threads=1))
    monkeypatch.setattr(algorithm.Workload, "most_cells", lambda *_, **__: work[0].done // 2)
    alone = release(table, LocalEngine(threads=1))
    monkeypatch.setattr(local_rows, "PART", 300)
    assert release(table, LocalEngine(threads=2)) == alone
    assert work[0].done != work[1].done


def shown_rows(length):
    """Return rows of random cells with the table of no entry."""
    random = np.random.default_rng(3)
    sizes = 2 * random.integers(0, 5, 400)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.full((len(offsets), kernel.N_ROW_FIELDS), kernel.NEVER)
    rows[:, kernel.FIRST] = rows[:, kernel.FIRST_NEW] = offsets
    rows[:, kernel.WEIGHT] = 1
    items = np.zeros((30, kernel.N_ITEM_FIELDS), np.int64)
    items[1:, kernel.IS_COUNTED] = 1
    cells = random.integers(-1, 30, offsets[-1]).astype(np.int32)
    return local_rows.empty_table(
        kernel.CountedRows(
            cells=cells,
            is_locked=np.zeros(len(cells), np.bool_),
            rows=rows,
            items=items,
            prices=np.ones(30),
            slots=np.empty(0, np.int64),
            entries=np.empty((0, kernel.N_FIELDS), np.int64),
            links=np.empty((1 << 18, 2), np.int32),
            choices=np.empty((0, kernel.N_CHOICE_FIELDS), np.int64),
            spent=np.zeros(1),
            state=np.empty(0, np.int64),
            n_columns=2,
            length=length,
            k=3,
        )
    )


@pytest.mark.parametrize("part", [200, 3_000])
@pytest.mark.parametrize("length", [1, 2, 4])
def test_the_table_of_parts_is_that_of_one_row_after_the_other(part, length, monkeypatch):
    monkeypatch.setattr(local_rows, "PART", part)
    shown = shown_rows(length)
    offsets = shown.rows[:, kernel.FIRST]
    parts = local_rows.cut_rows(local_rows.choices_of_rows(offsets, length))
    assert [row for each in parts for row in each] == [*range(400)]
    work = WorkBudget(), WorkBudget()
    counted = local_rows.count_in_parts(shown, parts, LocalEngine(threads=2), work[0])
    shown = local_rows.count_rows(shown, None, range(400), work[1])
    n_entries = shown.state[kernel.ENTRIES]
    assert counted.state[kernel.ENTRIES] == n_entries > 1
    fields = [kernel.KEY, kernel.COUNT]
    assert (counted.entries[:n_entries, fields] == shown.entries[:n_entries, fields]).all()
    assert work[0].done == work[1].done > 0


def test_too_many_entries_are_left_to_counting_one_row_after_the_other(monkeypatch):
    shown = shown_rows(4)
    parts = [range(200), range(200, 400)]
    monkeypatch.setattr(local_rows, "MOST_ENTRIES", 1 << 11)
    assert local_rows.count_in_parts(shown, parts, LocalEngine(threads=2), WorkBudget()) is None
    monkeypatch.setattr(local_rows, "MOST_ENTRIES", 1 << 26)
    assert local_rows.count_in_parts(shown, parts, LocalEngine(threads=2), WorkBudget()) is not None


def test_rows_are_linked_to_what_few_persons_show_where_nothing_is_rare():
    shown = shown_rows(2)
    parts = [range(150), range(150, 400)]
    counted = local_rows.count_in_parts(shown, parts, LocalEngine(threads=2), WorkBudget())
    local_rows.link_in_parts(counted, parts, LocalEngine(threads=2))
    counts = counted.entries[:, kernel.COUNT]
    is_fine = counted.rows[:-1, kernel.LINKED_AT] != kernel.NEVER
    assert 0 < is_fine.sum() < 400
    linked = {}
    for entry in range(1, int(counted.state[kernel.ENTRIES])):
        link, rows = int(counted.entries[entry, kernel.LINK]), []
        while link > 0:
            rows.append(int(counted.links[link, 0]))
            link = int(counted.links[link, 1])
        assert len(rows) == len(set(rows)) <= counts[entry]
        linked[entry] = rows
    assert set(np.flatnonzero(is_fine)) >= {row for rows in linked.values() for row in rows}
    assert any(linked.values())


def test_work_that_is_short_or_alone_is_not_cut():
    assert local_rows.engine_for(LocalEngine(threads=1), 10**12) is None
    two = LocalEngine(threads=2)
    assert local_rows.engine_for(two, 10) is two
