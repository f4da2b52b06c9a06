"""``convert``: what it writes and says, and that it leaves nothing behind where it cannot."""

from __future__ import annotations

import gzip

import pytest

from sequester.io import read_frame

VISITS = "user;day;clock;page\nb;02.01.2010;09:30;news\na;01.01.2010;10:00;news\nb;01.01.2010;10:00;tech\n"
TOLD = (
    "--person",
    "user",
    "--time",
    "day",
    "--time",
    "clock",
    "--time-format",
    "%d.%m.%Y %H:%M",
    "--symbol",
    "page",
)


@pytest.fixture
def visits(tmp_path):
    (tmp_path / "visits.csv").write_text(VISITS)
    return tmp_path


def test_a_table_becomes_an_event_log(visits, run):
    ran = run("convert", "visits.csv", "visits.xes.gz", *TOLD, "--quiet")
    assert (ran.code, ran.out) == (0, "visits.xes.gz: 3 events\n")
    assert ran.warnings[0].startswith("columns have other names: 'user' is case:concept:name")
    assert read_frame(visits / "visits.xes.gz").rows() == [
        ("b", "tech", "2010-01-01T10:00:00+00:00"),
        ("b", "news", "2010-01-02T09:30:00+00:00"),
        ("a", "news", "2010-01-01T10:00:00+00:00"),
    ]


def test_json_is_one_document(visits, run):
    ran = run("convert", "visits.csv", "visits.spmf", *TOLD, "--json")
    assert ran.code == 0
    assert ran.document["path"] == "visits.spmf"
    assert (ran.document["format"], ran.document["rows"]) == ("spmf", 3)
    assert ran.document["lost"] == ran.warnings
    assert (visits / "visits.spmf").read_text().splitlines()[-2:] == ["2 -1 1 -1 -2", "1 -1 -2"]


def test_options_of_the_input(visits, run):
    (visits / "bikes.txt.gz").write_bytes(gzip.compress("@ITEM=7=Köln\n7 -1 -2\n".encode("latin-1")))
    ran = run("convert", "bikes.txt.gz", "bikes.tsv", "--format", "spmf", "--encoding", "latin-1", "--quiet")
    assert ran.code == 0
    assert (visits / "bikes.tsv").read_text() == "person\torder\tsymbol\n1\t1\tKöln\n"
    (visits / "bar.csv").write_text("a|b;c\n1|2;3\n")
    assert run("convert", "bar.csv", "bar.parquet", "--delimiter", "|", "--quiet").code == 0
    assert read_frame(visits / "bar.parquet").to_dicts() == [{"a": "1", "b;c": "2;3"}]


def test_a_configuration_stands_for_its_data(visits, run):
    (visits / "release.toml").write_text(
        '[data]\npath = "visits.csv"\nperson = "user"\ntime = ["day", "clock"]\n'
        'time_format = "%d.%m.%Y %H:%M"\n[data.symbol]\ncolumn = "page"\n'
    )
    assert run("convert", "release.toml", "visits.seq", "--quiet").code == 0
    assert read_frame(visits / "visits.seq").rows() == [(1, 1, "tech"), (1, 2, "news"), (2, 1, "news")]


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (("visits.csv", "out.xlsx"), "out.xlsx: the name does not tell the format"),
        (
            ("visits.csv", "out.parquet.gz"),
            "out.parquet.gz: Parquet is compressed inside; unpack the file first",
        ),
        (("nothing.csv", "out.xes"), "nothing.csv: no such file or directory"),
        (("nothing.toml", "out.xes"), "cannot read nothing.toml"),
        (
            ("visits.csv", "out.xes"),
            "--person is needed: the column of persons, or row where each row is a person",
        ),
        (
            ("visits.csv", "out.xes", "--person", "who", "--symbol", "page"),
            "--person is 'who', and the table has no",
        ),
        (("visits.csv", "visits.csv"), "visits.csv exists already; --force replaces it"),
        (("visits.csv", "visits.csv/out.tsv"), "cannot write visits.csv/out.tsv"),
        (("visits.csv",), "missing argument 'OUT'"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_left(visits, run, listing, argv, line):
    before = listing()
    ran = run("convert", *argv, "--quiet")
    assert ran.code == 2
    assert line in "\n".join(ran.errors)
    assert "Traceback" not in ran.err
    assert listing() == before


def test_force_replaces(visits, run):
    (visits / "out.tsv").write_text("old")
    assert run("convert", "visits.csv", "out.tsv", "--quiet").code == 2
    assert (visits / "out.tsv").read_text() == "old"
    assert run("convert", "visits.csv", "out.tsv", "--force", "--quiet").code == 0
    assert (visits / "out.tsv").read_text().startswith("user\tday")
    assert read_frame(visits / "out.tsv").height == 3
