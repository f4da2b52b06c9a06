"""The list of generators agrees with the generators."""

from __future__ import annotations

import importlib

import pytest

from sequester.datasets import DATASETS, make
from sequester.errors import InputError


@pytest.mark.parametrize("name", DATASETS)
def test_listed_columns_are_what_is_made(name):
    made = make(name, persons=5)
    assert tuple(made.columns) == DATASETS[name].columns
    module = importlib.import_module(f"sequester.datasets.{name}")
    assert made.equals(module.make(persons=5))
    assert module.make.__kwdefaults__["persons"] == DATASETS[name].persons


def test_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match="NAME must be one of clicks, hospital, got 'nothing'"):
        make("nothing")
