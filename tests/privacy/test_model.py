"""A verdict is as true as what it says, and every model is known by its name."""

from __future__ import annotations

import pytest

from sequester.attacks.attack import MODEL_ATTACKS
from sequester.privacy import MODELS, Verdict


@pytest.mark.parametrize("holds", [True, False])
def test_a_verdict_is_truthy_when_the_promise_holds(holds):
    assert bool(Verdict(holds=holds, achieved={"k": 2})) is holds


def test_a_verdict_shows_what_it_found():
    verdict = Verdict(holds=False, achieved={"k": 1}, witnesses=(("a", "b"),), violations=7)
    assert repr(verdict) == "Verdict(holds=False, achieved={'k': 1}, witnesses=(('a', 'b'),))"
    assert verdict.violations == 7


def test_models_are_found_by_the_name_of_their_class():
    assert "SequenceKAnonymity" in MODELS
    assert all(model.__name__ == name for name, model in MODELS.items())


@pytest.mark.parametrize("name", MODELS)
def test_the_attacks_that_a_model_names_exist(name):
    assert MODELS[name].attacks in {"", *MODEL_ATTACKS}
