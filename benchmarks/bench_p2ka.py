"""BF-P2kA: equality with its slow twin, then time beside its goals and beside rapidfuzz, then peak memory.

    python benchmarks/bench_p2ka.py                     all parts
    python benchmarks/bench_p2ka.py closest growth      some: optimum, compile, twin, closest, growth, msnbc
    python benchmarks/bench_p2ka.py truthful            what truthful reconstruction keeps on public data

Compilation is timed apart, in a cache folder of its own. Exits 1 where answers differ or a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np

from ledger import growth as power
from ledger import note
from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.data.text import Codebook
from sequester.datasets import clicks
from sequester.datasets.public import load
from sequester.engine import LocalEngine
from sequester.errors import SequesterWarning, UnattainableError
from sequester.io import read_frame
from sequester.methods import BFP2kA
from sequester.methods.p2ka.algorithm import PrefixTree, Reconstructor
from sequester.report import page
from sequester.testing import symbol_table
from sequester.verification.verify import verify
from sequester.workflow.write import write

ROOT = Path(__file__).parents[1]
LEAST_LEAD = 1.5
"""Times rapidfuzz."""
LONGEST_SECONDS, LARGEST_MEMORY = 45.0, 2e9
N_REGIONS, MEAN_LENGTH, K_TRIPS, N_TRIPS, K_MSNBC = 113, 8, 5, 80_000, 50
ROUNDS = 5
SETS = (
    ("spmf-sign", None, 5),
    ("spmf-sign", None, 20),
    ("spmf-bike", None, 10),
    ("spmf-msnbc", None, 20),
    ("spmf-msnbc", None, 50),
    ("msnbc", 40_000, 50),
)
"""Data on which both reconstructions are compared: its name, how many persons of it, and k."""


def trips(n_trips: int, *, seed: int = 7) -> Sequences:
    """Return random walks between regions in the plane; near and popular regions are more likely."""
    draw = np.random.default_rng(seed)
    places = draw.random((N_REGIONS, 2))
    popular = draw.zipf(1.6, N_REGIONS).clip(1, 200).astype(float)
    distance = np.linalg.norm(places[:, None] - places[None], axis=2)
    chance = popular[None] * np.exp(-distance / 0.08)
    np.fill_diagonal(chance, 0)
    steps = np.cumsum(chance / chance.sum(axis=1, keepdims=True), axis=1)
    lengths = 1 + draw.poisson(MEAN_LENGTH - 1, n_trips)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    items = np.empty(offsets[-1], np.int32)
    here = np.searchsorted(np.cumsum(popular / popular.sum()), draw.random(n_trips)).clip(max=N_REGIONS - 1)
    for step in range(int(lengths.max())):
        going = np.flatnonzero(lengths > step)
        if step:
            chances = draw.random((len(going), 1))
            here[going] = (steps[here[going]] < chances).sum(axis=1).clip(max=N_REGIONS - 1)
        items[offsets[going] + step] = here[going]
    book = Codebook(tuple(f"{region:03d}" for region in range(N_REGIONS)))
    return Sequences(offsets, {"symbol": items}, {"symbol": book})


def reconstructor(sequences: Sequences, *, strict: bool = True, reattach: bool = True) -> Reconstructor:
    return Reconstructor(
        distinct=sequences.distinct(),
        strict=strict,
        reattach=reattach,
        engine=LocalEngine(),
    )


def texts(items: np.ndarray, offsets: np.ndarray) -> list[str]:
    """Return one character per item, the form that rapidfuzz reads fastest."""
    text = (items + 33).astype("<u4").tobytes().decode("utf-32-le")
    return [text[a:b] for a, b in pairwise(offsets.tolist())]


def compile_time() -> bool:
    """Measure what the first call of a fresh installation costs beyond the second."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "first-call"]
        return (
            subprocess.run(command, check=False, env={**os.environ, "NUMBA_CACHE_DIR": folder}).returncode
            == 0
        )


def first_call() -> bool:
    sequences = trips(200)
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        reconstructor(sequences).run(2)
        seconds.append(time.perf_counter() - start)
    return note("seconds", "kernels of p2ka compile, once", seconds[0] - seconds[1])


def twin() -> bool:
    """Compare the release with that of the slow definition, person by person."""
    sys.path.insert(0, str(ROOT / "tests"))
    from oracles import p2ka as oracles

    sequences = trips(400)
    rows = sequences.to_rows()
    book = sequences.codebooks["symbol"]
    for how in ({"strict": True}, {"strict": False}, {"reattach": False}):
        one = reconstructor(sequences, **how)
        start = time.perf_counter()
        after = one.run(3)
        seconds = time.perf_counter() - start
        items, offsets = after.tree.paths()
        out = [
            tuple(book.decode(items[offsets[node] : offsets[node + 1]]))
            for node in after.targets[one.distinct.row_of_person]
        ]
        start = time.perf_counter()
        same = out == oracles.release(rows, 3, **how)
        slow = time.perf_counter() - start
        if not note("equality", f"400 trips, k = 3, {how}: the slow twin's release", same):
            return False
        note("lead", f"400 trips, k = 3, {how}: beside the slow twin", slow / seconds)
    return True


def closest() -> bool:
    """Compare the closest-LCS step with rapidfuzz's batched cdist over leaves, same threads, alternated."""
    from rapidfuzz.distance import LCSseq
    from rapidfuzz.process import cdist, cpdist

    one = reconstructor(trips(N_TRIPS))
    distinct, engine = one.distinct, LocalEngine()
    tree, deepest = PrefixTree.grow(distinct, K_TRIPS)
    cut = np.flatnonzero(tree.depths[deepest] < distinct.lengths)
    rows = texts(distinct.items, distinct.offsets)
    queries = [rows[row] for row in cut]
    paths = texts(*tree.paths())
    leaves = [paths[node] for node in np.flatnonzero(tree.heights == 0)]
    print(
        f"{N_TRIPS:,} trips over {N_REGIONS} regions, {distinct.n_rows:,} distinct, k = {K_TRIPS}: "
        f"{len(cut):,} cut, {tree.n_nodes - 1:,} kept nodes, {len(leaves):,} leaves, "
        f"{engine.n_threads} threads"
    )
    ours_best = theirs_best = theirs_max_best = np.inf
    for _ in range(ROUNDS):
        start = time.perf_counter()
        nodes = tree.closest(distinct, cut, deepest[cut], engine=engine)
        ours_best = min(ours_best, time.perf_counter() - start)
        matrix_seconds = max_seconds = 0.0
        longest = []
        for first in range(0, len(queries), 4000):
            start = time.perf_counter()
            matrix = cdist(
                queries[first : first + 4000],
                leaves,
                scorer=LCSseq.similarity,
                dtype=np.uint8,
                workers=engine.n_threads,
            )
            matrix_seconds += time.perf_counter() - start
            longest.append(matrix.max(axis=1))
            max_seconds += time.perf_counter() - start
        theirs_best, theirs_max_best = min(theirs_best, matrix_seconds), min(theirs_max_best, max_seconds)
    lead = theirs_best / ours_best
    print(
        f"closest paths: ours {ours_best:.3f} s; rapidfuzz {theirs_best:.3f} s for the matrix alone, "
        f"{theirs_max_best:.3f} s with its row maxima (best of {ROUNDS}, alternated)"
    )
    found = cpdist(queries, [paths[node] for node in nodes], scorer=LCSseq.similarity, dtype=np.uint8)
    same = bool(np.array_equal(found, np.concatenate(longest)))
    # Which node, and not only how long: rapidfuzz over all paths of a sample, ties broken as specified.
    sample = np.random.default_rng(1).choice(len(cut), 1000, replace=False)
    matrix = cdist([queries[i] for i in sample], paths, scorer=LCSseq.similarity, dtype=np.int64, workers=-1)
    keys = (matrix << 32) - tree.depths
    same_node = bool(np.array_equal(keys.argmax(axis=1), nodes[sample]))
    fine = note("equality", f"{len(cut):,} closest paths: rapidfuzz's lengths", same)
    fine &= note("equality", f"{len(sample):,} closest paths: rapidfuzz's nodes", same_node)
    return note("lead", "closest paths: beside rapidfuzz's cdist", lead, bar=LEAST_LEAD) and fine


def growth() -> bool:
    """Measure the whole fixpoint on three sizes of trips, and how its time grows."""
    before = None
    sizes, times = (20_000, 80_000, 320_000), []
    for n_trips in sizes:
        sequences = trips(n_trips)
        best = np.inf
        for _ in range(2):
            start = time.perf_counter()
            one = reconstructor(sequences)
            after = one.run(K_TRIPS)
            best = min(best, time.perf_counter() - start)
        tree, deepest = PrefixTree.grow(one.distinct, K_TRIPS)
        pairs = int((tree.depths[deepest] < one.distinct.lengths).sum()) * (tree.n_nodes - 1)
        more = (
            ""
            if before is None
            else f"; {pairs / before[1]:.1f} x the pairs, {best / before[0]:.1f} x the time"
        )
        print(
            f"{n_trips:,} trips, k = {K_TRIPS}, strict: {best:.2f} s, {after.n_rounds} rounds, "
            f"{pairs:.2e} pairs of cut sequence and node{more}"
        )
        before = best, pairs
        times.append(best)
    note("seconds", f"{sizes[-1]:,} trips, k = {K_TRIPS}", times[-1])
    return note("growth", f"{sizes[0]:,} to {sizes[-1]:,} trips", power(sizes, times))


def msnbc(data: Path) -> bool:
    """Measure read, protect and verify on all of MSNBC, in its own process, so that the peak is its own."""
    command = [sys.executable, __file__, "msnbc-alone", "--data", str(data)]
    return subprocess.run(command, check=False).returncode == 0


def msnbc_alone(data: Path) -> bool:
    path = data / "msnbc" / "msnbc990928.seq.gz"
    start = time.perf_counter()
    if path.exists():
        source, schema = read_frame(path), Schema(person="person", order="order", symbol="symbol")
    else:
        print("MSNBC is not here; clicks of the same shape instead")
        source, schema = clicks.make(persons=989_818), Schema(person="user", time="at", symbol="page")
    read_seconds = time.perf_counter() - start
    seed = "the same sentence for every run"

    def road(table: EventTable, out: Path) -> tuple[float, float, float]:
        start = time.perf_counter()
        release = BFP2kA(k=K_MSNBC).apply(table, seed=seed)
        applied = time.perf_counter()
        written = write(release, out, original=table, report=page)
        protected = time.perf_counter()
        assert verify(written)
        return applied - start, protected - applied, time.perf_counter() - protected

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        start = time.perf_counter()
        road(EventTable(source[:50_000], schema), Path(folder) / "first")
        print(
            f"first run, on 50,000 events, with compilation or loading: {time.perf_counter() - start:.1f} s"
        )
        start = time.perf_counter()
        table = EventTable(source, schema)
        taken = time.perf_counter() - start
        apply_seconds, write_seconds, verify_seconds = road(table, Path(folder) / "all")
    total = apply_seconds + write_seconds + verify_seconds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        f"{table.n_persons:,} persons, {table.n_events:,} events, k = {K_MSNBC}, strict: "
        f"read {read_seconds:.1f} s, check and sort {taken:.1f} s, protect {apply_seconds:.1f} s, "
        f"write {write_seconds:.1f} s, verify {verify_seconds:.1f} s"
    )
    whole = f"{table.n_persons:,} persons, k = {K_MSNBC}: protect, write and verify"
    fine = note("seconds", whole, total, bar=LONGEST_SECONDS)
    return note("memory", whole, peak, bar=LARGEST_MEMORY) and fine


def truthful(data: Path) -> bool:
    """Note what both reconstructions lose, and that the truthful one invents nothing."""
    kept = True
    for name, persons, k in SETS:
        frame = load(name, data)
        if persons is not None:
            frame = frame.filter(frame["person"].rle_id() < persons)
        table = EventTable(frame, Schema(person="person", order="order", symbol="symbol"))
        for how in ("closest", "truthful"):
            start = time.process_time()
            release = BFP2kA(k=k, reconstruction=how).apply(table)
            what = f"{name}, {table.n_persons:,} persons, k = {k}, {how}"
            note("seconds", what, time.process_time() - start)
            note("loss", what, release.utility["information_loss"].value)
            if how == "truthful":
                kept &= note("equality", f"{what}: no invented item", release.n_invented_items == 0)
    return kept


def optimum(n_cases: int = 200) -> bool:
    """Compare losses on small tables with the least of any release that keeps the promise."""
    sys.path.insert(0, str(ROOT / "tests"))
    from oracles import p2ka as oracle

    draw = np.random.default_rng(4)
    losses: dict[str, list[float]] = {"closest": [], "truthful": [], "optimum": []}
    while len(losses["optimum"]) < n_cases:
        rows = ["".join(draw.choice([*"abc"], draw.integers(1, 5))) for _ in range(draw.integers(4, 7))]
        k = int(draw.integers(2, 4))
        best = oracle.most_kept(rows, k)
        if not best:
            continue
        total = sum(map(len, rows))
        found = {"optimum": 1 - best / total}
        for how in ("closest", "truthful"):
            try:
                release = BFP2kA(k=k, reconstruction=how).apply(symbol_table(rows))
                found[how] = release.utility["information_loss"].value
            except UnattainableError:
                found[how] = 1.0
        for name, loss in found.items():
            losses[name].append(loss)
    for name, each in losses.items():
        note("loss", f"{n_cases} small tables, {name}", float(np.mean(each)))
    worst = np.minimum(losses["closest"], losses["truthful"]) - losses["optimum"]
    return note(
        "equality", f"{n_cases} small tables: nothing loses less than the optimum", bool(worst.min() > -1e-9)
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", default=["optimum", "compile", "twin", "closest", "growth", "msnbc"]
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("SEQUESTER_DATA", ROOT.parent / "shared" / "data")),
        help="the folder of public data sets (default: ../shared/data)",
    )
    arguments = parser.parse_args()
    if arguments.parts == ["msnbc-alone"]:
        return 0 if msnbc_alone(arguments.data) else 1
    if arguments.parts == ["first-call"]:
        return 0 if first_call() else 1
    reconstructor(trips(200)).run(2)
    known = {
        "optimum": optimum,
        "compile": compile_time,
        "twin": twin,
        "closest": closest,
        "growth": growth,
        "msnbc": lambda: msnbc(arguments.data),
        "truthful": lambda: truthful(arguments.data),
    }
    if unknown := [part for part in arguments.parts if part not in known]:
        parser.error(f"unknown part {unknown[0]!r}: there are {', '.join(known)}")
    missed = []
    for part in arguments.parts:
        print(f"\n{part}")
        if not known[part]():
            missed.append(part)
    print(f"\nmissed: {', '.join(missed) or 'nothing'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
