"""Files that a stream does not take: moved out of the way, with an explanation beside them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Rejected:
    """A file that was not taken."""

    name: str
    """Its name in the input folder."""
    reasons: tuple[str, ...]
    """Why, one line each."""
    place: Path
    """Where it is now."""


def reject(path: Path, reasons: tuple[str, ...], folder: Path) -> Rejected:
    """Move a file to `folder`, under another name where there is one of its name already."""
    place, number = folder / path.name, 1
    while place.exists():
        number += 1
        place = folder / f"{path.name}~{number}"
    explanation = "\n".join([f"{path.name} was not taken:", *reasons, ""])
    beside = place.with_name(f"{place.name}.why.txt")
    try:
        # The explanation first: a file without one would be a riddle.
        beside.write_text(explanation, encoding="utf-8", newline="\n")
        shutil.move(path, place)
    except OSError:
        # Half a file must not be taken for the whole one, which is still where it came.
        place.unlink(missing_ok=True)
        beside.unlink(missing_ok=True)
        raise
    return Rejected(path.name, reasons, place)
