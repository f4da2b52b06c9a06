"""A publisher with a daily feed: take in one file per day, publish each day's table, survive restarts.

Run it: python examples/daily_feed.py [FOLDER]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from sequester.datasets import days

CONFIG = """
[data]
person = "patient"
time = "date"
quasi.sex.hierarchy = { kind = "flat" }
quasi.age.hierarchy = { kind = "intervals", width = [10, 40], origin = 0 }
quasi.district.hierarchy = { kind = "flat" }
sensitive.diagnosis.protect = "all"

[method]
name = "reposition"
l = 2
window = 2

[release]
path = "unused"
"""
STREAM = "stream feed.toml --in arriving --out published --state state"


def main(folder: Path) -> None:
    (folder / "arriving").mkdir(parents=True, exist_ok=True)
    (folder / "feed.toml").write_text(CONFIG, encoding="utf-8")
    for day in days.make(persons=200, days=3).partition_by("date", maintain_order=True):
        day.write_csv(folder / "arriving" / f"{day['date'][0]}.csv")
        run(STREAM, folder)  # a new process every day: what waits is kept in the state
    run(f"{STREAM} --finish", folder)
    run("verify published", folder)


def run(command: str, folder: Path) -> None:
    print(f"$ sequester {command}", flush=True)
    subprocess.run([sys.executable, "-m", "sequester", *command.split(), "--quiet"], cwd=folder, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/daily_feed"))
