"""What adversaries may know beside a release: how the method works, who is who, and when records came."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from sequester.attacks.remake import Stream
from sequester.datasets import SEED
from sequester.engine import LocalEngine, silent
from sequester.errors import InputError
from sequester.methods import METHODS
from sequester.methods.reposition.snapshot_method import SnapshotMethod
from sequester.methods.reposition.snapshots import timeline
from sequester.release.randomness import Randomness
from sequester.verify.pseudonyms import check_pseudonyms, in_order_of, read_pseudonyms
from sequester.verify.verify import find_pseudonyms

if TYPE_CHECKING:
    import os

    import polars as pl

    from sequester.attacks.remake import Remade, Remake
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.methods.method import Method
    from sequester.release.release import Release


class Background(TypedDict):
    """The parts of a case that the release itself does not tell."""

    histories: Sequences | None
    remake: Remake | None
    stream: Stream | None


def background(
    method: Method | None,
    released: EventTable | None,
    original: EventTable,
    pseudonyms: pl.DataFrame | None,
) -> Background:
    """Gather what is known of a release of `method`, for whoever attacks it in its own house."""
    return Background(
        histories=_histories(released, original, pseudonyms),
        remake=None if method is None else _remake(method),
        stream=_stream(method, original) if isinstance(method, SnapshotMethod) else None,
    )


def method_of(release: Release) -> Method | None:
    """Make the method that a release came from; None where it is not one of ours."""
    kind = METHODS.get(release.method)
    return None if kind is None else kind(**release.parameters)


def who_is_who(
    folder: str | os.PathLike[str], frame: pl.DataFrame, original: EventTable
) -> pl.DataFrame | None:
    """Read the pseudonyms beside a release; None where the house has not kept them."""
    path = find_pseudonyms(Path(folder))
    if path is None:
        return None
    findings = check_pseudonyms(path, frame, original)
    if findings:
        raise InputError(*findings)
    return read_pseudonyms(path)


def _histories(
    released: EventTable | None, original: EventTable, pseudonyms: pl.DataFrame | None
) -> Sequences | None:
    if released is None or pseudonyms is None or released.symbol is None or original.owners is not None:
        return None
    if not pseudonyms["person"].is_in(original.persons.implode()).all():
        # Another original: what it says of these persons is looked at where tables are compared.
        return None
    return in_order_of(pseudonyms, released, original)


def _remake(method: Method) -> Remake:
    def remake(table: EventTable) -> Remade:
        method.accept(table)
        # The same coins every time: whatever differs comes from the table.
        return method.transform(
            table, randomness=Randomness.of(SEED), engine=LocalEngine(threads=1, shards=1), progress=silent
        )

    return remake


def _stream(method: SnapshotMethod, original: EventTable) -> Stream:
    line = timeline(original, method.snapshot)
    return Stream(line.numbers, line.labels, method.new_window(0).size)
