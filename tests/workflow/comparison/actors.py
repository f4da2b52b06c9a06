"""What processes do in tests of the pool, instead of trying a candidate: as the label of their task says."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path

from sequester.workflow.comparison import worker


def is_there(pid):
    """Return whether a process runs."""
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


def act(packed, table):
    """Do what the label says, and tell in `events` how many did at the same time, at most."""
    del table
    # Nothing of ours is loaded, which would take longer than the act.
    what = re.search(rb"<([a-z]+) \d+>", packed)[1].decode()
    folder = Path(os.environ["ACTS"])
    here = folder / str(os.getpid())
    here.touch()
    began = Path(os.environ["BEGAN"])
    (began / here.name).touch()

    def count():
        return sum(is_there(path.name) for path in folder.iterdir())

    together = count()
    worker._parent[0].send(0.5)
    worker._parent[0].send(worker.COMPILING)
    while len(list(began.iterdir())) < int(os.environ.get("COMPANY", "1")):
        time.sleep(0.01)
    together = max(together, count())
    if what == "die" or (what == "crowd" and together > 1):
        here.unlink()
        os.abort()
    if what == "stay":
        time.sleep(600)
    here.unlink()
    if what == "fault":
        return {"failed": "internal error: ValueError at nowhere", "is_ours": True}
    return json.loads(os.environ["RESULT"]) | {
        "label": os.environ["POLARS_MAX_THREADS"],
        "events": together,
        "peak_memory": int(os.environ.get("PEAK", "1")),
    }
