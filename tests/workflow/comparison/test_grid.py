"""Which candidates are asked for, and what is refused before any of them runs."""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, fields

import pytest

from sequester.errors import InputError
from sequester.methods import METHODS
from sequester.workflow.comparison.grid import (
    MAX_CANDIDATES,
    file_name,
    grid,
    label_of,
    read_methods,
    read_settings,
)

HALT = {"name": "halt", "k": 5, "c": 0.7, "p": 3}


def is_required(parameter):
    return parameter.default is MISSING and parameter.default_factory is MISSING


def labels(*arguments, **keywords):
    return [each.label for each in grid(*arguments, **keywords) if not each.misfit]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("k=2,5,10", [2, 5, 10]),
        ("k = 2 , 5", [2, 5]),
        ("c=0.5,1/3", [0.5, "1/3"]),
        ("strict=true,false", [True, False]),
        ("k=1,true", [1, True]),
        ("k=2,2,5", [2, 5]),
        ("search=greedy,full", ["greedy", "full"]),
        ('search="a,b","c"', ["a,b", "c"]),
        ('patterns=[["a", "b"]]', [[["a", "b"]]]),
        ("uncertainty={ permutations = 2, support = 3 }", [{"permutations": 2, "support": 3}]),
    ],
)
def test_values_are_written_as_in_the_configuration(text, values):
    assert list(read_settings([text]).values()) == [values]


@pytest.mark.parametrize(
    "text", ["k", "=2", "k=", "k= ", "", "1k=2", "k=2,,5", "k=,2", "k=2\nc=3", "k=[]x", 's="a,b",c']
)
def test_what_is_no_list_of_values(text):
    with pytest.raises(InputError, match=r"^--set"):
        read_settings([text])


def test_a_parameter_is_set_once():
    with pytest.raises(InputError, match="--set k is given twice"):
        read_settings(["k=2", "k=5"])


def test_all_that_is_wrong_is_said_together():
    with pytest.raises(InputError) as refused:
        read_settings(["k", "c=", "k=2"])
    assert len(refused.value.lines) == 2


def test_methods_are_named_as_they_are():
    assert read_methods(None) is None
    assert read_methods("p2ka,ph,p2ka") == ("p2ka", "ph")
    with pytest.raises(InputError, match="no method 'p2kb'; the nearest is 'p2ka'"):
        read_methods("p2kb")
    with pytest.raises(InputError, match="no method ''"):
        read_methods("p2ka,")


def test_every_combination_of_what_a_method_has():
    found = labels(HALT, methods=["halt", "cblda", "p2ka"], settings={"k": [2, 5], "p": [1, 2]})
    assert found == [
        "halt k=2 p=1",
        "halt k=2 p=2",
        "halt k=5 p=1",
        "halt k=5 p=2",
        "cblda k=2",
        "cblda k=5",
        "p2ka k=2",
        "p2ka k=5",
    ]


def test_without_methods_all_are_tried_and_misfits_have_their_reason():
    found = grid(HALT, settings={"k": [2]})
    assert {each.name for each in found} == set(METHODS)
    reasons = {each.name: each.misfit for each in found if each.misfit}
    assert "l is missing" in reasons["reposition"]
    assert "pattern" in reasons["ph"]
    assert {"halt", "glogen", "cblda", "p2ka"}.isdisjoint(reasons)


def test_a_misfit_that_was_named_is_an_error():
    with pytest.raises(InputError, match=r"ph: patterns must have at least one pattern"):
        grid(HALT, methods=["halt", "ph"])
    with pytest.raises(InputError, match=r"cblda.*c is missing"):
        grid({"name": "p2ka", "k": 2}, methods=["cblda"])


def test_parameters_come_from_the_configuration_where_they_are_declared_alike():
    own = {"name": "ph", "patterns": [["a", "b"]], "min_support": 2, "max_length": 3}
    by_name = {each.name: each.parameters for each in grid(own) if not each.misfit}
    assert by_name["ph"]["max_length"] == by_name["sbsh"]["max_length"] == 3
    assert by_name["abul"]["patterns"] == [["a", "b"]]
    # Reposition's window counts snapshots, that of top-down events: neither goes to the other.
    own = {"name": "top-down", "patterns": [["a"]], "window": 3}
    settings = {"l": [2]}
    by_name = {each.name: each.parameters for each in grid(own, settings=settings) if not each.misfit}
    assert by_name["bottom-up"]["window"] == 3
    assert by_name["reposition"]["window"] == 7


def test_a_file_of_patterns_goes_along_and_what_is_set_wins_over_it(tmp_path):
    (tmp_path / "patterns.jsonl").write_text(json.dumps(["a", "b"]) + "\n")
    own = {"name": "ph", "patterns_path": "patterns.jsonl", "min_support": 2}
    by_name = {each.name: each for each in grid(own, methods=["ph", "sbsh"], folder=tmp_path)}
    assert by_name["sbsh"].parameters["patterns"] == [["a", "b"]]
    (found,) = grid(own, methods=["ph"], settings={"patterns": [[["c"]]]}, folder=tmp_path)
    assert found.parameters["patterns"] == [["c"]]


def test_a_parameter_that_no_method_has():
    with pytest.raises(InputError, match=r"--set kk: none of the methods has this parameter; they have k, n"):
        grid(HALT, methods=["p2ka"], settings={"kk": [2]})


def test_a_value_that_no_method_can_have():
    with pytest.raises(InputError, match=r"--set k: k must be at least 2, got 1 \("):
        grid(HALT, settings={"k": [1, 2]})
    with pytest.raises(InputError, match="--set k: k must be a whole number"):
        grid(HALT, settings={"k": ["many"]})


def test_a_value_that_some_cannot_have_is_a_misfit_unless_they_were_named():
    found = {each.label: each.misfit for each in grid(HALT, settings={"search": ["full"]})}
    assert not found["halt search=full"]
    with pytest.raises(InputError, match="top-down search=full: "):
        grid({"name": "top-down", "patterns": [["a"]]}, methods=["top-down"], settings={"search": ["full"]})


def test_too_many():
    with pytest.raises(InputError, match=re.escape(f"at most {MAX_CANDIDATES:,} are compared")):
        grid(HALT, methods=["halt"], settings={"k": list(range(2, 100)), "p": list(range(1, 20))})


def test_the_same_twice_counts_once():
    assert len(grid(HALT, methods=["p2ka", "p2ka"], settings={"k": [2]})) == 1


def test_without_a_method_in_the_configuration():
    asked = {
        name: {each.name for each in fields(kind) if is_required(each)} for name, kind in METHODS.items()
    }
    complete = [name for name, parameters in asked.items() if parameters == {"k"}]
    assert {"p2ka", "prefix-pruning"} <= {*complete}
    assert labels(None, settings={"k": [2]}) == [f"{name} k=2" for name in complete]


def test_names_of_files_are_plain_and_short():
    label = label_of("ph", {"patterns": [["<b>", "../x"] * 100]}, ["patterns"])
    name = file_name(label, "0" * 64)
    assert re.fullmatch(r"[A-Za-z0-9.-]+", name)
    assert len(name) < 80
    assert ".." not in name
