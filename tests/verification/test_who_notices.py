"""Who notices what a publisher changes and certifies anew; docs/release.md lists what `verify` does not."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sequester.errors import InputError
from sequester.privacy.model import RecordModel
from sequester.release.certificate import rebuild_table
from sequester.release.folder import read_certificate
from sequester.verification.claim import claimed_model
from sequester.verification.contents import read_release
from verification.doctoring import edit_certificate, rehash
from verification.published import Published, publish

PAGE = Path(__file__).parents[2] / "docs" / "release.md"
ALONE, ORIGINAL, NOBODY = "`verify`", "`verify --original`", "nobody"
ROWS = {}


def row(name, case, who):
    """Put a way to change a release into the table: `who` notices it."""

    def add(change):
        ROWS[name] = (case, who, change)
        return change

    return add


def edits(*path, to):
    """Change one member of the certificate."""

    def change(folder):
        def edit(document):
            for step in path[:-1]:
                document = document[step]
            document[path[-1]] = to

        edit_certificate(folder, edit)

    return change


def put(folder, change, table="events"):
    """Change a table, and certify it anew with what it achieves."""
    frame = change(pl.read_parquet(folder / f"{table}.parquet"))
    frame.write_parquet(folder / f"{table}.parquet")
    frame.write_csv(folder / f"{table}.csv")
    certify(folder)


def certify(folder):
    """Write hashes, counts and what is achieved as an honest certificate would have them."""
    rehash(folder)
    main = next(
        pl.read_parquet(path)
        for name in ("events", "records")
        if (path := folder / f"{name}.parquet").exists()
    )
    counts = {"events": main.height}
    if "person" in main.columns:
        counts = {"persons": main["person"].n_unique(), **counts}
    edit_certificate(folder, lambda document: document.update(counts=counts))
    try:
        certificate, _ = read_certificate(folder)
        model = claimed_model(certificate)
        contents, _ = read_release(folder, certificate, ours=True)
        if contents is None:
            return
    except InputError:
        return
    verdict = (
        model.check_tables(contents.tables)
        if isinstance(model, RecordModel)
        else model.check(rebuild_table(contents.tables, certificate, contents.hierarchies))
    )
    edit_certificate(folder, lambda document: document["verdict"].update(achieved=dict(verdict.achieved)))


def rewrite(name, change):
    """Change a text file, and certify it anew."""

    def apply(folder):
        path = folder / name
        path.write_bytes(change(path.read_bytes()))
        certify(folder)

    return apply


# The certificate.
ROWS |= {
    "`format`": ("p2ka", ALONE, edits("format", to=2)),
    "`software.name`, or text in `software.version`": (
        "p2ka",
        ALONE,
        edits("software", "version", to="Ann has HIV"),
    ),
    "another number in `software.version`": ("p2ka", NOBODY, edits("software", "version", to="99.1")),
    "`method.name`": ("p2ka", ORIGINAL, edits("method", "name", to="prefix-pruning")),
    "a parameter of `method` that the claim has too": (
        "p2ka",
        ALONE,
        edits("method", "parameters", "k", to=9),
    ),
    "any other member of `method.parameters`": (
        "halt",
        ORIGINAL,
        edits("method", "parameters", "note", to="Ann"),
    ),
    "`verdict.holds`": ("p2ka", ALONE, edits("verdict", "holds", to=False)),
    "`verdict.achieved`": ("halt", ALONE, edits("verdict", "achieved", to={"k": 9, "c": 0.0})),
    "`counts`": ("p2ka", ALONE, edits("counts", "persons", to=5)),
    "the value or the words of `utility.information_loss`": (
        "p2ka",
        NOBODY,
        edits("utility", "information_loss", "value", to=0.01),
    ),
    "another measure in `utility`": (
        "p2ka",
        ALONE,
        edits("utility", "sim1", to={"value": 1, "goal": "maximize", "bounds": [0, 1], "means": "Ann"}),
    ),
    "`limits`": ("p2ka", NOBODY, edits("limits", to=["Nothing is left to fear."])),
    "`files`: a file that is not there, or another hash": (
        "p2ka",
        ALONE,
        edits("files", "events.csv", to="sha256:" + 64 * "0"),
    ),
    "a member that no certificate has, at any depth": ("p2ka", ALONE, edits("claim", "note", to="Ann")),
}


@row("a weaker parameter of `claim`, in `method` too", "halt", ORIGINAL)
def ask_for_less(folder):
    def change(document):
        document["claim"]["parameters"]["p"] = document["method"]["parameters"]["p"] = 1

    edit_certificate(folder, change)
    certify(folder)


@row("`claim.model`", "cblda", ORIGINAL)
def promise_less(folder):
    def change(document):
        document["claim"]["model"] = "KCPPrivacy"
        document["claim"]["parameters"].pop("reading")
        document["claim"]["parameters"].update(p=1, levels="same", stars="counted")

    edit_certificate(folder, change)
    certify(folder)


@row("`claim.parameters.protect`: a value is left out or added", "halt", ORIGINAL)
def protect_less(folder):
    edit_certificate(folder, lambda d: d["claim"]["parameters"]["protect"].update(ill=["HIV"]))
    certify(folder)


@row("`claim.columns`: a column is left out, or one is named that is not there", "halt", ALONE)
def forget_a_column(folder):
    edit_certificate(folder, lambda d: d["claim"]["columns"]["events"].pop("ward"))


@row("`claim.columns`: a quasi-identifier becomes a kept column, without its hierarchy", "halt", ORIGINAL)
def call_it_kept(folder):
    (folder / "hierarchies" / "stay.csv").unlink()

    def change(document):
        columns = document["claim"]["columns"]["events"]
        columns.pop("stay")
        columns["stay"] = "keep"

    edit_certificate(folder, change)
    put(folder, lambda frame: frame.select(*(name for name in frame.columns if name != "stay"), "stay"))


@row("`claim.columns`: a sensitive column becomes a kept one", "anatomy", ALONE)
def call_it_harmless(folder):
    edit_certificate(folder, lambda d: d["claim"]["columns"]["values"].update(letter="keep"))


@row("`claim.columns` is missing, as in releases of older versions", "p2ka", ALONE)
def as_before(folder):
    edit_certificate(folder, lambda d: d["claim"].pop("columns"))


# The tables.
@row("a column is added to a table", "anatomy", ALONE)
def add_names(folder):
    put(folder, lambda frame: frame.with_columns(name=pl.lit("Ann"), letter=pl.lit("a")), "records")


@row("a column is added to a table, and named in the claim as a kept one", "halt", ORIGINAL)
def claim_names(folder):
    put(folder, lambda frame: frame.with_columns(name=pl.lit("Ann")))
    edit_certificate(folder, lambda document: document["claim"]["columns"]["events"].update(name="keep"))
    certify(folder)


@row("the sensitive attribute is added to `records`, under any role", "anatomy", ALONE)
def tell_values(folder):
    values = pl.read_parquet(folder / "values.parquet")
    attribute = values.columns[1]

    def change(frame):
        told = frame.select("group").join(values.unique("group"), on="group")[attribute]
        return frame.insert_column(1, told)

    put(folder, change, "records")
    labels = sorted(set(values[attribute]))
    rows = ["node;parent;leaves", f"*;;{len(labels)}", *(f"{label};*;1" for label in labels), ""]
    (folder / "hierarchies").mkdir(exist_ok=True)
    (folder / "hierarchies" / f"{attribute}.csv").write_text("\n".join(rows))

    def claim(document):
        roles = document["claim"]["columns"]["records"]
        first, *rest = roles.items()
        document["claim"]["columns"]["records"] = dict([first, (attribute, "quasi"), *rest])

    edit_certificate(folder, claim)
    certify(folder)


@row("a value, a person or a record that breaks the promise", "p2ka", ALONE)
def add_a_person(folder):
    lonely = pl.DataFrame({"person": ["pffffffffffffffff"], "order": [1], "symbol": ["secret"]})
    put(folder, lambda frame: pl.concat([frame, lonely]))


@row("other quotes, line ends, blank lines or comments in a CSV file", "p2ka", ALONE)
def quote(folder):
    rewrite("events.csv", lambda text: text.replace(b",a\n", b',"a"\n'))(folder)


@row("the CSV file of a table differs from its Parquet file", "p2ka", ALONE)
def differ(folder):
    rewrite("events.csv", lambda text: text.replace(b",a\n", b",b\n", 1))(folder)


@row("metadata in a Parquet file", "p2ka", ALONE)
def annotate(folder):
    frame = pl.read_parquet(folder / "events.parquet")
    frame.write_parquet(folder / "events.parquet", metadata={"name": "Ann"})
    certify(folder)


@row("labels in a dictionary of a Parquet file that no row has", "p2ka", ALONE)
def remember(folder):
    frame = pl.read_parquet(folder / "events.parquet")
    codes = pa.DictionaryArray.from_arrays(
        pa.array(range(frame.height), pa.int32()), pa.array([*frame["symbol"], "Ann has HIV"])
    )
    table = frame.to_arrow().set_column(2, "symbol", codes)
    pq.write_table(table, folder / "events.parquet", store_schema=False)
    certify(folder)


@row("bytes between or behind the parts of a Parquet file", "p2ka", ALONE)
def hide(folder):
    def change(data):
        end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        return data[:end] + b"Ann has HIV" + data[end:]

    rewrite("events.parquet", change)(folder)


@row("persons or records in another order, or groups numbered otherwise", "p2ka", ALONE)
def turn(folder):
    put(folder, lambda frame: frame.sort("person", "order", descending=[True, False]))


@row("a name instead of a pseudonym", "p2ka", ALONE)
def name(folder):
    put(folder, lambda frame: frame.with_columns(pl.col("person").str.replace("^p", "Ann ")))


@row("another pseudonym of the right form", "p2ka", ORIGINAL)
def rename(folder):
    put(
        folder,
        lambda frame: frame.with_columns(pl.col("person").str.replace("^p.", "p0")).sort("person", "order"),
    )


@row("one person is released as several", "p2ka", ORIGINAL)
def double(folder):
    again = pl.col("person").str.replace(r"^p(.{15}).", "p${1}0")
    put(folder, lambda frame: pl.concat([frame, frame.with_columns(again)]).unique().sort("person", "order"))


@row("a sensitive or kept value that the original does not have so often", "halt", ORIGINAL)
def heal(folder):
    put(folder, lambda frame: frame.with_columns(ward=pl.lit("north")))


@row("sensitive and kept values that change places, while the promise is kept", "halt", NOBODY)
def swap(folder):
    kept = ["D1", "D2", "ward"]
    put(folder, lambda frame: frame.with_columns(frame.select(kept).reverse()))


@row("quasi-identifiers that become other released ones, while the promise is kept", "halt", NOBODY)
def exchange(folder):
    other = {"short": "long", "long": "short", "1": "30", "30": "1"}
    put(folder, lambda frame: frame.with_columns(pl.col("stay").replace(other)))


@row("persons or events that are left out, while the promise is kept", "halt", NOBODY)
def shorten(folder):
    def without_one_class(frame):
        pairs = frame.group_by("person", maintain_order=True).agg(pl.exclude("order"))
        alike = pairs.group_by("letter", "stay").agg("person").sort(pl.col("person").list.len())
        return frame.filter(~pl.col("person").is_in(alike["person"][-1].to_list()[:1]))

    put(folder, without_one_class)


@row("the name of a snapshot in `time`", "anatomy", NOBODY)
def postpone(folder):
    put(folder, lambda frame: frame.with_columns(pl.col("time").replace({"4": "5"})), "records")


@row("a group whose records differ in a quasi-identifier (`generalize`)", "generalize", ALONE)
def reveal(folder):
    put(
        folder,
        lambda frame: frame.with_columns(age=pl.Series(["1", "2", "3"] * 10).head(frame.height)),
        "records",
    )


@row("`count` in `values`, or a group in one table only", "anatomy", ALONE)
def miscount(folder):
    put(folder, lambda frame: frame.with_columns(pl.col("count") + 1), "values")


# The other files.
@row("a node of a hierarchy that is not at or above a released value", "halt", ALONE)
def tell_more(folder):
    rewrite("hierarchies/stay.csv", lambda text: text + b"Ann;*;1\n")(folder)


@row("a hierarchy of a column that has none, or none for a quasi-identifier", "halt", ALONE)
def add_a_tree(folder):
    (folder / "hierarchies" / "ward.csv").write_text("node;parent;leaves\n*;;1\n")
    certify(folder)


@row("a hierarchy of a symbol that nobody asked for", "p2ka", ORIGINAL)
def _(folder):
    labels = sorted(set(pl.read_parquet(folder / "events.parquet")["symbol"]))
    rows = ["node;parent;leaves", f"*;;{len(labels)}", *(f"{label};*;1" for label in labels), ""]
    (folder / "hierarchies").mkdir()
    (folder / "hierarchies" / "symbol.csv").write_text("\n".join(rows))
    rehash(folder)


@row("another parent or number of leaves in a hierarchy", "halt", ORIGINAL)
def count_leaves(folder):
    rewrite("hierarchies/stay.csv", lambda text: re.sub(rb"\*;;\d+", b"*;;77", text))(folder)


@row("a property, a member or an outline in `regions.geojson` that is no region's", "regions", ALONE)
def describe(folder):
    def change(text):
        document = json.loads(text)
        document["features"][0]["properties"]["name"] = "Ann lives here"
        return json.dumps(document).encode()

    rewrite("regions.geojson", change)(folder)


@row("an outline of the right form in another place", "regions", ORIGINAL)
def move(folder):
    def change(text):
        document = json.loads(text)
        ring = document["features"][0]["geometry"]["coordinates"][0]
        ring[:] = [[round(lon + 1, 6), lat] for lon, lat in ring]
        return (json.dumps(document, ensure_ascii=False) + "\n").encode()

    rewrite("regions.geojson", change)(folder)


@row("an event log that says more or other than the table", "log", ALONE)
def comment(folder):
    rewrite("events.xes", lambda text: text.replace(b"</log>", b"<!-- Ann --></log>"))(folder)


@row("`report.html`", "p2ka", NOBODY)
def praise(folder):
    rewrite("report.html", lambda text: text + b"<p>Ann has HIV</p>")(folder)


@row("a file that no release has", "p2ka", ALONE)
def enclose(folder):
    (folder / "names.csv").write_text("p1,Ann\n")
    certify(folder)


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """Every release that is changed, made once."""
    folder = tmp_path_factory.mktemp("published")
    return {case: publish(case, folder) for case in sorted({case for case, *_ in ROWS.values()})}


@pytest.mark.parametrize("change", ROWS)
def test_who_notices(change, originals, tmp_path):
    case, who, apply = ROWS[change]
    made = originals[case]
    shutil.copytree(made.folder.parent, tmp_path / "out")
    doctored = Published(tmp_path / "out" / "release", made.table, made.method, made.model)
    before = {path: path.read_bytes() for path in doctored.folder.rglob("*") if path.is_file()}
    apply(doctored.folder)
    assert before != {path: path.read_bytes() for path in doctored.folder.rglob("*") if path.is_file()}
    assert (noticed(doctored, original=False), noticed(doctored, original=True)) == {
        ALONE: (True, True),
        ORIGINAL: (False, True),
        NOBODY: (False, False),
    }[who]


def noticed(doctored, *, original):
    try:
        return not doctored.verify(original=original)
    except InputError:
        return True


def test_the_table_in_the_docs_is_the_one_that_is_tried():
    section = PAGE.read_text(encoding="utf-8").partition("## Who notices")[2].partition("\n## ")[0]
    told = dict(
        re.findall(r"^\| (.+?) \| (nobody|`verify --original`)(?=[ ,|:]).*\|$", section, re.MULTILINE)
    )
    assert told == {name: who for name, (_, who, _) in ROWS.items() if who != ALONE}
