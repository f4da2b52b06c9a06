"""No adversary achieves more against a release than it claims, for every method in the register."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sequester as sq
from contracts.test_laws import CASES
from sequester.engine import LocalEngine
from sequester.errors import UnattainableError
from sequester.privacy.model import HISTORIES, BoundedModel

ENGINE = LocalEngine(threads=1, shards=1)
some_rows = st.lists(st.text("abc", min_size=1, max_size=4), min_size=2, max_size=9)


@pytest.mark.parametrize(("method", "judge", "make"), CASES)
@settings(max_examples=max(settings.default.max_examples // 15, 1))
@given(rows=some_rows, seed=st.sampled_from(["one", "two"]), thorough=st.booleans())
@pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")
def test_the_measured_risk_stays_within_what_is_claimed(method, judge, make, rows, seed, thorough):
    table = make(rows)
    try:
        release = method.apply(table, seed="a sentence that nobody guesses", evaluate=False)
    except UnattainableError:
        return
    risks = sq.attack(
        release, original=table, known=(1, 2), targets=15, seed=seed, thorough=thorough, engine=ENGINE
    )
    assert risks
    for risk in risks:
        assert 0 <= risk.interval[0] <= risk.value <= risk.interval[1] <= 1
        assert 0 <= risk.control.interval[0] <= risk.control.value <= risk.control.interval[1] <= 1
        assert 0 <= risk.raw.interval[0] <= risk.raw.value <= risk.raw.interval[1] <= 1
        assert 0 <= risk.baseline <= 1
    assert [str(risk) for risk in risks if not risk.is_within] == []
    if isinstance(release.model, BoundedModel) and getattr(release.model, "strict", True):
        assert any(risk.bound is not None for risk in risks)


# rare values, which a random draw of targets hardly ever meets

RARE = [st.text("ab", min_size=1, max_size=3), st.text("abcd", min_size=1, max_size=3)]


@st.composite
def rows_with_rare_letters(draw):
    """Many persons with a and b, and a few with c and d, of which c is protected where letters can be."""
    common, rare = (draw(st.lists(each, min_size=1, max_size=5)) for each in RARE)
    return [*(row for row in common for _ in range(draw(st.integers(5, 30)))), *rare, "c", "c", "d"]


def protect_the_letter_c(rows):
    """Letters are quasi-identifiers and sensitive: late are c, which is protected, and d."""
    events = [(f"p{n}", place, letter) for n, row in enumerate(rows) for place, letter in enumerate(row)]
    tree = sq.Hierarchy.from_tree({"early": ["a", "b"], "late": ["c", "d"]})
    return sq.EventTable(
        pl.DataFrame(events, schema=["user", "step", "letter"], orient="row"),
        sq.Schema(person="user", order="step", quasi={"letter": tree}, sensitive={"letter": ["c"]}),
    )


@pytest.mark.parametrize(("method", "judge", "make"), CASES)
@settings(max_examples=max(settings.default.max_examples // 15, 1))
@given(rows=rows_with_rare_letters(), thorough=st.booleans())
@pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")
def test_the_measured_risk_of_rare_values_stays_within_what_is_claimed(method, judge, make, rows, thorough):
    has_quasi = HISTORIES in method.model().layouts
    table = (protect_the_letter_c if has_quasi else make)(rows)
    try:
        release = method.apply(table, seed="a sentence that nobody guesses", evaluate=False)
    except UnattainableError:
        return
    risks = sq.attack(release, original=table, known=(1, 2), targets=10, thorough=thorough, engine=ENGINE)
    assert [str(risk) for risk in risks if not risk.is_within] == []
