"""Whatever is in the folder, the answer is a line: never a traceback, never the end of the process."""

from __future__ import annotations

import os
import random
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest

from release.samples import Pages, frame_of, release_of
from sequester.errors import InputError
from sequester.io.parquet import try_decode
from sequester.privacy import MODELS
from sequester.release.folder import LARGEST_CERTIFICATE
from sequester.verification.verify import open_parts as open_release
from sequester.verification.verify import verify
from sequester.workflow.write import write
from verification.doctoring import edit_certificate, rehash

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.second_process


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An honest release."""
    return write(release_of(), tmp_path / "out", report=Pages()).path


def answer(folder: Path, *, ours: bool = True) -> str:
    """What verification says, in lines; anything but an answer fails the test.

    A trial takes half a second, so only the tests about Parquet files have one.
    """
    try:
        found = verify(folder, ours=ours)
    except InputError as error:
        return str(error)
    return "\n".join(found.lines) if not found else "holds"


def test_a_certificate_of_a_gigabyte_is_not_read(folder):
    with (folder / "certificate.json").open("ab") as file:
        # A hole in the file: as large as it says, without taking the disk.
        file.truncate(2**30)
    assert "larger than" in answer(folder)


def test_a_certificate_just_below_the_limit_is_read(folder):
    with (folder / "certificate.json").open("ab") as file:
        file.write(b" " * (LARGEST_CERTIFICATE - file.tell()))
    assert answer(folder) == "holds"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"format": 1}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"format": ' + b"9" * 5000 + b"}",
        b'{"format": NaN}',
        b'{"format": 1e999}',
        b'{"format": 1, "format": 1}',
        b'{"format": "\\ud800"}',
        b"\0" * 100,
    ],
)
def test_a_certificate_that_is_none(folder, text):
    (folder / "certificate.json").write_bytes(text)
    assert "certificate.json" in answer(folder)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({}, "k is missing"),
        ({"k": 1}, "k must be at least 2, got 1"),
        ({"k": "2"}, "k must be a whole number, got '2'"),
        ({"k": 2.0}, "k must be a whole number, got 2.0"),
        ({"k": True}, "k must be a whole number, got True"),
        ({"k": None}, "k must be a whole number, got None"),
        ({"k": 2, "strict": 0}, "strict must be true or false, got 0"),
        ({"k": 2, "__class__": "x"}, "'__class__' is not known to this version"),
        ({"k": 2**63 - 1, "strict": True}, "a → b"),
    ],
)
def test_a_claim_without_sense(folder, parameters, reason):
    edit_certificate(folder, lambda document: document["claim"].update(parameters=parameters))
    assert reason in answer(folder)


def test_a_model_that_nobody_knows(folder):
    edit_certificate(folder, lambda document: document["claim"].update(model="__builtins__"))
    known = ", ".join(MODELS)
    assert answer(folder) == f"certificate.json: claim.model must be one of {known}, got '__builtins__'"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n",
        b"person,order,page\n",
        b"person,order,page\0\np000,1,a\n",
        b"person,order,page\np000,1,a\0\n",
        b"person,order,page\np000,1\n",
        b"person,order,page\np000,1,a,b\n",
        b'person,order,page\np000,1,"a\n',
        b"person,person,page\np000,1,a\n",
        b"\xef\xbb\xbfperson,order,page\n",
        b"person,order,page\np000,1,\xff\n",
        b"a" * 100_000,
        b"," * 100_000,
        b'"' * 99_999,
    ],
)
def test_a_csv_that_is_none(folder, text):
    (folder / "events.csv").write_bytes(text)
    rehash(folder)
    assert "events.csv" in answer(folder)


def test_a_parquet_that_is_none(folder):
    for text in (b"", b"PAR1", b"PAR1" * 10, b"\0" * 1000, (folder / "events.parquet").read_bytes()[:-9]):
        (folder / "events.parquet").write_bytes(text)
        rehash(folder)
        assert answer(folder, ours=False) == "events.parquet is not readable as Parquet"
        with pytest.raises(InputError, match="not readable as Parquet"):
            open_release(folder)


def test_a_parquet_that_is_none_is_told_also_without_a_trial(folder):
    (folder / "events.parquet").write_bytes(b"PAR1" * 10)
    rehash(folder)
    assert answer(folder).startswith("events.parquet is not readable: ")


def test_inside_a_program_without_an_interpreter_there_is_no_trial(folder, monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    assert answer(folder, ours=False) == "holds"


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on memory")
def test_a_trial_ends_where_memory_ends(tmp_path):
    # Sixty million equal rows pack into little.
    rows = pl.select(pl.repeat(1, 60_000_000, dtype=pl.Int64).alias("n"))
    rows.write_parquet(tmp_path / "bomb.parquet")
    rows.head(1).write_parquet(tmp_path / "small.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 1_000_000
    paths = [tmp_path / "small.parquet", tmp_path / "bomb.parquet"]
    with try_decode(paths, "Parquet", most_memory=5 * 2**28) as answers:
        small, bomb = answers()
    assert small is None
    assert bomb is not None
    assert bomb.startswith("the Parquet file is damaged (")


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(n, marks=pytest.mark.thorough) for n in range(8, 200))]
)
def test_flipped_bytes_behind_fitting_hashes_get_an_answer(tmp_path, seed):
    chance = random.Random(seed)
    folder = write(release_of(["ab"] * 30 + ["abc"] * 30), tmp_path, report=Pages()).path
    name = chance.choice(["events.parquet", "events.parquet", "events.csv", "report.html"])
    text = bytearray((folder / name).read_bytes())
    for _ in range(chance.choice([1, 3, 20])):
        text[chance.randrange(len(text))] = chance.randrange(256)
    (folder / name).write_bytes(text[: chance.choice([len(text), chance.randrange(1, len(text))])])
    rehash(folder)
    assert answer(folder, ours=False)


@pytest.mark.skipif(sys.platform == "win32" or not hasattr(os, "geteuid"), reason="modes are those of Unix")
def test_a_folder_that_may_not_be_listed(folder, monkeypatch):
    def forbidden(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Modes do not bind root, so the answer of the system is given.
    monkeypatch.setattr(os, "scandir", forbidden)
    assert "Permission denied" in answer(folder)


def test_a_label_of_a_megabyte(folder, tmp_path):
    long = "x" * 2**20
    written = write(release_of([[long], [long]]), tmp_path / "long", report=Pages())
    assert answer(written.path) == "holds"
    frame_of([[long]]).write_parquet(written.path / "events.parquet")
    frame_of([[long]]).write_csv(written.path / "events.csv")
    rehash(written.path)
    edit_certificate(written.path, lambda document: document["counts"].update(persons=1, events=1))
    assert answer(written.path).startswith("xxx")
