"""Labels that look alike: what inspect, init, protect and stream say of them, and with which exit code."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import polars as pl
import pytest

from sequester.errors import InputError
from sequester.workflow.config import Config
from sequester.workflow.follow import follow
from sequester.workflow.protect import sample_share

HEAD = "PID,VID,ZIP,Disease\n"
VISITS = HEAD + "".join(
    f"{who},{n},5600{n},{ill}\n"
    for who, n, ill in [
        ("Ann", 1, "HIV"),
        ("ann ", 2, "flu"),
        ("ann", 3, "flu"),
        ("Bob", 1, "HIV "),
        ("Bob", 2, "hiv"),
        *((f"p{i}", n, "flu") for i in range(8) for n in (1, 2, 3)),
    ]
)
TOML = """
[data]
path = "visits.csv"
person = "PID"
order = "VID"
{alike}
[data.quasi.ZIP]
hierarchy = {{ kind = "mask", levels = [3, 1] }}
[data.sensitive.Disease]
protect = ["HIV"]

[method]
name = "halt"
k = 2
c = 0.9
p = 1

[release]
path = "out"
"""


@pytest.fixture
def put(tmp_path):
    def put(alike="", data=VISITS):
        (tmp_path / "visits.csv").write_text(data, encoding="utf-8")
        line = f'alike = "{alike}"' if alike else ""
        (tmp_path / "release.toml").write_text(TOML.format(alike=line), encoding="utf-8")
        return tmp_path

    return put


@pytest.mark.parametrize("command", [("protect",), ("protect", "--dry-run"), ("compare", "--set", "k=2,3")])
def test_what_publishes_stops_and_names_persons_and_protected_values(put, run, command):
    folder = put()
    name, *options = command
    ran = run(name, "release.toml", "--quiet", *options)
    assert ran.code == 2
    persons, values = ran.errors
    assert persons.startswith(
        "column 'PID': 3 persons look alike and may be 1: 'Ann' (1), 'ann' (1), 'ann ' (1)"
    )
    assert persons.endswith("(3 rows: 1, 2, 3)")
    assert values.startswith("column 'Disease': 3 labels look alike")
    assert values.endswith("(3 rows: 1, 4, 5)")
    assert all('alike = "merge"' in line and 'alike = "keep"' in line for line in ran.errors)
    assert "Traceback" not in ran.err
    assert not (folder / "out").exists()


def test_inspect_names_them_and_goes_on(put, run):
    put()
    ran = run("inspect", "release.toml", "--json")
    assert ran.code == 0
    problems = [each for each in ran.document["problems"] if "look alike" in each["what"]]
    assert [(each["count"], each["rows"], each["severity"]) for each in problems] == [
        (3, [1, 2, 3], "error"),
        (3, [1, 4, 5], "error"),
    ]
    assert "error: column 'PID': 3 persons look alike" in run("inspect", "release.toml").out


def test_merged(put, run):
    folder = put("merge")
    ran = run("protect", "release.toml", "--json", "--quick")
    assert ran.code == 0
    assert ran.document["persons"]["input"] == 10
    assert [line for line in ran.document["warnings"] if "merged" in line]
    released = pl.read_csv(folder / "out/release/events.csv")
    assert set(released["Disease"]) == {"HIV", "flu"}
    assert tomllib.loads((folder / "out/internal/release.toml").read_text())["data"]["alike"] == "merge"
    assert run("verify", "out/release", "--original", "release.toml").code == 0
    text = "".join(path.read_text(errors="ignore") for path in (folder / "out/release").glob("*.*"))
    assert "hiv" not in text
    assert "ann" not in json.loads((folder / "out/release/certificate.json").read_text())["limits"]


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_a_dry_run_tries_persons_with_all_of_their_rows(put, share):
    config = Config.load(put("merge") / "release.toml")
    part = sample_share(config.table(), share)
    whole = dict(zip(config.table().persons, np.diff(config.table().person_offsets), strict=True))
    assert part.n_persons == round(share * 10)
    assert dict(zip(part.persons, np.diff(part.person_offsets), strict=True)).items() <= whole.items()


TREE = 'hierarchy = { kind = "tree", tree = { low = ["1", "2"], high = ["3"] } }\nnever_suppress = ["01"]'


@pytest.mark.parametrize(("alike", "code"), [("", 2), ("merge", 0), ("keep", 2)])
def test_the_linter_takes_values_for_leaves_where_they_are_merged(put, run, alike, code):
    folder = put(alike, data=VISITS.replace("5600", "0"))
    config = folder / "release.toml"
    config.write_text(config.read_text().replace('hierarchy = { kind = "mask", levels = [3, 1] }', TREE))
    ran = run("hierarchy", "lint", "release.toml", "--json")
    assert ran.code == (1 if code else 0)
    assert run("protect", "release.toml", "--quiet", "--quick").code == code


def test_kept_apart_is_a_limit_without_a_label(put, run):
    folder = put("keep")
    ran = run("protect", "release.toml", "--quiet", "--quick")
    assert ran.code == 0
    assert [line for line in ran.warnings if "kept apart" in line]
    limits = json.loads((folder / "out/release/certificate.json").read_text())["limits"]
    assert [line for line in limits if line.startswith("Some labels that look alike were kept apart")]
    assert not [line for line in limits if "HIV" in line or "Ann" in line]


def test_refuse_refuses_every_twin(put, run):
    data = VISITS.replace("Ann,", "a,").replace("ann ,", "b,").replace("ann,", "c,")
    data = data.replace("HIV ", "flu").replace("hiv", "flu").replace("56002", "056001")
    put(data=data)
    ran = run("protect", "release.toml", "--quiet", "--quick")
    assert ran.code == 0
    assert [line for line in ran.warnings if line.startswith("column 'ZIP': 2 labels look alike")]
    put("refuse", data=data)
    ran = run("protect", "release.toml", "--quiet", "--quick", "--force")
    assert ran.code == 2
    assert [line.split(":")[0] for line in ran.errors] == ["column 'ZIP'"]


def test_another_word_is_refused(put, run):
    put("both")
    ran = run("protect", "release.toml", "--quiet")
    assert ran.code == 2
    assert "data.alike must be" in ran.errors[0]
    assert '"both"' in ran.errors[0]


def test_init_names_them_and_proposes_what_to_do(put, run):
    folder = put()
    ran = run("init", "visits.csv", "--out", "draft.toml", "--person", "PID")
    assert ran.code == 0
    assert [line for line in ran.warnings if line.startswith("column 'PID': 3 persons look alike")]
    text = (folder / "draft.toml").read_text()
    assert '\n# alike = "merge"' in text
    assert "'Ann' (1), 'ann' (1), 'ann ' (1)" in text
    assert "alike" not in tomllib.loads(text)["data"]
    document = run(
        "init", "visits.csv", "--out", "draft.toml", "--person", "PID", "--force", "--json"
    ).document
    assert [line for line in document["doubts"] if "'HIV ' (1)" in line]


def test_without_twins_init_says_nothing(put, run):
    data = (
        VISITS.replace("ann ,", "ann,").replace("Ann,", "ann,").replace("HIV ", "HIV").replace("hiv", "HIV")
    )
    folder = put(data=data)
    run("init", "visits.csv", "--out", "draft.toml", "--person", "PID")
    assert "alike" not in (folder / "draft.toml").read_text()


PH = """
[data]
path = "clicks.csv"
person = "user"
order = "n"
{alike}
[data.symbol]
column = "page"

[method]
name = "ph"
patterns = [["HIV", "clinic"]]
min_support = 2

[release]
path = "out"
"""


def test_a_pattern_whose_twin_is_in_the_data(tmp_path, run):
    rows = [f"u{i},{n},{page}" for i in range(6) for n, page in enumerate(["news", "hiv", "clinic"])]
    (tmp_path / "clicks.csv").write_text("user,n,page\n" + "\n".join(rows) + "\n")
    (tmp_path / "release.toml").write_text(PH.format(alike=""))
    ran = run("protect", "release.toml", "--quiet")
    assert ran.code == 2
    assert "'hiv' (6), 'HIV' (0)" in ran.errors[0]
    (tmp_path / "release.toml").write_text(PH.format(alike='alike = "merge"'))
    assert run("protect", "release.toml", "--quiet", "--quick").code == 0
    released = pl.read_csv(tmp_path / "out/release/events.csv")
    assert "hiv" not in set(released["page"])
    assert run("verify", "out/release", "--original", "release.toml").code == 0


FOLLOW = """
[data]
path = "none.csv"
person = "user"
order = "n"
{alike}
[data.symbol]
column = "page"
hierarchy = {{ kind = "tree", tree = {{ Drinks = {drinks}, Snacks = ["Chips"] }} }}

[method]
name = "top-down"
patterns = [["Beer", "Chips"]]
window = 1
max_leakage_bits = 0.6
"""


def test_follow_merges_symbols_into_leaves_and_refuses_leaves_that_look_like_an_item(tmp_path):
    path = tmp_path / "release.toml"
    out: list[str] = []
    path.write_text(FOLLOW.format(alike='alike = "merge"', drinks='["Beer", "Milk"]'))
    assert follow(path, [b'"beer "\n', b'"MILK"\n'], out.append).n_symbols == 2
    path.write_text(FOLLOW.format(alike="", drinks='["Beer", "Milk"]'))
    with pytest.raises(InputError, match="is not a leaf of the taxonomy"):
        follow(path, [b'"beer "\n'], out.append)
    path.write_text(FOLLOW.format(alike="", drinks='["Beer", "beer"]'))
    with pytest.raises(InputError, match="labels look alike: 'Beer', 'beer'"):
        follow(path, [b'"Beer"\n'], out.append)


STREAM = """
[data]
person = "PID"
order = "day"
{alike}
[data.quasi.ZIP]
hierarchy = {{ kind = "flat" }}
[data.sensitive.ill]
protect = "all"

[method]
name = "reposition"
l = 2
window = 2
snapshot = "order"
"""


@pytest.mark.parametrize("alike", ["", "merge", "keep"])
def test_a_stream_sees_values_that_look_like_those_of_earlier_files(tmp_path, run, alike):
    (tmp_path / "in").mkdir()
    for day, ills in enumerate([["HIV", "flu", "gout"], ["hiv", "flu", "gout"], ["flu", "gout", "HIV"]]):
        rows = [f"{'PpQ'[day]}{n},{day},z,{ill}" for n, ill in enumerate(ills)]
        (tmp_path / "in" / f"{day}.csv").write_text("PID,day,ZIP,ill\n" + "\n".join(rows) + "\n")
    line = f'alike = "{alike}"' if alike else ""
    (tmp_path / "release.toml").write_text(STREAM.format(alike=line))
    ran = run(
        "stream", "release.toml", "--in", "in", "--out", "out", "--state", "state", "--finish", "--json"
    )
    document = json.loads(ran.out)
    if not alike:
        (rejected,) = document["rejected"]
        assert rejected["name"] == "1.csv"
        assert "'hiv' looks like 'HIV'" in rejected["reasons"][0]
        return
    assert document["rejected"] == []
    values = set()
    for path in (tmp_path / "out").glob("*.csv"):
        frame = pl.read_csv(path)
        values |= set(frame["ill"]) if "ill" in frame.columns else set()
    assert ("hiv" in values) == (alike == "keep")
    # Under another spelling, a person is somebody else unless labels are merged.
    assert document["repeated_persons"] == (3 if alike == "merge" else 0)


def test_a_file_of_a_stream_with_persons_that_look_alike_is_not_taken(tmp_path, run):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("PID,day,ZIP,ill\nAnn,1,z,flu\nann,1,z,gout\nBob,1,z,HIV\n")
    (tmp_path / "release.toml").write_text(STREAM.format(alike=""))
    ran = run(
        "stream", "release.toml", "--in", "in", "--out", "out", "--state", "state", "--finish", "--json"
    )
    (rejected,) = json.loads(ran.out)["rejected"]
    assert "2 persons look alike" in rejected["reasons"][0]
