"""``init`` from the command line: answers, questions on a terminal only, and bad input by hand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor

import pytest

from named_sensitive import with_sensitive_named

CLICKS = "user,at,page\na,2024-05-14T07:41:20,news\na,2024-05-14T07:41:32,tech\nb,2024-05-14T14:50:30,news\n"
VISITS = "who,n,ward,Disease\na,1,x,flu\na,2,y,HIV\nb,1,x,flu\nb,2,y,cold\n"


@pytest.fixture
def data(tmp_path):
    (tmp_path / "clicks.csv").write_text(CLICKS)
    (tmp_path / "visits.csv").write_text(VISITS)
    return tmp_path


def test_symbol_data_needs_nothing_more(run, data):
    ran = run("init", "clicks.csv")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "release.toml: person user; time at; symbol page",
        "next: read release.toml, where each guess has its reason, and run sequester inspect release.toml",
    ]
    assert ran.warnings == []
    assert run("inspect", "release.toml").code == 0


def test_what_is_sensitive_is_left_open_and_said_so(run, data):
    ran = run("init", "visits.csv", "--out", "v.toml")
    assert ran.code == 0
    assert ran.out.splitlines()[:2] == [
        "v.toml: person who; order n; 2 quasi-identifiers",
        "sensitive: you decide, in v.toml. It could be Disease.",
    ]
    text = (data / "v.toml").read_text()
    assert "sensitive" not in tomllib.loads(text)["data"]
    (data / "v.toml").write_text(with_sensitive_named(text))
    assert run("inspect", "v.toml").code == 0


def test_what_is_sensitive_can_be_said(run, data):
    ran = run("init", "visits.csv", "--sensitive", "Disease", "--sensitive", "ward", "--person", "who")
    assert ran.out.splitlines()[0] == "release.toml: person who; order n; sensitive Disease, ward"
    written = tomllib.loads((data / "release.toml").read_text())["data"]
    assert written["sensitive"] == {"Disease": {"protect": "all"}, "ward": {"protect": "all"}}
    assert "quasi" not in written


def test_json(run, data):
    document = run("init", "visits.csv", "--json").document
    assert document == {
        "path": "release.toml",
        "person": "who",
        "time": [],
        "time_format": None,
        "order": "n",
        "tie": None,
        "drop": [],
        "symbol": None,
        "quasi": {"ward": {"kind": "flat"}, "Disease": {"kind": "flat"}},
        "sensitive": [],
        "sensitive_candidates": ["Disease"],
        "missing": [],
        "place": None,
        "trip": None,
        "doubts": [],
    }


def test_doubts_are_warnings(run, data):
    (data / "log.csv").write_text("date;label\n2010-11-04 00:03:50;sleeping\n2010-11-04 05:40:43;eating\n")
    ran = run("init", "log.csv")
    assert ran.code == 0
    (line,) = ran.warnings
    assert line.startswith("person: no column repeats like persons, so every row is taken for a person.")
    assert f"# LOOK: {line}\n" in (data / "release.toml").read_text()


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.csv", b"", "a.csv: is empty"),
        ("a.csv", b"user,page\n", "a.csv: has a header and no rows"),
        (
            "a.csv",
            b"user\na\nb\n",
            "a.csv: there is one column, 'user', and events need two: who, and what happened",
        ),
        ("a.csv", b"\x00\x01\x02\xff", "a.csv: line 1 has a NUL byte; this is not text"),
        ("a.csv", b"user,page\na,caf\xe9\n", "a.csv: line 2 is not UTF-8"),
        ("a.parquet", b"words", "a.parquet: is no Parquet file"),
        ("a.csv", b"user,ssn\na,1\nb,2\n", "a.csv: nothing is left to release"),
        ("a.csv", b"user,^x$\na,1\nb,2\n", "column '^x$' has a name from ^ to $"),
        ("a.dat", b"user,page\na,1\n", "a.dat: the name does not tell the format"),
        ("a.csv", None, "a.csv: no such file or directory"),
    ],
)
def test_bad_input_by_hand(run, tmp_path, listing, name, content, line):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    before = listing()
    ran = run("init", name, "--quiet")
    assert ran.code == 2
    assert ran.errors[0].startswith(line)
    assert len(ran.err.splitlines()) == 1
    assert listing() == before


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ("--person", "nobody"),
            "visits.csv: person must be 'row', 'all' or a column with values ('who', 'n',",
        ),
        (("--sensitive", "who"), "sensitive must be one of 'Disease', 'ward', got 'who'"),
        (("--format", "klingon"), "format must be one of"),
        (("--delimiter", "::"), "delimiter must be one character"),
        (("--out", "clicks.csv"), "clicks.csv exists already; --force replaces it"),
        (("--out", "clicks.csv/x.toml"), "cannot write clicks.csv/x.toml: clicks.csv is not a folder"),
    ],
)
def test_wrong_use(run, data, listing, options, line):
    before = listing()
    ran = run("init", "visits.csv", "--quiet", *options)
    assert ran.code == 2
    assert ran.errors[0].startswith(line)
    assert listing() == before


@pytest.fixture
def on_a_terminal(run, monkeypatch):
    """Run init with a terminal on the other side, and give its exit code and what the terminal shows."""
    pty = pytest.importorskip("pty")

    def on_a_terminal(answers, *options):
        ours, theirs = pty.openpty()
        os.write(ours, answers)
        with ThreadPoolExecutor(1) as reader, monkeypatch.context() as patch:
            shown = reader.submit(read_all, ours)
            with os.fdopen(theirs) as typed, os.fdopen(os.dup(theirs), "w") as screen:
                patch.setattr(sys, "stdin", typed)
                patch.setattr(sys, "stderr", screen)
                code = run("init", "visits.csv", *options).code
        os.close(ours)
        return code, shown.result()

    return on_a_terminal


def read_all(terminal):
    shown = b""
    try:
        while part := os.read(terminal, 4096):
            shown += part
    except OSError:  # how a terminal says that nobody is there any more
        pass
    return shown.decode()


def test_questions_on_a_terminal(data):
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "sequester", "init", "visits.csv"]
    with subprocess.Popen(command, cwd=data, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.write(ours, b"\nDisease\n")
        process.communicate(timeout=600)
    os.close(theirs)
    shown = read_all(ours)
    os.close(ours)
    assert process.returncode == 0
    assert "named like persons; 2 distinct values, 2.0 rows each" in shown
    assert "Who? A column, row if each row is a person, all for one [who]" in shown
    assert "What must nobody learn about a person? It could be Disease." in shown
    assert tomllib.loads((data / "release.toml").read_text())["data"]["sensitive"] == {
        "Disease": {"protect": "all"}
    }


def test_answers_are_checked_and_nothing_leaves_it_open(data, on_a_terminal):
    code, shown = on_a_terminal(b"nobody\nrow\nnothing\n\n")
    assert code == 0
    assert "person must be 'row', 'all' or a column with values" in shown
    assert "sensitive must be one of" in shown
    written = tomllib.loads((data / "release.toml").read_text())["data"]
    assert written["person"] == "row"
    assert "sensitive" not in written


def test_no_questions_where_the_options_or_silence_answer(data, on_a_terminal):
    assert on_a_terminal(b"", "--quiet")[0] == 0
    code, shown = on_a_terminal(b"", "--sensitive", "Disease", "--force")
    assert code == 0
    # A slow run also shows its bar, which hides the cursor with "?25l" and brings it back with "?25h".
    assert "?" not in re.sub(r"\?25[lh]", "", shown)


def test_no_questions_without_a_terminal(data):
    command = [sys.executable, "-m", "sequester", "init", "visits.csv"]
    done = subprocess.run(command, cwd=data, input=b"Disease\n", capture_output=True, check=False)
    assert done.returncode == 0
    assert b"?" not in done.stderr
    assert "sensitive" not in tomllib.loads((data / "release.toml").read_text())["data"]


def test_giving_up_leaves_nothing(data, listing, on_a_terminal):
    before = listing()
    code, _ = on_a_terminal(b"\x04")
    assert code == 130
    assert listing() == before
