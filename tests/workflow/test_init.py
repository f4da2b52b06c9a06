"""A drafted configuration, letter by letter, and where it finds its data."""

from __future__ import annotations

import os
import re
import tomllib
import warnings
from pathlib import Path

import polars as pl
import pytest

from named_sensitive import with_sensitive_named
from sequester.datasets import DATASETS, PAPERS, make
from sequester.errors import InputError, SequesterWarning
from sequester.methods import METHODS
from sequester.workflow.config import Config
from sequester.workflow.draft.columns import SAMPLE
from sequester.workflow.init import DataFile, init

CLICKS = "user,at,page\na,2024-05-14T07:41:20,news\na,2024-05-14T07:41:32,tech\nb,2024-05-14T14:50:30,news\n"
PAGE = (Path(__file__).parents[2] / "docs" / "commands" / "init.md").read_text(encoding="utf-8")
VISITS, DRAFT_OF_VISITS = (
    re.search(rf"^```{language}\n({start}.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[1]
    for language, start in (("text", "case_id"), ("toml", "# Drafted"))
)
HEAD = """\
# Every line is a guess with its reason above or beside it. Read them all: a wrong role can expose
# people. `sequester inspect` lists problems of the data and its re-identification risk today.
"""
DRAFT_OF_CLICKS = f"""\
# Drafted by sequester init for clicks.csv from its 3 rows.
{HEAD}
[data]
path = "clicks.csv"
# who: named like persons; 2 distinct values, 1.5 rows each
person = "user"
# when: all values are ISO 8601; 2024-05-14 to 2024-05-14
time = "at"

# what: the only thing that is known of an event; 2 distinct values
[data.symbol]
column = "page"

# How to protect it; `sequester advise` tries what fits.
#[method]
#name = "p2ka"
#k = 10

[release]
path = "out"
"""


def drafted(folder, name, content):
    (folder / name).write_text(content, encoding="utf-8")
    proposed = init(folder / name, folder / "release.toml")
    proposed.write()
    return (folder / "release.toml").read_text(encoding="utf-8")


def loaded(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        return Config.load(path).table()


def test_symbols_letter_by_letter(tmp_path):
    assert drafted(tmp_path, "clicks.csv", CLICKS) == DRAFT_OF_CLICKS
    assert loaded(tmp_path / "release.toml").n_persons == 2


def test_visits_letter_by_letter_as_on_the_page(tmp_path):
    text = drafted(tmp_path, "visits.csv", VISITS)
    assert text.startswith(DRAFT_OF_VISITS)
    assert loaded(tmp_path / "release.toml").n_events == 4
    (tmp_path / "release.toml").write_text(with_sensitive_named(text))
    assert loaded(tmp_path / "release.toml").protected == {"Disease": frozenset({"flu", "HIV", "cancer"})}


def test_the_time_can_be_released_by_taking_the_mark_off(tmp_path):
    text = drafted(tmp_path, "visits.csv", VISITS)
    (tmp_path / "release.toml").write_text(
        text.replace("#[data.quasi.adm", "[data.quasi.adm").replace("#hier", "hier")
    )
    assert loaded(tmp_path / "release.toml").hierarchies["admitted"].level_labels(1) == ("2009-02", "2009-03")


def test_the_method_that_is_suggested_exists_and_is_accepted(tmp_path):
    text = drafted(tmp_path, "clicks.csv", CLICKS)
    (tmp_path / "release.toml").write_text(
        text.replace("#[method]\n#name", "[method]\nname").replace("#k =", "k =")
    )
    assert Config.load(tmp_path / "release.toml").method().name in METHODS


@pytest.mark.parametrize("name", DATASETS)
def test_every_invented_data_set_is_accepted(name, tmp_path):
    persons = None if name in PAPERS else min(DATASETS[name].persons, 60)
    frame = make(name, persons=persons)
    frame.write_parquet(tmp_path / "data.parquet")
    proposed = init(tmp_path / "data.parquet", tmp_path / "release.toml")
    proposed.write()
    assert proposed.draft.person.column == DATASETS[name].columns[0]
    text = (tmp_path / "release.toml").read_text(encoding="utf-8")
    for content in (text, with_sensitive_named(text)):
        (tmp_path / "release.toml").write_text(content, encoding="utf-8")
        table = loaded(tmp_path / "release.toml")
        assert table.n_owners == frame[DATASETS[name].columns[0]].n_unique()


@pytest.mark.parametrize(
    ("data", "out", "path"),
    [
        ("clicks.csv", "release.toml", "clicks.csv"),
        ("in/clicks.csv", "release.toml", "in/clicks.csv"),
        ("in/clicks.csv", "conf/a.toml", "../in/clicks.csv"),
        ("mit Leerzeichen 数据/cli\"cks'.csv", "release.toml", "mit Leerzeichen 数据/cli\"cks'.csv"),
    ],
)
def test_the_data_is_named_as_seen_from_the_configuration(data, out, path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(data).parent.mkdir(exist_ok=True)
    Path(data).write_text(CLICKS)
    init(data, out).write()
    assert tomllib.loads(Path(out).read_text(encoding="utf-8"))["data"]["path"] == path
    assert loaded(out).n_events == 3


def test_a_link_keeps_its_name_because_that_tells_the_format(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "0815").write_text(CLICKS)
    (tmp_path / "clicks.csv").symlink_to(tmp_path / "store" / "0815")
    (tmp_path / "elsewhere").symlink_to(tmp_path / "store", target_is_directory=True)
    init(tmp_path / "clicks.csv", tmp_path / "elsewhere" / "release.toml").write()
    assert 'path = "../clicks.csv"' in (tmp_path / "store" / "release.toml").read_text()
    assert loaded(tmp_path / "elsewhere" / "release.toml").n_events == 3


def test_a_name_that_is_no_text_is_refused(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.csv")
    try:
        Path(path).write_text(CLICKS)
    except OSError:
        pytest.skip("this file system has no such names")
    with pytest.raises(InputError, match="the name is not UTF-8"):
        init(path, tmp_path / "release.toml")


def test_how_the_file_is_read_is_written_down(tmp_path):
    (tmp_path / "clicks.dat").write_text("user:n:seite\na:1:café\na:2:x\nb:1:x\n", encoding="latin-1")
    data = DataFile(str(tmp_path / "clicks.dat"), format="csv", delimiter=":", encoding="latin-1")
    init(data, tmp_path / "release.toml").write()
    data = tomllib.loads((tmp_path / "release.toml").read_text(encoding="utf-8"))["data"]
    assert (data["format"], data["delimiter"], data["encoding"]) == ("csv", ":", "latin-1")
    assert loaded(tmp_path / "release.toml").labels["seite"] == ["café", "x"]


def test_text_that_looks_like_spmf_is_read_as_that(tmp_path):
    data = tmp_path / "sequences.txt"
    data.write_text("1 -1 2 -1 -2\n2 -1 3 -1 -2\n", encoding="utf-8")
    proposed = init(data, tmp_path / "release.toml")
    proposed.write()
    text = (tmp_path / "release.toml").read_text(encoding="utf-8")
    assert 'path = "sequences.txt"\nformat = "spmf"\n' in text
    assert Config.load(tmp_path / "release.toml").table().n_persons == 2


def test_a_long_file_says_how_much_was_looked_at(tmp_path):
    rows = SAMPLE + 10
    odd = ["7"] * SAMPLE + ["x"] * 10
    frame = pl.DataFrame(
        {
            "user": [f"u{i // 5}" for i in range(rows)],
            "n": [i % 5 for i in range(rows)],
            "late": odd,
            "page": ["a", "b"] * (rows // 2),
        }
    )
    frame.write_parquet(tmp_path / "d.parquet")
    init(tmp_path / "d.parquet", tmp_path / "release.toml").write()
    text = (tmp_path / "release.toml").read_text()
    assert "from the first 100,000 of its 100,010 rows; counts are of all." in text
    assert "# 2 distinct values; categories such as '7', 'x'" in text
    assert loaded(tmp_path / "release.toml").n_events == rows


def test_an_existing_file_stays(tmp_path):
    (tmp_path / "clicks.csv").write_text(CLICKS)
    (tmp_path / "release.toml").write_text("mine")
    with pytest.raises(InputError, match="exists already; --force replaces it"):
        init(tmp_path / "clicks.csv", tmp_path / "release.toml")
    proposed = init(tmp_path / "clicks.csv", tmp_path / "release.toml", force=True)
    assert (tmp_path / "release.toml").read_text() == "mine"
    proposed.write()
    assert (tmp_path / "release.toml").read_text() == DRAFT_OF_CLICKS
