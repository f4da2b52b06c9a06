"""The JSON Schema accepts what the reader accepts, and refuses what it refuses."""

from __future__ import annotations

import tomllib

import jsonschema
import pytest

from sequester.errors import InputError
from sequester.methods import METHODS
from sequester.workflow.config import Config, config_schema

GOOD = """
[data]
path = "clicks.csv"
person = "user"
time = ["date", "clock"]
derive = { AdmYr = "year" }
[data.quasi.ZIP]
hierarchy = { kind = "mask", levels = [3, 1] }
max_level = 2
[data.quasi.LOS]
hierarchy = { kind = "intervals", width = [7, 28.5], origin = 0.5 }
[data.quasi.AdmYr]
hierarchy = { path = "AdmYr.csv", format = "edges" }
[data.sensitive.Disease]
protect = { prefix = ["042"] }
[data.sensitive.Drug]
protect = "all"
[method]
name = "p2ka"
k = 5
[release]
path = "out"
max_suppressed = 0.2
"""
WRONG = [
    ("person", "pearson"),
    ('person = "user"', ""),
    ('person = "user"', "person = 5"),
    ('path = "clicks.csv"', ""),
    ('"clock"]', "3]"),
    ('"year"', '"decade"'),
    ('"mask"', '"h3"'),
    ("levels = [3, 1]", 'levels = ["3"]'),
    ("levels = [3, 1]", "levels = [3, 1], width = 3"),
    ('kind = "mask", ', ""),
    ("max_level = 2", "max_level = -1"),
    ('"edges"', '"csv"'),
    ('"all"', '"some"'),
    ('prefix = ["042"]', 'begin = ["042"]'),
    ('"p2ka"', '"magic"'),
    ('name = "p2ka"', ""),
    ("k = 5", ""),
    ("k = 5", 'k = "5"'),
    ("k = 5", "k = 1"),
    ('path = "clicks.csv"\nperson = "user"', 'path = "c.spmf"\nformat = "csv"'),
    ("k = 5", "k = 5\nc = 0.5"),
    ("max_suppressed = 0.2", "max_suppressed = 2"),
    ("max_suppressed = 0.2", 'max_suppressed = "few"'),
    ("max_suppressed = 0.2", 'accept_unprotected = "yes"'),
    ("[release]", "[releases]"),
]


@pytest.fixture(scope="module")
def validator():
    schema = config_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_a_good_configuration_is_accepted_by_both(validator, tmp_path):
    (tmp_path / "release.toml").write_text(GOOD)
    assert Config.load(tmp_path / "release.toml").settings.method is not None
    assert list(validator.iter_errors(tomllib.loads(GOOD))) == []


@pytest.mark.parametrize(("old", "new"), WRONG)
def test_a_wrong_configuration_is_refused_by_both(validator, tmp_path, old, new):
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    (tmp_path / "release.toml").write_text(text)
    with pytest.raises(InputError):
        Config.load(tmp_path / "release.toml")
    assert not validator.is_valid(tomllib.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        '[data]\npath = "c.seq.gz"',
        '[data]\npath = "c"\nformat = "seq"',
        '[data]\npath = "a.spmf"',
        '[data]\npath = "a.SPMF.gz"',
        '[data]\npath = "a.txt"\nformat = "spmf"',
    ],
)
def test_sequence_files_need_no_person(validator, text):
    assert validator.is_valid(tomllib.loads(text))


def test_every_key_is_described_and_none_may_be_null(validator):
    schema = validator.schema

    def walk(part, where):
        if isinstance(part, list):
            for each in part:
                walk(each, where)
        if isinstance(part, dict):
            assert part.get("type") != "null", where
            for name, each in part.get("properties", {}).items():
                if where[-1:] != ("anyOf",):
                    assert each.get("description") or "$ref" in each, (*where, name)
            for key, each in part.items():
                walk(each, (*where, key))

    walk(schema, ())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_each_method_has_its_own_parameters(validator):
    choices = validator.schema["properties"]["method"]["oneOf"]
    named = {choice["$ref"].rpartition("/")[2] for choice in choices}
    assert named == {method.__name__ for method in METHODS.values()}
    p2ka = validator.schema["$defs"]["BFP2kA"]
    assert p2ka["properties"]["name"]["const"] == "p2ka"
    assert p2ka["required"] == ["name", "k"]
    assert p2ka["properties"]["strict"]["default"] is True
