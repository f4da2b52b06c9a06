"""Numba on flat arrays; knows numpy, nothing else.

The modules load on first use (``kernels.distinct.fold_rows(...)``), because numba takes longer to import than
``sequester --help`` may take to answer. Loading them also settles where compiled code is kept.
"""

from __future__ import annotations

import importlib
import os
import tempfile
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester.kernels import distinct as distinct

_MODULES = frozenset(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
_listeners: list[Callable[[], None]] = []


def __getattr__(name: str) -> ModuleType:
    if name not in _MODULES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    _settle_cache()
    return importlib.import_module(f"{__name__}.{name}")


def on_compilation(call: Callable[[], None]) -> None:
    """Call `call` once, when the first kernel has to be compiled rather than loaded from the cache."""
    _listeners.append(call)


def _settle_cache() -> None:
    """Keep compiled code beside the package, else in the user's cache, else in a folder of this process."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    if os.access(Path(__file__).parent, os.W_OK):
        return
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sequester" / "kernels"
    try:
        home.mkdir(parents=True, exist_ok=True)
        writable = os.access(home, os.W_OK)
    except OSError:
        writable = False
    os.environ["NUMBA_CACHE_DIR"] = str(home) if writable else tempfile.mkdtemp(prefix="sequester-kernels-")
