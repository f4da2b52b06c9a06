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
from functools import cache
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


def aligned(rules, persons, members):
    """Some persons as one cluster, aligned one after another in ascending order."""
    first, *others = sorted(members)
    cluster = single(first, persons[first])
    for m in others:
        cluster = merged(rules, cluster, single(m, persons[m]))
    return cluster


def value(rules, cluster):
    """What is left of all members together."""
    return len(cluster.members) * kill(rules, cluster.shown)


def grown(rules, risks, persons, members, start, counted):
    """Two classes of some persons: one grown around a person by who leaves most, until both are private."""
    inside = [start]
    while True:
        cluster = aligned(rules, persons, inside)
        left = [m for m in members if m not in inside]
        if sum(m in counted for m in left) < rules.k:
            return None
        if is_finished(rules, risks, cluster, counted):
            rest = aligned(rules, persons, left)
            if is_finished(rules, risks, rest, counted):
                return cluster, rest
        inside.append(max(left, key=lambda m: align(rules, cluster.shown, persons[m])[0]))


def divided(rules, risks, persons, cluster, counted, starts=8):
    """The classes of a large class, if any two leave more of its persons; else the class."""
    if sum(m in counted for m in cluster.members) < 2 * rules.k:
        return [cluster]
    members = sorted(cluster.members)
    found = [grown(rules, risks, persons, members, start, counted) for start in members[:starts]]
    found = [(sum(value(rules, each) for each in pair), pair) for pair in found if pair]
    best, pair = max(found, key=lambda each: each[0], default=(0, None))
    if best <= value(rules, cluster):
        return [cluster]
    return [small for each in pair for small in divided(rules, risks, persons, each, counted, starts)]


def exchanges(rules, persons, a, b):
    """Every move of a person of a pair of classes and every swap: its gain, and the two classes after it.

    Moves from the first class come first, then moves from the second, then swaps; persons in ascending order.
    Those who stay are aligned anew, and who comes is aligned with them.
    """
    now = value(rules, a) + value(rules, b)
    whole = {m: single(m, persons[m]) for m in [*a.members, *b.members]}
    without = {
        m: aligned(rules, persons, {*of.members} - {m})
        for of in (a, b)
        for m in of.members
        if len(of.members) > 1
    }
    left, right = aligned(rules, persons, a.members), aligned(rules, persons, b.members)
    found = [(without[m], merged(rules, right, whole[m])) for m in sorted(a.members) if m in without]
    found += [(merged(rules, left, whole[m]), without[m]) for m in sorted(b.members) if m in without]
    found += [
        (merged(rules, without[m], whole[n]), merged(rules, without[n], whole[m]))
        for m in sorted(a.members)
        for n in sorted(b.members)
        if m in without and n in without
    ]
    return [(value(rules, x) + value(rules, y) - now, x, y) for x, y in found]


def exchanged(rules, risks, persons, a, b, counted):
    """A pair of classes after the best exchanges, one after another, as long as one gains."""
    while True:
        gains = [each for each in exchanges(rules, persons, a, b) if each[0] > 0]
        for _, x, y in sorted(gains, key=lambda each: -each[0]):
            if is_finished(rules, risks, x, counted) and is_finished(rules, risks, y, counted):
                a, b = x, y
                break
        else:
            return a, b


def nearest_classes(rules, risks, persons, classes, a, counted):
    """The class to which each member of a class would add the least loss, each class once."""
    others = [each for each in classes if each is not a]
    found = []
    for m in sorted(a.members):
        alone = single(m, persons[m])
        private = [
            each
            for each in _by_extra(rules, others, alone)
            if is_finished(rules, risks, merged(rules, each, alone), counted)
        ]
        if private and private[0] not in found:
            found.append(private[0])
    return found


def improved(rules, risks, persons, classes, counted, passes):
    """Classes after large ones were divided and persons exchanged between near ones, pass by pass."""
    for _ in range(passes):
        before = sum(value(rules, each) for each in classes)
        classes = [small for each in classes for small in divided(rules, risks, persons, each, counted)]
        for number in range(len(persons)):
            a = next((each for each in classes if min(each.members) == number), None)
            if a is None:
                continue
            for b in nearest_classes(rules, risks, persons, classes, a, counted):
                x, y = exchanged(rules, risks, persons, a, b, counted)
                classes = [x if each is a else y if each is b else each for each in classes]
                a = x
        if sum(value(rules, each) for each in classes) == before:
            break
    return classes


def best_classes(rules, risks, persons, counted):
    """What is left at most of all persons in any classes, whose persons are aligned in any order."""
    everybody = frozenset(range(len(persons)))
    best = {}

    def grow(cluster):
        if is_finished(rules, risks, cluster, counted):
            members = frozenset(cluster.members)
            best[members] = max(best.get(members, 0), value(rules, cluster))
        for m in everybody - {*cluster.members}:
            grow(merged(rules, cluster, single(m, persons[m])))

    for m in everybody:
        grow(single(m, persons[m]))

    @cache
    def most(left):
        if not left:
            return 0
        return max(
            (best[part] + most(left - part) for part in best if min(left) in part and part <= left),
            default=-math.inf,
        )

    return most(everybody)
