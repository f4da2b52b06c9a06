"""A release whose other sensitive attributes may be known is verified from its files, and a forgery named."""

from __future__ import annotations

import polars as pl

from methods.test_persons import apply
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.hierarchies import Hierarchy
from sequester.methods import HALT
from sequester.verification.verify import verify
from sequester.workflow.write import write
from verification.doctoring import edit_certificate, rehash, replace_table


def written(tmp_path):
    rows = [("AZT", "HIV")] * 4 + [("none", "flu")] * 4 + [("none", "HIV"), ("AZT", "flu")]
    frame = pl.DataFrame(
        {
            "who": [str(number) for number in range(10)],
            "n": 1,
            "ward": ["x", "y"] * 5,
            "drug": [drug for drug, _ in rows],
            "ill": [ill for _, ill in rows],
        }
    )
    schema = Schema("who", "n", quasi={"ward": Hierarchy.flat()}, sensitive={"drug": ["AZT"], "ill": ["HIV"]})
    table = EventTable(frame, schema)
    release = apply(HALT(k=2, c=0.6, p=2, sensitive_known=True), table)
    return write(release, tmp_path / "out", original=table).path, table


def test_the_files_keep_the_promise_and_fit_the_original(tmp_path):
    folder, table = written(tmp_path)
    assert verify(folder, original=table)
    frame = pl.read_csv(folder / "events.csv")
    assert "*" in frame["drug"].to_list() + frame["ill"].to_list()
    # A value that the original has less often is found, and stars are not.
    column = "ill" if "*" in frame["drug"].to_list() else "drug"
    forged = frame.cast(pl.String).cast({"order": pl.Int64}).with_columns(pl.lit("HIV").alias(column))
    replace_table(folder, forged)
    assert "the original has" in verify(folder, original=table).lines[0]


def test_one_value_too_many_is_the_witness(tmp_path):
    folder, table = written(tmp_path)
    frame = pl.read_csv(folder / "events.csv").cast({"person": pl.String})
    replace_table(folder, frame.with_columns(table.frame["drug"], table.frame["ill"]))
    verified = verify(folder)
    assert not verified
    assert any("drug = AZT: ill = HIV for 4 of 5 persons" in line for line in verified.lines)
    # To claim less is found, too, by the method's parameters.
    edit_certificate(folder, lambda document: document["claim"]["parameters"].pop("sensitive_known"))
    rehash(folder)
    assert not verify(folder, original=table, model=HALT(k=2, c=0.6, p=2, sensitive_known=True).model())
