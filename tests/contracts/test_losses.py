"""Every method's release loses what an independent count says, and every face of it says the same."""

from __future__ import annotations

import json
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.test_laws import CASES, LETTERS, short_rows
from oracles.losses import count_losses
from sequester.errors import SequesterWarning, UnattainableError
from sequester.report.page import internal_document, internal_page
from sequester.workflow.write import check_suppressed

PERMUTING = {"ph", "sbsh", "abul"}


def above(label):
    """A label and what lies above it in the tree of the examples."""
    while True:
        yield label
        if label == "*":
            return
        label = LETTERS.get(label, "*")


def stands_for(released, event):
    """A released event shows an own one as it was or coarser, with the same sensitive value."""
    if isinstance(event, tuple):
        return released[0] in above(event[0]) and released[1] == event[1]
    return released in above(event)


def counted(release, table):
    """What the oracle counts, from the rows that would be published and who is who."""
    if release.n_persons is None:
        return table.n_events - release.frame.height, 0, 0
    names = dict(release.pseudonyms.iter_rows())
    columns = [column for column in ("symbol", "letter", "ill") if column in release.frame.columns]
    given = {}
    for row in release.frame.select("person", *columns).iter_rows():
        given.setdefault(row[0], []).append(row[1] if len(row) == 2 else row[1:])
    own = [[] for _ in range(table.n_persons)]
    for person, (start, stop) in enumerate(
        zip(table.person_offsets[:-1], table.person_offsets[1:], strict=True)
    ):
        rows = table.frame[int(start) : int(stop)].select(columns).rows()
        own[person] = [row[0] if len(row) == 1 else row for row in rows]
    after = [given.get(names.get(person), []) for person in table.persons]
    return count_losses(
        own,
        after,
        is_blank=lambda event: (event[0] if isinstance(event, tuple) else event) == "*",
        stands_for=stands_for,
        permuted=release.method in PERMUTING,
    )


def made(method, table, *, evaluate=True):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        try:
            return method.apply(table, seed="a sentence that nobody guesses", evaluate=evaluate)
        except UnattainableError:
            return None


@pytest.mark.parametrize(("method", "judge", "make"), CASES)
@given(rows=short_rows, evaluate=st.sampled_from([False, False, False, True]))
@settings(max_examples=25)
def test_the_oracle_counts_what_is_reported(method, judge, make, rows, evaluate):
    table = make(rows)
    release = made(method, table, evaluate=evaluate)
    if release is None:
        return
    lost, moved, invented = counted(release, table)
    assert (release.n_lost_events, release.n_moved_items, release.n_invented_items) == (lost, moved, invented)
    if evaluate:
        # Measures take longer than the method, so they are not asked for on every table.
        assert release.utility["suppressed_events"].value == pytest.approx(lost / table.n_events)


@pytest.mark.parametrize(("method", "judge", "make"), CASES)
def test_every_face_says_the_same_number(method, judge, make):
    table = make(["abc", "abc", "abc", "ab", "ab", "cba", "bca", "cab", "bbc", "ca"] * 2)
    release = made(method, table)
    assert release is not None
    assert set(release.verdict.achieved) <= set(release.model.level_meanings)
    lost, _, invented = counted(release, table)
    share = lost / table.n_events
    assert release.utility["suppressed_events"].value == pytest.approx(share)
    document = json.loads(internal_document(release, original=table))
    assert document["counts"]["events"]["lost"] == lost
    assert document["counts"]["events"]["invented"] == invented
    assert document["counts"]["journey"]["method"]["lost"] == lost
    assert release.unseen_share == pytest.approx(share)
    assert f"lost {lost:,} event" in " ".join(repr(release).split())
    assert "From rows to the release" in internal_page(release, original=table)
    assert check_suppressed(release, max_suppressed=share + 1e-9) == []
    if lost:
        with pytest.raises(UnattainableError, match=f"{lost:,} of {table.n_events:,}") as refusal:
            check_suppressed(release, max_suppressed=share - 1e-6)
        assert refusal.value.achieved["max_suppressed"] == pytest.approx(share)
