"""What somebody concludes from published snapshots: by definition, and by going through every world.

A stream is a list of snapshots, each a list of values; a record is a tuple (person, labels, value).
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product


def full(snapshot):
    """The values that are as frequent in a snapshot as any."""
    counts = Counter(snapshot)
    return {value for value, count in counts.items() if count == max(counts.values())}


def believed(published, sizes, reach):
    """What came when, and what was moved, with the fewest moves: a table of fractions per snapshot."""
    came = [{value: Fraction(count) for value, count in Counter(snapshot).items()} for snapshot in published]
    moved = [{} for _ in published]
    missing = [
        Fraction(max(size - len(snapshot), 0)) for size, snapshot in zip(sizes, published, strict=True)
    ]
    for slot, snapshot in enumerate(published):
        too_many = max(len(snapshot) - sizes[slot], 0)
        earlier = [home for home in range(slot - 1, slot - reach, -1) if home >= 0]
        counts = Counter(snapshot)
        held = {
            value: sum(missing[home] for home in earlier if value in full(published[home]))
            for value in counts
        }
        suspected = {value: count for value, count in counts.items() if held[value]}
        taken = {
            value: min(Fraction(too_many * count, sum(suspected.values())), Fraction(count), held[value])
            for value, count in suspected.items()
        }
        for value in sorted(taken):
            left = taken[value]
            for home in earlier:
                if value in full(published[home]):
                    part = min(left, missing[home])
                    came[home][value] = came[home].get(value, 0) + part
                    missing[home] -= part
                    left -= part
            amount = taken[value] - left
            came[slot][value] -= amount
            moved[slot][value] = moved[slot].get(value, 0) + amount
    everything = Counter(value for snapshot in published for value in snapshot)
    for slot, snapshot in enumerate(published):
        share = (
            dict.fromkeys(full(snapshot), Fraction(1, len(full(snapshot))))
            if snapshot
            else {value: Fraction(count, sum(everything.values())) for value, count in everything.items()}
        )
        for value, part in share.items():
            came[slot][value] = came[slot].get(value, 0) + missing[slot] * part
    return came, moved


def mean_belief(amounts, came, n_values):
    """The mean, over records that came, of the belief in their value."""
    total, n = Fraction(0), 0
    for beliefs, snapshot in zip(amounts, came, strict=True):
        weight = sum(beliefs.values())
        for value in snapshot:
            total += beliefs.get(value, 0) / weight if weight else Fraction(1, n_values)
            n += 1
    return total / n


def share_caught(suspected, published, moved):
    """The share of moved records among suspects; `moved` has those values of which one record was moved."""
    right = total = Fraction(0)
    for beliefs, snapshot, values in zip(suspected, published, moved, strict=True):
        for value, amount in beliefs.items():
            total += amount
            right += amount * Fraction(int(value in values), snapshot.count(value))
    return right / total if total else Fraction(0)


def worlds(sizes, values, published, program):
    """Every stream of these sizes from which a program makes what was published."""
    wanted = [Counter(snapshot) for snapshot in published]
    for flat in product(values, repeat=sum(sizes)):
        rest = list(flat)
        stream = [[rest.pop(0) for _ in range(size)] for size in sizes]
        if [Counter(snapshot) for snapshot in program(stream)] == wanted:
            yield stream


def intersect(original, released, reach, above):
    """The mean chance to pick the value of a person who came in several snapshots and had one value.

    `original` has records (person, labels, value) per snapshot; `released` has (labels, values) per snapshot,
    a group's values standing beside the labels of each of its records. `above` lifts labels.
    """
    persons = sorted({person for snapshot in original for person, _, _ in snapshot})
    chances = []
    for target in persons:
        mine = [
            (home, labels, value)
            for home, snapshot in enumerate(original)
            for person, labels, value in snapshot
            if person == target
        ]
        if len({home for home, _, _ in mine}) < 2 or len({value for _, _, value in mine}) > 1:
            continue
        sets = []
        for home, labels, _ in mine:
            possible = set()
            for slot in range(home, min(home + reach, len(released))):
                for shown, values in released[slot]:
                    if all(a in above(b) for a, b in zip(shown, labels, strict=True)):
                        possible |= set(values)
            sets.append(possible)
        value = mine[0][2]
        common = set.intersection(*sets)
        chances.append(
            (
                Fraction(value in common, max(len(common), 1)),
                sum(Fraction(value in each, max(len(each), 1)) for each in sets) / len(sets),
            )
        )
    return [sum(column) / len(chances) for column in zip(*chances, strict=True)] if chances else None
