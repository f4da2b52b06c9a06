"""``verify``: what is as certified passes, and what is not is named."""

from __future__ import annotations

import hashlib
import shutil

import polars as pl
import pytest

from refusal_cases import GOOD, TOML
from sequester.cli import main
from verification.doctoring import edit_certificate, rehash


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    (folder / "clicks.csv").write_text(GOOD)
    (folder / "release.toml").write_text(TOML)
    assert main(["protect", str(folder / "release.toml"), "--quick", "--quiet"]) == 0
    return folder


@pytest.fixture
def release(made, tmp_path, run):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "out" / "release"


def test_an_honest_release_passes(release, run):
    ran = run("verify", "out/release", "--quiet")
    assert (ran.code, ran.err) == (0, "")
    own = hashlib.sha256((release / "certificate.json").read_bytes()).hexdigest()
    kept, certificate, *rest = ran.out.splitlines()
    assert kept == "out/release is as certified and keeps its promise: SequenceKAnonymity, k = 6"
    assert certificate == f"certificate sha256:{own}"
    assert [line.partition(":")[0] for line in rest] == [
        "Not checked without --original",
        "Not checked by any means",
    ]
    document = run("verify", "out/release", "--json").document
    assert document["holds"] is True
    assert document["achieved"] == {"k": 6}
    assert (document["violations"], document["witnesses"], document["release"]) == (0, [], "out/release")


def test_the_original_is_compared_with(release, run, tmp_path):
    ran = run("verify", "out/release", "--original", "release.toml")
    assert ran.code == 0
    line = "no pseudonyms.parquet was found, so it is not checked that released persons are distinct"
    assert ran.warnings == [line]
    (tmp_path / "clicks.csv").write_text(GOOD.replace("tech", "sports"))
    ran = run("verify", "out/release", "--original", "release.toml")
    assert ran.code == 1
    assert ran.errors


def test_who_is_who_may_be_named(release, run, tmp_path):
    (tmp_path / "release.toml").write_text(TOML + "pseudonyms = true\n")
    assert run("protect", "release.toml", "--quick", "--force").code == 0
    (tmp_path / "out/internal/pseudonyms.parquet").rename(tmp_path / "who.parquet")
    named = ("--original", "release.toml", "--pseudonyms", "who.parquet")
    checked = run("verify", "out/release", *named)
    assert (checked.code, checked.warnings) == (0, [])
    wrong = pl.read_parquet(tmp_path / "who.parquet").with_columns(person=pl.lit("nobody"))
    wrong.write_parquet(tmp_path / "who.parquet")
    assert run("verify", "out/release", *named).code == 1


def test_who_is_who_without_the_original_is_refused(release, run):
    ran = run("verify", "out/release", "--pseudonyms", "who.parquet")
    line = "--pseudonyms needs --original, the configuration that the release was made from"
    assert (ran.code, ran.errors) == (2, [line])


@pytest.mark.parametrize("name", ["events.csv", "events.parquet", "report.html"])
def test_a_tampered_file_is_named(release, run, name):
    content = bytearray((release / name).read_bytes())
    content[len(content) // 2] ^= 1
    (release / name).write_bytes(content)
    ran = run("verify", "out/release")
    assert ran.code == 1
    assert any(name in line for line in ran.errors)
    assert "Traceback" not in ran.err
    assert ran.out == "out/release fails verification: SequenceKAnonymity, 1 problem\n"
    document = run("verify", "out/release", "--json").document
    assert document["holds"] is False
    assert document["violations"] == 1
    assert name in document["witnesses"][0]


def test_new_hashes_over_a_doctored_table_do_not_help(release, run):
    frame = pl.read_parquet(release / "events.parquet")
    lonely = pl.DataFrame({"person": ["p0"], "order": [1], "page": ["secret"]}, schema=frame.schema)
    frame = pl.concat([frame, lonely])
    frame.write_parquet(release / "events.parquet")
    frame.write_csv(release / "events.csv")
    rehash(release)
    edit_certificate(release, lambda certificate: certificate["counts"].update(persons=7, events=13))
    ran = run("verify", "out/release")
    assert ran.code == 1
    assert "Traceback" not in ran.err
    assert ran.errors == ["the promise is broken by secret"]


def test_csv_and_parquet_that_differ_are_named(release, run):
    text = (release / "events.csv").read_text()
    (release / "events.csv").write_text(text.replace("news", "tech", 1))
    rehash(release)
    ran = run("verify", "out/release")
    assert ran.code == 1
    assert any("events.csv" in line for line in ran.errors)


@pytest.mark.parametrize("name", ["events.csv", "events.parquet", "report.html", "certificate.json"])
def test_a_missing_file_is_named(release, run, name):
    (release / name).unlink()
    ran = run("verify", "out/release")
    assert ran.code == 2
    assert any(name in line for line in ran.errors)


@pytest.mark.parametrize("name", ["../internal/report.html", "/etc/passwd", "a/../../x", "C:\\x", "..\\x"])
def test_a_path_that_leaves_the_folder_is_refused(release, run, name):
    edit_certificate(release, lambda certificate: certificate["files"].update({name: "sha256:" + 64 * "0"}))
    ran = run("verify", "out/release")
    assert ran.code == 2
    assert any("certificate.json: files names" in line for line in ran.errors)


def test_a_link_is_not_followed(release, run, tmp_path):
    (tmp_path / "elsewhere.csv").write_bytes((release / "events.csv").read_bytes())
    (release / "events.csv").unlink()
    (release / "events.csv").symlink_to(tmp_path / "elsewhere.csv")
    ran = run("verify", "out/release")
    assert ran.code in (1, 2)
    assert any("events.csv" in line for line in ran.errors)


@pytest.mark.parametrize(
    "content", ["", "no JSON", "[]", "{}", '{"format": 99}', '{"format": 1}', b"\xff\xfe", "[" * 100_000]
)
def test_a_certificate_that_is_none_is_refused(release, run, content):
    (release / "certificate.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    ran = run("verify", "out/release")
    assert ran.code == 2
    assert all("certificate.json" in line for line in ran.errors)
    assert ran.errors
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda certificate: certificate["claim"]["parameters"].update(k=60), 1),
        (lambda certificate: certificate["claim"]["parameters"].update(k=10**30), 2),
        (lambda certificate: certificate["claim"]["parameters"].update(k="many"), 2),
        (lambda certificate: certificate["claim"].update(model="Magic"), 2),
        (lambda certificate: certificate["verdict"].update(holds=False), 1),
        (lambda certificate: certificate["verdict"].update(achieved={"k": 60}), 1),
    ],
    ids=["promises more", "promises the world", "no number", "unknown model", "says no", "boasts"],
)
def test_a_doctored_certificate_is_found_out(release, run, change, code):
    edit_certificate(release, change)
    ran = run("verify", "out/release")
    assert ran.code == code
    assert ran.errors
    assert "Traceback" not in ran.err


def test_the_outer_folder_draws_a_hint(release, run):
    ran = run("verify", "out")
    assert ran.code == 2
    assert "did you mean out/release?" in ran.errors[0]


def test_a_claim_that_needs_the_original_says_so(tmp_path, run):
    (tmp_path / "clicks.csv").write_text(GOOD)
    (tmp_path / "release.toml").write_text(TOML.replace("k = 2", "k = 2\nstrict = false"))
    assert run("protect", "release.toml", "--quick").code == 0
    ran = run("verify", "out/release")
    assert ran.code == 2
    assert "--original" in ran.errors[0]
    assert run("verify", "out/release", "--original", "release.toml").code == 0
