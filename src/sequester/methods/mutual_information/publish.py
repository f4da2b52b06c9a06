"""From nodes to the outcome of a method: what is released, changed, not promised, measured, and why."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.data.text import Codebook
from sequester.hierarchies.labels import counted
from sequester.methods.limits import ONE_RELEASE, tie_limits
from sequester.methods.mutual_information.algorithm import costs_by_depth, read_weights
from sequester.privacy.mutual_information import SLACK
from sequester.ragged import owners_of
from sequester.release.outcome import Outcome, Reason, split_changes
from sequester.release.plot import Figure
from sequester.release.release import ORDER, PERSON
from sequester.utility.distributions import rank_correlation, symbol_levels
from sequester.utility.patterns import TOP, top_pairs, top_patterns
from sequester.utility.score import Score

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from sequester._typing import Codes
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.methods.mutual_information.algorithm import LeakagePlan
    from sequester.methods.mutual_information.method import MutualInformationMethod
    from sequester.privacy.mutual_information import Leakage, MutualInformationPrivacy

    Numbers = npt.NDArray[np.float64]

KINDS = ("generalized", "suppressed")
"""A coarser symbol is released, or the root, which says nothing."""

AVERAGE = (
    "The promise is an average: as long as the sum stays within its bound, a rare secret pattern may be "
    "released as it is."
)
ONLY_PATTERNS = (
    "Only the patterns that the publisher named are hidden, not persons, and only from those who look at the "
    "order of symbols: run lengths, times of day and other data about the same person are not covered."
)
RENAMED = (
    "Where the taxonomy has a node with a single symbol below it, the node reveals as much as the symbol; "
    "that is counted as revealed, and not as hidden."
)
HOLES = (
    "Where a symbol is generalized shows where secret patterns may be: symbols that take part in none are "
    "released as they are."
)
NOT_WHETHER = (
    "That a secret pattern occurs, and how often, is not hidden: the promise is about where it occurs, "
    "against an adversary who knows how often. A pattern that is everywhere has nothing left to hide, and is "
    "released."
)
PLACE_BY_PLACE = (
    "Bits are counted place by place, from the symbols that are released there: what many places tell "
    "together, what neighbouring symbols tell, and patterns of several lengths together can be more."
)
BY_THE_PAPER = (
    "What leaks is counted by the paper's measure, which leaves out what places without a secret pattern "
    'tell. The mutual information may be larger; measure = "exact" bounds that.'
)
NEEDS_ORIGINAL = (
    "Only those who hold the original and the secret patterns can check the promise; the files alone do not "
    "show it."
)
VERDICTS = "verdicts"
"""One row per person and pattern length, or per pattern in the worst case."""
PATTERNS = "patterns"
"""One row per person and pattern that occurs."""
LOSS_REFERENCE = "Bonomi, Fan, Jin (2016), utility loss"
LEAK_REFERENCES = {
    "exact": "Cover, Thomas (2006), mutual information, of patterns and release",
    "paper": "Bonomi, Fan, Jin (2016), Equation 2, sensitive patterns only",
}
"""Measure of the promise to where it is from."""
CONSTRAINT = "leakage above its bound"
TENTHS = 10
EXAMPLES = 3


def publish(
    method: MutualInformationMethod, table: EventTable, plan: LeakagePlan, nodes: Codes, *, progress: Progress
) -> Outcome:
    """Write for each person what is released of them, and what that changes."""
    source, tree = table.sequences, plan.task.tree
    column = source.symbol
    used = np.unique(nodes)
    book = Codebook.of(tree.labels[node] for node in used)
    code_of = np.zeros(len(tree), np.int32)
    code_of[used] = book.encode(tree.labels[node] for node in used)
    sequences = Sequences(source.person_offsets, {column: code_of[nodes]}, {column: book})
    limits = [NEEDS_ORIGINAL, ONLY_PATTERNS, NOT_WHETHER, PLACE_BY_PLACE, RENAMED, HOLES, ONE_RELEASE]
    if method.measure == "paper":
        limits.insert(0, BY_THE_PAPER)
    if not method.worst_case:
        limits.insert(0, AVERAGE)
    limits += tie_limits(table)
    progress(0.5, "checking every person")
    model = method.model()
    found = model.leakage(sequences, table)
    spent = losses(sequences, table, method.cost)
    return Outcome(
        sequences=sequences,
        schema=Schema(person=PERSON, order=ORDER, symbol=column, released=True),
        hierarchies={column: tree.above(book.labels)},
        changes=_changes(table, plan, nodes),
        limits=tuple(limits),
        warnings=(*plan.warnings, *_shown_patterns(found, table, worst_case=method.worst_case)),
        plots=plots_of(sequences, table, window=method.window),
        evidence=evidence_of(model, found, table, per_person(spent, table, plan.weights)),
    )


def _shown_patterns(found: Leakage, table: EventTable, *, worst_case: bool) -> tuple[str, ...]:
    """Warn of patterns that a sum within its bound has left as they are."""
    persons = [] if worst_case else found.is_shown.sum(axis=1).tolist()
    who = "persons" if table.n_persons > 1 else "person"
    return tuple(
        f"patterns: {' → '.join(pattern)} is released as it is for {count:,} of {table.n_persons:,} {who}; "
        "worst_case bounds each pattern by itself"
        for pattern, count in zip(found.patterns, persons, strict=False)
        if count
    )


def _changes(table: EventTable, plan: LeakagePlan, nodes: Codes) -> pl.DataFrame:
    """List every event whose symbol became another: input row, person, kind, symbol before and after."""
    source = table.sequences
    before = plan.task.leaf_nodes[source.columns[source.symbol]]
    changed = np.flatnonzero(before != nodes)
    changed = changed[np.argsort(table.rows[changed], kind="stable")]
    owner = np.searchsorted(source.person_offsets, changed, side="right") - 1
    labels = pl.Series(plan.task.tree.labels, dtype=pl.String)
    kind = pl.Series(KINDS, dtype=pl.Enum(KINDS))
    return pl.DataFrame(
        {
            "row": table.rows[changed].astype(np.int64),
            "person": table.persons.gather(owner),
            "what": kind.gather((nodes[changed] == 0).astype(np.int64)),
            "from": labels.gather(before[changed]),
            "to": labels.gather(nodes[changed]),
        }
    )


def evidence_of(
    model: MutualInformationPrivacy,
    found: Leakage,
    table: EventTable,
    losses: Numbers,
) -> dict[str, pl.DataFrame]:
    """Lay out every person's own verdict and every pattern's posterior; most leaking ones first.

    ``verdicts`` has the columns ``person``, ``length`` (of the patterns), ``entropy_bits``, ``bound_bits``,
    ``leakage_bits``, ``holds`` and ``loss_per_symbol``; in the worst case also ``pattern``, and by the
    paper's measure also ``mutual_information_bits``. ``patterns`` has ``person``, ``pattern``,
    ``occurrences``, ``leakage_bits``, ``posterior`` (the surest guess that an index tuple was the pattern)
    and ``released_as_it_is``. Persons without an occurrence are left out.
    """
    lengths, leakage, entropy, bound = model.bounds(found)
    exact = {}
    if model.measure != "exact":
        exact["mutual_information_bits"] = replace(model, measure="exact").bounds(found)[1]
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


def plots_of(released: Sequences, table: EventTable, *, window: int) -> tuple[Figure, ...]:
    """Draw Figure 9: the most frequent pairs of the original, and those of the release."""
    sides = (("original", table), ("release", released))
    return tuple(
        Figure(
            tuple(" → ".join(pattern) for pattern, _ in top),
            {name: tuple(float(count) for _, count in top)},
            title=f"The {TOP} most frequent pairs of the {name}",
            unit=f"index pairs within {window} steps",
        )
        for name, top in ((name, top_pairs(side, window=window)) for name, side in sides)
    )


def measure(
    method: MutualInformationMethod, outcome: Outcome, table: EventTable, *, progress: Progress
) -> dict[str, Score]:
    """Compare the release with the original, place by place, and person by person."""
    progress(0.0, "measuring the loss")
    released = outcome.sequences
    weights = read_weights(table)
    plain = losses(released, table, "information-loss")
    chosen = plain if method.cost == "information-loss" else losses(released, table, method.cost)
    by = f'"{method.cost}"' if isinstance(method.cost, str) else "of the given table"
    weighed = "" if method.weight is None else f", events weighed by {method.weight}"
    scores = {
        "information_loss": Score(
            value=_mean(plain),
            means="Average loss of the symbols: the share of the leaves of the taxonomy that a "
            "released symbol stands for, 0 for one as it was.",
            formula="Σ over events of loss(v) / events; loss(v) = leaves(v) / leaves, 0 for a leaf",
            reference=LOSS_REFERENCE,
        ),
        "loss_per_symbol": Score(
            value=_mean(chosen, weights),
            bounds=(0, None),
            means=f"Utility loss per symbol by the cost {by}{weighed}.",
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
    progress(0.3, "measuring the leakage")
    scores |= _leakage(method, released, table)
    progress(0.6, "comparing symbols and patterns")
    scores["rank_correlation"] = rank_correlation(released, original=table)
    scores["top_patterns"] = top_patterns(released, original=table, window=method.window)
    scores |= symbol_levels(released, original=table)
    progress(1.0, "measured")
    return scores


def losses(released: Sequences, table: EventTable, cost: str | Mapping[str, Mapping[str, float]]) -> Numbers:
    """Return what the release of each event costs."""
    source = table.sequences
    column = source.symbol
    tree = table.hierarchies[column]
    by_depth = costs_by_depth(tree, source.codebooks[column].labels, cost)
    depths = tree.depth[tree.nodes(released.codebooks[column].labels)]
    spent: Numbers = by_depth[source.columns[column], depths[released.columns[column]]]
    return spent


def per_person(values: Numbers, table: EventTable, weights: Numbers | None) -> Numbers:
    """Return the mean over each person's events; 0 for a person whose events have no weight."""
    owner = owners_of(table.person_offsets)
    weight = np.ones(len(values)) if weights is None else weights
    total = np.bincount(owner, weight, table.n_persons)
    means: Numbers = np.divide(
        np.bincount(owner, values * weight, table.n_persons),
        total,
        out=np.zeros(table.n_persons),
        where=total > 0,
    )
    return means


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
        means="The surest guess anywhere: the largest share of one secret pattern among the index tuples "
        "that are released alike.",
        formula="max over patterns p of occurrences of p / index tuples released as h(p)",
        reference="Bonomi, Fan, Jin (2016)",
    )
    return scores


def _spread(name: str, values: Numbers, what: str, reference: str) -> dict[str, Score]:
    """Return how a number spreads over the persons whom it concerns."""
    points = np.quantile(values, [0.0, 0.5, 1.0]) if len(values) else np.zeros(3)
    return {
        f"{name}_{word}": Score(
            value=float(point),
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


def reasons_of(changes: pl.DataFrame, evidence: Mapping[str, pl.DataFrame]) -> tuple[Reason, ...]:
    """Count, per length of patterns or per pattern, the changes of those about whom it revealed too much."""
    verdicts = evidence[VERDICTS]
    above = verdicts.filter(pl.col("entropy_bits") > pl.col("bound_bits") + SLACK * pl.col("entropy_bits"))
    by = "pattern" if "pattern" in verdicts.columns else "length"
    reasons = []
    for (which,), group in above.group_by(by, maintain_order=True):
        theirs = changes.filter(pl.col("person").is_in(group["person"].implode()))
        worst = group.sort("entropy_bits", descending=True).row(0, named=True)
        name = str(which) if by == "pattern" else f"patterns of {counted(int(str(which)), 'event', 'events')}"
        for part in split_changes(theirs, KINDS):
            text = (
                f"{name}: revealed up to {worst['entropy_bits']:.2f} bits, at most {worst['bound_bits']:.2f} "
                f"may be revealed: {counted(part.events, 'symbol was', 'symbols were')} {part.what} for "
                f"{counted(part.persons, 'person', 'persons')}."
            )
            reasons.append(part.reason(CONSTRAINT, text, _most_telling(evidence[PATTERNS], group)))
    return tuple(reasons)


def more_bits(asked: float, model: MutualInformationPrivacy, table: EventTable) -> list[float]:
    """Return the tenths of a bit above a bound, up to all that patterns can reveal about anybody."""
    _, _, entropy, _ = model.bounds(model.leakage(table, table))
    highest = math.ceil(TENTHS * float(entropy.max(initial=0)))
    return [tenth / TENTHS for tenth in range(math.floor(TENTHS * asked) + 1, highest + 1)]


def _most_telling(patterns: pl.DataFrame, group: pl.DataFrame) -> tuple[str, ...]:
    theirs = patterns.filter(pl.col("person").is_in(group["person"].implode()))
    counts = theirs.group_by("pattern").agg(pl.col("occurrences").sum())
    first = counts.sort("occurrences", "pattern", descending=[True, False]).head(EXAMPLES)
    return tuple(f"{pattern}: {count:,} times" for pattern, count in first.rows())
