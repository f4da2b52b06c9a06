"""Where secret patterns stood: every index tuple is looked at, one by one.

A sequence is a text or tuple of symbols, a released one a tuple of nodes, place by place. A tree is a dict
from every label but the root ``*`` to the label above it.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import log2

ROOT = "*"


def above(tree, label):
    """The label, its parent, and so on up to the root."""
    chain = [label]
    while chain[-1] != ROOT:
        chain.append(tree[chain[-1]])
    return chain


def index_tuples(n, m, window):
    """All places i1 < ... < im with im - i1 <= window."""
    return [places for places in combinations(range(n), m) if places[-1] - places[0] <= window]


def spell(row, places):
    return tuple(row[place] for place in places)


def by_taxonomy(original, released, pattern, tree, window):
    """The share of the pattern among tuples that may have been it, and among all; None if it is not there."""
    places = index_tuples(len(original), len(pattern), window)
    true = [each for each in places if spell(original, each) == pattern]
    if not true:
        return None
    possible = [
        each
        for each in places
        if all(node in above(tree, label) for node, label in zip(spell(released, each), pattern, strict=True))
    ]
    return len(true) / len(possible), len(true) / len(places)


def by_mapping(original, released, pattern, window):
    """The geometric mean, over occurrences, of the pattern's share among tuples that look like it."""
    places = index_tuples(len(original), len(pattern), window)
    looks = Counter(spell(released, each) for each in places)
    true = Counter(spell(released, each) for each in places if spell(original, each) == pattern)
    total = sum(true.values())
    shares = [(count / total, count / looks[look]) for look, count in true.items()]
    return 2 ** sum(weight * log2(share) for weight, share in shares), max(share for _, share in shares)


def leaked(original, released, pattern, window):
    """Bits that occurrences of the pattern leak on average over all tuples, and that they could leak."""
    places = index_tuples(len(original), len(pattern), window)
    looks = Counter(spell(released, each) for each in places)
    true = [each for each in places if spell(original, each) == pattern]
    images = Counter(spell(released, each) for each in true)
    prior = len(true) / len(places)
    # What is believed of each occurrence before and after, in bits.
    gained = sum(
        log2(images[spell(released, each)] / looks[spell(released, each)]) - log2(prior) for each in true
    )
    return gained / len(places), prior * -log2(prior)


def informed(original, released, pattern, window):
    """Bits that the release tells about "is it the pattern?", H less H given the image, and the original."""
    places = index_tuples(len(original), len(pattern), window)

    def open_bits(those):
        shares = Counter(spell(original, each) == pattern for each in those)
        return sum(count * log2(len(those) / count) for count in shares.values())

    images = {}
    for each in places:
        images.setdefault(spell(released, each), []).append(each)
    before, after = open_bits(places), sum(map(open_bits, images.values()))
    return (before - after) / len(places), before / len(places)
