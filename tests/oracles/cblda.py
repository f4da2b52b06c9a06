"""CBLDA as it is specified, step by step: every pair of clusters compared, in every round.

A person is a list of events, an event a tuple of labels, one for each tree. A tree leads from every label but
the root ``*`` to the label above it. ``risks`` has for each person, for each event, the set of its protected
values. Costs are whole numbers: what a cell is worth is ``unit`` times its weight for a leaf, nothing for the
root, and in between less by the share of the leaves that the label stands for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

ROOT = "*"
MASK = 2**32 - 1


def path(tree, label):
    """From below the root down to the label."""
    found = []
    while label != ROOT:
        found.append(label)
        label = tree[label]
    return found[::-1]


def lca(tree, a, b):
    """The lowest label at or above both."""
    common = ROOT
    for one, other in zip(path(tree, a), path(tree, b), strict=False):
        if one != other:
            break
        common = one
    return common


def leaf_count(tree, label):
    """How many leaves a label stands for."""
    leaves = tree.keys() - set(tree.values())
    return sum(label == ROOT or label in path(tree, leaf) for leaf in leaves)


def exact_unit(trees, weights):
    """The smallest unit in which every cost is a whole number."""
    return math.lcm(
        *(
            leaf_count(tree, ROOT) * Fraction(str(weight)).denominator
            for tree, weight in zip(trees, weights, strict=True)
        )
    )


@dataclass
class Rules:
    """What there is to know about the trees, and when a cluster is finished."""

    trees: list
    k: int
    c: float
    reading: str = "any"
    weights: list = None
    unit: int = 0
    seed: int | None = None
    """Where given, events are suppressed at random instead of aligned: the baseline."""
    max_depths: list = None
    """For each tree the smallest depth that two different labels may be generalized to."""

    def __post_init__(self):
        self.weights = self.weights or [1.0] * len(self.trees)
        self.unit = self.unit or exact_unit(self.trees, self.weights)
        self.max_depths = self.max_depths or [0] * len(self.trees)
        self.worths = [
            {label: self._worth(tree, label, weight) for label in [ROOT, *tree]}
            for tree, weight in zip(self.trees, self.weights, strict=True)
        ]

    def _worth(self, tree, label, weight):
        whole = round(self.unit * Fraction(str(weight)))
        if label not in set(tree.values()) | {ROOT}:
            return whole
        lost = Fraction(leaf_count(tree, label), leaf_count(tree, ROOT))
        exact = round(self.unit * Fraction(str(weight)) * (1 - lost))
        return min(exact, max(whole - 1, 0))


@dataclass
class Cluster:
    """Some persons, what is released of all of them, and which event of each stands behind it."""

    members: list
    shown: list
    kept: dict = field(default_factory=dict)


def event_worth(rules, event):
    return sum(worths[label] for worths, label in zip(rules.worths, event, strict=True))


def kill(rules, shown):
    """The loss of suppressing all events."""
    return sum(event_worth(rules, event) for event in shown)


def joined(rules, one, other):
    """Two events as one: each quasi-identifier at the lowest common ancestor."""
    return tuple(lca(tree, a, b) for tree, a, b in zip(rules.trees, one, other, strict=True))


def saving(rules, one, other):
    """What is left when two events become one; None where they may not."""
    both = joined(rules, one, other)
    for tree, least, a, b, up in zip(rules.trees, rules.max_depths, one, other, both, strict=True):
        if len(path(tree, up)) < least and not a == b == up:
            return None
    return event_worth(rules, both)


def align(rules, x, y):
    """The best alignment: what it saves, and the pairs; diagonal first, then vertical, then horizontal."""
    best = [[0] * (len(y) + 1) for _ in range(len(x) + 1)]
    move = [["V"] + ["H"] * len(y)] + [["V"] * (len(y) + 1) for _ in x]
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            gain = saving(rules, x[i - 1], y[j - 1])
            options = [
                ("D", -1 if gain is None else best[i - 1][j - 1] + gain),
                ("V", best[i - 1][j]),
                ("H", best[i][j - 1]),
            ]
            move[i][j], best[i][j] = max(options, key=lambda each: each[1])
    pairs, i, j = [], len(x), len(y)
    while i > 0 or j > 0:
        if i > 0 and j > 0 and move[i][j] == "D":
            pairs.append((i - 1, j - 1))
            i, j = i - 1, j - 1
        elif j == 0 or (i > 0 and move[i][j] == "V"):
            i -= 1
        else:
            j -= 1
    return best[len(x)][len(y)], pairs[::-1]


def exhaustive_saving(rules, x, y):
    """The most that any alignment saves: every choice of equally many events of both sides."""
    best = 0
    for size in range(1, min(len(x), len(y)) + 1):
        for left in combinations(x, size):
            for right in combinations(y, size):
                gains = [saving(rules, a, b) for a, b in zip(left, right, strict=True)]
                if None not in gains:
                    best = max(best, sum(gains))
    return best


def mixed(*numbers):
    """A number below 2^32 that nobody foresees from the numbers."""
    state = 0
    for number in numbers:
        state = ((state + 0x9E3779B9) ^ number) & MASK
        for _ in range(2):
            state = state * 0x45D9F3B & MASK
            state ^= state >> 16
    return state


def pair_up(rules, p, t):
    """The pairs of events of two clusters that are kept, and what they save."""
    x, y = p.shown, t.shown
    if rules.seed is None:
        return align(rules, x, y)
    short, long = min(len(x), len(y)), max(len(x), len(y))
    key = mixed(rules.seed, p.members[0], len(p.members), t.members[0], len(t.members))
    chosen = []
    for place in range(long):
        if mixed(key, place) % (long - place) < short - len(chosen):
            chosen.append(place)
    pairs = [(i, j) if len(x) <= len(y) else (j, i) for i, j in enumerate(chosen)]
    gains = [saving(rules, x[i], y[j]) for i, j in pairs]
    pairs = [pair for pair, gain in zip(pairs, gains, strict=True) if gain is not None]
    return sum(gain for gain in gains if gain is not None), pairs


def extra(rules, p, t):
    """What merging adds to the loss, before it is divided by the logarithm."""
    gain, _ = pair_up(rules, *in_order(p, t))
    a, b = len(p.members), len(t.members)
    return a * kill(rules, p.shown) + b * kill(rules, t.shown) - (a + b) * gain


def distance(rules, p, t):
    """Eq. 5.8."""
    return extra(rules, p, t) / math.log(len(p.members) + len(t.members))


def in_order(p, t):
    return (p, t) if p.members[0] < t.members[0] else (t, p)


def merged(rules, p, t):
    """Two clusters as one; members in the order of joining, the smallest person first."""
    p, t = in_order(p, t)
    _, pairs = pair_up(rules, p, t)
    kept = {m: [p.kept[m][i] for i, _ in pairs] for m in p.members}
    kept |= {m: [t.kept[m][j] for _, j in pairs] for m in t.members}
    return Cluster([*p.members, *t.members], [joined(rules, p.shown[i], t.shown[j]) for i, j in pairs], kept)


def single(person, events):
    return Cluster([person], list(events), {person: list(range(len(events)))})


def at_risk(rules, risks, cluster, counted):
    """How many persons are at risk through events that are kept: for any value, or for each."""
    held = [
        set().union(*(risks[m][event] for event in cluster.kept[m])) for m in cluster.members if m in counted
    ]
    if rules.reading == "any":
        return {None: sum(bool(values) for values in held)}
    return {value: sum(value in values for values in held) for value in set().union(*held)}


def excess(rules, risks, cluster, counted):
    """By how many persons more are at risk than may be; 0 or less where none are."""
    size = sum(m in counted for m in cluster.members)
    return max(at_risk(rules, risks, cluster, counted).values(), default=0) - rules.c * size


def is_finished(rules, risks, cluster, counted):
    size = sum(m in counted for m in cluster.members)
    return size >= rules.k and all(
        not count > rules.c * size + 1e-9 * size for count in at_risk(rules, risks, cluster, counted).values()
    )


def agglomerate(rules, risks, clusters, counted):
    """Merge the two closest until at most one is unfinished: merges, finished clusters, and the rest."""
    waiting = {cluster.members[0]: cluster for cluster in clusters}
    distances = {(p, t): distance(rules, waiting[p], waiting[t]) for p, t in combinations(sorted(waiting), 2)}
    merges, finished = [], []
    while len(waiting) > 1:
        p, t = min(distances, key=lambda pair: (distances[pair], pair))
        merges.append((p, t))
        both = merged(rules, waiting.pop(p), waiting.pop(t))
        distances = {pair: value for pair, value in distances.items() if not {p, t} & {*pair}}
        if is_finished(rules, risks, both, counted):
            finished.append(both)
            continue
        for other in waiting.values():
            pair = tuple(sorted((p, other.members[0])))
            distances[pair] = distance(rules, both, other)
        waiting[p] = both
    return merges, finished, list(waiting.values())


def total_loss(rules, persons, clusters):
    """The loss of all members, generalized and suppressed, in units."""
    return sum(
        sum(kill(rules, persons[m]) for m in cluster.members)
        - len(cluster.members) * kill(rules, cluster.shown)
        for cluster in clusters
    )


def absorb(rules, risks, persons, finished, rest, counted):
    """Bring the last unfinished cluster into finished ones, for the least extra loss."""
    if is_finished(rules, risks, rest, counted):
        return [*finished, rest]
    whole = _whole(rules, risks, finished, rest, counted)
    parts, left = _one_by_one(rules, risks, persons, finished, rest, counted)
    if not left and (whole is None or total_loss(rules, persons, parts) < total_loss(rules, persons, whole)):
        return parts
    if whole is not None:
        return whole
    rest = left[0]
    for other in left[1:]:
        rest = merged(rules, rest, other)
    finished = parts
    again = _whole(rules, risks, finished, rest, counted)
    if again is not None:
        return again
    return _sweep(rules, risks, finished, rest, counted)


def _by_extra(rules, finished, cluster):
    return sorted(finished, key=lambda each: (extra(rules, each, cluster), each.members[0]))


def _whole(rules, risks, finished, rest, counted):
    for other in _by_extra(rules, finished, rest):
        both = merged(rules, other, rest)
        if is_finished(rules, risks, both, counted):
            return [*(each for each in finished if each is not other), both]
    return None


def _one_by_one(rules, risks, persons, finished, rest, counted):
    def is_safe(m):
        return m not in counted or not any(risks[m])

    left = []
    for m in sorted(rest.members, key=lambda m: (not is_safe(m), m)):
        alone = single(m, persons[m])
        placed = _whole(rules, risks, finished, alone, counted)
        if placed is None:
            left.append(alone)
        else:
            finished = placed
    return finished, sorted(left, key=lambda each: each.members[0])


def _sweep(rules, risks, finished, rest, counted):
    before = excess(rules, risks, rest, counted)
    rated = []
    for other in finished:
        relief = before - excess(rules, risks, merged(rules, other, rest), counted)
        cost = extra(rules, other, rest)
        rated.append((cost / relief if relief > 1e-9 else math.inf, other.members[0], other))
    for _, _, other in sorted(rated, key=lambda each: each[:2]):
        finished = [each for each in finished if each is not other]
        rest = merged(rules, other, rest)
        if is_finished(rules, risks, rest, counted):
            break
    return [*finished, rest]


def cblda(rules, risks, persons, counted=None):
    """Persons to classes, nobody left out."""
    counted = set(range(len(persons))) if counted is None else counted
    clusters = [single(m, events) for m, events in enumerate(persons)]
    _, finished, rest = agglomerate(rules, risks, clusters, counted)
    for cluster in rest:
        finished = absorb(rules, risks, persons, finished, cluster, counted)
    return finished
