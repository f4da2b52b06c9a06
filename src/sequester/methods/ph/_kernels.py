"""Hide sensitive patterns row by row: permutations first, nearest first, then deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import inner, njit
from sequester.kernels.rows import sort_range
from sequester.methods.ph._row_kernels import (
    AFTER,
    ALPHABET,
    CURRENT,
    DEPTH,
    EXACT,
    FLAGS,
    FREQUENT,
    N_NODES,
    N_SYMBOLS,
    PARENT,
    ROW,
    SOLVED,
    STEP,
    SUPPORT,
    SYMBOL,
    TRIAL,
    RowScratch,
    RowTask,
    SensitivePatterns,
    Trie,
    contains,
    count_all_ways,
    count_through,
    delete_rest,
    fill_next,
    forget_alphabet,
    length_of,
    list_possible,
    localize,
    walk_change,
    walk_row,
    weigh,
)

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets
    from sequester.methods.ph._row_kernels import CodeTable, Floats, Table


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


class HidingRules(NamedTuple):
    """How sequences may be changed."""

    mode: int
    """One of the modes above."""
    wanted: int = 0
    """Permutations of each sensitive pattern that are asked for."""
    least: int = 0
    """Supporters that each of them must have."""
    deletes_last: bool = False
    """Nothing is deleted where an order was found, whatever it costs."""
    forbidden: CodeTable = np.empty((0, 1), np.int32)
    """Patterns that may not be where they were not, in codes."""
    seen: Counts = np.empty(0, np.int64)
    """Pairs ``first * n_symbols + second`` that may occur, ascending; any may where there are none."""


class Spread(NamedTuple):
    """How often each sensitive pattern was replaced by which of its permutations."""

    classes: Table
    """FIRST, USAGE and BASE for each sensitive pattern and order."""
    patterns: Table
    """CLASSES and REACHED of each sensitive pattern, and one row more."""


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
def choose_answer(search: Search, secret: int, n_answers: int, draw: float) -> int:
    """Choose among answers: PDPG where one hits no candidate, else RR-PDPG; by use where use is spread."""
    nodes, rules, spread, answers = search.trie.nodes, search.rules, search.spread, search.answers
    table, hits = answers.table, search.work.hits
    for i in range(n_answers):
        table[i, KEPT] = 1
    if rules.mode != MINIMUM_HARM:
        is_reached = spread.patterns[secret, REACHED] >= rules.wanted
        for i in range(n_answers):
            at = table[i, CLASS]
            table[i, USE] = 2**30
            if at >= 0 and rules.mode == MAXIMUM:
                table[i, USE] = spread.classes[at, USAGE]
            elif at >= 0 and not is_reached:
                have = spread.classes[at, BASE] + spread.classes[at, USAGE]
                if have < rules.least or spread.classes[at, USAGE] == 0:
                    table[i, USE] = rules.least - min(have, rules.least)  # Nearest to the goal first.
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


MAX_STEPS = 16
"""Permutations one after the other in one row, before deletion takes over."""
SHORT = 7
"""Places whose orders are all tried."""
EXACT_WAYS = 2.0**52
"""Below, numbers of ways are whole numbers."""
NEW_NODES = 20_000
"""New patterns that one changed row may bring; what a very long row gains beyond is not tracked."""
CLOSE = 4096
"""Patterns of one row whose bounded support is made exact at a time."""


class Orders(NamedTuple):
    """Orders of 2 and more places, by increasing Cayley distance, without the one that changes nothing."""

    places: Codes
    """For each order, which place its item comes from."""
    distances: Codes
    """Swaps that make each order."""
    starts: Table
    """Where the orders of each size begin in `places` and in `distances`."""


class DistinctRows(NamedTuple):
    """The distinct rows."""

    items: Codes
    offsets: Offsets
    """Row ``r`` is ``items[offsets[r]:offsets[r + 1]]``."""
    weights: Counts
    """Persons who still have each row."""


class Changes(NamedTuple):
    """The rows that are changed, and what becomes of them."""

    targets: Counts
    """Their numbers."""
    draws: Floats
    """A random number below 1 for each."""
    items: Codes
    """What they become, -1 where something was deleted."""
    offsets: Offsets
    """Target ``t`` becomes ``items[offsets[t]:offsets[t + 1]]``."""


class Search(NamedTuple):
    """What a search for rows without sensitive patterns reads and writes."""

    trie: Trie
    """The tracked patterns."""
    sensitive: SensitivePatterns
    """What is to be hidden."""
    orders: Orders
    """The orders that are tried."""
    rules: HidingRules
    """How rows may be changed."""
    spread: Spread
    """Which permutations were used."""
    answers: Answers
    """Room for rows without sensitive patterns."""
    work: RowScratch
    """Room to work in."""


@njit
def breaks_rules(work: RowScratch, task: RowTask, which: int, seen: Counts, n_symbols: int) -> bool:
    """Return whether a forbidden pattern that the row had not, or a pair that nobody had, is in a row."""
    codes = work.codes
    for rule in range(task.n_forbidden):
        pattern = work.forbidden[rule]
        if contains(codes[which], 0, task.size, pattern) and not contains(codes[ROW], 0, task.size, pattern):
            return True
    if seen.size:
        for i in range(task.size):
            for j in range(i + 1, task.size):
                if codes[which, i] >= 0 and codes[which, j] >= 0:
                    key = codes[ALPHABET, codes[which, i]] * n_symbols + codes[ALPHABET, codes[which, j]]
                    at = find_key(seen, seen.size, key)
                    if at == seen.size or seen[at] != key:
                        return True
    return False


@njit
def spread_embedding(row: Codes, size: int, pattern: Codes, n_items: int, n_left: int, places: Codes) -> None:
    """Choose places of `pattern`: its first `n_left` items as early, the others as late as can be.

    Requires that the row contains the pattern: then the early ones end before the late ones begin.
    """
    i = 0
    for j in range(n_left):
        while row[i] != pattern[j]:
            i += 1
        places[j] = i
        i += 1
    i = size - 1
    for j in range(n_items - 1, n_left - 1, -1):
        while row[i] != pattern[j]:
            i -= 1
        places[j] = i
        i -= 1


@inner
def choose_places(work: RowScratch, task: RowTask, pattern: Codes, longest: int) -> tuple[int, int]:
    """Write the places of embeddings of `pattern` as choices; return how many, and the items of each.

    Where these are more than `longest`, there are none.
    """
    choices, size = work.choices, length_of(pattern)
    n_choices = 0
    if size > longest:
        return n_choices, size
    for n_left in range(size + 1):
        spread_embedding(work.codes[CURRENT], task.size, pattern, size, n_left, choices[n_choices])
        is_new = True
        for other in range(n_choices):
            is_same = True
            for j in range(size):
                is_same &= choices[other, j] == choices[n_choices, j]
            is_new &= not is_same
        n_choices += is_new
    return n_choices, size


@inner
def choose_all_places(work: RowScratch, task: RowTask) -> int:
    """Write all places that any embedding goes through as one choice; return how many, or 0: too many."""
    count_through(work, CURRENT, task)
    n_places = 0
    for i in range(task.size):
        if work.through[i] > 0:
            if n_places < SHORT:
                work.choices[0, n_places] = i
            n_places += 1
    return n_places if n_places <= SHORT else 0


@inner
def try_orders(
    search: Search, task: RowTask, secret: int, n_choices: int, size: int, done: int
) -> tuple[int, int]:
    """Try the orders of the places in each of the choices, nearest first.

    Answers are rows without any sensitive pattern. Returns their number and the distance of the best step:
    the row with the fewest embeddings left, fewer than now; 0 where there is none.
    """
    trie, _, orders, rules, spread, answers, work = search
    codes, choices, table = work.codes, work.choices, answers.table
    first_place, first_order = orders.starts[size, 0], orders.starts[size, 1]
    n_orders = orders.starts[size + 1, 1] - first_order
    fewest = count_all_ways(work, CURRENT, task, np.inf)
    # Where numbers are rounded, only what is clearly less counts as less.
    fewest = fewest if fewest < EXACT_WAYS else fewest * (1 - 2.0**-40)
    for i in range(task.size):
        codes[TRIAL, i] = codes[CURRENT, i]
    n_answers, step_distance, n_hits_used, clean_distance = 0, 0, 0, -1
    for number in range(n_orders):
        distance = orders.distances[first_order + number]
        if rules.mode == MINIMUM_HARM and 0 <= clean_distance < distance:
            break
        at = first_place + number * size
        for choice in range(n_choices):
            is_same = True
            for j in range(size):
                new = codes[CURRENT, choices[choice, orders.places[at + j]]]
                codes[TRIAL, choices[choice, j]] = new
                is_same &= new == codes[CURRENT, choices[choice, j]]
            left = fewest
            if not is_same and n_answers < MAX_ANSWERS:
                left = count_all_ways(work, TRIAL, task, fewest)
            is_less = not is_same and n_answers < MAX_ANSWERS and (left == 0 or left < fewest)
            if is_less and not breaks_rules(work, task, TRIAL, rules.seen, trie.sizes[N_SYMBOLS]):
                if left == 0:
                    effects, n_hits = weigh(trie, work, TRIAL, task, n_hits_used, MAX_HITS)
                    for i in range(task.size):
                        answers.rows[n_answers, i] = codes[TRIAL, i]
                    table[n_answers, DISTANCE], table[n_answers, EFFECTS] = done + distance, effects
                    table[n_answers, N_HITS], table[n_answers, HITS] = n_hits, n_hits_used
                    n_hits_used = min(n_hits_used + n_hits, MAX_HITS)
                    table[n_answers, HITS_END] = n_hits_used
                    table[n_answers, CLASS] = -1
                    if secret >= 0:
                        first = spread.patterns[secret, CLASSES]
                        table[n_answers, CLASS] = first + spread.classes[first + number, FIRST]
                    n_answers += 1
                    if n_hits == 0:
                        clean_distance = distance
                else:
                    fewest = left
                    for i in range(task.size):
                        codes[STEP, i] = codes[TRIAL, i]
                    step_distance = distance
            for j in range(size):
                codes[TRIAL, choices[choice, j]] = codes[CURRENT, choices[choice, j]]
    return n_answers, step_distance


@inner
def choose_secret(work: RowScratch, task: RowTask, excess: Counts) -> int:
    """Return which possible pattern in a row needs the fewest further rows changed; the first of equals."""
    best = -1
    for each in range(task.n_possible):
        if (best < 0 or excess[work.possible[each]] < excess[work.possible[best]]) and contains(
            work.codes[CURRENT], 0, task.size, work.local[each]
        ):
            best = each
    return best


@inner
def permute_row(search: Search, task: RowTask, draw: float) -> int:
    """Put the items of the current row in another order; return the permutation that was used, or -1."""
    answers, work = search.answers, search.work
    codes, longest = work.codes, search.orders.starts.shape[0] - 2
    distance, used = 0, -1
    for _ in range(MAX_STEPS):
        each = choose_secret(work, task, search.sensitive.excess)
        if each < 0:
            break
        secret = work.possible[each]
        n_answers, gone = 0, 0
        # First the places of one embedding; where no order of them leaves fewer, all that any goes through.
        for is_whole in range(2):
            if n_answers > 0 or gone > 0:
                break
            if is_whole:
                n_choices, size = 1, choose_all_places(work, task)
            else:
                n_choices, size = choose_places(work, task, work.local[each], longest)
            if 2 <= size <= longest:
                asked = -1 if is_whole else secret
                n_answers, gone = try_orders(search, task, asked, n_choices, size, distance)
        if n_answers > 0:
            chosen = choose_answer(search, secret, n_answers, draw)
            for i in range(task.size):
                codes[CURRENT, i] = answers.rows[chosen, i]
            used = answers.table[chosen, CLASS]
            break
        if gone == 0:
            break
        for i in range(task.size):
            codes[CURRENT, i] = codes[STEP, i]
        distance += gone
    return int(used)


@inner
def solve_row(search: Search, task: RowTask, draw: float) -> int:
    """Write the row without sensitive patterns as SOLVED; return the permutation that was used, or -1.

    Fewest patterns lost and ghosts made come first, then fewest deletions, then the smallest distance; so a
    deletion wins over a permutation that would do more harm, and the other way round. Where permutations are
    preferred, fewest deletions come first.
    """
    trie, rules, work = search.trie, search.rules, search.work
    codes = work.codes
    for i in range(task.size):
        codes[CURRENT, i] = codes[SOLVED, i] = codes[ROW, i]
    if rules.mode == DELETE_ONLY:
        delete_rest(trie, work, SOLVED, task, True)
        return -1
    used = permute_row(search, task, draw)
    n_deleted = delete_rest(trie, work, CURRENT, task, False)
    effects, _ = weigh(trie, work, CURRENT, task, 0, 0)
    # Who asks for many permutations prefers them to deletions.
    is_spread = rules.mode != MINIMUM_HARM and used >= 0
    if (effects > 0 or n_deleted > 0) and not is_spread:
        n_other = delete_rest(trie, work, SOLVED, task, False)
        other, _ = weigh(trie, work, SOLVED, task, 0, 0)
        if rules.deletes_last:
            is_better = n_other < n_deleted or (n_other == n_deleted and other < effects)
        else:
            is_better = other < effects or (other == effects and n_other < n_deleted)
        if is_better:
            return -1
    for i in range(task.size):
        codes[SOLVED, i] = codes[CURRENT, i]
    return int(used)


@njit
def count_close(
    trie: Trie, work: RowScratch, n_close: int, rows: DistinctRows, changes: Changes, n_changed: int
) -> None:
    """Make the supports of the nodes in `work.hits`, which are only bounded, exact.

    Their supporters are those among the rows as they were, by weight, and among the changed ones.
    """
    pattern = work.codes[TRIAL]
    for i in range(n_close):
        node = at = work.hits[i]
        pattern[trie.nodes[node, DEPTH]] = -1
        for j in range(trie.nodes[node, DEPTH] - 1, -1, -1):
            pattern[j] = trie.nodes[at, SYMBOL]
            at = trie.nodes[at, PARENT]
        total = 0
        for row in range(rows.weights.size):
            if rows.weights[row] > 0 and contains(
                rows.items, rows.offsets[row], rows.offsets[row + 1], pattern
            ):
                total += rows.weights[row]
        for row in range(n_changed):
            total += contains(changes.items, changes.offsets[row], changes.offsets[row + 1], pattern)
        trie.nodes[node, SUPPORT] = total
        trie.nodes[node, FLAGS] |= EXACT


@inner
def count_use(rules: HidingRules, spread: Spread, used: int) -> None:
    """Count a permutation that was used; with enough supporters it counts for its pattern, too."""
    spread.classes[used, USAGE] += 1
    usage = spread.classes[used, USAGE]
    have = spread.classes[used, BASE] + usage
    if rules.mode == BOUNDED and (have == rules.least or (usage == 1 and have > rules.least)):
        for pattern in range(spread.patterns.shape[0] - 1):
            if spread.patterns[pattern, CLASSES] <= used < spread.patterns[pattern + 1, CLASSES]:
                spread.patterns[pattern, REACHED] += 1


@njit
def hide_rows(
    search: Search, rows: DistinctRows, changes: Changes, min_support: int, first: int, last: int
) -> int:
    """Change the targets `first` to `last` one after the other; stop before one that there is no room for.

    Returns the number of the first target not changed.
    """
    trie, sensitive, work = search.trie, search.sensitive, search.work
    codes = work.codes
    for target in range(first, last):
        if trie.sizes[N_NODES] + NEW_NODES > trie.nodes.shape[0]:
            return target
        row = changes.targets[target]
        start, size = rows.offsets[row], rows.offsets[row + 1] - rows.offsets[row]
        n_local = localize(rows.items, start, start + size, work)
        n_forbidden = list_possible(search.rules.forbidden, work, work.forbidden, work.possible)
        n_possible = list_possible(sensitive.patterns, work, work.local, work.possible)
        forget_alphabet(n_local, work)
        remaining = changes.targets.size - target
        task = RowTask(size, n_local, n_possible, n_forbidden, min_support, remaining)
        used = solve_row(search, task, changes.draws[target])
        last_change = -1
        for i in range(size):
            symbol = codes[SOLVED, i]
            changes.items[changes.offsets[target] + i] = codes[ALPHABET, symbol] if symbol >= 0 else -1
            if symbol != codes[ROW, i]:
                last_change = i
        walk_row(trie, work, n_local, -1, min_support, 0)
        rows.weights[row] -= 1
        fill_next(work, SOLVED, size, n_local, AFTER)
        _, n_close = walk_change(trie, work, task, last_change, 0, CLOSE, NEW_NODES)
        count_close(trie, work, min(n_close, CLOSE), rows, changes, target + 1)
        for each in range(n_possible):
            sensitive.excess[work.possible[each]] -= contains(codes[ROW], 0, size, work.local[each])
        if used >= 0:
            count_use(search.rules, search.spread, used)
    return last
