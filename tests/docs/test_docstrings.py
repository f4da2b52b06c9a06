"""Docstrings of everything that ``import sequester as sq`` offers."""

from __future__ import annotations

import inspect

import pytest

import sequester as sq

PUBLIC = {name: getattr(sq, name) for name in sq.__all__ if name != "__version__"}
FUNCTIONS = {name: found for name, found in PUBLIC.items() if inspect.isfunction(found)}
METHODS = {
    f"{name}.{each}": getattr(found, each)
    for name, found in PUBLIC.items()
    for each in ("apply", "sample", "take")
    if hasattr(found, each)
}
CLASSES = {
    name: found
    for name, found in PUBLIC.items()
    if inspect.isclass(found) and not issubclass(found, Exception)
}


def sections(found):
    """The titles of a numpydoc docstring, each with its text."""
    lines = inspect.getdoc(found).splitlines()
    starts = [at for at, line in enumerate(lines[1:]) if line and set(line) == {"-"}]
    return {lines[at]: lines[at + 2 : end] for at, end in zip(starts, [*starts[1:], len(lines)], strict=True)}


@pytest.mark.parametrize("name", [*FUNCTIONS, *METHODS])
def test_functions_document_parameters_results_and_show_an_example(name):
    found = (FUNCTIONS | METHODS)[name]
    parts = sections(found)
    assert {"Parameters", "Returns", "Examples"} <= set(parts)
    assert "Raises" in parts or name.endswith((".take", ".sample"))
    named = [line for line in parts["Parameters"] if line and not line.startswith(" ")]
    assert named == [each for each in inspect.signature(found).parameters if each != "self"]
    assert any(line.startswith(">>> ") for line in parts["Examples"])


@pytest.mark.parametrize("name", CLASSES)
def test_classes_show_an_example(name):
    assert any(line.startswith(">>> ") for line in sections(CLASSES[name])["Examples"])


@pytest.mark.parametrize("name", PUBLIC)
def test_the_first_line_is_a_sentence_of_its_own(name):
    first, *rest = inspect.getdoc(PUBLIC[name]).splitlines()
    assert first.endswith(".")
    assert not rest or not rest[0]
