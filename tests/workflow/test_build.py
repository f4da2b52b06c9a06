"""A method's dataclass is all that ``[method]`` needs to know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import pytest

from sequester.errors import InputError, ParameterError
from sequester.methods import METHODS
from sequester.methods.method import Method
from sequester.workflow.build import build_method, parameter_files, read_lists
from sequester.workflow.config import config_schema
from sequester.workflow.parameters import describe_type, parameters_of


@dataclass(frozen=True)
class Spell:
    """A table of a method."""

    words: tuple[str, ...]
    times: int = 1


@dataclass(frozen=True, kw_only=True)
class Magic(Method):
    """A method that somebody adds."""

    k: int
    """Persons who look alike."""
    c: float | Literal["1/3"] = 0.5
    """How sure an adversary may be."""
    patterns: tuple[tuple[str, ...], ...] = ()
    search: Literal["greedy", "full"] = "greedy"
    """How hard it looks."""
    block: int | Literal["auto", False] = "auto"

    name = "magic"
    paper = "nowhere"
    promise = "Nobody finds anybody."
    changes = "Everything."
    use_when = "Never."

    def __post_init__(self):
        if self.k < 2:
            msg = f"k must be at least 2, got {self.k}"
            raise ParameterError(msg)
        if self.search == "full":
            msg = "a full search takes for ever"
            raise ParameterError(msg)

    def model(self): ...
    def accept(self, table): ...
    def transform(self, table, *, randomness, engine, progress): ...
    def evaluate(self, outcome, table, *, progress): ...


@pytest.fixture
def magic(monkeypatch):
    monkeypatch.setitem(METHODS, "magic", Magic)


def test_a_new_method_is_built_from_its_table(magic):
    table = {"name": "magic", "k": 3, "c": "1/3", "patterns": [["a", "b"], ["c"]], "block": False}
    built = build_method(table)
    assert built == Magic(k=3, c="1/3", patterns=(("a", "b"), ("c",)), block=False)
    assert build_method({"name": "magic", "k": 3, "c": 1}) == Magic(k=3, c=1.0)


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"k": 3.5}, "method.k must be a whole number, got 3.5"),
        ({"k": "3"}, 'method.k must be a whole number, got "3"'),
        ({"c": "half"}, 'method.c must be a number or "1/3", got "half"'),
        ({"search": "x"}, 'method.search must be "greedy" or "full", got "x"'),
        ({"patterns": ["ab"]}, 'method.patterns[0] must be a list of texts, got "ab"'),
        ({"patterns": [["a", 1]]}, "method.patterns[0][1] must be text, got 1"),
        ({"block": True}, 'method.block must be a whole number, "auto" or false, got true'),
        (
            {"K": 3},
            "method.K = 3 is not a known key; did you mean k? Keys here are name, k, c, patterns, search, block",  # noqa: E501
        ),
        ({"k": 1}, "method.k must be at least 2, got 1"),
        ({"search": "full"}, "method: a full search takes for ever"),
    ],
)
def test_a_wrong_parameter_is_refused_in_its_own_words(magic, wrong, line):
    with pytest.raises(InputError) as refused:
        build_method({"name": "magic", "k": 3, **wrong})
    assert refused.value.lines == (line,)


def test_the_schema_has_it_too(magic):
    described = config_schema()["$defs"]["Magic"]
    assert described["properties"]["search"]["enum"] == ["greedy", "full"]
    assert described["properties"]["k"]["description"] == "Persons who look alike."


def test_parameters_are_listed_with_their_defaults():
    found = {each.name: each for each in parameters_of(Magic)}
    assert list(found) == ["k", "c", "patterns", "search", "block"]
    assert found["k"].required
    assert (found["c"].required, found["c"].default) == (False, 0.5)
    assert found["search"].about == "How hard it looks."
    assert found["patterns"].about == ""


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (int | float, "a number"),
        (list[int | float], "a list of numbers"),
        (list[str] | Literal["all"] | dict, 'a list of texts, "all" or a table'),
        (tuple[tuple[str, ...], ...], "a list of lists"),
        (bool | None, "true or false"),
        (int | Literal["auto", False], 'a whole number, "auto" or false'),
    ],
)
def test_types_are_said_in_words(annotation, words):
    assert describe_type(annotation) == words


@dataclass(frozen=True, kw_only=True)
class Wand(Magic):
    """A method with a parameter from a file, and one of tables."""

    patterns: tuple[tuple[str, ...], ...] = field(
        default=(), metadata={"path_key": "patterns_path", "published": False}
    )
    spell: tuple[Spell, ...] = ()

    name = "wand"


@pytest.fixture
def wand(monkeypatch):
    monkeypatch.setitem(METHODS, "wand", Wand)


def test_a_parameter_may_be_read_from_a_file_beside_the_configuration(wand, tmp_path):
    (tmp_path / "patterns.jsonl").write_text('["a", "b"]\n["c"]\n')
    table = {"name": "wand", "k": 3, "patterns_path": "patterns.jsonl"}
    assert build_method(table, tmp_path) == Wand(k=3, patterns=(("a", "b"), ("c",)))
    assert parameter_files(table, tmp_path) == {
        "the file of method.patterns_path": tmp_path / "patterns.jsonl"
    }
    assert parameter_files({"name": "wand"}, tmp_path) == parameter_files({}, tmp_path) == {}
    with pytest.raises(InputError, match=r"patterns_path and method\.patterns are both given"):
        build_method({**table, "patterns": [["a"]]}, tmp_path)
    with pytest.raises(InputError, match=r"method.patterns_path must be text.*, got 3"):
        build_method({**table, "patterns_path": 3}, tmp_path)
    assert "patterns_path" in config_schema()["$defs"]["Wand"]["properties"]


def test_tables_become_values_of_their_class(wand):
    table = {"name": "wand", "k": 3, "spell": [{"words": ["hex"], "times": 2}, {"words": ["hop"]}]}
    assert build_method(table).spell == (Spell(("hex",), 2), Spell(("hop",)))
    with pytest.raises(InputError) as refused:
        build_method({**table, "spell": [{"words": 1}]})
    assert refused.value.lines == ("method.spell[0].words must be a list of texts, got 1",)
    assert describe_type(tuple[Spell, ...]) == "a list of tables"
    with pytest.raises(InputError) as refused:
        build_method({**table, "spell": [{"times": 1, "word": ["hex"]}]})
    assert refused.value.lines == (
        "method.spell[0].words is missing; it must be a list of texts",
        "method.spell[0].word is not a known key; did you mean words? Keys here are words, times",
    )


def test_what_would_give_the_hidden_away_is_not_published(wand):
    assert Wand(k=3).unpublished() == {"patterns"}
    assert Magic(k=3).unpublished() == frozenset()


def test_lists_are_read_line_by_line(tmp_path):
    path = tmp_path / "patterns.jsonl"
    path.write_bytes('\ufeff["a", "b"]\r\n\n  ["ü\u2028x"]\n[]'.encode())
    assert read_lists(path) == (("a", "b"), ("ü\u2028x",), ())


@pytest.mark.parametrize("line", ["a, b", '"ab"', '["a", 1]', "{}", "[" * 100_000, '["' + "x" * 100])
def test_any_other_line_is_refused_by_its_number(tmp_path, line):
    path = tmp_path / "patterns.jsonl"
    path.write_text(f'["a"]\n{line}\n')
    with pytest.raises(InputError) as refused:
        read_lists(path)
    assert refused.value.lines[0].startswith("patterns.jsonl: line 2 must be a JSON list of texts")
    assert len(refused.value.lines[0]) < 150


def test_what_cannot_be_read_is_said(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*none\.jsonl: No such file"):
        read_lists(tmp_path / "none.jsonl")
    path = tmp_path / "latin.jsonl"
    path.write_bytes(b'["\xfc"]')
    with pytest.raises(InputError, match=r"is not UTF-8 text \(byte 3\)"):
        read_lists(path)
    with path.open("wb") as file:
        file.truncate(100_000_001)
    with pytest.raises(InputError, match="is not a file of lists"):
        read_lists(path)
