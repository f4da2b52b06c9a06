"""A release with quasi-identifiers and sensitive attributes travels: assembled, written, read, judged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest

from release.samples import Pages
from sequester.data.schema import Schema, Sensitive
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.errors import InputError, InternalError
from sequester.hierarchies import Hierarchy
from sequester.privacy import KCPPrivacy
from sequester.release.certificate import released_schema
from sequester.release.outcome import Outcome, assemble
from sequester.release.randomness import Randomness
from sequester.verification.verify import open_parts as open_release
from sequester.verification.verify import verify
from sequester.workflow.write import write
from verification.doctoring import edit_certificate, rehash, replace_table

if TYPE_CHECKING:
    from pathlib import Path

    from sequester.release.release import Release


ZIPS = Hierarchy.mask([3, 1])
STAYS = Hierarchy.from_tree({"short": ["1", "2"], "long": ["30"]})
ILL = Hierarchy.from_tree({"infection": ["HIV", "flu"], "injury": ["burn", "cut"]})

EVENTS = [
    # who, n, ZIP, stay, first and second diagnosis, a diagnosis that is known unless it is protected, ward
    ("ann", 1, "56117", "1", "HIV", "cold", "HIV", "east"),
    ("ann", 2, "56103", "30", "cold", "cold", "flu", "west"),
    ("bob", 1, "56103", "2", "cold", "cold", "flu", "east"),
    ("bob", 2, "56117", "30", "cold", "cold", "flu", "west"),
    ("cat", 1, "56117", "1", "cold", "cold", "flu", "east"),
    ("cat", 2, "56117", "30", "cold", "cold", "flu", "east"),
    ("dan", 1, "57002", "2", "cold", "cold", "flu", "west"),
]
COLUMNS = ["who", "n", "ZIP", "stay", "D1", "D2", "ill", "ward"]


def original() -> EventTable:
    return EventTable(
        pl.DataFrame(EVENTS, schema=COLUMNS, orient="row"),
        Schema(
            person="who",
            order="n",
            quasi={"ZIP": ZIPS, "stay": STAYS, "ill": ILL},
            sensitive={"Disease": Sensitive(columns=("D1", "D2"), protect=["HIV"]), "ill": ["HIV"]},
            keep=["ward"],
        ),
    )


def outcome_of(table: EventTable, *, persons: int = 3) -> Outcome:
    """What a method could make: ZIP to `*`, stays to short and long, diagnoses but HIV to their groups."""
    frame = table.frame.with_columns(
        pl.lit("*").alias("ZIP"),
        pl.col("stay").replace_strict({"1": "short", "2": "short", "30": "long"}),
        pl.col("ill").replace({"flu": "infection", "burn": "injury", "cut": "injury"}),
    )
    kept = ["ZIP", "stay", "ill", "D1", "D2", "ward"]
    offsets = table.person_offsets.copy()
    offsets[persons + 1 :] = offsets[persons]
    frame = frame.head(int(offsets[-1]))
    hierarchies = {
        name: table.hierarchies[name].above(frame[name].unique()) for name in ("ZIP", "stay", "ill")
    }
    return Outcome(
        sequences=Sequences.encoded(offsets, {name: frame[name] for name in kept}),
        schema=released_schema(
            hierarchies,
            protect=table.protected,
            columns={"Disease": ("D1", "D2")},
            keep=["ward"],
        ),
        hierarchies=hierarchies,
        changes=pl.DataFrame({"row": [1]}),
        n_lost_events=0,
        limits=("The ward is released as it is.",),
    )


def assembled(model: KCPPrivacy, *, persons: int = 3) -> Release:
    table = original()
    return assemble(
        outcome_of(table, persons=persons),
        table,
        method="by hand",
        parameters={"k": model.k},
        model=model,
        randomness=Randomness.of("a sentence that nobody guesses"),
    )


MODEL = KCPPrivacy(k=2, c=0.5, p=2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A release of three persons with equal stays, at k = 2."""
    return write(assembled(MODEL), tmp_path / "out", original=original(), report=Pages()).path


def test_a_release_is_assembled_with_what_the_table_protects():
    release = assembled(MODEL)
    assert release.frame.columns == ["person", "order", "ZIP", "stay", "ill", "D1", "D2", "ward"]
    assert release.verdict.holds
    # All three have a first visit for an infection, and that of one is HIV.
    assert release.verdict.achieved == {"k": 3, "c": 1 / 3}
    assert release.model.claim() == {
        "k": 2,
        "c": 0.5,
        "p": 2,
        "levels": "mixed",
        "stars": "counted",
        "protect": {"Disease": ("HIV",), "ill": ("HIV",)},
        "columns": {"Disease": ("D1", "D2")},
    }
    assert release.table.protected == original().protected
    assert set(release.pseudonyms["person"]) == {"ann", "bob", "cat"}


def test_a_release_that_breaks_its_promise_is_named_in_plain_words():
    with pytest.raises(InternalError) as broken:
        assembled(KCPPrivacy(k=2, c=0.3, p=2))
    assert "by hand" in str(broken.value)
    assert str(broken.value).endswith("nothing known: Disease = HIV for 1 of 3 persons")


def test_an_honest_release_holds(folder):
    found = verify(folder)
    assert found.holds
    assert dict(found.achieved) == {"k": 3, "c": 1 / 3}
    assert verify(folder, original=original()).holds
    claim = json.loads((folder / "certificate.json").read_bytes())["claim"]
    assert claim["parameters"]["protect"] == {"Disease": ["HIV"], "ill": ["HIV"]}
    assert claim["parameters"]["columns"] == {"Disease": ["D1", "D2"]}
    assert open_release(folder).hierarchies["ZIP"].rows() == [("*", "", 3)]


def test_one_person_less_is_caught_behind_new_hashes(folder):
    frame = pl.read_parquet(folder / "events.parquet")
    known = frame.filter((pl.col("order") == 1) & (pl.col("ill") == "infection"))["person"]
    # One of those with an infection that is not HIV has something else: two are left, and one has HIV.
    gone = (pl.col("person") == known[0]) & (pl.col("order") == 1)
    replace_table(folder, frame.with_columns(ill=pl.when(gone).then(pl.lit("*")).otherwise("ill")))
    found = verify(folder)
    assert not found
    assert found.achieved == {"k": 1, "c": 0.5}
    assert found.lines[0] == "ill = *: 1 person"
    assert found.to_json()["witnesses"] == list(found.lines)


def test_a_protected_value_in_another_column_of_its_attribute_is_caught(folder):
    frame = pl.read_parquet(folder / "events.parquet")
    replace_table(folder, frame.with_columns(D2=pl.lit("HIV")))
    assert verify(folder).lines[0] == "nothing known: Disease = HIV for 3 of 3 persons"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"protect": {"Disease": "HIV"}}, "protect must lead from attributes to lists of text"),
        ({"protect": None}, "protect must lead from attributes to lists of text"),
        (
            {"columns": {"Disease": ["D3"]}},
            "claim.parameters names the sensitive column 'D3', and it is not sensitive here",
        ),
        ({"columns": [1]}, "columns must lead from attributes to lists of text"),
        ({"c": "a third"}, "c must be a number or a fraction"),
        ({"levels": 1}, "levels must be text, got 1"),
        ({"k": 2**62}, "3 persons"),
    ],
)
def test_a_claim_that_was_changed(folder, change, reason):
    edit_certificate(folder, lambda document: document["claim"]["parameters"].update(change))
    try:
        answer = "; ".join(verify(folder).lines)
    except InputError as error:
        answer = str(error)
    assert reason in answer


def test_a_claim_about_more_items_than_anybody_has_is_counted_as_far_as_there_are_any(folder):
    edit_certificate(folder, lambda document: document["claim"]["parameters"].update(p=2**60))
    assert verify(folder).holds


def test_a_quasi_identifier_without_its_hierarchy_is_no_kept_column(folder):
    (folder / "hierarchies" / "stay.csv").unlink()
    rehash(folder)
    assert verify(folder).lines == (
        "hierarchies/stay.csv: is not there, and column 'stay' needs its hierarchy",
    )


def test_a_kept_column_is_not_knowledge(folder):
    frame = pl.read_parquet(folder / "events.parquet")
    replace_table(folder, frame.with_columns(ward=pl.int_range(pl.len()).cast(pl.String)))
    assert verify(folder).holds


def test_an_attribute_without_protected_values_keeps_its_column(tmp_path):
    release = assembled(KCPPrivacy(k=2, c="1/3", p=1, protect={"Disease": [], "ill": ["HIV"]}))
    assert release.verdict.achieved["c"] == 1 / 3
    assert verify(write(release, tmp_path / "out", report=Pages()).path).holds
