"""A rooted tree as a dict from child to parent, and what is asked of it, as the definitions read.

The root is ``"*"`` and is no key of the dict; every other node is one.
"""

from __future__ import annotations

import re
from fractions import Fraction

ROOT = "*"


def nodes(parents):
    """All labels, the root included."""
    return {ROOT, *parents, *parents.values()}


def chain(parents, node):
    """The node, its parent, and so on up to the root."""
    above = [node]
    while above[-1] != ROOT:
        above.append(parents[above[-1]])
    return above


def depth(parents, node):
    """Steps to the root."""
    return len(chain(parents, node)) - 1


def height(parents):
    """The largest depth."""
    return max(depth(parents, node) for node in nodes(parents))


def leaf_labels(parents):
    """Nodes that are nobody's parent."""
    return nodes(parents) - set(parents.values())


def leaves(parents, node):
    """Number of leaves whose chain passes the node."""
    return sum(node in chain(parents, leaf) for leaf in leaf_labels(parents))


def lca(parents, a, b):
    """The first node above `a` that is above `b` too."""
    return next(node for node in chain(parents, a) if node in chain(parents, b))


def ancestor_at_level(parents, node, level):
    """The node of depth ``height - level`` on the chain, or the node itself where it is not that deep."""
    wanted = height(parents) - level
    return next((above for above in chain(parents, node) if depth(parents, above) == wanted), node)


def in_label_order(labels):
    """Numbers by value where all are numbers, text otherwise; equal numbers by their text."""
    is_number = all(
        re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", text) for text in labels
    )
    return sorted(labels, key=lambda text: (Fraction(text) if is_number else 0, text))


def depth_first(parents, node=ROOT):
    """The node, then each child's subtree, children in label order."""
    children = [child for child, parent in parents.items() if parent == node]
    return [node, *(below for child in in_label_order(children) for below in depth_first(parents, child))]


def information_loss(parents, node):
    """The share of all leaves that the node stands for; nothing is lost on a leaf."""
    if node in leaf_labels(parents):
        return 0.0
    return leaves(parents, node) / leaves(parents, ROOT)


def linear_cost(parents, node):
    """How far the node is above the deepest level, as a share; nothing on a leaf."""
    if node in leaf_labels(parents):
        return 0.0
    return (height(parents) - depth(parents, node)) / height(parents)


def exponential_cost(parents, node):
    """Halved with each step below the root; nothing on a leaf."""
    return 0.0 if node in leaf_labels(parents) else 2.0 ** -depth(parents, node)


def arx_row(parents, leaf):
    """The leaf at every level, from the leaf to the root."""
    return [ancestor_at_level(parents, leaf, level) for level in range(height(parents) + 1)]
