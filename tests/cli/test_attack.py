"""``sequester attack`` on releases of its own, and on one whose claim is too good."""

from __future__ import annotations

import json

import polars as pl
import pytest

import sequester as sq
from refusal_cases import TOML
from sequester.errors import InputError, SchemaError
from sequester.workflow.attack import attack_release
from verification.doctoring import replace_table

ROWS = ["news tech", "news tech", "news tech", "tech news", "tech news", "news"]


@pytest.fixture
def release(run, put_clicks, tmp_path):
    """A release of clicks; gives its folder."""
    put_clicks(*ROWS)
    assert run("protect", "release.toml", "--quick", "--seed", "kept in a safe place").code == 0
    return tmp_path / "out" / "release"


def test_no_attack_beats_the_release(run, release):
    found = run("attack", release, "--original", "release.toml", "--targets", "50", "--json", "--quiet")
    assert found.code == 0
    assert found.document["holds"]
    attacks = found.document["attacks"]
    assert {each["known"] for each in attacks} >= {1, 2, 3}
    assert all({"name", "kind", "known", "raw", "release", "control"} <= each.keys() for each in attacks)
    for each in attacks:
        for place in ("raw", "release", "control"):
            low, high = each[place]["interval"]
            assert 0 <= low <= each[place]["value"] <= high <= 1
    bounded = [each for each in attacks if each["bound"] is not None]
    assert {each["name"] for each in bounded} >= {"prosecutor", "unique"}


def test_the_lines_name_every_kind_on_demand(run, release):
    options = ("--original", "release.toml", "--known", "2", "--targets", "20", "--seed", "x")
    main, everything = run("attack", release, *options), run("attack", release, *options, "--all")
    assert main.code == everything.code == 0
    verdict, _, _, *rows, _, rest = main.out.splitlines()
    assert verdict.startswith("SequenceKAnonymity holds against these adversaries: ")
    assert verdict.endswith("none exceeds its bound")
    assert len(rows) <= 10
    assert "--all" in rest
    assert f"all {len(everything.out.splitlines()) - 3} risks" in rest
    assert "2 values, consecutive" in everything.out


def test_an_attack_that_beats_the_claim_exits_1(run, release):
    path = release / "certificate.json"
    document = json.loads(path.read_text())
    document["claim"]["parameters"]["k"] = 4
    path.write_text(json.dumps(document))
    found = run("attack", release, "--original", "release.toml", "--targets", "50", "--quiet")
    assert found.code == 1
    assert any("an attack beat the claim SequenceKAnonymity: " in line for line in found.errors)
    assert found.out.startswith("SequenceKAnonymity is broken: ")
    assert "25% exceeded" in found.out


def test_data_one_person_short_with_a_consistent_certificate_exits_1(run, release):
    """Files, hashes and counts agree, and the claim is broken all the same."""
    events = pl.read_parquet(release / "events.parquet")
    rows = events.group_by("person", maintain_order=True).agg("page")
    rare = rows.filter(pl.col("page").list.join(" ") == "tech news")["person"]
    assert len(rare) == 2
    short = events.filter(pl.col("person") != rare[0])
    replace_table(release, short)
    found = run("attack", release, "--original", "release.toml", "--targets", "60", "--json", "--quiet")
    assert found.code == 1
    assert not found.document["holds"]
    beaten = {
        (each["name"], each["kind"])
        for each in found.document["attacks"]
        if each["bound"] is not None and each["release"]["value"] > each["bound"]
    }
    assert ("unique", "ordered") in beaten
    assert any(
        "an attack beat the claim SequenceKAnonymity: unique (ordered)" in each for each in found.errors
    )


def test_persons_who_were_held_out_are_the_control(run, release, tmp_path):
    events = [(0, 0, "news"), (0, 1, "news"), (1, 0, "sport")]
    pl.DataFrame(events, schema=["user", "n", "page"], orient="row").write_csv(tmp_path / "others.csv")
    (tmp_path / "others.toml").write_text(TOML.replace("clicks.csv", "others.csv").split("[method]")[0])
    options = ("--known", "1", "--targets", "40", "--json", "--quiet")
    found = run("attack", release, "--original", "release.toml", "--held-out", "others.toml", *options)
    assert found.code == 0
    absence = {each["kind"]: each for each in found.document["attacks"] if each["name"] == "absence"}
    # One of the two reads what nobody of the release does.
    assert absence["ordered"]["control"]["value"] == 0.5
    assert absence["ordered"]["release"]["value"] == 0
    assert absence["ordered"]["control_of"] == "held out"


def test_trips_are_counted_by_person_where_it_is_known_whose_they_are(run, tmp_path):
    trips = [(user, trip, "ab") for user in "PQ" for trip in (1, 2)] + [
        ("P", trip, "c") for trip in (3, 4, 5)
    ]
    rows = [(user, trip, place, page) for user, trip, pages in trips for place, page in enumerate(pages)]
    pl.DataFrame(rows, schema=["user", "trip", "n", "page"], orient="row").write_csv(tmp_path / "clicks.csv")
    text = TOML.replace('order = "n"', 'order = "n"\ntrip = "trip"')
    (tmp_path / "release.toml").write_text(text + "pseudonyms = true\n")
    assert run("protect", "release.toml", "--quick", "--seed", "kept in a safe place", "--quiet").code == 0
    options = ("--original", "release.toml", "--known", "1", "--targets", "20", "--json", "--quiet")
    found = run("attack", "out/release", *options)
    assert found.code == 0
    assert found.warnings == []

    def of(document, place):
        named = {each["name"]: each for each in document["attacks"] if each["kind"] == "ordered"}
        return named["prosecutor"][place]["value"]

    # Only P takes the page c, on three trips; a and b are taken by two persons, on four.
    assert of(found.document, "raw") == 1
    assert of(found.document, "release") == 0.5
    (tmp_path / "out" / "internal" / "pseudonyms.parquet").unlink()
    found = run("attack", "out/release", *options)
    assert found.code == 0
    assert of(found.document, "release") == 0.25
    assert found.warnings == [
        "no pseudonyms.parquet was found, so released trips are counted, and not persons"
    ]


def test_an_original_of_other_persons_is_refused(run, release, tmp_path):
    pl.DataFrame({"user": [1], "n": [1], "page": ["sport"]}).write_csv(tmp_path / "clicks.csv")
    found = run("attack", release, "--original", "release.toml", "--quiet")
    assert found.code == 2
    (line,) = found.errors
    assert line.startswith("column 'page' of the release has 'news', 'tech', which the original has neither")
    few = {"user": [1, 1, 2, 2], "n": [1, 2, 1, 2], "page": ["news", "tech"] * 2}
    pl.DataFrame(few).write_csv(tmp_path / "clicks.csv")
    found = run("attack", release, "--original", "release.toml", "--quiet")
    assert found.code == 2
    assert "persons" in found.errors[0]


def test_fewer_targets_are_tried_on_much_data_and_that_is_said(run, release, monkeypatch):
    monkeypatch.setattr("sequester.workflow.attack.MOST_CELLS", 40)
    monkeypatch.setattr("sequester.workflow.attack.FEWEST_TARGETS", 1)
    options = ("attack", release, "--original", "release.toml", "--known", "1", "--json")
    few = run(*options)
    assert "targets are tried of each kind of knowledge, not 10,000" in few.err
    assert "--thorough tries more" in few.err
    all_of_them = run(*options, "--thorough")
    assert "targets are tried" not in all_of_them.err

    def most(found):
        return max(risk["targets"] for risk in found.document["attacks"] if risk["kind"] == "ordered")

    assert most(few) <= most(all_of_them)


@pytest.mark.parametrize("targets", ["0", "-1", "many"])
def test_targets_are_at_least_one(run, release, targets):
    found = run("attack", release, "--original", "release.toml", "--targets", targets)
    assert found.code == 2
    assert len(found.errors) == 1


@pytest.mark.parametrize("known", ["0", "3-1", "two", "1-11", ""])
def test_known_is_a_number_or_a_range(run, release, known):
    found = run("attack", release, "--original", "release.toml", "--known", known)
    assert found.code == 2
    assert "must be a number or a range such as 1-3, of 1 to 10" in found.errors[0]


def test_an_original_of_another_shape_is_refused(run, release, tmp_path):
    other = TOML.replace('[data.symbol]\ncolumn = "page"', '[data.quasi.page]\nhierarchy = { kind = "flat" }')
    (tmp_path / "other.toml").write_text(other.split("[method]")[0])
    found = run("attack", release, "--original", "other.toml")
    assert found.code == 2
    assert "the release and the original do not fit: one has a symbol per event" in found.errors[0]


def test_in_python(release, tmp_path):
    table = sq.read(tmp_path / "release.toml")
    made = sq.BFP2kA(k=2).apply(table)
    risks = sq.attack(made, original=table, known=(1,), targets=30)
    assert all(isinstance(risk, sq.Risk) and risk.is_within for risk in risks)
    with pytest.raises(SchemaError, match="original must be an EventTable, got DataFrame"):
        sq.attack(made, original=table.frame)
    with pytest.raises(InputError, match="certificate"):
        attack_release(tmp_path, original=tmp_path / "release.toml")
