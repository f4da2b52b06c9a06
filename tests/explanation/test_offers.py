"""A few persons and values that ruin a release are found, and the release is tried without them."""

from __future__ import annotations

import random
import tomllib

import polars as pl
import pytest

from sequester.cli import main
from sequester.data.persons import Persons
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import InputError, ignore_warning
from sequester.explanation import explain
from sequester.explanation.explain import find_suspects
from sequester.hierarchies import Hierarchy
from sequester.methods import GloGen
from sequester.workflow.config import Config
from sequester.workflow.protect import protect
from sequester.workflow.verify import verify_release

TOML = """
[data]
path = "data.csv"
person = "who"
order = "n"
[data.quasi.gender]
hierarchy = { kind = "flat" }
[data.quasi.age]
hierarchy = { kind = "flat" }
[data.sensitive.ill]
protect = ["HIV"]
[method]
name = "glogen"
k = 5
c = 1
p = 2
[release]
path = "out"
max_suppressed = 1.0
"""
SEED = "a sentence that nobody guesses"
ODD = (("F", "M"), ("Unknown", "F"), ("M", "F"), ("Invalid", "M"), ("M", "Unknown"))


@pytest.fixture
def frame():
    """Gender and age of 600 persons never change; of five, gender does, or nobody knows it."""
    draw = random.Random(3)
    rows = []
    for i in range(600):
        gender, age = draw.choice("FM"), draw.choice(["young", "middle", "old"])
        rows += [(f"p{i}", n, gender, age, draw.choice(["flu", "HIV"])) for n in range(1 + i % 3)]
    rows += [(f"x{i}", n, gender, "old", "flu") for i, own in enumerate(ODD) for n, gender in enumerate(own)]
    return pl.DataFrame(rows, schema=["who", "n", "gender", "age", "ill"], orient="row")


@pytest.fixture
def table(frame):
    quasi = {"gender": Hierarchy.flat(), "age": Hierarchy.flat()}
    return EventTable(frame, Schema(person="who", order="n", quasi=quasi, sensitive={"ill": ["HIV"]}))


def test_who_has_rare_values_or_changes_what_nobody_changes_is_found(table):
    (found,) = find_suspects(table, 5)
    assert found.column == "gender"
    assert table.persons.filter(pl.Series(found.persons)).to_list() == ["x0", "x1", "x2", "x3", "x4"]
    assert (found.rare, found.changing) == (("Invalid", "Unknown"), True)


def test_nothing_is_offered_where_everybody_is_alike(table):
    plain = table.take(table.persons.str.starts_with("p").to_numpy())
    assert list(find_suspects(plain, 5)) == []
    method = GloGen(k=5, c=1, p=2)
    assert explain(method.apply(plain, seed=SEED), original=plain, method=method).offers == ()


def test_offers_are_tried_with_the_loss_that_they_give(table):
    method = GloGen(k=5, c=1, p=2)
    release = method.apply(table, seed=SEED, warn=ignore_warning)
    found = explain(release, original=table, method=method)
    first = found.offers[0]
    assert (first.kind, first.persons) == ("leave out", ("x0", "x1", "x2", "x3", "x4"))
    assert first.loss_before == pytest.approx(release.utility["information_loss"].value)
    kept = ~table.persons.is_in(["x0", "x1", "x2", "x3", "x4"]).to_numpy()
    alone = method.apply(table.take(kept), seed=SEED, warn=ignore_warning)
    assert first.loss == pytest.approx(alone.utility["information_loss"].value)
    assert first.loss < 0.5 * first.loss_before
    assert "repair" in {offer.kind for offer in found.offers}
    assert found.leave_out == first.persons


def test_the_file_is_ready_to_use(frame, tmp_path):
    frame.write_csv(tmp_path / "data.csv")
    config = tmp_path / "release.toml"
    config.write_text(TOML)
    first = protect(config, seed=SEED)
    assert (first.written.internal / "leave-out.csv").read_text() == "person\nx0\nx1\nx2\nx3\nx4\n"
    config.write_text(f'{TOML}leave_out = "out/internal/leave-out.csv"\n')
    second = protect(config, seed=SEED, force=True)
    assert "5 persons stay out, as [release] leave_out asks" in second.warnings
    assert second.release.n_input_persons == 600
    assert second.summary.price.value < first.summary.price.value
    assert verify_release(second.written.path, original=config)
    # The list stays where the configuration names it, and the run can be repeated from what is kept.
    assert (second.written.internal / "leave-out.csv").read_text().count("x") == 5
    assert Config.load(second.written.internal / "release.toml").table(lambda *_: None).n_persons == 600


def test_the_terminal_names_the_file_as_seen_from_the_configuration(frame, tmp_path, capsys):
    frame.write_csv(tmp_path / "data.csv")
    config = tmp_path / "release.toml"
    config.write_text(TOML)
    assert main(["protect", str(config), "--seed", SEED, "--quiet"]) == 0
    line = next(each for each in capsys.readouterr().out.splitlines() if each.startswith("would keep more"))
    named = tomllib.loads(line.rpartition("; ")[2])["leave_out"]
    assert (tmp_path / named).read_text().startswith("person\nx0\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("person\nnobody\n", "names 'nobody', who is not in the data"),
        ("who\nx0\n", "needs a column person, got who"),
    ],
)
def test_a_list_that_does_not_fit_is_refused(frame, tmp_path, text, words):
    frame.write_csv(tmp_path / "data.csv")
    (tmp_path / "out.csv").write_text(text)
    (tmp_path / "release.toml").write_text(f'{TOML}leave_out = "out.csv"\n')
    with pytest.raises(InputError, match=words):
        Config.load(tmp_path / "release.toml").table()


def test_persons_attributes_are_looked_at_apart_from_events(frame):
    events = frame.select("who", "n", "age", "ill")
    persons = Persons(
        frame.unique("who", keep="first").select("who", "gender"), quasi={"gender": Hierarchy.flat()}
    )
    schema = Schema(person="who", order="n", quasi={"age": Hierarchy.flat()}, sensitive={"ill": ["HIV"]})
    (found,) = find_suspects(EventTable(events, schema, persons).histories, 5)
    assert (found.column, found.rare, found.changing) == ("gender", ("Invalid", "Unknown"), False)
