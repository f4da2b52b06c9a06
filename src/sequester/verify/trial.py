"""A trial run: a Parquet file from somebody else is unpacked in a process of its own first.

A doctored Parquet file can make its reader ask for more memory than there is, and the reader then ends the
whole process, without an error that could be caught.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_FIXED = 8 * 2**30
_PER_BYTE = 40
"""Memory that reading may reserve: generous for honest files, far from what a doctored one can ask for."""

_READ = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except ImportError:
    pass
import polars
polars.read_parquet_schema(sys.argv[3])
polars.read_parquet_metadata(sys.argv[3])
polars.read_parquet(sys.argv[3], use_statistics=False, memory_map=False, glob=False)
"""


@contextmanager
def trial(parquet: Path, *, plain_size: int) -> Iterator[Callable[[], bool]]:
    """Start to read `parquet` elsewhere; calling the value waits, and tells whether it could be read.

    `plain_size` is the size of the same table as CSV, which says how much memory is reasonable.
    """
    if not sys.executable:
        # Inside another program there is no interpreter to start.
        yield lambda: True
        return
    memory = _FIXED + _PER_BYTE * plain_size
    command = [sys.executable, "-I", "-c", _READ, json.dumps(sys.path), str(memory), str(parquet)]
    quiet = subprocess.DEVNULL
    # Every thread reserves memory of its own, which must not depend on the machine.
    environment = {**os.environ, "POLARS_MAX_THREADS": "2"}
    with subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=environment) as process:
        try:
            yield lambda: process.wait() == 0
        finally:
            process.kill()
