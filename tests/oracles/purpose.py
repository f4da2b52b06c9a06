"""What a column tells about a target, by the definition of mutual information, and what its levels lose."""

from __future__ import annotations

from collections import Counter
from math import log


def entropy(values):
    """Entropy in nats, with the correction of Miller and Madow."""
    counts = Counter(values)
    n = len(values)
    return -sum(m / n * log(m / n) for m in counts.values()) + (len(counts) - 1) / (2 * n)


def share_told(values, target):
    """Mutual information as a share of the entropy of the target, 0 to 1."""
    whole = entropy(target)
    if not target or whole <= 0:
        return 0.0
    return min(max((entropy(values) + whole - entropy(list(zip(values, target, strict=True)))) / whole, 0), 1)


def prices(columns, paths, targets, loss, general):
    """Weight of each column, and the price of each of its nodes.

    `columns` are lists of leaves, `paths` lead from each leaf to its nodes, itself first and the root last,
    all equally long, and `loss` from columns to nodes to their general loss.
    """
    told = []
    for values, path in zip(columns, paths, strict=True):
        height = len(next(iter(path.values()))) - 1
        levels = [
            sum(share_told([path[value][level] for value in values], target) for target in targets)
            for level in range(height)
        ] + [0.0]
        told.append([max(levels[level:]) for level in range(height + 1)])
    total = sum(levels[0] for levels in told)
    found = []
    for path, levels, own in zip(paths, told, loss, strict=True):
        if not total:
            found.append((1.0, own))
            continue
        relevance = (1 - general) * levels[0] * len(told) / total
        priced = {
            node: (relevance * (1 - levels[level] / levels[0] if levels[0] else 0) + general * own[node])
            / (relevance + general)
            for nodes in path.values()
            for level, node in enumerate(nodes)
            if own[node]
        }
        found.append((relevance + general, {node: priced.get(node, 0.0) for node in own}))
    return found
