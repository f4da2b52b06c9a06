"""Releases of all methods, doctored: verification refuses, or the docs say why it cannot.

Whoever doctors a release computes the hashes, the counts and what is achieved anew. What a recipient cannot
notice is in `UNNOTICED`, and stands for a row of the table in ``docs/release.md``.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sequester.errors import InputError, SequesterWarning
from sequester.methods import METHODS
from sequester.verification.verify import verify
from sequester.workflow.verify import verify_release
from verification import honest
from verification.doctoring import Copy
from verification.forgeries import FORGERIES, HIDDEN, HIERARCHIES, NAME, NotHereError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sequester.verification.claim import Verification
    from verification.honest import Publisher

UNNOTICED = {name: (each.who, each.why) for name, each in FORGERIES.items() if each.who != "recipient"}
"""Forgery to who can notice it, the publisher alone or nobody, and why a recipient cannot."""


MOST = 4
"""Releases to which the quick profile does one thing; it takes others for the next."""
LEAST = 40
"""Things that the quick profile does to each release, however many releases there are."""


def choose() -> dict[str, set[str]]:
    """Choose the releases of the quick profile for each forgery: those that were doctored least so far.

    A release that was chosen too seldom among many is taken beyond `MOST`.
    """
    done: Counter[str] = Counter()
    chosen = {}
    for name, each in FORGERIES.items():
        chosen[name] = set(sorted(each.cases, key=lambda case: (done[case], each.cases.index(case)))[:MOST])
        done.update(chosen[name])
    for case in honest.CASES:
        apply = (name for name, each in FORGERIES.items() if case in each.cases and case not in chosen[name])
        for name in islice(apply, max(LEAST - done[case], 0)):
            chosen[name].add(case)
            done[case] += 1
    return chosen


QUICK = choose()


def cases(*who: str) -> list[object]:
    """Every forgery of this kind with each release to which it applies."""
    return [
        pytest.param(
            case,
            name,
            id=f"{name}-{case}",
            marks=() if case in QUICK[name] else pytest.mark.thorough,
        )
        for name, each in FORGERIES.items()
        if each.who in who
        for case in each.cases
    ]


@pytest.fixture(scope="session")
def houses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Publisher]:
    """Honest releases, made when they are needed first."""

    class Made(dict[str, "Publisher"]):
        def __repr__(self) -> str:
            return "houses"

        def __missing__(self, case: str) -> Publisher:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SequesterWarning)
                self[case] = honest.make(case, tmp_path_factory.mktemp(case))
            return self[case]

    return Made()


def judge(copy: Copy, *, original: bool) -> Verification:
    if original or copy.publisher.name in HIDDEN:
        return verify_release(copy.folder, original=copy.publisher.config)
    return verify(copy.folder)


def answer(copy: Copy, *, original: bool = False) -> str:
    """What verification has against a copy; empty where it has nothing."""
    try:
        found = judge(copy, original=original)
        if not found and found.achieved and not copy.boasts and not copy.publisher.is_stream:
            # A forger asks verification too, and writes what the files achieve.
            copy.achieve(found.achieved)
            found = judge(copy, original=original)
    except InputError as error:
        return str(error)
    return "" if found else "; ".join(found.lines)


def doctor(publisher: Publisher, name: str, place: Path) -> Copy:
    """Make a forgery; skipped where the release has nothing that could be forged so."""
    copy = Copy(publisher, place)
    try:
        FORGERIES[name].change(copy)
        copy.settle()
    except NotHereError:
        pytest.skip("the release has nothing of the kind")
    return copy


@pytest.mark.parametrize("case", honest.CASES)
def test_honest_releases_hold_and_so_do_they_when_written_anew(houses, tmp_path, case):
    copy = Copy(houses[case], tmp_path / "copy")
    for name in copy.tables:
        copy.put(copy.frame(name), name)
    copy.settle()
    assert answer(copy) == ""
    if not houses[case].is_stream:
        assert answer(copy, original=True) == ""


def test_all_methods_are_doctored_in_at_least_forty_ways_each():
    made = {line.split('"')[1] for _, method in honest.CASES.values() for line in method.splitlines()[:1]}
    assert made == set(METHODS)
    done = Counter(case for chosen in QUICK.values() for case in chosen)
    assert {case: done[case] for case in honest.CASES if done[case] < LEAST} == {}


@pytest.mark.parametrize(("case", "name"), cases("recipient"))
def test_a_recipient_notices(houses, tmp_path, case, name):
    copy = doctor(houses[case], name, tmp_path / "copy")
    assert answer(copy) != ""


@pytest.mark.parametrize(
    ("case", "name"), [each for each in cases("publisher") if each.values[0] != "stream"]
)
def test_the_house_notices_with_the_original(houses, tmp_path, case, name):
    copy = doctor(houses[case], name, tmp_path / "copy")
    assert answer(copy, original=True) != ""


@pytest.mark.parametrize(("case", "name"), cases("nobody"))
def test_what_nobody_can_notice_gets_an_answer(houses, tmp_path, case, name):
    copy = doctor(houses[case], name, tmp_path / "copy")
    assert isinstance(answer(copy), str)


# At random.

ODD = (0, 1, 2, -1, 0.5, 10**9, True, False, None, "", "x", NAME, [], {}, [NAME], {"x": NAME}, ["a", "b"])
"""What may stand in the place of something else."""
Way = tuple[str | int, ...]


def paths(value: Any, path: Way = ()) -> Iterator[Way]:
    """Give the ways to everything in a document."""
    yield path
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths(each, (*path, key))


def mutate(document: Any, data: st.DataObject) -> tuple[Any, Way, bool]:
    """Change, delete or repeat something in a document: the new one, where, and whether it is another one."""
    path = data.draw(st.sampled_from(sorted(paths(document), key=str)).filter(bool), label="where")
    how = data.draw(st.sampled_from(["change", "delete", "repeat", "nudge"]), label="how")
    before = json.dumps(document)
    document = json.loads(before)
    parent = document
    for step in path[:-1]:
        parent = parent[step]
    last = path[-1]
    old = parent[last]
    if how == "delete":
        del parent[last]
    elif how == "repeat":
        if isinstance(parent, list):
            parent.append(old)
        else:
            parent[f"{last} "] = old
    elif how == "nudge" and isinstance(old, int | float) and not isinstance(old, bool):
        parent[last] = old + data.draw(st.sampled_from([1, -1, 0.001]))
    elif how == "nudge" and isinstance(old, str):
        parent[last] = data.draw(st.sampled_from([old + " ", old.upper(), old[:-1], old[::-1]]))
    else:
        parent[last] = data.draw(st.sampled_from(ODD), label="to")
    return document, path, json.dumps(document) != before


def fitting(copy: Copy, *, original: bool) -> str:
    copy.settle()
    return answer(copy, original=original)


def house_of(houses: dict[str, Publisher], data: st.DataObject, some: Iterable[str]) -> Publisher:
    return houses[data.draw(st.sampled_from(list(some)), label="case")]


WORDS = {("limits",), ("utility",), ("software",)}
"""What is said to people, which nobody can check; rows of the table that say "nobody"."""
ASKED = {*WORDS, ("method",), ("claim", "parameters", "protect")}
"""What else only the configuration tells."""


def is_below(path: Way, tops: Iterable[Way]) -> bool:
    return any(path[: len(top)] == top for top in tops)


@pytest.mark.parametrize("original", [False, True])
@given(data=st.data())
def test_a_random_change_of_the_certificate_is_noticed(houses, original, data):
    chosen = honest.CASES if not original else [case for case in honest.CASES if case != "stream"]
    with TemporaryDirectory() as place:
        copy = Copy(house_of(houses, data, chosen), Path(place, "copy"))
        document = copy.document
        files = document.pop("files")
        document, path, differs = mutate(document, data)
        # A program's words and a publisher's wishes may be in it; their shape is fixed all the same.
        assume(differs and not is_below(path, WORDS if original else ASKED))
        copy.certificate.write_text(json.dumps({**document, "files": files}))
        copy.boasts = True
        assert answer(copy, original=original) != ""


@pytest.mark.parametrize("original", [False, True])
@given(data=st.data())
def test_a_random_change_of_the_outlines_is_noticed(houses, original, data):
    with TemporaryDirectory() as place:
        copy = Copy(houses["trips"], Path(place, "copy"))
        file = copy.path("regions.geojson")
        document, path, differs = mutate(json.loads(file.read_text()), data)
        # Where an outline lies is the publisher's to say.
        assume(differs and (original or "coordinates" not in path))
        file.write_text(json.dumps(document))
        assert fitting(copy, original=original) != ""


@given(data=st.data())
def test_a_random_cell_of_one_file_alone_is_noticed(houses, data):
    with TemporaryDirectory() as place:
        copy = Copy(house_of(houses, data, honest.CASES), Path(place, "copy"))
        name = data.draw(st.sampled_from(copy.tables), label="table")
        frame = copy.frame(name)
        other = with_cell(frame, data)
        assume(not other.equals(frame))
        if data.draw(st.booleans(), label="csv"):
            other.write_csv(copy.path(f"{name}.csv"))
        else:
            other.write_parquet(copy.path(f"{name}.parquet"))
        assert fitting(copy, original=False) != ""


def with_cell(frame: pl.DataFrame, data: st.DataObject, column: str | None = None) -> pl.DataFrame:
    """Put something else into a cell: what stands in another row, or what stands nowhere."""
    column = column or data.draw(st.sampled_from(frame.columns), label="column")
    row = data.draw(st.integers(0, frame.height - 1), label="row")
    values = frame[column].to_list()
    foreign = (
        [NAME, "z", values[row], f"{values[row]} "]
        if frame[column].dtype == pl.String
        else [0, -1, 99, 2**40]
    )
    values[row] = data.draw(st.sampled_from([*foreign, *values[:3]]), label="to")
    return frame.with_columns(pl.Series(column, values, dtype=frame[column].dtype))


@given(data=st.data())
def test_a_random_cell_that_names_what_is_not_in_the_data_is_noticed_by_the_house(houses, data):
    chosen = [case for case in honest.CASES if case != "stream"]
    with TemporaryDirectory() as place:
        copy = Copy(house_of(houses, data, chosen), Path(place, "copy"))
        name = data.draw(st.sampled_from(copy.tables), label="table")
        frame = copy.frame(name)
        # What a snapshot is called is the publisher's.
        texts = [each for each in frame.columns if frame[each].dtype == pl.String and each != "time"]
        column = data.draw(st.sampled_from(texts), label="column")
        row = data.draw(st.integers(0, frame.height - 1), label="row")
        copy.put(
            frame.with_columns(pl.Series(column, [*frame[column][:row], NAME, *frame[column][row + 1 :]])),
            name,
        )
        assert fitting(copy, original=True) != ""


@given(data=st.data())
def test_a_random_cell_outside_its_hierarchy_or_numbering_is_noticed(houses, data):
    with TemporaryDirectory() as place:
        copy = Copy(house_of(houses, data, honest.CASES), Path(place, "copy"))
        name = data.draw(st.sampled_from(copy.tables), label="table")
        frame = copy.frame(name)
        bound = [each for each in frame.columns if each in {"order", "group", "count", *copy.trees()}]
        column = data.draw(st.sampled_from(bound), label="column")
        other = with_cell(frame, data, column)
        assume(not other.equals(frame))
        copy.put(other, name)
        known = set(frame[column]) >= set(other[column])
        if known and column not in {"order", "count"}:
            # Something else that is possible: then only whether the promise is kept can be seen.
            return
        assert fitting(copy, original=False) != ""


@given(data=st.data())
def test_a_random_row_of_a_hierarchy_is_noticed_by_the_house(houses, data):
    with TemporaryDirectory() as place:
        copy = Copy(house_of(houses, data, HIERARCHIES), Path(place, "copy"))
        file = copy.trees()[data.draw(st.sampled_from(sorted(copy.trees())), label="column")]
        header, *lines = file.read_text().splitlines()
        row = data.draw(st.integers(0, len(lines) - 1), label="row")
        how = data.draw(st.sampled_from(["change", "delete", "repeat", "move"]), label="how")
        changed = list(lines)
        if how == "delete":
            del changed[row]
        elif how == "repeat":
            changed.append(lines[row])
        elif how == "move":
            changed.append(changed.pop(row))
        else:
            cells = lines[row].split(";")
            others = [cell for line in lines for cell in line.split(";")]
            cells[data.draw(st.integers(0, 2))] = data.draw(
                st.sampled_from([NAME, "0", "-1", "999", "1.0", "", *others])
            )
            changed[row] = ";".join(cells)
        assume(changed != lines)
        file.write_text("\n".join([header, *changed, ""]))
        assert fitting(copy, original=True) != ""
