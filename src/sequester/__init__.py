"""Publish event data about people, with a privacy promise that is checked on the released files.

Names load on first use, so that the command line answers at once.

Examples
--------
>>> import polars as pl
>>> import sequester as sq
>>> frame = pl.DataFrame({"user": list("aabbcc"), "n": [1, 2, 1, 2, 1, 2], "page": list("xyxyxz")})
>>> table = sq.EventTable(frame, sq.Schema(person="user", order="n", symbol="page"))
>>> release = sq.BFP2kA(k=2).apply(table)
>>> release.verdict
Verdict(holds=True, achieved={'k': 2}, witnesses=())
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_PLACES = {
    alias.asname: (node.module, alias.name)
    for node in _STUB.body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
"""Public name to its module, and its name there."""
__all__ = [*_PLACES]  # noqa: PLE0604  (names of the stub)


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    module, there = _PLACES[name]
    globals()[name] = found = getattr(importlib.import_module(module), there)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
