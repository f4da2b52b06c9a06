"""Singling out by whole records, as risks beside those of adversaries who know a few items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.attacks.risk import Risk
from sequester.attacks.share import Share
from sequester.attacks.singling_out import SinglingOut
from sequester.datasets.draws import generator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sequester.data.table import EventTable


def singled_out(released: EventTable, original: EventTable, *, seed: str) -> Iterator[Risk]:
    """Count who is singled out by kept columns, by unprotected values and by all that is released.

    Everybody is counted, so the shares are exact. In the control the values of every column are permuted
    among all events. Nothing comes where the release has no such columns.
    """
    found = SinglingOut.of(released, details=False)
    raw = SinglingOut.of(original, details=False)
    if found is None or raw is None:
        return
    rng = generator("attack control", seed)
    control = SinglingOut.of(released, details=False, shuffle=rng)
    counts = {
        "kept_record": ("by_kept", found.kept),
        "sensitive_record": ("by_sensitive", found.sensitive),
        "whole_record": ("by_all", True),
    }
    for kind, (name, is_there) in counts.items():
        if not is_there:
            continue
        shares = [
            Share.counted(0 if each is None else getattr(each, name), 0 if each is None else each.persons)
            for each in (raw, found, control)
        ]
        yield Risk(
            shares[1].value,
            shares[1].interval,
            float(found.persons == 1),
            shares[2],
            raw=shares[0],
            name="singled_out",
            kind=kind,
            targets=found.persons,
        )
