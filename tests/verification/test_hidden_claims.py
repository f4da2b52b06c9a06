"""Claims about what must not be published: checked by those who know it, and by nobody else."""

from __future__ import annotations

import dataclasses
import json

import polars as pl
import pytest

from release.samples import Pages, release_of
from sequester.errors import InputError
from sequester.privacy import PatternHiding, SequenceKAnonymity
from sequester.testing import symbol_table
from sequester.verification.verify import verify
from sequester.workflow.write import write
from verification.doctoring import edit_certificate, rehash

MODEL = PatternHiding(sensitive=frozenset({("a", "b")}), min_support=2, forbidden=frozenset({("b", "a")}))
ORIGINAL = ["ab", "ba", "ab", "c"]


@pytest.fixture
def original():
    return symbol_table(ORIGINAL, column="page")


@pytest.fixture
def folder(tmp_path, original):
    """The first person lost an item, the third was left out, and the others came in another order."""
    release = dataclasses.replace(
        release_of(["ba", "a", "c"]),
        model=MODEL,
        verdict=MODEL.check(symbol_table(["a", "ba", "c"]), original=symbol_table(["ab", "ba", "c"])),
        parameters={"min_support": 2, "patterns": (("a", "b"),)},
        unpublished=frozenset({"patterns"}),
        pseudonyms=pl.DataFrame(
            {"person": ["person 2", "person 1", "person 4"], "pseudonym": ["p000", "p001", "p002"]}
        ),
    )
    return write(release, tmp_path, report=Pages(), original=original).path


def test_patterns_are_in_no_published_file(folder):
    certificate = json.loads((folder / "certificate.json").read_text())
    assert certificate["claim"]["parameters"] == {"min_support": 2}
    assert certificate["method"]["parameters"] == {"min_support": 2}
    assert '"patterns"' not in (folder / "certificate.json").read_text()
    assert "patterns" in (folder.parent / "internal" / "release.toml").read_text()


def test_who_does_not_know_the_patterns_cannot_check(folder, original):
    for known in ({}, {"original": original}):
        with pytest.raises(InputError, match="what it hides is not published; give the configuration"):
            verify(folder, **known)
    with pytest.raises(InputError, match="compares with the original; give it with --original"):
        verify(folder, model=MODEL)


def test_who_knows_them_can(folder, original):
    found = verify(folder, original=original, model=MODEL)
    assert found
    assert found.achieved == {"min_support": 1}


def test_a_share_was_asked_for_where_the_claim_has_persons(folder, original):
    edit_certificate(folder, lambda document: document["method"]["parameters"].update(min_support=0.4))
    assert verify(folder, original=original, model=MODEL)
    edit_certificate(folder, lambda document: document["method"]["parameters"].update(min_support=9))
    assert verify(folder, original=original, model=MODEL).lines == (
        "certificate.json: the method was asked for min_support = 9, and the claim is min_support = 2",
    )


def test_persons_are_compared_with_themselves(folder, original):
    # The second released record is that of the first person, who did not have b before a.
    frame = pl.DataFrame(
        {"person": ["p000", "p001", "p001", "p002"], "order": [1, 1, 2, 1], "page": ["b", "b", "a", "c"]}
    )
    frame.write_parquet(folder / "events.parquet", compression="zstd", statistics=False)
    frame.write_csv(folder / "events.csv")
    rehash(folder)
    assert verify(folder, original=original, model=MODEL).witnesses == (("b", "a"),)


def test_other_promises_are_told(folder, original):
    other = dataclasses.replace(MODEL, min_support=3)
    for model, line in (
        (other, "certificate.json: claim: says min_support = 2, but the configuration says 3"),
        (
            SequenceKAnonymity(k=2),
            "certificate.json: claims PatternHiding, but the configuration says SequenceKAnonymity",
        ),
    ):
        assert line in verify(folder, original=original, model=model).lines


def test_a_certificate_that_names_the_patterns_is_refused(folder, original):
    path = folder / "certificate.json"
    certificate = json.loads(path.read_text())
    certificate["claim"]["parameters"]["sensitive"] = [["a", "b"]]
    path.write_text(json.dumps(certificate))
    with pytest.raises(InputError, match=r"claim\.parameters: sensitive must not be published, and is"):
        verify(folder, original=original, model=MODEL)


def test_without_the_file_of_pseudonyms_nobody_can_be_compared(folder, original, tmp_path):
    (folder.parent / "internal" / "pseudonyms.parquet").rename(tmp_path / "who.parquet")
    with pytest.raises(InputError, match=r"no pseudonyms\.parquet in internal/ beside the release"):
        verify(folder, original=original, model=MODEL)
    assert verify(folder, original=original, model=MODEL, pseudonyms=tmp_path / "who.parquet")
