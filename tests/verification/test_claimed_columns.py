"""Columns, groups and bytes that somebody has changed behind new hashes, one family after the other."""

from __future__ import annotations

import json
import shutil

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sequester as sq
from sequester.errors import InputError
from sequester.privacy import LDiversity
from sequester.release.folder import hash_file
from sequester.verification.parquet import check_structure
from sequester.verification.verify import verify
from sequester.workflow.stream.stream import stream
from sequester.workflow.verify import verify_release
from verification.doctoring import edit_certificate, rehash
from verification.published import publish
from workflow.stream.days import make_stream, places


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    return {case: publish(case, folder) for case in ("anatomy", "generalize", "halt", "regions")}


@pytest.fixture
def copy(made, tmp_path):
    def make(case):
        shutil.copytree(made[case].folder.parent, tmp_path / case)
        return tmp_path / case / "release"

    return make


def put(folder, frame, name):
    frame.write_parquet(folder / f"{name}.parquet")
    frame.write_csv(folder / f"{name}.csv")
    rehash(folder)


@pytest.mark.parametrize(
    ("table", "more"),
    [
        ("records", {"name": pl.lit("Ann"), "letter": pl.lit("a")}),
        ("records", {"name": pl.lit("Ann")}),
        ("values", {"note": pl.lit("Ann")}),
        ("records", {"person": pl.lit("p1")}),
    ],
)
def test_a_column_that_the_claim_does_not_name_is_refused(copy, table, more):
    folder = copy("anatomy")
    put(folder, pl.read_parquet(folder / f"{table}.parquet").with_columns(**more), table)
    lines = verify(folder).lines
    assert all(any(repr(name) in line and "not named" in line for line in lines) for name in more)
    with pytest.raises(InputError, match="not named in the certificate"):
        sq.open(folder)


def test_naming_it_in_the_claim_does_not_help(copy):
    folder = copy("anatomy")
    frame = pl.read_parquet(folder / "records.parquet")
    put(folder, frame.with_columns(letter=pl.lit("a")).select("time", "age", "letter", "group"), "records")
    columns = {"time": "technical", "age": "quasi", "letter": "sensitive", "group": "technical"}
    edit_certificate(folder, lambda each: each["claim"]["columns"].update(records=columns))
    with pytest.raises(InputError, match=r"claim\.columns: records: LDiversity has no table with the roles"):
        verify(folder)


@pytest.mark.parametrize(
    "roles",
    [{"ward": "quasi"}, {"D1": "keep"}, {"person": "keep"}, {"letter": "symbol"}, {"stay": "region"}],
)
def test_roles_that_the_claim_cannot_have_are_refused(copy, roles):
    folder = copy("halt")
    edit_certificate(folder, lambda each: each["claim"]["columns"]["events"].update(roles))
    try:
        assert not verify(folder)
    except InputError as error:
        assert "claim.columns" in str(error)  # noqa: PT017  (either way is a refusal)


@pytest.mark.parametrize("given", [{}, None, [], {"events": {}}, {"events": {"person": "owner"}}, {"x": {}}])
def test_a_claim_of_columns_without_sense_is_refused(copy, given):
    folder = copy("halt")
    edit_certificate(folder, lambda each: each["claim"].update(columns=given))
    with pytest.raises(InputError, match=r"claim\.columns"):
        verify(folder)
    with pytest.raises(InputError, match=r"claim\.columns"):
        sq.open(folder)


def test_an_older_release_is_refused_and_says_what_to_do(copy):
    folder = copy("halt")
    edit_certificate(folder, lambda each: each["claim"].pop("columns"))
    for read in (verify, sq.open):
        with pytest.raises(InputError, match=r"older version.*release it again with this version"):
            read(folder)


def records(ages, letters, groups, times=None):
    times = times or ["1"] * len(ages)
    return {"records": pl.DataFrame({"time": times, "age": ages, "letter": letters, "group": groups})}


@pytest.mark.parametrize(
    ("tables", "finding"),
    [
        (records(["1", "2"], ["a", "b"], [1, 1]), "group 1 has records of 2 different values of age"),
        (records(["1", "1", "2", "3"], list("abab"), [1, 1, 2, 2]), "group 2 has records of 2 different"),
        (records(["1", "1"], ["a", "b"], [1, 1], ["1", "2"]), "group 1 has records of 2 snapshots"),
    ],
)
def test_a_group_is_one_by_its_quasi_identifiers(tables, finding):
    verdict = LDiversity(l=2, sensitive="letter").check_tables(tables)
    assert not verdict
    assert finding in verdict.witnesses[0]
    assert LDiversity(l=2, sensitive="letter").check_tables(records(["1"] * 2, ["a", "b"], [1, 1]))


@pytest.mark.parametrize("change", [lambda g: g * 1000, lambda g: -g + 13, lambda g: g - 1])
def test_the_number_of_a_group_carries_nothing(copy, change):
    folder = copy("anatomy")
    for name in ("records", "values"):
        frame = pl.read_parquet(folder / f"{name}.parquet")
        put(folder, frame.with_columns(change(pl.col("group"))), name)
    lines = verify(folder).lines
    assert any("is of group" in line for line in lines), lines


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.update(name="Ann"),
        lambda document: document["features"][0].update(id="Ann"),
        lambda document: document["features"][0]["properties"].update(name="Ann"),
        lambda document: document["features"][0]["geometry"].update(bbox=[0, 0, 1, 1]),
        lambda document: document["features"][0]["geometry"].update(type="MultiPolygon"),
        lambda document: document["features"][0]["geometry"]["coordinates"].append([[0, 0]]),
        lambda document: document["features"][0]["geometry"]["coordinates"][0][1].append(17),
        lambda document: document["features"][0]["geometry"]["coordinates"][0].pop(),
        lambda document: document["features"].append(document["features"][0]),
        lambda document: document["features"].reverse(),
    ],
)
def test_regions_have_outlines_and_nothing_else(copy, change):
    folder = copy("regions")
    document = json.loads((folder / "regions.geojson").read_text())
    change(document)
    (folder / "regions.geojson").write_text(json.dumps(document) + "\n")
    rehash(folder)
    assert verify(folder).lines[0].startswith("regions.geojson")


@pytest.mark.parametrize("text", ["\ufeff{}", "# Ann\n{}", "{}\n\n", "{}# Ann\n", "{}Ann,1,a,b,c,d,e\n"])
def test_a_csv_file_has_the_bytes_of_its_rows(copy, text):
    folder = copy("halt")
    path = folder / "events.csv"
    path.write_text(text.format(path.read_text()), encoding="utf-8", newline="\n")
    rehash(folder)
    try:
        assert any("events.csv" in line for line in verify(folder).lines)
    except InputError as error:
        assert "events.csv" in str(error)  # noqa: PT017


class TestParquet:
    """What can hide beside the rows."""

    def write(self, tmp_path, frame, **options):
        path = tmp_path / "a.parquet"
        table = frame if isinstance(frame, pa.Table) else frame.to_arrow()
        pq.write_table(table, path, **options)
        return path

    @pytest.mark.parametrize("height", [0, 1, 5, 3000])
    @pytest.mark.parametrize("groups", [1000, 128 * 1024])
    def test_what_we_write_passes(self, tmp_path, height, groups):
        labels = ["Ä" * 40, "b", "", "c" * 5000, "d,e"]
        frame = pl.DataFrame(
            {"person": [f"p{i:016x}" for i in range(height)], "order": range(height)},
            schema={"person": pl.String, "order": pl.Int64},
        ).with_columns(page=pl.Series([labels[i % 5] for i in range(height)], dtype=pl.String))
        for options in ({"compression": "zstd", "row_group_size": groups}, {"statistics": False}, {}):
            frame.write_parquet(tmp_path / "a.parquet", **options)
            assert check_structure(tmp_path / "a.parquet", frame) == []

    def test_another_writer_is_named(self, tmp_path):
        frame = pl.DataFrame({"page": ["a", "b"]})
        assert "not written by the software" in check_structure(self.write(tmp_path, frame), frame)[0]

    @pytest.mark.parametrize(
        ("old", "new", "reason"),
        [
            (b"Polars (python) version", b"Ann has HIV, and more..", "not written by the software"),
            (b"zebra", b"ghost", "a value that is not in the rows"),
        ],
    )
    def test_bytes_that_readers_pass_over_are_looked_at(self, tmp_path, old, new, reason):
        frame = pl.DataFrame({"page": ["ape", "zebra", "cat", "zebra"] * 50})
        frame.write_parquet(tmp_path / "a.parquet")
        data = (tmp_path / "a.parquet").read_bytes()
        head, _, tail = data.rpartition(old)
        assert head
        (tmp_path / "a.parquet").write_bytes(head + new + tail)
        assert reason in check_structure(tmp_path / "a.parquet", frame)[0]

    def test_a_schema_of_arrow_with_more_in_it_is_named(self, tmp_path):
        frame = pl.DataFrame({"page": ["a", "b"]})
        field = pa.field("page", pa.large_string(), metadata={"name": "Ann has HIV"})
        path = self.write(tmp_path, pa.table([["a", "b"]], schema=pa.schema([field])))
        data = path.read_bytes().replace(b"parquet-cpp-arrow version", b"Polars (python.x) version")
        path.write_bytes(data)
        assert check_structure(path, frame)


@pytest.mark.parametrize("name", ["k", "c", "p", "levels", "stars", "protect"])
def test_a_claim_without_a_parameter_is_refused_although_the_parameter_has_a_default(copy, name):
    folder = copy("halt")
    edit_certificate(folder, lambda each: each["claim"]["parameters"].pop(name))
    with pytest.raises(InputError, match=f"claim.parameters: {name} is missing"):
        verify(folder)


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory):
    folder = make_stream(tmp_path_factory.mktemp("stream"), days=2, then="generalize")
    stream(folder / "c.toml", **places(folder), finish=True)
    return folder


class TestStream:
    """Snapshots of a stream are looked at like a release."""

    @pytest.fixture
    def folder(self, snapshots, tmp_path):
        return shutil.copytree(snapshots, tmp_path / "stream")

    @staticmethod
    def edit(folder, change):
        path = next((folder / "out").glob("*.certificate.json"))
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    def test_honest_snapshots_pass_alone_and_with_their_configuration(self, folder):
        assert verify(folder / "out").lines == ()
        assert verify_release(folder / "out", original=folder / "c.toml").lines == ()

    def test_a_hierarchy_that_tells_more_is_named(self, folder):
        stem = next((folder / "out").glob("*.certificate.json")).name.removesuffix(".certificate.json")
        tree = folder / "out" / f"{stem}.hierarchies.sex.csv"
        tree.write_text(tree.read_text() + "Ann;*;1\n")
        files = {path.name: hash_file(path) for path in (folder / "out").glob(f"{stem}.hier*")}
        self.edit(folder, lambda document: document["files"].update(files))
        assert "Ann" in verify(folder / "out").lines[0]

    def test_columns_are_those_of_the_claim(self, folder):
        self.edit(folder, lambda document: document["claim"]["columns"]["records"].pop("sex"))
        assert "sex" in verify(folder / "out").lines[0]
        self.edit(folder, lambda document: document["claim"].pop("columns"))
        with pytest.raises(InputError, match="release it again"):
            verify(folder / "out")

    def test_a_certificate_that_claims_less_than_the_configuration_is_named(self, folder):
        def change(document):
            document["claim"]["parameters"]["l"] = document["method"]["parameters"]["l"] = 2

        self.edit(folder, change)
        assert "its method is not that of" in verify(folder / "out").lines[0]
        lines = verify_release(folder / "out", original=folder / "c.toml").lines
        assert any("claim: says l = 2, but the configuration says 3" in line for line in lines)
        assert any("method: says l = 2, but the configuration says 3" in line for line in lines)
