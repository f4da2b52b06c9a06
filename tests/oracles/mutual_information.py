"""Mutual information privacy as its definitions read: slow, obvious, and nothing of sequester in it.

A tree is a table from every label but the root ``*`` to the label above it. A generalization is a table from
symbol to node. A sequence is a tuple of symbols; a released one a tuple of nodes, place by place.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import log2

ROOT = "*"
SLACK = 1e-9
NEAR = 1e-12


def path(tree, label):
    """The label and what lies above it, up to the root."""
    above = [label]
    while above[-1] != ROOT:
        above.append(tree[above[-1]])
    return above


def leaves(tree):
    return sorted(set(tree) - set(tree.values()))


def lca(tree, a, b):
    over = path(tree, b)
    return next(node for node in path(tree, a) if node in over)


def index_tuples(n, m, window):
    """All i1 < ... < im with im - i1 <= window."""
    return [places for places in combinations(range(n), m) if places[-1] - places[0] <= window]


def spelled(row, places):
    return tuple(row[place] for place in places)


def frequency(row, pattern, window):
    places = index_tuples(len(row), len(pattern), window)
    return sum(spelled(row, each) == tuple(pattern) for each in places)


def terms(original, released, patterns, window):
    """Pattern to its part of the leakage: sum over its images of P[p, q] log2 (P[p, q] / (P[p] P[q]))."""
    found = {}
    for pattern in set(map(tuple, patterns)):
        places = index_tuples(len(original), len(pattern), window)
        images = Counter(spelled(released, each) for each in places)
        joint = Counter(spelled(released, each) for each in places if spelled(original, each) == pattern)
        total = sum(joint.values())
        found[pattern] = sum(
            count / len(places) * log2(count * len(places) / (total * images[image]))
            for image, count in joint.items()
        )
    return found


def by_length(found):
    """Length to the sum over all patterns of that length."""
    sums = {}
    for pattern, bits in sorted(found.items()):
        sums[len(pattern)] = sums.get(len(pattern), 0.0) + bits
    return sums


NONE = "no sensitive pattern"


def mutual_information(pairs):
    """Of pairs (s, g), all alike likely: the sum of P[s, g] log2 (P[s, g] / (P[s] P[g]))."""
    n, joint = len(pairs), Counter(pairs)
    left, right = Counter(s for s, _ in pairs), Counter(g for _, g in pairs)
    return sum(count / n * log2(count * n / (left[s] * right[g])) for (s, g), count in joint.items())


def outcomes(original, released, patterns, length, window):
    """One pair per index tuple: the sensitive pattern that it spells, or NONE, and what is released of it."""
    secret = {tuple(pattern) for pattern in patterns}
    return [
        (spelled(original, each) if spelled(original, each) in secret else NONE, spelled(released, each))
        for each in index_tuples(len(original), length, window)
    ]


def exact_by_length(original, released, patterns, window):
    """Length to the mutual information of outcome and image; NONE is an outcome like any other."""
    return {
        length: mutual_information(outcomes(original, released, patterns, length, window))
        for length in sorted({len(pattern) for pattern in patterns})
    }


def exact_by_pattern(original, released, patterns, window):
    """Pattern to the mutual information of "is it this pattern?" and image."""
    return {
        tuple(pattern): mutual_information(
            [
                (outcome == tuple(pattern), image)
                for outcome, image in outcomes(original, released, patterns, len(pattern), window)
            ]
        )
        for pattern in patterns
    }


def leaks(original, released, patterns, window, *, worst_case=False, measure="exact"):
    """Length, or in the worst case pattern, to the bits that count by the measure."""
    if measure == "exact":
        count = exact_by_pattern if worst_case else exact_by_length
        return count(original, released, patterns, window)
    found = terms(original, released, patterns, window)
    return found if worst_case else by_length(found)


def is_private(original, released, patterns, window, *, share=None, bits=None, **how):
    """Per length, or in the worst case per pattern, at most the share of the entropy or the bits leak."""
    now, before = (leaks(original, each, patterns, window, **how) for each in (released, original))
    return all(
        now[key] <= (share * before[key] if bits is None else bits) + SLACK * before[key] for key in now
    )


def cost_functions(tree):
    """The three named costs, as functions of leaf and node."""
    ends = leaves(tree)
    below = {node: sum(node in path(tree, end) for end in ends) for node in (*tree, ROOT)}
    deepest = max(len(path(tree, end)) - 1 for end in ends)

    def depth(node):
        return len(path(tree, node)) - 1

    return {
        "information-loss": lambda a, node: Fraction(0) if a == node else Fraction(below[node], len(ends)),
        "linear": lambda a, node: Fraction(0) if a == node else Fraction(deepest - depth(node), deepest),
        "exponential": lambda a, node: Fraction(0) if a == node else Fraction(1, 2 ** depth(node)),
    }


def utility_loss(row, mapping, cost, weights=None):
    weights = weights or [1] * len(row)
    return sum(weight * cost(a, mapping.get(a, a)) for a, weight in zip(row, weights, strict=True))


def generalize(row, mapping):
    return tuple(mapping.get(a, a) for a in row)


def top_down(row, patterns, tree, window, cost, weights=None, **bound):
    """Algorithm 1 as ALGORITHMS.md reads it: rounds over active symbols, most frequent first."""
    row = tuple(row)
    occurring = sorted(set(row))
    patterns = [tuple(p) for p in patterns if frequency(row, p, window)]
    if not patterns:
        return {}

    def private(mapping):
        return is_private(row, generalize(row, mapping), patterns, window, **bound)

    sensitive = sorted({a for p in patterns for a in p})
    active = list(sensitive if private(dict.fromkeys(sensitive, ROOT)) else occurring)
    active.sort(key=lambda a: (-row.count(a), a))
    h = dict.fromkeys(active, ROOT)
    total = sum(weights or [1] * len(row))
    while active:
        best, least = None, None
        pruned = set()
        for a in active:
            if a in pruned:
                continue
            above = path(tree, a)
            child = above[above.index(h[a]) - 1]
            block = [b for b in h if h[b] == h[a] and child in path(tree, b)]
            trial = h | dict.fromkeys(block, child)
            loss = utility_loss(row, trial, cost, weights)
            if least is not None and loss > least + NEAR * total:
                continue
            if private(trial):
                best, least = trial, loss
            else:
                pruned |= set(block)
        if best is None:
            break
        h = best
        active = [a for a in active if a not in pruned and h[a] != a]
    return h


def lcgp(tree, left, right):
    """Algorithm 2: node to its least common generalization, for two patterns of one length."""
    h = {a: a for a in (*left, *right)}
    changed = True
    while changed:
        changed = False
        for a, b in zip(left, right, strict=True):
            common = lca(tree, h[a], h[b])
            changed |= h[a] != common or h[b] != common
            h[a] = h[b] = common
    return h


def cheapest_common(tree, left, right, cost, counts):
    """The least cost of any generalization that makes two leaf patterns equal."""
    symbols = sorted({*left, *right})
    costs = []
    for nodes in product(*(path(tree, a) for a in symbols)):
        h = dict(zip(symbols, nodes, strict=True))
        if [h[a] for a in left] == [h[b] for b in right]:
            costs.append(sum(cost(a, h[a]) * counts[a] for a in symbols))
    return min(costs)


def bottom_up(row, patterns, tree, window, cost, weights=None, **bound):
    """Algorithm 3 as ALGORITHMS.md reads it: clusters per length, then lifts."""
    row = tuple(row)
    weights = weights or [1] * len(row)
    occurring = sorted(set(row))
    patterns = sorted({tuple(p) for p in patterns if frequency(row, p, window)}, key=lambda p: (len(p), p))
    if not patterns:
        return {}
    weight = {a: sum(w for b, w in zip(row, weights, strict=True) if a == b) for a in occurring}
    total = sum(weights)

    def private(mapping):
        return is_private(row, generalize(row, mapping), patterns, window, **bound)

    sensitive = sorted({a for p in patterns for a in p})
    movable = sensitive if private(dict.fromkeys(sensitive, ROOT)) else occurring
    h = {a: a for a in occurring}
    centroids = list(patterns)
    while not private(h):
        best = None
        for i, j in combinations(range(len(centroids)), 2):
            left, right = centroids[i], centroids[j]
            if len(left) != len(right):
                continue
            new = lcgp(tree, left, right)
            distance = sum(cost(a, new[h[a]]) * weight[a] for a in occurring if h[a] in new)
            if best is None or distance < best[0] - NEAR * total:
                best = (distance, i, j, new)
        if best is not None:
            _, i, j, new = best
            h = {a: new.get(node, node) for a, node in h.items()}
            merged = [tuple(new.get(node, node) for node in each) for each in centroids]
            centroids = [each for place, each in enumerate(merged) if place != j]
            continue
        choice = None
        for node in sorted(
            {h[a] for a in movable} - {ROOT}, key=lambda x: min(a for a in movable if h[a] == x)
        ):
            block = [a for a in movable if h[a] == node]
            extra = sum((cost(a, tree[node]) - cost(a, node)) * weight[a] for a in block)
            if choice is None or extra < choice[0] - NEAR * total:
                choice = (extra, block, tree[node])
        _, block, up = choice
        h |= dict.fromkeys(block, up)
    return h


def optimum(row, patterns, tree, window, cost, weights=None, **bound):
    """The least utility loss of any private generalization, by trying all."""
    row = tuple(row)
    occurring = sorted(set(row))
    best = None
    for nodes in product(*(path(tree, a) for a in occurring)):
        h = dict(zip(occurring, nodes, strict=True))
        loss = utility_loss(row, h, cost, weights)
        if (best is None or loss < best) and is_private(row, generalize(row, h), patterns, window, **bound):
            best = loss
    return best


def breaks_definition_3(tree, table):
    """Leaves and nodes at which a table leaf -> node -> cost is no generalization cost."""
    broken = set()
    for a in leaves(tree):
        costs = table.get(a, {})
        broken |= {(a, node) for node in costs if node not in path(tree, a)}
        broken |= {(a, node) for node in path(tree, a)[1:] if not costs.get(node, 0) > 0}
        broken |= {(a, a)} if costs.get(a, 0) != 0 else set()
        broken |= {
            (a, above)
            for node, above in pairwise(path(tree, a))
            if node in costs and above in costs and costs[above] < costs[node]
        }
    return broken
