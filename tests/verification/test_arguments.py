"""What is said about an original of another kind, and about numbers of numpy."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import sequester as sq


def test_a_frame_is_no_original(tmp_path):
    with pytest.raises(sq.SchemaError, match="original must be an EventTable, got DataFrame; make one"):
        sq.verify(tmp_path, original=pl.DataFrame({"a": [1]}))


def test_whole_numbers_of_numpy_are_whole_numbers():
    model = sq.SequenceKAnonymity(k=np.int64(2))
    assert model == sq.SequenceKAnonymity(k=2)
    assert type(model.k) is int
