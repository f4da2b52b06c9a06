"""Compiled loops on flat arrays that several packages share; they know numpy and nothing else.

The modules load on first use (``kernels.rows.fold_rows(...)``), because numba takes longer to import than
``sequester --help`` may take to answer; the loops of `data` and `io`, which load without it, are here, too.
Any other kernel with one user lives beside it. Its module, often ``_kernels`` or ``_*_kernels``, imports
``njit`` from ``sequester.kernels.compiler``, and ``inner`` for those that Python never calls.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from sequester.kernels import records as records
    from sequester.kernels import rows as rows
    from sequester.kernels import trajectories as trajectories

_MODULES = frozenset(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
_listeners: list[Callable[[], None]] = []


def __getattr__(name: str) -> ModuleType:
    if name not in _MODULES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return importlib.import_module(f"{__name__}.{name}")


def on_compilation(call: Callable[[], None]) -> Callable[[], None]:
    """Call `call` once, when the first kernel has to be compiled rather than loaded from the cache.

    Returns a function that withdraws the request.
    """
    _listeners.append(call)

    def forget() -> None:
        if call in _listeners:
            _listeners.remove(call)

    return forget


def call_listeners() -> None:
    """Notify those who asked that a kernel is being compiled, each once."""
    while _listeners:
        _listeners.pop()()
