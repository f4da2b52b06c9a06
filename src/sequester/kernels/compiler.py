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
import gc
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
from llvmlite.binding import Linkage
from numba.core import config, event
from numba.core.bytecode import FunctionIdentity
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.dispatcher import Dispatcher
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

    Kernels that call this one get it as `inner` makes it.
    """
    kernel = _decorate(function, cache=True, pipeline_class=_KernelCompiler)
    if hasattr(kernel, "get_call_template"):  # not where the JIT is off
        # numba asks only whether the file of the kernel itself has changed.
        kernel._cache._cache_file._source_stamp = _source_stamp(function)  # noqa: SLF001  (as above)
        linked = inner(function)
        kernel.get_call_template, kernel.get_overload = linked.get_call_template, linked.get_overload
    return kernel


def inner(function: Callable[..., Any]) -> Any:
    """Compile a kernel that only other kernels call, as a part of each of them.

    The code that takes Python's objects apart is left out, and nothing is kept apart from the callers.
    """
    return _without_literals(_decorate(function, no_cpython_wrapper=True, pipeline_class=_InnerCompiler))


def _source_stamp(function: Callable[..., Any]) -> list[tuple[str, float, int]]:
    """Return the modules from which a kernel takes others, itself included: names, times and sizes."""
    found: dict[str, str] = {}
    waiting = [function]
    while waiting:
        kernel = waiting.pop()
        if kernel.__module__ not in found:
            found[kernel.__module__] = kernel.__code__.co_filename
            waiting += [each.py_func for each in kernel.__globals__.values() if isinstance(each, Dispatcher)]
    stats = {name: Path(file).stat() for name, file in sorted(found.items())}
    return [(name, stat.st_mtime, stat.st_size) for name, stat in stats.items()]


class _LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]  # numba has no types
    """Code that is linked into every kernel that calls it, and optimized and made executable only there.

    numba does both for each kernel, what it calls included: three calls deep it would be done three times.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no machine code."""
        del name
        return 0

    @property
    def codegen(self) -> _LinkedLibrary:
        """The one that is asked to set an environment."""
        return self

    def set_env(self, name: str, env: object) -> None:
        """Leave the environment to the kernels that are executable."""


class _WholeLibrary(JITCodeLibrary):  # type: ignore[misc]  # as above
    """A kernel that Python calls, with all that it calls, which nobody else does."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if function.linkage == Linkage.linkonce_odr and not function.is_declaration:
                function.linkage = Linkage.internal
        super()._optimize_final_module()


class _InnerCompiler(Compiler):  # type: ignore[misc]  # as above
    """Compiles into a library of code to be linked."""

    def __init__(self, typing: Any, target: Any, library: Any, *more: Any) -> None:
        super().__init__(typing, target, library, *more)
        if library is None:
            self.state.library = _LinkedLibrary(target.codegen(), "inner")


class _KernelCompiler(Compiler):  # type: ignore[misc]  # as above
    """Compiles a kernel that Python calls."""

    def __init__(self, typing: Any, target: Any, library: Any, *more: Any) -> None:
        super().__init__(typing, target, library, *more)
        if library is None:
            self.state.library = _WholeLibrary(target.codegen(), "kernel")
            self.state.library.enable_object_caching()


def _decorate(function: Callable[..., Any], **options: Any) -> Any:
    # numba decides where the compiled code of a function goes when it meets the decorator, so the folder is
    # ours only here; other users of numba in this process keep theirs.
    with _decorating:
        theirs, config.CACHE_DIR = config.CACHE_DIR, config.CACHE_DIR or cache_folder()
        try:
            # Nobody calls kernels from C, and the wrapper for that would be compiled for each of them.
            # Division follows numpy: kernels never divide by zero, and the check would be compiled, too.
            return numba.njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)(function)
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
        """Per thread how many kernels are being compiled, each for the one before, and since when."""

    def on_start(self, event: event.Event) -> None:
        """Call the listeners, if the kernel is one of ours, and begin to measure."""
        if _is_ours(event):
            if not compile_times.measured():
                atexit.register(lambda: compile_times.keep_measured(figures_folder()))
            call_listeners()
            self._open.depth = getattr(self._open, "depth", 0) + 1
            if self._open.depth == 1:
                # A compilation makes many objects that live until it ends; collecting is a fifth of its time.
                self._open.collects = gc.isenabled()
                gc.disable()
                self._open.began = time.thread_time()

    def on_end(self, event: event.Event) -> None:
        """Note the processor time of the kernel, including those of ours that it calls."""
        if _is_ours(event):
            self._open.depth -= 1
            if self._open.depth == 0:
                function = event.data["dispatcher"].py_func
                name = compile_times.kernel_name(function.__module__, function.__qualname__)
                compile_times.note_compilation(name, time.thread_time() - self._open.began)
                if self._open.collects:
                    gc.enable()


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
