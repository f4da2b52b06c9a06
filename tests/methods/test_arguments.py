"""What a method says about arguments that are of another kind."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sequester import BFP2kA, EventTable, ParameterError, PrefixPruning, Schema, SchemaError

FRAME = pl.DataFrame({"user": list("ab"), "n": [1, 1], "page": list("xx")})


@pytest.mark.parametrize("method", [BFP2kA, PrefixPruning])
def test_whole_numbers_of_numpy_are_whole_numbers(method):
    made = method(k=np.int64(2))
    assert made == method(k=2)
    assert type(made.k) is int
    with pytest.raises(ParameterError, match=r"k must be a whole number, got 2\.0"):
        method(k=2.0)


def test_a_frame_is_no_table():
    with pytest.raises(SchemaError, match="table must be an EventTable, got DataFrame; make one"):
        BFP2kA(k=2).apply(FRAME)


def test_a_seed_is_text():
    table = EventTable(FRAME, Schema(person="user", order="n", symbol="page"))
    with pytest.raises(ParameterError, match="seed must be text, got 3"):
        BFP2kA(k=2).apply(table, seed=3)
