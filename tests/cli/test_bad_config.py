"""Bad configurations and wrong use: exit 2, one clear line per problem, nothing left behind."""

from __future__ import annotations

import pytest

from refusal_cases import TOML, Case, Refusal, data, hierarchy, more, toml

CASES = [
    Case(
        "no configuration",
        2,
        ("cannot read nowhere.toml: No such file or directory",),
        argv=("protect", "nowhere.toml"),
    ),
    Case(
        "a folder as configuration", 2, (". is a folder; a configuration is a file",), argv=("protect", ".")
    ),
    Case(
        "no TOML",
        2,
        ("release.toml is not valid TOML: Expected '=' after a key", "at line 1, column 6"),
        {"release.toml": "just words"},
    ),
    Case("not UTF-8", 2, ("release.toml is not UTF-8 text (byte 1)",), {"release.toml": b"\xff\xfe"}),
    Case("empty", 2, ("release.toml: data is missing; it must be a table",), {"release.toml": ""}),
    Case(
        "an unknown key",
        2,
        (
            'release.toml: data.pearson = "user" is not a known key',
            "did you mean person?",
            "data.person is missing; it must be text",
        ),
        toml(("person", "pearson")),
    ),
    Case(
        "an unknown table",
        2,
        ("release.toml: extra is not a known key; keys here are data, method, release",),
        {"release.toml": TOML + "[extra]"},
    ),
    Case("text for a number", 2, ('method.k must be a whole number, got "x"',), toml(("k = 2", 'k = "x"'))),
    Case("true for a number", 2, ("method.k must be a whole number, got true",), toml(("k = 2", "k = true"))),
    Case(
        "a number for a column",
        2,
        ("data.person must be text of at least 1 character, got 5",),
        toml(('"user"', "5")),
    ),
    Case("a number in a list", 2, ("data.drop[1] must be text, got 5",), more('drop = ["a", 5]')),
    Case("text for a list", 2, ('data.keep must be a list of texts, got "a"',), more('keep = "a"')),
    Case(
        "no such choice",
        2,
        ('data.invalid must be "refuse" or "drop", got "keep"',),
        more('invalid = "keep"'),
    ),
    Case("three columns of time", 2, ("data.time must be",), toml(('order = "n"', 'time = ["a", "b", "c"]'))),
    Case(
        "several problems",
        2,
        (
            "data.order must be text, got 1",
            "method.k must be a whole number, got 0.5",
            "release.max_suppressed must be a number of at least 0 and at most 1, got 2",
        ),
        toml(('"n"', "1"), ("k = 2", "k = 0.5"), ('"out"', '"out"\nmax_suppressed = 2')),
    ),
    Case("k = 1", 2, ("release.toml: method.k must be at least 2, got 1",), toml(("k = 2", "k = 1"))),
    Case("no k", 2, ("method.k is missing; it must be a whole number",), toml(("k = 2", ""))),
    Case(
        "another method's parameter",
        2,
        ("method.c = 0.5 is not a known key; keys here are name, k, strict",),
        toml(("k = 2", "k = 2\nc = 0.5")),
    ),
    Case(
        "an unknown method",
        2,
        ("method.name must be one of", "p2ka,", 'got "magic"'),
        toml(("p2ka", "magic")),
    ),
    Case("no name of a method", 2, ("method.name must be one of", "missing"), toml(('name = "p2ka"', ""))),
    Case(
        "no method",
        2,
        ("release.toml: method is missing; add [method]",),
        toml(('[method]\nname = "p2ka"\nk = 2', "")),
    ),
    Case(
        "a method that is no table",
        2,
        ("method must be a table",),
        {"release.toml": "method = 5" + TOML.replace('[method]\nname = "p2ka"\nk = 2', "")},
    ),
    Case(
        "no output",
        2,
        ("release.path is missing", "or with --out"),
        toml(('path = "out"', "")),
    ),
    Case("a trip column that is not there", 2, ("column 'tid' is named as trip",), more('trip = "tid"')),
    Case(
        "a senseless gap",
        2,
        ("data.trip.gap must be a number of s, min, h or d such as \"30min\", got 'soon'",),
        more('trip = { gap = "soon" }'),
    ),
    Case(
        "places without regions",
        2,
        ("data.place.regions is missing",),
        {"release.toml": TOML + '[data.place]\nlat = "y"\nlon = "x"\n'},
    ),
    Case(
        "unknown regions",
        2,
        ('data.place.regions.kind must be one of density, grid, h3, got "oval"',),
        {"release.toml": TOML + '[data.place]\nlat = "y"\nlon = "x"\nregions = { kind = "oval" }\n'},
    ),
    Case(
        "a cell of no size",
        2,
        ("data.place.regions.cell must be a number above 0, got 0",),
        {
            "release.toml": TOML
            + '[data.place]\nlat = "y"\nlon = "x"\nregions = { kind = "grid", cell = 0 }\n'
        },
    ),
    Case(
        "an unknown format",
        2,
        ('data.format must be "csv", "spmf", "seq", "xes", "parquet", "arrow"', 'got "excel"'),
        more('format = "excel"'),
    ),
    Case("a wrong format", 2, ("clicks.csv: line 1: something is not a",), more('format = "spmf"')),
    Case("an unknown ending", 2, ("clicks.xlsx: the name does not tell",), data("PK", "clicks.xlsx")),
    Case(
        "a hierarchy of H3 without resolutions",
        2,
        ("data.symbol.hierarchy.resolutions is missing; it must be a list of whole numbers",),
        hierarchy("", 'kind = "h3"'),
    ),
    Case(
        "an unknown hierarchy",
        2,
        ("data.symbol.hierarchy.kind must be one of mask, intervals, dates,", 'got "oak"'),
        hierarchy("", 'kind = "oak"'),
    ),
    Case(
        "a hierarchy without a kind",
        2,
        ("data.symbol.hierarchy must be a table with kind = one of mask",),
        hierarchy("", "levels = [3]"),
    ),
    Case(
        "a hierarchy with a wrong parameter",
        2,
        ('data.symbol.hierarchy.levels[0] must be a whole number, got "3"',),
        hierarchy("", 'kind = "mask", levels = ["3"]'),
    ),
    Case(
        "a hierarchy with a parameter out of range",
        2,
        ("release.toml: data.symbol.hierarchy.levels must keep fewer and fewer characters",),
        hierarchy("", 'kind = "mask", levels = [1, 3]'),
    ),
    Case("an unknown command", 2, ("no such command 'protct'", "see sequester --help"), argv=("protct", ".")),
    Case(
        "an unknown option",
        2,
        ("no such option: --sed", "see sequester protect --help"),
        argv=("protect", "release.toml", "--sed", "x"),
    ),
    Case("no argument", 2, ("missing argument 'CONFIG'; see sequester protect --help",), argv=("protect",)),
    Case(
        "an unknown data set",
        2,
        ("NAME must be one of clicks, ", "got 'cats'"),
        argv=("datasets", "make", "cats", "--out", "c.csv"),
    ),
    Case(
        "no persons",
        2,
        ("persons must be between 1 and 10,000,000, got 0",),
        argv=("datasets", "make", "clicks", "--out", "c.csv", "--persons", "0"),
    ),
    Case(
        "many persons",
        2,
        ("invalid value for '--persons': must be a whole number, got 'many'",),
        argv=("datasets", "make", "clicks", "--out", "c.csv", "--persons", "many"),
    ),
    Case(
        "an unknown ending",
        2,
        ("--out must end in one of .csv, .tsv, .csv.gz, .tsv.gz, .parquet, got 'c.xlsx'",),
        argv=("datasets", "make", "clicks", "--out", "c.xlsx"),
    ),
    Case(
        "an existing file",
        2,
        ("clicks.csv exists already; --force replaces it",),
        argv=("datasets", "make", "clicks", "--out", "clicks.csv"),
    ),
    Case(
        "a demo in somebody's folder",
        2,
        (". exists already and was not made by a demo",),
        argv=("demo", "--out", "."),
    ),
    Case(
        "a demo in a file", 2, ("clicks.csv is a file, not a folder",), argv=("demo", "--out", "clicks.csv")
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bad_configuration_is_refused(case, refusal):
    assert refusal(case) == Refusal(case.code)
