"""Shards cover all persons once, answers keep their order, and an error stops what waits."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.engine import LocalEngine
from sequester.engine.local import usable_cores
from sequester.errors import ParameterError

sizes = st.integers(0, 60)
counts = st.integers(0, 9)


@given(sizes, counts, counts)
def test_shards_are_consecutive_non_empty_and_nearly_equal(n_rows, threads, shards):
    cut = LocalEngine(threads=threads, shards=shards).split(n_rows)
    assert [row for shard in cut for row in shard] == list(range(n_rows))
    lengths = [len(shard) for shard in cut]
    assert lengths == sorted(lengths, reverse=True)
    if n_rows:
        assert max(lengths) - min(lengths) <= 1
        assert min(lengths) >= 1
    else:
        assert cut == []


@given(sizes, st.integers(1, 9))
def test_as_many_shards_as_asked_for_while_there_are_rows(n_rows, shards):
    assert len(LocalEngine(shards=shards).split(n_rows)) == min(shards, n_rows)


def test_sixteen_shards_per_thread_unless_asked():
    assert len(LocalEngine(threads=3).split(1000)) == 48


def _rows_and(shard, shared):
    return list(shard), shared


@given(sizes, st.integers(1, 4), st.integers(1, 9))
def test_answers_come_in_shard_order(n_rows, threads, shards):
    engine = LocalEngine(threads=threads, shards=shards)
    answers = engine.map(_rows_and, engine.split(n_rows), shared="what all share")
    assert list(answers) == [(list(shard), "what all share") for shard in engine.split(n_rows)]


def test_a_shard_that_finishes_first_still_comes_in_its_place():
    second_done = threading.Event()

    def task(shard, shared):
        if shard.start == 0:
            assert second_done.wait(timeout=600)
        else:
            second_done.set()
        return shard.start

    assert list(LocalEngine(threads=2).map(task, [range(1), range(1, 2)], shared=None)) == [0, 1]


def test_progress_rises_to_one_and_names_the_phase():
    seen = []
    engine = LocalEngine(threads=2, shards=4)
    parts = engine.split(8)
    answers = engine.map(
        _rows_and, parts, shared=None, progress=lambda *told: seen.append(told), phase="counting"
    )
    assert len(list(answers)) == 4
    assert seen == [(0.25, "counting"), (0.5, "counting"), (0.75, "counting"), (1.0, "counting")]


def test_no_shards_no_answers():
    assert list(LocalEngine().map(_rows_and, [], shared=None)) == []


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_stops_the_shards_that_wait(monkeypatch, error, threads):
    done, cancelled = [], []
    all_asked = threading.Event()
    cancel = Future.cancel

    def cancel_and_count(future):
        cancelled.append(cancel(future))
        if len(cancelled) == 8:  # all but the one that failed
            all_asked.set()
        return cancelled[-1]

    def task(shard, shared):
        if shard.start == 0:
            raise error
        # What runs already goes on; none of the others may begin.
        assert all_asked.wait(timeout=600)
        done.append(shard.start)

    monkeypatch.setattr(Future, "cancel", cancel_and_count)
    engine = LocalEngine(threads=threads, shards=9)
    with pytest.raises(error):
        list(engine.map(task, engine.split(9), shared=None))
    assert set(done) <= ({1, 2} if threads == 2 else set())


@pytest.mark.parametrize("name", ["threads", "shards"])
def test_a_negative_number_is_refused(name):
    with pytest.raises(ParameterError, match=f"{name} must be at least 0, got -1"):
        LocalEngine(**{name: -1})


def test_threads_are_those_asked_for_or_one_per_usable_core(monkeypatch):
    assert usable_cores() >= 1
    monkeypatch.setattr("sequester.engine.local.usable_cores", lambda: 5)
    assert LocalEngine(threads=3).n_threads == 3
    assert LocalEngine().n_threads == 5


@pytest.mark.parametrize(("counted", "expected"), [(6, 6), (None, 1)])
def test_all_cores_count_where_the_system_does_not_say_which_are_ours(monkeypatch, counted, expected):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: counted)
    assert usable_cores() == expected
