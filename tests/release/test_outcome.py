"""Fresh names, a random order, and the model's own check between a method and its release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.errors import InternalError
from sequester.privacy import SequenceKAnonymity
from sequester.release.outcome import Outcome, assemble
from sequester.release.randomness import Randomness

if TYPE_CHECKING:
    from sequester.release.release import Release

SEED = "a sentence that nobody guesses"


def table_of(rows: list[str]) -> EventTable:
    events = [(f"raw-{i}", n, symbol) for i, row in enumerate(rows) for n, symbol in enumerate(row)]
    frame = pl.DataFrame(events, schema={"who": pl.String, "at": pl.Int64, "page": pl.String}, orient="row")
    return EventTable(frame, Schema(person="who", order="at", symbol="page"))


def assembled(
    rows: list[str], kept: list[str], *, k: int = 2, seed: str = SEED, strict: bool = True
) -> Release:
    """A release of `kept`, person by person, of a table of `rows`; an empty row is not released."""
    outcome = Outcome(
        sequences=Sequences.from_rows(kept, column="page"),
        schema=Schema(person="person", order="order", symbol="page", released=True),
        changes=pl.DataFrame({"row": [1]}),
        n_lost_events=sum(map(len, rows)) - sum(map(len, kept)),
        limits=("a limit",),
        warnings=("a warning",),
    )
    return assemble(
        outcome,
        table_of(rows),
        method="by hand",
        parameters={"k": k},
        model=SequenceKAnonymity(k=k, strict=strict),
        randomness=Randomness.of(seed),
    )


def rows_by_person(release: Release) -> dict[str, str]:
    """Released rows under the names of the input."""
    raw = dict(zip(release.pseudonyms["pseudonym"], release.pseudonyms["person"], strict=True))
    groups = release.frame.group_by("person", maintain_order=True)
    return {raw[str(name)]: "".join(group["page"]) for (name,), group in groups}


@given(st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=6), st.data())
def test_every_released_person_has_their_own_events_in_order(rows, data):
    rows = rows * 2
    gone = data.draw(st.sets(st.sampled_from(sorted(set(rows))), max_size=len(set(rows)) - 1))
    # Whole classes go, so that those who stay keep the promise.
    release = assembled(rows, ["" if row in gone else row for row in rows])
    assert rows_by_person(release) == {f"raw-{i}": row for i, row in enumerate(rows) if row not in gone}
    assert release.frame.columns == ["person", "order", "page"]
    for _, group in release.frame.group_by("person"):
        assert group["order"].to_list() == list(range(1, group.height + 1))
    persons = release.frame["person"].unique(maintain_order=True)
    assert persons.to_list() == sorted(persons.to_list()) == release.pseudonyms["pseudonym"].to_list()
    assert release.n_lost_events == sum(len(row) for row in rows if row in gone)
    assert release.lost_share == pytest.approx(release.n_lost_events / release.n_input_events)


def test_the_verdict_is_what_a_recipient_counts_and_the_original_is_asked_too():
    release = assembled(["ab", "ab", "ab", "b", "b"], ["ab", "ab", "ab", "b", "b"])
    assert release.verdict.achieved == {"k": 3}
    fewer = assembled(["ab", "ab", "b", "b"], ["ab", "ab", "ab", "b"])
    # Three released records hold "ab"; that two did in the original is not told.
    assert fewer.verdict.achieved == {"k": 3}
    with pytest.raises(InternalError, match=r"by hand made a release that breaks its promise: .*'a', 'b'"):
        assembled(["ab", "b", "b", "b"], ["ab", "ab", "b", "b"])


def test_a_promise_about_the_original_is_told_as_it_is():
    release = assembled(["ab", "abxyz", "cxyz", "cxyz"], ["ab", "cxyz", "cxyz", "cxyz"], strict=False)
    assert release.verdict.achieved == {"k": 2}


def test_a_release_that_breaks_its_promise_never_leaves():
    with pytest.raises(InternalError, match="breaks its promise"):
        assembled(["ab", "c"], ["ab", "c"])


def test_the_same_seed_gives_the_same_release_and_other_data_other_names():
    rows = ["ab"] * 4 + ["c"] * 4
    once, again = assembled(rows, rows), assembled(rows, rows)
    assert once.frame.equals(again.frame)
    assert not once.frame.equals(assembled(rows, rows, seed="another sentence nobody guesses").frame)
    other = assembled(rows, [*rows[:4], "", "", "c", "c"])
    # Otherwise two releases under one seed could be joined by their pseudonyms.
    assert not set(once.frame["person"]) & set(other.frame["person"])


def test_persons_are_shuffled():
    rows = ["a" * (1 + i // 2) for i in range(200)]
    release = assembled(rows, rows)
    lengths = release.frame.group_by("person", maintain_order=True).len()["len"].to_numpy()
    assert abs(np.corrcoef(lengths, np.arange(200))[0, 1]) < 0.3


def test_the_table_of_a_release_reads_as_a_recipient_would():
    release = assembled(["ab", "ab"], ["ab", "ab"])
    assert release.table.sequences.to_rows() == [("a", "b"), ("a", "b")]
    assert release.table.n_persons == 2
