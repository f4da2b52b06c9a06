"""Judges a release by its files, and against the data of a configuration where one is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.engine import part, silent
from sequester.verify import verify
from sequester.workflow.config import Config
from sequester.workflow.hearing import hearing, keep_quiet

if TYPE_CHECKING:
    from pathlib import Path

    from sequester.engine import Progress
    from sequester.verify import Verification
    from sequester.workflow.hearing import Warn

__all__ = ["verify", "verify_release"]


def verify_release(
    folder: str | Path,
    *,
    original: str | Path | None = None,
    pseudonyms: str | Path | None = None,
    progress: Progress = silent,
    warn: Warn = keep_quiet,
) -> Verification:
    """Verify `folder`; `original` is the configuration that it was made from."""
    with hearing(warn):
        table = None
        if original is not None:
            progress(0.0, "reading the original")
            table = Config.load(original).table()
        return verify(folder, original=table, pseudonyms=pseudonyms, progress=part(progress, 0.3, 1.0))
