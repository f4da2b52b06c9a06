"""Measures of utility as their definitions read: slow, one cell, one pair, one person at a time.

A tree leads from every label but the root ``*`` to the label above it. An attribute is a weight, a tree (or
None) and two lists of rows of labels, one row per person: before and after.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise
from math import log2

from oracles.hierarchy import ROOT, chain, depth, height, leaf_labels, leaves


def below(tree, label):
    """The leaves that a label may stand for; without a tree only itself."""
    if tree is None:
        return [label]
    return sorted(leaf for leaf in leaf_labels(tree) if label in chain(tree, leaf))


def _cells(attributes, cost):
    """The costs of all cells by weight; an absent event costs what the root does."""
    total = Fraction(0)
    for weight, tree, before, after in attributes:
        shown = [label for row in after for label in row]
        absent = sum(map(len, before)) - len(shown)
        total += Fraction(weight) * (sum(cost(tree, label) for label in shown) + absent * cost(tree, ROOT))
    return total


def _size(attributes):
    _, _, before, _ = attributes[0]
    return sum(map(len, before))


def loss_metric(attributes):
    """Iyengar (2002): (M_P - 1) / (M - 1), averaged over cells."""

    def cost(tree, label):
        domain = leaves(tree, ROOT)
        return Fraction(leaves(tree, label) - 1, domain - 1) if domain > 1 else Fraction(0)

    scale = sum(Fraction(weight) for weight, *_ in attributes) * _size(attributes)
    return _cells(attributes, cost) / scale if scale else 0


def certainty_penalty(attributes):
    """Eq. 2.1 and 2.2 of the thesis; nothing lies below a leaf."""

    def cost(tree, label):
        return (
            Fraction(0) if label in leaf_labels(tree) else Fraction(leaves(tree, label), leaves(tree, ROOT))
        )

    return _cells(attributes, cost)


def iloss(attributes):
    """Eq. 2.3 to 2.5 of the thesis."""

    def cost(tree, label):
        return Fraction(leaves(tree, label) - 1, leaves(tree, ROOT))

    return _cells(attributes, cost) / max(_size(attributes), 1)


def precision(attributes):
    """One less the mean of height over greatest height."""

    def cost(tree, label):
        if label in leaf_labels(tree):
            return Fraction(0)
        return Fraction(height(tree) - depth(tree, label), height(tree))

    scale = sum(Fraction(weight) for weight, *_ in attributes) * _size(attributes)
    return 1 - (_cells(attributes, cost) / scale if scale else 0)


def alike(persons, one):
    """How many persons have the same history."""
    return sum(other == one for other in persons)


def discernibility(released, n_persons):
    """Each person is penalized by the size of their class, one who is suppressed by everybody."""
    shown = [history for history in released if history]
    return Fraction(
        sum(alike(shown, history) for history in shown) + (n_persons - len(shown)) * n_persons, n_persons
    )


def classification(events, n_events):
    """Eq. 2.6 and 2.7; an event is its quasi-identifiers and its class, absent ones are missing."""
    penalties = n_events - len(events)
    for quasi, _ in {(quasi, None) for quasi, _ in events}:
        counts = Counter(label for other, label in events if other == quasi)
        penalties += sum(counts.values()) - max(counts.values())
    return Fraction(penalties, n_events)


def loss_per_gain(loss, before, after):
    """Eq. 2.8, with the smallest class for the privacy."""
    smallest = [min((alike(side, one) for one in side if one), default=None) for side in (before, after)]
    gain = 0 if None in smallest else max(smallest[1] - smallest[0], 0)
    return loss / (gain + 1)


def expected_counts(tree, labels, domain):
    """How often each value of the domain is expected."""
    found = dict.fromkeys(domain, Fraction(0))
    for label in labels:
        possible = below(tree, label)
        for leaf in possible:
            found[leaf] += Fraction(1, len(possible))
    return found


def value_divergence(attributes):
    total = 0.0
    for weight, tree, before, after in attributes:
        flat = [[label for row in side for label in row] for side in (before, after)]
        domain = sorted(leaf_labels(tree)) if tree else sorted({*flat[0], *flat[1]})
        counts = [expected_counts(tree, side, domain) for side in flat]
        sums = [sum(each.values()) + len(domain) for each in counts]
        for value in domain:
            p, q = ((each[value] + 1) / size for each, size in zip(counts, sums, strict=True))
            total += weight * float(p) * log2(p / q)
    weights = sum(weight for weight, *_ in attributes)
    return total / weights if weights else 0.0


def transition_counts(tree, rows):
    """How often one leaf is expected right after another."""
    found = {}
    for row in rows:
        for first, then in pairwise(row):
            firsts, thens = below(tree, first), below(tree, then)
            for a in firsts:
                for b in thens:
                    cell = (a, b)
                    found[cell] = found.get(cell, Fraction(0)) + Fraction(1, len(firsts) * len(thens))
    return found


def transitions(attributes, order):
    """The distance of the matrices and the accuracy of the likeliest guess; `order` breaks ties."""
    distance = accuracy = Fraction(0)
    for weight, tree, before, after in attributes:
        true, told = transition_counts(tree, before), transition_counts(tree, after)
        total = sum(true.values())
        if not total:
            accuracy += Fraction(weight)
            continue
        usual = Counter()
        for (_, b), count in told.items():
            usual[b] += count
        for a in {a for a, _ in true}:
            row = {b: count for (first, b), count in true.items() if first == a}
            guess = {b: count for (first, b), count in told.items() if first == a}
            n, m = sum(row.values()), sum(guess.values())
            if m:
                apart = sum(abs(row.get(b, 0) / n - guess.get(b, 0) / m) for b in {*row, *guess}) / 2
                best = min(guess, key=lambda b: (-guess[b], order.index(b)))
            else:
                apart = Fraction(1)
                best = min(usual, key=lambda b: (-usual[b], order.index(b))) if usual else None
            distance += Fraction(weight) * apart * n / total
            accuracy += Fraction(weight) * row.get(best, 0) / total
    weights = sum(Fraction(weight) for weight, *_ in attributes)
    return distance / weights, accuracy / weights


def transport(left, right):
    """The area between two distribution functions, from one value to the next."""
    if not left or not right:
        return Fraction(0)
    area = Fraction(0)
    for low, high in pairwise(sorted({*left, *right})):
        shares = [Fraction(sum(value <= low for value in side), len(side)) for side in (left, right)]
        area += abs(shares[0] - shares[1]) * (high - low)
    return area


def returns(rows):
    """After how many steps each item comes again."""
    found = []
    for row in rows:
        for place, label in enumerate(row):
            later = [other for other in range(place + 1, len(row)) if row[other] == label]
            if later:
                found.append(later[0] - place)
    return found


def curve(histories, n_times):
    """Kaplan-Meier: a history is a list of (time, probability that it happens then)."""
    waiting_share, curve = Fraction(1), []
    for time in range(n_times):
        happened = at_risk = Fraction(0)
        for history in histories:
            # Those who still have an event now or later, and to whom it has not happened before.
            if not history or history[-1][0] < time:
                continue
            still = Fraction(1)
            for when, chance in history:
                if when < time:
                    still *= 1 - chance
            at_risk += still
            for when, chance in history:
                if when == time:
                    happened += still * chance
                    still *= 1 - chance
        if at_risk:
            waiting_share *= 1 - happened / at_risk
        curve.append(waiting_share)
    return curve


def curve_distance(before, after):
    n_times = 1 + max((time for history in [*before, *after] for time, _ in history), default=0)
    return max(abs(a - b) for a, b in zip(curve(before, n_times), curve(after, n_times), strict=True))


def unlike(attributes, person, i, j):
    """The expected share of attributes in which two events differ."""
    cost = Fraction(0)
    for weight, tree, before, after in attributes:
        possible = below(tree, after[person][j])
        cost += Fraction(weight) * (1 - Fraction(possible.count(before[person][i]), len(possible)))
    return cost / sum(Fraction(weight) for weight, *_ in attributes)


def edits(attributes, person, i=0, j=0):
    """The least cost from the i-th original and the j-th released event on."""
    _, _, before, after = attributes[0]
    n, m = len(before[person]), len(after[person])
    if i == n or j == m:
        return Fraction(n - i + m - j)
    return min(
        1 + edits(attributes, person, i + 1, j),
        1 + edits(attributes, person, i, j + 1),
        unlike(attributes, person, i, j) + edits(attributes, person, i + 1, j + 1),
    )
