"""The thesis' table is built from the public claims as it says, and the counts are those of the files."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

from sequester.datasets import desynpuf
from sequester.errors import InputError


def claim(person, number, admitted, left, *codes, segment="1", admitting="", drg="201"):
    return {
        "DESYNPUF_ID": person,
        "CLM_ID": number,
        "SEGMENT": segment,
        "CLM_FROM_DT": admitted if segment == "1" else "",
        "CLM_ADMSN_DT": admitted,
        "NCH_BENE_DSCHRG_DT": left,
        "CLM_UTLZTN_DAY_CNT": "3" if segment == "1" else "",
        "CLM_PMT_AMT": "4000.00",
        "CLM_DRG_CD": drg,
        "ADMTNG_ICD9_DGNS_CD": admitting,
        **{f"ICD9_DGNS_CD_{i}": (*codes, *[""] * 10)[i - 1] for i in range(1, 11)},
    }


@pytest.fixture
def folder(tmp_path):
    def put(*claims, sample=1):
        path = tmp_path / f"DE1_0_2008_to_2010_Inpatient_Claims_Sample_{sample}.csv"
        pl.DataFrame(claims).write_csv(path, null_value="", quote_style="never")
        return tmp_path

    return put


def figures(events):
    """Count, per sample, what Table 6.3 counts, and put the thesis' numbers beside.

    ``protected`` is the percentage of claims with a code of Table 6.2, ``persons_protected`` that of persons.
    """
    protected = desynpuf.PROTECTED.of(events["diagnosis"].drop_nulls().to_list())
    per_person = (
        events.with_columns(is_protected=events["diagnosis"].is_in(protected))
        .group_by("sample", "PID")
        .agg(claims=pl.len(), n_protected=pl.col("is_protected").sum())
    )
    counted = per_person.group_by("sample").agg(
        persons=pl.len(),
        claims=pl.col("claims").sum(),
        longest=pl.col("claims").max(),
        protected=100 * pl.col("n_protected").sum() / pl.col("claims").sum(),
        persons_protected=100 * (pl.col("n_protected") > 0).mean(),
    )
    printed = pl.DataFrame(
        [(sample, *row) for sample, row in desynpuf.TABLE_6_3.items()],
        schema=["sample", "thesis_claims", "thesis_longest", "thesis_protected"],
        orient="row",
    )
    return counted.join(printed, on="sample", how="left").sort("sample")


def test_events_are_in_order_of_admission_and_count_days_within_the_year(folder):
    events = desynpuf.table(
        folder(
            claim("A", "3", "20090105", "20090108", "4019"),
            claim("A", "1", "20080301", "20080304", "4019"),
            claim("B", "9", "20081231", "20090102", "4019"),
            claim("A", "2", "20080311", "20080314", "4019"),
            claim("A", "2", "20080311", "20080314", segment="2"),
        )
    )
    assert events.columns == ["PID", "claim", "sample", *desynpuf.QUASI, "diagnosis"]
    assert events.select("PID", "claim", "DSFC").rows() == [
        ("A", "1", 0),
        ("A", "2", 10),
        ("A", "3", 0),
        ("B", "9", 0),
    ]
    assert events["admission"][0] == dt.date(2008, 3, 1)
    assert events["payment"].to_list() == [4000] * 4


def test_a_code_of_table_6_2_wins_wherever_it_stands(folder):
    events = desynpuf.table(
        folder(
            claim("A", "1", "20080301", "20080304", "4019", "5853", "042", "30390"),
            claim("B", "2", "20080301", "20080304", "4019", admitting="V154"),
            claim("C", "3", "20080301", "20080304", "63900", "4019"),
            claim("D", "4", "20080301", "20080304", "4019", drg="291"),
            claim("E", "5", "20080301", "20080304"),
        )
    )
    assert events["diagnosis"].to_list() == ["042", "V154", "63900", "4019", None]
    counted = figures(events).row(0, named=True)
    assert counted["claims"] == counted["persons"] == 5
    assert counted["longest"] == 1
    assert counted["protected"] == counted["persons_protected"] == 60
    assert (counted["thesis_claims"], counted["thesis_longest"]) == (66773, 14)


def test_otherwise_the_seed_chooses_one_of_the_codes_evenly(folder):
    claims = [
        claim("P", str(n), "20080301", "20080304", "4019", "5853", admitting="71590") for n in range(900)
    ]
    where = folder(*claims)
    chosen = dict(desynpuf.table(where, seed="a")["diagnosis"].value_counts().iter_rows())
    assert chosen.keys() == {"4019", "5853", "71590"}
    # Five standard deviations of a third of 900.
    assert all(abs(count - 300) < 5 * (900 * 2 / 9) ** 0.5 for count in chosen.values())
    assert desynpuf.table(where, seed="a").equals(desynpuf.table(where, seed="a"))
    assert not desynpuf.table(where, seed="a").equals(desynpuf.table(where, seed="b"))


@pytest.mark.parametrize(
    ("code", "group"),
    [
        ("042", "HIV"),
        ("0449", "HIV"),
        ("63491", "other pregnancy with abortive outcome"),
        ("633", "ectopic and molar pregnancy"),
        ("99583", "abuse or assault"),
        ("E9500", "abuse or assault"),
        ("V154", "abuse or assault"),
        ("3051", "substance abuse or dependence"),
        ("3029", "psychosexual disorders"),
        ("319", "mental retardation"),
        ("V501", "plastic surgery for unacceptable cosmetic appearance"),
        ("V510", "aftercare involving the use of plastic surgery"),
    ],
)
def test_table_6_2(code, group):
    assert [name for name, protect in desynpuf.TABLE_6_2.items() if protect.of([code])] == [group]
    assert desynpuf.PROTECTED.of([code]) == [code]


@pytest.mark.parametrize("code", ["041", "640", "99584", "E94", "V150", "306", "320", "V502", "4019"])
def test_neighbours_of_table_6_2_are_not_protected(code):
    assert desynpuf.PROTECTED.of([code]) == []


def test_files_are_known_by_their_names(folder, tmp_path):
    folder(claim("A", "1", "20080301", "20080304", "4019"), sample=10)
    folder(claim("B", "1", "20080301", "20080304", "4019"), sample=2)
    (tmp_path / "readme.csv").write_text("a\n1\n")
    assert desynpuf.table(tmp_path).select("PID", "sample").rows() == [("B", 2), ("A", 10)]
    only = tmp_path / "DE1_0_2008_to_2010_Inpatient_Claims_Sample_10.csv"
    assert desynpuf.table(only)["PID"].to_list() == desynpuf.table([only])["PID"].to_list() == ["A"]
    with pytest.raises(InputError, match=r"must be called .*Inpatient_Claims_Sample_1\.csv"):
        desynpuf.table(tmp_path / "readme.csv")
    with pytest.raises(InputError, match=r"must be called"):
        desynpuf.table([only, tmp_path / "readme.csv"])


def test_missing_columns_are_named_together(tmp_path):
    path = tmp_path / "Inpatient_Claims_Sample_1.csv"
    path.write_text("DESYNPUF_ID,CLM_ID\nA,1\n")
    with pytest.raises(InputError) as refused:
        desynpuf.table(path)
    assert f"{path}: has no column 'CLM_FROM_DT'" in refused.value.lines
    assert len(refused.value.lines) == 3 + 2 + 11  # others, dates and diagnoses


@pytest.mark.real
def test_the_public_samples(shared_data):
    events = desynpuf.table(shared_data / "desynpuf")
    assert len(events) == events["claim"].n_unique() == 102_841
    assert events["PID"].n_unique() == 58_460
    assert (events.group_by("PID").len()["len"] > 1).sum() == 23_323
    assert events.null_count().sum_horizontal().item() == 0
    assert events["DSFC"].is_between(0, 365).all()
    counted = figures(events)
    assert counted["sample"].to_list() == [*range(1, 11), *range(12, 17), *range(18, 21)]
    assert counted["claims"].sum() == 102_841
    assert counted["longest"].max() == 12
    # About 3,250 persons and 5,700 claims in each.
    assert counted["persons"].is_between(3_150, 3_400).all()
    assert counted["claims"].is_between(5_500, 6_000).all()
    # 11 % of claims; of persons 17.8 % in the first sample, 18.0 % in all. The thesis has 8.5 % of rows.
    assert counted["protected"].is_between(10.5, 12.5).all()
    assert counted["persons_protected"][0] == pytest.approx(17.84, abs=0.005)
    every = (counted["persons_protected"] * counted["persons"]).sum() / counted["persons"].sum()
    assert every == pytest.approx(17.98, abs=0.005)
