"""Every benchmark in one go, and the page about performance that is made of what they say.

    python benchmarks/run.py                          all of them, then docs/performance.json and .md
    python benchmarks/run.py halt ph                  some; the figures of the others stay as they are
    python benchmarks/run.py ph:optimum               a part of one; its other figures stay as they are
    python benchmarks/run.py --page                   the page again, from figures that are there
    python benchmarks/run.py --figures halt           print all kept figures of some

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
    "task": "Task",
}
"""Kinds of figures in their order on the page."""
HARDWARE = ("processor", "cores", "memory", "system")
METHODS = "methods"
"""The benchmark that puts the methods side by side."""
ABOUT_METHODS = """\
Each method on made data that it is meant for (`benchmarks/bench_methods.py`): time of a release with its
check; [loss](measures.md), where 1 is everything (of hidden patterns: the share lost or new; of records: the
share not published); the [adversary](attacks.md) who comes closest to the promised bound. Promises differ:
compare methods on the same data only."""


ABOUT_WAYS = """\
Methods that have a former and a newer way (`ph`: also two preferences; `benchmarks/bench_methods.py`), on the
data above, in processor time; and what each way loses on small cases that can be gone through, beside the
optimum (of `ph`: side effects; of `reposition`: cost; of `top-down` and `bottom-up`: per symbol). The optimum
of `p2ka` is that of any release that keeps the promise, truthful or not. All others have one way."""
GAPS = {
    "halt": "suppression",
    "cblda": "cblda",
    "ph": "ph",
    "top-down": "mutual_information",
    "bottom-up": "mutual_information",
    "reposition": "reposition",
    "p2ka": "p2ka",
}
"""Method to the benchmark that holds small cases against the optimum."""


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


def run(name: str, part: str = "") -> dict[str, Any]:
    """Run a benchmark, or a part; give its figures, its seconds and whether it ended as it should."""
    LOGS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, (LOGS / f"{name}.txt").open("w") as log:
        ledger = Path(folder) / "figures"
        ledger.touch()
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, str(Path(__file__).with_name(f"bench_{name}.py")), *part.split()],
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


def merged(before: dict[str, Any] | None, part: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a benchmark with those of a part that was run again."""
    if before is None:
        return part
    again = {(each["kind"], each["what"]) for each in part["figures"]}
    kept = [each for each in before["figures"] if (each["kind"], each["what"]) not in again]
    return {
        **before,
        "figures": [*kept, *part["figures"]],
        "broken": before["broken"] or part["broken"],
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


def both_ways(benchmarks: dict[str, Any]) -> list[str]:
    """Put the former way of each method beside the newer one."""
    rows: dict[tuple[str, str], dict[str, dict[str, Figure]]] = {}
    for figure in figures_of(benchmarks, METHODS):
        what, _, way = figure.what.partition(" = ")
        if way and figure.kind in ("seconds", "loss"):
            data, _, method = what.rpartition(", ")[0].partition(": ")
            rows.setdefault((data, method), {}).setdefault(way, {})[figure.kind] = figure
    if not rows:
        return []
    lines = [
        "",
        "## The former way and the newer one",
        "",
        *ABOUT_WAYS.splitlines(),
        "",
        "| method | data | way | loss | time | small cases | optimum |",
        "|---|---|---|---|---|---|---|",
    ]
    for (data, method), ways in rows.items():
        for way, cells in ways.items():
            small = (gap(benchmarks, method, each) for each in (way, "optimum"))
            told = f"{cells['loss'].value:.3f} | {cells['seconds'].shown} | {' | '.join(small)}"
            lines.append(f"| `{method}` | {data} | {way} | {told} |")
    return lines


def gap(benchmarks: dict[str, Any], method: str, way: str) -> str:
    """Return what a way of a method loses on small cases, or the optimum; empty where not known."""
    for figure in figures_of(benchmarks, GAPS.get(method, "")):
        if figure.kind == "loss" and " small " in figure.what and "share of" not in figure.what:
            # Searches of leakage are noted with the name of their method.
            rest, _, last = figure.what.rpartition(", ")
            if last == way and (method not in ("top-down", "bottom-up") or rest.endswith(f", {method}")):
                return f"{figure.value:.3f}"
    return ""


def figures_of(benchmarks: dict[str, Any], name: str) -> list[Figure]:
    """Return the figures of a benchmark; none where it was not run."""
    return [Figure(**each) for each in benchmarks.get(name, {"figures": []})["figures"]]


def before_and_now(benchmarks: dict[str, Any]) -> list[str]:
    """Put what version 0.1 took beside what the same takes now."""
    lines = [
        "",
        "## Before and now",
        "",
        "Figures of version 0.1 were reported then; inputs may differ (ph has more patterns now).",
        "",
        "| | version 0.1 | now |",
        "|---|---|---|",
    ]
    for name, figures in BEFORE.items():
        taken = figures_of(benchmarks, name)
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
        *before_and_now(results["benchmarks"]),
        *side_by_side(results["benchmarks"].get(METHODS)),
        *both_ways(results["benchmarks"]),
        "",
        "## Every benchmark",
        "",
        f"Equal: same answers as a slow twin or another package ({', '.join(PEERS)}; here measured:",
        f"{', '.join(results['peers']) or 'none'}). Lead: times faster, the smallest. All figures:",
        "`python benchmarks/run.py --figures NAME`.",
        "",
        "| benchmark | equal | bars met | lead | longest | | peak memory |",
        "|---|---|---|---|---|---|---|",
    ]
    missed = []
    for name in NAMES:
        if name not in results["benchmarks"]:
            continue
        one = results["benchmarks"][name]
        figures = [Figure(**each) for each in one["figures"]]
        broken = ", **did not end as it should**" if one["broken"] else ""
        lines.append(f"| `{name}`{broken} | {' | '.join(summary(figures))} |")
        missed += [(name, each) for each in figures if each.shown_bar and not each.is_met]
    if missed:
        lines += ["", "Missed:", "", "| benchmark | what | figure | bar |", "|---|---|---|---|"]
        lines += [
            f"| `{name}` | {in_cell(each.what)} | {each.shown} | {each.shown_bar} |" for name, each in missed
        ]
    return "\n".join(lines) + "\n"


def in_cell(text: str) -> str:
    """Return a text as a cell of a table."""
    return text.replace("|", "\\|")


def summary(figures: list[Figure]) -> list[str]:
    """Return the cells of a benchmark: equal answers, bars met, least lead, longest time, most memory."""
    by_kind = {kind: [each for each in figures if each.kind == kind] for kind in KINDS}
    equal, barred = by_kind["equality"], [each for each in figures if each.shown_bar]

    def value(figure: Figure) -> float:
        return figure.value

    def met(some: list[Figure]) -> str:
        return f"{sum(each.is_met for each in some)} of {len(some)}" if some else ""

    lead = min(by_kind["lead"], key=value, default=None)
    longest = max(by_kind["seconds"], key=value, default=None)
    memory = max(by_kind["memory"], key=value, default=None)
    return [
        met(equal),
        met(barred),
        lead.shown if lead else "",
        in_cell(longest.what) if longest else "",
        longest.shown if longest else "",
        memory.shown if memory else "",
    ]


def all_figures(name: str, one: dict[str, Any]) -> str:
    """Return every figure of a benchmark as a table."""
    lines = [f"{name}: {title(name)}", "", "| | what | figure | bar | |", "|---|---|---|---|---|"]
    for each in sorted((Figure(**each) for each in one["figures"]), key=lambda one: [*KINDS].index(one.kind)):
        mark = "" if not each.shown_bar else "met" if each.is_met else "**missed**"
        lines.append(
            f"| {KINDS[each.kind]} | {in_cell(each.what)} | {each.shown} | {each.shown_bar} | {mark} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", default=NAMES, help=f"which of {', '.join(NAMES)}, or a part: NAME:PART"
    )
    parser.add_argument("--page", action="store_true", help="only write the page again")
    parser.add_argument("--figures", action="store_true", help="print all figures that are kept, and end")
    asked = parser.parse_args()
    if unknown := [name for name in asked.names if name.partition(":")[0] not in NAMES]:
        parser.error(f"no benchmark {unknown[0]!r}: there are {', '.join(NAMES)}")
    results = json.loads(JSON.read_text()) if JSON.exists() else {"benchmarks": {}}
    if asked.figures:
        print("\n".join(all_figures(name, results["benchmarks"][name]) for name in asked.names))
        return 0
    if not asked.page:
        results["machine"] = machine()
        results["peers"] = [name for name in PEERS if interpreter_of(name)]
        for each in asked.names:
            print(f"{each} ...", end=" ", flush=True)
            name, _, part = each.partition(":")
            one = run(name, part)
            results["benchmarks"][name] = merged(results["benchmarks"].get(name), one) if part else one
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
