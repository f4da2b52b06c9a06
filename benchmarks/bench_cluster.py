"""Workers of a cluster beside threads: equality, time, bytes sent, and what a second worker gains.

    python benchmarks/bench_cluster.py                    all kinds of work
    python benchmarks/bench_cluster.py --persons 200000   more of it, so that work takes 30 s

Made hospital data; one and two single-threaded worker processes on this machine beside one and two threads.
Kernels are compiled before. Wall time says what a user waits; on a machine with other work it also says how
much of that there was, so that processor time is measured, too: of this process and of the workers, which
have ended then; what starting them takes is subtracted. Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import sys
import time
import warnings
from contextlib import contextmanager

from ledger import note
from sequester.attacks import attack_tables
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import make
from sequester.engine import LocalEngine
from sequester.engine.address import open_engine
from sequester.errors import SequesterWarning
from sequester.hierarchies import Hierarchy
from sequester.methods import CBLDA, HALT

PERSONS = 30_000
ENGINES = ("1 thread", "2 threads", "1 worker", "2 workers")
LEAST_LEAD, MOST_COST = 1.7, 1.15
"""Two workers beside one where the work takes 30 s, and two workers beside two threads."""
LONG = 30.0
SEED = "a benchmark, and not a secret"


def hospital(persons: int) -> EventTable:
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
    return EventTable(make("hospital", persons=persons, seed=SEED), schema)


@contextmanager
def opened(name: str):
    number, kind = name.split()
    if kind.startswith("thread"):
        yield LocalEngine(threads=int(number))
    else:
        with open_engine(f"local:{number}") as engine:
            # What is loaded and compiled on first use is not measured.
            HALT(k=2, c=1, p=2).apply(hospital(200), seed=SEED, engine=engine)
            CBLDA(k=2, c=1, block=50).apply(hospital(200), seed=SEED, engine=engine)
            yield engine


def processor_seconds() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def works(persons: int):
    """Return each kind of work with its name: a function of an engine that returns what it found."""
    table = hospital(persons)
    release = HALT(k=5, c=0.7, p=2).apply(table, seed=SEED, evaluate=False)

    def cluster(engine):
        method = CBLDA(k=5, c=0.7, block=max(persons // 40, 100))
        return method.apply(table, seed=SEED, engine=engine, evaluate=False).frame.write_csv()

    def attack(engine):
        asked = {"original": table, "model": release.model, "thorough": True, "targets": 300}
        return repr(attack_tables(release.table, **asked, engine=engine))

    def search(engine):
        return HALT(k=5, c=0.7, p=3).apply(table, seed=SEED, engine=engine, evaluate=False).frame.write_csv()

    return {"cblda in 40 blocks": cluster, "all attacks": attack, "halt, p = 3": search}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--persons", type=int, default=PERSONS)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", SequesterWarning)
    is_met = True
    idle = {}
    for each in ENGINES:
        began = processor_seconds()
        with opened(each):
            pass
        idle[each] = processor_seconds() - began
    for name, work in works(asked.persons).items():
        what = f"{asked.persons:,} patients, {name}"
        work(LocalEngine())
        walls, processor, answers, sent = {}, {}, set(), 0
        for each in ENGINES:
            began = processor_seconds()
            with opened(each) as engine:
                before, started = getattr(engine, "sent", 0), time.perf_counter()
                answers.add(hashlib.sha256(work(engine).encode()).hexdigest())
                walls[each] = time.perf_counter() - started
                sent = getattr(engine, "sent", 0) - before
            processor[each] = processor_seconds() - began - idle[each]
        is_met &= note("equality", f"{what}: threads and workers", len(answers) == 1)
        for each in ENGINES:
            note("seconds", f"{what}: {each}", walls[each])
            note("seconds", f"{what}: {each}, processor", processor[each])
        note("memory", f"{what}: sent to 2 workers", sent)
        long = walls["1 worker"] >= LONG and (os.cpu_count() or 1) > 1
        gain = walls["1 worker"] / walls["2 workers"]
        is_met &= note("lead", f"{what}: 2 workers beside 1", gain, bar=LEAST_LEAD if long else None)
        cost = walls["2 workers"] / walls["2 threads"]
        is_met &= note("cost", f"{what}: 2 workers beside 2 threads", cost, bar=MOST_COST if long else None)
        cost = processor["2 workers"] / processor["2 threads"]
        note("cost", f"{what}: 2 workers beside 2 threads, processor", cost)
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
