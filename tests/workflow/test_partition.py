"""A folder of parts: each person in one file, nothing lost, read file by file to the same release."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys

import polars as pl
import pytest

from sequester.data.text import as_text
from sequester.datasets import make
from sequester.errors import InputError
from sequester.io.csv import read_csv, split_records
from sequester.workflow import convert as module
from sequester.workflow.config import Config
from sequester.workflow.convert import Roles, Source, partition
from sequester.workflow.protect import protect

CONFIG = """
[data]
path = "{path}"
person = "PID"
order = "VID"
drop = ["LOS"]
[data.quasi.AdmYr]
hierarchy = {{ kind = "flat" }}
[data.quasi.ZIP]
hierarchy = {{ kind = "mask", levels = [3, 1] }}
[data.quasi.DSFC]
hierarchy = {{ kind = "quantiles", bins = [8, 2] }}
[data.sensitive.Disease]
protect = ["HIV", "Alcoholism"]
[method]
name = "halt"
k = 3
c = 0.8
p = 2
[release]
path = "out"
seed = "a sentence that nobody guesses"
"""


@pytest.fixture
def visits(tmp_path):
    frame = make("hospital", persons=60, seed="parts")
    frame.sample(fraction=1.0, shuffle=True, seed=3).write_csv(tmp_path / "visits.csv")
    return tmp_path


def source(path, **more):
    return Source(path=path, roles=Roles(person="PID"), **more)


def rows_of(folder):
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.iterdir())])


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "csv.gz", "folder"])
def test_each_person_is_in_one_file_and_nothing_is_lost(visits, monkeypatch, kind):
    monkeypatch.setattr(module, "_PIECE", 700)
    monkeypatch.setattr(module, "BATCH", 11)
    frame = read_csv((visits / "visits.csv").read_bytes(), "visits.csv")
    given = visits / ("twice" if kind == "folder" else f"again.{kind}")
    if kind == "folder":
        partition(source(visits / "visits.csv"), given, 3)
    elif kind == "arrow":
        frame.write_ipc(given)
    elif kind == "parquet":
        frame.write_parquet(given)
    elif kind == "csv.gz":
        import gzip

        given.write_bytes(gzip.compress((visits / "visits.csv").read_bytes()))
    else:
        given = visits / "visits.csv"
    done = partition(source(given), visits / "parts", 7)
    assert (done.rows, done.format) == (frame.height, "parquet")
    files = sorted((visits / "parts").iterdir())
    assert 4 <= len(files) <= 7
    persons = [set(pl.read_parquet(path)["PID"]) for path in files]
    assert sum(map(len, persons)) == len(set().union(*persons)) == frame["PID"].n_unique()
    found = rows_of(visits / "parts")
    assert found.sort(found.columns).equals(frame.sort(frame.columns))
    # Rows of a person stay in their order.
    for person in frame["PID"].unique().head(5):
        assert found.filter(found["PID"] == person).equals(frame.filter(frame["PID"] == person))
    assert not [path for path in visits.iterdir() if path.name.startswith(".")]


def test_another_run_has_another_key(visits):
    for name in ("one", "two"):
        partition(source(visits / "visits.csv"), visits / name, 8)
    parts = [
        [set(pl.read_parquet(path)["PID"]) for path in sorted((visits / n).iterdir())] for n in ("one", "two")
    ]
    assert parts[0] != parts[1]


@pytest.mark.parametrize("size", [1, 7, 40, 10_000])
def test_pieces_of_csv_are_cut_between_records(tmp_path, size):
    chance = random.Random(size)
    cells = ["a", 'say "no"', "two\nlines", "x,y", "", "\u00e9"]
    rows = [[str(n), chance.choice(cells), chance.choice(cells)] for n in range(60)]
    quoted = [",".join('"' + cell.replace('"', '""') + '"' if cell else "" for cell in row) for row in rows]
    contents = ("who,what,why\n" + "\n".join(quoted) + chance.choice(["", "\n"])).encode()
    path = tmp_path / "odd.csv"
    path.write_bytes(contents)
    pieces = list(split_records(path, size))
    assert pl.concat([frame for _, frame in pieces]).equals(read_csv(contents, "odd.csv"))
    assert pieces[-1][0] == 1.0


def test_a_database_is_streamed(visits):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(visits / "visits.db")) as connection:
        connection.sql(f"create table visits as select * from read_csv('{visits / 'visits.csv'}')")
    (visits / "release.toml").write_text(
        CONFIG.format(path="duckdb:///visits.db").replace("person =", 'table = "visits"\nperson =', 1)
    )
    done = partition(Source(path=visits / "release.toml"), visits / "parts", 5)
    frame = read_csv((visits / "visits.csv").read_bytes(), "visits.csv")
    assert done.rows == frame.height
    assert set(as_text(rows_of(visits / "parts")["PID"])) == set(frame["PID"])


def release_of(folder, path, name):
    (folder / "release.toml").write_text(CONFIG.format(path=path))
    done = protect(folder / "release.toml", out=folder / name, quick=True)
    return done.release


def test_the_parts_give_the_table_and_its_text_is_coded(visits):
    partition(source(visits / "visits.csv"), visits / "parts", 6)
    (visits / "release.toml").write_text(CONFIG.format(path="parts"))
    table = Config.load(visits / "release.toml").table()
    coded = [table.frame[name].dtype for name in ("AdmYr", "ZIP", "DSFC", "Disease")]
    assert all(isinstance(dtype, pl.Categorical) for dtype in coded)
    (visits / "release.toml").write_text(CONFIG.format(path="visits.csv"))
    whole = Config.load(visits / "release.toml").table()
    assert (table.n_persons, table.n_events, table.labels) == (whole.n_persons, whole.n_events, whole.labels)
    assert table.hierarchies.keys() == whole.hierarchies.keys()
    assert all(table.hierarchies[n].labels == whole.hierarchies[n].labels for n in table.hierarchies)


CLICKS = """
[data]
path = "{path}"
person = "user"
time = "at"
[data.symbol]
column = "page"
"""


@pytest.mark.parametrize("late", ["", "2024-05-14T07:41:20+02:00", "2024-05-14"])
def test_persons_and_times_are_held_once(tmp_path, late):
    clicks = make("clicks", persons=40, seed="parts")
    clicks = clicks.with_columns(pl.col("at").dt.strftime("%Y-%m-%dT%H:%M:%S"))
    if late:
        # One file has times of another form, which are read all the same.
        clicks[0, "at"] = late
    (tmp_path / "parts").mkdir()
    for number, user in enumerate(clicks["user"].unique(maintain_order=True)):
        clicks.filter(pl.col("user") == user).write_parquet(tmp_path / "parts" / f"{number:02d}.parquet")
    clicks.write_parquet(tmp_path / "one.parquet")
    tables = []
    for path in ("parts", "one.parquet"):
        (tmp_path / "release.toml").write_text(CLICKS.format(path=path))
        tables.append(Config.load(tmp_path / "release.toml").table())
    parts, one = tables
    assert parts.frame.columns == ["page"]
    assert parts.times.equals(one.times)
    assert parts.persons.equals(one.persons)
    assert parts.sequences.to_rows() == one.sequences.to_rows()


def bytes_held(table):
    """Return the bytes of all that a table has of its events and persons; shared memory counts once."""
    pytest.importorskip("pyarrow")
    memory = {}
    columns = [*table.frame.iter_columns(), table.persons]
    for column in columns if table.times is None else [*columns, table.times]:
        for chunk in column.to_physical().get_chunks():
            for buffer in chunk.to_arrow(compat_level=pl.CompatLevel.newest()).buffers():
                if buffer is not None:
                    memory[buffer.address] = buffer.size
    sequences = table.sequences
    for array in (*sequences.columns.values(), sequences.person_offsets, table.person_offsets, table.rows):
        memory[array.ctypes.data] = array.nbytes
    return sum(memory.values())


@pytest.mark.parametrize("has_gaps", [False, True])
def test_an_event_takes_four_bytes_per_attribute_and_eight_for_order_and_row(visits, has_gaps):
    # As docs/scale.md says: 4 for each attribute, the order and the row, 8 and the key for a person.
    partition(source(visits / "visits.csv"), visits / "parts", 6)
    if has_gaps:
        for path in (visits / "parts").iterdir():
            part = pl.read_parquet(path).with_row_index()
            is_gap = pl.col("index") % 5 == 0
            part.select(pl.exclude("index", "ZIP"), pl.when(~is_gap).then("ZIP")).write_parquet(path)
    (visits / "release.toml").write_text(CONFIG.format(path="parts"))
    table = Config.load(visits / "release.toml").table()
    assert {*table.frame.columns} == {"VID", "AdmYr", "ZIP", "DSFC", "Disease"}
    n_gaps = table.frame["ZIP"].null_count()
    assert (n_gaps > 0) == has_gaps
    expected = table.n_events * (4 * 4 + 4 + 4) + table.n_persons * (8 + 16) + 8
    # A gap is one bit of each event of its column, rounded up by polars.
    assert 0 <= bytes_held(table) - expected <= has_gaps * (table.n_events // 8 + 64)
    (visits / "joined.csv").write_bytes(rows_of(visits / "parts").write_csv().encode())
    (visits / "release.toml").write_text(CONFIG.format(path="joined.csv"))
    whole = Config.load(visits / "release.toml").table()
    for name, codes in whole.sequences.columns.items():
        assert table.sequences.columns[name].tolist() == codes.tolist()
        assert table.frame[name].cast(pl.String).equals(whole.frame[name])


def test_a_release_from_parts_verifies_and_is_that_of_one_file(visits):
    partition(source(visits / "visits.csv"), visits / "parts", 6)
    # One file with the rows of all parts, in their order, is the same table.
    rows_of(visits / "parts").write_csv(visits / "joined.csv")
    parts, joined = (release_of(visits, path, name) for path, name in (("parts", "a"), ("joined.csv", "b")))
    assert parts.frame.equals(joined.frame)
    assert rows_of(visits / "a/release/events").equals(pl.read_parquet(visits / "b/release/events.parquet"))


def test_a_person_in_two_files_is_found_and_named(visits):
    partition(source(visits / "visits.csv"), visits / "parts", 4)
    first, second, *_ = sorted((visits / "parts").iterdir())
    moved = pl.read_parquet(first).head(1)
    pl.concat([pl.read_parquet(second), moved]).write_parquet(second)
    (visits / "release.toml").write_text(CONFIG.format(path="parts"))
    with pytest.raises(InputError) as caught:
        Config.load(visits / "release.toml").table()
    named = f"person '{moved['PID'].item()}' is in {first.name} and in {second.name}"
    assert str(caught.value).startswith(f"{named}: each person must be in one file")


@pytest.mark.parametrize(
    ("name", "contents", "line"),
    [
        ("more.parquet", b"who,what\n", "more.parquet: is no Parquet file"),
        ("more.csv", b"who,what\n", "more.csv: is no Parquet file, and the others of its folder are"),
    ],
)
def test_a_file_that_is_not_parquet_is_refused(visits, name, contents, line):
    partition(source(visits / "visits.csv"), visits / "parts", 2)
    (visits / "parts" / name).write_bytes(contents)
    (visits / "release.toml").write_text(CONFIG.format(path="parts"))
    with pytest.raises(InputError, match=line):
        Config.load(visits / "release.toml").table()


def test_the_one_column_that_is_named_like_persons_is_taken_and_named(visits):
    made = partition(Source(path=visits / "visits.csv"), visits / "parts", 3)
    assert made.partitioned_by == "PID"
    files = [set(pl.read_parquet(path)["PID"]) for path in sorted((visits / "parts").iterdir())]
    assert sum(map(len, files)) == len(set().union(*files)) > 1


def test_wrong_uses_are_refused_and_write_nothing(visits):
    given = visits / "visits.csv"
    cases = [
        (Source(path=visits / "nobody.csv"), 3, "--person is needed: the column of persons$"),
        (
            Source(path=visits / "two.csv"),
            3,
            "--person is needed: the column of persons, which could be 'patient' or 'user'",
        ),
        (
            Source(path=given, roles=Roles(person="who")),
            3,
            "--person is 'who', and the table has no such column",
        ),
        (Source(path=given, roles=Roles(person="row")), 3, "--partition needs persons with several rows"),
        (source(given), 0, "--partition must be a number of files from 1 to 10,000, got 0"),
        (source(visits / "none.csv"), 3, "none.csv: no such file or directory"),
        (source(visits / "empty.csv"), 3, "empty.csv: has no rows"),
    ]
    (visits / "empty.csv").write_text("PID,VID\n")
    (visits / "nobody.csv").write_text("what,where\na,b\n")
    (visits / "two.csv").write_text("patient,user\na,b\n")
    names = {path.name for path in visits.iterdir()}
    for asked, number, line in cases:
        with pytest.raises(InputError, match=line):
            partition(asked, visits / "parts", number)
        assert {path.name for path in visits.iterdir()} == names


# A limit on the size of a file stops the writer in the middle, as a full disk does, and needs no rights.
# Before it is set, everything is imported and compiled, which writes files of its own.
LIMITED = """
import json, resource, sys
from sequester.cli import main
commands = [
    ["convert", "visits.csv", "{}", "--partition", "3", "--person", "PID"],
    ["protect", "release.toml", "--quick", "--quiet", "--out", "{}"],
]
for number, command in enumerate(commands):
    assert main([each.format(f"whole/{number}") for each in command]) == 0
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
print(json.dumps([main([each.format("more") for each in command]) for command in commands]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of Unix")
def test_a_full_disk_is_one_line_and_leaves_nothing(visits):
    partition(source(visits / "visits.csv"), visits / "parts", 6)
    (visits / "release.toml").write_text(CONFIG.format(path="parts"))
    before = sorted(visits.rglob("*"))
    command = [sys.executable, "-B", "-c", LIMITED, "500"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=visits)
    assert done.stdout.splitlines()[-1] == "[2, 2]"
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert errors == 2 * ["error: cannot write more: File too large"]
    shutil.rmtree(visits / "whole")
    assert sorted(visits.rglob("*")) == before


def test_what_is_there_stays_unless_forced(visits):
    partition(source(visits / "visits.csv"), visits / "parts", 3)
    before = sorted(path.name for path in (visits / "parts").iterdir())
    with pytest.raises(InputError, match="exists already; --force replaces it"):
        partition(source(visits / "visits.csv"), visits / "parts", 1)
    assert sorted(path.name for path in (visits / "parts").iterdir()) == before
    partition(source(visits / "visits.csv"), visits / "parts", 1, force=True)
    assert len(list((visits / "parts").iterdir())) == 1
    (visits / "parts" / "notes.md").touch()
    with pytest.raises(InputError, match="holds more than Parquet files, and is not replaced"):
        partition(source(visits / "visits.csv"), visits / "parts", 1, force=True)
    with pytest.raises(InputError, match=r"--partition writes a folder, and .* is a file"):
        partition(source(visits / "visits.csv"), visits / "visits.csv", 1, force=True)
