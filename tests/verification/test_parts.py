"""Releases in part files: the release of one file, cut by person; changed parts are found by name."""

from __future__ import annotations

import json
import logging
import shutil

import polars as pl
import pytest

import sequester as sq
from sequester.datasets import make
from sequester.engine import LocalEngine
from sequester.errors import InputError
from sequester.release.folder import read_certificate
from sequester.verification.contents import read_release
from sequester.workflow.convert import Roles, Source, partition
from sequester.workflow.protect import protect
from sequester.workflow.run import RunContext
from verification import honest
from verification.doctoring import edit_certificate, rehash

CONFIG = """
[data]
path = "{path}"
person = "PID"
order = "VID"
drop = ["LOS", "DSFC"]
[data.quasi.AdmYr]
hierarchy = {{ kind = "flat" }}
[data.quasi.ZIP]
hierarchy = {{ kind = "mask", levels = [3, 1] }}
[data.sensitive.Disease]
protect = ["HIV", "Alcoholism"]
[method]
name = "halt"
k = 3
c = 0.8
p = 2
[release]
path = "{out}"
seed = "a sentence that nobody guesses"
"""
PARTS = [f"events/part-{number:04d}.parquet" for number in range(4)]


def releases(folder, config, **more):
    """Make the same release from parts and from one file with their rows in their order."""
    parts = [pl.read_parquet(path) for path in sorted((folder / "parts").iterdir())]
    pl.concat(parts).write_parquet(folder / "joined.parquet")
    done = []
    for path, out in (("parts", "many"), ("joined.parquet", "one")):
        (folder / f"{out}.toml").write_text(config.format(path=path, out=out))
        done.append(protect(folder / f"{out}.toml", quick=True, **more))
    return done


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    visits = make("hospital", persons=90, seed="parts")
    part_of = visits["PID"].rank("dense") % 4
    # Not by convert --partition, which draws another key each time.
    (folder / "parts").mkdir()
    for number in range(4):
        visits.filter(part_of == number).write_parquet(folder / f"parts/{number}.parquet")
    releases(folder, CONFIG)
    return folder


@pytest.fixture
def many(made, tmp_path):
    return shutil.copytree(made / "many/release", tmp_path / "many")


@pytest.fixture
def one(made, tmp_path):
    return shutil.copytree(made / "one/release", tmp_path / "one")


def frames(folder, table="events"):
    return [pl.read_parquet(path, memory_map=False) for path in sorted((folder / table).iterdir())]


def put(folder, parts):
    """Write the parts as a release does, and make all hashes and counts fit."""
    shutil.rmtree(folder / "events")
    (folder / "events").mkdir()
    for number, frame in enumerate(parts):
        frame.rechunk().write_parquet(
            folder / f"events/part-{number:04d}.parquet",
            compression="zstd",
            statistics=True,
            row_group_size=128 * 1024,
        )
    rehash(folder)
    rows = pl.concat(parts)
    counts = {"persons": rows["person"].n_unique(), "events": rows.height}
    edit_certificate(folder, lambda document: document.update(counts=counts))


def test_the_parts_are_the_table_cut_by_person(made):
    whole, parts = pl.read_parquet(made / "one/release/events.parquet"), frames(made / "many/release")
    assert pl.concat(parts).equals(whole)
    persons = [set(part["person"]) for part in parts]
    assert sum(map(len, persons)) == len(set().union(*persons)) == whole["person"].n_unique()
    assert max(map(len, persons)) - min(map(len, persons)) <= 1
    names = {path.relative_to(made / "many/release").as_posix() for path in made.glob("many/release/**/*.*")}
    assert sorted(name for name in names if name.startswith("events")) == PARTS
    document = json.loads((made / "many/release/certificate.json").read_bytes())
    assert {*document["files"], "certificate.json"} == names


def test_the_promise_is_that_of_one_file(made):
    many, one = (sq.verify(made / name / "release") for name in ("many", "one"))
    assert (many.holds, many.achieved, many.model) == (one.holds, one.achieved, one.model)
    documents = [
        json.loads((made / name / "release/certificate.json").read_bytes()) for name in ("many", "one")
    ]
    for member in ("method", "claim", "verdict", "counts", "utility", "limits"):
        assert documents[0][member] == documents[1][member]
    assert sq.verify(made / "many/release", original=sq.read(made / "many.toml"))


def test_open_has_the_same_rows_and_verify_reads_codes(made):
    many, one = (sq.open(made / name / "release") for name in ("many", "one"))
    assert many.frame.equals(one.frame)
    assert many.frame.schema == one.frame.schema
    assert many.expected_counts("ZIP").equals(one.expected_counts("ZIP"))
    certificate, _ = read_certificate(made / "many/release")
    contents, findings = read_release(made / "many/release", certificate)
    assert not findings
    assert {str(contents.frame[name].dtype) for name in ("AdmYr", "ZIP", "Disease")} == {"Categorical"}


def test_a_person_too_few_is_found_with_the_same_witness(many, one):
    rows = pl.concat(frames(many))
    # Only two persons keep the rarest year, and k is 3.
    years = rows["AdmYr"].unique().sort()
    n_with = {year: rows.filter(rows["AdmYr"] == year)["person"].n_unique() for year in years}
    rare = min((year for year in years if year != "*"), key=lambda year: (n_with[year], year))
    owners = rows.filter(rows["AdmYr"] == rare)["person"].unique(maintain_order=True)
    spared = owners[: len(owners) - 2]
    is_spared = pl.col("person").is_in(spared.implode()) & (pl.col("AdmYr") == rare)
    change = pl.when(is_spared).then(pl.lit("*")).otherwise(pl.col("AdmYr")).alias("AdmYr")
    put(many, [part.with_columns(change) for part in frames(many)])
    changed = rows.with_columns(change)
    changed.write_parquet(one / "events.parquet", compression="zstd", row_group_size=128 * 1024)
    changed.write_csv(one / "events.csv")
    rehash(one)
    found, expected = sq.verify(many), sq.verify(one)
    assert not found
    assert found.lines == expected.lines
    assert (found.achieved, found.violations) == (expected.achieved, expected.violations)
    assert found.achieved["k"] < 3
    assert any(rare in line for line in found.lines)


def person_rows(frame, place):
    """Return the rows of one person, and the others."""
    name = frame["person"].unique(maintain_order=True)[place]
    return frame.filter(frame["person"] == name), frame.filter(frame["person"] != name)


def exchange_events(parts):
    first, second, *more = parts
    return [pl.concat([first[:-1], second[:1]]), pl.concat([first[-1:], second[1:]]), *more]


def give_an_event_away(parts):
    # The next file begins with the last event of the person with whom the one before ends.
    first, second, *more = parts
    last = first[-1:]
    return [first, pl.concat([last.with_columns(order=last["order"] + 1), second]), *more]


def give_a_person_away(parts):
    first, second, *more = parts
    moved, kept = person_rows(first, -1)
    return [kept, pl.concat([moved, second]), *more]


def exchange_persons(parts):
    first, second, *more = parts
    (one, first), (other, second) = person_rows(first, -1), person_rows(second, 0)
    return [pl.concat([first, other]), pl.concat([one, second]), *more]


def exchange_files(parts):
    return [parts[1], parts[0], *parts[2:]]


def repeat_a_file(parts):
    return [*parts, parts[0]]


def add_an_empty_file(parts):
    return [*parts, parts[0].clear()]


def number_from_two(parts):
    moved, kept = person_rows(parts[2], 0)
    return [*parts[:2], pl.concat([moved.with_columns(order=moved["order"] + 1), kept]), parts[3]]


def leave_a_gap(parts):
    return [parts[0], parts[1].with_columns(ZIP=pl.when(pl.arange(pl.len()) > 0).then("ZIP")), *parts[2:]]


def name_a_person(parts):
    named = pl.col("person").replace(parts[3]["person"][0], "Ann Amber")
    return [*parts[:3], parts[3].with_columns(named)]


FORGERIES = {
    exchange_events: "events/part-000",
    give_an_event_away: "events/part-0001.parquet: row 1 is event 1 of person ",
    give_a_person_away: "events/part-0000.parquet: has 2",
    exchange_persons: "events/: persons do not stand in the order of their pseudonyms",
    exchange_files: "events/: persons do not stand in the order of their pseudonyms",
    repeat_a_file: "events/part-0004.parquet: person 'p",
    add_an_empty_file: "events/part-000",
    number_from_two: "events/part-0002.parquet: row 1 is event 1 of person ",
    leave_a_gap: "events/part-0001.parquet: 1 cells of column 'ZIP' are missing",
    name_a_person: "events/: 'Ann Amber' is not a pseudonym",
}


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_changed_parts_are_found_by_name(many, workers, forge):
    put(many, forge(frames(many)))
    found = sq.verify(many)
    assert not found
    assert found.lines[0].startswith(FORGERIES[forge])
    assert sq.verify(many, engine=workers).lines == found.lines


def test_a_person_in_two_files_is_named_with_both(many):
    first, second, *more = frames(many)
    again = person_rows(first, -1)[0]
    # In the place of another, so that the files have equally many persons.
    put(many, [first, pl.concat([again, person_rows(second, 0)[1]]), *more])
    name = again["person"][0]
    (line,) = sq.verify(many).lines
    assert line == f"events/part-0001.parquet: person '{name}' is in events/part-0000.parquet, too"


@pytest.mark.parametrize("certified", [False, True], ids=["as it was", "certified anew"])
@pytest.mark.parametrize(
    ("name", "other", "line"),
    [
        (PARTS[1], None, "the release is incomplete: {lists}events/part-0001.parquet"),
        (PARTS[1], "events/part-0007.parquet", "the release is incomplete: {lists}events/part-0001.parquet"),
        (PARTS[3], "events/part-03.parquet", "the release is incomplete: {lists}events/part-0003.parquet"),
        (PARTS[0], "events.parquet", "the release is incomplete: {lists}events/part-000"),
    ],
    ids=["missing", "renumbered", "renamed", "moved"],
)
def test_a_missing_or_renamed_part_is_refused_by_name(many, name, other, line, certified):
    if other is None:
        (many / name).unlink()
    else:
        (many / name).rename(many / other)
    if certified:
        rehash(many)
    line = line.format(lists="the certificate lists no " if certified else "")
    with pytest.raises(InputError) as caught:
        sq.verify(many)
    assert str(caught.value).startswith(line)
    with pytest.raises(InputError):
        sq.open(many)


def test_without_the_last_part_the_count_is_wrong(many):
    (many / PARTS[3]).unlink()
    rehash(many)
    n_left = sum(frame.height for frame in frames(many))
    (line,) = sq.verify(many).lines
    assert line.startswith(f"events/: has {n_left} events, the certificate says ")


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("events/part-0004.parquet", None),
        ("events.parquet", "is no file that a release of this kind has"),
        ("events.csv", "is no file that a release of this kind has"),
        ("events.xes", "is no file that a release of this kind has"),
        ("meds/data/0.parquet", "is no file that a release of this kind has"),
        ("persons/part-0000.parquet", "is no file that a release of this kind has"),
    ],
)
def test_an_additional_file_is_refused_by_name(many, name, listed):
    (many / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(many / PARTS[0], many / name)
    assert sq.verify(many).lines == (f"{name}: is not listed in the certificate",)
    rehash(many)
    if listed is None:
        assert sq.verify(many).lines[0].startswith(f"{name}: person 'p")
    else:
        assert sq.verify(many).lines == (f"{name}: {listed}",)


def test_what_a_part_carries_beside_its_rows_is_found(many):
    path = many / PARTS[2]
    pl.read_parquet(path, memory_map=False).write_parquet(path, metadata={"name": "Ann"})
    line = f"{PARTS[2]}: is not the certified file: its hash differs"
    assert sq.verify(many).lines == (line,)
    rehash(many)
    assert sq.verify(many).lines == (f"{PARTS[2]}: carries metadata beside the rows: ['name']",)


@pytest.mark.parametrize("contents", [b"", b"PAR1 and no more", b"person,order\n"])
def test_a_part_that_is_no_parquet_is_refused_by_name(many, contents):
    (many / PARTS[1]).write_bytes(contents)
    rehash(many)
    with pytest.raises(InputError, match=f"{PARTS[1]} is not readable"):
        sq.verify(many)


def test_a_part_with_more_rows_than_its_bytes_can_hold(many, monkeypatch):
    monkeypatch.setattr("sequester.verification.tables._ROWS_PER_PACKED_BYTE", 0.001)
    assert sq.verify(many).lines[0].startswith("events/part-0000.parquet: is too short for its ")


def test_other_columns_are_named_with_their_part(many):
    path = many / PARTS[1]
    frame = pl.read_parquet(path, memory_map=False)
    frame.with_columns(note=pl.lit("Ann")).write_parquet(path)
    rehash(many)
    assert sq.verify(many).lines[-1] == f"{PARTS[1]}: column 'note' is not named in the certificate"


def test_workers_read_and_write_the_same_bytes(made, workers, tmp_path):
    n_tasks = workers.tasks
    for out, engine in (("here", None), ("threads", LocalEngine(threads=2)), ("away", workers)):
        protect(made / "many.toml", out=tmp_path / out, quick=True, run=RunContext(engine=engine))
    assert workers.tasks > n_tasks + 4
    here, threads, away = (
        {path.name: path.read_bytes() for path in (tmp_path / out / "release").rglob("*.*")}
        for out in ("here", "threads", "away")
    )
    assert set(here) > {"part-0003.parquet", "certificate.json"}
    assert here == threads == away


def test_persons_have_parts_of_their_own(tmp_path):
    honest.make("persons", tmp_path)
    source = Source(path=tmp_path / "data.csv", roles=Roles(person="pid"))
    partition(source, tmp_path / "parts", 5)
    config = (tmp_path / "release.toml").read_text().replace("{", "{{").replace("}", "}}")
    config = config.replace('"data.csv"', '"{path}"').replace('path = "out"', 'path = "{out}"')
    many, one = releases(tmp_path, config)
    assert many.release.verdict.achieved == one.release.verdict.achieved
    folder = many.written.path
    assert [len(frames(folder, name)) for name in ("events", "persons")] == [5, 5]
    opened, whole = sq.open(folder), sq.open(one.written.path)
    assert all(opened.tables[name].equals(whole.tables[name]) for name in ("events", "persons"))
    assert sq.verify(folder, original=sq.read(tmp_path / "many.toml"))
    path = folder / "persons/part-0002.parquet"
    pl.read_parquet(path, memory_map=False)[1:].write_parquet(path)
    rehash(folder)
    # A person less in that file, or in all of them.
    assert sq.verify(folder).lines[0].startswith("persons/part-000")


@pytest.mark.filterwarnings("ignore::sequester.SequesterWarning")
def test_records_without_persons_are_one_table(tmp_path):
    honest.make("generalize", tmp_path)
    partition(Source(path=tmp_path / "data.csv", roles=Roles(person="pid")), tmp_path / "parts", 3)
    config = tmp_path / "release.toml"
    config.write_text(config.read_text().replace("data.csv", "parts"))
    done = protect(config, out=tmp_path / "again", quick=True)
    assert (done.written.path / "records.csv").is_file()
    assert not (done.written.path / "records").exists()


def test_fewer_persons_than_files(tmp_path):
    (tmp_path / "parts").mkdir()
    for number in range(6):
        rows = {"user": [f"u{number}"], "n": [1], "page": ["news" if number < 4 else "sports"]}
        pl.DataFrame(rows).write_parquet(tmp_path / f"parts/{number}.parquet")
    (tmp_path / "c.toml").write_text(
        '[data]\npath = "parts"\nperson = "user"\norder = "n"\nsymbol.column = "page"\n'
        '[method]\nname = "prefix-pruning"\nk = 3\n[release]\npath = "out"\n'
    )
    done = protect(tmp_path / "c.toml", quick=True)
    assert len(frames(done.written.path)) == 4
    assert sq.verify(done.written).achieved == {"k": 4}


@pytest.mark.filterwarnings("ignore")
def test_the_library_of_croissant_reads_the_parts(many):
    mlcroissant = pytest.importorskip("mlcroissant")
    logging.getLogger("absl").setLevel(logging.ERROR)
    dataset = mlcroissant.Dataset(jsonld=str(many / "croissant.json"))
    assert not dataset.metadata.issues.errors
    rows = list(dataset.records("events"))
    assert len(rows) == sum(frame.height for frame in frames(many))
