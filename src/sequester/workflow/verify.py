"""Verify a release from its files, and against the original data where a configuration is given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sequester.engine import part
from sequester.errors import InputError
from sequester.privacy import RecordModel
from sequester.release.folder import PSEUDONYMS
from sequester.verification.streams import is_stream_folder, verify_stream
from sequester.verification.verify import find_pseudonyms, release_folder, verify
from sequester.workflow.config import Config
from sequester.workflow.run import SILENT, RunContext

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester.engine import Progress
    from sequester.methods.method import Method
    from sequester.verification.claim import Verification


def verify_release(
    folder: str | Path,
    *,
    original: str | Path | None = None,
    pseudonyms: str | Path | None = None,
    earlier: Sequence[str | Path] = (),
    run: RunContext = SILENT,
) -> Verification:
    """Verify `folder`; `original` is the configuration that it was made from.

    `earlier` are the parts of the series before it.
    """
    folder = release_folder(folder) if earlier else folder
    if pseudonyms is not None and original is None:
        msg = "--pseudonyms needs --original, the configuration that the release was made from"
        raise InputError(msg)
    if original is not None and is_stream_folder(Path(folder)):
        return _verify_stream(folder, Config.load(original, without_data=True), run.progress)
    table, model, asked = None, None, None
    if original is not None:
        run.progress(0.0, "reading the original")
        config = Config.load(original)
        table = config.table(run.warn, engine=run.engine)
        if config.settings.method is not None:
            # What a claim must not publish, such as patterns, is in the configuration.
            model, asked = config.method().model().about(table), _asked(config.method())
        if find_pseudonyms(Path(folder), pseudonyms) is None:
            run.warn(f"no {PSEUDONYMS} was found, so it is not checked that released persons are distinct")
    return verify(
        folder,
        original=table,
        model=model,
        method=asked,
        pseudonyms=pseudonyms,
        earlier=earlier,
        engine=run.engine,
        progress=part(run.progress, 0.3, 1.0),
    )


def _asked(method: Method) -> tuple[str, dict[str, object]]:
    """Return the name of a method and the parameters that its certificates have."""
    unpublished = method.unpublished()
    values = method.parameters().items()
    return method.name, {name: value for name, value in values if name not in unpublished}


def _verify_stream(folder: str | Path, config: Config, progress: Progress) -> Verification:
    """Verify published snapshots, each against the configuration of the stream."""
    method = config.method()
    model = method.model()
    if isinstance(model, RecordModel):
        model = model.about_attribute(next(iter(config.schema.sensitive), ""))
    return verify_stream(folder, model=model, method=_asked(method), schema=config.schema, progress=progress)
