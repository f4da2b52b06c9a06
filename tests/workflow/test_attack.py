"""What adversaries may know beside a release, from Python and from its folder."""

from __future__ import annotations

import json

import polars as pl
import pytest

import sequester as sq
from sequester.data.schema import Schema, Symbol
from sequester.data.table import EventTable
from sequester.errors import InputError
from sequester.hierarchies import Hierarchy
from sequester.methods import METHODS
from sequester.testing import symbol_table
from sequester.workflow.attack import attack_release, background_knowledge, load_pseudonyms, method_of
from sequester.workflow.protect import protect

SEED = "kept in a safe place"
DATA = """
[data]
path = "events.csv"
person = "who"
order = "n"
"""
SYMBOL = """
[data.symbol]
column = "page"
hierarchy = { kind = "flat" }
"""
ILL = """
[data.sensitive.ill]
protect = "all"
"""
PH = """
[method]
name = "ph"
min_support = 3
patterns = [["a", "b"]]
uncertainty = { permutations = 1, support = 1 }
"""
TOP_DOWN = """
[method]
name = "top-down"
window = 2
patterns = [["a", "b"]]
"""
REPOSITION = """
[method]
name = "reposition"
l = 2
window = 2
snapshot = "order"
then = "none"
"""
RELEASE = """
[release]
path = "out"
seed = "kept in a safe place"
"""
pytestmark = pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")


def write(folder, rows, column):
    events = [
        (f"p{number}", place, label) for number, row in enumerate(rows) for place, label in enumerate(row)
    ]
    pl.DataFrame(events, schema=["who", "n", column], orient="row").write_csv(folder / "events.csv")


def attacked(folder, toml):
    (folder / "release.toml").write_text(toml)
    protect(folder / "release.toml", quick=True)
    return attack_release(
        folder / "out" / "release", original=folder / "release.toml", known=(1,), targets=20
    )


def test_hidden_patterns_are_attacked_in_their_folder(tmp_path):
    write(tmp_path, ["ab", "ab", "abc", "ba", "cab", "c"], "page")
    found = attacked(tmp_path, DATA + SYMBOL.replace('hierarchy = { kind = "flat" }', "") + PH + RELEASE)
    assert found
    kinds = {(risk.name, risk.kind): risk for risk in found.risks}
    assert {("suspects", "at_threshold"), ("order", "near_orders"), ("recognized", "unseen_pairs")} <= set(
        kinds
    )
    # The patterns come from the configuration, what bounds the orders from the certificate.
    assert kinds["order", "used_orders"].bound == 0.5
    assert json.dumps(found.to_json())


def test_places_of_patterns_need_to_know_who_is_who(tmp_path):
    write(tmp_path, ["abcab", "abbac"], "page")
    found = attacked(tmp_path, DATA + SYMBOL + TOP_DOWN + RELEASE)
    names = {risk.name for risk in found.risks}
    assert {"position", "surest_position", "leakage"} <= names
    assert found
    path = tmp_path / "out" / "internal" / "pseudonyms.parquet"
    known = pl.read_parquet(path)
    path.chmod(0o600)
    pl.concat([known, known]).write_parquet(path)
    with pytest.raises(InputError, match="a pseudonym stands for two persons"):
        attack_release(tmp_path / "out" / "release", original=tmp_path / "release.toml")
    path.unlink()
    without = attack_release(
        tmp_path / "out" / "release", original=tmp_path / "release.toml", known=(1,), targets=20
    )
    assert not {risk.name for risk in without.risks} & {"position", "leakage"}


def test_records_in_snapshots_are_attacked_in_their_folder(tmp_path):
    write(tmp_path, ["fx", "fy", "fx", "cf", "cz"], "ill")
    found = attacked(tmp_path, DATA + ILL + REPOSITION + RELEASE)
    assert {"confidence", "arrival", "surest_arrival"} <= {risk.name for risk in found.risks}
    assert found


def test_a_claim_that_is_too_good_is_beaten(tmp_path):
    write(tmp_path, ["fx", "fy", "fx", "cf", "cz"], "ill")
    assert attacked(tmp_path, DATA + ILL + REPOSITION + RELEASE)
    path = tmp_path / "out" / "release" / "certificate.json"
    certificate = json.loads(path.read_text())
    certificate["claim"]["parameters"]["l"] = 9
    path.write_text(json.dumps(certificate))
    found = attack_release(tmp_path / "out" / "release", original=tmp_path / "release.toml", targets=20)
    assert not found
    assert [(risk.name, risk.kind) for risk in found.beaten] == [("confidence", "snapshot")]


def test_the_method_of_a_release_is_made_again():
    frame = symbol_table(["abcab", "abcab", "abba", "ab"]).frame
    schema = Schema(person="user", order="step", symbol=Symbol("symbol", Hierarchy.flat()))
    table = EventTable(frame, schema)
    methods = [
        sq.BFP2kA(k=2),
        sq.PH(patterns=[["a", "b"]], min_support=2, uncertainty={"permutations": 1, "support": 1}),
        sq.SBSH(pattern=[{"items": ["a", "b"], "min_support": 2}]),
        sq.TopDown(patterns=[["a", "b"]], window=2),
    ]
    for method in methods:
        release = method.apply(table, seed=SEED)
        assert method_of(release) == method
        known = background_knowledge(method_of(release), release.table, table, release.pseudonyms)
        assert known["histories"].n_persons == table.n_persons
        made = known["replay"](table).sequences
        assert made.n_persons == table.n_persons
        assert known["stream"] is None


def test_one_person_is_not_looked_for_among_others():
    frame = symbol_table(["abcabacb"]).frame
    schema = Schema(person="user", order="step", symbol=Symbol("symbol", Hierarchy.flat()))
    table = EventTable(frame, schema)
    release = sq.TopDown(patterns=[["a", "b"]], window=2).apply(table, seed=SEED)
    risks = sq.attack(release, original=table)
    assert {risk.name for risk in risks} == {"position", "surest_position", "leakage"}
    assert [line for line in risks.notes if "one person" in line]


def test_a_stranger_is_not_made_again():
    table = symbol_table(["ab", "ab"])
    release = sq.BFP2kA(k=2).apply(table, seed=SEED)
    object.__setattr__(release, "method", "somebody else's")
    assert release.method not in METHODS
    assert method_of(release) is None
    assert background_knowledge(None, release.table, table, None) == {
        "histories": None,
        "replay": None,
        "stream": None,
    }
    other = symbol_table(["ab"])
    assert background_knowledge(None, release.table, other, release.pseudonyms)["histories"] is None


def test_nobody_kept_who_is_who(tmp_path):
    table = symbol_table(["ab"])
    assert load_pseudonyms(tmp_path, table.frame, table) is None


def test_releases_of_symbols_are_not_laid_side_by_side(tmp_path):
    write(tmp_path, ["ab", "ab", "ab", "cb"], "page")
    for name in ("one", "two"):
        toml = (
            DATA
            + SYMBOL
            + '[method]\nname = "p2ka"\nk = 2\n'
            + RELEASE.replace('"out"', f'"{name}"\npseudonyms = true')
        )
        (tmp_path / f"{name}.toml").write_text(toml)
        protect(tmp_path / f"{name}.toml", quick=True)
    folders = [tmp_path / name / "release" for name in ("one", "two")]
    with pytest.raises(InputError, match="SequenceKAnonymity is about records or symbols"):
        attack_release(*folders, original=tmp_path / "one.toml", known=(1,), targets=20)
