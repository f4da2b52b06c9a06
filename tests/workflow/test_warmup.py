"""Compiling ahead: every method has a table to try it on, and only what is named is tried."""

from __future__ import annotations

import pytest

from sequester.errors import ParameterError
from sequester.kernels import compile_times
from sequester.methods import METHODS
from sequester.workflow import warmup
from sequester.workflow.warmup import warm_up


def test_every_method_has_a_table_that_it_accepts():
    tables = warmup._tables()
    for name in METHODS:
        method, table = warmup._example(name, tables)
        assert method.name == name
        method.accept(table)


@pytest.mark.parametrize("name", ["prefix-pruning", "suppress-only"])
def test_only_what_is_named_is_tried(name):
    found = [(each.method, each.command) for each in warm_up([name])]
    assert found == [(name, command) for command in ("protect", "verify", "attack")]


def test_what_is_compiled_meanwhile_is_told():
    with warmup._compiling("halt", "protect") as warmed:
        compile_times.note_compilation("tests/none.here", 2.0)
    assert warmed.kernels == {"tests/none.here": 2.0}
    with warmup._compiling("halt", "protect") as warmed:
        pass
    assert warmed.kernels == {}
    compile_times._measured.pop("tests/none.here")


def test_a_method_that_does_not_exist_is_named():
    with pytest.raises(ParameterError, match="there is no method 'alt'; methods are halt, "):
        next(warm_up(["alt"]))
