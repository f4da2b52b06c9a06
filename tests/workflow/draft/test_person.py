"""Who: by name, by how values repeat, and the steward's word above both."""

from __future__ import annotations

import polars as pl
import pytest

from sequester.errors import InputError
from sequester.workflow.draft.draft import draft_of

PAGES = ["x", "y", "z", "x"] * 10


def person(columns, **options):
    return draft_of(pl.DataFrame({"at": ["2010-01-31"] * 40, **columns, "page": PAGES}), **options).person


@pytest.mark.parametrize(
    "name",
    [
        "case_id",
        "case:concept:name",
        "PATIENT",
        "userId",
        "DESYNPUF_ID",
        "subject_id",
        "Case no.",
        "PID",
        "Id",
        "nutzer",
    ],
)
def test_by_name(name):
    found = person({"ward": list("ab") * 20, name: [f"k{i % 13}" for i in range(40)]})
    assert found.column == name
    assert found.why == "named like persons; 13 distinct values, 3.1 rows each"


def test_keys_of_what_happens_are_no_persons():
    found = person({"CLM_ID": [str(i) for i in range(40)], "member": [f"m{i % 7}" for i in range(40)]})
    assert found.column == "member"


def test_a_sure_name_wins_over_a_plain_id():
    keys = {"id": [f"k{i % 13}" for i in range(40)], "patient": [f"p{i % 11}" for i in range(40)]}
    assert person(keys).column == "patient"


def test_where_two_could_be_it_both_are_named():
    keys = {"a_id": [f"k{i % 13}" for i in range(40)], "b_key": [f"p{i % 11}" for i in range(40)]}
    found = person(keys)
    assert found.column == "a_id"
    assert found.doubt == "it could also be 'b_key'"


def test_by_shape_where_rows_stand_together():
    found = person({"label": [f"k{i // 4}" for i in range(40)]})
    assert found.column == "label"
    assert found.doubt == "nothing in its name says that it is a person"
    scattered = person({"label": [f"k{i % 10}" for i in range(40)]})
    assert scattered.column == "row"
    assert scattered.doubt.startswith("no column repeats like persons")


def test_one_row_each_is_a_person_per_row_unless_something_says_when():
    frame = pl.DataFrame({"subject_id": [f"s{i}" for i in range(40)], "sex": ["f", "m"] * 20, "born": PAGES})
    draft = draft_of(frame)
    assert draft.person.column == "row"
    assert [each.column for each in draft.drop] == ["subject_id"]
    dated = frame.with_columns(at=pl.lit("2010-01-31"))
    assert draft_of(dated).person.column == "subject_id"


def test_one_person_is_a_person():
    frame = pl.DataFrame({"user": ["me"] * 4, "at": ["2010-01-31"] * 4, "activity": list("abca")})
    assert draft_of(frame).person.column == "user"


def test_what_is_only_called_id_is_what_happened_if_nothing_else_did():
    frame = pl.DataFrame({"Start time": [f"2010-01-{day:02}" for day in range(1, 29)], "ID": ["1", "2"] * 14})
    draft = draft_of(frame)
    assert (draft.person.column, draft.symbol.column) == ("row", "ID")


def test_the_word_of_the_steward():
    columns = {"user": [f"k{i % 13}" for i in range(40)], "ward": list("ab") * 20, "none": [None] * 40}
    found = person(columns, person="ward")
    assert (found.column, found.why) == ("ward", "as you say; 2 distinct values, 20.0 rows each")
    assert person(columns, person="row").column == "row"
    for wrong in ("nobody", "none"):
        with pytest.raises(InputError) as caught:
            person(columns, person=wrong)
        assert caught.value.lines == (
            f"person must be 'row' or a column with values ('at', 'user', 'ward', 'page'), got '{wrong}'",
        )


def test_a_second_name_of_persons_never_leaves():
    columns = {"user": [f"k{i % 13}" for i in range(40)], "client": [f"c{i % 13}" for i in range(40)]}
    draft = draft_of(pl.DataFrame({"at": ["2010-01-31"] * 40, **columns, "page": PAGES}), person="user")
    assert [each.column for each in draft.drop] == ["client"]


def test_a_column_called_row_is_a_column():
    frame = pl.DataFrame({"row": ["1", "2"] * 4, "sex": ["f", "m", "m", "f"] * 2, "age": list("12345678")})
    draft = draft_of(frame)
    assert draft.person.column == "row"
    assert "row" in {each.column for each in (*draft.quasi, *draft.drop)}
