"""``init`` on every public file: the right person, and a configuration that is accepted as it is."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from named_sensitive import count_sensitive, with_sensitive_named
from sequester.errors import InputError, SequesterWarning
from sequester.workflow.advise import advise
from sequester.workflow.config import Config
from sequester.workflow.draft.attributes import REGIONS_PER_TRIP
from sequester.workflow.draft.draft import MOST_QUASI
from sequester.workflow.init import DataFile, init

pytestmark = pytest.mark.real


@dataclass(frozen=True)
class Expected:
    """What is known of a file: who, when, and how many."""

    person: str
    when: tuple[str, ...]
    persons: int
    symbol: str | None = None
    doubt: str = ""
    """How the first doubt begins, where there must be one."""


ROW = "row"
NOBODY = "person: no column repeats like persons"
ONE_LOG = "person: taken for the log of one person"
EXPECTED = {
    "msnbc/msnbc990928.seq.gz": Expected("person", ("order",), 989_818, "symbol"),
    "spmf/MSNBC.txt.gz": Expected("person", ("order",), 31_790, "symbol"),
    # The order of clicks was lost before the file was published.
    "spmf/BMSWebView1.txt.gz": Expected(
        "person", ("order",), 59_601, "symbol", "symbol: everybody's symbols rise"
    ),
    "spmf/SIGN.txt.gz": Expected("person", ("order",), 730, "symbol"),
    "spmf/LEVIATHAN.txt.gz": Expected("person", ("order",), 5_834, "symbol"),
    "spmf/BIKE.txt.gz": Expected("person", ("order",), 21_078, "symbol"),
    # One patient is called NA.
    "sepsis/Sepsis.csv.gz": Expected("case_id", ("timestamp",), 1_050, doubt="time: 7,526 rows"),
    "eventlogs/07_bpic2013_incidents.xes.gz": Expected(
        "case:concept:name",
        ("time:timestamp",),
        7_554,
        "concept:name",
        "drop: 'org:resource' names people, too",
    ),
    "eventlogs/08_receipt.xes.gz": Expected(
        "case:concept:name",
        ("time:timestamp",),
        1_434,
        "concept:name",
        doubt="drop: 'case:responsible' names people, too",
    ),
    "eventlogs/helpdesk.xes.gz": Expected(
        "case:concept:name", ("time:timestamp",), 4_580, "concept:name", doubt="time: "
    ),
    "eventlogs/running-example.xes.gz": Expected(
        "case:concept:name", ("time:timestamp",), 6, "concept:name", "drop: "
    ),
    "eventlogs/traffic_fines.csv.gz": Expected("case_id", ("timestamp",), 10_000, doubt="drop: "),
    "eventlogs/hospital_billing.csv.gz": Expected("case_id", ("timestamp",), 10_000, doubt="drop: "),
    # A spreadsheet cut the years to two digits.
    "mimic4demo/admissions.csv.gz": Expected(
        "subject_id", ("admittime",), 100, doubt="time: the century is not"
    ),
    "mimic4demo/diagnoses_icd.csv.gz": Expected("subject_id", ("seq_num",), 100, doubt="order: 3,356 rows"),
    "mimic4demo/patients.csv.gz": Expected(ROW, (), 100),
    "synthea/conditions.csv.gz": Expected("PATIENT", ("START",), 986, doubt="time: "),
    "synthea/medications.csv.gz": Expected("PATIENT", ("START",), 974, doubt="time: "),
    "synthea/patients.csv.gz": Expected(ROW, (), 1_000),
    # The users are called label, and trips have the better name.
    "foursquare_nyc_week/train_latlon.csv.gz": Expected(
        "label", ("day",), 193, doubt="person: nothing in its name"
    ),
    "foursquare_nyc_week/test_latlon.csv.gz": Expected(
        "label", ("day",), 193, doubt="person: nothing in its name"
    ),
    "geolife11/geolife11.csv.gz": Expected("user", ("date", "time"), 11, doubt="time: 426 rows"),
    "fitbit/hourlySteps_merged.csv.gz": Expected("Id", ("ActivityDate", "ActivityTime"), 33),
    "lifecourse/mvad.csv.gz": Expected(ROW, (), 712, doubt="columns: "),
    # idhous is a household, and nothing is a person.
    "lifecourse/biofam.csv.gz": Expected(ROW, (), 2_000, doubt=NOBODY),
    "houston_crime/crime.csv.gz": Expected(ROW, ("time",), 86_314, doubt=NOBODY),
    "hk_covid/enhanced_sur_covid_19_eng.csv.gz": Expected("Case no.", ("Report date",), 15_441),
    # Logs of one person each.
    "casas_aruba/activity_dataset.csv.gz": Expected("all", ("date",), 1, "label", ONE_LOG),
    "casas_aruba/dataset.csv.gz": Expected("all", ("date",), 1, "label", ONE_LOG),
    "casas_hh101/dataset.csv.gz": Expected("all", ("date",), 1, "label", "/"),
    **{
        f"kasteren/K{house}_{kind}.csv.gz": Expected("all", ("Start time",), 1, "ID", "/")
        for house, kind, rows in [
            ("A", "as", 259),
            ("B", "as", 112),
            ("C", "as", 234),
            ("A", "ss", 1_229),
            ("B", "ss", 19_075),
            ("C", "ss", 22_700),
        ]
    },
}
REFUSED = {
    "uci_diabetes70/diabetes70.tsv.gz": "row 9,961 has 4 cells, the header has 5",
    "uci_adl/OrdonezA_ADLs.txt.gz": "column 4 has no name",
    "uci_adl/OrdonezA_Sensors.txt.gz": "column 5 has no name",
}
"""Files that nothing can be drafted for, and what is wrong with them."""
NO_EVENTS = re.compile(r"kasteren/K._\w+_labels\.csv\.gz|uci_diabetes70/Data-Codes\.gz")
"""Labels of numbers, and a description: no persons and no events."""
FORMATS = {"uci_adl": "csv"}


def names(shared_data):
    found = [path.relative_to(shared_data).as_posix() for path in shared_data.rglob("*.gz")]
    return sorted(name for name in found if not NO_EVENTS.fullmatch(name))


def drafted(shared_data, name, folder):
    data = DataFile(str(shared_data / name), format=FORMATS.get(name.split("/")[0]))
    proposed = init(data, folder / "release.toml", force=True)
    proposed.write()
    return proposed


def loaded(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return Config.load(path).table()


SLOW = ("eventlogs/07_bpic2013_incidents.xes.gz", "houston_crime/crime.csv.gz")
"""Large files of formats that others have, too."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.thorough if name in SLOW else ()) for name in EXPECTED]
)
def test_who_and_when(name, shared_data, tmp_path):
    expected = EXPECTED[name]
    proposed = drafted(shared_data, name, tmp_path)
    draft = proposed.draft
    assert (draft.person.column, draft.when_columns) == (expected.person, expected.when)
    assert (None if draft.symbol is None else draft.symbol.column) == expected.symbol
    assert draft.doubts[0].startswith(expected.doubt) if expected.doubt else draft.doubts == ()
    path = tmp_path / "release.toml"
    text = path.read_text(encoding="utf-8")
    is_sequence = expected.symbol is not None or draft.place is not None
    assert (count_sensitive(text) == 0) == is_sequence
    path.write_text(with_sensitive_named(text), encoding="utf-8")
    table = loaded(path)
    assert table.n_owners == expected.persons
    assert bool(table.protected) == (not is_sequence)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_said(name, shared_data, tmp_path):
    with pytest.raises(InputError) as caught:
        drafted(shared_data, name, tmp_path)
    assert REFUSED[name] in caught.value.lines[0]


def test_every_file_is_accounted_for(shared_data):
    others = {name for name in names(shared_data) if not name.startswith("desynpuf/")}
    assert others == {*EXPECTED, *REFUSED}


@pytest.mark.parametrize("sample", ["1", pytest.param(r"\d+", marks=pytest.mark.thorough)])
def test_the_medicare_files(sample, shared_data, tmp_path):
    found = [name for name in names(shared_data) if re.fullmatch(rf"desynpuf/.*_{sample}\.csv\.gz", name)]
    assert len(found) == (4 if sample == "1" else 42)
    for name in found:
        draft = drafted(shared_data, name, tmp_path).draft
        path = tmp_path / "release.toml"
        path.write_text(with_sensitive_named(path.read_text(), 1), encoding="utf-8")
        table = loaded(path)
        if "Inpatient" in name:
            assert (draft.person.column, draft.when_columns) == ("DESYNPUF_ID", ("CLM_ADMSN_DT",))
            assert table.protected.keys() == {"ICD9_DGNS_CD"}
            assert len(table.schema.sensitive["ICD9_DGNS_CD"].columns) == 10
            assert {"CLM_ID", "PRVDR_NUM", "AT_PHYSN_NPI"} <= {each.column for each in draft.drop}
        else:
            assert draft.person.column == ROW
            assert "DESYNPUF_ID" in {each.column for each in draft.drop}


def test_names_and_numbers_of_people_never_leave(shared_data, tmp_path):
    draft = drafted(shared_data, "synthea/patients.csv.gz", tmp_path).draft
    dropped = {each.column for each in draft.drop}
    assert {"ID", "SSN", "DRIVERS", "PASSPORT", "FIRST", "LAST", "MAIDEN", "ADDRESS"} <= dropped
    kinds = {each.column: each.hierarchy.kind for each in draft.quasi}
    assert (kinds["ZIP"], kinds["BIRTHDATE"], kinds["GENDER"]) == ("mask", "dates", "flat")


def test_households_and_visits_are_no_attributes(shared_data, tmp_path):
    for name, column in [("lifecourse/biofam.csv.gz", "idhous"), ("mimic4demo/admissions.csv.gz", "hadm_id")]:
        draft = drafted(shared_data, name, tmp_path).draft
        assert column in {each.column for each in draft.drop}


@pytest.mark.parametrize(
    ("name", "column", "form"),
    [
        ("synthea/conditions.csv.gz", "CODE", "SNOMED CT codes"),
        ("synthea/medications.csv.gz", "DESCRIPTION", "drug names"),
        ("mimic4demo/diagnoses_icd.csv.gz", "icd_code", "ICD codes"),
    ],
)
def test_codes_are_proposed_as_sensitive_by_their_form(name, column, form, shared_data, tmp_path):
    first = drafted(shared_data, name, tmp_path).draft.candidates[0]
    assert (first.columns[0], f"the values look like {form}" in first.why) == (column, True)


def test_a_wide_table_is_cut_to_what_an_outsider_could_know(shared_data, tmp_path):
    name = "desynpuf/DE1_0_2008_to_2010_Inpatient_Claims_Sample_1.csv.gz"
    draft = drafted(shared_data, name, tmp_path).draft
    assert len(draft.quasi) == MOST_QUASI
    cut = [each for each in draft.drop if "not among the 12" in each.why]
    assert len(cut) > MOST_QUASI
    (codes,) = [each for each in draft.candidates if each.name == "ICD9_DGNS_CD"]
    assert codes.why.startswith("10 columns; the values look like ICD-9 codes")
    yearly = drafted(shared_data, "desynpuf/DE1_0_2008_Beneficiary_Summary_File_Sample_1.csv.gz", tmp_path)
    kinds = {each.column: each.hierarchy.kind for each in yearly.draft.quasi}
    assert (kinds["SP_STATE_CODE"], kinds["BENE_COUNTY_CD"], kinds["BENE_RACE_CD"]) == ("flat",) * 3


def test_points_become_regions_of_which_trips_cross_enough(shared_data, tmp_path):
    for name in ("geolife11/geolife11.csv.gz", "foursquare_nyc_week/train_latlon.csv.gz"):
        draft = drafted(shared_data, name, tmp_path).draft
        assert draft.trip is not None
        table = loaded(tmp_path / "release.toml")
        crossed = int(np.median(np.diff(table.person_offsets)))
        assert crossed >= REGIONS_PER_TRIP
        assert f"half of the trips cross {crossed} regions or more" in draft.place.why


def test_claims_keep_codes_apart_that_differ_by_zeros(shared_data, tmp_path):
    claims = shared_data / "desynpuf" / "DE1_0_2008_to_2010_Inpatient_Claims_Sample_1.csv.gz"
    draft = init(claims, tmp_path / "c.toml").draft
    assert [line.partition(":")[0] for line in draft.alike] == [
        "column 'ICD9_DGNS_CD_1' and 9 more of its name",
        "column 'ICD9_PRCDR_CD_1' and 5 more of its name",
    ]
    assert draft.has_codes_alike


def test_conditions_are_proposed_as_sensitive_and_states_are_not(shared_data, tmp_path):
    summary = shared_data / "desynpuf" / "DE1_0_2008_Beneficiary_Summary_File_Sample_1.csv.gz"
    names = {each.name for each in init(summary, tmp_path / "b.toml").draft.candidates}
    assert {"SP_DIABETES", "SP_DEPRESSN", "SP_CNCR"} <= names
    assert "SP_STATE_CODE" not in names


def test_one_log_can_be_protected_as_it_was_drafted(shared_data, tmp_path):
    config = tmp_path / "log.toml"
    init(shared_data / "casas_hh101" / "dataset.csv.gz", config).write()
    advice = advise(loaded(config), recipient="service", known="patterns", keep="complete", seconds=0)
    assert advice.recommended.method.name == "top-down"
