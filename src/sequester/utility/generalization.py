"""Information loss by generalization: what the cells of a release cost by their hierarchies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.errors import ParameterError
from sequester.mining.support import sequences_of
from sequester.utility.score import Score, attribute_weights, unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable, SequenceData
    from sequester.hierarchies.hierarchy import Hierarchy

    Amounts = npt.NDArray[np.float64]
    from collections.abc import Sequence

    from sequester._typing import Codes, Counts, Offsets


def weights_of(original: EventTable) -> dict[str, float]:
    """Return the weight of each attribute: that of a quasi-identifier, or 1 for a symbol with a hierarchy."""
    if original.symbol is not None:
        return {original.symbol: 1.0} if original.symbol in original.hierarchies else {}
    return {name: each.weight for name, each in original.schema.quasi.items()}


def total_cost(released: SequenceData, original: EventTable, cost: Callable[[Hierarchy], Amounts]) -> float:
    """Add up the costs of all cells by the weights of their attributes; who has them does not matter.

    `cost` leads from a tree to what each of its nodes costs. A cell of an event that is not released costs
    what the root does.
    """
    sequences = sequences_of(released)
    if sequences.n_events > original.n_events:
        msg = (
            "released must not have more events than original, "
            f"there are {sequences.n_events} and {original.n_events}"
        )
        raise ParameterError(msg)
    nothing = count_nothing(original)
    total = 0.0
    for name, weight in weights_of(original).items():
        tree = original.hierarchies[name]
        own = name if name in sequences.columns else sequences.symbol
        nodes = tree.nodes(sequences.codebooks[own].labels)
        codes = sequences.columns[own]
        counts = np.bincount(codes[codes >= 0], minlength=len(nodes))
        n_absent = original.n_events - nothing[name] - int(counts.sum())
        costs = cost(tree)
        total += weight * (float(counts @ costs[nodes]) + n_absent * float(costs[0]))
    return total


def count_nothing(original: EventTable) -> dict[str, int]:
    """Count the cells of each attribute that hold nothing: those of persons in events, and the other way."""
    codes = original.sequences.columns
    return {
        name: int(np.count_nonzero(codes[name] < 0)) if original.of_persons else 0
        for name in weights_of(original)
    }


def mean_cost(released: SequenceData, original: EventTable, cost: Callable[[Hierarchy], Amounts]) -> float:
    """Average the costs of all cells by the weights of their attributes; nothing costs nothing."""
    weights, nothing = weights_of(original), count_nothing(original)
    scale = sum(weights.values()) * original.n_events
    scale -= sum(weight * nothing[name] for name, weight in weights.items())
    total = total_cost(released, original, cost)
    return total / scale if scale else 0.0


def names_text(names: Mapping[str, float]) -> str:
    """Write names as people do.

    Examples
    --------
    >>> names_text({"ZIP": 1.0, "LOS": 1.0, "AdmYr": 1.0})
    'ZIP, LOS and AdmYr'
    """
    *most, last = names or {"nothing": 0.0}
    return f"{', '.join(most)} and {last}" if most else last


def weights_text(weights: Mapping[str, float]) -> str:
    """Write how attributes are weighed, where they are not all alike.

    Examples
    --------
    >>> weights_text({"ZIP": 2.0, "LOS": 1.0}), weights_text({"ZIP": 1.0})
    (', weighed by ZIP 2, LOS 1', '')
    """
    if len(set(weights.values())) < 2:
        return ""
    return f", weighed by {', '.join(f'{name} {weight:g}' for name, weight in weights.items())}"


def information_loss(released: SequenceData, *, original: EventTable) -> Score:
    """Return what the cells of quasi-identifiers lost on average: 0 is nothing, 1 is everything.

    A released label loses the share of the tree's leaves that it stands for; a leaf loses nothing, ``*``
    loses everything. So does each cell of an event that is not released. Quasi-identifiers count by their
    weights. A table without cells, or without weight, loses nothing.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> stay = Hierarchy.from_tree({"short": ["1", "2", "3"], "long": ["30"]})
    >>> frame = pl.DataFrame({"who": ["a", "a", "b"], "n": [1, 2, 1], "stay": ["1", "30", "2"]})
    >>> original = EventTable(frame, Schema(person="who", order="n", quasi={"stay": stay}))
    >>> released = EventTable(
    ...     frame.with_columns(stay=pl.Series(["short", "*", "2"])),
    ...     Schema(person="who", order="n", quasi={"stay": stay}, released=True),
    ... )
    >>> information_loss(released, original=original).value  # (3/4 + 1 + 0) / 3
    0.5833333333333334

    References
    ----------
    Sehatkar (2014), Eq. 4.1 to 4.8, with the number of events for the size of D: only then the loss of a
    table that shows nothing is 1. A suppressed cell loses what generalization has left of it, 1 in all.
    """
    weights = weights_of(original)
    return Score(
        value=mean_cost(released, original, lambda tree: tree.loss),
        means=f"Average loss of the values of {names_text(weights)}: the share of the leaves of its "
        "hierarchy that a released value stands for; 0 for a value as recorded, 1 for one that is not shown"
        f"{weights_text(weights)}.",
        formula="Σ over cells of w_A · loss(v) / (n · Σ w_A); loss(v) = leaves(v) / leaves(A), 0 for a leaf",
        reference="Sehatkar (2014), Eq. 4.1 to 4.8",
    )


def ncp(released: SequenceData, *, original: EventTable) -> Score:
    """Return the normalized certainty penalty: the shares of the domains that released values cover, summed.

    A leaf has nothing below it, and no penalty. Divided by the events and the weights it is the information
    loss.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> food = Hierarchy.from_tree({"Snack": ["c", "d"], "Dairy": ["m", "n"]})
    >>> original = symbol_table(["cdm"], hierarchy=food)
    >>> released = Sequences.from_rows([["Snack", "d", "*"]])
    >>> ncp(released, original=original).value  # 2/4 + 0 + 1
    1.5

    References
    ----------
    Xu, Wang, Pei, Wang, Shi, Fu (2006); Sehatkar (2014), Eq. 2.1 and 2.2. An event that is not released has
    the penalty of an event of nothing but ``*``.
    """
    weights = weights_of(original)
    return Score(
        value=total_cost(released, original, lambda tree: tree.loss),
        bounds=(0, original.n_events * sum(weights.values())),
        means=f"Sum, over all {original.n_events:,} events, of the shares of the domains of "
        f"{names_text(weights)} that released values stand for; 0: every value is as recorded"
        f"{weights_text(weights)}.",
        formula="NCP = Σ over cells of w_A · size(v) / leaves(A); size(v) = leaves(v), 0 for a leaf",
        reference="Xu, Wang, Pei, Wang, Shi, Fu (2006); Sehatkar (2014), Eq. 2.1 and 2.2",
    )


def loss_metric(released: SequenceData, *, original: EventTable) -> Score:
    """Return the share of the other values that a released one may be as well, on average over all cells.

    A cell of an event that is not released may be any value. An attribute of one value has nothing to lose.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> food = Hierarchy.from_tree({"Snack": ["c", "d"], "m": {}})
    >>> original = symbol_table(["cdm"], hierarchy=food)
    >>> released = Sequences.from_rows([["Snack", "d", "*"]])
    >>> loss_metric(released, original=original).value  # (1/2 + 0 + 1) / 3
    0.5

    References
    ----------
    Iyengar (2002); Sehatkar (2014), section 2.3. Ranges of numbers count by the leaves below them, too.
    """
    weights = weights_of(original)
    return Score(
        value=mean_cost(released, original, lambda tree: (tree.leaves - 1) / max(int(tree.leaves[0]) - 1, 1)),
        means=f"Average share of the other values of {names_text(weights)} that a released value may also "
        f"stand for; 0 for a value as recorded, 1 for one that is not shown"
        f"{weights_text(weights)}.",
        formula="LM = Σ over cells of w_A · (leaves(v) - 1) / (leaves(A) - 1) / (n · Σ w_A)",
        reference="Iyengar (2002); Sehatkar (2014), section 2.3",
    )


def iloss(released: SequenceData, *, original: EventTable) -> Score:
    """Return the loss per event: for each value, its further leaves over all leaves, weighed and summed.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> food = Hierarchy.from_tree({"Snack": ["c", "d"], "Dairy": ["m", "n"]})
    >>> original = symbol_table(["cd"], hierarchy=food)
    >>> released = Sequences.from_rows([["Snack", "*"]])
    >>> iloss(released, original=original).value  # (1/4 + 3/4) / 2
    0.5

    References
    ----------
    Xiao, Tao (2006); Sehatkar (2014), Eq. 2.3 to 2.5. An event that is not released counts as one of nothing
    but ``*``, so that leaving events out never makes the loss smaller.
    """
    weights = weights_of(original)
    bases = [weight * (1 - 1 / int(original.hierarchies[name].leaves[0])) for name, weight in weights.items()]
    return Score(
        value=total_cost(released, original, lambda tree: (tree.leaves - 1) / int(tree.leaves[0]))
        / max(original.n_events, 1),
        bounds=(0, sum(bases)),
        means=f"Average loss of an event: the sum, over {names_text(weights)}, of the additional leaves "
        f"that a released value covers as a share of all leaves; 0 for an event as recorded"
        f"{weights_text(weights)}.",
        formula="ILoss = Σ over events Σ over attributes of w_A · (coverage(v) - 1) / base(A) / n",
        reference="Xiao, Tao (2006); Sehatkar (2014), Eq. 2.3 to 2.5",
    )


def precision(released: SequenceData, *, original: EventTable) -> Score:
    """Return one less the mean over all cells of how far up its hierarchy the released value stands.

    Levels are counted from the root, so that in a tree of unequal branches a leaf is at level 0 wherever it
    is. A cell of an event that is not released stands at the root.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> food = Hierarchy.from_tree({"Snack": ["c", "d"], "m": {}})
    >>> original = symbol_table(["cdmm"], hierarchy=food)
    >>> released = Sequences.from_rows([["Snack", "d", "*", "m"]])
    >>> precision(released, original=original).value  # 1 - (1/2 + 0 + 1 + 0) / 4
    0.625

    References
    ----------
    Sweeney (2002); Sehatkar (2014), section 2.3.
    """
    weights = weights_of(original)
    return Score(
        value=1 - mean_cost(released, original, lambda tree: tree.cost("linear")),
        goal="maximize",
        means=f"Average precision of the values of {names_text(weights)} in their hierarchies; 1 for a value "
        f"as recorded, 0 for one that is not shown{weights_text(weights)}.",
        formula="Prec = 1 - Σ over cells of w_A · level(v) / height(A) / (n · Σ w_A); level 0 is a leaf",
        reference="Sweeney (2002); Sehatkar (2014), section 2.3",
    )


def _classes(sequences: Sequences, names: Sequence[str], offsets: Offsets) -> tuple[Codes, Counts]:
    """Number rows of events so that equal ones have the same number; also return the first row of each."""
    # Symbol sequences without a schema may call their column as they like.
    own = [sequences.columns[name if name in sequences.columns else sequences.symbol] for name in names]
    cells = np.stack([np.zeros(sequences.n_events, np.int32), *own], axis=1)
    classes: tuple[Codes, Counts] = kernels.rows.fold_rows(cells.reshape(-1), offsets * cells.shape[1])
    return classes


def class_sizes(data: SequenceData, names: Sequence[str]) -> Counts:
    """Count the persons of each class of equal histories; a person without events is in none.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> sorted(class_sizes(Sequences.from_rows(["ab", "b", "ab", ""]), ["symbol"]).tolist())
    [1, 2]
    """
    sequences = sequences_of(data)
    classes, firsts = _classes(sequences, names, sequences.person_offsets)
    sizes = np.bincount(classes, minlength=len(firsts)).astype(np.int64)
    return np.asarray(sizes[np.diff(sequences.person_offsets)[firsts] > 0], np.int64)


def discernibility(released: SequenceData, *, original: EventTable) -> Score:
    """Return how many persons are released alike, on average; one who is not released is alike to all.

    Two persons are alike if their released histories are equal in every quasi-identifier that has a weight,
    or in their symbols.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.testing import symbol_table
    >>> original = symbol_table(["ab", "ab", "b", "c"])
    >>> discernibility(original, original=original).value  # (2 + 2 + 1 + 1) / 4
    1.5
    >>> released = Sequences.from_rows(["ab", "ab", "b", ""])
    >>> discernibility(released, original=original).value  # (2 + 2 + 1 + 4) / 4
    2.25

    References
    ----------
    Bayardo, Agrawal (2005); Sehatkar (2014), section 2.3. The record is a person's history, and the sum is
    divided by the persons.
    """
    unit = unit_of(original)
    sizes = class_sizes(released, [*attribute_weights(original)])
    n = sequences_of(original).n_persons
    total = int((sizes * sizes).sum()) + (n - int(sizes.sum())) * n
    return Score(
        value=total / n if n else 1.0,
        bounds=(1, max(n, 1)),
        means=f"Average size of the equivalence class of {unit}s with equal records; 1: all differ. One "
        f"that is not released counts as equal to all {n:,}.",
        formula="DM = (Σ over classes E of |E|² + |suppressed| · n) / n; "
        "E = persons with the same released history",
        reference="Bayardo, Agrawal (2005); Sehatkar (2014), section 2.3",
    )


def classification_metric(released: SequenceData, *, original: EventTable) -> Score:
    """Return the share of events that are absent, or whose sensitive value is not that of most alike events.

    Events are alike if they are equal in every quasi-identifier that has a weight. Several sensitive columns
    are averaged.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> from sequester.hierarchies import Hierarchy
    >>> age = Hierarchy.from_tree({"young": ["1", "2"], "old": ["8"]})
    >>> frame = pl.DataFrame({"who": list("abcd"), "n": 1, "age": list("1128"), "ill": list("yynn")})
    >>> roles = {"person": "who", "order": "n", "quasi": {"age": age}, "sensitive": {"ill": ["y"]}}
    >>> original = EventTable(frame, Schema(**roles))
    >>> classification_metric(original, original=original).value
    0.0
    >>> coarser = frame.with_columns(age=pl.Series(["young", "young", "young", "8"]))
    >>> released = EventTable(coarser, Schema(**roles, released=True))
    >>> classification_metric(released, original=original).value  # the third is not like most young
    0.25

    References
    ----------
    Iyengar (2002); Sehatkar (2014), Eq. 2.6 and 2.7. The record is an event, its class the sensitive value.
    """
    columns = original.schema.sensitive_columns
    if not columns:
        msg = "the classification metric needs a sensitive attribute, and there is none"
        raise ParameterError(msg)
    sequences = sequences_of(released)
    one_each = np.arange(sequences.n_events + 1)
    classes, _ = _classes(sequences, [*attribute_weights(original)], one_each)
    right = sum(_majority(classes, sequences.columns[column]) for column in columns) / len(columns)
    n = original.n_events
    return Score(
        value=1 - right / n if n else 0.0,
        means=f"The share of events that are not released, or whose {' and '.join(columns)} is not the "
        "most frequent among released events with the same quasi-identifiers: what a classifier that "
        "learned all of them would get wrong.",
        formula="CM = Σ over events of penalty / n; "
        "penalty 1 if absent or not of its class's majority, else 0",
        reference="Iyengar (2002); Sehatkar (2014), Eq. 2.6 and 2.7",
    )


def _majority(classes: Codes, values: Codes) -> int:
    """Count the events that have the most frequent value of their class."""
    n_values = int(values.max(initial=0)) + 1
    pairs, counts = np.unique(classes.astype(np.int64) * n_values + values, return_counts=True)
    most = np.zeros(int(classes.max(initial=-1)) + 1, np.int64)
    np.maximum.at(most, pairs // n_values, counts)
    return int(most.sum())


def loss_per_privacy_gain(released: SequenceData, *, original: EventTable, information_loss: float) -> Score:
    """Return the information loss over one more than the privacy gained.

    Privacy is the size of the smallest class of persons whose histories are alike; a release that leaves it
    as it was, or makes it smaller, gains none.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.testing import symbol_table
    >>> original = symbol_table(["ab", "ab", "ac", "b"])
    >>> released = Sequences.from_rows(["ab", "ab", "ab", ""])
    >>> loss_per_privacy_gain(released, original=original, information_loss=0.75).value  # 1, then 3
    0.25

    References
    ----------
    Fung, Wang, Yu (2005); Sehatkar (2014), Eq. 2.8, with the smallest class for the anonymity.
    """
    if not 0 <= information_loss <= 1:
        msg = f"information_loss must be from 0 to 1, got {information_loss}"
        raise ParameterError(msg)
    unit = unit_of(original)
    names = [*attribute_weights(original)]
    before, after = (int(class_sizes(side, names).min(initial=2**62)) for side in (original, released))
    gain = max(after - before, 0) if max(before, after) < 2**62 else 0
    return Score(
        value=information_loss / (gain + 1),
        means=f"Information loss divided by 1 + privacy gain, where the gain is how many {unit}s the "
        "smallest equivalence class has gained; 0 is no loss.",
        formula="ILPG = IL / (PG + 1); PG = max(0, smallest class of the release - smallest "
        "class of the original)",
        reference="Fung, Wang, Yu (2005); Sehatkar (2014), Eq. 2.8",
    )
