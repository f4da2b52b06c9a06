"""Release a made data set on a scheduler and two workers on this machine, and compare with the local release.

python scripts/cluster_demo.py [--out DIR] [--persons N]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

CONFIG = """[data]
path = "visits.csv"
person = "PID"
order = "VID"
drop = ["LOS"]
[data.quasi.AdmYr]
hierarchy = { kind = "flat" }
[data.quasi.ZIP]
hierarchy = { kind = "mask", levels = [3, 1] }
[data.quasi.DSFC]
hierarchy = { kind = "intervals", width = [7, 28, 84], origin = 0 }
[data.sensitive.Disease]
protect = ["HIV", "Alcoholism"]
[method]
name = "cblda"
k = 5
c = 0.7
block = 500
[release]
path = "out"
seed = "the demo of a cluster, not a secret"
"""


def start(stack: ExitStack, *arguments: str) -> None:
    """Start a program of dask, without its messages, that ends with this one."""
    command = [sys.executable, "-m", "dask", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stack.callback(process.wait)
    stack.callback(process.terminate)


def main() -> int:
    """Run the demo; return 1 where the two releases differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/cluster-demo"))
    parser.add_argument("--persons", default="5000")
    asked = parser.parse_args()
    shutil.rmtree(asked.out, ignore_errors=True)
    asked.out.mkdir(parents=True)
    (asked.out / "release.toml").write_text(CONFIG)

    def sequester(*arguments: str) -> None:
        print("$ sequester", *arguments, flush=True)
        subprocess.run([sys.executable, "-m", "sequester", *arguments], cwd=asked.out, check=True)

    sequester(
        "datasets", "make", "hospital", "--out", "visits.csv", "--persons", asked.persons, "--seed", "demo"
    )
    with ExitStack() as stack:
        private = stack.enter_context(tempfile.TemporaryDirectory())
        file = Path(private) / "scheduler.json"
        # dask serves pages about its workers without a dashboard, too, and on all addresses unless told.
        on_loopback = ("--host", "127.0.0.1", "--no-dashboard", "--dashboard-address", "127.0.0.1:0")
        start(stack, "scheduler", *on_loopback, "--port", "0", "--scheduler-file", str(file))
        while not file.exists() or not file.read_text():
            time.sleep(0.1)
        address = json.loads(file.read_text())["address"]
        for _ in range(2):
            start(stack, "worker", address, *on_loopback, "--nthreads", "1", "--local-directory", private)
        sequester("protect", "release.toml", "--out", "cluster", "--engine", address)
    sequester("protect", "release.toml", "--out", "local", "--quick", "--quiet")
    tables = [
        {path.name: path.read_bytes() for path in (asked.out / name / "release").glob("*.csv")}
        for name in ("cluster", "local")
    ]
    is_equal = tables[0] == tables[1]
    print("the cluster's release and the local one are", "equal, byte for byte" if is_equal else "different")
    return 0 if is_equal else 1


if __name__ == "__main__":
    sys.exit(main())
