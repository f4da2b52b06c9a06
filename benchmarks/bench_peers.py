"""Beside what people would use instead: pycanon, anjana and scikit-mobility, each where it is installed.

    python benchmarks/bench_peers.py

Each runs in a process of its own that has read the data and warmed up before its clock starts. The miners
prefixspan and seq2pat are in bench_mining.py. A peer that is nowhere (see peers.py) is named and left out.
Exits 1 where answers differ.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from ledger import note
from peers import PEERS, interpreter_of
from sequester.attacks.exposure import sequence_risk
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.hierarchies import Hierarchy
from sequester.methods import HALT
from sequester.privacy import KCPrivacy

ROWS, K = 20_000, 5
QUASI = ("ZIP", "year", "stay")
PYCANON = """
import json, sys, time
import pandas as pd
from pycanon.anonymity import k_anonymity
frame = pd.read_csv(sys.argv[1], dtype=str)
quasi = sys.argv[2].split(",")
k_anonymity(frame.head(50), quasi)
start = time.perf_counter()
k = k_anonymity(frame, quasi)
print(json.dumps({"seconds": time.perf_counter() - start, "value": int(k)}))
"""
ANJANA = """
import json, sys, time
import numpy as np
import pandas as pd
from anjana.anonymity import k_anonymity
frame = pd.read_csv(sys.argv[1], dtype=str)
quasi = sys.argv[2].split(",")
levels = json.loads(sys.argv[4])
trees = {name: {int(n): np.array([table[v] for v in frame[name]]) for n, table in levels[name].items()}
         for name in quasi}
start = time.perf_counter()
out = k_anonymity(frame, ["who"], quasi, int(sys.argv[3]), 10, trees)
seconds = time.perf_counter() - start
smallest = int(out.groupby(quasi).size().min())
print(json.dumps({"seconds": seconds, "value": smallest, "rows": len(out)}))
"""
MOBILITY = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import pandas as pd, skmob
from skmob.privacy import attacks
frame = pd.read_csv(sys.argv[1])
frame["at"] = pd.to_datetime(frame["at"], unit="s")
data = skmob.TrajDataFrame(frame, latitude="lat", longitude="lng", datetime="at", user_id="user")
start = time.perf_counter()
risks = attacks.LocationSequenceAttack(knowledge_length=int(sys.argv[2])).assess_risk(data)
print(json.dumps({"seconds": time.perf_counter() - start, "value": float(risks["risk"].mean())}))
"""


def ask(name: str, program: str, *arguments: object) -> dict[str, float] | None:
    """Run a peer's program, where the peer is; give what it printed."""
    python = interpreter_of(name)
    if python is None:
        print(f"{name} is not installed; it {PEERS[name].does}")
        return None
    command = [python, "-W", "ignore", "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def persons(n: int) -> pl.DataFrame:
    """Return one row per person, as these packages take it."""
    draw = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "who": pl.Series(np.arange(n)).cast(pl.String),
            "n": pl.Series(np.ones(n, np.int64)),
            "ZIP": pl.Series(10_000 + (400 * draw.random(n) ** 2).astype(np.int64)).cast(pl.String),
            "year": pl.Series(1930 + draw.integers(0, 80, n)).cast(pl.String),
            "stay": pl.Series(draw.geometric(0.2, n).clip(1, 40)).cast(pl.String),
        }
    )


def table_of(frame: pl.DataFrame) -> EventTable:
    quasi = {
        "ZIP": Hierarchy.mask([3, 1]),
        "year": Hierarchy.intervals([10, 40], origin=1900),
        "stay": Hierarchy.intervals([7, 28], origin=0),
    }
    return EventTable(frame, Schema(person="who", order="n", quasi=quasi))


def levels_of(table: EventTable) -> str:
    """Return the hierarchies as anjana takes them: for every level, value to what stands for it there."""
    levels: dict[str, dict[int, dict[str, str]]] = {}
    for name, tree in table.hierarchies.items():
        chains = {}
        for label in table.labels[name]:
            node = tree.node(label)
            chains[label] = [label, *(tree.labels[above] for above in tree.ancestors(node))]
        deepest = max(map(len, chains.values()))
        levels[name] = {
            n: {label: chain[min(n, len(chain) - 1)] for label, chain in chains.items()}
            for n in range(deepest)
        }
    return json.dumps(levels)


def best_of_three(call) -> tuple[object, float]:
    call()
    best, answer = float("inf"), None
    for _ in range(3):
        start = time.perf_counter()
        answer = call()
        best = min(best, time.perf_counter() - start)
    return answer, best


def one_row_each(folder: Path) -> bool:
    """Measure and make k-anonymity of one row per person, the part that the others know."""
    path = folder / "persons.csv"
    frame = persons(ROWS)
    frame.drop("n").write_csv(path)
    table = table_of(frame)
    fine = True
    what = f"{ROWS:,} persons with one row: k of the table"
    verdict, seconds = best_of_three(lambda: KCPrivacy(k=2, c=1).check(table))
    if theirs := ask("pycanon", PYCANON, path, ",".join(QUASI)):
        fine &= note("equality", f"{what}: pycanon's", verdict.achieved["k"] == theirs["value"])
        note("lead", f"{what}: beside pycanon", theirs["seconds"] / seconds)
    what = f"{ROWS:,} persons with one row: make them {K}-anonymous"
    release, seconds = best_of_three(
        lambda: HALT(k=K, c=1, p=len(QUASI)).apply(table, seed="a sentence that nobody guesses")
    )
    smallest = release.verdict.achieved["k"]
    fine &= note("equality", f"{what}: ours are", smallest >= K)
    note("loss", f"{what}: information loss of ours", release.utility["information_loss"].value)
    if theirs := ask("anjana", ANJANA, path, ",".join(QUASI), K, levels_of(table)):
        fine &= note("equality", f"{what}: anjana's are", theirs["value"] >= K)
        note(
            "lead",
            f"{what}: beside anjana, which keeps {theirs['rows']:,.0f} rows",
            theirs["seconds"] / seconds,
        )
    return fine


def places(folder: Path) -> bool:
    """Compare the mean risk of trajectories of whom an adversary knows places in order."""
    draw = np.random.default_rng(3)
    n_users, n_points, n_places = 20, 10, 8
    place = draw.integers(0, n_places, n_users * n_points)
    frame = pl.DataFrame(
        {
            "user": np.repeat(np.arange(n_users), n_points),
            "at": np.arange(n_users * n_points) * 600,
            "lat": 40 + place / 100,
            "lng": 2 + place / 100,
        }
    )
    path = folder / "places.csv"
    frame.write_csv(path)
    table = EventTable(
        pl.DataFrame({"user": frame["user"], "n": frame["at"], "place": pl.Series(place).cast(pl.String)}),
        Schema(person="user", order="n", symbol="place"),
    )
    fine = True
    for known in (2, 3):
        what = f"{n_users} users with {n_points} points, {known} known: mean risk by sequences of places"
        ours, seconds = best_of_three(lambda known=known: sequence_risk(table, known=known))
        if theirs := ask("scikit-mobility", MOBILITY, path, known):
            fine &= note("equality", f"{what}: scikit-mobility's", abs(ours - theirs["value"]) < 1e-9)
            note("lead", f"{what}: beside scikit-mobility", theirs["seconds"] / seconds)
    return fine


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        answers = [one_row_each(Path(name)), places(Path(name))]
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
