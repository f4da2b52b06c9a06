"""Bad data, hierarchies and outputs: the exit code, one clear line per problem, nothing left behind."""

from __future__ import annotations

import gzip

import pytest

from refusal_cases import GOOD, HEAD, TOML, Case, Refusal, data, hierarchy, more, toml

EDGES = 'path = "pages.csv", format = "edges"'
LINT = ("hierarchy", "lint", "release.toml")
SEQ = '[data]\npath = "clicks.seq"\n[method]\nname = "p2ka"\nk = 2\n[release]\npath = "out"\n'
CYCLE = "news,a\na,b\nb,a\ntech,a\n"
LONELY = HEAD + "a,1,x\nb,1,x\nc,1,x\nd,1,p\ne,1,q\nf,1,r\n"

CASES = [
    Case("no file", 2, ("clicks.txt: no such file or directory",), toml(("clicks.csv", "clicks.txt"))),
    Case("a folder of nothing", 2, (".: is a folder without .parquet files",), toml(("clicks.csv", "."))),
    Case("an empty file", 2, ("clicks.csv: is empty",), data("")),
    Case("a header only", 2, ("clicks.csv: has a header and no rows",), data(HEAD)),
    Case("one person", 1, ("k = 2 is more than the 1 person;", "no k of 2"), data(HEAD + "a,1,news\n")),
    Case(
        "k above the persons",
        1,
        ("k = 7 is more than the 6 persons; the largest k that releases anything here is 6",),
        toml(("k = 2", "k = 7")),
    ),
    Case(
        "k beyond all counting",
        1,
        ("is more than the 6 persons; the largest k that releases anything here is 6",),
        toml(("k = 2", f"k = {10**30}")),
    ),
    Case(
        "nobody alike",
        1,
        ("k = 2 releases nothing", "no k of 2 or more releases anything here"),
        data(HEAD + "a,1,x\nb,1,y\nc,1,z\n"),
    ),
    Case(
        "wrong and missing columns",
        2,
        ("column 'user' is named as person, and the table has no such column", "column 'who' has no role"),
        data(GOOD.replace("user", "who")),
    ),
    Case("duplicate columns", 2, ("2 columns are called 'page'",), data("user,n,page,page\na,1,x,y\n")),
    Case(
        "a column without a role",
        2,
        ("column 'ssn' has no role: give it one, or name it in drop",),
        data("user,n,page,ssn\na,1,x,9\n"),
    ),
    Case(
        "a kept column where none can be",
        2,
        ("only the symbol", "'ward' from keep to drop"),
        {"clicks.csv": "user,n,page,ward\na,1,x,9\nb,1,x,9\n", **more('keep = ["ward"]')},
    ),
    Case("two roles", 2, ("column 'page'", "symbol", "drop"), more('drop = ["page"]')),
    Case(
        "missing persons and orders",
        2,
        ("column 'user': person is missing (2 rows: 1, 3)", "column 'n': order is missing (1 row: 2)"),
        data(HEAD + ",1,x\na,,x\n,2,y\n"),
    ),
    Case(
        "unreadable times",
        2,
        ("column 'n': 'noon' is not an ISO 8601 time", "(1 row: 2)"),
        {"clicks.csv": HEAD + "a,2024-01-01,x\na,noon,x\n", **toml(("order", "time"))},
    ),
    Case(
        "a reserved value",
        2,
        ("column 'page': the value '*' stands for a suppressed value", "(2 rows: 1, 2)"),
        data(HEAD + "a,1,*\nb,1,*\n"),
    ),
    Case(
        "a reserved name",
        2,
        ("column 'count'",),
        {
            "clicks.csv": GOOD.replace("page", "count"),
            **toml(("page", "count")),
        },
    ),
    Case(
        "too many cells",
        2,
        ("clicks.csv: row 2 has 4 cells, the header has 3",),
        data(HEAD + "a,1,x\nb,1,x,x\n"),
    ),
    Case(
        "an open quote",
        2,
        ("clicks.csv: row 1: a quoted cell never ends",),
        data(HEAD + 'a,1,"x\nb,1,x\n'),
    ),
    Case(
        "not UTF-8",
        2,
        ("clicks.csv: line 2 is not UTF-8", "set encoding"),
        data(HEAD.encode() + b"a,1,caf\xe9\n"),
    ),
    Case("NUL bytes", 2, ("clicks.csv: line 2 has a NUL byte",), data(HEAD + "a,1,x\0\n")),
    *(
        Case(
            f"the encoding {name}",
            2,
            ("release.toml: data.encoding must be one of text that Python knows", f"latin-1, got '{name}'"),
            more(f'encoding = "{name}"'),
        )
        for name in ("klingon", "base64", "rot13", "hex")
    ),
    Case(
        "an encoding with a NUL character",
        2,
        (r'release.toml: data.encoding must be text of any characters but NUL, got "u\u0000"',),
        more(r'encoding = "u\u0000"'),
    ),
    Case(
        "an output with a NUL character",
        2,
        (r'release.toml: release.path must be text of any characters but NUL, got "o\u0000ut"',),
        toml(('path = "out"', r'path = "o\u0000ut"')),
    ),
    Case(
        "no ASCII",
        2,
        ("clicks.csv: byte 20 is not ascii; set another encoding",),
        {**data(HEAD + "a,1,caf\u00e9\n"), **more('encoding = "ascii"')},
    ),
    Case(
        "a quote between cells",
        2,
        ("release.toml: data.delimiter must be one character and no quote or line end",),
        more("delimiter = '\"'"),
    ),
    Case(
        "an empty person",
        2,
        ('release.toml: data.person must be text of at least 1 character, got ""',),
        toml(('person = "user"', 'person = ""')),
    ),
    Case(
        "SPMF called text",
        2,
        ("clicks.txt: .txt is read as csv, but this looks like SPMF; set format to spmf or csv",),
        {"clicks.txt": "1 -1 2 3 -1 -2\n1 -1 -2\n", **toml(("clicks.csv", "clicks.txt"))},
    ),
    Case(
        "a huge cell",
        2,
        ("column 'page', row 1: the cell has 2,000,000 bytes",),
        data(HEAD + f"a,1,{'x' * 2_000_000}\n"),
    ),
    Case(
        "a truncated gzip",
        2,
        ("clicks.csv.gz: the gzip file is cut off",),
        data(gzip.compress(GOOD.encode())[:-20], "clicks.csv.gz"),
    ),
    Case("no gzip", 2, ("clicks.csv.gz: is named .gz and is not a gzip file",), data(GOOD, "clicks.csv.gz")),
    Case("no Parquet", 2, ("clicks.parquet: is no Parquet file",), data("words", "clicks.parquet")),
    Case(
        "a cut Parquet", 2, ("clicks.parquet: the Parquet file is damaged",), data("PAR1", "clicks.parquet")
    ),
    Case(
        "words in a sequence file",
        2,
        ("clicks.seq: line 2 is not a row of numbers",),
        {"clicks.seq": "1 2\n1 two\n", "release.toml": SEQ},
    ),
    Case(
        "a name that moves the cursor",
        2,
        ("column 'a\\x1b[2Jb' has no role",),
        data("user,n,page,a\x1b[2Jb\na,1,x,9\n"),
    ),
    Case(
        "more lost than allowed",
        1,
        ("the release loses 50.0% of the events (3 of 6), more than max_suppressed = 0.2 allows",),
        {"clicks.csv": LONELY, **toml(('"out"', '"out"\nmax_suppressed = 0.2'))},
    ),
    Case("a cycle", 2, ("column 'page'", "cycle"), hierarchy(CYCLE, EDGES)),
    Case("a cycle, linted", 1, ("column 'page'", "cycle"), hierarchy(CYCLE, EDGES), LINT),
    Case("two parents", 2, ("'news' has two parents",), hierarchy("news,a\nnews,b\ntech,a\n", EDGES)),
    Case("a value outside", 2, ("1 value", "'tech'"), hierarchy("news;media;*\n")),
    Case("a value outside, linted", 1, ("1 value", "'tech'"), hierarchy("news;media;*\n"), LINT),
    Case("no hierarchy file", 2, ("pages.txt",), hierarchy("", 'path = "pages.txt"')),
    Case(
        "existing output",
        2,
        ("out/release exists already; --force",),
        {"out/release/events.csv": "person,order,page\n"},
    ),
    Case("a file in the way", 2, ("cannot write out/release: out is not a folder",), {"out": "a file"}),
    Case(
        "internal inside release",
        2,
        ("out/release/in must not be inside or around out/release",),
        toml(('"out"', '"out"\ninternal = "out/release/in"')),
    ),
    Case("no release", 2, ("nowhere does not exist",), argv=("verify", "nowhere")),
    Case("a folder that is no release", 2, ("certificate.json",), argv=("verify", ".")),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bad_input_is_refused(case, refusal):
    assert refusal(case) == Refusal(case.code)


def test_there_are_forty_kinds():
    assert len({case.name for case in CASES}) == len(CASES) >= 40


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.argv == ("protect", "release.toml")], ids=str
)
def test_a_dry_run_finds_the_same(case, refusal):
    assert refusal(case, "--dry-run") == Refusal(case.code)


def test_formulas_are_released_as_they_are_with_a_warning(run, tmp_path):
    (tmp_path / "clicks.csv").write_text(HEAD + "a,1,=1+1\nb,1,=1+1\n")
    (tmp_path / "release.toml").write_text(TOML)
    ran = run("protect", "release.toml")
    assert ran.code == 0
    assert len(ran.warnings) == 1
    assert "column 'page': 1 value begins like a spreadsheet formula, for example '=1+1'" in ran.warnings[0]
    assert (tmp_path / "out/release/events.csv").read_text().count(",1,=1+1\n") == 2


def test_letters_of_all_scripts_and_blanks_in_paths_are_no_problem(run, tmp_path):
    folder = tmp_path / "mit Leerzeichen und ümlaut 数据"
    folder.mkdir()
    labels = ["日本", "emoji 🎉", "a,b", 'say "hi"', "line\nbreak", "\u202eright to left", "NA"]
    cells = ['"' + label.replace('"', '""') + '"' for label in labels]
    rows = [f"p{i},{n},{cell}" for i in range(3) for n, cell in enumerate(cells)]
    (folder / "clicks.csv").write_text(HEAD + "\n".join(rows) + "\n", encoding="utf-8")
    (folder / "release.toml").write_text(TOML, encoding="utf-8")
    assert run("protect", folder / "release.toml").code == 0
    ran = run("verify", folder / "out" / "release", "--original", folder / "release.toml")
    assert ran.code == 0
    assert ran.errors == []


def test_warnings_and_notes_come_after_the_errors(run, tmp_path):
    (tmp_path / "release.toml").write_text(TOML)
    (tmp_path / "clicks.csv").write_text(HEAD + "a,1,x\na,1,x\nb,1,*\nb,1,y\n")
    ran = run("protect", "release.toml", "--quiet")
    assert ran.code == 2
    assert ran.err.splitlines() == [
        "error: column 'page': the value '*' stands for a suppressed value and may not occur (1 row: 3)",
        "note: column 'n': events of a person at the same time stay in file order (4 rows: 1, 2, 3, 4)",
        "warning: rows that repeat an earlier row in every column (1 row: 2)",
    ]
