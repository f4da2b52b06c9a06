"""Run as a program: decode Parquet or Arrow files to see whether that can be done, one line of JSON per file.

polars trusts the numbers inside such a file. Some kinds of damage make it panic, which prints a trace, or
ask for more memory than there is, which ends the process. So a process that nobody needs tries first.
"""

import json
import os
import sys

import polars as pl

SCANS = {
    "Parquet": lambda path: pl.scan_parquet(path, glob=False, hive_partitioning=False),
    "Arrow": lambda path: pl.scan_ipc(path, glob=False, hive_partitioning=False),
    "Arrow stream": lambda path: pl.read_ipc_stream(path).lazy(),
}
"""How each kind of file is read."""


def limit_memory(most: int) -> None:
    """Let this process reserve no more than `most` bytes, where the system can hold it to that."""
    try:
        import resource  # noqa: PLC0415 - only where there is one
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if most:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def decode(path: str, most_rows: int, kind: str) -> str | None:
    """Decode a file and throw the result away; say in one line what was wrong."""
    try:
        scan = SCANS[kind](path)
        n_rows = int(scan.select(pl.len()).collect().item())
        if n_rows > most_rows:
            return f"claims {n_rows:,} rows, at most {most_rows:,} are read"
        for place in range(len(scan.collect_schema())):
            scan.select(pl.nth(place)).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, MemoryError) as error:
        said = next(iter(str(error).splitlines()), type(error).__name__)
        return f"the {kind} file is damaged ({said})"
    return None


if __name__ == "__main__":
    limit_memory(int(sys.argv[2]))
    for name in sys.stdin.buffer.read().split(b"\0"):
        answer = decode(os.fsdecode(name), int(sys.argv[1]), sys.argv[3])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
