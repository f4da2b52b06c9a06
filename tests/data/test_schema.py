"""A schema completes short forms and refuses values that cannot be."""

from __future__ import annotations

import dataclasses

import pytest

from sequester.data.schema import Protect, Quasi, Schema, Sensitive, Symbol
from sequester.errors import ParameterError
from sequester.hierarchies.hierarchy import Hierarchy


def test_short_forms_equal_full_forms():
    tree = Hierarchy.flat()
    short = Schema(
        "p", time=["d", "c"], quasi={"ZIP": tree}, sensitive={"D": ["HIV"], "E": "all"}, keep=["w"]
    )
    full = Schema(
        person="p",
        time=("d", "c"),
        quasi={"ZIP": Quasi(tree, None, (), 1.0)},
        sensitive={
            "D": Sensitive(("D",), Protect(("HIV",))),
            "E": Sensitive(("E",), "all"),
        },
        keep=("w",),
    )
    assert short == full
    assert short.time_columns == ("d", "c")
    assert short.attributes == ("ZIP", "D", "E")
    assert Schema("p", "o", symbol="s") == Schema("p", "o", symbol=Symbol("s"))


def test_a_schema_can_be_changed_only_into_another():
    schema = Schema("p", "o", symbol="s")
    assert dataclasses.replace(schema, symbol="t").attributes == ("t",)
    assert schema.attributes == ("s",)
    with pytest.raises(dataclasses.FrozenInstanceError):
        schema.person = "q"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Schema("p", "o", invalid="ignore"), 'invalid must be "refuse" or "drop", got \'ignore\''),
        (lambda: Schema("p", time=["a", "b", "c"]), "time must be one column or two"),
        (lambda: Schema("p", "o", keep="ward"), "keep must be a list of texts, got 'ward'"),
        (lambda: Schema("p", "o", drop=[1]), "drop must be a list of texts, got"),
        (lambda: Schema("p", "o", drop=5), "drop must be a list of texts, got 5"),
        (lambda: Schema(None, "o"), "person must be text, got None"),
        (lambda: Schema("p", 3), "order must be text, got 3"),
        (lambda: Schema("p", "o", weight=2.0), "weight must be text, got 2.0"),
        (lambda: Schema("p", "o", symbol=["s"]), "symbol must be a column's name or a Symbol, got ['s']"),
        (lambda: Schema("p", "o", quasi=["s"]), "quasi must be a mapping from columns, got ['s']"),
        (lambda: Schema("p", "o", quasi={"s": "flat"}), "hierarchy must be a Hierarchy, such as"),
        (lambda: Symbol("s", hierarchy="flat"), "hierarchy must be a Hierarchy, such as"),
        (lambda: Schema("p", "o", sensitive={"s": 5}), "protect must be a list of values"),
        (lambda: Schema("p", "o", derive=["x"]), "derive must be a mapping from columns, got ['x']"),
        # What a configuration may say, and would be passed over here.
        (
            lambda: Schema("p", "o", trip={"gap": "30min"}),
            "trip must be a column's name or a Gap, got {'gap'",
        ),
        (lambda: Schema("p", "o", place="lat"), "place must be a Place, got 'lat'"),
        (lambda: Quasi(Hierarchy.flat(), max_level=-1), "max_level must be at least 0, got -1"),
        (lambda: Quasi(Hierarchy.flat(), weight=-0.5), "weight must be a number of at least 0, got -0.5"),
        (
            lambda: Quasi(Hierarchy.flat(), weight=float("nan")),
            "weight must be a number of at least 0, got nan",
        ),
        (
            lambda: Quasi(Hierarchy.flat(), never_suppress="0"),
            "never_suppress must be a list of texts, got '0'",
        ),
    ],
)
def test_values_that_cannot_be(make, said):
    with pytest.raises(ParameterError) as caught:
        make()
    assert str(caught.value).startswith(said)
