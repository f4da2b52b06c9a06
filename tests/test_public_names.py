"""What ``import sequester as sq`` offers, and that it costs nothing until it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import sequester as sq


@pytest.mark.parametrize("name", sq.__all__)
def test_every_public_name_is_there(name):
    assert getattr(sq, name) is getattr(sq, name)
    assert name in dir(sq)


def test_editors_see_the_same_names():
    tree = ast.parse(Path(sq.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname or alias.name
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen | {"__version__"} == set(sq.__all__)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Magic'"):
        _ = sq.Magic


def test_verify_stays_callable_whatever_is_imported_first():
    code = "import sequester.verify.verify, sequester as sq; print(callable(sq.verify), sq.verify.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True sequester.verify\n"


def test_import_loads_nothing_heavy():
    heavy = {"polars", "numba", "numpy", "pydantic"}
    code = f"import sequester, sys; print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
