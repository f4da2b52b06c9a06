"""Profiles of the suite, and where the public data sets are."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from multiprocessing import Pipe
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from hypothesis import HealthCheck, settings
from markupsafe import Markup

import postgresql as server_programs
from sequester.engine.address import open_engine
from sequester.engine.cluster import DaskEngine
from sequester.release.plot import Figure
from sequester.report import plot
from sequester.workflow.comparison import pool
from sequester.workflow.comparison.worker import work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sequester.workflow.comparison.trial import TrialTask


# Commands that tests start load a third faster from bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
PROFILE = os.environ.get("SEQUESTER_TEST_PROFILE", "quick")
# A first call compiles a kernel, so a deadline per example would only measure the compiler.
common = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("quick", max_examples=40, derandomize=True, **common)
settings.register_profile("thorough", max_examples=2000, **common)
settings.load_profile(PROFILE)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the slow ones to the thorough profile, and put those together that share processes."""
    if PROFILE != "thorough":
        slow = [item for item in items if item.get_closest_marker("thorough")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("thorough")]
    # Two workers begin at the front and in the middle. What starts processes comes when kernels are compiled,
    # and the end is of short tests, which either worker can take over.
    cluster, browser, others = [], [], []
    for item in items:
        needs = getattr(item, "fixturenames", ())
        (cluster if "workers" in needs else browser if "browser" in needs else others).append(item)
    first, second = len(others) // 4, len(others) * 5 // 8
    items[:] = [*others[:first], *cluster, *others[first:second], *browser, *others[second:]]


def pytest_collection_finish() -> None:
    """Look no more at what was loaded for good: it is most of what the garbage collector would visit."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public data sets; tests that need it are skipped where it is absent."""
    named = os.environ.get("SEQUESTER_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the public data sets are not here; name their folder in SEQUESTER_DATA")
    return folder


_cluster = ExitStack()
_engines: list[DaskEngine] = []


@pytest.fixture
def workers() -> DaskEngine:
    """Two worker processes, for all tests in a row that ask for them."""
    if not _engines:
        engine = _cluster.enter_context(open_engine("local:2"))
        assert isinstance(engine, DaskEngine)
        _engines.append(engine)
    return _engines[0]


def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """End the worker processes where the next test does not need them: they are never quite idle."""
    if _engines and "workers" not in getattr(nextitem, "fixturenames", ()):
        _engines.clear()
        _cluster.close()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[server_programs.Server]:
    """A PostgreSQL server; tests that need it are skipped where it is not installed."""
    programs = server_programs.binaries()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: apt install postgresql")
    with server_programs.running(programs) as server:
        yield server


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile each kernel in one worker only; the others wait, and then find it on disk."""
    # Not a fixture, which the examples in docstrings would not use.
    if (
        "PYTEST_XDIST_WORKER" not in os.environ
        or os.name != "posix"
        or getattr(session.config, "cache", None) is None
    ):
        return
    import fcntl

    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    folder = session.config.cache.mkdir("compiling")
    compile_now, held = Dispatcher.compile, set()

    def compile_once(self: Dispatcher, signature: object) -> object:
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        # Threads of this process take turns first, so that none holds a file that another one waits for.
        with global_compiler_lock:
            if name in held or not name.startswith("sequester."):
                return compile_now(self, signature)
            held.add(name)
            try:
                with (folder / f"{name}.lock").open("w") as file:
                    fcntl.flock(file, fcntl.LOCK_EX)
                    return compile_now(self, signature)
            finally:
                held.remove(name)

    Dispatcher.compile = compile_once


@pytest.fixture(scope="module", autouse=True)
def _small_work(request: pytest.FixtureRequest) -> Iterator[pytest.MonkeyPatch]:
    """Leave out what takes longer than methods on small tables: many queries, threads, and drawing.

    The thorough profile has all of it. Laws for methods and engines name their threads, pages of the docs run
    as a reader runs them, and plots are drawn where they are tested. Releases for a whole module are made
    before the fixtures of its tests, so this is the module's.
    """
    with pytest.MonkeyPatch.context() as patch:
        if PROFILE != "thorough" and "docs" not in request.path.parts:
            _leave_out(patch, draws="report" in request.path.parts)
        yield patch


@pytest.fixture(autouse=True)
def _full_work(request: pytest.FixtureRequest, _small_work: pytest.MonkeyPatch) -> Iterator[None]:
    """Do all of it in tests that are marked so."""
    if PROFILE == "thorough" or not request.node.get_closest_marker("full_work"):
        yield
        return
    _small_work.undo()
    yield
    _leave_out(_small_work, draws="report" in request.path.parts)


def _leave_out(patch: pytest.MonkeyPatch, *, draws: bool) -> None:
    patch.setattr("sequester.methods.evaluate.N_QUERIES", 20)
    patch.setattr("sequester.utility.register.N_QUERIES", 20)
    patch.setattr("sequester.methods.reposition.publish._PER_LENGTH", 5)
    patch.setattr("sequester.engine.local.usable_cores", lambda: 1)
    if not draws:
        # Not the filter of the templates: what they saw first is what they keep.
        patch.setattr("sequester.release.plot.Figure.chart", lambda figure: figure)
        patch.setattr("sequester.report.plot.as_svg", _without_drawing(plot.as_svg))


def _without_drawing(as_svg: Callable[..., Markup]) -> Callable[..., Markup]:
    def labels(chart: object, *, title: str, standalone: bool = False) -> Markup:
        if not isinstance(chart, Figure):
            return as_svg(chart, title=title, standalone=standalone)
        texts = Markup().join(Markup("<text>{}</text>").format(label) for label in chart.labels)
        return Markup('<svg role="img" aria-label="{}">{}</svg>').format(title, texts)

    return labels


@pytest.fixture(autouse=True)
def _own_signals() -> Iterator[None]:
    """Let every test hear interrupts: a run in the background begins deaf, and a command ends so."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="module", autouse=True)
def _in_this_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """Start no process to try a file, which takes a third of a second, or a candidate, which takes three."""
    with pytest.MonkeyPatch.context() as patch:
        if PROFILE != "thorough" and not request.node.get_closest_marker("second_process"):
            patch.setattr("sequester.io.parquet.subprocess", _no_process())
            patch.setattr(pool._Run, "start", _try_here)
        yield


@pytest.fixture(autouse=True)
def _in_another_process(
    request: pytest.FixtureRequest, _in_this_process: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Start them in tests that are marked so."""
    if request.node.get_closest_marker("second_process"):
        monkeypatch.setattr("sequester.io.parquet.subprocess", subprocess)
        monkeypatch.setattr(pool._Run, "start", _start_candidate)


_start_candidate = pool._Run.start


def _try_here(task: TrialTask, table: bytes, do: Callable[[bytes, bytes], dict[str, Any]]) -> pool._Run:
    """Try a candidate as its process does; what acts as one is started all the same."""
    if do is not work:
        return _start_candidate(task, table, do)
    connection, other = Pipe()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sequester.workflow.comparison.worker._parent", [connection])
        patch.setattr("sequester.kernels.on_compilation", lambda announce: None)
        future = Future[dict[str, Any]]()
        future.set_result(work(pickle.dumps(task), table))
    return pool._Run(task, ThreadPoolExecutor(1), future, other)


def _no_process() -> SimpleNamespace:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise OSError

    return SimpleNamespace(Popen=refuse, PIPE=subprocess.PIPE, DEVNULL=subprocess.DEVNULL)
