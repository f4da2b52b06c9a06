"""The list of generators agrees with the generators."""

from __future__ import annotations

import importlib

import polars as pl
import pytest

from sequester.datasets import DATASETS, PAPERS, make
from sequester.errors import InputError, ParameterError


@pytest.mark.parametrize("name", DATASETS)
def test_every_name_makes_its_columns_the_person_first(name):
    made = make(name)
    assert tuple(made.columns) == DATASETS[name].columns
    assert made[made.columns[0]].n_unique() == DATASETS[name].persons
    assert made.null_count().sum_horizontal().item() == 0
    assert tuple(DATASETS[name].hierarchies()) == tuple(DATASETS[name].trees)
    for column, tree in DATASETS[name].hierarchies().items():
        tree.build(made[column].cast(pl.String).unique(), column=column)


@pytest.mark.parametrize("name", [name for name in DATASETS if name not in PAPERS])
def test_generators_are_what_is_listed(name):
    made = make(name, persons=5)
    module = importlib.import_module(f"sequester.datasets.{name}")
    assert made.equals(module.make(persons=5))
    assert module.make.__kwdefaults__["persons"] == DATASETS[name].persons


def test_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"NAME must be one of clicks, hospital, quest, .*, got 'nothing'"):
        make("nothing")


def test_a_printed_table_has_the_persons_it_has():
    assert make("sehatkar-4.1", persons=10).equals(make("sehatkar-4.1", seed="other"))
    with pytest.raises(ParameterError) as refused:
        make("sehatkar-4.1", persons=11)
    assert refused.value.lines == ("persons must be 10 for the printed table sehatkar-4.1, got 11",)
