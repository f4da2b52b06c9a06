"""Read a million rows from a PostgreSQL server of its own, beside polars alone through the same driver.

Prints, in this order: equality with what polars reads, and the time of both, alternately.
Exits 1 where the answers differ or the bar is missed, and 0 with a line where no server is installed.

    python benchmarks/bench_sql.py
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import adbc_driver_postgresql.dbapi
import numpy as np
import polars as pl

from ledger import note
from sequester.io import read_frame
from sequester.io.database import locate

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from postgresql import PASSWORD, binaries, running

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = 1_000_000
BAR = 1.5
ROUNDS = 5


def visits() -> pl.DataFrame:
    """Return visits with numbers, texts, dates and gaps."""
    rng = np.random.default_rng(1)
    codes = "C" + pl.Series(rng.integers(0, 500, ROWS)).cast(pl.String)
    days = pl.Series(rng.integers(14_000, 15_000, ROWS).astype(np.int32)).cast(pl.Date)
    return pl.DataFrame(
        {
            "pid": "P" + pl.Series(rng.integers(0, ROWS // 5, ROWS)).cast(pl.String),
            "n": rng.integers(0, 100, ROWS),
            "admitted": days,
            "cost": rng.random(ROWS),
            "diagnosis": codes.set(pl.Series(rng.random(ROWS) < 0.1), None),
        }
    )


def timed(read: Callable[[], pl.DataFrame]) -> float:
    start = time.perf_counter()
    read()
    return time.perf_counter() - start


def main() -> int:
    programs = binaries()
    if programs is None:
        print("PostgreSQL is not installed: nothing to measure")
        return 0
    os.environ["PGPASSWORD"] = PASSWORD
    with running(programs) as server:
        url = server.url()
        with closing(adbc_driver_postgresql.dbapi.connect(url)) as connection:
            with closing(connection.cursor()) as cursor:
                cursor.adbc_ingest("visits", visits().to_arrow(), mode="create")
            connection.commit()
        source = locate(url, Path(), table="visits")

        def ours() -> pl.DataFrame:
            return read_frame(source)

        def theirs() -> pl.DataFrame:
            return pl.read_database_uri("SELECT * FROM visits", url, engine="adbc")

        passed = note("equality", f"PostgreSQL, {ROWS:,} rows: as polars reads them", ours().equals(theirs()))
        times = [(timed(ours), timed(theirs)) for _ in range(ROUNDS)]
        best, alone = (min(each) for each in zip(*times, strict=True))
        note("seconds", f"PostgreSQL, {ROWS:,} rows", best)
        note("seconds", f"PostgreSQL, {ROWS:,} rows: polars alone", alone)
        passed &= note("cost", f"PostgreSQL, {ROWS:,} rows: beside polars alone", best / alone, bar=BAR)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
