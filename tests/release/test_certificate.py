"""The certificate says what the interface says, and is read with suspicion."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from release.samples import release_of
from sequester import __version__
from sequester.data.schema import Protect, Quasi, Sensitive
from sequester.errors import InputError, InternalError
from sequester.hierarchies import Hierarchy
from sequester.release.certificate import Certificate, released_schema
from sequester.release.fields import plain_value, read_document, safe_repr
from sequester.utility.score import Score

HASH = "sha256:" + 64 * "0"
DOCUMENT: dict[str, Any] = {
    "format": 1,
    "software": {"name": "sequester", "version": "1.2"},
    "method": {"name": "halt", "parameters": {"k": 5, "c": 0.7, "p": 3}},
    "claim": {"model": "KCPPrivacy", "parameters": {"k": 5, "protect": {"Disease": ["HIV", "Cancer"]}}},
    "verdict": {"holds": True, "achieved": {"k": 6, "c": 0.5}},
    "counts": {"persons": 3, "events": 7},
    "utility": {"information_loss": {"value": 0.12, "goal": "minimize", "bounds": [0, 1], "means": "share"}},
    "limits": ["what is not promised"],
    "files": {"events.csv": HASH, "hierarchies/ZIP.csv": HASH},
}


def test_the_document_of_the_interface_is_read_and_written_back():
    certificate = Certificate.from_json(json.dumps(DOCUMENT))
    assert json.loads(certificate.to_json()) == DOCUMENT
    assert list(json.loads(certificate.to_json())) == list(DOCUMENT)
    assert certificate.utility["information_loss"].bounds == (0, 1)
    assert certificate.claim["protect"] == {"Disease": ["HIV", "Cancer"]}


ABOUT = {"title": "Visits", "licence": "CC-BY-4.0", "created": "2026-11-17", "columns": {"ZIP": "home"}}
CLAIMED = {"events": {"person": "technical", "order": "technical", "ZIP": "quasi"}}


def test_what_the_publisher_says_is_read_and_written_back():
    document = json.loads(json.dumps(DOCUMENT)) | {"about": ABOUT}
    document["claim"]["columns"] = CLAIMED
    certificate = Certificate.from_json(json.dumps(document))
    assert certificate.about.title == "Visits"
    assert json.loads(certificate.to_json())["about"] == ABOUT


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"title": 1}, "about.title"),
        ({"abstract": "x"}, "abstract"),
        ({"columns": {"name": "x"}}, "must be a column that the claim names"),
        ({"columns": {"ZIP": 1}}, "ZIP"),
    ],
)
def test_what_the_publisher_may_not_say_is_refused(said, words):
    document = json.loads(json.dumps(DOCUMENT)) | {"about": said}
    document["claim"]["columns"] = CLAIMED
    with pytest.raises(InputError, match=words):
        Certificate.from_json(json.dumps(document))


def test_a_release_is_certified_with_its_claim_and_a_rounded_loss():
    certificate = Certificate.of(release_of(loss=0.128), {"events.csv": HASH})
    assert json.loads(certificate.to_json()) == {
        "format": 1,
        "software": {"name": "sequester", "version": __version__},
        "method": {"name": "p2ka", "parameters": {"k": 2, "strict": True}},
        "claim": {
            "model": "SequenceKAnonymity",
            "parameters": {"k": 2, "strict": True},
            "columns": {"events": {"person": "technical", "order": "technical", "page": "symbol"}},
        },
        "verdict": {"holds": True, "achieved": {"k": 2}},
        "counts": {"persons": 5, "events": 11},
        "utility": {
            "information_loss": {
                "value": 0.13,
                "goal": "minimize",
                "bounds": [0, 1],
                "means": "Share of lost items.",
            }
        },
        "limits": ["Records are not truthful."],
        "files": {"events.csv": HASH},
    }


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
numbers = st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
scores = st.builds(
    Score,
    value=numbers,
    goal=st.sampled_from(["minimize", "maximize"]),
    bounds=st.tuples(numbers, st.none() | numbers),
    means=texts,
)
certificates = st.builds(
    Certificate,
    software=texts,
    version=texts,
    method=texts,
    parameters=st.dictionaries(texts, values, max_size=3),
    model=texts,
    claim=st.dictionaries(texts, values, max_size=3),
    holds=st.booleans(),
    achieved=st.dictionaries(texts, numbers, max_size=3),
    persons=st.integers(0, 2**63 - 1),
    events=st.integers(0, 2**63 - 1),
    utility=st.dictionaries(texts, scores, max_size=2),
    limits=st.lists(texts, max_size=3).map(tuple),
    files=st.dictionaries(
        st.text("abc._-", min_size=1).filter(lambda n: n not in (".", "..")), st.just(HASH), max_size=3
    ),
)


@given(certificates)
def test_what_is_written_is_read_back(certificate):
    text = certificate.to_json()
    assert Certificate.from_json(text) == certificate
    assert Certificate.from_json(text.encode()) == certificate
    assert Certificate.from_json(text).to_json() == text


def paths(value: object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every field of the fixed part of the document."""
    found = [path] if path else []
    open_ended = path[-1:] in (("parameters",), ("achieved",), ("files",))
    if isinstance(value, dict) and not open_ended:
        for key, inner in value.items():
            found += paths(inner, (*path, key))
    return found


FIELDS = [path for path in paths(DOCUMENT) if path != ("utility", "information_loss")]


def changed(path: tuple[str, ...], value: object = None, *, remove: bool = False) -> str:
    document = json.loads(json.dumps(DOCUMENT))
    place = document
    for step in path[:-1]:
        place = place[step]
    if remove:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize("path", FIELDS, ids=".".join)
def test_a_missing_field_is_named(path):
    with pytest.raises(InputError) as raised:
        Certificate.from_json(changed(path, remove=True))
    assert str(raised.value) == f"certificate.json: {'.'.join(path)} is missing"


@pytest.mark.parametrize("path", [*FIELDS, ("utility", "information_loss")], ids=".".join)
@pytest.mark.parametrize("value", [None, {"x": [1]}, [[]], "text", -1.5, True])
def test_a_field_of_the_wrong_kind_is_named(path, value):
    text = changed(path, value)
    try:
        Certificate.from_json(text)
    except InputError as error:
        assert str(error).startswith(f"certificate.json: {'.'.join(path)}")  # noqa: PT017
    else:
        # What is left is a value of the right kind.
        honest = DOCUMENT
        for step in path:
            honest = honest[step]
        kinds = (int, float) if isinstance(honest, float) else (type(honest),)
        assert isinstance(value, kinds)


@pytest.mark.parametrize("number", [0, 2, 99])
def test_another_format_is_refused_before_anything_else(number):
    with pytest.raises(InputError, match=rf"^certificate\.json: format must be 1, .* got {number}$"):
        Certificate.from_json(json.dumps({"format": number, "new": "things"}))


def test_fields_that_are_not_known_are_named():
    with pytest.raises(
        InputError, match=r"^certificate\.json: verdict\.signed is not known to this version$"
    ):
        Certificate.from_json(changed(("verdict", "signed"), value=True))
    with pytest.raises(InputError, match=r"certificate\.json: extra is not known"):
        Certificate.from_json(changed(("extra",), "x"))


@pytest.mark.parametrize(
    "value", ["", "sha256:", "md5:" + 32 * "0", "sha256:" + 63 * "0", "sha256:" + 64 * "G", 64 * "0"]
)
def test_a_hash_that_is_none_is_refused(value):
    with pytest.raises(InputError, match=r"files\.events\.csv must be sha256: and 64 hexadecimal digits"):
        Certificate.from_json(changed(("files", "events.csv"), value))


@pytest.mark.parametrize(
    "name", ["../a", "/a", "a/../b", "a\\b", "C:a", "", ".", "a/", "a\n", "certificate.json"]
)
def test_a_file_outside_the_folder_is_refused(name):
    with pytest.raises(InputError, match="files names"):
        Certificate.from_json(changed(("files", name), HASH))


def test_names_of_somebody_else_are_shown_without_harm():
    with pytest.raises(InputError) as raised:
        Certificate.from_json(changed(("\x1b[2J" + "x" * 500,), "x"))
    assert "\x1b" not in str(raised.value)
    assert len(str(raised.value)) < 200
    assert safe_repr("x" * 500).endswith("...")


def test_the_top_of_a_document_is_a_table():
    with pytest.raises(InputError, match=r"^some\.json must be a table, got \[1\]$"):
        read_document("[1]", "some.json")


def test_parameters_become_what_json_has():
    given_values = {
        "c": Fraction(1, 3),
        "set": frozenset({"b", "a"}),
        "tuple": ((1,), "x"),
        "n": np.int64(3),
        "none": None,
    }
    assert plain_value(given_values) == {
        "c": "1/3",
        "set": ["a", "b"],
        "tuple": [[1], "x"],
        "n": 3,
        "none": None,
    }
    with pytest.raises(InternalError, match="cannot hold"):
        plain_value(object())


def test_a_level_that_is_no_number_is_ours_to_fix():
    release = release_of()
    object.__setattr__(release.verdict, "achieved", {"k": "two"})
    with pytest.raises(InternalError, match="achieved must be a number"):
        Certificate.of(release, {})


STAYS = Hierarchy.from_tree({"short": ["1", "2"], "long": ["30"]})


def test_the_schema_of_a_release_has_the_released_part_of_every_tree():
    schema = released_schema(
        {"stay": STAYS.above(["short"])},
        protect={"ill": {"HIV", "Cancer"}, "job": []},
        columns={"ill": ["D1", "D2"]},
        keep=["ward"],
    )
    assert schema.person == "person"
    assert schema.order == "order"
    assert schema.released
    assert schema.quasi == {"stay": Quasi(Hierarchy.from_frame(STAYS.above(["short"])))}
    assert schema.sensitive == {
        "ill": Sensitive(("D1", "D2"), Protect(values=("Cancer", "HIV"))),
        "job": Sensitive(("job",), "all"),
    }
    assert schema.keep == ("ward",)
