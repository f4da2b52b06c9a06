"""One small release of every method, with something lost in it."""

from __future__ import annotations

import random

from sequester.hierarchies import Hierarchy
from sequester.methods import METHODS
from sequester.testing import history_table, record_table, symbol_table

SEED = "a sentence nobody guesses"
TREE = Hierarchy.from_tree({"early": ["a", "b"], "late": ["c", "d"]})


def rows(n_persons: int, longest: int, *, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    return ["".join(draw.choices("aaabcd", k=draw.randint(1, longest))) for _ in range(n_persons)]


PATTERNS = {"patterns": [["a", "b"]], "min_support": 4}
LEAKS = {"patterns": [["a", "b"], ["c", "d"]], "window": 3, "max_leakage": 0.2}
SNAPSHOTS = {"l": 3, "window": 2, "snapshot": "order"}
CASES = {
    "halt": ({"k": 6, "c": 0.4, "p": 2}, history_table(rows(60, 3))),
    "glogen": ({"k": 8, "c": 0.3, "p": 3}, history_table(rows(40, 4))),
    "cblda": ({"k": 4, "c": 0.3}, history_table(rows(30, 4))),
    "cblda-baseline": ({"k": 4, "c": 0.5}, history_table(rows(30, 4))),
    "ph": (PATTERNS, symbol_table(rows(30, 6))),
    "sbsh": (PATTERNS, symbol_table(rows(30, 6))),
    "abul": (PATTERNS, symbol_table(rows(30, 6))),
    "p2ka": ({"k": 4}, symbol_table(rows(30, 4))),
    "prefix-pruning": ({"k": 3}, symbol_table(rows(30, 4), hierarchy=TREE)),
    "top-down": (LEAKS, symbol_table(rows(4, 16), hierarchy=TREE)),
    "bottom-up": (LEAKS, symbol_table(rows(4, 16), hierarchy=TREE)),
    "reposition": (SNAPSHOTS, record_table(rows(30, 3))),
    "suppress-only": ({**SNAPSHOTS, "then": "none"}, record_table(rows(30, 3))),
    "merge-snapshots": (SNAPSHOTS, record_table(rows(30, 3))),
}
"""Method to parameters and a table."""


def method_of(name: str, **changes: object):
    parameters, _ = CASES[name]
    return METHODS[name](**{**parameters, **changes})
