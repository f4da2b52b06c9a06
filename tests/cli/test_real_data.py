"""The commands on public data: patients of a hospital, and everybody who read a news site on one day."""

from __future__ import annotations

import csv
import gzip
import io

import polars as pl
import pytest


def sepsis(folder):
    path = folder / "sepsis" / "Sepsis.csv.gz"
    header = next(csv.reader(io.StringIO(gzip.decompress(path.read_bytes()).decode())))
    drop = [column for column in header if column not in ("case_id", "timestamp", "activity")]
    return f"""
        [data]
        path = "{path}"
        person = "case_id"
        time = "timestamp"
        drop = {drop}
        [data.symbol]
        column = "activity"
        [method]
        name = "p2ka"
        k = 5
        [release]
        path = "out"
        """


@pytest.mark.real
def test_sepsis(run, tmp_path, shared_data):
    (tmp_path / "release.toml").write_text(sepsis(shared_data))
    ran = run("protect", "release.toml", "--quick", "--json")
    assert ran.code == 0
    assert ran.document["persons"]["input"] == 1_050
    assert ran.document["events"]["input"] == 15_214
    assert ran.document["achieved"]["k"] >= 5
    # Most patients have a history of their own, and the steward is told what that means here.
    assert any("of the sequences" in line and "k = 2 cuts" in line for line in ran.warnings)
    assert run("verify", "out/release", "--original", "release.toml").code == 0
    released = pl.read_csv(tmp_path / "out/release/events.csv")
    assert released.columns == ["person", "order", "activity"]
    text = (tmp_path / "out/release/certificate.json").read_text()
    assert str(shared_data) not in text
    assert str(tmp_path) not in text


@pytest.mark.real
def test_sepsis_without_roles_names_every_column(run, tmp_path, shared_data):
    text = "\n".join(line for line in sepsis(shared_data).splitlines() if "drop = " not in line)
    (tmp_path / "release.toml").write_text(text)
    ran = run("protect", "release.toml", "--quick")
    assert ran.code == 2
    assert len(ran.errors) == 29
    assert "column 'Diagnose' has no role: give it one, or name it in drop" in ran.errors


@pytest.mark.real
def test_msnbc_can_be_foretold(run, tmp_path, shared_data):
    path = shared_data / "msnbc" / "msnbc990928.seq.gz"
    (tmp_path / "release.toml").write_text(
        f'data.path = "{path}"\nmethod = {{ name = "p2ka", k = 50 }}\nrelease.path = "out"\n'
    )
    document = run("protect", "release.toml", "--dry-run", "--json").document
    assert (document["persons"], document["events"]) == (989_818, 4_698_794)
    assert document["tried_persons"] < 100_000
    assert document["achieved"]["k"] >= 50


@pytest.mark.real
@pytest.mark.thorough
def test_msnbc(run, tmp_path, shared_data):
    path = shared_data / "msnbc" / "msnbc990928.seq.gz"
    (tmp_path / "release.toml").write_text(
        f'data.path = "{path}"\nmethod = {{ name = "p2ka", k = 50 }}\nrelease.path = "out"\n'
    )
    ran = run("protect", "release.toml", "--quick", "--json")
    assert ran.code == 0
    assert ran.document["persons"] == {"input": 989_818, "released": 989_818}
    assert run("verify", "out/release").code == 0
