"""Mining: equality with its slow twin, then time beside prefixspan, seq2pat and SPMF, then peak memory.

    python benchmarks/bench_mining.py                              all parts: compile, twin, peers, growth
    python benchmarks/bench_mining.py peers --sets bms bike        some of them, on some data
    python benchmarks/bench_mining.py peers --spmf-jar spmf.jar    SPMF's PrefixSpan too (needs a JDK)

Everybody runs in a process of their own that has read the data, takes turns with the others, and counts with
their best turn; the first turn warms up. Ours folds equal sequences within its time. Compilation is timed
apart. A peer that has not answered within a limit of time is stopped, and no lead is claimed; one that
is nowhere (see peers.py) is named and left out. Exits 1 where pattern sets differ or a bar is missed.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from ledger import growth as power
from ledger import note
from peers import PEERS as KNOWN
from peers import interpreter_of

ROOT = Path(__file__).parents[1]
# File, minimum support, and how many times faster than prefixspan and seq2pat, and than SPMF, at least.
SETS = {
    "msnbc": ("msnbc/msnbc990928.seq.gz", 4949, 20.0, 5.0),
    "bms": ("spmf/BMSWebView1.txt.gz", 59, 20.0, 4.0),
    "sign": ("spmf/SIGN.txt.gz", 146, 0.0, 0.0),
    "bike": ("spmf/BIKE.txt.gz", 105, 0.0, 0.0),
    "leviathan": ("spmf/LEVIATHAN.txt.gz", 292, 0.0, 0.0),
}
LARGEST_MEMORY = 0.5e9
PEERS = ("prefixspan", "seq2pat")
DRIVER = """
import ca.pfv.spmf.algorithms.sequentialpatterns.prefixspan.AlgoPrefixSpan;
import java.util.Scanner;

public class Driver {
    public static void main(String[] given) throws Exception {
        Scanner turns = new Scanner(System.in);
        while (turns.hasNextLine()) {
            turns.nextLine();
            long start = System.nanoTime();
            new AlgoPrefixSpan().runAlgorithm(given[0], given[1], Integer.parseInt(given[2]));
            System.out.println("{\\"seconds\\": " + (System.nanoTime() - start) / 1e9 + "}");
        }
    }
}
"""


def read_rows(path: Path) -> list[list[int]]:
    """Read the sequences of a file as numbers, without anything of ours."""
    with gzip.open(path, "rt") as file:
        text = file.read()
    if path.name.endswith(".seq.gz"):
        lines = text.split("% Sequences:", 1)[1].splitlines()
        return [[int(word) for word in line.split()] for line in lines if line.strip()]
    lines = [line for line in text.splitlines() if line.strip() and line[0] not in "#%@"]
    return [[int(word) for word in line.split() if not word.startswith("-")] for line in lines]


def digests(patterns: list[tuple[tuple[int, ...], int]]) -> dict[str, object]:
    """Name a set of patterns with their supports, with and without those of one item."""
    named = {}
    for name, least in (("all", 1), ("longer", 2)):
        lines = sorted(f"{items} {count}" for items, count in patterns if len(items) >= least)
        named[name] = [len(lines), hashlib.sha256("\n".join(lines).encode()).hexdigest()]
    return named


def work(who: str, path: Path, min_support: int) -> None:
    """Read the data, then mine once per line of input, and tell how long it took and what was found."""
    if who == "ours":
        call, told = ours(path, min_support)
    else:
        call, told = theirs(who, path, min_support)
    for _ in sys.stdin:
        start, busy = time.perf_counter(), processor_seconds()
        found = call()
        seconds, busy = time.perf_counter() - start, processor_seconds() - busy
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        told_now = {"seconds": seconds, "busy": busy, "peak": peak, "found": digests(told(found))}
        print(json.dumps(told_now), flush=True)


def processor_seconds() -> float:
    """Return the processor time of all threads and finished children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def ours(path: Path, min_support: int, first: int | None = None):
    import numpy as np

    from sequester.data.sequences import Sequences
    from sequester.data.text import Codebook
    from sequester.io.spmf import read_seq, read_spmf
    from sequester.mining import frequent

    contents = gzip.decompress(path.read_bytes())
    if path.name.endswith(".seq.gz"):
        frame = read_seq(contents[contents.index(b"% Sequences:") :], path.name)
    else:
        frame = read_spmf(contents, path.name)
    numbers = frame["symbol"].cast(int).to_numpy()
    offsets = np.append(0, np.cumsum(frame["person"].rle().struct.field("len").to_numpy()))
    labels, codes = np.unique(numbers, return_inverse=True)
    book = Codebook(tuple(map(str, labels.tolist())))
    offsets = offsets[: None if first is None else first + 1]
    codes = codes[: offsets[-1]].astype(np.int32)
    del contents, frame, numbers

    def call():
        # A new value each time: equal sequences are folded again.
        return frequent(Sequences(offsets, {"symbol": codes}, {"symbol": book}), min_support=min_support)

    def told(found):
        return [(tuple(map(int, pattern)), count) for pattern, count in found.items()]

    return call, told


def theirs(who: str, path: Path, min_support: int):
    rows = read_rows(path)
    if who == "prefixspan":
        from prefixspan import PrefixSpan

        def told(found):
            return [(tuple(pattern), count) for count, pattern in found]

        return lambda: PrefixSpan(rows).frequent(min_support), told
    from sequential.seq2pat import Seq2Pat

    def told_lists(found):
        return [(tuple(each[:-1]), each[-1]) for each in found]

    # By default patterns of more than ten items' span are dropped.
    return lambda: Seq2Pat(sequences=rows, max_span=None).get_patterns(min_frequency=min_support), told_lists


class Runner:
    """Somebody who mines when it is their turn."""

    def __init__(self, name: str, command: list[str], limit: float, output: Path | None = None) -> None:
        self.name, self.limit, self.output = name, limit, output
        self.best, self.busy, self.peak, self.found = float("inf"), float("inf"), 0, {}
        self.is_stopped = False
        # A group of its own: seq2pat works in a child, which has to be stopped too.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )

    def turn(self) -> bool:
        """Mine once; false where the process is gone, or was stopped."""
        watch = threading.Timer(self.limit, self.give_up)
        watch.start()
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
            told = next((json.loads(line) for line in self.process.stdout if line.startswith("{")), None)
        except BrokenPipeError:
            told = None
        finally:
            watch.cancel()
        if told is None:
            return False
        self.best = min(self.best, told["seconds"])
        self.busy = min(self.busy, told.get("busy", float("inf")))
        self.peak = told.get("peak", 0)
        self.found = told["found"] if self.output is None else digests(read_spmf_patterns(self.output))
        return True

    def give_up(self) -> None:
        self.is_stopped = True
        os.killpg(self.process.pid, signal.SIGKILL)

    def stop(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def read_spmf_patterns(path: Path) -> list[tuple[tuple[int, ...], int]]:
    patterns = []
    for line in path.read_text().splitlines():
        items, count = line.split("#SUP:")
        patterns.append((tuple(int(word) for word in items.split() if word != "-1"), int(count.split()[0])))
    return patterns


def peers(arguments: argparse.Namespace) -> bool:
    """Compare patterns and times with other miners."""
    holds = True
    for name in arguments.sets:
        file, min_support, least_lead, least_spmf = SETS[name]
        path = arguments.data / file
        if not path.exists():
            print(f"{name}: {path} is not here")
            holds = False
            continue
        with tempfile.TemporaryDirectory() as folder:
            runners = start_runners(arguments, path, min_support, Path(folder))
            missing = [runner for runner in runners if not runner.turn()]
            runners = [runner for runner in runners if runner not in missing]
            for _ in range(arguments.rounds):
                for runner in runners:
                    # One more turn of a minute says nothing new.
                    if runner.best < arguments.patience:
                        runner.turn()
            for runner in runners:
                runner.stop()
        us, *others = runners
        what = f"{name} at {min_support:,}, {us.found['all'][0]:,} patterns"
        print(f"{what}: {us.busy:.4f} s of processors")
        note("seconds", what, us.best)
        holds &= note("memory", what, us.peak, bar=LARGEST_MEMORY)
        for runner in others:
            which = "longer" if runner.name == "seq2pat" else "all"
            same = runner.found[which] == us.found[which]
            lead = runner.best / us.best
            bar = least_spmf if runner.name == "spmf" else least_lead
            memory = f", peak {runner.peak / 1e9:.2f} GB" if runner.peak else ""
            busy = f" ({runner.busy:.2f} s)" if runner.busy < float("inf") else ""
            print(f"  {runner.name:<12}{runner.best:8.2f} s{busy}{memory}")
            holds &= note("equality", f"{what}: {runner.name}'s patterns", same)
            holds &= note("lead", f"{what}: beside {runner.name}", lead, bar=bar or None)
        for runner in missing:
            told = "is not here"
            if runner.is_stopped:
                # No lead is claimed: its worker may have died instead of being slow.
                told = f"gave no answer within {runner.limit:.0f} s"
            print(f"  {runner.name:<12}{told}")
    return holds


def start_runners(arguments: argparse.Namespace, path: Path, min_support: int, folder: Path) -> list[Runner]:
    def command(python: str, who: str) -> list[str]:
        return [python, __file__, "work", "--who", who, "--file", str(path), "--support", str(min_support)]

    limit = arguments.limit
    runners = [Runner("ours", command(sys.executable, "ours"), limit)]
    for peer in arguments.against:
        python = interpreter_of(peer)
        if python is None:
            print(f"{peer} is not installed; it {KNOWN[peer].does}")
        else:
            runners.append(Runner(peer, command(python, peer), limit))
    if arguments.spmf_jar is not None:
        rows = read_rows(path)
        source, output = folder / "in.txt", folder / "out.txt"
        source.write_text("\n".join(" -1 ".join([*map(str, row), "-2"]) for row in rows) + "\n")
        (folder / "Driver.java").write_text(DRIVER)
        java = ["java", "-Xmx8g", "-cp", str(arguments.spmf_jar), str(folder / "Driver.java")]
        runners.append(Runner("spmf", [*java, str(source), str(output), str(min_support)], limit, output))
    return runners


def compile_time(_: argparse.Namespace) -> bool:
    """Measure what the first call of a fresh installation costs beyond the second."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "first-call"]
        return (
            subprocess.run(command, check=False, env={**os.environ, "NUMBA_CACHE_DIR": folder}).returncode
            == 0
        )


def first_call() -> None:
    from sequester.data.sequences import Sequences
    from sequester.mining import Itemsets, frequent, frequent_events

    rows = ["abcab", "bca", "cab"]
    for what, call in (
        ("patterns", lambda: frequent(Sequences.from_rows(rows), min_support=2)),
        ("patterns of itemset events", lambda: frequent_events(Itemsets.from_rows(rows), min_support=2)),
    ):
        seconds = []
        for _ in range(2):
            start = time.process_time()
            call()
            seconds.append(time.process_time() - start)
        note("seconds", f"kernels for {what} compile, processor time, once", seconds[0] - seconds[1])


def twin(_: argparse.Namespace) -> bool:
    """Compare the patterns with those of the slow definition."""
    import random

    sys.path.insert(0, str(ROOT / "tests"))
    from oracles import sequences as oracles
    from sequester.data.sequences import Sequences
    from sequester.mining import frequent

    draw = random.Random(7)
    rows = [[str(draw.randrange(12)) for _ in range(draw.randrange(1, 9))] for _ in range(60)]
    frequent(Sequences.from_rows(rows), min_support=4)
    start = time.perf_counter()
    found = dict(frequent(Sequences.from_rows(rows), min_support=4))
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    same = found == oracles.frequent(rows, 4)
    slow = time.perf_counter() - start
    what = f"60 sequences, {len(found)} patterns: the slow twin"
    note("lead", what, slow / seconds)
    return note("equality", what, same)


def growth(arguments: argparse.Namespace) -> bool:
    """Measure three sizes of MSNBC at half a percent."""
    sizes, times = (10_000, 100_000, 989_818), []
    for persons in sizes:
        call, _ = ours(arguments.data / SETS["msnbc"][0], -(-persons // 200), persons)
        call()
        best = float("inf")
        for _ in range(3):
            start = time.perf_counter()
            found = call()
            best = min(best, time.perf_counter() - start)
        print(f"{persons:,} persons, {len(found):,} patterns: {best:.3f} s")
        times.append(best)
    return note("growth", f"{sizes[0]:,} to {sizes[-1]:,} persons at half a percent", power(sizes, times))


def main() -> int:
    known = {"compile": compile_time, "twin": twin, "peers": peers, "growth": growth}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", default=list(known))
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(os.environ.get("SEQUESTER_DATA", ROOT.parent / "shared" / "data")),
        help="the folder of public data sets (default: ../shared/data)",
    )
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="which of them")
    parser.add_argument("--against", nargs="+", choices=PEERS, default=list(PEERS), help="which packages")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each")
    parser.add_argument("--patience", type=float, default=20.0, help="seconds above which one turn is enough")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds after which a peer is stopped")
    parser.add_argument("--spmf-jar", type=Path, help="SPMF's jar, to compare with its PrefixSpan")
    parser.add_argument("--who", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--support", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.parts == ["work"]:
        work(arguments.who, arguments.file, arguments.support)
        return 0
    if arguments.parts == ["first-call"]:
        first_call()
        return 0
    if unknown := [part for part in arguments.parts if part not in known]:
        parser.error(f"unknown part {unknown[0]!r}: there are {', '.join(known)}")
    missed = []
    for part in arguments.parts:
        print(f"\n{part}")
        if not known[part](arguments):
            missed.append(part)
    print(f"\nmissed: {', '.join(missed) or 'nothing'}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
