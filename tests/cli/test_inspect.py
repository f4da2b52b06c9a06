"""``sequester inspect``: what it prints, what it writes, and how it refuses."""

from __future__ import annotations

import pytest

from refusal_cases import GOOD, HEAD, TOML, Case, Refusal, more, toml

DATA = TOML[: TOML.index("[method]")]
ARGV = ("inspect", "release.toml")
VISITS = """
[data]
path = "visits.csv"
person = "who"
order = "n"
[data.quasi.zip]
hierarchy = { kind = "mask", levels = [1] }
[data.sensitive.disease]
protect = ["HIV"]
"""


@pytest.fixture
def clicks(tmp_path):
    (tmp_path / "clicks.csv").write_text(GOOD + "u9,1,bbs\n")
    (tmp_path / "release.toml").write_text(DATA)
    return tmp_path


def test_needs_no_method(run, clicks):
    ran = run("inspect", "release.toml", "--quiet")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("7 persons, 13 events, 3 different items\n")
    assert ["bbs", "ordered", "1"] in [line.split() for line in ran.out.splitlines()]


def test_json_is_one_document_of_the_agreed_shape(run, clicks):
    ran = run("inspect", "release.toml", "--json", "--quiet")
    assert ran.code == 0
    document = ran.document
    assert (document["persons"], document["events"]) == (7, 13)
    assert (document["problems"], document["dependent"]) == ([], [])
    assert document["risk"][0]["unique"] == {
        "value": pytest.approx(1 / 7),
        "interval": [pytest.approx(1 / 7)] * 2,
    }
    assert {(each["known"], each["kind"]) for each in document["risk"]} == {
        (known, kind) for known in (1, 2, 3) for kind in ("ordered", "anywhere")
    }


def test_page_is_written_once_and_replaced_when_asked(run, clicks):
    ran = run("inspect", "release.toml", "--out", "pages/inspect.html", "--json", "--quiet")
    assert (ran.code, ran.document["page"]) == (0, "pages/inspect.html")
    page = clicks / "pages" / "inspect.html"
    assert "Privacy risks of the data" in page.read_text()
    again = run("inspect", "release.toml", "--out", "pages/inspect.html", "--quiet")
    assert (again.code, again.errors) == (
        2,
        ["pages/inspect.html exists already; --force replaces it (in Python, force=True)"],
    )
    forced = run("inspect", "release.toml", "--out", "pages/inspect.html", "--force", "--quiet")
    assert forced.code == 0
    assert forced.out.splitlines()[-1].startswith("to read")
    assert [path.name for path in page.parent.iterdir()] == ["inspect.html"]


def test_patterns_are_listed_when_asked(run, clicks):
    assert "Frequent patterns" not in run("inspect", "release.toml", "--quiet").out
    ran = run("inspect", "release.toml", "--patterns", "--quiet")
    assert "that occur in the events of at least 2 persons" in ran.out
    assert ran.out.splitlines()[-1] == "    news > tech  6"


def test_the_steward_says_how_frequent_and_how_many(run, clicks):
    asked = ("inspect", "release.toml", "--patterns", "--min-support", "6", "--top", "1", "--json", "--quiet")
    assert run(*asked).document["patterns"] == {
        "min_support": 6,
        "max_length": 5,
        "total": 1,
        "first": [{"items": ["news", "tech"], "persons": 6}],
    }
    refused = run("inspect", "release.toml", "--top", "3", "--quiet")
    assert (refused.code, refused.errors) == (2, ["top needs patterns: ask for them, too"])


def test_problems_come_with_their_rows(run, clicks):
    (clicks / "clicks.csv").write_text(GOOD + "u0,1,news\n")
    ran = run("inspect", "release.toml", "--json", "--quiet")
    assert ran.code == 0
    problems = {each["severity"]: each for each in ran.document["problems"]}
    assert problems["note"]["count"] == 2
    assert problems["note"]["rows"] == [1, 13]
    assert problems["warning"]["rows"] == [13]
    assert "warning: rows that repeat an earlier row in every column (1 row: 13)" in run(*ARGV, "--quiet").out


def test_confidence_is_set_against_the_base_rate(run, tmp_path):
    rows = [f"p{i},1,{'10' if i < 3 else '20'},{'HIV' if i < 3 else 'flu'}" for i in range(12)]
    (tmp_path / "visits.csv").write_text("\n".join(["who,n,zip,disease", *rows]) + "\n")
    (tmp_path / "release.toml").write_text(VISITS)
    ran = run("inspect", "release.toml", "--json", "--quiet")
    confidence = ran.document["risk"][0]["confidence"]
    assert (confidence["base_rate"], confidence["largest"]) == (0.25, 1.0)
    assert confidence["above_80"]["value"] == 1.0
    assert confidence["worst"] == [
        {"items": ["zip=10"], "persons": 3, "value": "disease=HIV", "confidence": 1.0}
    ]
    text = run("inspect", "release.toml", "--quiet").out
    rows = [line.split() for line in text.splitlines()]
    assert ["zip=10", "ordered", "3", "disease=HIV", "100%"] in rows


CASES = [
    Case(
        "all errors of the data at once",
        2,
        (
            "column 'user': person is missing (1 row: 1)",
            "column 'n': order is missing (2 rows: 2, 3)",
            "column 'page': the value '*' stands for a suppressed value and may not occur (1 row: 4)",
        ),
        {"clicks.csv": HEAD + ",1,news\nu1,,news\nu2,,news\nu3,1,*\n"},
        ARGV,
    ),
    Case(
        "a column without a role",
        2,
        ("column 'page' has no role",),
        toml(('column = "page"', 'column = "place"')),
        ARGV,
    ),
    Case(
        "no such configuration",
        2,
        ("cannot read missing.toml: No such file or directory",),
        {},
        ("inspect", "missing.toml"),
    ),
    Case(
        "no configuration named",
        2,
        ("missing argument 'CONFIG'; see sequester inspect --help",),
        {},
        ("inspect",),
    ),
    Case("no such data", 2, ("clicks.tsv",), toml(("clicks.csv", "clicks.tsv")), ARGV),
    Case("an unknown key", 2, ("release.toml: data.sorted",), more("sorted = true"), ARGV),
    Case("the data for the configuration", 2, ("is not valid TOML",), {}, ("inspect", "clicks.csv")),
    Case("a method that is none", 2, ("method.name",), toml(("p2ka", "magic")), ARGV),
    Case(
        "a page where none can be",
        2,
        ("cannot write clicks.csv/page.html",),
        {},
        (*ARGV, "--out", "clicks.csv/page.html"),
    ),
    Case(
        "a page that exists",
        2,
        ("clicks.csv exists already; --force replaces it",),
        {},
        (*ARGV, "--out", "clicks.csv"),
    ),
    Case("an unknown option", 2, ("--pattern",), {}, (*ARGV, "--pattern")),
    Case(
        "patterns of quasi-identifiers",
        2,
        ("--patterns lists patterns of symbols, and this table has quasi-identifiers instead",),
        {"visits.csv": "who,n,zip,disease\na,1,10,flu\nb,1,10,HIV\n", "release.toml": VISITS},
        (*ARGV, "--patterns"),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["lines", "json"])
def test_bad_input_is_refused_in_lines(refusal, case, options):
    assert refusal(case, *options) == Refusal(case.code)


def test_refusal_is_a_document_too(run, clicks):
    (clicks / "clicks.csv").write_text(HEAD + ",1,news\nu1,x,\n")
    ran = run("inspect", "release.toml", "--json", "--quiet")
    assert (ran.code, ran.document["exit"]) == (2, 2)
    assert ran.document["errors"] == ["column 'user': person is missing (1 row: 1)"]


def test_help_names_what_it_shows(run):
    ran = run("inspect", "--help")
    assert ran.code == 0
    assert "--patterns" in ran.out
    assert "Needs no method" in " ".join(ran.out.split())
