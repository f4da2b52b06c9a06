"""What cannot be kept is refused with settings that can: every one of them is tried again here."""

from __future__ import annotations

import warnings
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sequester.engine import LocalEngine, silent
from sequester.errors import SequesterWarning, UnattainableError
from sequester.hierarchies import Hierarchy
from sequester.methods import (
    CBLDA,
    HALT,
    PH,
    SBSH,
    Abul,
    BFP2kA,
    CBLDABaseline,
    GloGen,
    MergeSnapshots,
    PrefixPruning,
    Reposition,
    SuppressOnly,
    relax,
)
from sequester.methods.relax import RelaxationPath, downwards, feasible_alternatives
from sequester.testing import history_table, record_table, symbol_table

SEED = "a sentence nobody guesses"
LETTERS = st.lists(st.text("abcd", min_size=1, max_size=3), min_size=1, max_size=7)


def run(method, table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return method.apply(table, seed=SEED)


@pytest.fixture(autouse=True, scope="module")
def _enough_time():
    """Try all settings, however busy the machine is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relax, "SECONDS", 600.0)
        yield


def refusal(method, table):
    try:
        run(method, table)
    except UnattainableError as error:
        return error
    return None


def relaxed(method, table, setting):
    """The method and the table with one of the settings that a refusal names."""
    name, value = setting
    if name.startswith("max_level of "):
        column = name.removeprefix("max_level of ")
        quasi = replace(table.schema.quasi[column], max_level=value)
        return method, table.replace(
            schema=replace(table.schema, quasi={**table.schema.quasi, column: quasi})
        )
    if name.startswith("uncertainty."):
        spread = replace(method.uncertainty, **{name.removeprefix("uncertainty."): value})
        return replace(method, uncertainty=spread), table
    if name in {each.name for each in fields(method)}:
        return replace(method, **{name: value}), table
    return None


def fault(method, table):
    """What is wrong with a refusal: each setting that it names must work, two named with "with" together."""
    error = refusal(method, table)
    if error is None:
        return None
    if not error.is_settled:
        return "it is not settled"
    message = str(error)
    if "no k can be kept" in message:
        return None if table.n_persons < 2 or method.infeasible == "drop" else "some k can be kept"
    if "no less can be asked for" in message:
        return "less can be asked for" if any(each.steps for each in method.relaxations(table)) else None
    if "no l above 1 can be kept" in message or "alone does not help" in message:
        return None
    named = [each for each in error.achieved.items() if relaxed(method, table, each)]
    if "with a c of" in message:
        return None if run(replace(method, **dict(named)), table).verdict else f"{named} do not help together"
    if "either" in message:
        return f"{error.achieved} beside an either" if error.achieved else None
    if not named and "never_suppress of" not in message and "hierarchy of" not in message:
        return "it names nothing that can be set"
    return next((f"{each} does not help" for each in named if refusal(*relaxed(method, table, each))), None)


def ruled(table, **rules):
    quasi = replace(table.schema.quasi["letter"], **rules)
    return table.replace(schema=replace(table.schema, quasi={**table.schema.quasi, "letter": quasi}))


RULES = st.sampled_from([{}, {"max_level": 0}, {"max_level": 1}, {"never_suppress": ("a",)}])
SHARES = st.sampled_from([0.1, 0.3, 0.5, 1])


@settings(max_examples=30)
@given(
    LETTERS,
    RULES,
    st.sampled_from([HALT, GloGen]),
    st.integers(2, 9),
    SHARES,
    st.integers(1, 3),
    st.booleans(),
)
def test_halt_and_glogen(rows, rules, kind, k, c, p, drop):
    method = kind(k=k, c=c, p=p, infeasible="drop" if drop else "refuse")
    assert fault(method, ruled(history_table(rows), **rules)) is None


@settings(max_examples=30)
@given(LETTERS, RULES, st.sampled_from([CBLDA, CBLDABaseline]), st.integers(2, 9), SHARES, st.booleans())
def test_cblda_and_its_baseline(rows, rules, kind, k, c, drop):
    method = kind(k=k, c=c, infeasible="drop" if drop else "refuse")
    assert fault(method, ruled(history_table(rows), **rules)) is None


@settings(max_examples=25)
@given(LETTERS, st.sampled_from([BFP2kA, PrefixPruning]), st.integers(2, 9))
def test_p2ka_and_prefix_pruning(rows, kind, k):
    error = refusal(kind(k=k), symbol_table(rows))
    if error is None:
        return
    best = int(error.achieved["k"])
    if best >= 2:
        assert refusal(kind(k=best), symbol_table(rows)) is None
        assert refusal(kind(k=best + 1), symbol_table(rows)) is not None
    else:
        assert "no k of 2 or more releases anything here" in str(error)


@settings(max_examples=25)
@given(
    LETTERS,
    st.sampled_from([Reposition, SuppressOnly, MergeSnapshots]),
    st.integers(2, 5),
    st.integers(1, 3),
    st.sampled_from(["anatomy", "none"]),
)
def test_reposition_and_its_comparators(rows, kind, level, window, then):
    method = kind(l=level, window=window, snapshot="order", then=then)
    assert fault(method, record_table(rows)) is None


@pytest.mark.parametrize("kind", [PH, SBSH, Abul])
def test_hiding_that_deletes_everything_names_a_min_support(kind):
    table = symbol_table(["a", "a", "aa"])
    method = kind(patterns=[["a"]], min_support=1)
    error = refusal(method, table)
    assert str(error).startswith(f"{method.name} would have to delete every event; min_support = 2 could be")
    assert fault(method, table) is None


def test_uncertainty_names_permutations_and_support():
    method = PH(patterns=[["a", "b", "c"]], min_support=3, uncertainty={"permutations": 5, "support": 3})
    table = symbol_table(["abc"] * 12)
    assert set(refusal(method, table).achieved) >= {"uncertainty.permutations"}
    assert fault(method, table) is None


def test_the_nearest_p_of_halt():
    """One letter of each kind is common; two of them, in order, are not."""
    table = ruled(history_table(["ac", "ca", "ac", "ca", "aa", "cc"]), max_level=0)
    error = refusal(GloGen(k=3, c=1, p=2), table)
    assert error.achieved["p"] == 1
    assert "p = 1" in str(error)
    assert run(GloGen(k=3, c=1, p=1), table).verdict
    assert refusal(GloGen(k=3, c=1, p=2), table) is not None


def test_halt_names_rules_that_stand_in_the_way():
    table = ruled(history_table(["a", "b", "a", "b", "c", "d"]), max_level=0)
    error = refusal(GloGen(k=2, c=1, p=1), table)
    assert error.achieved == {"max_level of letter": 1}
    assert str(error).endswith("max_level of letter = 1 could be kept")


def test_k_and_c_that_both_fail_are_named_together():
    table = history_table(["a", "b"])
    for method in (HALT(k=3, c=0.2, p=1), CBLDA(k=3, c=0.2)):
        error = refusal(method, table)
        assert error.achieved == {"k": 2, "c": 0.5}
        assert str(error).endswith("the largest k that can be kept is 2, with a c of 0.5 or more")


def test_what_there_was_no_time_to_try_is_said():
    table = symbol_table(["ab", "ab"], hierarchy=Hierarchy.flat())
    error = feasible_alternatives(
        UnattainableError("nothing works"),
        BFP2kA(k=9),
        table,
        seed=SEED,
        engine=LocalEngine(),
        progress=silent,
        seconds=0,
    )
    assert str(error).startswith("nothing works; ")
    assert "no time to try k, strict" in str(error)


def test_nothing_to_relax_is_said_too():
    error = feasible_alternatives(
        UnattainableError("nothing works"),
        PrefixPruning(k=2),
        symbol_table(["ab"]),
        seed=SEED,
        engine=LocalEngine(),
        progress=silent,
    )
    assert str(error) == "nothing works; no less can be asked for"


def test_a_relaxation_path_is_searched_by_halving():
    path = RelaxationPath.of(BFP2kA(k=50), "k", downwards(50, 2))
    table = symbol_table(["ab"] * 12)
    error = feasible_alternatives(
        UnattainableError("too much"), BFP2kA(k=50), table, seed=SEED, engine=LocalEngine(), progress=silent
    )
    assert list(path.steps) == list(range(49, 1, -1))
    assert error.achieved == {"k": 12}
    beyond = feasible_alternatives(
        UnattainableError("too much"),
        BFP2kA(k=50),
        symbol_table(["a", "b"]),
        seed=SEED,
        engine=LocalEngine(),
        progress=silent,
    )
    assert str(beyond) == "too much; relaxing k, strict alone does not help"
    first = feasible_alternatives(
        UnattainableError("too much"),
        BFP2kA(k=50),
        symbol_table(["ab"] * 49),
        seed=SEED,
        engine=LocalEngine(),
        progress=silent,
    )
    assert first.achieved == {"k": 49}
