"""Parts of a series on disk: checked together, joined, and refused where they do not belong together."""

from __future__ import annotations

import json
import shutil
import warnings

import polars as pl
import pytest

import sequester as sq
from sequester.errors import InputError, SequesterWarning
from sequester.release.series import Series
from verification.doctoring import edit_certificate, rehash

METHOD = sq.HALT(k=2, c="1/2", p=2)


def events(rows):
    schema = {"who": pl.String, "n": pl.Int64, "ward": pl.String, "ill": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


YEARS = [
    [(who, 1, ward, "flu") for who, ward in zip("abcd", "xxyy", strict=True)],
    [("a", 2, "x", "HIV"), ("b", 2, "x", "flu"), ("e", 2, "y", "flu"), ("f", 2, "y", "flu")],
    [("c", 3, "y", "flu"), ("d", 3, "y", "flu"), ("e", 3, "z", "flu")],
]


def table(*years, persons=False):
    flat = sq.Hierarchy.from_edges([("x", "*"), ("y", "*"), ("z", "*")])
    schema = sq.Schema(person="who", order="n", quasi={"ward": flat}, sensitive={"ill": ["HIV"]})
    frame = events([row for year in years for row in YEARS[year]])
    own = None
    if persons:
        keys = frame["who"].unique().sort()
        sexes = {"who": keys, "sex": ["f" if key in "abe" else "m" for key in keys]}
        sex = sq.Hierarchy.from_edges([("f", "*"), ("m", "*")])
        own = sq.Persons(pl.DataFrame(sexes), quasi={"sex": sex})
    return sq.EventTable(frame, schema, own)


def publish(folder, *, persons=False, whole=False):
    """Write three parts; `whole` gives old and new events together."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        for year in range(3):
            years = range(year + 1) if whole else [year]
            how = {"continues": folder / str(year - 1)} if year else {"series": True}
            release = METHOD.apply(table(*years, persons=persons), seed=f"of the year number {year}", **how)
            sq.write(release, folder / str(year))
    return folder


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    return publish(tmp_path_factory.mktemp("series"))


@pytest.fixture
def series(published, tmp_path):
    shutil.copytree(published, tmp_path, dirs_exist_ok=True)
    return tmp_path


def part(series, number):
    return series / str(number) / "release"


def together(series):
    return sq.verify(part(series, 2), earlier=[series / "0", series / "1"])


def test_each_part_is_checked_with_those_before_it(series):
    found = together(series)
    assert found.holds, found.lines
    assert found.achieved["k"] >= 2
    assert found.parts == (3, 3)
    assert not any("--with" in line for line in found.not_checked)
    assert sq.verify(part(series, 1), earlier=[part(series, 0)]).holds
    assert sq.verify(part(series, 0)).achieved["k"] == 2


def test_a_part_alone_says_what_was_not_checked(series):
    found = sq.verify(part(series, 2))
    assert found.holds
    assert found.achieved == {}
    assert found.not_checked[0].startswith("Not checked without --with: this is part 3 of a series")


def test_a_part_has_only_what_is_new_and_names_what_it_continues(series):
    first, second = (json.loads((part(series, n) / "certificate.json").read_bytes()) for n in (0, 1))
    assert first["series"] == {"part": 1}
    own = sq.verify(part(series, 0)).certificate_sha256
    assert second["series"] == {"part": 2, "continues": own}
    assert second["counts"] == {"persons": 4, "events": 4}
    assert first["claim"] == second["claim"]


def test_the_parts_are_joined_by_pseudonym(series):
    opened = sq.open(*(series / str(n) for n in range(3)))
    assert opened.frame["person"].n_unique() == 6
    lengths = opened.frame.group_by("person", maintain_order=True).agg("order", "ward")
    assert all(order == list(range(1, len(order) + 1)) for order in lengths["order"].to_list())
    assert opened.certificate.series.part == 3
    assert opened.expected_count(ward="x") == 4.0


def test_old_and_new_events_together_give_the_same_parts(published, tmp_path):
    whole = publish(tmp_path, whole=True)
    for number in range(3):
        one, other = (pl.read_parquet(part(each, number) / "events.parquet") for each in (published, whole))
        assert one.drop("person").sort("ward", "ill").equals(other.drop("person").sort("ward", "ill"))


def test_persons_have_their_attributes_in_the_part_they_enter_with(tmp_path):
    series = publish(tmp_path, persons=True)
    assert together(series).holds
    heights = [pl.read_parquet(part(series, n) / "persons.parquet").height for n in range(3)]
    assert sum(heights) == sq.open(*(series / str(n) for n in range(3))).persons.height
    assert heights[0] == 4
    document = pl.read_csv(part(series, 0) / "persons.csv")
    document.write_csv(part(series, 2) / "persons.csv")
    document.write_parquet(part(series, 2) / "persons.parquet")
    tree = (part(series, 0) / "hierarchies" / "sex.csv").read_bytes()
    (part(series, 2) / "hierarchies" / "sex.csv").write_bytes(tree)
    rehash(part(series, 2))
    everybody = {*document["person"], *pl.read_csv(part(series, 2) / "events.csv")["person"]}
    edit_certificate(part(series, 2), lambda each: each["counts"].update(persons=len(everybody)))
    assert any("have attributes in several parts" in line for line in together(series).lines)


def test_a_missing_part_is_refused(series):
    with pytest.raises(InputError, match="part 2 of the series missing"):
        sq.verify(part(series, 2), earlier=[series / "0"])
    with pytest.raises(InputError, match="part 1 of the series missing"):
        sq.open(series / "1", series / "2")


def test_parts_in_the_wrong_order_are_refused(series):
    with pytest.raises(InputError, match="must be given from the first to the last"):
        sq.verify(part(series, 2), earlier=[series / "1", series / "0"])
    with pytest.raises(InputError, match="must be given from the first to the last"):
        sq.open(series / "2", series / "0", series / "1")


def test_a_part_of_another_series_is_refused(series, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        sq.write(METHOD.apply(table(0), seed="quite another seed here", series=True), tmp_path / "other")
    found = sq.verify(part(series, 1), earlier=[tmp_path / "other"])
    assert not found.holds
    assert "does not continue" in found.lines[0]
    assert "another series" in found.lines[0]
    with pytest.raises(InputError, match="does not continue"):
        sq.open(tmp_path / "other", series / "1")


def test_a_release_of_no_series_is_refused(series, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        sq.write(METHOD.apply(table(0), seed="quite another seed here"), tmp_path / "alone")
    with pytest.raises(InputError, match="is not part of a series"):
        sq.verify(part(series, 1), earlier=[tmp_path / "alone"])
    with pytest.raises(InputError, match="the release is not of a series"):
        Series.read(tmp_path / "alone")


def test_a_doctored_old_part_is_named_with_and_without_new_hashes(series):
    path = part(series, 0) / "events.csv"
    path.write_text(path.read_text().replace("x", "y"))
    found = together(series)
    assert not found.holds
    assert any("0: events.csv: is not the certified file" in line for line in found.lines)
    with pytest.raises(InputError, match="is not the certified file"):
        Series.read(series / "0")
    frame = pl.read_parquet(part(series, 0) / "events.parquet").with_columns(ward=pl.lit("y"))
    frame.write_parquet(part(series, 0) / "events.parquet")
    frame.write_csv(path)
    rehash(part(series, 0))
    found = together(series)
    assert not found.holds


def test_a_certificate_that_was_changed_breaks_the_chain(series):
    edit_certificate(part(series, 0), lambda document: document["limits"].append("nothing"))
    found = together(series)
    assert "its certificate was changed" in found.lines[0]
    with pytest.raises(InputError, match="internal/ belongs to another release"):
        Series.read(series / "0")


def one_short(series):
    """Take the new event of one person out of part 2, and certify it anew."""
    frame = pl.read_parquet(part(series, 1) / "events.parquet")
    alone = frame.filter(pl.col("ill") == "HIV")["person"][0]
    frame = frame.filter((pl.col("person") != alone) | (pl.col("ward") == "x"))
    kept = frame.filter(~((pl.col("ward") == "x") & (pl.col("person") != alone)))
    kept.write_parquet(
        part(series, 1) / "events.parquet", compression="zstd", statistics=True, row_group_size=128 * 1024
    )
    kept.write_csv(part(series, 1) / "events.csv", line_terminator="\n", quote_style="necessary")
    rehash(part(series, 1))
    counts = {"persons": kept["person"].n_unique(), "events": kept.height}
    edit_certificate(part(series, 1), lambda document: document.update(counts=counts))


def test_a_part_that_is_one_person_short_is_named_with_its_witness(series):
    one_short(series)
    found = sq.verify(part(series, 1), earlier=[series / "0"])
    assert not found.holds
    assert "ward = x → ward = x: 1 person" in found.lines


def test_another_claim_or_hierarchy_does_not_fit(series):
    edit_certificate(part(series, 1), lambda document: document["claim"]["parameters"].update(k=3))
    found = sq.verify(part(series, 1), earlier=[series / "0"])
    assert any("its claim is not that of" in line for line in found.lines)


def test_a_series_is_continued_from_internal_files_alone(series):
    shutil.rmtree(series / "0")
    past = Series.read(series / "2")
    assert past.part == 3
    assert [row["part"] for row in past.history] == [1, 2, 3]
    (series / "2" / "internal" / "series.json").unlink()
    with pytest.raises(InputError, match=r"cannot be continued: no internal/series\.json"):
        Series.read(series / "2")


@pytest.mark.parametrize(
    ("series_field", "reason"),
    [
        ({"part": 0}, "must be at least 1"),
        ({"part": 2}, "continues is missing"),
        ({"part": 1, "continues": "sha256:" + 64 * "0"}, "continues is not known"),
        ({"part": 2, "continues": "sha256:12"}, "64 hexadecimal digits"),
        ({"part": 2, "continues": "sha256:" + 64 * "0", "more": 1}, "more is not known"),
    ],
)
def test_a_strange_place_in_a_series_is_refused(series, series_field, reason):
    edit_certificate(part(series, 1), lambda document: document.update(series=series_field))
    with pytest.raises(InputError, match=reason):
        sq.verify(part(series, 1))
