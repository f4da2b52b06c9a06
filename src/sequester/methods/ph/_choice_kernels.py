"""Choose among the permutations of a row that leave no sensitive pattern: PDPG and RR-PDPG."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sequester.kernels.compiler import inner, njit
from sequester.kernels.rows import sort_range
from sequester.methods.ph._trie_kernels import DEPTH, FLAGS, FREQUENT

if TYPE_CHECKING:
    from sequester._typing import Counts
    from sequester.methods.ph._trie_kernels import CodeTable, Table

MINIMUM_HARM, MAXIMUM, BOUNDED, DELETE_ONLY = 0, 1, 2, 3
"""How a permutation is chosen: nearest, least used, until enough have enough supporters; or never."""
MAX_ANSWERS = 256
"""Permutations that are compared for one row."""
MAX_HITS = 8192
"""Candidates that are written down for all of them together."""
DISTANCE, EFFECTS, N_HITS, HITS, HITS_END, CLASS, USE, KEPT, LEFT, SPARED = range(10)
"""Of an answer: its swaps, what it does now, its candidates and where they are written, its permutation (a
row of `Spread.classes`, or -1) and how that was used, whether it is kept, still kept, candidates spared."""
FIRST, USAGE, BASE = range(3)
"""Of a permutation of a pattern: the first order that gives the same, rows that got it, that had it."""
CLASSES, REACHED = range(2)
"""Of a sensitive pattern: where its permutations begin, and how many of them have enough supporters."""


class Spread(NamedTuple):
    """How often each sensitive pattern was replaced by which of its permutations."""

    mode: int
    """One of the modes above."""
    wanted: int
    """Permutations that are asked for."""
    least: int
    """Supporters that each of them must have."""
    classes: Table
    """FIRST, USAGE and BASE for each sensitive pattern and order."""
    patterns: Table
    """CLASSES and REACHED of each sensitive pattern, and one row more."""
    deletes_last: bool
    """Nothing is deleted where an order was found, whatever it costs."""


class Answers(NamedTuple):
    """Rows without sensitive patterns, and what each would do."""

    rows: CodeTable
    table: Table
    """DISTANCE to SPARED."""
    keys: Counts
    """Room for all candidates."""


@inner
def find_key(keys: Counts, n_keys: int, key: int) -> int:
    """Return the first place among ascending keys that is not below `key`."""
    low, high = 0, n_keys
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def pick_nearest(table: Table, n_answers: int, column: int, draw: float) -> int:
    """Choose, at random among equals, one of the answers that `column` marks with the least distance."""
    best, n_equal = -1, 0
    for i in range(n_answers):
        if table[i, column]:
            if best < 0 or table[i, DISTANCE] < table[best, DISTANCE]:
                best, n_equal = i, 0
            n_equal += table[i, DISTANCE] == table[best, DISTANCE]
    wanted = int(draw * n_equal)
    for i in range(n_answers):
        if table[i, column] and table[i, DISTANCE] == table[best, DISTANCE]:
            if wanted == 0:
                return i
            wanted -= 1
    return best


@inner
def keep_least(table: Table, n_answers: int, column: int) -> None:
    """Keep those of the kept answers with the least value in `column`."""
    best = -1
    for i in range(n_answers):
        if table[i, KEPT] and (best < 0 or table[i, column] < table[best, column]):
            best = i
    least = table[best, column]
    for i in range(n_answers):
        table[i, KEPT] = table[i, KEPT] and table[i, column] == least


@inner
def count_spared(
    nodes: Table, answers: Answers, hits: Counts, n_answers: int, is_lost: bool, short_first: bool
) -> int:
    """Rank the candidates of one kind by length; write how many of the first each answer spares.

    Returns the number of candidates.
    """
    table, keys = answers.table, answers.keys
    n_keys = 0
    for j in range(table[n_answers - 1, HITS_END]):
        if (nodes[hits[j], FLAGS] & FREQUENT > 0) == is_lost:
            keys[n_keys] = (nodes[hits[j], DEPTH] << 32) + hits[j]
            n_keys += 1
    sort_range(keys, 0, n_keys)
    n_different = 0
    for j in range(n_keys):
        if j == 0 or keys[j] != keys[n_different - 1]:
            keys[n_different] = keys[j]
            n_different += 1
    for i in range(n_answers):
        table[i, SPARED] = n_different
        for j in range(table[i, HITS], table[i, HITS_END]):
            if (nodes[hits[j], FLAGS] & FREQUENT > 0) == is_lost:
                place = find_key(keys, n_different, (nodes[hits[j], DEPTH] << 32) + hits[j])
                if not short_first:
                    place = n_different - 1 - place
                table[i, SPARED] = min(table[i, SPARED], place)
    return n_different


@njit
def relax(nodes: Table, answers: Answers, hits: Counts, n_answers: int, as_printed: bool, draw: float) -> int:
    """RR-PDPG: halve the ranked ghosts until an answer spares the first half, then the ranked lost likewise.

    As printed, short candidates for lost and long ones for ghost come first; or the reverse.
    """
    table = answers.table
    for i in range(n_answers):
        table[i, LEFT] = table[i, KEPT]
    for kind in range(2):
        is_lost = kind == 1
        size = count_spared(nodes, answers, hits, n_answers, is_lost, is_lost == as_printed)
        while size > 0:
            is_spared = False
            for i in range(n_answers):
                is_spared |= table[i, LEFT] > 0 and table[i, SPARED] >= size
            if is_spared:
                break
            size //= 2
        for i in range(n_answers):
            table[i, LEFT] = table[i, LEFT] and table[i, SPARED] >= size
    return int(pick_nearest(table, n_answers, LEFT, draw))


@inner
def choose_answer(
    nodes: Table, spread: Spread, secret: int, answers: Answers, hits: Counts, n_answers: int, draw: float
) -> int:
    """Choose among answers: PDPG where one hits no candidate, else RR-PDPG; by use where use is spread."""
    table = answers.table
    for i in range(n_answers):
        table[i, KEPT] = 1
    if spread.mode != MINIMUM_HARM:
        is_reached = spread.patterns[secret, REACHED] >= spread.wanted
        for i in range(n_answers):
            at = table[i, CLASS]
            table[i, USE] = 2**30
            if at >= 0 and spread.mode == MAXIMUM:
                table[i, USE] = spread.classes[at, USAGE]
            elif at >= 0 and not is_reached:
                have = spread.classes[at, BASE] + spread.classes[at, USAGE]
                if have < spread.least or spread.classes[at, USAGE] == 0:
                    table[i, USE] = spread.least - min(have, spread.least)  # Nearest to the goal first.
        keep_least(table, n_answers, USE)
    keep_least(table, n_answers, EFFECTS)
    n_clean = 0
    for i in range(n_answers):
        table[i, LEFT] = table[i, KEPT] and table[i, N_HITS] == 0
        n_clean += table[i, LEFT]
    if n_clean > 0:
        return int(pick_nearest(table, n_answers, LEFT, draw))
    printed = relax(nodes, answers, hits, n_answers, True, draw)
    reverse = relax(nodes, answers, hits, n_answers, False, draw)
    is_better = table[reverse, N_HITS] < table[printed, N_HITS] or (
        table[reverse, N_HITS] == table[printed, N_HITS]
        and table[reverse, DISTANCE] < table[printed, DISTANCE]
    )
    return int(reverse if is_better else printed)
