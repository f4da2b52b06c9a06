"""A recipient opens what was certified, and nothing else."""

from __future__ import annotations

import warnings

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.expected import expected
from release.samples import Pages, frame_of, release_of
from sequester.data.persons import Persons
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import InputError, InternalError, ParameterError, SequesterWarning
from sequester.hierarchies import Hierarchy
from sequester.methods import HALT, GloGen
from sequester.release.certificate import Certificate
from sequester.release.open import Opened, covers, node_probabilities
from sequester.verification.verify import open_parts as open_release
from sequester.workflow.write import write
from verification.doctoring import rehash

TREE = pl.DataFrame(
    {
        "node": ["*", "letters", "a", "b", "c"],
        "parent": ["", "*", "letters", "letters", "letters"],
        "leaves": [9, 3, 1, 1, 1],
    }
)


def test_a_recipient_gets_the_table_the_hierarchies_and_the_certificate(tmp_path):
    release = release_of(hierarchies={"page": TREE})
    opened = open_release(write(release, tmp_path, report=Pages()))
    assert opened.frame.equals(release.frame)
    assert opened.hierarchies["page"].equals(TREE)
    assert opened.certificate.claim == {"k": 2, "strict": True}
    assert opened.certificate.limits == ("Records are not truthful.",)


@pytest.mark.parametrize(
    "column", ["../../page", "/page", ".", "..", "CON", "Größe", "a" * 300, "a/b", "%2E", "x~y"]
)
def test_a_hierarchy_finds_its_column_whatever_the_name(tmp_path, column):
    release = release_of(column=column, hierarchies={column: TREE})
    written = write(release, tmp_path / "out", report=Pages())
    assert list(open_release(written).hierarchies) == [column]
    files = [path.relative_to(tmp_path / "out" / "release").as_posix() for path in tmp_path.rglob("*.csv")]
    assert sorted(file.split("/")[0] for file in files) == ["events.csv", "hierarchies"]


def test_the_hierarchy_file_is_as_the_interface_says(tmp_path):
    written = write(release_of(hierarchies={"page": TREE}), tmp_path, report=Pages())
    text = (written.path / "hierarchies" / "page.csv").read_bytes()
    assert text == b"node;parent;leaves\n*;;9\nletters;*;3\na;letters;1\nb;letters;1\nc;letters;1\n"


def test_files_that_fit_each_other_but_are_no_release_are_refused(tmp_path):
    written = write(release_of(hierarchies={"page": TREE}), tmp_path, report=Pages())
    with (written.path / "hierarchies" / "page.csv").open("a") as file:
        file.write("d;letters;1\n")
    rehash(written.path)
    with pytest.raises(InputError, match="node 'd' is not at or above a released value"):
        open_release(written)
    frame_of(["ba", "ba"])[[1, 0, 2, 3]].write_csv(written.path / "events.csv")
    rehash(written.path)
    with pytest.raises(InputError, match=r"events\.csv and events\.parquet differ"):
        open_release(written)


def test_a_hierarchy_of_no_column_is_ours_to_fix(tmp_path):
    with pytest.raises(InternalError, match="no such column"):
        write(release_of(hierarchies={"ward": TREE}), tmp_path / "out", report=Pages())
    assert not (tmp_path / "out").exists()


def test_a_file_that_was_changed_is_refused_by_name(tmp_path):
    written = write(release_of(hierarchies={"page": TREE}), tmp_path, report=Pages())
    with (written.path / "hierarchies" / "page.csv").open("a") as file:
        file.write("d;letters;1\n")
    with pytest.raises(InputError, match=r"hierarchies/page\.csv: is not the certified file"):
        open_release(written)


WHOLE = {
    "*": {"1", "2", "3", "7", "8"},
    "[0:4]": {"1", "2", "3"},
    "[0:2]": {"1", "2"},
    "[5:9]": {"7", "8"},
    "1": {"1"},
    "2": {"2"},
    "3": {"3"},
    "7": {"7"},
    "8": {"8"},
}
PARENT = {
    "*": "",
    "[0:4]": "*",
    "[0:2]": "[0:4]",
    "[5:9]": "*",
    "1": "[0:2]",
    "2": "[0:2]",
    "3": "[0:4]",
    "7": "[5:9]",
    "8": "[5:9]",
}


def tree_above(released):
    """The released nodes and those above, in tree order, as a recipient has them."""
    kept = {"*"}
    for node in released:
        above = node
        while above:
            kept.add(above)
            above = PARENT[above]
    nodes = [node for node in PARENT if node in kept]
    return pl.DataFrame(
        {
            "node": nodes,
            "parent": [PARENT[node] for node in nodes],
            "leaves": [len(WHOLE[node]) for node in nodes],
        }
    )


def opened(tables, hierarchies, persons=1):
    certificate = Certificate(
        method="by-hand",
        parameters={},
        model="KCPPrivacy",
        claim={"k": 2},
        holds=True,
        achieved={"k": 2},
        persons=persons,
        events=next(iter(tables.values())).height,
        limits=("<b>limit",),
        files={},
    )
    return Opened(next(iter(tables.values())), hierarchies, certificate, tables)


def opened_rows(rows):
    frame = pl.DataFrame(
        {
            "person": [who for who, _, _ in rows],
            "stay": [v for _, v, _ in rows],
            "ill": [i for _, _, i in rows],
        },
        schema={"person": pl.String, "stay": pl.String, "ill": pl.String},
    )
    return opened({"events": frame}, {"stay": tree_above(set(frame["stay"]))})


rows_of = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from(list(WHOLE)), st.sampled_from("xy")),
    min_size=1,
    max_size=4,
)


@given(rows_of, st.sampled_from(list(WHOLE)), st.sampled_from("xyz"))
def test_expected_counts_are_the_mean_over_all_worlds(rows, wanted, ill):
    release = opened_rows(rows)
    plain = [(who, {"stay": stay, "ill": has}) for who, stay, has in rows]
    nodes = {node: WHOLE[node] for node in release.hierarchies["stay"]["node"]}
    events, persons = expected(plain, {"stay": nodes, "ill": None}, {"stay": WHOLE[wanted], "ill": {ill}})
    # What is not among the released nodes is found by its label: all nodes here are ranges or numbers.
    if wanted not in release.hierarchies["stay"]["node"] and len(WHOLE[wanted]) > 1:
        return
    assert release.expected_count(stay=wanted, ill=ill) == pytest.approx(events)
    assert release.expected_count({"stay": wanted}, ill=ill, persons=True) == pytest.approx(persons)


@given(rows_of, st.tuples(st.sampled_from("fm"), st.sampled_from("fm")), st.sampled_from(list(WHOLE)))
def test_expected_counts_over_both_tables(rows, sexes, wanted):
    """An attribute of a person is one of each of their events."""
    alone = opened_rows(rows)
    persons = pl.DataFrame({"person": ["a", "b"], "Sex": list(sexes)})
    release = opened({**alone.tables, "persons": persons}, dict(alone.hierarchies))
    if wanted not in release.hierarchies["stay"]["node"] and len(WHOLE[wanted]) > 1:
        return
    plain = [(who, {"stay": stay, "Sex": sexes["ab".index(who)]}) for who, stay, _ in rows]
    nodes = {node: WHOLE[node] for node in release.hierarchies["stay"]["node"]}
    events, holders = expected(plain, {"stay": nodes, "Sex": None}, {"stay": WHOLE[wanted], "Sex": {"f"}})
    assert release.expected_count(Sex="f", stay=wanted) == pytest.approx(events)
    assert release.expected_count(Sex="f", stay=wanted, persons=True) == pytest.approx(holders)
    assert release.expected_count(Sex="f") == sexes.count("f")
    assert release.expected_counts("Sex")["expected"].sum() == 2


def test_a_recipient_counts_in_both_tables(tmp_path):
    visits = pl.DataFrame({"PID": list("aabbcc"), "n": [1, 2] * 3, "ZIP": ["56001", "10000"] * 3})
    patients = pl.DataFrame({"PID": list("abcd"), "Sex": list("FFMM")})
    persons = Persons(patients, quasi={"Sex": Hierarchy.flat()})
    table = EventTable(visits, Schema("PID", "n", quasi={"ZIP": Hierarchy.flat()}), persons)
    release = HALT(k=2, c=1, p=1).apply(table, seed="a seed of enough letters")
    release = open_release(write(release, tmp_path / "out", report=Pages()))
    assert release.frame.height == 6
    assert release.persons.height == 4
    assert release.expected_count(Sex="F", ZIP="56001") == 2
    assert release.expected_count(Sex="M", ZIP="56001", persons=True) == 1
    assert release.expected_count(Sex="M") == 2


@given(rows_of)
def test_the_table_of_a_column_says_the_same_value_by_value(rows):
    release = opened_rows(rows)
    for value, leaves, shown, count in release.expected_counts("stay").iter_rows():
        assert leaves == len(WHOLE[value])
        assert shown == sum(stay == value for _, stay, _ in rows)
        assert count == pytest.approx(release.expected_count(stay=value))
    assert release.expected_counts("stay")["expected"][0] == pytest.approx(len(rows))
    plain = release.expected_counts("ill")
    assert plain["expected"].sum() == len(rows)
    assert plain.columns == ["value", "leaves", "shown", "expected"]


def test_a_value_that_no_label_places_needs_the_node_that_covers_it():
    frame = pl.DataFrame({"person": ["a", "b", "c"], "ill": ["acute", "acute", "*"]})
    tree = pl.DataFrame({"node": ["*", "acute"], "parent": ["", "*"], "leaves": [6, 4]})
    release = opened({"events": frame}, {"ill": tree})
    with pytest.raises(ParameterError, match="'flu' is not a node of its hierarchy, and no label says where"):
        release.expected_count(ill="flu")
    assert release.expected_count(ill="flu", under={"ill": "acute"}) == pytest.approx(2 / 4 + 0)
    assert release.expected_count(ill="acute") == pytest.approx(2 + 0)
    with pytest.raises(ParameterError, match="under must name a node of hierarchies/ill, got 'mild'"):
        release.expected_count(ill="flu", under={"ill": "mild"})


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda r: r.expected_count(), "needs a column and its value"),
        (lambda r: r.expected_count(ward="A"), "column 'ward' is not in the release"),
        (lambda r: r.expected_counts("ward"), "column 'ward' is not in the release"),
        (lambda r: r.expected_count(perso="A"), "; did you mean 'person'"),
        (lambda r: r.expected_count(ill="x", under={"ill": "y"}), "which has no hierarchy"),
    ],
)
def test_what_cannot_be_answered_is_refused_by_name(ask, words):
    with pytest.raises(ParameterError, match=words):
        ask(opened_rows([("a", "1", "x")]))


def test_records_and_values_apart_are_joined_by_group():
    records = pl.DataFrame(
        {"time": ["1"] * 5, "age": ["[0:4]", "1", "2", "7", "8"], "group": [1, 1, 1, 2, 2]}
    )
    values = pl.DataFrame({"group": [1, 1, 2], "ill": ["flu", "HIV", "flu"], "count": [2, 1, 2]})
    tree = tree_above(["[0:4]", "1", "2", "7", "8"])
    release = opened({"records": records, "values": values}, {"age": tree}, persons=None)
    assert release.expected_count(ill="flu") == pytest.approx(2 + 2)
    assert release.expected_count(ill="HIV", age="1") == pytest.approx(1 / 3)
    assert release.expected_count(ill="cold") == 0
    with pytest.raises(ParameterError, match="records without persons"):
        release.expected_count(ill="flu", persons=True)


REAL = {
    "hk_covid/enhanced_sur_covid_19_eng.csv.gz": (["Age", "Gender", "Classification*"], "Case status*"),
    "desynpuf/DE1_0_2008_Beneficiary_Summary_File_Sample_1.csv.gz": (
        ["SP_STATE_CODE", "BENE_RACE_CD", "BENE_SEX_IDENT_CD"],
        "SP_CNCR",
    ),
    "houston_crime/crime.csv.gz": (["beat", "offense", "month"], "day"),
}


@pytest.mark.real
@pytest.mark.parametrize("name", REAL)
def test_estimates_are_nearer_to_the_truth_than_an_even_share(shared_data, name):
    quasi, sensitive = REAL[name]
    frame = pl.read_csv(shared_data / name, infer_schema=False).head(4000).select(*quasi, sensitive)
    frame = frame.fill_null("?").with_columns(who=pl.int_range(pl.len()).cast(pl.String), n=1)
    schema = Schema(
        person="who",
        order="n",
        quasi=dict.fromkeys(quasi, Hierarchy.flat()),
        sensitive={sensitive: [frame[sensitive][0]]},
        alike="keep",
    )
    even, fitted = {}, {}
    for suppression in ("global", "local"):
        method = HALT(k=5, c=1, p=2, infeasible="drop", suppression=suppression)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SequesterWarning)
            release = method.apply(EventTable(frame, schema), seed="a sentence")
        found = opened({"events": release.frame}, release.hierarchies)
        errors = []
        for column in quasi:
            truth, cells = frame[column].to_list(), release.frame[column].to_list()
            stars = cells.count("*")
            nodes = release.hierarchies[column]
            for value in set(truth):
                share = cells.count(value) + stars / nodes["leaves"][0]
                covering = {} if value in nodes["node"] else {"under": {column: "*"}}
                estimate = found.expected_count({column: value}, **covering)
                errors.append(((share - truth.count(value)) ** 2, (estimate - truth.count(value)) ** 2))
        even[suppression], fitted[suppression] = (sum(each) for each in zip(*errors, strict=True))
    assert fitted["global"] < 0.9 * even["global"]
    # Few cells are suppressed one by one, most of them rare values, which an even share would hit better.
    assert fitted["local"] < 0.2 * fitted["global"]


def test_a_coarse_value_is_divided_by_what_is_shown_below_it():
    """Few are younger than ten, and an even share of all that is suppressed would make them many."""
    shown = ["[0:9]"] * 16 + ["[10:19]"] * 600 + ["*"] * 600
    tree = pl.DataFrame({"node": ["*", "[0:9]", "[10:19]"], "parent": ["", "*", "*"], "leaves": [20, 10, 10]})
    frame = pl.DataFrame({"person": [f"p{i}" for i in range(len(shown))], "age": shown})
    release = opened({"events": frame}, {"age": tree})
    assert release.expected_count(age="[0:9]") == pytest.approx(16 + 600 * 16.5 / 617)
    assert release.expected_count(age="3") == pytest.approx((16 + 600 * 16.5 / 617) / 10)


def test_the_estimate_is_that_of_the_query_measure(tmp_path):
    from sequester.utility import Query, QueryError

    frame = pl.DataFrame(
        {
            "who": [f"p{i // 2}" for i in range(24)],
            "n": [i % 2 for i in range(24)],
            "stay": [str(i % 6) for i in range(24)],
            "ill": ["flu", "cold", "HIV", "flu"] * 6,
        }
    )
    quasi = {"stay": Hierarchy.intervals([3, 6])}
    table = EventTable(frame, Schema(person="who", order="n", quasi=quasi, sensitive={"ill": ["HIV"]}))
    release = GloGen(k=5, c=0.9, p=1).apply(table, seed="a sentence nobody guesses")
    found = open_release(write(release, tmp_path / "out"))
    assert set(found.frame["stay"]) == {"[0:2]", "[3:5]"}
    for stay in ("2", "[0:2]", "*"):
        query = Query(({"stay": (stay,), "ill": ("flu",)},))
        theirs = QueryError(queries=[query]).expected(release.table, original=table)[0]
        assert found.expected_count(stay=stay, ill="flu", persons=True) == pytest.approx(theirs)


@pytest.mark.parametrize(
    ("node", "inside", "outside"),
    [
        ("[0:6]", ["0", "6", "3.5"], ["7", "-1", "x"]),
        ("[0:0.5)", ["0", "0.49"], ["0.5"]),
        ("<20", ["19", "-3"], ["20", "old"]),
        (">=80", ["80", "99.5"], ["79"]),
        ("56***", ["56001", "56", "561"], ["57001", "560011"]),
        ("2010", ["2010-05-01", "2010-12-31 10:00"], ["2011-01-01", "2010"]),
        ("2010-05", ["2010-05-01"], ["2010-06-01"]),
        ("2010-Q2", ["2010-04-01", "2010-06-30"], ["2010-07-01", "2010-03-31"]),
        ("[low:high]", [], ["3"]),
        ("acute", [], ["flu"]),
    ],
)
def test_labels_tell_what_they_cover(node, inside, outside):
    assert all(covers(node, value) for value in inside)
    assert not any(covers(node, value) for value in outside)


def test_the_finest_node_that_covers_a_value_counts():
    tree = tree_above(["[0:2]", "[0:4]"])
    found = node_probabilities(tree, "2", column="stay")
    assert found == pytest.approx({"*": 1 / 5, "[0:4]": 1 / 3, "[0:2]": 1 / 2})


def test_an_opened_release_shows_itself_and_escapes():
    release = opened_rows([("a", "1", "<i>x")])
    assert repr(release).splitlines()[0] == "Opened release: KCPPrivacy holds"
    html = release._repr_html_()
    assert "✓" in html
    assert "&lt;b&gt;limit" in html
    assert "<i>" not in html
    assert "<b>" not in html
