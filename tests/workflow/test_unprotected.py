"""Kept columns that single persons out need consent; unprotected sensitive values are warned of."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from sequester.errors import InputError
from sequester.workflow import protect as module
from sequester.workflow.inspect import inspect_config
from sequester.workflow.protect import dry_run, protect

KEPT = [f"kept{number}" for number in range(10)]
METHODS = {
    "halt": "k = 3\nc = 0.9\np = 2",
    "glogen": "k = 3\nc = 0.9\np = 1",
    "cblda": "k = 3\nc = 0.9",
    "cblda-baseline": "k = 3\nc = 0.9",
}


def encounters(persons: int = 80) -> pl.DataFrame:
    """Make encounters as hospitals have them: age, stay, three diagnoses, and ten counts nobody thinks of."""
    rng = np.random.default_rng(7)
    who = np.sort(np.concatenate([np.arange(persons), rng.integers(0, persons, persons)]))
    size = len(who)
    codes = np.array([f"D{number}" for number in range(60)] + ["HIV"])
    return pl.DataFrame(
        {
            "patient": who,
            "n": np.arange(size),
            "age": rng.integers(0, 3, size),
            "diagnosis": codes[rng.integers(0, len(codes), size)],
            **{name: rng.integers(0, 4, size) for name in KEPT},
        }
    )


def write(folder, frame, *, method="halt", keep=tuple(KEPT), more="", sensitive='protect = ["HIV"]'):
    frame.write_csv(folder / "visits.csv")
    drop = [name for name in frame.columns if name in KEPT and name not in keep]
    (folder / "release.toml").write_text(
        f"""
[data]
path = "visits.csv"
person = "patient"
order = "n"
keep = {json.dumps(list(keep))}
drop = {json.dumps(drop)}
[data.quasi.age]
hierarchy = {{ kind = "flat" }}
[data.sensitive.diagnosis]
{sensitive}
[method]
name = "{method}"
{METHODS[method]}
[release]
path = "out"
{more}
"""
    )
    return folder / "release.toml"


@pytest.mark.parametrize("method", METHODS)
def test_kept_columns_that_single_out_need_consent(tmp_path, method):
    config = write(tmp_path, encounters(), method=method)
    for run in (protect, dry_run):
        with pytest.raises(
            InputError, match=r"kept columns alone single out 100%.*most of it by kept"
        ) as found:
            run(config)
        assert "accept_unprotected = true" in str(found.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("method", METHODS)
def test_with_consent_the_figures_are_everywhere(tmp_path, method):
    config = write(tmp_path, encounters(), method=method, more="accept_unprotected = true")
    done = protect(config, quick=True)
    assert any("kept columns alone single out 100%" in line for line in done.warnings)
    assert any("unprotected values of diagnosis alone single out" in line for line in done.warnings)
    found = done.to_json()["singled_out"]
    assert found["kept"] == found["released"] == 1.0
    assert 0 < found["sensitive"] <= 1
    assert found["kept_columns"] == KEPT
    for folder, later in ((done.written.path, 'class="numbers"'), (done.written.internal, 'id="changed"')):
        text = (folder / "report.html").read_text()
        assert "100% of the persons" in text
        assert text.index("are singled out by everything that is released") < text.index(later)
    certificate = json.loads((done.written.path / "certificate.json").read_text())
    limits = " ".join(certificate["limits"])
    assert "knows the kept columns of a person, and nothing else, singles out 100% of the persons" in limits
    assert "unprotected values of diagnosis" in limits
    internal = json.loads((done.written.internal / "report.json").read_text())
    assert internal["singled_out"] == found
    assert "accept_unprotected = true" in (done.written.internal / "release.toml").read_text()


def test_without_such_columns_nothing_is_asked_and_nothing_shown(tmp_path):
    config = write(
        tmp_path, encounters(), keep=(), sensitive='protect = "all"', more='seed = "long enough, this"'
    )
    config.write_text(config.read_text().replace("c = 0.9", "c = 1"))
    done = protect(config, quick=True)
    assert done.release.singled_out is None
    assert done.to_json()["singled_out"] is None
    assert "singled out" not in (done.written.path / "report.html").read_text()


def test_harmless_kept_columns_are_released_without_asking(tmp_path):
    frame = encounters().with_columns(kept0=pl.lit("ward"), kept1=pl.col("patient") % 2)
    done = protect(write(tmp_path, frame, keep=("kept0", "kept1")), quick=True)
    assert not done.release.singled_out.needs_consent
    assert not any("kept column" in line for line in done.warnings)


@pytest.mark.parametrize(("alone", "asks"), [(5, False), (6, True)])
def test_the_limit_is_more_than_five_percent(tmp_path, alone, asks):
    frame = pl.DataFrame({"patient": range(100), "n": 1, "age": 1, "diagnosis": ["HIV"] + 99 * ["flu"]})
    frame = frame.with_columns(kept0=pl.when(pl.col("patient") < alone).then("patient").otherwise(-1))
    config = write(tmp_path, frame, keep=("kept0",))
    if not asks:
        assert protect(config, quick=True).release.singled_out.by_kept == alone
        return
    with pytest.raises(InputError, match=r"kept column kept0 alone singles out 6\.0% .*above 5\.0%"):
        protect(config, quick=True)


def test_unprotected_sensitive_values_only_warn(tmp_path):
    config = write(tmp_path, encounters(), keep=())
    forecast = dry_run(config)
    done = protect(config, quick=True)
    (line,) = [line for line in done.warnings if "unprotected values of" in line]
    assert "D1" not in line
    assert line in forecast.warnings
    assert forecast.to_json()["singled_out"] == done.to_json()["singled_out"]


def test_a_dry_run_of_some_persons_counts_the_kept_columns_of_everybody(tmp_path, monkeypatch):
    # Of a few persons drawn at random, most would be alone; of all of them nobody is.
    frame = encounters(600).with_columns(pl.lit("x").alias(name) for name in KEPT[1:])
    frame = frame.with_columns(kept0=pl.col("patient") // 2).group_by("patient", maintain_order=True).first()
    frame = frame.with_columns(n=1)
    monkeypatch.setattr(module, "TRIAL_EVENTS", 200)
    forecast = dry_run(write(tmp_path, frame))
    assert not forecast.is_whole
    assert forecast.singled_out.by_kept == 0
    assert forecast.trial.singled_out.by_kept > 0


def test_inspect_tells_by_role(tmp_path):
    found = inspect_config(write(tmp_path, encounters()))
    document = found.to_json()["singled_out"]
    assert document["kept"] == 1.0
    assert document["of"] == 80
    assert "kept columns alone single out 100%" in str(found).replace("\n ", "")
    assert "Unprotected values of diagnosis" in " ".join(str(found).split())
    page = found.to_html()
    assert "singled out by it alone" in page
    assert "kept3" in page


def test_reposition_says_how_many_records_are_alone_by_what_is_released_as_it_was(tmp_path):
    frame = (
        encounters()
        .select("patient", "n", "age", "diagnosis")
        .with_columns(n=pl.int_range(pl.len()) // 20, diagnosis=pl.Series([f"D{i % 4}" for i in range(160)]))
    )
    frame.unique(["patient", "n"], maintain_order=True).write_csv(tmp_path / "visits.csv")
    (tmp_path / "release.toml").write_text(
        """
[data]
path = "visits.csv"
person = "patient"
order = "n"
[data.quasi.age]
hierarchy = { kind = "flat" }
[data.sensitive.diagnosis]
protect = "all"
[method]
name = "reposition"
l = 2
snapshot = "order"
[release]
path = "out"
"""
    )
    done = protect(tmp_path / "release.toml", quick=True)
    found = done.release.singled_out
    rows = done.release.frame.select("time", "age").rows()
    assert found.unit == "records"
    assert found.by_all == sum(rows.count(row) == 1 for row in rows)
    assert "time and quasi-identifiers" in (done.written.path / "report.html").read_text()
