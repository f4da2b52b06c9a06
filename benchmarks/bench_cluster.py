"""Workers of a cluster beside threads: equality, time, bytes sent, and what a second worker gains.

    python benchmarks/bench_cluster.py                      all kinds of work: 15 minutes on 2 idle cores
    python benchmarks/bench_cluster.py cblda verify         some of them, by the beginnings of their names
    python benchmarks/bench_cluster.py --scale 0.1          less of it, to see that it runs

Made data; one and two single-threaded worker processes on this machine beside one and two threads, each
started once. Kernels are compiled before. A kind of work is measured and noted before the next one begins:
what is broken off keeps what it has. Bars are for work of at least 30 s with one worker; the other kinds are
here for equality and bytes. `halt` is here three times. The search for channels alone has the four attributes
of the other rows. With global suppression, one attribute and long histories, nearly all of its time can be
cut into parts: some two fifths are the search, the rest is the check of the promise; this shape was chosen
for that. With local suppression most of the time is the choice of cells, which cannot be cut.

Wall time says what a user waits; on a machine with other work it also says how much of that there was.
So the gain is also worked out of processor time, as if this process and its workers never worked at the same
time: what this process does alone, and the longest of its workers. Efficiency is the gain over the number of
workers. Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
import warnings
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl

from ledger import note
from sequester.attacks import attack_tables
from sequester.data.schema import Schema, Symbol
from sequester.data.table import EventTable
from sequester.datasets import activities, make
from sequester.engine import LocalEngine
from sequester.engine.address import open_engine
from sequester.engine.local import usable_cores
from sequester.errors import SequesterWarning
from sequester.hierarchies import Hierarchy
from sequester.methods import CBLDA, HALT, PH, BFP2kA, BottomUp, TopDown
from sequester.methods.halt import extraction, local_rows
from sequester.methods.halt.histories import QuasiIdentifiers, WeightedRows
from sequester.methods.halt.signature_rows import Thresholds
from sequester.verification.verify import verify
from sequester.workflow.write import write

ENGINES = ("1 thread", "2 threads", "1 worker", "2 workers")
LEAST_LEAD, MOST_COST = 1.7, 1.15
"""Two workers beside one where the work takes 30 s, and two workers beside two threads."""
LONG = 30.0
SEED = "a benchmark, and not a secret"


def hospital(persons: float) -> EventTable:
    schema = Schema(
        person="PID",
        order="VID",
        quasi={
            "AdmYr": Hierarchy.flat(),
            "ZIP": Hierarchy.mask([3, 1]),
            "DSFC": Hierarchy.intervals([7, 28, 84]),
            "LOS": Hierarchy.intervals([7, 28]),
        },
        sensitive={"Disease": ["HIV", "Alcoholism"]},
    )
    return EventTable(make("hospital", persons=int(persons), seed=SEED), schema)


def long_histories(persons: float) -> EventTable:
    """Return persons of some 40 stays each, of which the length is known: sixteen patients are one person."""
    frame = make("hospital", persons=16 * max(int(persons), 20), seed=SEED)
    number = frame["PID"].rank("dense").cast(pl.Int64) - 1
    frame = frame.with_columns(PID=pl.format("p{}", number // 16), VID=pl.int_range(frame.height))
    schema = Schema(
        person="PID",
        order="VID",
        quasi={"LOS": Hierarchy.intervals([7, 28])},
        sensitive={"Disease": ["HIV", "Alcoholism"]},
        drop=["AdmYr", "ZIP", "DSFC"],
    )
    return EventTable(frame, schema)


def journeys(persons: float) -> EventTable:
    """Return clickstreams of 30 pages: ten persons take the same way, three of them with some other pages."""
    persons, draws = max(int(persons), 20), np.random.default_rng(23)
    ways = draws.integers(0, 17, (persons // 10, 30))
    taken = ways[np.arange(persons) % len(ways)]
    is_other = (draws.random(taken.shape) < 0.3) & (draws.random((persons, 1)) < 0.3)
    pages = np.where(is_other, draws.integers(0, 17, taken.shape), taken)
    frame = pl.DataFrame(
        {
            "user": np.repeat(np.arange(persons), 30),
            "at": np.tile(np.arange(30), persons),
            "page": pages.ravel(),
        }
    ).with_columns(user=pl.format("u{}", "user"), page=pl.format("p{}", "page"))
    return EventTable(frame, Schema(person="user", order="at", symbol="page"))


def clicks(persons: float) -> EventTable:
    frame = make("clicks", persons=int(persons), seed=SEED)
    return EventTable(frame, Schema(person="user", time="at", symbol="page"))


def logs(persons: float) -> EventTable:
    frame = activities.make(persons=max(int(persons), 4), seed=SEED)
    symbol = Symbol("activity", hierarchy=activities.taxonomy())
    return EventTable(frame, Schema(person="user", time="at", symbol=symbol))


@contextmanager
def opened(name: str):
    """Open an engine, and a function that returns the processor seconds of its processes, ours first."""
    number, kind = name.split()
    if kind.startswith("thread"):
        yield LocalEngine(threads=int(number)), lambda: [time.process_time()]
        return
    with open_engine(f"local:{number}") as engine:
        client = engine._client  # noqa: SLF001  (workers are asked for their processor time)

        def processor_seconds() -> list[float]:
            return [time.process_time(), *(each for _, each in sorted(client.run(time.process_time).items()))]

        yield engine, processor_seconds


def released(method, table):
    return lambda engine: method.apply(table, seed=SEED, engine=engine, evaluate=False).frame.write_csv()


def searched(table: EventTable, p: int):
    """Search for all minimal channels, at all levels of all attributes."""
    quasi = QuasiIdentifiers.of(table)
    histories, thresholds = WeightedRows.of(table, quasi).fold(), Thresholds(k=5, c=0.7, p=p)

    def search(engine) -> str:
        digest = hashlib.sha256()
        for signature, by_length in extraction.Extraction(histories, quasi, thresholds, engine):
            digest.update(repr(signature).encode())
            for channels in by_length:
                digest.update(channels.items.tobytes() + channels.supports.tobytes())
        return digest.hexdigest()

    return search


def works(scale: float, folder: Path):
    """Yield each kind of work with its name: a function that prepares it, for a function of an engine.

    That one returns what it found.
    """
    many, some = int(200_000 * scale), int(60_000 * scale)
    block = max(int(2_000 * scale), 100)
    yield (
        f"cblda, {many:,} patients in blocks of {block:,}",
        lambda: released(CBLDA(k=5, c=0.7, block=block), hospital(many)),
    )

    def attacks():
        table = hospital(some)
        release = HALT(k=5, c=0.7, p=2).apply(table, seed=SEED, evaluate=False)
        asked = {"original": table, "model": release.model, "thorough": True, "targets": 1_000}
        return lambda engine: repr(attack_tables(release.table, **asked, engine=engine))

    yield f"all attacks, {some:,} patients", attacks

    fewer = int(40_000 * scale)
    yield f"search of halt, p = 4, {fewer:,} patients", lambda: searched(hospital(fewer), 4)

    searching, few = HALT(k=5, c=0.7, p=4, suppression="global"), int(6_000 * scale)
    yield (
        f"halt, global suppression, p = 4, {few:,} persons of 40 stays",
        lambda: released(searching, long_histories(few)),
    )

    more = int(10_000 * scale)

    def verification():
        release = searching.apply(long_histories(more), seed=SEED, evaluate=False)
        written = write(release, folder / "out")
        return lambda engine: repr(verify(written, engine=engine).to_json())

    yield f"verify, p = 4, {more:,} persons of 40 stays", verification
    yield (
        f"halt, local suppression, p = 4, {some // 3:,} patients",
        lambda: released(HALT(k=2, c=0.95, p=4), hospital(some // 3)),
    )
    secret = [list(each) for each in activities.SENSITIVE]
    for method, persons in ((TopDown, 4_000 * scale), (BottomUp, 600 * scale)):
        asked_of = method(patterns=secret, window=5, max_leakage=0.5)
        yield (
            f"{method.name}, activities of {int(persons):,} persons",
            partial(lambda asked_of, persons: released(asked_of, logs(persons)), asked_of, persons),
        )
    travellers = int(110_000 * scale)
    yield f"p2ka, {travellers:,} clickstreams", lambda: released(BFP2kA(k=5), journeys(travellers))
    visitors = int(300_000 * scale)

    def hiding():
        visits = clicks(visitors)
        pages = visits.labels["page"]
        hidden = PH(patterns=[pages[:2], pages[2:4]], min_support=max(int(300 * scale), 2))
        return released(hidden, visits)

    yield f"ph, {visitors:,} clickstreams", hiding


def measure(name: str, work, engines) -> bool:
    """Do one kind of work on every engine, note its figures, and return whether the bars are met."""
    walls, processor, answers, sent = {}, {}, set(), {}
    for each, (engine, processor_seconds) in engines.items():
        bytes_before, before = getattr(engine, "sent", 0), processor_seconds()
        started = time.perf_counter()
        answer = work(engine)
        walls[each] = time.perf_counter() - started
        processor[each] = [now - then for now, then in zip(processor_seconds(), before, strict=True)]
        sent[each] = getattr(engine, "sent", 0) - bytes_before
        answers.add(hashlib.sha256(answer.encode()).hexdigest())
        note("seconds", f"{name}: {each}", walls[each])
        note("seconds", f"{name}: {each}, processor", sum(processor[each]))
    is_met = note("equality", f"{name}: threads and workers", len(answers) == 1)
    note("memory", f"{name}: sent to 2 workers", sent["2 workers"])
    is_long = walls["1 worker"] >= LONG and usable_cores() > 1
    gain = walls["1 worker"] / walls["2 workers"]
    is_met &= note("lead", f"{name}: 2 workers beside 1", gain, bar=LEAST_LEAD if is_long else None)
    ours, *theirs = processor["2 workers"]
    alone = sum(processor["1 worker"]) / max(ours + max(theirs), 1e-3)
    note("lead", f"{name}: 2 workers beside 1, by processor time", alone)
    print(f"{name}: efficiency {gain / 2:.0%}, by processor time {alone / 2:.0%}")
    spent = ", ".join(f"{each:.1f} s" for each in processor["2 workers"])
    print(f"{name}: processor time of this process and of each of 2 workers: {spent}")
    for one, other in (("1 worker", "1 thread"), ("2 workers", "2 threads")):
        cost = walls[one] / walls[other]
        is_met &= note("cost", f"{name}: {one} beside {other}", cost, bar=MOST_COST if is_long else None)
        cost = sum(processor[one]) / max(sum(processor[other]), 1e-3)
        note("cost", f"{name}: {one} beside {other}, processor", cost)
    return is_met


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("names", nargs="*", default=[""], help="beginnings of names")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", SequesterWarning)
    is_met = True
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        engines = {each: stack.enter_context(opened(each)) for each in ENGINES}
        pairs = zip(works(0.003, folder / "small"), works(asked.scale, folder / "large"), strict=True)
        for (_, prepare_small), (name, prepare) in pairs:
            if not name.startswith(tuple(asked.names)):
                continue
            small = prepare_small()
            # What is loaded and compiled on first use is not measured; however little it is, it is sent.
            with (
                patch.object(extraction, "WORTH_SENDING", 0),
                patch.multiple(local_rows, WORTH_SENDING=0, PART=1_000),
            ):
                for engine, _ in engines.values():
                    small(engine)
            is_met &= measure(name, prepare(), engines)
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
