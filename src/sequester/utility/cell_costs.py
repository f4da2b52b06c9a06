"""What the cells of a release cost by the trees of their attributes, whatever a node is said to cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import ParameterError
from sequester.mining.support import sequences_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.hierarchies.hierarchy import Hierarchy

    Amounts = npt.NDArray[np.float64]


def weights_of(original: EventTable) -> dict[str, float]:
    """Attribute to weight: quasi-identifiers by theirs, a symbol with a hierarchy by 1."""
    if original.symbol is not None:
        return {original.symbol: 1.0} if original.symbol in original.hierarchies else {}
    return {name: each.weight for name, each in original.schema.quasi.items()}


def total_cost(
    released: EventTable | Sequences, original: EventTable, cost: Callable[[Hierarchy], Amounts]
) -> float:
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
    n_absent = original.n_events - sequences.n_events
    total = 0.0
    for name, weight in weights_of(original).items():
        tree = original.hierarchies[name]
        own = name if name in sequences.columns else sequences.symbol
        nodes = tree.nodes(sequences.codebooks[own].labels)
        counts = np.bincount(sequences.columns[own], minlength=len(nodes))
        costs = cost(tree)
        total += weight * (float(counts @ costs[nodes]) + n_absent * float(costs[0]))
    return total


def mean_cost(
    released: EventTable | Sequences, original: EventTable, cost: Callable[[Hierarchy], Amounts]
) -> float:
    """Average the costs of all cells by the weights of their attributes; nothing costs nothing."""
    scale = sum(weights_of(original).values()) * original.n_events
    total = total_cost(released, original, cost)
    return total / scale if scale else 0.0


def listed(names: Mapping[str, float]) -> str:
    """Write names as people do.

    Examples
    --------
    >>> listed({"ZIP": 1.0, "LOS": 1.0, "AdmYr": 1.0})
    'ZIP, LOS and AdmYr'
    """
    *most, last = names or {"nothing": 0.0}
    return f"{', '.join(most)} and {last}" if most else last


def weighed(weights: Mapping[str, float]) -> str:
    """Say how attributes are weighed, where they are not all alike.

    Examples
    --------
    >>> weighed({"ZIP": 2.0, "LOS": 1.0}), weighed({"ZIP": 1.0})
    (', weighed by ZIP 2, LOS 1', '')
    """
    if len(set(weights.values())) < 2:
        return ""
    return f", weighed by {', '.join(f'{name} {weight:g}' for name, weight in weights.items())}"
