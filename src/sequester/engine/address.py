"""The engine of an address: a scheduler elsewhere, or worker processes here."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
import sys
import tempfile
import threading
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING

from sequester.engine.cluster import PATIENCE, DaskEngine
from sequester.errors import InputError, ignore_warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distributed import LocalCluster

    from sequester.engine.local import Engine
    from sequester.errors import Warn


@contextmanager
def open_engine(address: str | None, *, announce: Warn = ignore_warning) -> Iterator[Engine | None]:
    """Open the engine of an address, and close it at the end; None where there is no address.

    Parameters
    ----------
    address
        ``tcp://host:port`` or ``tls://host:port`` of a dask scheduler, with the security of dask's own
        configuration; or ``local:N``, N worker processes here.
    announce
        Called with a line when a worker has to compile kernels.

    Raises
    ------
    InputError
        Where the address is none of these, dask is not installed, or nobody answers.
    """
    if address is None:
        yield None
        return
    n_workers = _number_of_workers(address)
    try:
        from distributed import Client  # noqa: PLC0415  (an extra)
    except ImportError:
        msg = "--engine needs dask: pip install 'sequester[dask]'"
        raise InputError(msg) from None
    # dask gives each of these a level of its own.
    for name in ("distributed", "distributed.client", "distributed.gc", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if n_workers:
        with _local_cluster(n_workers) as cluster, Client(cluster, set_as_default=False) as client:
            yield DaskEngine(client, announce=announce)
        return
    problem = _connection_problem(address)
    if problem is not None:
        msg = f"--engine {address}: {problem}"
        raise InputError(msg)
    with Client(address, timeout=PATIENCE, set_as_default=False) as client:
        yield DaskEngine(client, announce=announce)


def _connection_problem(address: str) -> str | None:
    """Return why no client can connect to an address; None where a scheduler answers.

    Where something else listens, a client would wait for ever, or write a traceback as it gives up.
    """
    from distributed import Security  # noqa: PLC0415  (an extra)
    from distributed.comm import connect  # noqa: PLC0415
    from distributed.comm.core import FatalCommClosedError  # noqa: PLC0415

    async def shake_hands() -> None:
        connection = await asyncio.wait_for(connect(address, timeout=PATIENCE, **security), PATIENCE)
        await connection.close()

    try:
        security = Security().get_connection_args("client")
    except OSError as error:
        return f"the certificates of dask's configuration cannot be used: {error.strerror or error}"
    if security["ssl_context"] is None and address.startswith("tls:"):
        return "dask's configuration names no certificates (distributed.comm.tls)"
    try:
        asyncio.run(shake_hands())
    except FatalCommClosedError:
        return "the scheduler does not accept the certificates of dask's configuration, or has others"
    except RuntimeError as error:  # dask's configuration asks for TLS
        return str(error)
    except Exception:  # noqa: BLE001  (what is no scheduler may answer anything)
        return "no scheduler answers there"
    return None


def _number_of_workers(address: str) -> int:
    """Return N of ``local:N``, and 0 for the address of a scheduler; others are refused."""
    kind, _, rest = address.partition(":")
    if kind == "local" and rest.isdecimal() and int(rest) > 0:
        return int(rest)
    if re.fullmatch(r"(tcp|tls)://.+:\d+", address):
        return 0
    msg = f"--engine must be tcp://host:port, tls://host:port or local:N, got {address!r}"
    raise InputError(msg)


@contextmanager
def _local_cluster(n_workers: int) -> Iterator[LocalCluster]:
    """Start worker processes on loopback, without a dashboard, that spill into a private folder."""
    import dask  # noqa: PLC0415  (an extra)
    from distributed import LocalCluster  # noqa: PLC0415

    # The folder is of mode 0700 from the start, and goes with everything in it. dask always opens a port for
    # HTTP, which is on loopback, and answers nothing without routes.
    with (
        tempfile.TemporaryDirectory(prefix="sequester-workers-") as folder,
        dask.config.set(
            {
                "temporary-directory": folder,
                "distributed.scheduler.http.routes": [],
                "distributed.worker.http.routes": [],
                # Sampling stacks and watching its own loop take dask 3 % of a core in every process.
                "distributed.worker.profile.enabled": False,
                "distributed.admin.tick.interval": "1s",
            }
        ),
    ):
        with _deferred_interrupts() as interrupts:
            try:
                cluster = LocalCluster(
                    n_workers=n_workers,
                    threads_per_worker=1,
                    processes=True,
                    host="127.0.0.1",
                    scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
                    local_directory=folder,
                    silence_logs=logging.CRITICAL,
                )
            except (OSError, RuntimeError):
                msg = f"--engine local:{n_workers}: no workers started; they may have too little memory"
                raise InputError(msg) from None
        with cluster:
            if interrupts:
                signal.raise_signal(signal.SIGINT)
            yield cluster


@contextmanager
def _deferred_interrupts() -> Iterator[list[int]]:
    """Collect interrupts instead of raising them, and keep them from processes that are started meanwhile.

    A cluster that is half started cannot be closed, and workers end with the process that started them.
    """
    interrupts: list[int] = []
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    # It would lift the block where it starts with the first process.
    resource_tracker.ensure_running()
    before = signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield interrupts
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        signal.signal(signal.SIGINT, before)
