"""Folders of published snapshots that somebody has changed."""

from __future__ import annotations

import hashlib
import json
import shutil

import polars as pl
import pytest

import sequester as sq
from sequester.errors import InputError
from sequester.verification.verify import verify
from sequester.workflow.stream.stream import stream
from workflow.stream.days import make_stream, places


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    folder = make_stream(tmp_path_factory.mktemp("stream"), days=2)
    stream(folder / "c.toml", **places(folder), finish=True)
    return folder / "out"


@pytest.fixture
def folder(published, tmp_path):
    return shutil.copytree(published, tmp_path / "out")


def edit(folder, stem, change):
    path = folder / f"{stem}.certificate.json"
    certificate = json.loads(path.read_text())
    change(certificate)
    path.write_text(json.dumps(certificate))


def hash_of(path):
    return f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def test_an_untouched_folder_holds(folder):
    assert verify(folder).achieved == {"l": 3.0}


def test_the_page_has_the_promise_and_the_snapshots_in_the_order_of_time(folder):
    page = (folder / "report.html").read_text()
    assert "no value of diagnosis belongs to more than 1/3 of the records" in page
    stems = sorted(path.name.split(".")[0] for path in folder.glob("*.certificate.json"))
    places = [page.index(f"<td>{stem}</td>") for stem in stems]
    assert places == sorted(places)
    assert all(hash_of(folder / f"{stem}.certificate.json") in page for stem in stems)
    assert "<script" not in page


@pytest.mark.parametrize("change", [b"", b"<p>and more</p>\n"])
def test_a_page_that_the_certificates_do_not_make_is_found(folder, change):
    path = folder / "report.html"
    path.write_bytes(path.read_bytes()[: -len(change) or None].replace(b"1/3", b"1/9") + change)
    assert [str(each) for each in verify(folder).witnesses] == [
        "report.html: is not the page of these certificates: let the stream go on, which writes it again"
    ]


def test_a_stream_is_not_opened_as_one_release(folder):
    with pytest.raises(InputError, match="it is a stream"):
        sq.open(folder)


def test_a_folder_without_a_page_holds(folder):
    (folder / "report.html").unlink()
    assert verify(folder)


@pytest.mark.second_process
def test_a_file_that_is_no_parquet_is_unreadable(folder):
    (folder / "2024-01-02.records.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(InputError, match=r"2024-01-02\.records\.parquet is not readable as Parquet"):
        verify(folder)


def test_a_certificate_speaks_of_its_own_files_only(folder):
    other = "2024-01-01.records.csv"
    edit(folder, "2024-01-02", lambda each: each["files"].update({other: hash_of(folder / other)}))
    found = verify(folder)
    assert not found
    assert "2024-01-02: its certificate lists 2024-01-01.records.csv, which is not its own" in map(
        str, found.witnesses
    )


def test_a_claim_about_sequences_is_none_about_records(folder):
    claim = {"model": "SequenceKAnonymity", "parameters": {"k": 2, "strict": True}}
    counts = {"persons": 9, "events": 90}
    edit(folder, "2024-01-01", lambda each: each.update(claim=claim, counts=counts))
    found = verify(folder)
    assert not found
    assert "claims SequenceKAnonymity, which is not about records" in str(found.witnesses[0])


def test_two_files_of_one_table_must_agree(folder):
    path = folder / "2024-01-01.records.csv"
    first, *rest = path.read_text().splitlines(keepends=True)
    path.write_text("".join([first, *rest[1:], rest[0]]))
    edit(folder, "2024-01-01", lambda each: each["files"].update({path.name: hash_of(path)}))
    found = verify(folder)
    assert not found
    assert str(found.witnesses[0]).startswith("2024-01-01: ")


def test_a_snapshot_one_record_short_is_found_with_its_group(folder):
    path = folder / "2024-01-01.values.csv"
    lines = path.read_text().splitlines()
    group, value, count = lines[1].split(",")
    lines[1] = f"{group},{value},{int(count) + 1}"
    path.write_text("\n".join([*lines, ""]))
    edit(folder, "2024-01-01", lambda each: each["files"].update({path.name: hash_of(path)}))
    assert not verify(folder)


def put_times(folder, stem, change):
    """Write other times into a snapshot, as an honest one is written, and certify it anew."""
    stems = sorted({path.name.split(".")[0] for path in folder.glob("*.parquet")})
    path = folder / f"{stems[stem]}.records.parquet"
    frame = pl.read_parquet(path, memory_map=False)
    frame = frame.with_columns(time=pl.Series(change(frame), dtype=pl.String)).rechunk()
    frame.write_parquet(path, compression="zstd", statistics=True, row_group_size=128 * 1024)
    frame.write_csv(path.with_suffix(".csv"), line_terminator="\n", quote_style="necessary")

    def rehash(certificate):
        certificate["files"] = {name: hash_of(folder / name) for name in certificate["files"]}

    edit(folder, stems[stem], rehash)
    (folder / "report.html").unlink(missing_ok=True)


@pytest.mark.parametrize("stem", [0, -1])
@pytest.mark.parametrize("time", ["Ann Smith, HIV", "2024-01-01 ", "2024-1-1", ""])
def test_the_time_of_a_snapshot_can_carry_nothing_else(folder, stem, time):
    put_times(folder, stem, lambda frame: [time] * frame.height)
    found = verify(folder)
    assert not found.holds
    assert "time must be a day" in found.lines[0]


def test_a_snapshot_has_one_time(folder):
    put_times(folder, 0, lambda frame: [f"2024-01-{1 + (group > 3):02}" for group in frame["group"]])
    found = verify(folder)
    assert not found.holds
    assert "has records of 2 snapshots" in found.lines[0]


def test_times_ascend_with_the_names_of_files(folder):
    put_times(folder, 0, lambda frame: ["2024-12-24"] * frame.height)
    found = verify(folder)
    assert not found.holds
    assert "is not after '2024-12-24'" in found.lines[0]
