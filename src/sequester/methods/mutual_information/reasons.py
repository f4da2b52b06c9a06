"""Why symbols became coarser: patterns told more than their bound allows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from sequester.hierarchies.labels import counted
from sequester.methods.mutual_information.evidence import PATTERNS, VERDICTS
from sequester.methods.mutual_information.publish import KINDS
from sequester.privacy.mutual_information import SLACK
from sequester.release.outcome import Reason, count_affected

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.data.table import EventTable
    from sequester.privacy.mutual_information import MutualInformationPrivacy

CONSTRAINT = "leakage above its bound"
TENTHS = 10
EXAMPLES = 3


def reasons_of(changes: pl.DataFrame, evidence: Mapping[str, pl.DataFrame]) -> tuple[Reason, ...]:
    """Count, per length of patterns or per pattern, the changes of those about whom it told too much."""
    verdicts = evidence[VERDICTS]
    above = verdicts.filter(pl.col("entropy_bits") > pl.col("bound_bits") + SLACK * pl.col("entropy_bits"))
    by = "pattern" if "pattern" in verdicts.columns else "length"
    reasons = []
    for (which,), told in above.group_by(by, maintain_order=True):
        theirs = changes.filter(pl.col("person").is_in(told["person"].implode()))
        worst = told.sort("entropy_bits", descending=True).row(0, named=True)
        name = str(which) if by == "pattern" else f"patterns of {counted(int(str(which)), 'event', 'events')}"
        for what in KINDS:
            part = theirs.filter(pl.col("what").cast(pl.String) == what)
            if part.is_empty():
                continue
            persons, events = count_affected(part)
            reasons.append(
                Reason(
                    constraint=CONSTRAINT,
                    change=what,
                    persons=persons,
                    events=events,
                    text=(
                        f"{name}: told up to {worst['entropy_bits']:.2f} bits, at most "
                        f"{worst['bound_bits']:.2f} may be told: "
                        f"{counted(events, 'symbol was', 'symbols were')} {what} for "
                        f"{counted(persons, 'person', 'persons')}."
                    ),
                    examples=_most_telling(evidence[PATTERNS], told),
                )
            )
    return tuple(reasons)


def more_bits(asked: float, model: MutualInformationPrivacy, table: EventTable) -> list[float]:
    """Give the tenths of a bit above a bound, up to all that patterns can tell of anybody."""
    _, _, entropy, _ = model.bounds(model.leakage(table, table))
    highest = math.ceil(TENTHS * float(entropy.max(initial=0)))
    return [tenth / TENTHS for tenth in range(math.floor(TENTHS * asked) + 1, highest + 1)]


def _most_telling(patterns: pl.DataFrame, told: pl.DataFrame) -> tuple[str, ...]:
    theirs = patterns.filter(pl.col("person").is_in(told["person"].implode()))
    counts = theirs.group_by("pattern").agg(pl.col("occurrences").sum())
    first = counts.sort("occurrences", "pattern", descending=[True, False]).head(EXAMPLES)
    return tuple(f"{pattern}: {count:,} times" for pattern, count in first.rows())
