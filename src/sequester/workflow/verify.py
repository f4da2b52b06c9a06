"""Judges a release by its files, and against the data of a configuration where one is given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sequester.engine import part, silent
from sequester.errors import InputError
from sequester.verify import verify
from sequester.verify.pseudonyms import PSEUDONYMS
from sequester.verify.verify import find_pseudonyms
from sequester.workflow.config import Config
from sequester.workflow.hearing import hearing, keep_quiet

if TYPE_CHECKING:
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
    if pseudonyms is not None and original is None:
        msg = "--pseudonyms tells who is who in the original; give that with --original"
        raise InputError(msg)
    with hearing(warn):
        table, model = None, None
        if original is not None:
            progress(0.0, "reading the original")
            config = Config.load(original)
            table = config.table()
            if config.settings.method is not None:
                # What a claim must not publish, such as patterns, is in the configuration.
                model = config.method().model().about(table)
            if find_pseudonyms(Path(folder), pseudonyms) is None:
                warn(f"no {PSEUDONYMS} was found, so it is not checked that released persons are distinct")
        return verify(
            folder, original=table, model=model, pseudonyms=pseudonyms, progress=part(progress, 0.3, 1.0)
        )
