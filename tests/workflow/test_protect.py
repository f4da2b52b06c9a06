"""A release is audited before it is written: what adversaries achieve, and why data was changed."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sequester.attacks.risk import Risks
from sequester.data import table as table_module
from sequester.errors import InputError, UnattainableError
from sequester.workflow.attack import attack
from sequester.workflow.protect import dry_run, protect
from sequester.workflow.run import RunContext

TOML = """
[data]
path = "clicks.csv"
person = "user"
order = "n"
[data.symbol]
column = "page"
[method]
name = "p2ka"
k = 3
[release]
path = "out"
max_suppressed = 0.9
"""
ROWS = ["ab", "ab", "ab", "abc", "abc", "cab", "b", "b", "ca"]


@pytest.fixture
def config(tmp_path):
    lines = [f"u{who},{n},{page}\n" for who, row in enumerate(ROWS) for n, page in enumerate(row)]
    (tmp_path / "clicks.csv").write_text("user,n,page\n" + "".join(lines))
    (tmp_path / "release.toml").write_text(TOML)
    return tmp_path / "release.toml"


def document(done):
    return json.loads((done.written.internal / "report.json").read_text())


def test_attacks_reasons_and_timings_are_in_the_internal_report(config):
    phases = []
    done = protect(config, run=RunContext(progress=lambda _, phase: phases.append(phase)))
    found = document(done)
    assert [risk.to_json() for risk in done.audit.risks] == found["attacks"]
    assert any(risk["bound"] is not None for risk in found["attacks"])
    assert found["explanation"] == json.loads(json.dumps(done.audit.explanation.to_json()))
    assert found["explanation"]["reasons"]
    assert {"reading", "attacking", "explaining"} <= {each["name"] for each in found["timings"]["phases"]}
    assert found["timings"]["peak_bytes"] > 10_000_000
    assert "attacking" in phases
    page = (done.written.internal / "report.html").read_text()
    for words in ("Three risks", "What was changed, and why", "before this page was drawn"):
        assert words in page
    assert done.to_json()["attacks"]["tried"] == len(found["attacks"])


P2KA = 'name = "p2ka"\nk = 3'
SYMBOL = '[data.symbol]\ncolumn = "page"'
HISTORIES = TOML.replace(SYMBOL, '[data.quasi.page]\nhierarchy = { kind = "flat" }').replace(
    P2KA, 'name = "halt"\nk = 2\nc = 1\np = 1'
)
RECORDS = TOML.replace(SYMBOL, '[data.sensitive.page]\nprotect = "all"').replace(
    P2KA, 'name = "reposition"\nl = 2\nsnapshot = "order"\nthen = "none"'
)
PLACES = """
[data]
path = "points.csv"
person = "user"
time = "at"
[data.place]
lat = "lat"
lon = "lon"
regions = { kind = "grid", cell = 2000 }
[method]
name = "p2ka"
k = 2
[release]
path = "out"
max_suppressed = 1.0
"""


@pytest.mark.parametrize(
    ("toml", "expected"),
    [(TOML, 3), (HISTORIES, 3), (PLACES, 3), (RECORDS, 1)],
    ids=["p2ka", "halt", "places", "records"],
)
def test_the_input_and_the_release_are_sorted_once_and_verify_alone_reads_again(
    config, monkeypatch, toml, expected
):
    points = [f"u{who},2024-05-01T1{n}:00,47.{n}{who % 2},8.5\n" for who in range(6) for n in range(4)]
    (config.parent / "points.csv").write_text("user,at,lat,lon\n" + "".join(points))
    config.write_text(toml)
    calls = []

    def counting(source, schema):
        calls.append(schema)
        return prepare(source, schema)

    prepare = table_module.prepare
    monkeypatch.setattr(table_module, "prepare", counting)
    protect(config)
    # The input, the release, and the files that were written; records are no histories.
    assert len(calls) == expected


def test_nothing_of_it_is_in_the_release(config):
    done = protect(config)
    for path in done.written.path.rglob("*"):
        if path.suffix in (".html", ".json"):
            text = path.read_text()
            for words in (
                "Simulated adversaries",
                "attacks",
                "relax",
                "seconds",
                "peak",
                "u0,",
                "Risk before",
            ):
                assert words not in text, (path.name, words)


def test_a_quick_run_has_neither_and_says_so(config):
    done = protect(config, quick=True)
    found = document(done)
    assert (found["attacks"], found["explanation"]) == ([], None)
    assert "Attacks and reasons were left out" in (done.written.internal / "report.html").read_text()


def test_what_is_released_is_the_same_whether_it_was_audited_or_not(config, tmp_path):
    contents = []
    for quick in (True, False):
        out = tmp_path / f"quick-{quick}"
        done = protect(config, out=out, seed="a sentence nobody guesses", quick=quick)
        contents.append(
            {path.name: path.read_bytes() for path in done.written.path.iterdir() if path.is_file()}
        )
    assert contents[0] == contents[1]


def test_a_release_that_an_adversary_beats_is_not_written(config, monkeypatch):
    def beaten(*args, **options):
        found = attack(*args, **options)
        return Risks([replace(risk, bound=risk.value / 2) for risk in found if risk.value])

    monkeypatch.setattr("sequester.workflow.protect.attack", beaten)
    with pytest.raises(UnattainableError, match="an attack achieved more than SequenceKAnonymity promises"):
        protect(config)
    assert not (config.parent / "out").exists()


def test_where_nobody_can_attack_the_report_says_why(config, monkeypatch):
    def nobody(*args, **options):
        msg = "there is nobody in it to look for"
        raise InputError(msg)

    monkeypatch.setattr("sequester.workflow.protect.attack", nobody)
    done = protect(config)
    page = (done.written.internal / "report.html").read_text()
    assert "No attack was tried: there is nobody in it to look for" in page


TIES_TOML = """
[data]
path = "d.csv"
person = "u"
order = "t"
symbol = { column = "s" }
[method]
name = "p2ka"
k = 2
[release]
path = "out"
"""


@pytest.mark.parametrize("job", [protect, dry_run])
def test_ties_are_told(tmp_path, job):
    (tmp_path / "d.csv").write_text("u,t,s\n1,1,a\n1,1,b\n2,1,a\n2,1,b\n")
    (tmp_path / "release.toml").write_text(TIES_TOML)
    told = []
    done = job(tmp_path / "release.toml", run=RunContext(warn=told.append))
    line = "column 't': events of a person at the same time stay in file order (4 rows: 1, 2, 3, 4)"
    assert line in told
    assert line in done.to_json()["warnings"]


def test_recipients_are_told_about_the_data(config):
    said = 'title = "Clicks of a week"\npublisher = "A newspaper"\n'
    said += 'licence = "CC-BY-4.0"\ncreated = "2026-11-17"\n'
    described = '[data.columns.page]\ndescription = "The page that was read"\n'
    config.write_text(config.read_text().rstrip() + "\n" + said + described)
    done = protect(config, quick=True)
    about = json.loads((done.written.path / "certificate.json").read_text())["about"]
    assert about == {
        "title": "Clicks of a week",
        "publisher": "A newspaper",
        "licence": "CC-BY-4.0",
        "created": "2026-11-17",
        "columns": {"page": "The page that was read"},
    }
    page = (done.written.path / "report.html").read_text()
    for words in ("Clicks of a week", "A newspaper", "The page that was read", "pip install sequester"):
        assert words in page


def test_a_description_of_no_column_is_refused(config):
    config.write_text(config.read_text() + '[data.columns.pgae]\ndescription = "x"\n')
    with pytest.raises(InputError, match=r"data\.columns\.pgae describes no column that has a role"):
        protect(config, quick=True)
