"""Workers give the answers of threads; what they hold is private, and what goes wrong there is said here."""

from __future__ import annotations

import json
import logging
import pickle
import socket
import stat
import sys
import threading
import time
import types
from pathlib import Path

import numpy as np
import pytest

import worker_tasks
from sequester.engine import address as address_module
from sequester.engine import cluster
from sequester.engine.address import open_engine
from sequester.engine.cluster import DaskEngine
from sequester.engine.local import cut_evenly
from sequester.errors import InputError, InternalError, SchemaError, UnattainableError

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")


def small_cluster(n_workers, tmp_path, **more):
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        host="127.0.0.1",
        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
        local_directory=tmp_path,
        silence_logs=50,
        **more,
    )


def test_answers_come_in_the_order_of_the_parts(workers):
    shared = {"small": np.arange(3), "large": np.arange(100_000)}
    base = 3 + int(shared["large"].sum())
    seen = []
    found = workers.map(
        worker_tasks.add, range(40), shared=shared, progress=lambda *told: seen.append(told), phase="adding"
    )
    assert list(found) == [part + base for part in range(40)]
    assert [fraction for fraction, _ in seen] == [(n + 1) / 40 for n in range(40)]
    assert seen[-1][1].startswith("adding: 40 of 40 tasks, ")
    assert seen[-1][1].endswith(" MB sent")


def test_no_parts_no_answers(workers):
    assert list(workers.map(worker_tasks.add, [], shared=None)) == []


def test_a_large_array_is_sent_once_whatever_it_is_part_of(workers):
    large = np.random.default_rng(1).integers(0, 9, 1_000_000)
    before = workers.sent
    list(workers.map(worker_tasks.add, range(3), shared={"small": np.arange(2), "large": large}))
    first = workers.sent - before
    assert 2 * large.nbytes < first < 2 * large.nbytes + 10_000
    list(workers.map(worker_tasks.add, range(3), shared={"small": np.arange(5), "large": large.copy()}))
    assert workers.sent - before - first < 10_000


@pytest.mark.parametrize(("room", "times"), [(2_000_000, 1), (10_000, 2)])
def test_an_array_of_an_earlier_step_is_kept_while_there_is_room(workers, monkeypatch, room, times):
    monkeypatch.setattr(cluster, "RESIDENT", room)
    one, other = np.random.default_rng(room).integers(0, 9, (2, 100_000))
    before = workers.sent
    for large in (one, other, one):
        list(workers.map(worker_tasks.add, [0], shared={"small": np.arange(2), "large": large}))
    assert (workers.sent - before) // (2 * one.nbytes) == times + 1


def test_a_changed_array_is_sent_again(workers):
    shared = {"small": np.arange(2), "large": np.zeros(10_000, np.int64)}
    assert list(workers.map(worker_tasks.add, [0], shared=shared)) == [1]
    shared["large"][5] = 7
    assert list(workers.map(worker_tasks.add, [0], shared=shared)) == [8]


def test_arrays_are_aligned_and_as_writable_as_they_were(workers):
    """Kernels are compiled for the one or the other."""
    arrays = [np.arange(n, dtype=np.int64) for n in (2, 9_001, 9_003, 20_001)]
    arrays.append(np.frombuffer(bytes(100_000), np.int32))
    found = next(workers.map(worker_tasks.describe_arrays, [0], shared=arrays))
    assert found == worker_tasks.describe_arrays(0, arrays)
    assert [writable for writable, _, _ in found] == [True] * 4 + [False]


def test_a_scheduler_loads_no_function_of_a_task(workers, monkeypatch):
    sent = []
    monkeypatch.setattr(workers._client, "submit", lambda *given, **named: sent.append(given) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        list(workers.map(worker_tasks.add, [0], shared=None))
    (run, task, part, *_) = sent[0]
    assert b"worker_tasks" not in pickle.dumps((run, task, part))


def test_each_call_has_its_own_counters(workers):
    for _ in range(2):
        counts = list(workers.map(worker_tasks.count_calls, range(6), shared=np.zeros(1, np.int64)))
        assert max(counts) <= 6


def test_workers_forget_what_was_shared_when_a_client_goes(workers):
    shared = {"small": np.arange(2), "large": np.arange(10_000)}
    with distributed.Client(workers._client.scheduler.address, set_as_default=False) as client:
        list(DaskEngine(client).map(worker_tasks.add, range(4), shared=shared))
        assert any(client.run(worker_tasks.opened).values())
        calls = {call for calls in client.run(worker_tasks.opened).values() for call in calls}
    workers._held.clear()
    while any(calls & found for found in workers._client.run(worker_tasks.opened).values()):
        time.sleep(0.05)


def test_errors_of_ours_arrive_as_they_are(workers):
    with pytest.raises(SchemaError) as caught:
        list(workers.map(worker_tasks.refuse, [0], shared=None))
    assert caught.value.lines == ("column 'age' has no role", "column 'zip' has no role")
    assert caught.value.notes == ("rows repeat",)
    with pytest.raises(UnattainableError, match="no release") as refused:
        list(workers.map(worker_tasks.cannot, [0], shared=None))
    assert refused.value.achieved == {"k": 3}


def test_other_errors_arrive_as_internal_ones_with_their_line(workers):
    with pytest.raises(InternalError) as caught:
        list(workers.map(cut_evenly, [5], shared="two"))
    assert caught.value.fault.startswith("TypeError at sequester/engine/local.py:")
    assert str(caught.value).startswith(caught.value.fault)


@pytest.mark.parametrize(
    ("task", "line"),
    [
        (worker_tasks.fill_the_disk, r"worker tcp://127.0.0.1:\d+ cannot go on: No space left on device"),
        (worker_tasks.fill_the_disk_with_a_table, r"worker tcp.* cannot go on: No space left on device$"),
        (worker_tasks.take_too_much, r"worker tcp://127.0.0.1:\d+ has not enough memory for this"),
    ],
)
def test_a_full_disk_and_too_little_memory_are_said(workers, task, line):
    with pytest.raises(InputError, match=line):
        list(workers.map(task, [0], shared=None))


def test_a_worker_that_cannot_take_what_is_shared(workers, monkeypatch):
    def refuse(*given, **more):
        # As dask passes on what a worker raised.
        raise Exception("MemoryError((2000000000,), dtype('uint8'))")

    monkeypatch.setattr(workers._client, "scatter", refuse)
    line = "a worker has not enough memory for the 4.0 MB that the parts of this step share"
    with pytest.raises(InputError, match=line):
        list(workers.map(worker_tasks.add, [0], shared={"small": np.arange(2), "large": np.arange(500_000)}))


def test_logs_and_names_hold_no_value(workers):
    client = workers._client
    with pytest.raises(InternalError) as caught:
        list(workers.map(worker_tasks.fail, [worker_tasks.SECRET], shared=[worker_tasks.SECRET] * 5_000))
    assert worker_tasks.SECRET not in str(caught.value)
    logs = [client.get_worker_logs(), client.get_worker_logs(nanny=True), client.get_scheduler_logs()]
    assert worker_tasks.SECRET not in json.dumps(logs, default=str)
    for _ in range(200):  # the scheduler hears a little later that nobody holds a task any more
        held = client.run_on_scheduler(lambda dask_scheduler: [str(each) for each in dask_scheduler.tasks])
        tasks = [name for name in held if not name.startswith("shared-")]
        if not tasks:
            break
        time.sleep(0.05)
    assert not tasks, "finished tasks are let go"
    part = cluster._Part(pickle.dumps(worker_tasks.SECRET))
    assert worker_tasks.SECRET not in repr(part)


def test_workers_are_private_and_have_no_dashboard(workers):
    client = workers._client
    folders = client.run(lambda dask_worker: dask_worker.local_directory).values()
    assert {stat.S_IMODE(Path(folder).stat().st_mode) for folder in folders} == {0o700}
    info = client.scheduler_info(n_workers=-1)
    found = [
        client.run_on_scheduler(worker_tasks.web_of_scheduler),
        *client.run(worker_tasks.web_of_worker).values(),
    ]
    assert found == [("127.0.0.1", 0)] * 3
    assert all(name.startswith("tcp://127.0.0.1:") for name in [info["address"], *info["workers"]])


def test_the_folder_of_workers_goes_with_them(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with open_engine("local:1") as engine:
        (folder,) = tmp_path.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert next(engine.map(cut_evenly, [4], shared=2)) == [range(2), range(2, 4)]
    assert not any(tmp_path.iterdir())


def test_dask_writes_nothing_beside_our_lines(monkeypatch):
    """A client would warn of every dead worker, and name the tasks it had."""
    monkeypatch.setattr(address_module, "PATIENCE", 0.1)
    names = ("distributed", "distributed.client", "distributed.gc", "distributed.core", "tornado.application")
    for name in names:
        logging.getLogger(name).setLevel(logging.WARNING)
    with pytest.raises(InputError), open_engine("tcp://127.0.0.1:9"):
        pass
    logging.getLogger("distributed.core").setLevel(logging.NOTSET)
    assert not any(logging.getLogger(name).isEnabledFor(logging.ERROR) for name in names)


def test_compiling_is_announced_once_per_worker(workers):
    said = []
    again = DaskEngine(workers._client, announce=said.append)
    for _ in range(3):
        workers._client.run(compile_something)
    list(again.map(worker_tasks.add, range(4), shared={"small": np.arange(1), "large": np.arange(1)}))
    addresses = list(workers._client.scheduler_info(n_workers=-1)["workers"])
    assert sorted(said) == sorted(
        f"Compiling kernels on worker {each} (first use there only)" for each in addresses
    )


def compile_something():
    from sequester.kernels import call_listeners

    call_listeners()


def test_other_versions_are_refused_by_name(workers, monkeypatch):
    monkeypatch.setattr(cluster, "versions", lambda: {"sequester": "0.0.1", "numba": "0.1", "Python": "3.9"})
    with pytest.raises(InputError) as caught:
        DaskEngine(workers._client)
    assert len(caught.value.lines) == 6
    assert f"has sequester {cluster.__version__}, and this process has 0.0.1" in caught.value.lines[0]
    # A worker that came later finds out by itself.
    with pytest.raises(InputError, match=r"has numba .*, and this process has 0.1; they must be equal"):
        list(workers.map(worker_tasks.add, [1], shared=None))


def test_a_worker_without_sequester_is_refused(workers, monkeypatch):
    elsewhere = types.ModuleType("only_here")
    exec("def prepare(dask_worker): return {}", elsewhere.__dict__)
    monkeypatch.setitem(sys.modules, "only_here", elsewhere)
    monkeypatch.setattr(cluster, "_prepare", elsewhere.prepare)
    with pytest.raises(InputError, match=r"worker tcp://.* has no sequester; install sequester"):
        DaskEngine(workers._client)


def test_a_scheduler_without_sequester_is_refused(workers, monkeypatch):
    def load(function):
        raise ModuleNotFoundError("No module named 'sequester'")

    monkeypatch.setattr(workers._client, "run_on_scheduler", load)
    with pytest.raises(InputError, match=r"^scheduler tcp://.* has no sequester; install sequester"):
        DaskEngine(workers._client)


def test_files_of_tasks_are_in_the_folder_of_their_worker(workers):
    """It is private, and dask removes it even after a worker was killed."""
    assert cluster.scratch_folder() is None
    folders = workers._client.run(lambda dask_worker: dask_worker.local_directory).values()
    assert set(workers.map(worker_tasks.scratch, range(4), shared=None)) <= set(folders)


@pytest.mark.parametrize(
    "address", ["local:0", "local:x", "local", "udp://host:1", "host:8786", "tcp://", "tcp://host", ""]
)
def test_addresses_that_are_none_are_refused(address):
    with pytest.raises(InputError, match="--engine must be tcp://host:port"), open_engine(address):
        pass


def test_no_scheduler_there(monkeypatch):
    monkeypatch.setattr(address_module, "PATIENCE", 0.3)
    refused = pytest.raises(InputError, match=r"--engine tcp://127.0.0.1:9: no scheduler answers there")
    with refused, open_engine("tcp://127.0.0.1:9"):
        pass


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"], ids=["silent", "http"])
def test_something_else_listens_there(monkeypatch, answer):
    """A client would wait for ever, or take the answer for a length and run out of memory."""
    monkeypatch.setattr(address_module, "PATIENCE", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def talk():
            connection, _ = server.accept()
            with connection:
                connection.sendall(answer)
                connection.recv(1)  # until the other side hangs up

        talking = threading.Thread(target=talk)
        talking.start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        refused = pytest.raises(InputError, match=f"^--engine {address}: no scheduler answers there$")
        with refused, open_engine(address):
            pass
        talking.join()


def test_no_workers_there(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 0.3)
    with small_cluster(0, tmp_path) as empty:
        address = empty.scheduler_address
        with pytest.raises(InputError, match=f"{address} has no workers; start one"), open_engine(address):
            pass


@pytest.mark.parametrize("error", [RuntimeError("Nanny failed to start."), OSError(12, "no memory")])
def test_local_workers_that_do_not_start(monkeypatch, error):
    def start(**asked):
        raise error

    monkeypatch.setattr(distributed, "LocalCluster", start)
    refused = pytest.raises(
        InputError, match=r"^--engine local:2: no workers started; they may have too litt"
    )
    with refused, open_engine("local:2"):
        pass


def test_no_address_no_engine():
    with open_engine(None) as engine:
        assert engine is None


def test_dead_workers_change_nothing(tmp_path):
    """Three of the parts kill their worker; the last time no other worker has the shared data."""
    large = np.arange(50_000)
    with small_cluster(1, tmp_path / "one") as one, distributed.Client(one, set_as_default=False) as client:
        engine = DaskEngine(client)
        marks = tmp_path / "marks"
        marks.mkdir()
        found = list(engine.map(worker_tasks.die_once, range(12), shared=(str(marks), {2, 5, 9})))
        assert [len(each) for each in found] == list(range(12))
        assert sorted(each.name for each in marks.iterdir()) == ["2", "5", "9"]
        again = engine.map(worker_tasks.add, range(3), shared={"small": large, "large": large})
        assert list(again) == [part + 2 * int(large.sum()) for part in range(3)]


def test_a_part_that_ends_every_worker_ends_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "RETRIES", 1)
    with (
        small_cluster(1, tmp_path) as one,
        distributed.Client(one, set_as_default=False) as client,
        pytest.raises(InputError, match="workers died 2 times at the same work; they may have too little"),
    ):
        list(DaskEngine(client).map(worker_tasks.die, [0], shared=None))


def test_who_stops_listening_cancels_what_waits(workers, tmp_path):
    answers = workers.map(worker_tasks.wait_long, range(100), shared=str(tmp_path))
    assert next(answers) == 0
    answers.close()
    client = workers._client
    client.run_on_scheduler(_wait_until_idle)
    assert len(list(tmp_path.iterdir())) < 10


async def _wait_until_idle(dask_scheduler):
    import asyncio

    while any(not str(each).startswith("shared-") for each in dask_scheduler.tasks):
        await asyncio.sleep(0.05)


def certificates():
    """Return the security of a new authority, and dask's configuration that names it."""
    security = distributed.Security.temporary()
    tls = {"ca-file": security.tls_ca_file} | {
        f"{role}.{what}": getattr(security, f"tls_{role}_{what}")
        for role in ("client", "scheduler", "worker")
        for what in ("cert", "key")
    }
    return security, {f"distributed.comm.tls.{name}": value for name, value in tls.items()}


def test_over_tls(tmp_path):
    pytest.importorskip("cryptography")
    (security, ours), (_, others) = certificates(), certificates()
    with small_cluster(1, tmp_path, security=security, protocol="tls://") as safe:
        address = safe.scheduler_address
        assert address.startswith("tls://")
        with dask.config.set(ours), open_engine(address) as engine:
            assert next(engine.map(cut_evenly, [4], shared=2)) == [range(2), range(2, 4)]
            assert all(name.startswith("tls://") for name in engine._workers())
        refused = pytest.raises(InputError, match=r"does not accept the certificates of dask's config")
        with dask.config.set(others), refused, open_engine(address):
            pass


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({}, r"dask's configuration names no certificates \(distributed.comm.tls\)"),
        (
            {"ca-file": "none.pem", "client.cert": "none.pem"},
            "the certificates of dask's configuration cannot be used: No such file or directory",
        ),
    ],
)
def test_tls_without_certificates(files, line):
    """dask would wait for 20 s, and write a traceback."""
    address = "tls://127.0.0.1:9"
    with (
        dask.config.set({f"distributed.comm.tls.{name}": file for name, file in files.items()}),
        pytest.raises(InputError, match=f"^--engine {address}: {line}"),
        open_engine(address),
    ):
        pass


def test_a_scheduler_that_goes_away_ends_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 0.5)
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        small_cluster(1, tmp_path / "spill") as one,
        # A client of its own does not start the cluster again.
        distributed.Client(one.scheduler_address, set_as_default=False, timeout=1) as client,
    ):
        answers = DaskEngine(client).map(worker_tasks.wait_long, range(100), shared=str(tmp_path))
        assert next(answers) == 0
        one.close()
        with pytest.raises(InputError, match=r"the connection to the cluster broke|has no workers"):
            list(answers)
