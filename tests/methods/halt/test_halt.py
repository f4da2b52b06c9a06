"""HALT and GloGen keep their promise, tell the truth, and say what they did."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from methods.halt.tables import Case, as_oracle, cases, event_table
from oracles import hierarchy, kcp
from sequester.data.schema import Quasi, Schema
from sequester.data.table import EventTable
from sequester.errors import ParameterError, SchemaError, SequesterWarning, UnattainableError
from sequester.hierarchies import Hierarchy
from sequester.methods.halt import elimination, extraction, lattice_search
from sequester.methods.halt.method import HALT, GloGen
from sequester.testing import symbol_table

STAY = {"1": "short", "2": "short", "30": "long", "31": "long", "90": "longest", "short": "*", "long": "*"}
STAY |= {"longest": "*"}
YEAR = {"2008": "*", "2009": "*"}


def run(method, table, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return method.apply(table, **how)


def methods(case):
    """Every way to ask for what a case asks for."""
    asked = {"k": case.k, "c": str(case.c), "p": case.p, "levels": case.levels, "infeasible": "drop"}
    return [
        HALT(**asked),
        HALT(**asked, stars="ignored"),
        HALT(**asked, search="full"),
        HALT(**asked, suppression="global"),
        HALT(**asked, suppression="global", stars="ignored"),
        HALT(**asked, suppression="global", search="full"),
        GloGen(**asked),
    ]


@given(cases(most_p=3, most_persons=7, most_quasi=2))
@settings(max_examples=40)
def test_the_release_is_private_by_the_oracles_count(case):
    for method in methods(case):
        try:
            release = run(method, case.table(), evaluate=False)
        except UnattainableError:
            continue
        stars = getattr(method, "stars", "counted")
        assert kcp.is_private(
            as_oracle(release, case.trees, levels=case.levels, stars=stars), case.k, case.c, case.p
        )


@given(cases(most_p=2, most_persons=7))
@settings(max_examples=min(settings.default.max_examples // 2, 40))
def test_every_released_event_generalizes_the_event_of_its_person(case):
    table = case.table()
    for method in methods(case):
        try:
            release = run(method, table, evaluate=False)
        except UnattainableError:
            continue
        names = dict(release.pseudonyms.select("pseudonym", "person").iter_rows())
        for (pseudonym,), events in release.frame.group_by("person", maintain_order=True):
            before = table.frame.filter(pl.col("who") == names[pseudonym])
            assert events["order"].to_list() == list(range(1, before.height + 1))
            for one, other in zip(before.iter_rows(named=True), events.iter_rows(named=True), strict=True):
                assert (one["ill"], one["worse"]) == (other["ill"], other["worse"])
                for name, tree in case.trees.items():
                    assert other[name] in hierarchy.chain(tree, one[name])


@given(cases(most_p=2, most_persons=7, most_quasi=2))
@settings(max_examples=40)
def test_a_full_search_loses_no_more_than_a_greedy_one(case):
    asked = {"k": case.k, "c": str(case.c), "p": case.p, "infeasible": "drop"}
    losses = []
    for search in ("greedy", "full"):
        try:
            losses.append(run(HALT(**asked, search=search), case.table()).utility["information_loss"].value)
        except UnattainableError:
            assume(False)
    assert losses[1] <= losses[0] + 1e-9


def stays(*values, ill=()):
    """One person per value, with one event; those with the numbers in `ill` have the value h."""
    persons = [[{"stay": value}] for value in values]
    return Case(
        persons,
        {"stay": STAY},
        [{"h"} if number in ill else set() for number in range(len(values))],
        2,
        Fraction(1, 2),
        1,
        "same",
    )


def test_a_rare_value_is_generalized_or_suppressed_whichever_loses_less():
    release = run(HALT(k=2, c=1, p=1), stays("1", "1", "2", "2", "30", "31").table())
    # 30 and 31 may be called long (2 of 5 leaves each) or be suppressed; all values of a column go together.
    assert sorted(release.frame["stay"]) == ["*", "*", "1", "1", "2", "2"]
    assert release.utility["information_loss"].value == pytest.approx(2 / 6)


def test_changes_say_level_persons_and_channel():
    release = run(HALT(k=2, c=1, p=1), stays("1", "1", "2", "2", "30", "31").table())
    rows = release.changes.sort("row").rows(named=True)
    assert [row["row"] for row in rows] == [5, 6]
    assert {row["column"] for row in rows} == {"stay"}
    assert [(row["what"], row["level"], row["from"], row["to"], row["persons"]) for row in rows] == [
        ("suppressed", 0, "30", "*", 1),
        ("suppressed", 0, "31", "*", 1),
    ]
    assert rows[0]["because"] == "stay = 30: 1 person"


def test_generalized_cells_are_listed_with_their_level():
    table = stays("1", "2", "1", "2", "30", "31", ill=()).table(stay={"never_suppress": ("30", "31")})
    release = run(HALT(k=2, c=1, p=1), table)
    assert sorted(release.frame["stay"]) == ["long", "long", *["short"] * 4]
    assert release.changes.select("what", "level", "to", "because").unique().sort("to").rows() == [
        ("generalized", 1, "long", None),
        ("generalized", 1, "short", None),
    ]


def test_max_level_is_honoured():
    case = stays("1", "2", "30", "31", "90", "90")
    coarse = run(GloGen(k=2, c=1, p=1), case.table())
    assert set(coarse.frame["stay"]) == {"short", "long", "longest"}
    with pytest.raises(UnattainableError, match="max_level and never_suppress") as refused:
        run(GloGen(k=2, c=1, p=1), case.table(stay={"max_level": 0}))
    assert "stay = 30: 1 person" in str(refused.value)
    fine = run(HALT(k=2, c=1, p=1), case.table(stay={"max_level": 0}))
    assert set(fine.frame["stay"]) == {"*", "90"}


def test_a_column_with_a_max_level_does_not_vanish():
    case = stays("1", "2", "30")
    with pytest.raises(UnattainableError, match="cannot be kept"):
        run(HALT(k=2, c=1, p=1), case.table(stay={"max_level": 0}))
    assert set(run(HALT(k=2, c=1, p=1), case.table()).frame["stay"]) == {"*"}


def test_never_suppress_is_honoured_or_refused_with_the_nearest_k():
    case = stays("1", "1", "1", "30", "30", "31")
    free = run(HALT(k=3, c=1, p=1), case.table())
    assert "*" in set(free.frame["stay"]) or "long" in set(free.frame["stay"])
    kept = run(HALT(k=3, c=1, p=1), case.table(stay={"never_suppress": ("31",)}))
    assert set(kept.frame["stay"]) <= {"1", "short", "long"}
    alone = stays("1", "1", "1", "90", "90")
    with pytest.raises(
        UnattainableError, match="k = 2 or never_suppress of stay = nothing could be kept"
    ) as refused:
        run(HALT(k=3, c=1, p=1), alone.table(stay={"never_suppress": ("90",)}))
    assert refused.value.achieved["k"] == 2


def test_a_value_that_does_not_occur_may_be_called_whatever():
    release = run(HALT(k=2, c=1, p=1), stays("1", "2").table(stay={"never_suppress": ("90",)}))
    assert set(release.frame["stay"]) == {"short"}


def test_weights_decide_what_is_given_up():
    """Two columns that give everybody away together: the heavier one keeps more."""
    persons = [[{"Q": q, "R": r}] for q in "ab" for r in "ab"]
    trees = {"Q": {"a": "*", "b": "*"}, "R": {"a": "*", "b": "*"}}
    for heavy, light in (("Q", "R"), ("R", "Q")):
        table = event_table(persons, trees, [set()] * 4, **{heavy: {"weight": 2.0}})
        release = run(HALT(k=2, c=1, p=2), table)
        assert set(release.frame[heavy]) == {"a", "b"}
        assert set(release.frame[light]) == {"*"}
        assert release.utility["information_loss"].value == pytest.approx(1 / 3)


def test_a_column_without_weight_costs_nothing():
    table = stays("1", "1", "30").table(stay={"weight": 0.0})
    release = run(HALT(k=2, c=1, p=1), table)
    assert release.utility["information_loss"].value == 0


def test_a_base_rate_above_c_is_refused_with_the_nearest_c():
    case = stays("1", "1", "1", ill=(0, 1))
    with pytest.raises(UnattainableError, match=r"66\.67% of all persons have ill = h") as refused:
        run(HALT(k=2, c=0.5, p=1), case.table())
    assert refused.value.achieved == {"c": 0.6667}
    assert run(HALT(k=2, c=refused.value.achieved["c"], p=1), case.table()).verdict


def test_dropping_leaves_out_as_few_persons_as_it_takes_and_says_so():
    case = stays("1", "1", "1", "1", "1", ill=(0, 1, 2, 3))
    with pytest.warns(SequesterWarning, match="3 persons were left out"):
        release = HALT(k=2, c=0.5, p=1, infeasible="drop").apply(case.table())
    assert release.frame["person"].n_unique() == 2
    assert release.n_lost_events == 3
    assert release.utility["suppressed_persons"].value == pytest.approx(3 / 5)
    assert any("left out" in limit for limit in release.limits)
    assert release.changes.filter(pl.col("what") == "dropped").height == 3


def test_more_than_everybody_is_refused_with_the_largest_k():
    with pytest.raises(UnattainableError, match=r"k = 4 is more than the 3 persons; the largest k .* is 3"):
        run(HALT(k=4, c=1, p=1), stays("1", "1", "1").table())


def test_nobody_cannot_be_hidden():
    with pytest.raises(UnattainableError, match="k = 2 is more than the 0 persons; no k can be kept"):
        run(HALT(k=2, c=1, p=1), stays().table())


def test_kept_columns_leave_as_they_were_and_the_limits_name_them():
    frame = pl.DataFrame(
        {"who": list("aabb"), "n": [1, 2, 1, 2], "stay": ["1"] * 4, "ward": ["x", None, "x", "y"]}
    )
    schema = Schema(person="who", order="n", quasi={"stay": Hierarchy.flat()}, keep=["ward"])
    release = run(HALT(k=2, c=1, p=2), EventTable(frame, schema))
    assert release.frame.columns == ["person", "order", "stay", "ward"]
    assert sorted(release.frame["ward"]) == ["(missing)", "x", "x", "y"]
    assert any("ward" in limit for limit in release.limits)


def test_a_symbol_is_refused():
    with pytest.raises(SchemaError, match="halt needs quasi-identifiers, and column 'symbol' is a symbol"):
        HALT(k=2, c=1, p=1).apply(symbol_table(["ab"]))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 1}, "k must be at least 2, got 1"),
        ({"c": 0}, "c must be above 0 and at most 1, got 0"),
        ({"c": "x"}, "c must be a number or a fraction"),
        ({"p": 0}, "p must be at least 1, got 0"),
        ({"levels": "both"}, 'levels must be "same" or "mixed"'),
        ({"suppression": "none"}, 'suppression must be "local" or "global"'),
        ({"stars": "seen"}, 'stars must be "counted" or "ignored"'),
        ({"search": "all"}, 'search must be "greedy" or "full"'),
        ({"infeasible": "cry"}, 'infeasible must be "refuse" or "drop"'),
    ],
)
def test_parameters_outside_their_range_are_refused(wrong, message):
    with pytest.raises(ParameterError, match=message):
        HALT(**({"k": 2, "c": 0.5, "p": 1} | wrong))


def test_numbers_of_numpy_are_numbers():
    made = HALT(k=np.int64(2), c=np.float64(0.5), p=np.int32(1))
    assert made == HALT(k=2, c=0.5, p=1)
    assert type(made.k) is type(made.p) is int


def test_a_lattice_that_is_too_large_is_refused():
    trees = {f"Q{n}": {"a": "x", "x": "X", "X": "Y", "Y": "*"} for n in range(6)}
    table = event_table([[dict.fromkeys(trees, "a")]] * 2, trees, [set()] * 2)
    with pytest.raises(ParameterError, match=r"at most 10,000 combinations of levels, and here are 15,625"):
        run(HALT(k=2, c=1, p=1, search="full"), table)


def test_what_is_too_much_is_refused_before_it_starts_with_the_largest_p(monkeypatch):
    table = stays(*["1", "2", "30", "31"] * 3).table()
    monkeypatch.setattr(lattice_search, "MOST_WORK", 12)
    monkeypatch.setattr(lattice_search, "PER_SECOND", 0.001)
    persons = [[{"Q": "a", "R": "b"}, {"Q": "b", "R": "a"}]] * 3
    trees = {"Q": {"a": "*", "b": "*"}, "R": {"a": "*", "b": "*"}}
    wide = event_table(persons, trees, [set()] * 3)
    phases = []
    with pytest.raises(
        UnattainableError, match=r"p = 3 is too much to count.*about 12 hours; the largest p that fits is 1"
    ):
        HALT(k=2, c=1, p=3).apply(wide, progress=lambda _, phase: phases.append(phase))
    assert "searching for inference channels" not in phases
    assert run(HALT(k=2, c=1, p=1), wide).verdict
    monkeypatch.setattr(lattice_search, "MOST_WORK", 1)
    with pytest.raises(UnattainableError, match="no p fits"):
        run(HALT(k=2, c=1, p=2), table)


def test_levels_that_are_too_much_to_count_are_passed_over_and_that_is_said(monkeypatch):
    case = stays(*["1", "2", "30", "31"] * 3)
    assert set(run(HALT(k=2, c=1, p=1), case.table()).frame["stay"]) == {"1", "2", "30", "31"}
    monkeypatch.setattr(lattice_search, "MOST_WORK", 12)
    with pytest.warns(SequesterWarning, match="finer levels were not tried.*--thorough"):
        release = HALT(k=2, c=1, p=1).apply(case.table())
    assert set(release.frame["stay"]) == {"short", "long"}


# The draft of nothing, the signature of the coarser level and its draft, but not the next signature; or the
# cells of the coarser level, but not those of the next.
@pytest.mark.parametrize(
    ("suppression", "most"),
    [("global", 2 * elimination.DRAFT + 1.5 * extraction.SIGNATURE), ("local", 36)],
)
def test_many_combinations_of_columns_are_cut_unless_the_search_is_thorough(suppression, most, monkeypatch):
    case = stays(*["1", "2", "30", "31"] * 3)
    monkeypatch.setattr(lattice_search, "MOST_CELLS", most)
    method = HALT(k=2, c=1, p=1, suppression=suppression)
    with pytest.warns(SequesterWarning, match="finer levels were not tried"):
        cut = method.apply(case.table())
    assert set(cut.frame["stay"]) == {"short", "long"}
    assert cut.verdict
    whole = method.thorough().apply(case.table())
    assert set(whole.frame["stay"]) == {"1", "2", "30", "31"}
    assert whole.parameters["effort"] == "thorough"


def wide(n_columns, n_persons=60):
    """One event each; every second column has rare values."""
    rng = np.random.default_rng(3)
    shares = [[0.5, 0.5, 0.0, 0.0], [0.6, 0.3, 0.07, 0.03]]
    columns = {f"q{at}": rng.choice(list("abcd"), n_persons, p=shares[at % 2]) for at in range(n_columns)}
    frame = pl.DataFrame({"who": range(n_persons), "n": [1] * n_persons, **columns})
    return EventTable(frame, Schema(person="who", order="n", quasi=dict.fromkeys(columns, Hierarchy.flat())))


@pytest.mark.parametrize(
    "method",
    [HALT(k=3, c=1, p=2, suppression="global"), HALT(k=3, c=1, p=2), GloGen(k=3, c=1, p=2)],
    ids=["global", "local", "glogen"],
)
def test_the_work_on_many_columns_is_bounded_and_the_promise_is_kept(method, monkeypatch):
    done = []
    spend = extraction.WorkBudget.spend

    def count(work, amount):
        done.append(amount)
        spend(work, amount)

    monkeypatch.setattr(extraction.WorkBudget, "spend", count)
    table = wide(8)
    whole = run(method.thorough(), table, evaluate=False)
    needed = sum(done)
    monkeypatch.setattr(lattice_search, "MOST_CELLS", needed // 3)
    done.clear()
    lines = []
    cut = method.apply(table, evaluate=False, warn=lambda *new: lines.extend(new))
    assert any("finer levels were not tried" in line for line in lines)
    # Once the bound is met, tasks that run side by side end, the drafts of one step may follow, and no more.
    assert sum(done) <= needed // 3 + 2 * max(done) + 8 * elimination.DRAFT * 8
    assert sum(done) < needed
    assert whole.verdict
    assert cut.verdict
    assert any((cut.frame[name] != "*").any() for name in table.schema.quasi)


@given(cases(most_p=3, most_persons=7, most_events=2), st.integers(4, 21))
@settings(max_examples=40)
def test_a_search_for_many_columns_keeps_the_promise_wherever_it_ends(case, size):
    asked = {"k": case.k, "c": str(case.c), "p": case.p, "levels": case.levels, "infeasible": "drop"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lattice_search, "WIDE", 0)
        patch.setattr(lattice_search, "MOST_CELLS", 1 << size)
        for method in (HALT(**asked), HALT(**asked, suppression="global"), GloGen(**asked)):
            try:
                release = run(method, case.table(), evaluate=False)
            except UnattainableError:
                continue
            assert kcp.is_private(
                as_oracle(release, case.trees, levels=case.levels, stars="counted"), case.k, case.c, case.p
            )


def test_where_columns_are_many_those_that_gained_little_wait(monkeypatch):
    tried = []
    draft = elimination.Elimination.draft

    def note(self, node, enough, **how):
        tried.append(node)
        return draft(self, node, enough, **how)

    monkeypatch.setattr(elimination.Elimination, "draft", note)
    table = wide(8)
    method = HALT(k=3, c=1, p=2, suppression="global")
    losses = []
    for is_wide in (False, True):
        tried.clear()
        monkeypatch.setattr(lattice_search, "WIDE", 0 if is_wide else 12)
        release = run(method, table)
        losses.append((len(tried), release.utility["information_loss"].value))
        assert release.verdict
    (all_tried, all_loss), (few_tried, few_loss) = losses
    assert few_tried < all_tried
    assert few_loss <= all_loss + 0.1


def test_coarsest_levels_that_are_too_much_are_refused_and_that_is_said(monkeypatch):
    table = wide(4)
    columns = {
        name: Quasi(Hierarchy.tree({"x": ["a", "b"], "y": ["c", "d"]}), max_level=1)
        for name in table.schema.quasi
    }
    strict = EventTable(table.frame, Schema(person="who", order="n", quasi=columns))
    monkeypatch.setattr(lattice_search, "MOST_CELLS", 1)
    method = HALT(k=2, c=1, p=1)
    with pytest.raises(UnattainableError, match=r"too much to look at: raise max_level.*--thorough"):
        run(method, strict)
    assert run(method.thorough(), strict).verdict


@given(cases(most_p=3, most_persons=8, most_events=2))
@settings(max_examples=40)
def test_looking_only_at_what_changed_since_the_last_private_draft_changes_nothing(case):
    method = HALT(k=case.k, c=str(case.c), p=case.p, levels=case.levels, infeasible="drop")
    frames = []
    for most in (elimination.MOST_STALE, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(elimination, "MOST_STALE", most)
            try:
                frames.append(run(method, case.table(), evaluate=False, seed="0123456789abcdef").frame)
            except UnattainableError as error:
                frames.append(str(error))
    first, second = frames
    assert first.equals(second) if isinstance(first, pl.DataFrame) else first == second


def test_more_than_memory_holds_is_refused(monkeypatch):
    monkeypatch.setattr(extraction, "MOST_OPEN", 2)
    with pytest.raises(UnattainableError, match="more than 2 g-sequences have to be held; hierarchy of stay"):
        run(HALT(k=2, c=1, p=1, suppression="global"), stays(*["1", "2", "30", "31"] * 3).table())


def test_a_table_without_quasi_identifiers_is_refused():
    frame = pl.DataFrame({"who": ["a"], "n": [1], "ill": ["x"]})
    table = EventTable(frame, Schema(person="who", order="n", sensitive={"ill": ["x"]}))
    with pytest.raises(SchemaError, match="glogen needs quasi-identifiers, and no column has the role quasi"):
        GloGen(k=2, c=1, p=1).apply(table)


def test_protected_values_of_a_quasi_identifier_leave_as_they_are():
    frame = pl.DataFrame(
        {"who": list("abcdef"), "n": [1] * 6, "ill": ["HIV", "flu", "flu", "cold", "cold", "gout"]}
    )
    tree = Hierarchy.from_tree({"infection": ["HIV", "flu", "cold"], "other": ["gout"]})
    table = EventTable(
        frame, Schema(person="who", order="n", quasi={"ill": tree}, sensitive={"ill": ["HIV"]})
    )
    release = run(HALT(k=2, c=0.5, p=1), table)
    assert "HIV" in set(release.frame["ill"])
    assert "gout" not in set(release.frame["ill"])
    assert release.verdict


def test_a_star_beside_nothing_but_protected_values_has_no_company():
    """Nothing can join the star of the only ordinary value, and the column does not vanish."""
    frame = pl.DataFrame({"who": list("abcd"), "n": [1] * 4, "ill": ["HIV", "HIV", "HIV", "flu"]})
    tree = Hierarchy.flat()
    table = EventTable(
        frame, Schema(person="who", order="n", quasi={"ill": tree}, sensitive={"ill": ["HIV"]})
    )
    with pytest.raises(UnattainableError, match="cannot be kept"):
        run(HALT(k=2, c=0.8, p=1), table)
