"""Every benchmark in one go, and the page about performance that is made of what they say.

    python benchmarks/run.py                          all of them, then docs/performance.json and .md
    python benchmarks/run.py halt ph                  some; the figures of the others stay as they are
    python benchmarks/run.py --page                   the page again, from figures that are there

A benchmark runs in a process of its own and says its figures (see ledger.py); what it prints besides goes to
``out/benchmarks``. Figures are kept as soon as a benchmark ends: whoever was interrupted names the rest.
Exits 1 where answers differ, a benchmark breaks, or a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ledger import LEDGER, Figure
from peers import PEERS, interpreter_of

ROOT = Path(__file__).parents[1]
JSON, PAGE = ROOT / "docs" / "performance.json", ROOT / "docs" / "performance.md"
LOGS = ROOT / "out" / "benchmarks"
NAMES = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
PACKAGES = ("numpy", "numba", "polars", "scipy", "rapidfuzz")
KINDS = {
    "equality": "Equal answers",
    "lead": "Times faster",
    "cost": "Times slower",
    "seconds": "Time",
    "rate": "Rate",
    "memory": "Peak memory",
    "growth": "Growth of time",
    "loss": "Loss",
    "risk": "Risk",
}
"""Kinds of figures in their order on the page."""
HARDWARE = ("processor", "cores", "memory", "system")
METHODS = "methods"
"""The benchmark that puts the methods side by side."""
ABOUT_METHODS = """\
Each method on made data that it is meant for, by `benchmarks/bench_methods.py`. Time is that of a release
with its check. Loss is the information loss of [Measures](measures.md), where 1 is everything; of hidden
patterns, the frequent patterns that are lost or new, as a share of all; of records, the share that is not
published. Risk is what the [adversary](attacks.md) achieves who comes closest to the bound that is promised,
in the original and in the release, with two items known where items are what is known; `mined` is the share
of the named patterns that a miner finds. Promises differ: compare methods on the same data, and read what
each promises first."""


BEFORE = {
    "compile": {
        "first protect halt": 54,
        "first protect cblda,": 92,
        "first protect ph": 75,
        "first protect p2ka": 38,
        "first attack halt": 14,
    },
    "first_contact": {
        "make demo in a fresh clone": 177,
        "a million patients with halt": 308,
    },
}
"""Seconds reported for version 0.1 on an idle machine, by benchmark and beginning of a figure."""


def machine() -> dict[str, str]:
    """Return a description of the machine."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line
        ]
        cpu = lines[0] if lines else cpu
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    described = {
        "processor": cpu,
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "memory": f"{memory:.0f} GB",
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
    }
    for name in PACKAGES:
        try:
            described[name] = version(name)
        except PackageNotFoundError:
            continue
    return described


def run(name: str) -> dict[str, Any]:
    """Run a benchmark; give its figures, its seconds and whether it ended as it should."""
    LOGS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, (LOGS / f"{name}.txt").open("w") as log:
        ledger = Path(folder) / "figures"
        ledger.touch()
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name(f"bench_{name}.py"))],
            check=False,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, LEDGER: str(ledger)},
        )
        figures = [json.loads(line) for line in ledger.read_text().splitlines()]
    missed = [figure for figure in figures if not Figure(**figure).is_met]
    # A missed bar ends a benchmark with 1, and is told by its figure; anything else has broken it.
    broken = done.returncode not in (0, 1) or (done.returncode == 1 and not missed) or not figures
    return {
        "figures": figures,
        "seconds": round(time.perf_counter() - start),
        "broken": broken,
        "load": round(os.getloadavg()[0], 1),
    }


def title(name: str) -> str:
    """Return the first line of a benchmark's own description."""
    text = Path(__file__).with_name(f"bench_{name}.py").read_text()
    return text.split('"""', 2)[1].splitlines()[0].rstrip(".")


def side_by_side(one: dict[str, Any] | None) -> list[str]:
    """Put the methods side by side, each on data that it is meant for."""
    if one is None:
        return []
    lines = [
        "",
        "## How good, and how fast",
        "",
        *ABOUT_METHODS.splitlines(),
        "",
        "| data | method | time | loss | adversary | before | after | bound |",
        "|---|---|---|---|---|---|---|---|",
    ]
    rows: dict[str, dict[str, str]] = {}
    for figure in (Figure(**each) for each in one["figures"]):
        what, _, who = figure.what.partition(" / ")
        cells = rows.setdefault(what, {})
        if figure.kind == "seconds":
            cells["seconds"] = figure.shown.replace(" ", "\N{NO-BREAK SPACE}")
        elif figure.kind == "loss":
            cells["loss"] = f"{figure.value:.3g}"
        elif figure.kind == "risk" and who.endswith(" before"):
            cells["before"] = f"{figure.value:.3g}"
        elif figure.kind == "risk":
            cells |= {
                "adversary": who.removesuffix("_shown"),
                "after": f"{figure.value:.3g}",
                "promised": f"{figure.bar:.3g}",
            }
    seen = ""
    for what, cells in rows.items():
        if "after" in cells:
            data, method = what.split(": ", 1)
            order = ("seconds", "loss", "adversary", "before", "after", "promised")
            told = " | ".join(cells.get(each, "") for each in order)
            lines.append(f"| {data if data != seen else ''} | `{method}` | {told} |")
            seen = data
    return lines


def before_and_now(benchmarks: dict[str, Any]) -> list[str]:
    """Put what version 0.1 took beside what the same takes now."""
    lines = [
        "",
        "## Before and now",
        "",
        "Figures of version 0.1 were reported then and are not measured by this program; inputs may differ",
        "(ph is measured with more patterns now), and the machine was not idle for all figures of now.",
        "",
        "| | version 0.1 | now |",
        "|---|---|---|",
    ]
    for name, figures in BEFORE.items():
        taken = [Figure(**each) for each in benchmarks.get(name, {"figures": []})["figures"]]
        for beginning, seconds in figures.items():
            lines += [
                f"| {now.what} | {seconds:.0f} s | {now.shown} |"
                for now in taken
                if now.kind == "seconds" and now.what.startswith(beginning)
            ]
    return lines if any(" s | " in line for line in lines) else []


def page(results: dict[str, Any]) -> str:
    """Write the page; every figure on it was said by a benchmark."""
    described = results["machine"]
    hardware = "{processor}, {cores} cores, {memory}, {system}".format(**described)
    software = ", ".join(f"{name} {value}" for name, value in described.items() if name not in HARDWARE)
    lines = [
        "# Performance",
        "",
        "<!-- Made by benchmarks/run.py from docs/performance.json. All but version 0.1 is measured. -->",
        "",
        f"Made by `python benchmarks/run.py`, on {hardware}; {software}.",
        "",
        "Equality with a slow, obvious twin comes first: a fast wrong answer is worth nothing. Then how many",
        "times faster the same answer comes than from the twin or from a package that people would use",
        "instead, then time, peak memory, and the power of the size that time grows with: 1 is linear. A bar",
        "is what the project set itself; a missed one is marked. `docs/performance.json` has all figures;",
        "the page leaves out those without a bar where others of their kind have one.",
        *before_and_now(results["benchmarks"]),
        *side_by_side(results["benchmarks"].get(METHODS)),
        "",
        "## What people would use instead",
        "",
        "| package | does | does not | here |",
        "|---|---|---|---|",
    ]
    for peer in PEERS.values():
        here = "measured" if peer.name in results["peers"] else "not installed"
        lines.append(f"| {peer.name} | {peer.does} | {peer.does_not} | {here} |")
    lines += ["", "None of them releases histories, and none checks what was written."]
    for name in NAMES:
        if name not in results["benchmarks"] or name == METHODS:
            continue
        one = results["benchmarks"][name]
        lines += ["", f"## {name.replace('_', ' ')}", "", f"{title(name)}. `benchmarks/bench_{name}.py`", ""]
        if one["broken"]:
            lines += ["It did not end as it should; the figures below are those it had said by then.", ""]
        figures = [Figure(**each) for each in one["figures"]]
        equal = [each for each in figures if each.kind == "equality"]
        if equal:
            n_equal = sum(each.is_met for each in equal)
            lines += [f"Equal answers: {n_equal} of {len(equal)} comparisons.", ""]
        lines += ["| | what | figure | bar | |", "|---|---|---|---|---|"]
        for kind, heading in KINDS.items():
            of_kind = [each for each in figures if each.kind == kind and kind != "equality"]
            # Where some figures have a bar, the others of their kind are steps towards them.
            shown = [each for each in of_kind if each.bar is not None] or of_kind
            for place, figure in enumerate(shown):
                mark = "" if not figure.shown_bar else "met" if figure.is_met else "**missed**"
                what = figure.what.replace("|", "\\|")
                first = heading if place == 0 else ""
                lines.append(f"| {first} | {what} | {figure.shown} | {figure.shown_bar} | {mark} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=NAMES, help=f"which of {', '.join(NAMES)}")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name not in NAMES]:
        parser.error(f"no benchmark {unknown[0]!r}: there are {', '.join(NAMES)}")
    results = json.loads(JSON.read_text()) if JSON.exists() else {"benchmarks": {}}
    if not asked.page:
        results["machine"] = machine()
        results["peers"] = [name for name in PEERS if interpreter_of(name)]
        for name in asked.names:
            print(f"{name} ...", end=" ", flush=True)
            results["benchmarks"][name] = one = run(name)
            missed = [Figure(**each) for each in one["figures"] if not Figure(**each).is_met]
            said = "BROKEN" if one["broken"] else f"{len(missed)} missed" if missed else "fine"
            print(f"{one['seconds']} s, {len(one['figures'])} figures, {said}", flush=True)
            JSON.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    PAGE.write_text(page(results))
    answers = [
        not one["broken"] and all(Figure(**each).is_met for each in one["figures"])
        for one in results["benchmarks"].values()
    ]
    return 0 if all(answers) else 1


if __name__ == "__main__":
    sys.exit(main())
