"""A release is judged by its files: tampering is named, and the claim is counted anew."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sequester
from oracles import sequences as oracle
from release.samples import Pages, frame_of, release_of
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import InputError
from sequester.methods import BFP2kA
from sequester.privacy import SequenceKAnonymity, Verdict
from sequester.verification.claim import Verification
from sequester.verification.verify import verify
from sequester.workflow.write import write
from verification.doctoring import edit_certificate, recount, rehash, replace_table

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A release of five persons at k = 2; the class ``abc`` has exactly two."""
    return write(release_of(), tmp_path / "out", report=Pages()).path


def table_of(rows: list[str]) -> EventTable:
    frame = frame_of(rows).rename({"person": "user"})
    return EventTable(frame, Schema(person="user", order="order", symbol="page"))


def test_an_honest_release_holds(folder, monkeypatch):
    # With everything a recipient's call does, the trial included.
    monkeypatch.undo()
    found = verify(folder)
    assert found
    assert found.to_json() == {
        "holds": True,
        "model": "SequenceKAnonymity",
        "achieved": {"k": 2},
        "violations": 0,
        "witnesses": [],
        "release": str(folder),
        "certificate_sha256": found.certificate_sha256,
        "not_checked": list(found.not_checked),
    }


def test_the_package_is_the_function_too(folder):
    assert sequester.verify(folder) == verify(folder)


def test_one_record_less_in_a_class_of_exactly_k_is_caught_behind_new_hashes(folder):
    frame = pl.read_parquet(folder / "events.parquet")
    replace_table(folder, frame.filter(pl.col("person") != "p003"))
    found = verify(folder)
    assert not found
    assert found.witnesses == (("a", "b", "c"),)
    assert found.achieved == {"k": 1}
    assert found.violations == 1
    assert found.to_json()["witnesses"] == ["a → b → c"]


def test_a_table_that_still_keeps_the_promise_but_not_the_achieved_level_is_named(folder):
    replace_table(folder, frame_of(["ab", "ab", "ab"]))
    found = verify(folder)
    assert found.lines == ("certificate.json: says that k = 2 is achieved, the files achieve k = 3",)
    assert not found


def test_a_certificate_that_claims_other_than_was_asked_for_is_named(folder):
    edit_certificate(folder, lambda document: document["method"]["parameters"].update(k=7))
    found = verify(folder)
    assert not found
    assert found.lines == ("certificate.json: the method was asked for k = 7, and the claim is k = 2",)


def test_a_certificate_that_denies_its_promise_is_believed(folder):
    edit_certificate(folder, lambda document: document["verdict"].update(holds=False))
    found = verify(folder)
    assert not found
    assert found.lines == ("certificate.json: says itself that the promise is not kept",)


def test_a_bolder_claim_than_the_files_keep_is_caught(folder):
    edit_certificate(folder, lambda document: document["claim"]["parameters"].update(k=3))
    found = verify(folder)
    assert not found
    assert set(found.witnesses) == {("a", "b", "c")}
    assert found.achieved == {"k": 2}


@pytest.mark.parametrize("name", ["events.csv", "events.parquet", "report.html"])
def test_a_changed_file_is_named(folder, name):
    with (folder / name).open("ab") as file:
        file.write(b" ")
    found = verify(folder)
    assert not found
    assert found.lines == (f"{name}: is not the certified file: its hash differs",)
    assert found.achieved == {}


@pytest.mark.parametrize("name", ["events.csv", "events.parquet", "report.html"])
def test_a_missing_file_makes_the_release_incomplete(folder, name):
    (folder / name).unlink()
    with pytest.raises(InputError, match=f"the release is incomplete: {name} is missing"):
        verify(folder)


@pytest.mark.parametrize("name", ["notes.txt", "hierarchies/page.csv", ".hidden", "a/b/c", "bad\nname"])
def test_a_file_that_is_not_listed_is_named(folder, name):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("x")
    found = verify(folder)
    shown = name.replace("\n", "\\n")
    assert found.lines == (f"{shown}: is not listed in the certificate",)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_release_without_a_table_is_incomplete(folder, ending):
    (folder / f"events.{ending}").unlink()
    rehash(folder)
    with pytest.raises(InputError, match=f"lists no events.{ending}"):
        verify(folder)


def test_a_missing_certificate_is_said_with_a_hint(tmp_path, folder):
    with pytest.raises(InputError, match=r"certificate\.json is missing; did you mean .*release\?"):
        verify(folder.parent)
    (folder / "certificate.json").unlink()
    with pytest.raises(InputError, match=r"is not a release: certificate\.json is missing$"):
        verify(folder)


def test_what_is_no_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        verify(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is not a folder"):
        verify(tmp_path / "file")


class TestLinks:
    pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")

    def test_a_link_to_a_file_with_the_right_hash_is_refused(self, folder, tmp_path):
        (folder / "events.csv").rename(tmp_path / "events.csv")
        (folder / "events.csv").symlink_to(tmp_path / "events.csv")
        found = verify(folder)
        assert found.lines == ("events.csv: is a link, and a release has none",)
        assert not found

    def test_a_linked_folder_is_not_entered(self, tmp_path):
        tree = pl.DataFrame({"node": ["*", *"abc"], "parent": ["", *"***"], "leaves": [3, 1, 1, 1]})
        folder = write(release_of(hierarchies={"page": tree}), tmp_path / "out", report=Pages()).path
        (folder / "hierarchies").rename(tmp_path / "elsewhere")
        (folder / "hierarchies").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
        assert verify(folder).lines == ("hierarchies: is a link, and a release has none",)

    def test_a_surplus_link_is_named(self, folder):
        (folder / "more").symlink_to("/etc/passwd")
        assert verify(folder).lines == ("more: is a link, and a release has none",)

    def test_a_linked_certificate_is_not_read(self, folder, tmp_path):
        (folder / "certificate.json").rename(tmp_path / "certificate.json")
        (folder / "certificate.json").symlink_to(tmp_path / "certificate.json")
        with pytest.raises(InputError, match="it is a link"):
            verify(folder)

    def test_a_linked_release_folder_is_the_callers_choice(self, folder, tmp_path):
        (tmp_path / "link").symlink_to(folder, target_is_directory=True)
        assert verify(tmp_path / "link")

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
    def test_a_pipe_is_not_waited_for(self, folder):
        (folder / "certificate.json").rename(folder / "events.txt")
        os.mkfifo(folder / "certificate.json")
        with pytest.raises(InputError, match="not a regular file"):
            verify(folder)
        (folder / "certificate.json").unlink()
        (folder / "events.txt").rename(folder / "certificate.json")
        (folder / "events.csv").unlink()
        os.mkfifo(folder / "events.csv")
        assert verify(folder).lines == ("events.csv: is not a regular file",)


UNSAFE = [
    "../secret.csv",
    "/etc/passwd",
    "a/../../b",
    "C:\\x",
    "a\\b",
    "a//b",
    "./a",
    "",
    "a\0b",
    "certificate.json",
]


@pytest.mark.parametrize("name", UNSAFE)
def test_a_path_out_of_the_folder_is_refused(folder, name):
    edit_certificate(folder, lambda document: document["files"].update({name: "sha256:" + 64 * "0"}))
    with pytest.raises(InputError, match=r"certificate\.json: files names"):
        verify(folder)


class TestTable:
    def test_csv_and_parquet_that_differ_in_a_cell(self, folder):
        text = (folder / "events.csv").read_text()
        (folder / "events.csv").write_text(text.replace("p002,2,b", "p002,2,x"))
        rehash(folder)
        assert verify(folder).lines == (
            "events.csv and events.parquet differ: 1 cells of column 'page', the first in row 6, 'x' and 'b'",
        )

    def test_csv_with_a_row_less_or_other_columns(self, folder):
        text = (folder / "events.csv").read_text()
        (folder / "events.csv").write_text(text.replace("p004,1,c\n", ""))
        rehash(folder)
        assert verify(folder).lines == ("events.csv and events.parquet differ: 10 and 11 rows",)
        (folder / "events.csv").write_text(text.replace("page", "site"))
        rehash(folder)
        assert "columns ['person', 'order', 'site']" in verify(folder).lines[0]

    @pytest.mark.parametrize(
        ("frame", "reason"),
        [
            (frame_of(["ab", "ab"]).with_columns(order=pl.col("order") - 1), "its order is 0"),
            (frame_of(["ab", "ab"]).with_columns(order=pl.col("order") * 2), "its order is 2"),
            (frame_of(["ab", "ab"]).with_columns(order=pl.lit(1)), "its order is 1"),
            (frame_of(["ab", "ab"])[[0, 2, 1, 3]], "do not stand together"),
            (frame_of(["ab", "ab"])[[1, 0, 2, 3]], "its order is 2"),
        ],
    )
    def test_events_that_are_not_numbered_from_one_person_by_person(self, folder, frame, reason):
        replace_table(folder, frame.with_columns(pl.col("order").cast(pl.Int64)))
        found = verify(folder)
        assert not found
        assert reason in found.lines[0]

    def test_a_missing_cell(self, folder):
        frame = frame_of(["ab", "ab"])
        replace_table(folder, frame.with_columns(page=pl.when(pl.col("order") == 1).then("page")))
        assert verify(folder).lines == ("events.parquet: 2 cells of column 'page' are missing",)

    def test_counts_that_differ(self, folder):
        edit_certificate(folder, lambda document: document["counts"].update(persons=6))
        assert verify(folder).lines == ("events.parquet: has 5 persons, the certificate says 6",)
        edit_certificate(folder, lambda document: document["counts"].update(events=12))
        assert verify(folder).lines == ("events.parquet: has 11 events, the certificate says 12",)

    def test_a_table_of_many_rows_beside_a_short_csv(self, folder):
        frame_of(["a" * 5000, "a" * 5000]).write_parquet(folder / "events.parquet")
        rehash(folder)
        recount(folder, frame_of(["a" * 5000, "a" * 5000]))
        assert verify(folder).lines == ("events.csv: is too short for the 10,000 rows of events.parquet",)

    @pytest.mark.parametrize(
        "frame",
        [
            pl.DataFrame({"a": [1]}),
            pl.DataFrame({"person": ["p"], "order": [1]}),
            pl.DataFrame({"order": [1], "person": ["p"], "page": ["a"]}),
            pl.DataFrame({"person": ["p"], "order": ["1"], "page": ["a"]}),
            pl.DataFrame({"person": ["p"], "order": [1], "page": [2]}),
            pl.DataFrame(
                {"person": ["p"], "order": [1], "page": ["a"]}, schema_overrides={"page": pl.Categorical}
            ),
            pl.DataFrame({"person": ["p"], "order": [1.0], "page": ["a"]}),
        ],
    )
    def test_columns_that_no_release_has(self, folder, frame):
        replace_csv = frame.cast(pl.String)
        frame.write_parquet(folder / "events.parquet")
        replace_csv.write_csv(folder / "events.csv")
        rehash(folder)
        found = verify(folder)
        assert not found
        assert found.lines[0].startswith("events.parquet: column") or "the columns must be" in found.lines[0]

    def test_two_attributes_do_not_fit_a_claim_about_one(self, folder):
        replace_table(folder, frame_of(["ab", "ab"]).with_columns(ward=pl.lit("w")))
        must, named = verify(folder).lines
        assert must.startswith("events.parquet: the columns must be person, order, page; they are ")
        assert named == "events.parquet: column 'ward' is not named in the certificate"

        def name_it(document):
            document["claim"]["columns"]["events"]["ward"] = "keep"

        edit_certificate(folder, name_it)
        with pytest.raises(InputError, match=r"claim\.columns: events: SequenceKAnonymity has no table with"):
            verify(folder)

    def test_metadata_beside_the_rows_is_named(self, folder):
        pl.read_parquet(folder / "events.parquet").write_parquet(
            folder / "events.parquet", metadata={"made by": "somebody"}
        )
        rehash(folder)
        assert verify(folder).lines == ("events.parquet: carries metadata beside the rows: ['made by']",)


class TestOriginal:
    def test_the_original_adds_definition_1(self, tmp_path):
        folder = write(release_of(["ab", "ab"]), tmp_path, report=Pages()).path
        assert verify(folder)
        assert verify(folder, original=table_of(["ab", "ab", "a"]))
        found = verify(folder, original=table_of(["ab", "a", "b"]))
        assert not found
        assert found.witnesses == (("a", "b"),)
        assert found.achieved == {"k": 1}

    def test_a_claim_about_the_original_cannot_be_checked_without(self, tmp_path):
        # Hole 1 of the paper: Definition 1 holds, though a released record is alone.
        table = table_of(["ab", "abxyz", "cxyz", "cxyz"])
        release = dataclasses.replace(
            release_of(["ab", "cxyz", "cxyz", "cxyz"]),
            parameters={"k": 2, "strict": False},
            model=SequenceKAnonymity(k=2, strict=False),
            verdict=Verdict(holds=True, achieved={"k": 2}),
            pseudonyms=pl.DataFrame({"person": table.persons, "pseudonym": table.persons}),
        )
        folder = write(release, tmp_path, report=Pages(), original=table).path
        assert (folder.parent / "internal" / "pseudonyms.parquet").exists()
        with pytest.raises(InputError, match="compares with the original"):
            verify(folder)
        assert verify(folder, original=table).achieved == {"k": 2}
        found = verify(folder, original=table_of(["ab", "axyz", "cxyz", "cxyz"]))
        assert found.witnesses == (("a", "b"),)

    def test_pseudonyms_are_found_beside_the_release_and_must_fit_the_original(self, tmp_path):
        table = table_of(["ab"] * 4)
        release = BFP2kA(k=2).apply(table, seed="a sentence that nobody guesses")
        folder = write(release, tmp_path, report=Pages(), pseudonyms=True, original=table).path
        assert verify(folder, original=table)
        others = EventTable(
            table.frame.with_columns(pl.lit("x").add(pl.col("user")).alias("user")), table.schema
        )
        assert verify(folder, original=others).lines == (
            "pseudonyms.parquet: 4 of its persons are not in the original",
        )

    def test_pseudonyms_that_miss_somebody_or_name_two_are_told(self, tmp_path):
        table = table_of(["ab"] * 4)
        release = BFP2kA(k=2).apply(table, seed="a sentence that nobody guesses")
        folder = write(release, tmp_path / "out", report=Pages()).path
        named = tmp_path / "who.parquet"
        release.pseudonyms.head(3).write_parquet(named)
        found = verify(folder, original=table, pseudonyms=named)
        assert "who.parquet: 1 released persons are not in it" in found.lines[0]
        pl.concat([release.pseudonyms, release.pseudonyms]).write_parquet(named)
        found = verify(folder, original=table, pseudonyms=named)
        assert found.lines == ("who.parquet: a pseudonym stands for two persons",)

    def test_a_person_with_several_pseudonyms_is_told(self, tmp_path):
        table = table_of(["ab"] * 4)
        release = BFP2kA(k=2).apply(table, seed="a sentence that nobody guesses")
        folder = write(release, tmp_path / "out", report=Pages()).path
        named = tmp_path / "who.parquet"
        first = pl.lit(release.pseudonyms["person"][0])
        release.pseudonyms.with_columns(person=first).write_parquet(named)
        found = verify(folder, original=table, pseudonyms=named)
        assert found.lines == ("who.parquet: 1 of its persons have more than one pseudonym",)
        assert not found

    def test_more_persons_than_the_original_has_are_told(self, tmp_path):
        folder = write(release_of(["ab"] * 8), tmp_path, report=Pages()).path
        assert verify(folder, original=table_of(["ab"] * 8))
        found = verify(folder, original=table_of(["ab"] * 2))
        assert found.lines == ("events.parquet: has 8 persons, the original has 2",)
        assert not found

    @pytest.mark.parametrize("content", [b"no parquet", None, "columns", "gaps"])
    def test_pseudonyms_that_cannot_be_read_are_refused(self, tmp_path, folder, content):
        named = tmp_path / "who.parquet"
        if isinstance(content, bytes):
            named.write_bytes(content)
        elif content == "columns":
            pl.DataFrame({"a": ["b"]}).write_parquet(named)
        elif content == "gaps":
            pl.DataFrame({"person": ["a", None], "pseudonym": ["p", "q"]}).write_parquet(named)
        with pytest.raises(InputError, match=r"who\.parquet"):
            verify(folder, original=table_of(["abc"] * 4), pseudonyms=named)


# Each example writes and syncs files, which is slow: a few hundred will do in any profile.
few = settings(max_examples=min(settings().max_examples, 200))
rows = st.lists(st.text("abc", min_size=1, max_size=4), max_size=7)


@few
@given(rows, st.integers(2, 3))
def test_any_table_behind_fitting_hashes_is_judged_by_the_definition(tmp_path_factory, rows, k):
    folder = write(release_of(["a"] * k, k=k), tmp_path_factory.mktemp("out"), report=Pages()).path
    replace_table(folder, frame_of(rows))
    achieved = oracle.smallest_support(rows, rows) if rows else k
    edit_certificate(folder, lambda document: document["verdict"].update(achieved={"k": achieved}))
    found = verify(folder, ours=True)
    assert found.holds == (achieved >= k)
    assert found.achieved == {"k": achieved}
    for witness in found.witnesses:
        assert oracle.support(witness, rows) < k


def test_progress_goes_from_nothing_to_all(folder):
    seen: list[tuple[float, str]] = []
    assert verify(folder, progress=lambda fraction, phase: seen.append((fraction, phase)))
    assert [fraction for fraction, _ in seen] == sorted(fraction for fraction, _ in seen)
    assert (seen[0][0], seen[-1][0]) == (0.0, 1.0)


def test_lines_of_hostile_labels_cannot_move_the_cursor():
    found = Verification(False, "M", {}, 1, (("a\x1b[2Jb", "c\n"), "d\r"), "x")
    assert found.lines == ("a�[2Jb → c�", "d�")
    assert json.dumps(found.to_json())
