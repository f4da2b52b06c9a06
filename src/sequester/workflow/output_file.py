"""Write output files atomically, and never over an input or, unless asked, over an existing file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from sequester.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping


def refuse_existing(*paths: Path, force: bool) -> None:
    """Refuse, before anything runs, files that are there already."""
    lines = [f"{path} exists already; --force replaces it" for path in paths if os.path.lexists(path)]
    if lines and not force:
        raise InputError(*lines)


def refuse_inputs(*outputs: Path, inputs: Mapping[str, Path]) -> None:
    """Refuse outputs that are an input, by whatever name, have one inside, or are a part of one.

    Examples
    --------
    >>> refuse_inputs(Path("out/release"), inputs={"the data": Path("out/release/d.csv")})
    Traceback (most recent call last):
    sequester.errors.InputError: out/release would replace the data, out/release/d.csv; name another output
    """
    lines = [
        f"{output} would replace {what}, {path}; name another output"
        for output in outputs
        for what, path in inputs.items()
        if _replaces(output, path)
    ]
    if lines:
        raise InputError(*lines)


def _replaces(output: Path, path: Path) -> bool:
    outputs, inputs = _places(output), _places(path)
    # Data may be a folder of Parquet files.
    is_part = output.is_file() and output.suffix.lower() == ".parquet"
    return any(
        one.is_relative_to(other) or (is_part and other.parent == one) for one in inputs for other in outputs
    )


def _places(path: Path) -> set[Path]:
    """Where a path is, and where it leads to if it is a link."""
    return {Path(os.path.realpath(path)), Path(os.path.realpath(path.parent)) / path.name}


def write_file(content: bytes, out: Path) -> None:
    """Write aside and rename, so that a run that dies leaves no file."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        number, aside = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.", suffix=".partial")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(content)
            mask = os.umask(0)
            os.umask(mask)
            Path(aside).chmod(0o666 & ~mask)
            Path(aside).replace(out)
        except BaseException:
            Path(aside).unlink(missing_ok=True)
            raise
    except OSError as error:
        reason = f"{out.parent} is not a folder" if isinstance(error, FileExistsError) else error.strerror
        msg = f"cannot write {out}: {reason}"
        raise InputError(msg) from None


def write_folder(files: Mapping[str, bytes], out: Path) -> None:
    """Write files by their paths in a folder aside, and rename it, so that a run that dies leaves none."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.", suffix=".partial") as aside:
            made = Path(aside) / "folder"
            for name, content in files.items():
                (made / name).parent.mkdir(parents=True, exist_ok=True)
                (made / name).write_bytes(content)
            made.rename(out)
    except OSError as error:
        msg = f"cannot write {out}: {error.strerror}"
        raise InputError(msg) from None
