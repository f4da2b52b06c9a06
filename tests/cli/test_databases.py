"""Databases as data: the same release as from Parquet, nothing written there, no password anywhere."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import time
import tomllib
from contextlib import closing
from pathlib import Path

import adbc_driver_postgresql.dbapi
import duckdb
import polars as pl
import pytest

from postgresql import PASSWORD
from sequester.datasets.hospital import make_omop
from sequester.errors import InputError
from sequester.io import read_frame
from sequester.io.clinical import Omop
from sequester.io.database import Database, locate, scrub
from sequester.workflow.config import Config
from sequester.workflow.job import Job

VISITS = pl.DataFrame(
    {
        "PID": ["a", "a", "b", "b", "c", "c", "d", "d"],
        "n": [1, 2] * 4,
        "ward": list("xyxyxyxy"),
        "ill": ["HIV", "gout"] * 4,
    }
)
PATIENTS = pl.DataFrame({"PID": list("abcd"), "Sex": list("ffmm")})
TOML = """
[data]
path = {path!r}
{what}
person = "PID"
order = "n"
[data.quasi.ward]
hierarchy = {{ kind = "flat" }}
[data.sensitive.ill]
protect = ["HIV"]
{persons}
[method]
name = "halt"
k = 2
c = 1
p = 2
[release]
path = "out"
"""
PERSONS = """
[data.persons]
path = {path!r}
query = "select * from patients order by 1"
[data.persons.quasi.Sex]
hierarchy = {{ kind = "flat" }}
"""
TABLE = 'table = "visits"'
KINDS = ("sqlite", "duckdb", "postgresql")


@pytest.fixture
def put(request, tmp_path, monkeypatch):
    """Fill a database of a kind, and give its address, which a file has relative to the configuration."""

    def put(kind: str, **tables: pl.DataFrame) -> str:
        tables = tables or {"visits": VISITS, "patients": PATIENTS}
        if kind == "sqlite":
            with closing(sqlite3.connect(tmp_path / "study.db")) as connection, connection:
                for name, frame in tables.items():
                    marks = ", ".join("?" * frame.width)
                    columns = ", ".join(f'"{column}"' for column in frame.columns)
                    connection.execute(f"create table {name} ({columns})")
                    connection.executemany(f"insert into {name} values ({marks})", frame.rows())
            return "sqlite:///study.db"
        if kind == "duckdb":
            with closing(duckdb.connect(str(tmp_path / "study.duckdb"))) as connection:
                for name, frame in tables.items():
                    connection.register("given", frame.to_arrow())
                    connection.execute(f"create table {name} as select * from given")
            return "duckdb:///study.duckdb"
        server = request.getfixturevalue("postgresql")
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        with closing(adbc_driver_postgresql.dbapi.connect(server.url())) as connection:
            with closing(connection.cursor()) as cursor:
                for name, frame in tables.items():
                    cursor.adbc_ingest(name, frame.to_arrow(), mode="replace")
            connection.commit()
        return server.url()

    return put


@pytest.fixture
def write(tmp_path):
    def write(path: str, what: str = TABLE, persons: str = "") -> None:
        text = TOML.format(path=path, what=what, persons=persons.format(path=path))
        (tmp_path / "release.toml").write_text(text)

    return write


def rows_of(kind: str, put_url: str, folder) -> int:
    source = locate(put_url, folder, query="select count(*) as n from visits")
    return read_frame(source)["n"][0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_is_that_of_parquet(kind, run, put, write, tmp_path):
    VISITS.write_parquet(tmp_path / "visits.parquet")
    write("visits.parquet", "")
    assert run("protect", "release.toml", "--seed", "sixteen letters!").code == 0
    expected = {path.name: path.read_bytes() for path in (tmp_path / "out" / "release").glob("events.*")}
    write(put(kind))
    done = run("protect", "release.toml", "--seed", "sixteen letters!", "--force")
    assert done.code == 0, done.err
    assert expected
    assert {name: (tmp_path / "out" / "release" / name).read_bytes() for name in expected} == expected
    assert run("verify", "out/release", "--original", "release.toml").code == 0
    assert run("inspect", "release.toml", "--json").document["persons"] == 4


@pytest.mark.parametrize("kind", KINDS)
def test_persons_come_from_a_query(kind, put, write, tmp_path):
    write(put(kind), 'query = """\n-- all of them\nSELECT * FROM visits"""', PERSONS)
    config = Config.load(tmp_path / "release.toml")
    table = config.table()
    assert (table.n_persons, table.n_events) == (4, 8)
    # What repeats the run names the database and its queries, from any folder.
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "release.toml").write_text(Job.of(config).to_toml("sixteen letters!"))
    again = Config.load(folder / "release.toml")
    assert again.settings.data.query == "-- all of them\nSELECT * FROM visits"
    assert again.frame().equals(VISITS)
    assert again.persons().frame.equals(PATIENTS)


@pytest.mark.parametrize("kind", KINDS)
def test_init_drafts_a_configuration(kind, run, put, tmp_path):
    url = put(kind)
    done = run("init", url, "--table", "visits", "--out", "study/release.toml", "--sensitive", "ill")
    assert done.code == 0, done.err
    data = tomllib.loads((tmp_path / "study" / "release.toml").read_text())["data"]
    assert data["table"] == "visits"
    assert data["path"] == (url if kind == "postgresql" else url.replace("study.", "../study."))
    assert run("inspect", "study/release.toml").code == 0
    assert run("convert", "study/release.toml", "visits.csv").code == 0
    assert pl.read_csv(tmp_path / "visits.csv").equals(VISITS)
    done = run("init", url, "--query", "select * from visits where ward <> ';';", "--out", "b.toml")
    assert done.code == 0
    assert 'query = "select * from visits where' in (tmp_path / "b.toml").read_text()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "query",
    [
        "with gone as (delete from visits returning *) select * from gone",
        "with gone as (select 1) delete from visits returning *",
    ],
)
def test_nothing_is_written(kind, query, run, put, write, tmp_path, listing):
    url = put(kind)
    write(url, f'query = "{query}"')
    before = listing()
    done = run("protect", "release.toml")
    assert done.code == 2
    assert len(done.errors) == 1
    assert listing() == before
    assert rows_of(kind, url, tmp_path) == 8


def test_a_read_only_transaction_cannot_be_made_another(put, tmp_path):
    url = put("postgresql")
    query = "select set_config('transaction_read_only', 'off', true), * from visits"
    with pytest.raises(InputError, match="read-write mode must be set before any query"):
        read_frame(locate(url, tmp_path, query=query))


def test_duckdb_touches_no_other_file(put, write, run, tmp_path, listing):
    write(put("duckdb"), "query = \"from read_csv('release.toml')\"")
    before = listing()
    done = run("protect", "release.toml")
    assert done.code == 2
    assert "disabled" in done.errors[0]
    assert listing() == before


SERVER_FAULTS = {
    "no table": ("{url}", 'table = "nothing"', ('"nothing" does not exist',)),
    "no schema": ("{url}", 'table = "a.b"', ('"a.b" does not exist',)),
    "no SQL": ("{url}", 'query = "select from where"', ("syntax error",)),
    "an injected table": ("{url}", "table = 'visits\"; delete from visits; --'", ("does not exist",)),
    "no database": ("{url}".replace("postgres", "x"), 'table = "visits"', ("does not exist",)),
    "no host": ("postgresql://nowhere.invalid/db", TABLE, ("nowhere.invalid",)),
    "no server": ("postgresql://127.0.0.1:1/db", TABLE, ("Connection refused",)),
    "no parameter": ("postgresql://127.0.0.1:1/db?nonsense=1", TABLE, ('"nonsense"',)),
    "no person": ("{url}", 'query = "select n, ward, ill from visits"', ("'PID' is named as person",)),
    "no rows": ("{url}", 'query = "select * from visits where n > 5"', ("there are no rows",)),
    "two of a name": ("{url}", 'query = "select *, n from visits"', ("several columns called 'n'",)),
    "no text": ("{url}", "query = \"select *, interval '1 day' as stay from visits\"", ("'stay'", "cast")),
    "no plain type": ("{url}", "query = \"select *, '10.0.0.1'::inet as ip from visits\"", ("inet", "cast")),
}


@pytest.mark.parametrize("case", SERVER_FAULTS)
def test_faults_are_one_line(case, run, put, write, listing):
    address, what, said = SERVER_FAULTS[case]
    url = put("postgresql")
    write(url.replace("/postgres?", "/nothing?") if case == "no database" else address.format(url=url), what)
    before = listing()
    done = run("protect", "release.toml")
    assert done.code == 2
    assert len(done.err.splitlines()) == 1, done.err
    assert all(each in done.err for each in said), done.err
    assert PASSWORD not in done.err + done.out
    assert listing() == before


@pytest.mark.parametrize(("kind", "reason"), [("sqlite", "no such table"), ("duckdb", "does not exist")])
def test_faults_of_files_are_one_line(kind, reason, run, put, write, tmp_path):
    url = put(kind)
    write(url, 'table = "nothing"')
    assert reason in run("inspect", "release.toml").err
    write(f"{kind}:///absent.db")
    assert run("inspect", "release.toml").errors == ["absent.db: no such file or directory"]
    (tmp_path / "absent.db").write_text("this is no database" * 100)
    done = run("inspect", "release.toml")
    assert (done.code, len(done.err.splitlines())) == (2, 1)


@pytest.mark.parametrize("password", ["wrong-one", None])
def test_a_wrong_password_is_one_line(password, run, put, write, monkeypatch, listing):
    write(put("postgresql"))
    monkeypatch.delenv("PGPASSWORD")
    if password is not None:
        monkeypatch.setenv("PGPASSWORD", password)
    before = listing()
    done = run("protect", "release.toml")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "password" in done.err
    assert "PGPASSFILE" in done.err
    assert "wrong-one" not in done.err
    assert listing() == before


def test_a_file_of_passwords_or_services_is_enough(run, put, write, monkeypatch, tmp_path, postgresql):
    put("postgresql")
    monkeypatch.delenv("PGPASSWORD")
    kept = tmp_path / "passwords"
    kept.write_text(f"*:*:*:*:{PASSWORD}\n")
    kept.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(kept))
    write(postgresql.url())
    assert run("inspect", "release.toml").code == 0
    kept.write_text(
        f"[study]\nhost={postgresql.folder}\nuser=steward\ndbname=postgres\npassword={PASSWORD}\n"
    )
    monkeypatch.delenv("PGPASSFILE")
    monkeypatch.setenv("PGSERVICEFILE", str(kept))
    write("postgresql://?service=study")
    done = run("inspect", "release.toml")
    assert done.code == 0, done.err


def test_the_password_is_nowhere(run, put, write, listing):
    write(put("postgresql"))
    for command in (
        ("protect", "release.toml", "--checkpoint", "kept"),
        ("inspect", "release.toml", "--out", "inspection.html"),
        ("init", put("postgresql"), "--table", "visits", "--out", "draft.toml"),
    ):
        done = run(*command)
        assert done.code == 0, done.err
        assert PASSWORD not in done.out + done.err
    files = listing()
    assert "out/internal/release.toml" in files
    assert not [name for name, content in files.items() if PASSWORD.encode() in (content or b"")]


SECRETS = (
    "postgresql://ann:{}@host/db",
    "postgresql://:{}@host/db",
    "postgresql://ann:{}@/db?host=/run",
    "postgresql://host/db?user=ann&password={}",
    "postgresql://host/db?p%61ssword={}",
    "postgresql://host/db?sslpassword={}&sslmode=require",
    "mysql://ann:{}@host/db",
)


@pytest.mark.parametrize("address", SECRETS)
@pytest.mark.parametrize("secret", ["pa55", "p/a5?5", "p:a5@5"])
def test_a_password_in_the_address_is_refused_and_not_repeated(address, secret, run, write, tmp_path):
    url = address.format(secret)
    write(url)
    for command in (
        ("protect", "release.toml"),
        ("init", url, "--table", "visits", "--force", "--out", "draft.toml"),
        ("inspect", url),
        ("convert", url, "visits.csv"),
        ("init", "release.toml", "--persons", url, "--out", "draft.toml", "--format", "csv"),
    ):
        done = run(*command)
        assert done.code == 2
        assert secret not in done.err + done.out
        assert not any(part in done.err for part in ("pa55", "a5?5", "a5@5"))
    assert "PGPASSWORD" in run("protect", "release.toml").err
    assert not (tmp_path / "draft.toml").exists()


@pytest.mark.parametrize("line", ['password = "pa55"', 'url = "postgresql://ann:pa55@host/db"'])
def test_a_password_in_another_key_is_not_repeated(line, run, write):
    write("sqlite:///study.db", f"{TABLE}\n{line}")
    done = run("protect", "release.toml")
    assert done.code == 2
    assert "is not a known key" in done.err
    assert "pa55" not in done.err


CONFIG_FAULTS = {
    "neither": ("sqlite:///a.db", "", "data.query or table is missing"),
    "both": ("sqlite:///a.db", f'{TABLE}\nquery = "select 1"', "data.query and table are both given"),
    "a file": ("a.csv", TABLE, "data.table is for databases"),
    "another": ("mysql://host/db", TABLE, "data.path must begin with one of postgresql://, sqlite:///"),
    "two slashes": ("sqlite://a.db", TABLE, "data.path must begin with"),
    "nothing": ("duckdb:///", TABLE, "data.path must begin with"),
    "a format": ("sqlite:///a.db", f'{TABLE}\nformat = "csv"', "data.format is for files"),
    "no select": ("sqlite:///a.db", "query = \"attach 'b.db' as b\"", "data.query must begin with select"),
    "two statements": ("sqlite:///a.db", 'query = "select 1; delete from visits"', "data.query must be one"),
    "no name": ("sqlite:///a.db", 'table = "a."', "data.table must be a name"),
}


@pytest.mark.parametrize("case", CONFIG_FAULTS)
def test_wrong_settings_are_one_line(case, run, write, listing):
    path, what, said = CONFIG_FAULTS[case]
    write(path, what)
    before = listing()
    done = run("protect", "release.toml")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert said in done.err
    assert listing() == before


def test_types_are_those_of_the_server(put, tmp_path):
    url = put("postgresql")
    query = (
        "select 7::bigint as i, 1.50::numeric as d, date '2020-02-01' as day, true as yes, null::text as gap,"
        " timestamp '2020-02-01 10:00' as t,"
        " '6b0e1d0c-54c5-4d0b-9b58-58f2a1a3c3aa'::uuid as u, '007' as code,"
        " '{\"a\": 1}'::json as j"
    )
    frame = read_frame(locate(url, tmp_path, query=query))
    dtypes = [pl.Int64, pl.String, pl.Date, pl.Boolean, pl.String, pl.Datetime, pl.String, pl.String]
    assert [type(each) if each == pl.Datetime else each for each in frame.dtypes] == [*dtypes, pl.String]
    assert frame["u"][0] == "6b0e1d0c-54c5-4d0b-9b58-58f2a1a3c3aa"
    assert (frame["d"][0], frame["code"][0], frame["gap"][0]) == ("1.50", "007", None)


def test_sqlite_takes_the_type_of_all_rows(put, tmp_path):
    frame = pl.DataFrame({"a": ["1"] * 3000, "b": [None] * 2999 + ["late"]})
    url = put("sqlite", visits=frame)
    with closing(sqlite3.connect(tmp_path / "study.db")) as connection, connection:
        connection.execute("update visits set a = 1 where rowid < 2000")
    got = read_frame(locate(url, tmp_path, table="visits"))
    assert got.equals(frame)


@pytest.mark.parametrize(("kind", "module"), [("sqlite", "adbc_driver_sqlite"), ("duckdb", "duckdb")])
def test_without_the_extra_one_line_names_it(kind, module, run, put, write, monkeypatch):
    write(put(kind))
    monkeypatch.setitem(sys.modules, module, None)
    done = run("inspect", "release.toml")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "pip install 'sequester[sql]'" in done.err


def test_scrub_knows_the_password_of_the_environment(monkeypatch):
    monkeypatch.setenv("PGPASSWORD", "s3cret")
    assert scrub("the server said s3cret, and password = 'x y' too") == (
        "the server said ***, and password = *** too"
    )


def test_a_schema_and_a_table_are_quoted(put, tmp_path):
    url = put("duckdb")
    assert read_frame(locate(url, tmp_path, table="main.visits")).height == 8
    assert str(Database(scheme="duckdb", address="/a/b.db", table="t")) == "duckdb:////a/b.db"


def test_the_password_is_in_no_process_list(put, write, tmp_path):
    """A run of its own, looked at from outside as long as it lasts, with the processes that it starts."""
    write(put("postgresql"))
    PATIENTS.write_parquet(tmp_path / "patients.parquet")
    with (tmp_path / "release.toml").open("a") as file:
        file.write('[data.persons]\npath = "patients.parquet"\nquasi.Sex.hierarchy = { kind = "flat" }\n')
    command = [sys.executable, "-m", "sequester", "protect", "release.toml", "--quick"]
    seen: set[bytes] = set()
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        while process.poll() is None:
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                with contextlib.suppress(OSError):  # it has just ended
                    seen.add(path.read_bytes())
            time.sleep(0.01)
        said = process.stdout.read() + process.stderr.read()
    assert process.returncode == 0, said
    assert any(b"sequester" in each for each in seen)
    assert not [each for each in seen if PASSWORD.encode() in each]
    assert PASSWORD.encode() not in said


def put_omop(kind, put, folder):
    """Fill a database with the tables of a made OMOP folder, which is beside it, and give its address."""
    (folder / "cdm").mkdir()
    frames = {}
    for name, content in make_omop(persons=40, seed="forty persons").items():
        (folder / "cdm" / name).write_bytes(content)
        frames[name.removesuffix(".parquet")] = pl.read_parquet(folder / "cdm" / name)
    if kind == "sqlite":  # it has no dates
        frames = {name: each.cast({pl.Date: pl.String}) for name, each in frames.items()}
    return put(kind, **frames)


@pytest.mark.parametrize("kind", KINDS)
def test_omop_from_a_database_is_that_from_a_folder(kind, run, put, tmp_path):
    url = put_omop(kind, put, tmp_path)
    database, folder = Omop(locate(url, tmp_path)), Omop(tmp_path / "cdm")
    assert database.events().equals(folder.events())
    assert database.persons().equals(folder.persons())
    tree, other = (
        each.hierarchy().build(folder.events()["concept"], column="c") for each in (database, folder)
    )
    assert tree.labels == other.labels
    assert run("init", url, "--format", "omop").code == 0
    text = (tmp_path / "release.toml").read_text()
    data = tomllib.loads(text)["data"]
    assert (data["path"], data["format"], data["persons"].get("path")) == (url, "omop", None)
    assert data["quasi"]["concept"]["hierarchy"] == {"path": url, "format": "omop"}


# The events are the same whatever the database is, and so is what is made of them.
@pytest.mark.parametrize(
    "kind", ["duckdb", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("sqlite", "postgresql"))]
)
def test_a_release_of_an_omop_database(kind, run, put, tmp_path):
    url = put_omop(kind, put, tmp_path)
    assert run("init", url, "--format", "omop").code == 0
    text = (tmp_path / "release.toml").read_text()
    method = '[data.sensitive.concept]\nprotect = ["HIV"]\n[method]\nname = "halt"\nk = 2\nc = 0.9\np = 1\n'
    (tmp_path / "release.toml").write_text(text.replace("#[data.sensitive.concept]", f"{method}#"))
    done = run("protect", "release.toml", "--quick", "--seed", "sixteen letters!")
    assert done.code == 0, done.err
    assert run("verify", "out/release", "--original", "out/internal/release.toml").code == 0
    assert run("convert", "release.toml", "events.csv").code == 0
    assert (tmp_path / "events.persons.csv").exists()


def test_an_omop_database_without_its_tables(run, put, listing):
    url = put("sqlite")
    before = listing()
    done = run("init", url, "--format", "omop")
    assert done.code == 2
    assert done.errors == [
        "study.db: is no OMOP database, it has no table person".replace("study.db", url),
        "study.db: is no OMOP database, it has no table concept".replace("study.db", url),
    ]
    assert run("init", url, "--format", "omop", "--table", "visits").errors == [
        'table is not for format = "omop", which names its tables'
    ]
    assert run("init", url, "--format", "fhir", "--table", "visits").code == 2
    assert listing() == before


@pytest.mark.parametrize("kind", KINDS)
def test_init_takes_persons_from_a_database(kind, run, put, tmp_path):
    url = put(kind)
    for given in (
        ("--persons-table", "patients"),
        ("--persons", url, "--persons-query", "select * from patients"),
    ):
        done = run("init", url, "--table", "visits", "--sensitive", "ill", "--force", *given)
        assert done.code == 0, done.err
        persons = tomllib.loads((tmp_path / "release.toml").read_text())["data"]["persons"]
        assert persons["path"] == url
        assert persons.get("table", persons.get("query")) in ("patients", "select * from patients")
        assert set(persons["quasi"]) == {"Sex"}
        assert run("inspect", "release.toml").code == 0
    VISITS.write_csv(tmp_path / "visits.csv")
    assert run("init", "visits.csv", "--persons", url, "--persons-table", "patients", "--force").code == 0
    PATIENTS.write_csv(tmp_path / "patients.csv")
    assert run("init", url, "--table", "visits", "--persons", "patients.csv", "--force").code == 0
    assert run("inspect", "release.toml").code == 0


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (("--persons", "sqlite:///study.db"), "--persons: query or table is missing"),
        (("--persons", "patients.csv", "--persons-table", "x"), "--persons: table is for databases"),
        (
            ("--persons-table", "patients", "--persons-query", "select 1"),
            "--persons: query and table are both",
        ),
        (
            ("--persons", "postgresql://ann:pa55@host/db", "--persons-table", "x"),
            "--persons: path has a password",
        ),
    ],
)
def test_wrong_sources_of_persons_are_one_line(given, line, run, put, listing):
    url = put("sqlite")
    before = listing()
    done = run("init", url, "--table", "visits", *given)
    assert (done.code, len(done.errors)) == (2, 1)
    assert done.errors[0].startswith(line)
    assert "pa55" not in done.err
    assert listing() == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_database_is_written_into_parts(kind, run, put, write, tmp_path, listing):
    many = pl.DataFrame(
        {
            "PID": [f"p{number % 900}" for number in range(9_000)],
            "n": [number // 900 for number in range(9_000)],
            "ward": [("x", "y", "z")[number % 3] for number in range(9_000)],
            "ill": ["HIV" if number % 50 == 0 else "gout" for number in range(9_000)],
        }
    )
    address = put(kind, visits=many)
    write(address)
    assert run("convert", "release.toml", "parts", "--partition", 5).code == 0
    parts = [pl.read_parquet(path) for path in sorted((tmp_path / "parts").iterdir())]
    assert len(parts) == 5
    persons = [set(part["PID"]) for part in parts]
    assert sum(map(len, persons)) == len(set().union(*persons)) == 900
    assert pl.concat(parts).sort("PID", "n").equals(many.sort("PID", "n"))
    write("parts", "")
    assert run("protect", "release.toml", "--quick", "--quiet").code == 0
    assert run("verify", "out/release", "--original", "release.toml").code == 0
    # What the database refuses leaves nothing.
    write(address, 'table = "none"')
    before = listing()
    refused = run("convert", "release.toml", "more", "--partition", 5)
    assert refused.code == 2
    assert len(refused.errors) == 1
    assert listing() == before
