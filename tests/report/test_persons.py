"""The pages say what the table of persons holds, and leave nobody's raw attribute on the public one."""

from __future__ import annotations

import polars as pl
import pytest

from sequester.data.persons import Persons
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.hierarchies import Hierarchy
from sequester.methods import HALT
from sequester.report.page import external_page, internal_page

YEARS = Hierarchy.intervals(10)


@pytest.fixture(scope="module")
def released():
    visits = pl.DataFrame({"PID": list("aabbcc"), "n": [1, 2] * 3, "ward": list("xyxyxy")})
    patients = pl.DataFrame({"PID": list("abcd"), "Born": [1951, 1952, 1953, 1954]})
    persons = Persons(patients, quasi={"Born": YEARS})
    table = EventTable(visits, Schema("PID", "n", quasi={"ward": Hierarchy.flat()}), persons)
    return HALT(k=2, c=1, p=1).apply(table, seed="a seed of enough letters"), table


def test_the_public_page_has_a_section_for_persons(released):
    release, _ = released
    page = external_page(release)
    assert "4 persons have a row in <code>persons.csv</code>" in page
    assert "1 of them have no events" in page
    assert "the same pseudonym as in the events" in page
    assert "[1950:1959]" in page
    assert "1951" not in page
    assert "<code>records</code>" not in page


def test_the_internal_page_compares_persons(released):
    release, table = released
    page = internal_page(release, original=table)
    assert "4 persons have a row in <code>persons.csv</code>" in page
    assert "1951" in page
    assert "Most frequent values of Born" in page


def test_without_persons_there_is_no_section():
    visits = pl.DataFrame({"PID": list("aabb"), "n": [1, 2] * 2, "ward": list("xyxy")})
    table = EventTable(visits, Schema("PID", "n", quasi={"ward": Hierarchy.flat()}))
    release = HALT(k=2, c=1, p=1).apply(table, seed="a seed of enough letters")
    assert "persons.csv" not in external_page(release) + internal_page(release, original=table)
