"""What the steward gets to see: the verdict of every person, the posterior of every pattern, Figure 9."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.privacy.mutual_information import SLACK
from sequester.release.outcome import Plot
from sequester.utility.patterns import TopPatterns

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.privacy.leakage import Leakage
    from sequester.privacy.mutual_information import MutualInformationPrivacy

VERDICTS = "verdicts"
"""One row per person and pattern length, or per pattern in the worst case."""
PATTERNS = "patterns"
"""One row per person and pattern that occurs."""


def evidence_of(
    model: MutualInformationPrivacy,
    found: Leakage,
    table: EventTable,
    losses: npt.NDArray[np.float64],
) -> dict[str, pl.DataFrame]:
    """Lay out every person's own verdict and every pattern's posterior; most leaking ones first.

    ``verdicts`` has the columns ``person``, ``length`` (of the patterns), ``entropy_bits``, ``bound_bits``,
    ``leakage_bits``, ``holds`` and ``loss_per_symbol``; in the worst case also ``pattern``, and by the
    paper's measure also ``mutual_information_bits``. ``patterns`` has ``person``, ``pattern``,
    ``occurrences``, ``leakage_bits``, ``posterior`` (the surest guess that an index tuple was the pattern)
    and ``released_as_it_is``. Persons without an occurrence are left out.
    """
    lengths, leakage, entropy, bound = model.bounds(found)
    exact = {} if model.measure == "exact" else {"mutual_information_bits": _exactly(model, found)}
    spelled = pl.Series([" → ".join(pattern) for pattern in found.patterns], dtype=pl.String)
    rows, persons = np.nonzero(entropy > 0)
    verdicts = pl.DataFrame(
        {
            "person": table.persons.gather(persons),
            "length": lengths[rows],
            **({"pattern": spelled.gather(rows)} if model.worst_case else {}),
            "entropy_bits": entropy[rows, persons],
            "bound_bits": bound[rows, persons],
            "leakage_bits": leakage[rows, persons],
            **{name: bits[rows, persons] for name, bits in exact.items()},
            "holds": leakage[rows, persons] <= bound[rows, persons] + SLACK * entropy[rows, persons],
            "loss_per_symbol": losses[persons],
        }
    )
    rows, persons = np.nonzero(found.occurrences)
    patterns = pl.DataFrame(
        {
            "person": table.persons.gather(persons),
            "pattern": spelled.gather(rows),
            "occurrences": found.occurrences[rows, persons],
            "leakage_bits": found.by_pattern(model.measure)[0][rows, persons],
            "posterior": found.posterior[rows, persons],
            "released_as_it_is": found.is_shown[rows, persons],
        }
    )
    return {
        VERDICTS: verdicts.sort("leakage_bits", "person", "length", descending=[True, False, False]),
        PATTERNS: patterns.sort("posterior", "person", "pattern", descending=[True, False, False]),
    }


def _exactly(model: MutualInformationPrivacy, found: Leakage) -> npt.NDArray[np.float64]:
    """Return the mutual information where the promise is by another measure."""
    return replace(model, measure="exact").bounds(found)[1]


def plots_of(released: Sequences, table: EventTable, *, window: int) -> tuple[Plot, ...]:
    """Draw Figure 9: the most frequent pairs of the original, and those of the release."""
    measure = TopPatterns(window=window)
    sides = (("original", table), ("release", released))
    return tuple(
        Plot(
            title=f"The {measure.most} most frequent pairs of the {name}",
            unit=f"index pairs within {window} steps",
            labels=tuple(" → ".join(pattern) for pattern, _ in top),
            series={name: tuple(float(count) for _, count in top)},
        )
        for name, top in ((name, measure.top(side)) for name, side in sides)
    )
