"""What a generalized release is still good for, and how leakage and loss spread over persons."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.methods.mutual_information.losses import losses, per_person
from sequester.methods.mutual_information.plan import read_weights
from sequester.utility.distributions import SymbolLevels, SymbolRanks
from sequester.utility.patterns import TopPatterns
from sequester.utility.score import Score

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.methods.mutual_information.mutual_information_method import MutualInformationMethod
    from sequester.release.outcome import Outcome

    Numbers = npt.NDArray[np.float64]

LOSS_REFERENCE = "Bonomi, Fan, Jin (2016), utility loss"
LEAK_REFERENCES = {
    "exact": "Cover, Thomas (2006), mutual information, of patterns and release",
    "paper": "Bonomi, Fan, Jin (2016), Equation 2, sensitive patterns only",
}
"""Measure of the promise to where it is from."""


def measure(
    method: MutualInformationMethod, outcome: Outcome, table: EventTable, *, progress: Progress
) -> dict[str, Score]:
    """Compare the release with the original, place by place, and person by person."""
    progress(0.0, "measuring the loss")
    released = outcome.sequences
    weights = read_weights(table)
    plain = losses(released, table, "information-loss")
    chosen = plain if method.cost == "information-loss" else losses(released, table, method.cost)
    scores = {
        "information_loss": Score(
            value=_mean(plain),
            goal="minimize",
            bounds=(0, 1),
            means="How much the symbols lost on average: the share of all leaves of the taxonomy that a "
            "released symbol stands for, 0 for one as it was.",
            formula="Σ over events of loss(v) / events; loss(v) = leaves(v) / leaves, 0 for a leaf",
            reference=LOSS_REFERENCE,
        ),
        "loss_per_symbol": Score(
            value=_mean(chosen, weights),
            goal="minimize",
            bounds=(0, None),
            means=f"Utility loss per symbol by the cost {_named(method)}{_weighed(method)}.",
            formula="Σ over events of weight · cost(symbol, released) / Σ of weights",
            reference=LOSS_REFERENCE,
        ),
    }
    scores |= _spread(
        "loss_per_symbol",
        per_person(chosen, table, weights),
        "utility loss per symbol of one person",
        LOSS_REFERENCE,
    )
    progress(0.3, "measuring what leaks")
    scores |= _leakage(method, released, table)
    progress(0.6, "comparing symbols and patterns")
    scores["rank_correlation"] = SymbolRanks().score(released, original=table)
    scores["top_patterns"] = TopPatterns(window=method.window).score(released, original=table)
    scores |= SymbolLevels().score(released, original=table)
    progress(1.0, "measured")
    return scores


def _leakage(method: MutualInformationMethod, released: Sequences, table: EventTable) -> dict[str, Score]:
    model = method.model()
    found = model.leakage(released, table)
    _, leakage, entropy, _ = model.bounds(found)
    if method.max_leakage_bits is None:
        what = "share of the entropy of a person's patterns that the release tells"
        levels = np.divide(leakage, entropy, out=np.zeros(leakage.shape), where=entropy > 0)
    else:
        what, levels = "bits that the release tells about a person's patterns", leakage
    concerned = (found.occurrences > 0).any(axis=0)
    if method.measure == "paper":
        what += ", by the paper's measure, which leaves out places without a secret pattern"
    scores = _spread("leakage", levels.max(axis=0)[concerned], what, LEAK_REFERENCES[method.measure])
    posterior = float(found.posterior.max(initial=0.0))
    scores["largest_posterior"] = Score(
        value=posterior,
        goal="minimize",
        bounds=(0, 1),
        means="The surest guess anywhere: the largest share of one secret pattern among the index tuples "
        "that are released alike.",
        formula="max over patterns p of occurrences of p / index tuples released as h(p)",
        reference="Bonomi, Fan, Jin (2016)",
    )
    return scores


def _spread(name: str, values: Numbers, what: str, reference: str) -> dict[str, Score]:
    """Say how a number spreads over the persons whom it concerns."""
    points = np.quantile(values, [0.0, 0.5, 1.0]) if len(values) else np.zeros(3)
    return {
        f"{name}_{word}": Score(
            value=float(point),
            goal="minimize",
            bounds=(0, None),
            means=f"The {word} {what}.",
            formula=f"{word} over the persons whom it concerns",
            reference=reference,
        )
        for word, point in zip(("smallest", "median", "largest"), points, strict=True)
    }


def _mean(values: Numbers, weights: Numbers | None = None) -> float:
    total = len(values) if weights is None else weights.sum()
    spent = values.sum() if weights is None else (values * weights).sum()
    return float(spent / total) if total else 0.0


def _named(method: MutualInformationMethod) -> str:
    return f'"{method.cost}"' if isinstance(method.cost, str) else "of the given table"


def _weighed(method: MutualInformationMethod) -> str:
    return "" if method.weight is None else f", events weighed by {method.weight}"
