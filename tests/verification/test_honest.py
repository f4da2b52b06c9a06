"""An honest release of every method verifies, alone where it can, and with all that its publisher knows."""

from __future__ import annotations

import json

import pytest

import sequester as sq
from verification.published import CASES, publish


@pytest.mark.parametrize("name", CASES)
def test_an_honest_release_verifies_and_names_its_columns(name, tmp_path):
    made = publish(name, tmp_path)
    found = made.verify()
    assert found.lines == ()
    if not made.model.needs_original:
        assert made.verify(original=False).lines == ()
    columns = json.loads((made.folder / "certificate.json").read_bytes())["claim"]["columns"]
    tables = sq.open(made.folder).tables
    assert {table: list(roles) for table, roles in columns.items()} == {
        table: frame.columns for table, frame in tables.items()
    }


def test_every_method_is_tried():
    assert {method.name for method, _ in CASES.values()} == set(sq.methods.METHODS)
