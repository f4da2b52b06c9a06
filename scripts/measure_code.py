"""Count files, code lines and imports between packages, for docs/architecture.md.

Code lines are lines that are neither blank, nor a comment, nor part of a docstring; the text below an
attribute or a constant is a docstring, too. An import between packages is an import statement in one package
of sequester that names another. Below the table: modules that one other module imports, and the median of
code lines per module.

    python scripts/measure_code.py                           a table of this checkout
    python scripts/measure_code.py --json                    the same, for `--before`
    python scripts/measure_code.py --source src/sequester    of another checkout
    python scripts/measure_code.py --before before.json --write docs/architecture.md
"""

from __future__ import annotations

import argparse
import ast
import json
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "sequester"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
LONG, WIDE = 80, 10
"""Lines and arguments above which a function is counted as long or wide."""

ONE_IMPORTER, MEDIAN = "modules with one importer", "median code lines per module"
ALL = "all"
"""The entry with the numbers that are about all modules together."""

Numbers = dict[str, int]


def measure(source: Path = SOURCE) -> dict[str, Numbers]:
    """Return the numbers of every package, of the modules beside them under ``(top)``, and of all modules."""
    packages: dict[str, Counter[str]] = {}
    lengths = []
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).parts
        package = parts[0] if len(parts) > 1 else "(top)"
        numbers = _measure_file(path, package)
        packages.setdefault(package, Counter()).update(numbers)
        lengths.append(numbers["lines"])
    importers = count_importers(source)
    everywhere = {ONE_IMPORTER: sum(count == 1 for count in importers.values()), MEDIAN: int(median(lengths))}
    return {**{name: dict(numbers) for name, numbers in packages.items()}, ALL: everywhere}


def count_importers(source: Path = SOURCE) -> dict[str, int]:
    """Return how many other modules import each module; packages themselves are left out."""
    modules = {
        ".".join(("sequester", *path.relative_to(source).with_suffix("").parts)): path
        for path in sorted(source.rglob("*.py"))
    }
    importers: dict[str, set[str]] = defaultdict(set)
    for name, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                named = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
            elif isinstance(node, ast.Import):
                named = {alias.name for alias in node.names}
            else:
                continue
            for module in named & modules.keys():
                importers[module].add(name)
    return {
        name: len(importers[name] - {name})
        for name, path in modules.items()
        if path.name not in {"__init__.py", "__main__.py"}
    }


def _measure_file(path: Path, package: str) -> Numbers:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    documentation = set()
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for node in ast.walk(tree):
        # A statement that is nothing but a text documents what it stands in, or what stands above it.
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            continue
        if isinstance(node.value.value, str):
            documentation.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    code = sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in documentation
        for number, line in enumerate(text.splitlines(), start=1)
    )
    return {
        "files": 1,
        "lines": code,
        "imports": sum(_crosses(node, package) for node in ast.walk(tree)),
        "long": sum(
            (node.end_lineno or 0) - node.lineno >= LONG
            or len(node.args.args) + len(node.args.kwonlyargs) > WIDE
            for node in functions
        ),
    }


def _crosses(node: ast.AST, package: str) -> bool:
    """Return whether a statement imports from another package of sequester."""
    if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("sequester."):
        return False
    return (node.module or "").split(".")[1] != package


def table(now: dict[str, Numbers], before: dict[str, Numbers]) -> str:
    """Return the numbers as a Markdown table, before and after where both are known."""
    heads = [
        ("files", "files"),
        ("lines", "code lines"),
        ("imports", "imports from other packages"),
        ("long", "long functions"),
    ]
    lines = [
        "| package | " + " | ".join(head for _, head in heads) + " |",
        "|---" * (len(heads) + 1) + "|",
    ]
    lines += [
        _row(package, now.get(package, {}), before.get(package, {}), heads, before=bool(before))
        for package in sorted({*now, *before} - {ALL})
    ]
    total = [
        {key: sum(numbers.get(key, 0) for numbers in each.values()) for key, _ in heads}
        for each in (now, before)
    ]
    lines.append(_row("**all**", total[0], total[1], heads, before=bool(before)))
    for name in (ONE_IMPORTER, MEDIAN):
        old, new = (each.get(ALL, {}).get(name, 0) for each in (before, now))
        lines += ["", f"{name[0].upper()}{name[1:]}: {f'{old:,} → ' if before else ''}{new:,}."]
    return "\n".join(lines)


def _row(name: str, now: Numbers, old: Numbers, heads: list[tuple[str, str]], *, before: bool) -> str:
    cells = [
        f"{old.get(key, 0):,} → {now.get(key, 0):,}" if before else f"{now.get(key, 0):,}" for key, _ in heads
    ]
    return f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table, or write it into a page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--source", type=Path, default=SOURCE)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--before", type=Path)
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    now = measure(asked.source)
    before = json.loads(asked.before.read_text(encoding="utf-8")) if asked.before else {}
    text = json.dumps(now, indent=1) if asked.json else table(now, before)
    if asked.write is None:
        print(text)
        return
    page = asked.write.read_text(encoding="utf-8")
    head, tail = page[: page.index(BEGIN) + len(BEGIN)], page[page.index(END) :]
    asked.write.write_text(f"{head}\n{text}\n{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
