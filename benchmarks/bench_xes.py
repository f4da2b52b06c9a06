"""Read an event log of 100 MB in XES: as programs write it, and with a remark in it.

Prints, in this order: equality with a slow twin, per file the time, MB/s, the time for the packed file and
the peak memory, the time to write it, and where r4pm is installed, its time and whether it reads the same.
Exits 1 where the answers differ or a bar is missed.

    python benchmarks/bench_xes.py
"""

from __future__ import annotations

import gzip
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl

from ledger import note
from sequester.io import read_frame
from sequester.io.xes import ACTIVITY, TIME, write_times, write_xes

MEGABYTES = 100
BARS = {"plain": 4.0, "with a remark": 8.0}
ROUNDS = 3
ACTIVITIES = ["register request", "examine casually", "check ticket", "decide", "reinitiate", "pay", "reject"]


def log(n_cases: int) -> bytes:
    """Return cases of a request that is handled, with eight attributes of four types."""
    rng = np.random.default_rng(1)
    lengths = rng.integers(1, 15, n_cases)
    size = int(lengths.sum())
    case = np.repeat(np.arange(n_cases), lengths)
    seconds = np.repeat(rng.integers(1_300_000_000, 1_330_000_000, n_cases), lengths) + np.arange(size) * 997

    def some(prefix: str, n_labels: int) -> pl.Series:
        return prefix + pl.Series(rng.integers(0, n_labels, size)).cast(pl.String)

    columns = {
        ACTIVITY: pl.Series(ACTIVITIES).gather(rng.integers(0, len(ACTIVITIES), size)),
        TIME: pl.from_epoch(pl.Series(seconds)),
        "case:channel": pl.Series(["Internet", "Desk & post"]).gather(case % 2),
        "case:amount": pl.Series(rng.integers(0, 1000, n_cases)[case]),
        "org:resource": some("Resource ", 40),
        "org:group": some("Group ", 9),
        "lifecycle:transition": pl.repeat("complete", size, eager=True),
        "cost": pl.Series(rng.integers(0, 10_000, size) / 100),
    }
    return write_xes("case " + pl.Series(case).cast(pl.String), columns)


def slow_twin(contents: bytes) -> list[dict[str, str]]:
    """Return the same by building the whole tree, one dict per event."""
    rows = []
    for trace in ElementTree.fromstring(contents):
        if not trace.tag.endswith("trace"):
            continue
        case = {f"case:{each.get('key')}": value(each) for each in trace if not each.tag.endswith("event")}
        rows += [
            {each.get("key"): value(each) for each in event} | case
            for event in trace
            if event.tag.endswith("event")
        ]
    return rows


def value(attribute: ElementTree.Element) -> str:
    text = attribute.get("value")
    if attribute.tag.endswith("date"):
        text = datetime.fromisoformat(text).astimezone(UTC).isoformat()
    return text


def timed(path: Path) -> float:
    start = time.perf_counter()
    frame = read_frame(path)
    seconds = time.perf_counter() - start
    del frame
    return seconds


def compare_with_r4pm(path: Path) -> None:
    """Compare with r4pm on the same file: time, and rows in any order."""
    if find_spec("r4pm") is None:
        print("r4pm is not installed: no comparison")
        return
    import r4pm

    start = time.perf_counter()
    theirs = r4pm.df.import_xes(str(path))[0]
    seconds = time.perf_counter() - start
    ours = read_frame(path)
    columns = [theirs[name] for name in ours.columns]
    texts = [write_times(each) if each.dtype == pl.Datetime else each.cast(pl.String) for each in columns]
    note("equality", "XES: r4pm's table", ours.equals(pl.DataFrame(texts)))
    note("seconds", "XES: r4pm alone", seconds)


def own_peak() -> int:
    """Return peak memory in bytes; from /proc if present, as getrusage also counts the parent process."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(
            int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if "VmHWM" in line
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def variants(contents: bytes) -> dict[str, bytes]:
    """Yield the log as it is, and with a comment before its last trace."""
    place = contents.rindex(b"<trace>")
    return {"plain": contents, "with a remark": contents[:place] + b"<!-- the last -->" + contents[place:]}


def main() -> int:
    passed = True
    with tempfile.TemporaryDirectory() as name:
        path, packed = Path(name) / "log.xes", Path(name) / "log.xes.gz"
        for kind, contents in variants(log(500)).items():
            path.write_bytes(contents)
            frame, twin = read_frame(path), slow_twin(contents)
            equal = frame.to_dicts() == [{key: row.get(key) for key in frame.columns} for row in twin]
            passed &= equal
            note("equality", f"{kind}, {len(twin):,} events: the slow twin's rows", equal)

        start = time.perf_counter()
        large = log(37_700 * MEGABYTES // 100)
        written = time.perf_counter() - start
        megabytes = len(large) / 1e6
        print(f"\n{megabytes:.0f} MB")
        frames = []
        for kind, contents in variants(large).items():
            path.write_bytes(contents)
            packed.write_bytes(gzip.compress(contents, 1, mtime=0))
            frames.append(read_frame(path))
            seconds, from_packed = (min(timed(each) for _ in range(ROUNDS)) for each in (path, packed))
            passed &= note("seconds", f"XES {kind}, {megabytes:.0f} MB", seconds, bar=BARS[kind])
            passed &= note("seconds", f"XES {kind}, {megabytes:.0f} MB, packed", from_packed, bar=BARS[kind])
            command = [sys.executable, __file__, str(path)]
            peak = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout) / 1e6
            speed = megabytes / seconds
            note("memory", f"XES {kind}, {megabytes:.0f} MB", 1e6 * peak)
            print(f"{speed:.0f} MB/s")
        same = frames[0].equals(frames[1])
        passed &= note("equality", f"{frames[0].height:,} events: the same table with a remark", same)
        note("seconds", f"XES, {megabytes:.0f} MB made and written", written)
        path.write_bytes(large)
        compare_with_r4pm(path)
    return 0 if passed else 1


if __name__ == "__main__":
    if len(sys.argv) == 2:
        read_frame(Path(sys.argv[1]))
        print(own_peak())
        sys.exit(0)
    sys.exit(main())
