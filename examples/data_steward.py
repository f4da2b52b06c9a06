"""A data steward: from a CSV of hospital visits to a release with a certificate, by the command line.

Run it: python examples/data_steward.py [FOLDER]
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from sequester.datasets import hospital

CONFIG = """
[data]
path = "visits.csv"
person = "PID"
order = "VID"
drop = ["AdmYr", "DSFC"]
quasi.ZIP.hierarchy = { kind = "mask", levels = [3, 1] }
quasi.LOS.hierarchy = { kind = "intervals", width = [7, 28], origin = 0 }
sensitive.Disease.protect = ["HIV", "Depression"]

[method]
name = "halt"
k = 5
c = 0.5
p = 2
"""


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    hospital.make(persons=200).write_csv(folder / "visits.csv")
    (folder / "release.toml").write_text(CONFIG, encoding="utf-8")
    # `sequester inspect release.toml` shows what the raw data would give away; without --quick, simulated
    # adversaries attack the release, and the internal report explains every change.
    for command in ("protect release.toml --out out --force --quick", "verify out/release"):
        print(f"$ sequester {command}", flush=True)
        call = [sys.executable, "-m", "sequester", *command.split(), "--quiet"]
        subprocess.run(call, cwd=folder, check=True)
    certificate = json.loads((folder / "out/release/certificate.json").read_text(encoding="utf-8"))
    print(f"promised: {certificate['claim']['model']}; achieved: {certificate['verdict']['achieved']}")
    print("not promised:", *certificate["limits"], sep="\n- ")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/data_steward"))
