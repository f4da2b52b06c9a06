"""The decorator of all kernels: where compiled code is kept, and who hears of a compilation.

Only modules with kernels import this one, because numba takes longer to load than ``sequester --help`` may
take to answer.

numba tells apart what one definition is compiled into (the parts of its own ``np.full``, say, for other
types) by a number in the name, which starts at 1 in every process. Compiled code is kept and shared, so two
processes could leave different code of the same name; a third process that loads both would run one for the
other, and return wrong numbers or crash. With a random start such names do not collide.
"""

from __future__ import annotations

import atexit
import itertools
import os
import secrets
import shutil
import tempfile
import time
from functools import cache
from pathlib import Path
from threading import RLock, local
from typing import TYPE_CHECKING, Any

import numba
from numba.core import config, event
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler import Flags
from numba.core.targetconfig import TargetConfig
from numba.core.types.misc import unliteral

from sequester.kernels import call_listeners, compile_times

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["inner", "njit"]

FunctionIdentity._unique_ids = itertools.count(secrets.randbits(48))  # noqa: SLF001  (there is no other way)
_decorating = RLock()


def _are_equal(flags: Any, others: object) -> bool:
    """Return whether the flags of two compilations are equal; mostly the same ones are set."""
    is_same = isinstance(others, Flags) and flags._values == others._values  # noqa: SLF001  (as above)
    return is_same or bool(TargetConfig.__eq__(flags, others))


# For every call in a kernel numba looks up flags by a hash of the names of all options, which never differs.
Flags.__hash__ = lambda _: hash(Flags)
Flags.__eq__ = _are_equal


def njit(function: Callable[..., Any]) -> Any:
    """Compile a kernel when it is first called; keep the compiled code, and run without the interpreter lock.

    Division follows numpy: kernels never divide by zero, and the check would be compiled into each of them.
    """
    return _decorate(function)


def inner(function: Callable[..., Any]) -> Any:
    """Compile a kernel that only other kernels call: the code that takes Python's objects apart is left out.

    That code is about a tenth of what a method compiles, most of it for tuples of arrays.
    """
    return _decorate(function, no_cpython_wrapper=True)


def _decorate(function: Callable[..., Any], **more: bool) -> Any:
    # numba decides where the compiled code of a function goes when it meets the decorator, so the folder is
    # ours only here; other users of numba in this process keep theirs.
    with _decorating:
        theirs, config.CACHE_DIR = config.CACHE_DIR, config.CACHE_DIR or cache_folder()
        try:
            # Nobody calls kernels from C, and the wrapper for that would be compiled for each of them.
            decorate = numba.njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True, **more)
            return _without_literals(decorate(function))
        finally:
            config.CACHE_DIR = theirs


def _without_literals(kernel: Any) -> Any:
    """Make kernels that call this one take the constant 0 for any other integer.

    Otherwise numba compiles a kernel twice where it is called with a variable that begins with a constant.
    """
    if hasattr(kernel, "get_call_template"):  # not where the JIT is off
        resolve = kernel.get_call_template
        kernel.get_call_template = lambda args, kws: resolve(
            tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()}
        )
    return kernel


class CompileListener(event.Listener):  # type: ignore[misc]  # numba has no types
    """Listens for when numba compiles a kernel; numba is silent where it finds compiled code on disk."""

    def __init__(self) -> None:
        self._open = local()
        """Per thread the kernels that are being compiled, each with its beginning and the time of others."""

    def on_start(self, event: event.Event) -> None:
        """Call the listeners, if the kernel is one of ours, and begin to measure."""
        if _is_ours(event):
            if not compile_times.measured():
                atexit.register(lambda: compile_times.keep_measured(figures_folder()))
            call_listeners()
            self._stack.append([time.thread_time(), 0.0])

    def on_end(self, event: event.Event) -> None:
        """Note the processor time of the kernel, without those of ours that it calls."""
        if _is_ours(event):
            began, others = self._stack.pop()
            spent = time.thread_time() - began
            if self._stack:
                self._stack[-1][1] += spent
            function = event.data["dispatcher"].py_func
            name = compile_times.kernel_name(function.__module__, function.__qualname__)
            compile_times.note_compilation(name, spent - others)

    @property
    def _stack(self) -> list[list[float]]:
        if not hasattr(self._open, "stack"):
            self._open.stack = []
        return self._open.stack  # type: ignore[no-any-return]


def _is_ours(event: event.Event) -> bool:
    return bool(event.data["dispatcher"].py_func.__module__.startswith("sequester."))


event.register("numba:compile", CompileListener())


def code_folder() -> Path:
    """Return the folder below which compiled code is."""
    return Path(config.CACHE_DIR or cache_folder() or Path(__file__).parents[1])


def figures_folder() -> Path:
    """Return the folder of what was measured, beside compiled code."""
    folder = config.CACHE_DIR or cache_folder()
    return Path(folder) if folder else Path(__file__).parent / "__pycache__"


@cache
def cache_folder() -> str:
    """Return the folder of compiled code: the package (empty text), the user's cache, or a passing one."""
    if os.access(Path(__file__).parent, os.W_OK):
        return ""
    try:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sequester" / "kernels"
        home.mkdir(parents=True, exist_ok=True)
        if os.access(home, os.W_OK):
            return str(home)
    except (OSError, RuntimeError):  # a user without a home, or with one that cannot be written to
        pass
    folder = tempfile.mkdtemp(prefix="sequester-kernels-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
