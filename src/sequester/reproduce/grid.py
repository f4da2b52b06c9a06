"""Cells of a grid are kept as they are done, so that a run that was stopped goes on where it ended."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from sequester._version import __version__
from sequester.errors import InputError, ParameterError
from sequester.workflow.output_file import put

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sequester.engine import Progress
    from sequester.reproduce.plan import Cell, Rows


@dataclass(slots=True)
class Grid:
    """A folder with one file per finished cell."""

    folder: Path
    """Where the cells are kept."""
    about: str
    """What all cells depend on beside their parameters: the paper, and the data."""
    n_kept: int = 0
    """Cells that were there already."""
    n_run: int = 0
    """Cells that were run."""
    _rows: dict[str, list[dict[str, object]]] = field(default_factory=dict)

    def run(self, cells: Sequence[Cell], progress: Progress) -> dict[str, pl.DataFrame]:
        """Run what is not there, and give the tables: the parameters of a cell beside what it measured."""
        total = sum(cell.weight for cell in cells) or 1.0
        done = 0.0
        seen: set[Path] = set()
        for cell in cells:
            path = self._path(cell)
            if path in seen:
                msg = f"two cells of {cell.table} have the same parameters: {dict(cell.parameters)}"
                raise ParameterError(msg)
            seen.add(path)
            progress(done / total, f"{cell.table}: {_words(cell)}")
            rows = self._kept(path)
            if rows is None:
                rows = [dict(row) for row in cell.run()]
                put(json.dumps(rows, allow_nan=False).encode(), path)
                self.n_run += 1
            else:
                self.n_kept += 1
            done += cell.weight
            beside = self._rows.setdefault(cell.table, [])
            beside += [{**cell.parameters, **row} for row in rows]
        return {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in self._rows.items()}

    def _path(self, cell: Cell) -> Path:
        key = {
            "version": __version__,
            "about": self.about,
            "table": cell.table,
            "parameters": dict(cell.parameters),
        }
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
        return self.folder / f"{cell.table}-{digest[:24]}.json"

    @staticmethod
    def _kept(path: Path) -> Rows | None:
        try:
            rows: Rows = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            msg = f"cannot read the finished cell {path}; remove it to have it run again"
            raise InputError(msg) from None
        return rows


def _words(cell: Cell) -> str:
    return ", ".join(f"{name} = {value}" for name, value in cell.parameters.items())
