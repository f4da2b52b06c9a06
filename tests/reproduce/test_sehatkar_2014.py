"""The experiments of Sehatkar (2014): made data beside Table 6.5, cells, figures and statements."""

from __future__ import annotations

import re
from collections import Counter
from functools import partial

import polars as pl
import pytest

from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import desynpuf, hospital, quest
from sequester.errors import InputError, UnattainableError
from sequester.hierarchies import Hierarchy
from sequester.reproduce import find_paper, sehatkar_2014
from sequester.reproduce.sehatkar_2014 import (
    CLASSES,
    CMS,
    LEVELS,
    POOLED,
    SYN_1000,
    SYN_10000,
    HistorySet,
    claims_table,
    leaf_queries,
    made_table,
    measure,
)
from sequester.utility import QueryError

PAPER = find_paper("sehatkar-2014")


@pytest.mark.parametrize("shape", quest.TABLE_6_5)
def test_made_sets_are_those_of_table_6_5(shape):
    persons, _, n_quasi = shape
    percent, most, events = quest.TABLE_6_5[shape]
    table = made_table(shape, 1)
    lengths = table.frame.group_by("PID").len()["len"]
    assert table.n_persons == persons
    assert len(table.schema.quasi) == n_quasi
    assert abs(table.n_events / events - 1) < 0.05
    assert most - 2 <= lengths.max() <= most
    protected = table.frame.filter(pl.col("Disease").is_in(hospital.PROTECTED))["PID"].n_unique()
    # Five standard errors of a share near one half.
    assert abs(protected / persons - percent / 100) < 2.5 / persons**0.5


def few(group=SYN_1000):
    table = sehatkar_2014.hospital_table(120, 1)
    return HistorySet(group=group, data="few", number=1, load=lambda: table)


@pytest.mark.parametrize("name", [*CLASSES, *LEVELS])
def test_a_cell_measures_loss_and_error(name):
    method = CLASSES[name](5, 0.7) if name in CLASSES else LEVELS[name](5, 0.7, 2)
    (row,) = measure(few(), method)
    assert 0 < row["information_loss"] <= 1
    assert row["relative_error"] >= abs(row["bias"]) > 0
    assert row["dropped"] == 0


def test_persons_are_left_out_where_the_share_cannot_be_kept():
    (row,) = measure(few(), CLASSES["CBLDA"](5, 0.1))
    table = few().load()
    risky = table.frame.filter(pl.col("Disease").is_in(hospital.PROTECTED))["PID"].n_unique()
    left = round(row["dropped"] * table.n_persons)
    assert (risky - left) <= 0.1 * (table.n_persons - left)
    assert left == min(n for n in range(risky) if (risky - n) <= 0.1 * (table.n_persons - n))


def test_what_is_refused_has_no_row(monkeypatch):
    def refuse(*_, **__):
        raise UnattainableError("too much to count", achieved={})

    method = LEVELS["HALT"](5, 0.7, 2)
    monkeypatch.setattr(type(method), "transform", refuse)
    assert measure(few(), method) == []


def test_the_plan_varies_one_thing_at_a_time(monkeypatch):
    monkeypatch.setattr(sehatkar_2014, "QUICK_SHAPES", ((1_000, 3, 2),))
    plan = find_paper("sehatkar-2014").plan(None, design="quick")
    assert [line.split(":")[0] for line in plan.sources] == [CMS, "Data_1000_3_2"]
    for cell in plan.cells:
        usual = {"K": 5, "C": 0.7, "P": 3}
        assert sum(cell.parameters.get(name, value) != value for name, value in usual.items()) <= 1
    assert len(plan.cells) == 3 + 2 * (6 * 2 + 8 * 3)
    full = list(sehatkar_2014._cells(few(), design="whole"))
    assert len(full) == (6 + 8) * 2 + (6 + 8 + 3) * 3
    assert {cell.parameters["C"] for cell in full} == {tenths / 10 for tenths in range(1, 10)}
    large = list(sehatkar_2014._cells(few(SYN_10000), design="quick"))
    assert len(large) == 3 * 2 + 4 * 3


def test_the_whole_grid_has_ten_sets_of_every_shape():
    found = sehatkar_2014.history_sets(None, design="whole")
    sets = {source.data: 0 for source in found}
    for source in found:
        sets[source.data] += 1
    assert sets == {CMS: 10} | {"Data_{}_{}_{}".format(*shape): 10 for shape in quest.TABLE_6_5}


def test_figures_are_named_by_the_numbers_of_the_thesis():
    numbers = {int(re.fullmatch(r"figure-6-(\d+)[ab]?", drawing.name)[1]) for drawing in PAPER.drawings}
    assert numbers == set(range(1, 27))
    titles = [drawing.title for drawing in PAPER.drawings]
    assert len(set(titles)) == len(titles) == 30
    assert titles[-1] == (
        "Figure 6.26: average relative error of HALT and GloGen by P on Syn-10000 (K = 5, C = 0.7)"
    )


def test_a_folder_without_claims_is_refused(tmp_path):
    with pytest.raises(InputError, match="has no files"):
        sehatkar_2014.history_sets(tmp_path, design="quick")


@pytest.mark.real
def test_samples_of_claims_come_by_their_numbers(shared_data):
    found = [
        source for source in sehatkar_2014.history_sets(shared_data, design="whole") if source.data == CMS
    ]
    assert len(found) == 18
    first = found[0].load()
    path = sehatkar_2014._samples(shared_data / "desynpuf")[0]
    assert path.name == "DE1_0_2008_to_2010_Inpatient_Claims_Sample_1.csv.gz"
    assert first.n_events == claims_table(path).n_events
    assert set(first.schema.quasi) == set(desynpuf.QUASI)


def tables_of(*, good):
    """Tables in which every statement holds, or none."""
    rows = {"classes": [], "levels": []}
    sets = [(CMS, CMS, 1.0), (POOLED, POOLED, 1.0)]
    sets += [(SYN_1000, f"Data_1000_{y}_{z}", 1.0 + (y + z) / 50) for y in (3, 5) for z in (2, 4)]
    sets += [(SYN_10000, f"Data_10000_{y}_{z}", 0.5 + (y + z) / 50) for y in (3, 5) for z in (2, 4)]
    grid = [(5, 0.7, 3), (20, 0.7, 3), (50, 0.7, 3), (5, 0.1, 3), (5, 0.9, 3), (5, 0.7, 2), (5, 0.7, 5)]
    for group, data, scale in sets:
        for k, c, p in grid:
            rise = k / 1000 + (0.5 if c == 0.1 else 0) + (p - 3) / 100 - (c == 0.9) / 1000
            value = scale * (0.15 + rise) if good else 4 - 3 * scale * (0.15 + rise) + (2 if c == 0.9 else 0)
            for table, names in (("classes", CLASSES), ("levels", LEVELS)):
                if table == "classes" and p != 3:
                    continue
                for name in names:
                    shown = (
                        value * (3 if name in ("Baseline", "Random classes", "GloGen") and good else 1)
                        + (table == "levels" and not good) * 5
                    )
                    rows[table].append(
                        {
                            "group": group,
                            "data": data,
                            "set": 1,
                            "K": k,
                            "C": c,
                            "P": p,
                            "method": name,
                            "information_loss": shown,
                            "relative_error": shown,
                            "leaf_error": shown,
                        }
                    )
    found = {name: pl.DataFrame(each) for name, each in rows.items()}
    share = 0.083 if good else 0.114
    counted = [
        {"sample": "1", "codes": n, "protected": n * share / 2, "protected_without": 0.05} for n in (1, 2)
    ]
    return found | {"classes": found["classes"].drop("P"), "protected": pl.DataFrame(counted)}


@pytest.mark.parametrize("good", [True, False])
def test_statements_follow_the_tables(good):
    found = PAPER.claims(tables_of(good=good))
    assert len(found) == 26
    differ = [claim.says for claim in found if (claim.verdict == "agrees") != good]
    assert differ == []
    assert good or all(claim.why for claim in found)


def test_no_shape_of_both_sizes_is_no_agreement():
    tables = tables_of(good=True)
    other = pl.col("data").str.replace("10000_.", "10000_9")
    found = PAPER.claims(tables | {"classes": tables["classes"].with_columns(other)})
    (larger,) = (claim for claim in found if claim.says.startswith("Ten times"))
    assert (larger.verdict, larger.measured) == ("not decided", "not run")


def test_loaded_sets_do_not_pile_up():
    loads = [partial(sehatkar_2014.hospital_table, 20, number) for number in range(4)]
    for load in loads:
        sehatkar_2014._loaded(load)
    assert sehatkar_2014._loaded.cache_info().currsize <= 2


@pytest.mark.parametrize(("k", "c"), [(5, 0.7), (20, 0.3), (60, 1.0)])
def test_random_classes_keep_the_promise(k, c):
    table = few().load()
    release = CLASSES["Random classes"](k, c).apply(
        table, seed="a sentence that nobody guesses", evaluate=False, warn=lambda _: None
    )
    assert release.verdict.holds
    assert release.frame["person"].n_unique() == table.n_persons
    kept = release.frame.drop("person", "order", "Disease").with_columns(release.frame["person"])
    shown = {who: tuple(map(tuple, part.drop("person").rows())) for (who,), part in kept.group_by("person")}
    assert min(Counter(shown.values()).values()) >= k


def test_random_classes_lose_more_than_the_nearest():
    (random,), (nearest,) = (measure(few(), CLASSES[name](5, 0.7)) for name in ("Random classes", "Baseline"))
    assert random["information_loss"] > nearest["information_loss"]


def test_every_distinct_value_is_asked_for_as_often_as_any_other():
    quasi = {"stay": Hierarchy.flat()}
    frame = pl.DataFrame({"who": range(100), "n": 1, "stay": ["1"] * 97 + ["2", "3", "4"]})
    table = EventTable(frame, Schema(person="who", order="n", quasi=quasi))
    asked = Counter(str(query) for query in leaf_queries(table, 1_000))
    # Five standard errors of a quarter of a thousand.
    assert all(abs(count - 250) < 70 for count in asked.values())
    assert len(asked) == 4
    several = leaf_queries(few().load(), 200)
    assert {len(query.events) for query in several} == {1, 2, 3}
    assert min(QueryError(queries=several).expected(few().load(), original=few().load())) > 0.999


@pytest.mark.real
def test_larger_files_and_pooled_samples_are_in_the_sampled_design(shared_data):
    found = sehatkar_2014.history_sets(shared_data, design="sampled")
    assert [one.data for one in found[:3]] == [CMS, CMS, POOLED]
    points = [cell.parameters for cell in sehatkar_2014._cells(found[2], design="sampled")]
    assert {(each["K"], each["C"]) for each in points} == {(5, 0.7), (20, 0.7), (50, 0.7)}
    assert {each["method"] for each in points} == set(CLASSES)
    (counted,) = (
        row
        for row in desynpuf.protected_shares(
            sehatkar_2014._samples(shared_data / "desynpuf")[0], without="3051"
        )
        if row["codes"] == 11
    )
    # The same count as that of the table of all codes.
    assert counted["protected"] == pytest.approx(0.112, abs=0.001)
    assert counted["protected_without"] < 0.6 * counted["protected"]
