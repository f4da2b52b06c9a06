"""The promises as somebody reads them who has nothing but the sentence and the data: word by word.

Numbers and clauses come from the text of the sentence alone. A sentence that is worded otherwise than is
known here is refused, so that no wording changes without a reading. All shares are compared exactly.

Tables with quasi-identifiers are those of `oracles.kcp`; sequences are texts, one letter an item.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, product

ROOT = "*"
NUMBER = r"[\d,]+"
SHARE = r"(?:[\d.]+%|\d+/\d+)"
KCP = re.compile(
    rf"An adversary who knows (?P<known>one value|up to {NUMBER} values) of a person's quasi-identifiers"
    rf"(?P<aside> \(protected values aside\))?, "
    rf"(?P<order>of one event or of several in order with any events in between, )?"
    rf"(?:each )?as it is released or coarser"
    rf"(?P<same>, those of one quasi-identifier at one level throughout)?"
    rf", matches at least (?P<k>{NUMBER}) persons in the release, or none"
    rf"(?:; and no protected value is shown for more than (?P<share>{SHARE}) of the persons matched"
    rf"|; inference of protected values is not bounded \(c = 1\))?"
    rf"\.(?: A suppressed value \(\*\) "
    rf"(?P<stars>counts as a value where its column shows others|does not count as a value)\.)?"
)
KC = re.compile(
    rf"An adversary who knows anything about a person's quasi-identifiers, even all of them in all events, "
    rf"matches at least (?P<k>{NUMBER}) persons in the release who are alike in all of them, or none"
    rf"(?:; and at most (?P<any>{SHARE}) of those who are alike show one or more protected values"
    rf"|; and no protected value is shown for more than (?P<each>{SHARE}) of those who are alike"
    rf"|; inference of protected values is not bounded \(c = 1\))?\."
)
SEQUENCES = re.compile(
    rf"Every part of a released (?P<record>sequence|trip), in order(?P<gaps> and with any gaps)?, "
    rf"(?:occurs in the released (?P=record)s of at least (?P<k>{NUMBER}) persons, and )?"
    rf"occurred in the original (?P=record)s of at least (?P<original>{NUMBER}) persons"
    rf"(?:; how many released (?P=record)s contain it is not promised)?\."
    rf"(?: Every trip has a pseudonym of its own: the files alone show at least {NUMBER} trips, and that "
    rf"they are those of {NUMBER} persons was checked with the original\.)?"
)
PATTERNS = re.compile(
    rf"Each of the patterns that the publisher hides is contained, in order(?P<gaps> and with any gaps)?, in "
    rf"the released records of fewer than (?:(?P<persons>{NUMBER}) persons|(?P<share>{SHARE}) of the "
    rf"persons, rounded up to whole persons)(?P<own> \(some patterns: than a number of their own\))?\. "
    rf"The patterns are not published\."
    rf"(?P<new> No pattern that was declared implausible is in a record that did not contain it before\.)?"
)
RECORDS = re.compile(
    rf"In every published (?:(?P<group>group, and so in every published )?snapshot), no value of "
    rf"(?P<attribute>.+) belongs to more than (?P<share>{SHARE}) of the records\."
)
LEAKAGE = re.compile(
    rf"The symbols released at some places of a person's sequence, in order and within (?P<window>{NUMBER}) "
    rf"steps, reveal to an adversary who knows how often each secret pattern occurs at most "
    rf"(?:(?P<share>{SHARE}) of what the unchanged symbols would reveal|(?P<bits>[\d.]+) bits) about "
    rf"(?P<which>which secret pattern of that length stood there, if any"
    rf"|whether each secret pattern, taken by itself, stood there) "
    rf"\((?:mutual information|(?P<paper>by the paper's leakage measure, which leaves out what is revealed "
    rf"by places without a secret pattern; the mutual information may be larger)); "
    rf"on average over all such places of that person\)\."
)


def read(form, sentence):
    """The clauses of a sentence."""
    found = form.fullmatch(sentence)
    if found is None:
        msg = f"no reading is known for: {sentence}"
        raise ValueError(msg)
    return found.groupdict()


def number(text):
    return int(text.replace(",", ""))


def share(text):
    """A share exactly as it is written."""
    return Fraction(text.removesuffix("%")) / 100 if text.endswith("%") else Fraction(text)


# (K,C)^P-privacy


def path(tree, label):
    """A label and all above it, the root excluded."""
    return [] if label == ROOT else [label, *path(tree, tree[label])]


def protected_values(table):
    return [(attribute, value) for attribute, values in table.protect.items() for value in values]


def shows(person, attribute, value):
    return any(value in values.get(attribute, ()) for _, values in person)


def knowable(table, clauses, quasi, label):
    """What somebody may know of one cell."""
    if label == ROOT:
        others = any(cells[quasi] != ROOT for person in table.persons for cells, _ in person)
        # Without a word about it, what stands in the cell is a value like any other.
        said = clauses["stars"]
        return [ROOT] if said is None or (said.startswith("counts") and others) else []
    protected = table.protect.get(table.both.get(quasi), ())
    return [each for each in path(table.trees[quasi], label) if not (clauses["aside"] and each in protected)]


def pieces(table, clauses, person):
    """Everything that may be known of a person: tuples of (event, quasi-identifier, label)."""
    most = 1 if clauses["known"] == "one value" else number(clauses["known"].split()[2])
    cells = [
        [(event, quasi, known) for known in knowable(table, clauses, quasi, shown[quasi])]
        for event, (shown, _) in enumerate(person)
        for quasi in table.trees
    ]
    for size in range(most + 1):
        for chosen in combinations(cells, size):
            yield from product(*chosen)


def at_one_level(table, piece):
    depths = defaultdict(set)
    for _, quasi, label in piece:
        if label != ROOT:
            depths[quasi].add(len(path(table.trees[quasi], label)))
    return all(len(each) == 1 for each in depths.values())


def matches(table, piece, person):
    """Whether later events of a person show what is known of later events."""
    known = defaultdict(list)
    for event, quasi, label in piece:
        known[event].append((quasi, label))
    wanted = [known[event] for event in sorted(known)]

    def fits(items, cells):
        return all(
            cells[quasi] == label or label in path(table.trees[quasi], cells[quasi]) for quasi, label in items
        )

    shown = [cells for cells, _ in person]
    return any(
        all(fits(items, cells) for items, cells in zip(wanted, events, strict=True))
        for events in combinations(shown, len(wanted))
    )


def keeps_kcp(sentence, table):
    """Whether a table keeps the sentence of (K,C)^P-privacy."""
    clauses = read(KCP, sentence)
    found = {piece for person in table.persons for piece in pieces(table, clauses, person)}
    for piece in found:
        if clauses["same"] and not at_one_level(table, piece):
            continue
        matched = [person for person in table.persons if matches(table, piece, person)]
        if len(matched) < number(clauses["k"]):
            return False
        if clauses["share"] and any(
            sum(shows(person, *value) for person in matched) > share(clauses["share"]) * len(matched)
            for value in protected_values(table)
        ):
            return False
    return True


# (K,C)-privacy


def keeps_kc(sentence, table):
    """Whether a table keeps the sentence of (K,C)-privacy."""
    clauses = read(KC, sentence)
    alike = defaultdict(list)
    for person in table.persons:
        alike[tuple(tuple(cells[quasi] for quasi in table.trees) for cells, _ in person)].append(person)
    values = protected_values(table)
    for persons in alike.values():
        if len(persons) < number(clauses["k"]):
            return False
        if clauses["any"]:
            at_risk = sum(any(shows(person, *value) for value in values) for person in persons)
            if at_risk > share(clauses["any"]) * len(persons):
                return False
        if clauses["each"] and any(
            sum(shows(person, *value) for person in persons) > share(clauses["each"]) * len(persons)
            for value in values
        ):
            return False
    return True


# sequences


def parts(record, *, gaps=True):
    """All parts of a record, as texts; without gaps only those that follow each other directly."""
    if gaps:
        return {"".join(each) for size in range(1, len(record) + 1) for each in combinations(record, size)}
    return {record[i:j] for i in range(len(record)) for j in range(i + 1, len(record) + 1)}


def holders(part, owned, *, gaps=True):
    """The persons who have a part; `owned` are pairs of a person and a record."""
    return {person for person, record in owned if part in parts(record, gaps=gaps)}


def keeps_sequences(sentence, released, original):
    """Whether a release keeps the sentence of sequence k-anonymity; both sides are (person, record)."""
    clauses = read(SEQUENCES, sentence)
    gaps = bool(clauses["gaps"])
    for part in {part for _, record in released for part in parts(record, gaps=gaps)}:
        if clauses["k"] and len(holders(part, released, gaps=gaps)) < number(clauses["k"]):
            return False
        if len(holders(part, original, gaps=gaps)) < number(clauses["original"]):
            return False
    return True


def keeps_patterns(sentence, released, original, *, patterns, own, implausible):
    """Whether records of persons keep the sentence of pattern hiding.

    `own` leads from patterns to another number (or share) that was set for them.
    """
    clauses = read(PATTERNS, sentence)
    if own and not clauses["own"]:
        own = {}

    def most(pattern):
        if pattern in own:
            value = own[pattern]
            return math.ceil(Fraction(str(value)) * len(original)) if isinstance(value, float) else value
        if clauses["persons"]:
            return number(clauses["persons"])
        return math.ceil(share(clauses["share"]) * len(original))

    gaps = bool(clauses["gaps"])
    owned = list(enumerate(released))
    if any(len(holders(pattern, owned, gaps=gaps)) >= most(pattern) for pattern in patterns):
        return False
    return not clauses["new"] or not any(
        pattern in parts(after) and pattern not in parts(before)
        for pattern in implausible
        for before, after in zip(original, released, strict=True)
    )


# snapshots


def keeps_records(sentence, rows):
    """Whether records (snapshot, group, value) keep the sentence of l-eligibility or l-diversity."""
    clauses = read(RECORDS, sentence)
    places = defaultdict(list)
    for snapshot, group, value in rows:
        places[snapshot].append(value)
        if clauses["group"]:
            places[snapshot, group].append(value)
    return all(
        count <= share(clauses["share"]) * len(values)
        for values in places.values()
        for count in Counter(values).values()
    )


# Mutual information privacy


def revealed(pairs, *, without=()):
    """Bits that what is seen reveals about what stood there, over equally likely places."""
    total, joint = len(pairs), Counter(pairs)
    stood, seen = Counter(one for one, _ in pairs), Counter(other for _, other in pairs)
    return sum(
        count / total * math.log2(count * total / (stood[one] * seen[other]))
        for (one, other), count in joint.items()
        if one not in without
    )


def keeps_leakage(sentence, released, original, *, patterns):
    """Whether no person's symbols reveal more than the sentence allows; a released symbol is a letter."""
    clauses = read(LEAKAGE, sentence)
    together = clauses["which"].startswith("which")
    questions = [patterns] if together else [{each} for each in patterns]
    for before, after in zip(original, released, strict=True):
        for asked, length in product(questions, {len(each) for each in patterns}):
            secret = {each for each in asked if len(each) == length}
            places = [
                each
                for each in combinations(range(len(before)), length)
                if each[-1] - each[0] <= number(clauses["window"])
            ]
            stood = ["".join(before[place] for place in each) for each in places]
            outcomes = [each if each in secret else None for each in stood]
            now, unchanged = (
                revealed(
                    [
                        (outcome, tuple(row[place] for place in each))
                        for outcome, each in zip(outcomes, places, strict=True)
                    ],
                    without={None} if clauses["paper"] else (),
                )
                for row in (after, before)
            )
            bits = unchanged * float(share(clauses["share"])) if clauses["share"] else float(clauses["bits"])
            if now > bits + 1e-9 * unchanged:
                return False
    return True
