"""``protect``: what it writes, what it says, and that it can be repeated."""

from __future__ import annotations

import hashlib
import re
import shutil
import stat
import tomllib

import polars as pl
import pytest

from refusal_cases import GOOD, HEAD, TOML

SEED = "a sentence that nobody will guess"


@pytest.fixture
def clicks(tmp_path):
    (tmp_path / "clicks.csv").write_text(GOOD + "u9,1,local\nu9,2,local\n")
    (tmp_path / "release.toml").write_text(TOML)
    return tmp_path


def test_the_folder_is_there_and_the_answer_says_so(clicks, run):
    ran = run("protect", "release.toml", "--quiet")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("SequenceKAnonymity holds, verified from the files: k = 6\n")
    assert "6 of 7 persons are in the release" in ran.out
    assert "2 of 14 events are lost" in ran.out
    assert "Information loss: " in ran.out
    assert "  Singling out: " in ran.out
    assert len(ran.out.splitlines()) <= 15
    released = {path.name for path in (clicks / "out/release").iterdir()}
    assert {"events.csv", "events.parquet", "certificate.json", "report.html"} <= released
    internal = {path.name for path in (clicks / "out/internal").iterdir()}
    assert internal == {"changes.parquet", "release.toml", "report.html", "report.json"}
    assert stat.S_IMODE((clicks / "out/internal").stat().st_mode) == 0o700
    own = hashlib.sha256((clicks / "out/release/certificate.json").read_bytes()).hexdigest()
    assert re.search(rf"^certificate +sha256:{own} \(send it", ran.out, re.MULTILINE)


def test_the_memory_that_will_be_needed_is_said_before_the_method_starts(clicks, run):
    line = r"^about 0.3 GB of memory will be needed, and [\d.]+ GB are free: up to about [\d,]+ events"
    (clicks / "release.toml").write_text(TOML.replace("k = 2", "k = 70"))
    refused = run("protect", "release.toml")
    assert refused.code == 1
    first, *others = refused.err.splitlines()
    assert re.search(line, first)
    assert others
    assert all(each.startswith("error: ") for each in others)


def test_json_is_one_document_of_the_agreed_shape(clicks, run):
    document = run("protect", "release.toml", "--json").document
    assert document["holds"] is True
    assert document["model"] == "SequenceKAnonymity"
    assert document["achieved"] == {"k": 6}
    assert (document["violations"], document["witnesses"]) == (0, [])
    assert document["release"] == "out/release"
    assert document["persons"] == {"input": 7, "released": 6}
    assert document["warnings"] == []


def test_a_refusal_is_one_document_as_well(clicks, run):
    (clicks / "release.toml").write_text(TOML.replace("k = 2", "k = 70"))
    ran = run("protect", "release.toml", "--json")
    assert ran.code == 1
    assert ran.document["holds"] is False
    assert ran.document["exit"] == 1
    assert ran.document["errors"] == ran.errors
    (clicks / "release.toml").write_text("data = 5")
    ran = run("protect", "release.toml", "--json")
    assert (ran.code, ran.document["errors"]) == (2, ran.errors)
    assert "holds" not in ran.document


def test_the_same_seed_gives_the_same_bytes_and_another_other_ones(clicks, run, listing):
    def made(*options):
        assert run("protect", "release.toml", "--force", "--out", "here", *options).code == 0
        return {name: content for name, content in listing().items() if name.startswith("here/release/")}

    first = made("--seed", SEED)
    assert made("--seed", SEED) == first
    assert made("--seed", SEED + "!")["here/release/events.csv"] != first["here/release/events.csv"]
    assert made()["here/release/events.csv"] != made()["here/release/events.csv"]


def test_internal_release_toml_repeats_the_run_from_anywhere(clicks, run, tmp_path, monkeypatch):
    assert run("protect", "release.toml").code == 0
    first = {path.name: path.read_bytes() for path in (clicks / "out/release").iterdir()}
    kept = tomllib.loads((clicks / "out/internal/release.toml").read_text())
    assert kept["data"]["path"] == str(clicks / "clicks.csv")
    assert kept["method"] == {"name": "p2ka", "k": 2, "strict": True, "reconstruction": "closest"}
    assert len(kept["release"]["seed"]) == 32
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    shutil.copy(clicks / "out/internal/release.toml", elsewhere / "again.toml")
    monkeypatch.chdir(elsewhere)
    assert run("protect", "again.toml", "--out", "copy").code == 0
    assert {path.name: path.read_bytes() for path in (elsewhere / "copy/release").iterdir()} == first


def test_hierarchy_files_are_found_again_by_internal_release_toml(clicks, run):
    (clicks / "pages.csv").write_text("news;media;*\ntech;media;*\nlocal;media;*\n")
    text = TOML.replace('column = "page"', 'column = "page"\nhierarchy = { path = "pages.csv" }')
    (clicks / "release.toml").write_text(text)
    assert run("protect", "release.toml").code == 0
    kept = tomllib.loads((clicks / "out/internal/release.toml").read_text())
    assert kept["data"]["symbol"]["hierarchy"] == {"path": str(clicks / "pages.csv")}


def test_paths_in_the_file_are_relative_to_it_and_the_command_line_wins(clicks, run):
    folder = clicks / "config"
    folder.mkdir()
    text = TOML.replace("clicks.csv", "../clicks.csv") + f'internal = "../safe"\nseed = "{SEED}"\n'
    (folder / "release.toml").write_text(text)
    assert run("protect", "config/release.toml").code == 0
    assert (folder / "out/release").is_dir()
    assert (clicks / "safe/report.html").is_file()
    assert not (folder / "out/internal").exists()
    assert tomllib.loads((clicks / "safe/release.toml").read_text())["release"]["seed"] == SEED
    options = ("--out", "named", "--seed", SEED[::-1], "--force")
    assert run("protect", "config/release.toml", *options).code == 0
    assert (clicks / "named/release").is_dir()
    assert tomllib.loads((clicks / "safe/release.toml").read_text())["release"]["seed"] == SEED[::-1]


def test_a_short_seed_is_warned_of_and_used(clicks, run):
    ran = run("protect", "release.toml", "--seed", "guess me")
    assert ran.code == 0
    (line,) = ran.warnings
    assert line.startswith("the seed has 8 characters, fewer than 16: ")
    ran = run("protect", "release.toml", "--seed", "guess me", "--json", "--force")
    assert ran.document["warnings"] == ran.warnings


def test_doubtful_data_is_warned_of(clicks, run):
    (clicks / "clicks.csv").write_text(GOOD + "u0,1,news\n")
    ran = run("protect", "release.toml")
    assert ran.code == 0
    assert any("u0" in line or "row" in line for line in ran.warnings)


def test_losing_much_is_warned_of_unless_it_is_refused(clicks, run):
    (clicks / "clicks.csv").write_text(HEAD + "a,1,x\nb,1,x\nc,1,x\nd,1,p\ne,1,q\nf,1,r\n")
    ran = run("protect", "release.toml")
    assert ran.code == 0
    assert any("the release loses 50.0% of the events" in line for line in ran.warnings)


def test_force_replaces_and_its_absence_keeps(clicks, run, listing):
    assert run("protect", "release.toml").code == 0
    before = listing()
    assert run("protect", "release.toml").code == 2
    assert listing() == before
    assert run("protect", "release.toml", "--force").code == 0
    assert listing() != before


def test_pseudonyms_are_written_if_asked_for(clicks, run):
    (clicks / "release.toml").write_text(TOML + "pseudonyms = true\n")
    assert run("protect", "release.toml").code == 0
    who = pl.read_parquet(clicks / "out/internal/pseudonyms.parquet")
    released = pl.read_csv(clicks / "out/release/events.csv")
    assert set(who["pseudonym"]) == set(released["person"])
    assert set(who["person"]) == {f"u{i}" for i in range(6)}


def test_a_dry_run_writes_nothing_and_foretells(clicks, run, listing):
    before = listing()
    ran = run("protect", "release.toml", "--dry-run", "--quiet")
    assert (ran.code, ran.err) == (0, "")
    assert "7 persons, 14 events" in ran.out
    assert "SequenceKAnonymity is feasible: k = 6, 14.3% of events lost (tried on 7 of 7 persons)" in ran.out
    assert "Information loss: " in ran.out
    assert "  Linkability: " in ran.out
    assert len(ran.out.splitlines()) <= 15
    assert "nothing was written" in ran.out
    document = run("protect", "release.toml", "--dry-run", "--json").document
    assert document["dry_run"] is True
    assert document["achieved"] == {"k": 6}
    assert document["lost_share"] == pytest.approx(2 / 14)
    assert listing() == before
