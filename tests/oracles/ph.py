"""The steps of PH, slowly: ranks, who passes, and the least harm that one changed row can do."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations, product
from math import prod

from oracles.pattern_hiding import cayley, embeddings, side_effects
from oracles.sequences import frequent, is_subsequence, support


def excess(rows, secrets, min_support):
    """How many rows too many support each secret."""
    return {secret: max(support(secret, rows) - min_support + 1, 0) for secret in secrets}


def ranks(rows, secrets, min_support, max_length):
    """For each row with secrets, the candidates it supports that share two symbols with these."""
    too_many = excess(rows, secrets, min_support)
    known = frequent(rows, min_support, max_length)
    free = {p: n for p, n in known.items() if not any(is_subsequence(s, p) for s in secrets)}
    found = {}
    for row in set(rows):
        held = [secret for secret in secrets if is_subsequence(secret, row)]
        symbols = set("".join(held))
        spare = sum(too_many[secret] for secret in held)
        if held:
            found[row] = sum(
                1
                for pattern, count in free.items()
                if is_subsequence(pattern, row)
                and sum(symbol in symbols for symbol in pattern) >= 2
                and count - min_support < spare
            )
    return found


def changed(rows, secrets, min_support, max_length):
    """How many persons with each row must be changed, those with the highest rank passing first."""
    passed = dict.fromkeys(secrets, 0)
    found = {}
    ranked = ranks(rows, secrets, min_support, max_length)
    for row in sorted(ranked, key=lambda row: (-ranked[row], row)):
        held = [secret for secret in secrets if is_subsequence(secret, row)]
        for _ in range(rows.count(row)):
            if all(passed[secret] + 1 < min_support for secret in held):
                for secret in held:
                    passed[secret] += 1
            else:
                found[row] = found.get(row, 0) + 1
    return found


def permuted(row, secret):
    """Every row that comes from putting the items of one embedding of `secret` in another order."""
    for places in combinations(range(len(row)), len(secret)):
        if tuple(row[place] for place in places) == tuple(secret):
            for order in permutations(places):
                items = list(row)
                for place, source in zip(places, order, strict=True):
                    items[place] = row[source]
                yield "".join(items)


def deleted(row, secrets):
    """Every row that comes from deleting the place in most embeddings until no secret is left."""
    total = sum(embeddings(secret, row) for secret in secrets)
    if not total:
        return {row}
    through = {
        place: total - sum(embeddings(secret, row[:place] + "." + row[place + 1 :]) for secret in secrets)
        for place in range(len(row))
    }
    most = max(through.values())
    found = set()
    for place, count in through.items():
        if count == most:
            found |= deleted(row[:place] + "." + row[place + 1 :], secrets)
    return found


def harm(rows, number, after, secrets, min_support, max_length):
    """Side effects, deletions and swaps of putting `after` in the place of one row."""
    released = [*rows[:number], after.replace(".", ""), *rows[number + 1 :]]
    lost, ghosts = side_effects([tuple(each) for each in secrets], released, rows, min_support, max_length)
    n_deleted = len(rows[number]) - len(released[number])
    return len(lost) + len(ghosts), n_deleted, cayley(rows[number], after) if not n_deleted else 0


def hidings(row, secrets):
    """Every row by permuting one embedding, or two in turn, or by deleting one or two items."""
    found = {row}
    for _ in range(2):
        found |= {
            after
            for each in found
            for secret in secrets
            if is_subsequence(secret, each)
            for after in permuted(each, secret)
        }
    for size in (1, 2):
        for places in combinations(range(len(row)), min(size, len(row) - 1)):
            found.add("".join(item for place, item in enumerate(row) if place not in places))
    return sorted(found)


def least_side_effects(rows, secrets, min_support, max_length, most=60_000):
    """The fewest side effects of any hidings of all rows together; None where there are too many to try."""
    held = [n for n, row in enumerate(rows) if any(is_subsequence(secret, row) for secret in secrets)]
    ways = [hidings(rows[n], secrets) for n in held]
    if prod(len(each) for each in ways) > most:
        return None
    parts = {row: _parts(row, max_length) for row in {*rows}.union(*ways)}
    before = Counter(part for row in rows for part in parts[row])
    untouched = Counter(part for n, row in enumerate(rows) if n not in held for part in parts[row])
    frequent_before = {part for part, count in before.items() if count >= min_support}
    best = None
    for chosen in product(*ways):
        if any(support(secret, chosen) >= min_support for secret in secrets):
            continue
        after = untouched + Counter(part for row in chosen for part in parts[row])
        changed = frequent_before ^ {part for part, count in after.items() if count >= min_support}
        count = sum(not any(is_subsequence(secret, part) for secret in secrets) for part in changed)
        best = count if best is None else min(best, count)
    return best


def _parts(row, max_length):
    return {"".join(each) for size in range(1, max_length + 1) for each in combinations(row, size)}
