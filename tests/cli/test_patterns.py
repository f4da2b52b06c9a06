"""Hiding patterns from the command line: files, tables, warnings, and a check that needs the original."""

from __future__ import annotations

import json
import tomllib

import polars as pl
import pytest

CSV = "who,n,page\n" + "".join(f"u{u},{n},{page}\n" for u in range(6) for n, page in enumerate("abc"))
TOML = """
[data]
path = "clicks.csv"
person = "who"
order = "n"
[data.symbol]
column = "page"
[method]
name = "ph"
min_support = 3
METHOD
[release]
path = "out"
seed = "a sentence that nobody guesses"
"""


@pytest.fixture
def place(tmp_path):
    def place(method):
        (tmp_path / "clicks.csv").write_text(CSV)
        (tmp_path / "release.toml").write_text(TOML.replace("METHOD", method))
        return tmp_path

    return place


def test_from_a_file_of_patterns_to_a_release_that_does_not_show_them(place, run):
    folder = place('patterns_path = "secret.jsonl"')
    (folder / "secret.jsonl").write_text('["a", "c"]\n["a", "b", "c"]\n')
    ran = run("protect", "release.toml", "--quick", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["model"] == "PatternHiding"
    certificate = json.loads((folder / "out/release/certificate.json").read_text())
    assert certificate["claim"]["model"] == "PatternHiding"
    assert certificate["claim"]["parameters"] == {"min_support": 3}
    assert set(certificate["method"]["parameters"]) == {
        "min_support",
        "max_length",
        "uncertainty",
        "prefer",
        "search",
    }
    assert (folder / "out/internal/pseudonyms.parquet").exists()
    kept = tomllib.loads((folder / "out/internal/release.toml").read_text())
    assert kept["method"]["patterns"] == [["a", "c"], ["a", "b", "c"]]
    changes = pl.read_parquet(folder / "out/internal/changes.parquet")
    assert changes.columns == ["row", "person", "what", "from", "to"]

    ran = run("verify", "out/release")
    assert ran.code == 2
    assert "what it hides is not published" in ran.errors[0]
    assert "--original" in ran.errors[0]
    ran = run("verify", "out/release", "--original", "release.toml", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["achieved"] == {"min_support": 3}
    # What was kept repeats the run, and verifies it.
    assert run("verify", "out/release", "--original", "out/internal/release.toml").code == 0


def test_a_release_that_shows_the_pattern_is_named(place, run):
    folder = place('patterns = [["b", "c"]]')
    assert run("protect", "release.toml", "--quick").code == 0
    text = (folder / "release.toml").read_text()
    (folder / "other.toml").write_text(text.replace('[["b", "c"]]', '[["a"]]'))
    ran = run("verify", "out/release", "--original", "other.toml", "--json")
    assert ran.code == 1
    assert json.loads(ran.out)["witnesses"] == ["a"]
    (folder / "third.toml").write_text(text.replace("min_support = 3", "min_support = 2"))
    ran = run("verify", "out/release", "--original", "third.toml")
    assert ran.code == 1
    assert "claim: says min_support = 3, but the configuration says 2" in ran.errors[0]


def test_tables_with_thresholds_of_their_own(place, run):
    folder = place(
        'forbidden = "unseen"\nuncertainty = "maximum"\n'
        '[[method.pattern]]\nitems = ["a", "b"]\nmin_support = 1\n[[method.pattern]]\nitems = ["b", "x"]'
    )
    ran = run("protect", "release.toml", "--quick")
    assert ran.code == 0
    assert any("b → x does not occur in the data" in line for line in ran.err.splitlines())
    released = pl.read_csv(folder / "out/release/events.csv").group_by("person").agg("page")["page"].to_list()
    assert not any("a" in row and "b" in row[row.index("a") :] for row in released)
    assert run("verify", "out/release", "--original", "release.toml").code == 0
    assert run("verify", "out/release", "--original", "out/internal/release.toml").code == 0


@pytest.mark.parametrize(
    ("method", "code", "words"),
    [
        ('patterns = [["x", "y"]]', 2, "none of them occurs in the data: x → y"),
        ("", 2, "method.patterns must have at least one pattern"),
        ('patterns = [["a"], []]', 2, "method.patterns[1] must have at least one item"),
        ('patterns_path = "none.jsonl"', 2, "cannot read"),
        ('patterns = [["a"]]\nuncertainty = { permutations = 1 }', 2, "method.uncertainty"),
        ('patterns = [["a"]]\n[[method.pattern]]\nitem = ["a"]', 2, "method.pattern[0].item"),
        (
            'patterns = [["a", "b"]]\nuncertainty = { permutations = 2, support = 1 }',
            1,
            "uncertainty asks for 2 permutations",
        ),
    ],
)
def test_refusals(place, run, method, code, words):
    folder = place(method)
    ran = run("protect", "release.toml", "--quick")
    assert ran.code == code
    assert words in "\n".join(ran.errors)
    assert not (folder / "out").exists()


def test_the_file_of_patterns_is_never_overwritten(place, run):
    folder = place('patterns_path = "out/secret.jsonl"')
    (folder / "out").mkdir()
    (folder / "out" / "secret.jsonl").write_text('["a", "b"]\n')
    run("protect", "release.toml", "--force")
    assert (folder / "out" / "secret.jsonl").read_text() == '["a", "b"]\n'


def test_a_dry_run_tries_it_and_writes_nothing(place, run):
    folder = place('patterns = [["a", "b"]]')
    ran = run("protect", "release.toml", "--dry-run", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["achieved"] == {"min_support": 3}
    assert not (folder / "out").exists()
