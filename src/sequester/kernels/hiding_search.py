"""Find a row without secrets that does least harm: permutations first, nearest first, then deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import njit
from sequester.kernels.hiding_rows import (
    Secrets,
    breaks_rules,
    count_all_ways,
    count_through,
    spread_embedding,
)
from sequester.kernels.hiding_task import Task, delete_rarest, delete_rest, weigh
from sequester.kernels.pattern_trie import FREQUENT, Trie

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Mask, Offsets

    Weights = npt.NDArray[np.float64]

MINIMUM_HARM, MAXIMUM, BOUNDED, DELETE_ONLY = 0, 1, 2, 3
"""How a permutation is chosen: nearest, least used, until enough have enough supporters; or never."""
MAX_STEPS = 16
"""Permutations one after the other in one row, before deletion takes over."""
MAX_ANSWERS = 256
"""Permutations that are compared for one row."""
MAX_HITS = 8192
"""Candidates that are written down for all of them together."""
SHORT = 7
"""Places whose orders are all tried."""
EXACT_WAYS = 2.0**52
"""Below, numbers of ways are whole numbers."""


class Orders(NamedTuple):
    """Orders of 2 and more places, by increasing Cayley distance, without the one that changes nothing."""

    places: Codes
    """For each order, which place its item comes from."""
    place_starts: Offsets
    """Where the orders of each size begin in `places`."""
    distances: Codes
    """Swaps that make each order."""
    starts: Offsets
    """Where the orders of each size begin in `distances`."""


class Spread(NamedTuple):
    """How often each secret was replaced by which of its permutations."""

    mode: int
    """One of the modes above."""
    classes: Codes
    """For each secret and order the first order that gives the same pattern; -1: the secret itself."""
    class_starts: Offsets
    """Where those of each secret begin."""
    usage: Counts
    """Rows that got the permutation."""
    base: Counts
    """Rows that had it before."""
    wanted: int
    """Permutations that are asked for."""
    least: int
    """Supporters that each of them must have."""
    reached: Counts
    """Permutations of each secret that have so many."""


class Answers(NamedTuple):
    """Rows without secrets, and what each would do."""

    rows: npt.NDArray[np.int32]
    distances: Codes
    effects: Codes
    hits: Codes
    """Nodes of the candidates that each would hit."""
    hit_offsets: Offsets
    n_hits: Codes
    classes: Counts
    """Place in `Spread.usage`, or -1."""


@njit
def _try_orders(
    task: Task,
    trie: Trie,
    secrets: Secrets,
    orders: Orders,
    spread: Spread,
    secret: int,
    current: Codes,
    choices: Codes,
    done: int,
    answers: Answers,
    step: Codes,
) -> tuple[int, int]:
    """Try the orders of the places in each of the `choices` (rows) of `current`, nearest first.

    Answers are rows without any secret. Gives their number and the distance of the best `step`: the row with
    the fewest embeddings left, fewer than now; 0 where there is none.
    """
    n_choices, size = choices.shape
    order_places, order_distances = orders.places, orders.distances
    first_place, first_order, last_order = (
        orders.place_starts[size],
        orders.starts[size],
        orders.starts[size + 1],
    )
    rows, hits, hit_offsets = answers.rows, answers.hits, answers.hit_offsets
    ways = np.empty(secrets.items.size + 1, np.float64)
    fewest = count_all_ways(current, secrets, task.possible, ways, np.inf)
    # Where numbers are rounded, only what is clearly less counts as less.
    fewest = fewest if fewest < EXACT_WAYS else fewest * (1 - 2.0**-40)
    trial = current.copy()
    n_answers, n_clean, step_distance, n_hits_used = 0, 0, 0, 0
    clean_distance = 0
    for number in range(last_order - first_order):
        distance = int(order_distances[first_order + number])
        if spread.mode == MINIMUM_HARM and n_clean > 0 and distance > clean_distance:
            break
        at = first_place + number * size
        for choice in range(n_choices):
            is_same = True
            for j in range(size):
                new = current[choices[choice, order_places[at + j]]]
                trial[choices[choice, j]] = new
                is_same &= new == current[choices[choice, j]]
            if not is_same and n_answers < MAX_ANSWERS:
                left = count_all_ways(trial, secrets, task.possible, ways, fewest)
                if (left == 0 or left < fewest) and not breaks_rules(task.row, trial, secrets):
                    if left == 0:
                        effects, n_hits = weigh(task, trie, trial, hits[n_hits_used:])
                        for i in range(trial.size):
                            rows[n_answers, i] = trial[i]
                        answers.distances[n_answers] = done + distance
                        answers.effects[n_answers] = effects
                        answers.n_hits[n_answers] = n_hits
                        hit_offsets[n_answers] = n_hits_used
                        n_hits_used = min(n_hits_used + n_hits, hits.size)
                        hit_offsets[n_answers + 1] = n_hits_used
                        answers.classes[n_answers] = -1
                        if secret >= 0:
                            first = spread.classes[spread.class_starts[secret] + number]
                            answers.classes[n_answers] = spread.class_starts[secret] + first
                        n_answers += 1
                        if n_hits == 0:
                            n_clean += 1
                            clean_distance = distance
                    else:
                        fewest = left
                        for i in range(trial.size):
                            step[i] = trial[i]
                        step_distance = distance
            for j in range(size):
                trial[choices[choice, j]] = current[choices[choice, j]]
    return n_answers, step_distance


@njit
def _pick(keep: Mask, first: Codes, second: Codes, draw: float) -> int:
    """Choose, at random among equals, one of the kept with the least first and then the least second key."""
    best = -1
    n_equal = 0
    for i in range(keep.size):
        if keep[i]:
            if best < 0 or first[i] < first[best] or (first[i] == first[best] and second[i] < second[best]):
                best, n_equal = i, 1
            elif first[i] == first[best] and second[i] == second[best]:
                n_equal += 1
    wanted = int(draw * n_equal)
    for i in range(keep.size):
        if keep[i] and first[i] == first[best] and second[i] == second[best]:
            if wanted == 0:
                return i
            wanted -= 1
    return best


@njit
def _keep_least(keep: Mask, key: Codes) -> None:
    """Keep those with the least key."""
    least, is_first = 0, True
    for i in range(keep.size):
        if keep[i] and (is_first or key[i] < least):
            least, is_first = key[i], False
    for i in range(keep.size):
        keep[i] = keep[i] and key[i] == least


@njit
def _place(keys: Counts, n_keys: int, key: int) -> int:
    """Give the place of `key` among ascending keys that hold it."""
    low, high = 0, n_keys
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@njit
def _spared(
    trie: Trie, answers: Answers, n_answers: int, is_lost: bool, short_first: bool, spared: Codes
) -> int:
    """Rank the candidates of one kind by length; write how many of the first each answer spares.

    Gives the number of candidates.
    """
    hits, offsets, flags, depths = answers.hits, answers.hit_offsets, trie.flags, trie.depths
    keys = np.empty(offsets[n_answers], np.int64)
    n_keys = 0
    for j in range(offsets[n_answers]):
        if (flags[hits[j]] & FREQUENT > 0) == is_lost:
            keys[n_keys] = (np.int64(depths[hits[j]]) << 32) + hits[j]
            n_keys += 1
    keys = keys[:n_keys]
    keys.sort()
    n_different = 0
    for j in range(n_keys):
        if j == 0 or keys[j] != keys[n_different - 1]:
            keys[n_different] = keys[j]
            n_different += 1
    for i in range(n_answers):
        spared[i] = n_different
        for j in range(offsets[i], offsets[i + 1]):
            if (flags[hits[j]] & FREQUENT > 0) == is_lost:
                place = _place(keys, n_different, (np.int64(depths[hits[j]]) << 32) + hits[j])
                if not short_first:
                    place = n_different - 1 - place
                spared[i] = min(spared[i], place)
    return n_different


@njit
def _relax(
    trie: Trie, answers: Answers, keep: Mask, n_answers: int, as_printed: bool, distances: Codes, draw: float
) -> int:
    """RR-PDPG: halve the ranked ghosts until an answer spares the first half, then the ranked lost likewise.

    As printed, short candidates for lost and long ones for ghost come first; or the reverse.
    """
    left = keep.copy()
    spared = np.empty(n_answers, np.int32)
    for is_lost in (False, True):
        size = _spared(trie, answers, n_answers, is_lost, is_lost == as_printed, spared)
        while size > 0:
            is_spared = False
            for i in range(n_answers):
                is_spared |= left[i] and spared[i] >= size
            if is_spared:
                break
            size //= 2
        for i in range(n_answers):
            left[i] = left[i] and spared[i] >= size
    return int(_pick(left, distances, distances, draw))


@njit
def _choose(trie: Trie, spread: Spread, secret: int, answers: Answers, n_answers: int, draw: float) -> int:
    """Choose among answers: PDPG where one hits no candidate, else RR-PDPG; by use where use is spread."""
    distances, n_hits, classes = answers.distances, answers.n_hits, answers.classes
    keep = np.ones(n_answers, np.bool_)
    if spread.mode != MINIMUM_HARM:
        usage, base, least = spread.usage, spread.base, spread.least
        is_reached = spread.reached[secret] >= spread.wanted
        use = np.full(n_answers, np.int32(2**30))
        for i in range(n_answers):
            at = classes[i]
            if at >= 0 and spread.mode == MAXIMUM:
                use[i] = usage[at]
            elif at >= 0 and not is_reached:
                have = base[at] + usage[at]
                if have < least or usage[at] == 0:
                    use[i] = least - min(have, least)  # Nearest to the goal first.
        _keep_least(keep, use)
    _keep_least(keep, answers.effects)
    is_clean = keep.copy()
    n_clean = 0
    for i in range(n_answers):
        is_clean[i] = keep[i] and n_hits[i] == 0
        n_clean += is_clean[i]
    if n_clean > 0:
        return int(_pick(is_clean, distances, distances, draw))
    printed = _relax(trie, answers, keep, n_answers, True, distances, draw)
    reverse = _relax(trie, answers, keep, n_answers, False, distances, draw)
    is_better = n_hits[reverse] < n_hits[printed] or (
        n_hits[reverse] == n_hits[printed] and distances[reverse] < distances[printed]
    )
    return int(reverse if is_better else printed)


@njit
def _first_secret(task: Task, secrets: Secrets, current: Codes, ways: Weights) -> int:
    """Give the secret in a row that needs the fewest further rows changed; the first of equals."""
    best = -1
    for secret in task.possible:
        one = np.full(1, secret, np.int32)
        if count_all_ways(current, secrets, one, ways, np.inf) > 0 and (
            best < 0 or secrets.slack[secret] < secrets.slack[best]
        ):
            best = secret
    return best


@njit
def solve_row(
    task: Task, trie: Trie, secrets: Secrets, orders: Orders, spread: Spread, answers: Answers, solved: Codes
) -> tuple[int, int]:
    """Write a row without secrets into `solved`; give its Cayley distance and the permutation used, or -1.

    Fewest patterns lost and ghosts made come first, then fewest deletions, then the smallest distance; so a
    deletion wins over a permutation that would do more harm, and the other way round.
    """
    n = task.row.size
    current = task.row.copy()
    if spread.mode == DELETE_ONLY:
        delete_rarest(task, trie, secrets, current)
        solved[:] = current
        return 0, -1
    step = np.empty(n, np.int32)
    ways = np.empty(secrets.items.size + 1, np.float64)
    distance, used, n_deleted = 0, -1, 0
    no_hits = np.empty(0, np.int32)
    for _ in range(MAX_STEPS):
        secret = _first_secret(task, secrets, current, ways)
        if secret < 0:
            break
        pattern = secrets.items[secrets.offsets[secret] : secrets.offsets[secret + 1]]
        size = pattern.size
        n_answers, gone = 0, 0
        if 2 <= size < orders.starts.size - 1:
            choices = np.empty((size + 1, size), np.int32)
            n_choices = 0
            for n_left in range(size + 1):
                spread_embedding(current, pattern, n_left, choices[n_choices])
                is_new = True
                for other in range(n_choices):
                    is_same = True
                    for j in range(size):
                        is_same &= choices[other, j] == choices[n_choices, j]
                    is_new &= not is_same
                n_choices += is_new
            n_answers, gone = _try_orders(
                task,
                trie,
                secrets,
                orders,
                spread,
                secret,
                current,
                choices[:n_choices],
                distance,
                answers,
                step,
            )
        if n_answers == 0 and gone == 0:
            # No order of one embedding leaves fewer: take all places that any embedding goes through.
            through = count_through(current, secrets, task.possible)
            n_places = 0
            for i in range(n):
                n_places += through[i] > 0
            if 2 <= n_places <= SHORT:
                choices = np.empty((1, n_places), np.int32)
                n_places = 0
                for i in range(n):
                    if through[i] > 0:
                        choices[0, n_places] = i
                        n_places += 1
                n_answers, gone = _try_orders(
                    task, trie, secrets, orders, spread, -1, current, choices, distance, answers, step
                )
        if n_answers > 0:
            chosen = _choose(trie, spread, secret, answers, n_answers, task.draw)
            current[:] = answers.rows[chosen, :n]
            distance = answers.distances[chosen]
            used = answers.classes[chosen]
            break
        if gone == 0:
            break
        current[:] = step
        distance += gone
    n_deleted = delete_rest(task, trie, secrets, current)
    effects, _ = weigh(task, trie, current, no_hits)
    solved[:] = current
    # Who asks for many permutations prefers them to deletions.
    is_spread = spread.mode != MINIMUM_HARM and used >= 0
    if (effects > 0 or n_deleted > 0) and not is_spread:
        current[:] = task.row
        n_other = delete_rest(task, trie, secrets, current)
        other, _ = weigh(task, trie, current, no_hits)
        if (other, n_other) < (effects, n_deleted):
            solved[:] = current
            distance, used = 0, -1
    return distance, used
