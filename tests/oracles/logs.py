"""Event logs and sequences in files, word for word."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from xml.etree import ElementTree


def read_spmf(text):
    """Persons, places of itemsets and symbols of an SPMF file; None where it is none."""
    names = {}
    rows = []
    person = 0
    for line in text.split("\n"):
        words = line.split()
        if line.strip().startswith("@ITEM="):
            _, number, name = line.strip("\r").split("=", 2)
            names[int(number)] = name
        if not words or words[0][0] in "#%@":
            continue
        numbers = [int(word) for word in words if re.fullmatch(r"-[12]|\d+", word)]
        if len(numbers) < len(words) or max(numbers) > 2**31 - 1:
            return None
        itemsets = [[]]
        for number in numbers[:-1]:
            if number == -2 or (number == -1 and not itemsets[-1]):
                return None
            if number == -1:
                itemsets.append([])
            else:
                itemsets[-1].append(number)
        if numbers[-1] != -2 or itemsets[-1] or len(itemsets) == 1:
            return None
        person += 1
        rows += [
            (person, place, names.get(item) or str(item))
            for place, itemset in enumerate(itemsets[:-1], start=1)
            for item in itemset
        ]
    return rows or None


def read_xes(text):
    """One dict per event, with the values of its trace under ``case:``; gaps are left out."""
    events = []
    for trace in ElementTree.fromstring(text):
        if local(trace) != "trace":
            continue
        case = {f"case:{key}": value for key, value in attributes(trace).items()}
        events += [attributes(event) | case for event in trace if local(event) == "event"]
    return [{key: value for key, value in event.items() if value} for event in events]


def attributes(element):
    """The attributes of a trace or event; the first of several of one name counts."""
    found = {}
    for child in element:
        key, value = child.get("key"), child.get("value")
        if local(child) != "event" and key is not None and value is not None and key not in found:
            found[key] = in_utc(value) if local(child) == "date" else value
    return found


def local(element):
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def in_utc(text):
    """A time in UTC, with as many groups of three digits behind the second as it needs."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    spec = (
        "seconds"
        if not time.microsecond
        else "milliseconds"
        if not time.microsecond % 1000
        else "microseconds"
    )
    return time.isoformat(timespec=spec)
