"""One person's log on the command line: protect, verify, follow; the patterns stay internal."""

from __future__ import annotations

import io
import json
import re
import sys

import polars as pl
import pytest

TOML = """
[data]
path = "log.csv"
person = "user"
order = "n"
[data.symbol]
column = "page"
hierarchy = { path = "pages.csv" }
[method]
name = "NAME"
patterns_path = "secret.jsonl"
window = 3
max_leakage = 0.6
weight = "w"
[release]
path = "out"
"""
PAGES = "news;Info;*\nlocal;Info;*\nweather;Info;*\nsports;Fun;*\nbbs;Fun;*\n"


@pytest.fixture
def log(tmp_path):
    """Two persons' pages, some of them important."""
    rows = [
        (user, n, page, 1 + n % 3)
        for user, pages in (
            ("ann", ["news", "bbs", "local", "weather", "sports"] * 12),
            ("bob", ["news", "bbs"] * 9),
        )
        for n, page in enumerate(pages)
    ]
    pl.DataFrame(rows, schema=["user", "n", "page", "w"], orient="row").write_csv(tmp_path / "log.csv")
    (tmp_path / "pages.csv").write_text(PAGES, encoding="utf-8")
    (tmp_path / "secret.jsonl").write_text('["news", "bbs"]\n["local", "gone"]\n', encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", ["top-down", "bottom-up"])
def test_protect_and_verify_with_the_original(run, log, name):
    (log / "release.toml").write_text(TOML.replace("NAME", name), encoding="utf-8")
    ran = run("protect", "release.toml")
    assert ran.code == 0, ran.err
    assert "patterns: local → gone does not occur in the data" in ran.warnings
    release = log / "out" / "release"
    certificate = json.loads((release / "certificate.json").read_text(encoding="utf-8"))
    assert certificate["claim"]["parameters"] == {
        "window": 3,
        "max_leakage": 0.6,
        "worst_case": False,
        "measure": "exact",
    }
    assert "patterns" not in certificate["method"]["parameters"]
    assert any("hold the original" in line for line in certificate["limits"])
    assert "epsilon" not in (release / "report.html").read_text(encoding="utf-8").lower()
    assert set(pl.read_csv(release / "events.csv").columns) == {"person", "order", "page"}

    alone = run("verify", "out/release")
    assert alone.code == 2
    checked = run("verify", "out/release", "--original", "release.toml", "--json")
    assert checked.code == 0, checked.err
    assert checked.document["model"] == "MutualInformationPrivacy"
    assert checked.document["achieved"]["max_leakage"] <= 0.6

    internal = log / "out" / "internal"
    verdicts = pl.read_parquet(internal / "verdicts.parquet")
    assert set(verdicts["person"]) == {"ann", "bob"}
    assert verdicts["holds"].all()
    assert (verdicts["leakage_bits"] <= verdicts["bound_bits"] + 1e-9).all()
    patterns = pl.read_parquet(internal / "patterns.parquet")
    assert set(patterns["pattern"]) == {"news → bbs"}
    page = (internal / "report.html").read_text(encoding="utf-8")
    assert "How the promise is kept: verdicts" in page
    assert "most frequent pairs of the release" in page


def test_the_papers_measure_is_called_by_its_name(run, log):
    text = TOML.replace("NAME", "top-down")
    paper = text.replace("window = 3", 'window = 3\nmeasure = "paper"')
    (log / "exact.toml").write_text(text, encoding="utf-8")
    (log / "release.toml").write_text(paper, encoding="utf-8")
    ran = run("protect", "release.toml")
    assert ran.code == 0, ran.err
    release = log / "out" / "release"
    path = release / "certificate.json"
    certificate = json.loads(path.read_text(encoding="utf-8"))
    assert certificate["claim"]["parameters"]["measure"] == "paper"
    assert any("by the paper's measure" in line for line in certificate["limits"])
    page = (release / "report.html").read_text(encoding="utf-8")
    assert "the mutual information may be larger" in page
    verdicts = pl.read_parquet(log / "out" / "internal" / "verdicts.parquet")
    assert (verdicts["mutual_information_bits"] >= verdicts["leakage_bits"] - 1e-9).all()
    # The configuration asks for more than is claimed.
    refused = run("verify", "out/release", "--original", "exact.toml")
    assert refused.code != 0
    assert "paper" in refused.err

    # As it was written before there was a measure: that has to be released again.
    del certificate["claim"]["parameters"]["measure"], certificate["method"]["parameters"]["measure"]
    path.write_text(json.dumps(certificate), encoding="utf-8")
    for asked in ("release.toml", "exact.toml"):
        refused = run("verify", "out/release", "--original", asked)
        assert refused.code == 1
        assert "has no measure" in refused.err


def test_a_release_by_the_papers_measure_that_claims_the_exact_one_is_refused(run, log):
    """90 a and 10 b, 0.15 bits: by the paper's measure they stay as they are, and that is half a bit."""
    pages = ["news"] * 90 + ["local"] * 10
    frame = pl.DataFrame({"user": ["ann"] * 100, "n": range(100), "page": pages})
    frame.write_csv(log / "log.csv")
    (log / "secret.jsonl").write_text('["news"]\n', encoding="utf-8")
    text = TOML.replace("NAME", "top-down").replace('weight = "w"\n', "")
    text = text.replace("max_leakage = 0.6", "max_leakage_bits = 0.15")
    (log / "exact.toml").write_text(text.replace('"out"', '"exact"'), encoding="utf-8")
    (log / "paper.toml").write_text(
        text.replace("window = 3", 'window = 3\nmeasure = "paper"'), encoding="utf-8"
    )
    assert run("protect", "paper.toml", "--quiet").code == 0
    assert pl.read_csv(log / "out" / "release" / "events.csv")["page"].to_list() == pages
    path = log / "out" / "release" / "certificate.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"paper"', '"exact"'), encoding="utf-8")
    checked = run("verify", "out/release", "--original", "exact.toml")
    assert checked.code == 1
    assert "0.4690 bits leak, 0.1500 may" in checked.err + checked.out

    assert run("protect", "exact.toml", "--quiet").code == 0
    assert pl.read_csv(log / "exact" / "release" / "events.csv")["page"].to_list() != pages
    assert run("verify", "exact/release", "--original", "exact.toml").code == 0


def test_who_looks_for_places_needs_to_know_who_is_who(run, log):
    (log / "release.toml").write_text(TOML.replace("NAME", "top-down"), encoding="utf-8")
    assert run("protect", "release.toml", "--quick", "--quiet").code == 0
    attack = (
        "attack",
        "out/release",
        "--original",
        "release.toml",
        "--known",
        "1",
        "--targets",
        "20",
        "--json",
    )
    tried = run(*attack)
    assert "position" in {each["name"] for each in tried.document["attacks"]}
    (log / "out" / "internal" / "pseudonyms.parquet").unlink()
    tried = run(*attack)
    assert tried.code == 0
    assert "position" not in {each["name"] for each in tried.document["attacks"]}
    assert "no pseudonyms were found, so nobody tried to find where secret patterns were" in tried.warnings


def test_follow_reads_lines_and_writes_them_sanitized(run, log, monkeypatch):
    text = TOML.replace("NAME", "top-down").replace("max_leakage = 0.6", "max_leakage_bits = 0.05")
    (log / "release.toml").write_text(text.replace('weight = "w"\n', ""), encoding="utf-8")
    lines = "".join(json.dumps(page) + "\n" for page in ["news", "bbs", "local"] * 6)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    ran = run("protect", "release.toml", "--follow", "-")
    assert ran.code == 0, ran.err
    assert len([json.loads(line) for line in ran.out.splitlines()]) == 18
    assert re.search(r"18 symbols have left; place by place they tell \S+ bits on average \(mutual", ran.err)
    assert re.search(r"at most \S+ are allowed, and they lost \d+% of what they said", ran.err)
    assert "tell 0.0000" not in ran.err
    assert not (log / "out").exists()

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'"news"\n"nowhere"\n')))
    ran = run("protect", "release.toml", "--follow", "-", "--quiet")
    assert ran.code == 2
    assert ran.errors == ["line 2: symbol 'nowhere' is not a leaf of the taxonomy"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--follow", "log.csv"], ["--follow must be -", "'log.csv'"]),
        (["--follow", "-", "--out", "there"], ["--out", "--follow"]),
    ],
)
def test_follow_takes_standard_input_and_makes_no_release(run, log, options, named):
    (log / "release.toml").write_text(TOML.replace("NAME", "top-down"), encoding="utf-8")
    ran = run("protect", "release.toml", *options)
    assert ran.code == 2
    [message] = ran.errors
    assert [each for each in named if each not in message] == []
