"""Tasks that tests send to worker processes, which import them from here."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import polars as pl

from sequester.engine import cluster
from sequester.errors import SchemaError, UnattainableError

SECRET = "patient 4711 has HIV"


def add(part, shared):
    return part + int(shared["small"].sum()) + int(shared["large"].sum())


def describe_arrays(part, shared):
    return [(each.flags.writeable, each.flags.aligned, each.dtype.str) for each in shared]


def count_calls(part, shared):
    """Write into a small array that is shared, as counters do that only save work."""
    shared[0] += 1
    return int(shared[0])


def refuse(part, shared):
    raise SchemaError("column 'age' has no role", "column 'zip' has no role", notes=["rows repeat"])


def cannot(part, shared):
    raise UnattainableError("no release", achieved={"k": 3})


def fail(part, shared):
    raise ValueError(SECRET)


def fill_the_disk(part, shared):
    with Path("/dev/full").open("wb", buffering=0) as full:
        full.write(b"x")


def fill_the_disk_with_a_table(part, shared):
    """Fail as polars fails, whose errors have no number."""
    pl.DataFrame({"x": range(1000)}).write_parquet("/dev/full")


def take_too_much(part, shared):
    np.empty(2**60, np.uint8)


def die_once(part, shared):
    """Kill the worker at some parts, each the first time."""
    folder, deadly = shared
    mark = Path(folder) / str(part)
    if part in deadly and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return np.arange(part)


def die(part, shared):
    os.kill(os.getpid(), signal.SIGKILL)


def wait_long(part, shared):
    Path(shared, f"began-{part}").touch()
    time.sleep(0.2)
    return part


def web_of_scheduler(dask_scheduler):
    """Where a scheduler listens for browsers, and how many pages it has."""
    server = dask_scheduler.http_server
    return server.address, len(dask_scheduler.http_application.applications)


def web_of_worker(dask_worker):
    return dask_worker.http_server.address, len(dask_worker.http_application.applications)


def opened():
    """Return the calls whose shared data this worker has put together."""
    return set(cluster._opened)


def scratch(part, shared):
    return cluster.scratch_folder()
