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


def test_public_names_are_those_of_the_stub():
    stub = ast.parse(Path(sq.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    named = [alias.asname for node in stub.body for alias in node.names]
    assert named == sq.__all__
    assert len(set(named)) == len(named)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Magic'"):
        _ = sq.Magic


def test_verify_is_a_function_whatever_is_imported_first():
    code = "import sequester.verification.verify, sequester as sq; print(type(sq.verify).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "function\n"


def test_import_loads_nothing_heavy():
    heavy = {"polars", "numba", "numpy", "pydantic"}
    code = f"import sequester, sys; print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
