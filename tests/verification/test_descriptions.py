"""The description of a release for programs: valid Croissant, and what the certificate says."""

from __future__ import annotations

import dataclasses
import json
import logging

import pytest

from release.samples import Pages, release_of
from sequester.release.release import About
from sequester.verification.verify import verify
from sequester.workflow.write import write
from verification.doctoring import rehash

ABOUT = About(
    title="Clicks of a week",
    publisher="A newspaper",
    contact="data@example.org",
    licence="https://creativecommons.org/licenses/by/4.0/",
    description="Pages that readers opened.",
    created="2026-11-17",
    columns={"page": "The page"},
)


@pytest.fixture(params=[About(), ABOUT], ids=["nothing said", "all said"])
def folder(request, tmp_path):
    release = dataclasses.replace(release_of(), about=request.param)
    return write(release, tmp_path / "out", report=Pages()).path


@pytest.mark.filterwarnings("ignore")
def test_the_library_of_croissant_finds_no_error_and_reads_the_rows(folder):
    mlcroissant = pytest.importorskip("mlcroissant")
    logging.getLogger("absl").setLevel(logging.ERROR)
    dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert not dataset.metadata.issues.errors
    document = json.loads((folder / "croissant.json").read_text())
    assert [field["name"] for field in document["recordSet"][0]["field"]] == ["person", "order", "page"]
    row = next(iter(dataset.records("events")))
    assert row["events/order"] == 1
    assert set(row) == {"events/person", "events/order", "events/page"}


def test_a_doctored_description_is_refused(folder):
    assert verify(folder)
    path = folder / "croissant.json"
    honest = path.read_text()
    for change in (
        lambda document: document.update(name="x"),
        lambda document: document.update(secret="HIV"),
        lambda document: document["recordSet"][0]["field"][0].update(description="Alice"),
        lambda document: document["recordSet"][0].update(data=[{"person": "Alice"}]),
    ):
        document = json.loads(honest)
        change(document)
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
        rehash(folder, describe=False)
        found = verify(folder)
        assert not found
        assert found.lines == ("croissant.json: does not say what the certificate says",)
    path.write_text(honest)
    rehash(folder)
    assert verify(folder)
