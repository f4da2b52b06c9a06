"""Measures of utility: equality with their definitions, then time of each, peak memory and growth.

    python benchmarks/bench_utility.py                               all parts
    python benchmarks/bench_utility.py oracle visits --events 50000  some of them, on less

Parts: oracle (small tables, against the definitions in tests/oracles), visits (four quasi-identifiers and a
sensitive attribute), clicks (symbols as such) and taxonomy (symbols made coarser). Releases are made up here:
values one level up, every tenth person left out, every seventh event deleted. Exits 1 where answers differ or
a bar is missed.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from ledger import growth, note
from sequester.data.schema import Schema, Symbol
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.data.text import Codebook
from sequester.datasets import hospital
from sequester.datasets.public import areas
from sequester.hierarchies import Hierarchy
from sequester.privacy import KCPPrivacy, MutualInformationPrivacy, SequenceKAnonymity
from sequester.testing import symbol_table
from sequester.utility import kl_values, transitions
from sequester.utility.edits import expected_edits
from sequester.utility.generalization import loss_metric
from sequester.utility.register import applicable, measure_all
from sequester.utility.score import ReleasePair

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from oracles import utility as definitions

LONGEST = 5.0
"""Seconds of one measure for a million events."""
LONGEST_ALL = 10.0
"""Seconds of all of them together."""
LARGEST_MEMORY = 3e9
STEEPEST = 1.3
TREE = {"a": "x", "b": "x", "c": "*", "x": "*"}
QUASI = {
    "AdmYr": Hierarchy.flat(),
    "ZIP": Hierarchy.mask([3, 1]),
    "DSFC": Hierarchy.intervals([7, 28, 84], origin=0),
    "LOS": Hierarchy.intervals([7, 28], origin=0),
}


def visits(n_events: int) -> ReleasePair:
    """Return hospital visits, each value one level up."""
    frame = hospital.make(persons=max(int(n_events / 2.5), 10), mean_events=2.5)
    sensitive = {"Disease": list(hospital.PROTECTED)}
    table = EventTable(frame, Schema(person="PID", order="VID", quasi=QUASI, sensitive=sensitive))
    source = table.sequences
    columns, books = dict(source.columns), dict(source.codebooks)
    for name in table.schema.quasi:
        columns[name], books[name] = one_up(source.columns[name], books[name], table.hierarchies[name])
    model = KCPPrivacy(k=5, c=0.7, p=2)
    released = leave_out(Sequences(source.person_offsets, columns, books), every_event=0)
    return ReleasePair(released=released, original=table, model=model, information_loss=0.3)


def one_up(codes: np.ndarray, book: Codebook, tree: Hierarchy) -> tuple[np.ndarray, Codebook]:
    labels = [tree.generalize(label, 1) for label in book.labels]
    coarse = Codebook.of(labels)
    return coarse.encode(labels)[codes], coarse


def leave_out(sequences: Sequences, *, every_event: int) -> Sequences:
    """Drop every tenth person, and of the others every so many events."""
    persons = np.arange(sequences.n_persons)
    owner = np.repeat(persons, np.diff(sequences.person_offsets))
    kept = owner % 10 > 0
    if every_event:
        kept &= np.arange(sequences.n_events) % every_event > 0
    lengths = np.bincount(owner[kept], minlength=sequences.n_persons)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return replace(
        sequences,
        person_offsets=offsets,
        columns={name: codes[kept] for name, codes in sequences.columns.items()},
    )


def pages(n_events: int, *, n_labels: int, mean_events: float, hierarchy: Hierarchy | None) -> EventTable:
    """Return symbols by rank, runs of the same person one after the other."""
    chance = np.random.default_rng(0)
    n_persons = max(int(n_events / mean_events), 2)
    lengths = 1 + chance.poisson(mean_events - 1, n_persons)
    weights = 1 / np.arange(1, n_labels + 1)
    codes = chance.choice(n_labels, lengths.sum(), p=weights / weights.sum()) + 1
    frame = pl.DataFrame({"who": np.repeat(np.arange(n_persons), lengths), "page": codes})
    frame = frame.with_columns(pl.col("page").cast(pl.String), n=pl.int_range(pl.len()))
    return EventTable(frame, Schema(person="who", order="n", symbol=Symbol("page", hierarchy)))


def clicks(n_events: int) -> ReleasePair:
    """Return pages of 2,000 kinds, some deleted."""
    table = pages(n_events, n_labels=2000, mean_events=6, hierarchy=None)
    released = leave_out(table.sequences, every_event=7)
    return ReleasePair(released=released, original=table, model=SequenceKAnonymity(k=5), information_loss=0.3)


def taxonomy(n_events: int) -> ReleasePair:
    """Return long logs of 69 areas, each released one level up."""
    table = pages(n_events, n_labels=69, mean_events=1000, hierarchy=areas(69))
    source, tree = table.sequences, table.hierarchies["page"]
    codes, book = one_up(source.columns["page"], source.codebooks["page"], tree)
    model = MutualInformationPrivacy(sensitive=frozenset({("1", "2")}), window=10, max_leakage_bits=1)
    released = Sequences(source.person_offsets, {"page": codes}, {"page": book})
    return ReleasePair(released=released, original=table, model=model, information_loss=0.3)


KINDS = {"visits": visits, "clicks": clicks, "taxonomy": taxonomy}


def oracle(n_cases: int = 200) -> bool:
    """Compare random rows of three letters, some of them coarse, with the definitions."""
    chance = np.random.default_rng(1)
    tree = Hierarchy.from_edges(list(TREE.items()))
    same = {"loss_metric": True, "kl_values": True, "transitions": True, "edits": True}
    for _ in range(n_cases):
        before = ["".join(chance.choice(list("abc"), chance.integers(1, 6))) for _ in range(4)]
        after = [
            [chance.choice(["*", "x", letter] if letter != "c" else ["*", "c"]) for letter in row]
            for row in before
        ]
        told = [(1, TREE, [list(row) for row in before], after)]
        original, released = symbol_table(before, hierarchy=tree), Sequences.from_rows(after)
        pair = {"released": released, "original": original}
        scores = transitions(**pair)
        distance, accuracy = definitions.transitions(told, tree.labels)
        costs = sum(definitions.edits(told, person) for person in range(len(before))) / len(before)
        for name, ours, theirs in (
            ("loss_metric", loss_metric(**pair).value, definitions.loss_metric(told)),
            ("kl_values", kl_values(**pair).value, definitions.value_divergence(told)),
            ("transitions", scores["transition_distance"].value, distance),
            ("transitions", scores["next_event_accuracy"].value, accuracy),
            ("edits", expected_edits(**pair).value, costs),
        ):
            same[name] &= abs(ours - float(theirs)) < 1e-9
    met = [note("equality", f"{name}, {n_cases} random tables", is_same) for name, is_same in same.items()]
    return all(met)


def timed(kind: str, n_events: int) -> bool:
    """Time each measure, all of them, and three sizes."""
    measure_all(KINDS[kind](2000))
    met, sizes, seconds = True, [], []
    for size in (n_events // 16, n_events // 4, n_events):
        pair = KINDS[kind](size)
        start = time.perf_counter()
        measure_all(pair)
        sizes.append(pair.original.n_events)
        seconds.append(time.perf_counter() - start)
    for each in applicable(pair):
        view = pair if each.most_events is None else pair.sampled(each.most_events)
        start = time.perf_counter()
        each.run(view)
        took = time.perf_counter() - start
        shown = f"{kind}, {view.original.n_events:,} events looked at: {', '.join(each.names)}"
        met &= note("seconds", shown, took, bar=LONGEST)
    met &= note("seconds", f"{kind}, {sizes[-1]:,} events: all measures", seconds[-1], bar=LONGEST_ALL)
    met &= note(
        "growth", f"{kind}, {sizes[0]:,} to {sizes[-1]:,} events", growth(sizes, seconds), bar=STEEPEST
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return (
        note("memory", f"{kind}, {sizes[-1]:,} events, the table included", peak, bar=LARGEST_MEMORY) and met
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = ["oracle", *KINDS]
    parser.add_argument("parts", nargs="*", default=known)
    parser.add_argument("--events", type=int, default=1_000_000, help="events of the largest table")
    arguments = parser.parse_args()
    if unknown := [part for part in arguments.parts if part not in known]:
        parser.error(f"unknown part {unknown[0]!r}: there are {', '.join(known)}")
    met = True
    for part in arguments.parts:
        print(f"\n{part}")
        met &= oracle() if part == "oracle" else timed(part, arguments.events)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
