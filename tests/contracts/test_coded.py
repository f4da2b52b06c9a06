"""Columns that were coded as they were read, four bytes per cell, give the release of text."""

from __future__ import annotations

import polars as pl
import pytest

from contracts.test_engines import ROWS
from contracts.test_laws import CASES
from sequester.attacks import attack_tables
from sequester.data.table import EventTable
from sequester.methods import HALT
from sequester.testing import history_table
from sequester.testing.checks import _run, _run_bytes
from sequester.workflow.inspect import inspect


def coded_twin(table):
    """The same table as data in parts gives it: coded as it was read, everything held once."""
    codes = (table.frame[name].cast(pl.Categorical) for name in table.schema.attributes)
    return EventTable(table.frame.with_columns(codes), table.schema).compact()


@pytest.mark.filterwarnings("ignore::sequester.SequesterWarning")
@pytest.mark.parametrize(("method", "judge", "make"), CASES)
def test_coded_columns_give_the_same_release(method, judge, make):
    table = make(ROWS)
    coded = coded_twin(table)
    assert all(isinstance(coded.frame[name].dtype, pl.Categorical) for name in table.schema.attributes)
    assert _run_bytes(_run(method, coded)) == _run_bytes(_run(method, table))


def test_coded_columns_give_the_same_risks():
    table = history_table(ROWS)
    release = HALT(k=2, c=1, p=2).apply(table, seed="a sentence that nobody guesses", evaluate=False)
    asked = {"model": release.model, "thorough": True, "known": (1, 2)}
    found = [attack_tables(release.table, original=each, **asked) for each in (table, coded_twin(table))]
    assert found[0] == found[1]
    assert inspect(coded_twin(table)).to_json() == inspect(table).to_json()
