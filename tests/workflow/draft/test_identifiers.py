"""What names somebody, points at a row or says nothing never leaves."""

from __future__ import annotations

import polars as pl
import pytest

from sequester.workflow.draft.column import Column
from sequester.workflow.draft.identifiers import reason_to_drop

N = 40


def reason(name, values):
    return reason_to_drop(Column(name, pl.Series(values)))


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("contact", [f"p{i}@example.org" for i in range(N)], "look like e-mail addresses"),
        ("x", ["a@b.org", None, "c@d.org", None], "look like e-mail addresses"),
        ("x", ["999-47-2873", "999-86-8320"], "look like social security numbers"),
        ("x", ["+49 89 1234567", "(089) 123 45 67"], "look like phone numbers"),
        ("x", ["10.0.0.1", "192.168.1.20"], "look like network addresses"),
        ("x", ["https://a.org/p?u=1", "https://b.org"], "look like links"),
        ("x", ["4111 1111 1111 1111", "5500-0000-0000-0004"], "look like card numbers"),
        (
            "ENCOUNTER",
            ["a323b61e-796b-44f8-830c-bfc5b3fd40ca", "d5fc9f71-d3f2-40bb-8ca2-399934c30023"],
            "look like keys",
        ),
        ("Phone", ["1", "x"], "named like phone numbers"),
        ("SSN", ["x", "y"], "named like social security numbers"),
        ("e-mail", ["x", "y"], "named like e-mail addresses"),
        ("FIRST", ["Ann", "Bob"], "named like names of people"),
        ("patient name", ["Ann", "Bob"], "named like names of people"),
        ("hadm_id", [str(i % 120) for i in range(200)], "named like a key"),
        ("line", range(1, N + 1), "no value repeats, as in the key of a row"),
        ("note", [f"text {i}" for i in range(N)], "hardly any value repeats"),
        ("note", [f"{'word ' * 10}{i % 20}" for i in range(N)], "prose, in which anything may stand"),
        ("x", [None, None], "is always empty"),
        ("x", ["", ""], "is always empty"),
        ("lifecycle", ["complete", "complete"], "is always 'complete', which says nothing"),
        ("x", [[1], [2]], "holds List(Int64), which is no single value"),
        ("group", ["a", "b"], "a release has a column 'group' of its own"),
    ],
)
def test_reasons(name, values, why):
    assert why in reason(name, values)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("concept:name", ["a", "b"]),
        ("page name", ["a", "b"]),
        ("drivers", [0, 1, 2, 1]),
        ("ward_id", ["1", "2", "1"]),
        ("amount", [i * 1.5 for i in range(N)]),
        ("steps", [i * i * 7 for i in range(N)]),
        ("block", ["9600-9699", "4700-4799"]),
        ("day", ["2010-01-31", "2010-02-01"]),
        ("flag", ["x", None]),
        ("lat", [40.1 + i / 1000 for i in range(N)]),
    ],
)
def test_what_may_leave(name, values):
    assert reason(name, values) is None
