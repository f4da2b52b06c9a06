"""Workers of a cluster beside threads: equality, time, bytes sent, and what a second worker gains.

    python benchmarks/bench_cluster.py                 all kinds of work
    python benchmarks/bench_cluster.py --scale 0.1     less of it, to see that it runs

Made data; one and two single-threaded worker processes on this machine beside one and two threads, each
started once. Kernels are compiled before. Bars are for work of at least 30 s with one worker; most methods
take less than that for a million persons, and are here for equality and bytes. Wall time says what a user
waits; on a machine with other work it also says how much of that there was, so that processor time is
measured, too: of this process and of the workers. Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

from ledger import note
from sequester.attacks import attack_tables
from sequester.data.schema import Schema, Symbol
from sequester.data.table import EventTable
from sequester.datasets import activities, make
from sequester.engine import LocalEngine
from sequester.engine.address import open_engine
from sequester.errors import SequesterWarning
from sequester.hierarchies import Hierarchy
from sequester.methods import CBLDA, HALT, PH, BFP2kA, TopDown
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


def clicks(persons: float) -> EventTable:
    frame = make("clicks", persons=int(persons), seed=SEED)
    return EventTable(frame, Schema(person="user", time="at", symbol="page"))


def logs(persons: float) -> EventTable:
    frame = activities.make(persons=max(int(persons), 4), seed=SEED)
    symbol = Symbol("activity", hierarchy=activities.taxonomy())
    return EventTable(frame, Schema(person="user", time="at", symbol=symbol))


@contextmanager
def opened(name: str):
    """Open an engine, with a function that returns the processor seconds of all its processes so far."""
    number, kind = name.split()
    if kind.startswith("thread"):
        yield LocalEngine(threads=int(number)), time.process_time
        return
    with open_engine(f"local:{number}") as engine:
        client = engine._client  # noqa: SLF001  (workers are asked for their processor time)

        def processor() -> float:
            return time.process_time() + sum(client.run(time.process_time).values())

        yield engine, processor


def works(scale: float, folder: Path):
    """Return each kind of work with its name: a function of an engine that returns what it found."""
    large, middle, visits = hospital(160_000 * scale), hospital(90_000 * scale), clicks(300_000 * scale)
    days, secret = logs(1_000 * scale), [list(each) for each in activities.SENSITIVE]
    pages = visits.labels["page"]
    release = HALT(k=5, c=0.7, p=2).apply(middle, seed=SEED, evaluate=False)
    written = write(release, folder / "out")

    def released(method, table):
        return lambda engine: method.apply(table, seed=SEED, engine=engine, evaluate=False).frame.write_csv()

    def attacked(engine):
        asked = {"original": middle, "model": release.model, "thorough": True, "targets": 300}
        return repr(attack_tables(release.table, **asked, engine=engine))

    def verified(engine):
        return repr(verify(written, engine=engine).to_json())

    block = max(int(20_000 * scale), 100)
    hidden = PH(patterns=[pages[:2], pages[2:4]], min_support=max(int(300 * scale), 2))
    return {
        f"cblda, {large.n_persons:,} patients in blocks of {block:,}": released(
            CBLDA(k=5, c=0.7, block=block), large
        ),
        f"all attacks, {middle.n_persons:,} patients": attacked,
        f"halt, p = 2, {large.n_persons:,} patients": released(HALT(k=5, c=0.7, p=2), large),
        f"halt, p = 3, {middle.n_persons:,} patients": released(HALT(k=5, c=0.7, p=3), middle),
        f"p2ka, {visits.n_persons:,} clickstreams": released(BFP2kA(k=5), visits),
        f"ph, {visits.n_persons:,} clickstreams": released(hidden, visits),
        f"top-down, {days.n_events:,} activities": released(
            TopDown(patterns=secret, window=5, max_leakage=0.5), days
        ),
        f"verify, {middle.n_persons:,} patients": verified,
    }


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=float, default=1.0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", SequesterWarning)
    walls, processor, answers, sent = {}, {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        small, kinds = works(0.003, Path(folder) / "small"), works(asked.scale, Path(folder) / "large")
        for each in ENGINES:
            with opened(each) as (engine, processor_seconds):
                # What is loaded and compiled on first use is not measured.
                for work in small.values():
                    work(engine)
                for name, work in kinds.items():
                    bytes_before, before = getattr(engine, "sent", 0), processor_seconds()
                    started = time.perf_counter()
                    answer = work(engine)
                    walls[name, each] = time.perf_counter() - started
                    processor[name, each] = processor_seconds() - before
                    sent[name, each] = getattr(engine, "sent", 0) - bytes_before
                    answers.setdefault(name, set()).add(hashlib.sha256(answer.encode()).hexdigest())
    is_met = True
    for name in kinds:
        is_met &= note("equality", f"{name}: threads and workers", len(answers[name]) == 1)
        for each in ENGINES:
            note("seconds", f"{name}: {each}", walls[name, each])
            note("seconds", f"{name}: {each}, processor", processor[name, each])
        note("memory", f"{name}: sent to 2 workers", sent[name, "2 workers"])
        long = walls[name, "1 worker"] >= LONG and (os.cpu_count() or 1) > 1
        gain = walls[name, "1 worker"] / walls[name, "2 workers"]
        is_met &= note("lead", f"{name}: 2 workers beside 1", gain, bar=LEAST_LEAD if long else None)
        cost = walls[name, "2 workers"] / walls[name, "2 threads"]
        is_met &= note("cost", f"{name}: 2 workers beside 2 threads", cost, bar=MOST_COST if long else None)
        cost = processor[name, "2 workers"] / max(processor[name, "2 threads"], 1e-3)
        note("cost", f"{name}: 2 workers beside 2 threads, processor", cost)
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
