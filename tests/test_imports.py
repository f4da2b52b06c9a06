"""No two modules import each other, directly or around corners, also not in functions; no method another."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"


def module_of(path):
    return path.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")


def imports_of(path, modules):
    """The modules of ours that run when a module or its functions run; types alone do not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("sequester"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else node.module


def find_cycle(imports):
    """The modules of a cycle, or none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def list_modules():
    return {module_of(path): path for path in SOURCE.rglob("*.py")}


def test_there_is_no_cycle():
    modules = list_modules()
    assert len(modules) > 200
    imports = {name: {*imports_of(path, modules)} - {name} for name, path in modules.items()}
    assert find_cycle(imports) == []


def test_a_cycle_is_found():
    assert set(find_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == {"a", "b", "c"}


def test_no_method_imports_another():
    modules = list_modules()
    folders = {path.parent.name for path in (SOURCE / "sequester/methods").glob("*/__init__.py")}
    assert len(folders) > 1
    for name, path in modules.items():
        parts = name.split(".")
        if parts[:2] == ["sequester", "methods"] and parts[-1] != "methods":
            imported = {each.split(".")[2] for each in imports_of(path, modules) if each.count(".") > 1}
            assert imported & folders <= {parts[2]}, name
