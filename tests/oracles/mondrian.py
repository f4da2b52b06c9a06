"""Top-down partition along hierarchies, by definition: splits of label paths, lists of records."""

from __future__ import annotations

from collections import Counter, defaultdict

TINY = 1e-12


def partition(records, level, losses):
    """Split records into groups; a record is (paths, value), a path leads from the root to its label.

    ``losses[attribute][path]`` is the loss of a record that is published as the end of that path. Gives
    groups of places in `records`, each with the published paths.
    """
    groups = []
    waiting = [list(range(len(records)))]
    while waiting:
        members = waiting.pop()
        if not members:
            continue
        shared = [common([records[each][0][a] for each in members]) for a in range(len(losses))]
        best_saving, best_parts = TINY, None
        for attribute, top in enumerate(shared):
            parts = split(members, records, attribute, top, level)
            if len(parts) < 2:
                continue
            after = sum(
                len(part) * losses[attribute][common([records[each][0][attribute] for each in part])]
                for part in parts
            )
            saving = len(members) * losses[attribute][top] - after
            if saving > best_saving:
                best_saving, best_parts = saving, parts
        if best_parts is None:
            groups.append((sorted(members), shared))
        else:
            waiting += reversed(best_parts)
    return groups


def common(paths):
    shared = []
    for steps in zip(*paths, strict=False):
        if len(set(steps)) > 1:
            break
        shared.append(steps[0])
    return tuple(shared)


def split(members, records, attribute, top, level):
    """Children of `top` that are eligible alone, and the others together, with the smallest they need."""
    children = defaultdict(list)
    for each in members:
        path = records[each][0][attribute]
        if len(path) == len(top):
            return [members]
        children[path[len(top)]].append(each)
    ordered = [children[child] for child in sorted(children)]
    alone = [eligible([records[each][1] for each in part], level) for part in ordered]
    while not all(alone) and not eligible(
        [records[e][1] for part, ok in zip(ordered, alone, strict=True) if not ok for e in part], level
    ):
        able = [place for place, ok in enumerate(alone) if ok]
        if not able:
            break
        alone[min(able, key=lambda place: (len(ordered[place]), place))] = False
    parts = [part for part, ok in zip(ordered, alone, strict=True) if ok]
    rest = [each for part, ok in zip(ordered, alone, strict=True) if not ok for each in part]
    return [*parts, rest] if rest else parts


def eligible(values, level):
    return max(Counter(values).values(), default=0) * level <= len(values)
