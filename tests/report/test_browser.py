"""In a real browser, on a phone and on a desk, light and dark, nothing is cut, faint or fetched."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import polars as pl
import pytest

from report.browser import Look, find_browser, print_page
from sequester.attacks.risk import Proportion, Risk
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.explanation import Explanation, Reason, Relaxation
from sequester.hierarchies import Hierarchy
from sequester.report import external_page, internal_page
from sequester.report.findings import Findings, Timings
from sequester.report.page import internal_document
from sequester.utility.score import Score

PHONE, DESK = 390, 1280
LONG = "a" * 60 + " " + "b " * 40
EVIL = "<script>window.pwned=1</script><img src=/evil onerror=parent.pwned=1><style>@import '/evil'</style>"
SECRET = "SECRET-OF-THE-HOUSE"


def risks():
    for kind in ("anywhere", "ordered", "event", EVIL):
        for known in (1, 2, 3):
            for name, bound in (("marketer", 0.2), ("unique", 0.0), ("confidence", None), (EVIL, 0.5)):
                raw = Proportion(0.1 * known, (0.08 * known, 0.12 * known))
                control = Proportion(0.01, (0.0, 0.02))
                value = 0.0 if name == "unique" else 0.02 * known
                yield Risk(
                    value,
                    (0.0, 0.1),
                    0.001,
                    control,
                    raw=raw,
                    name=name,
                    kind=kind,
                    known=known,
                    bound=bound,
                    targets=99,
                )


@pytest.fixture(scope="session")
def pages(make_release):
    """Both pages of a release with everything that can be hostile or long, and of a plain one."""
    labels = [EVIL, LONG, "c", "d" * 200, "short", '"><svg onload=parent.pwned=1>']
    frame = pl.DataFrame(
        {
            "person": [f"p{i // 3:04}" for i in range(60)],
            "order": [i % 3 + 1 for i in range(60)],
            "ZIP": [["56***", "*", "7****"][i % 3] for i in range(60)],
            EVIL: [labels[i % 6] for i in range(60)],
        }
    )
    original = pl.DataFrame(
        {
            "who": [f"q{i // 3}" for i in range(60)],
            "n": [i % 3 for i in range(60)],
            "ZIP": [["56001", "56002", "70000"][i % 3] for i in range(60)],
            EVIL: [labels[i % 6] for i in range(60)],
        }
    )
    quasi = {"ZIP": Hierarchy.mask([2, 1])}
    table = EventTable(original, Schema(person="who", order="n", quasi=quasi, sensitive={EVIL: [labels[2]]}))
    tree = pl.DataFrame(
        {"node": ["*", "5****", "56***", "7****"], "parent": ["", "*", "5****", "*"], "leaves": [3, 2, 2, 1]}
    )
    release = make_release(
        tables={"events": frame},
        schema=Schema(
            person="person", order="order", quasi=quasi, sensitive={EVIL: [labels[2]]}, released=True
        ),
        hierarchies={"ZIP": tree},
        method=EVIL,
        parameters={EVIL: [EVIL, LONG], "k": 3},
        limits=(EVIL, LONG),
        warnings=(EVIL, LONG, SECRET),
        utility={
            "information_loss": Score(
                value=0.4321987, goal="minimize", bounds=(0, 1), means=LONG, formula=LONG
            ),
            EVIL: Score(
                value=1e9 / 7, goal="maximize", bounds=(0, None), means=EVIL, formula=EVIL, reference=EVIL
            ),
            SECRET: Score(value=0.987654, goal="maximize", bounds=(0, 1), means=SECRET),
        },
        changes=pl.DataFrame({"person": ["q1"] * 12, "what": [EVIL, SECRET] * 6, EVIL: [LONG] * 12}),
        evidence={"evidence": pl.DataFrame({EVIL: [EVIL], **{f"column {i}": [LONG] for i in range(12)}})},
    )
    reason = Reason(
        constraint=EVIL, change=EVIL, persons=3, events=4, text=EVIL, examples=(EVIL, LONG, SECRET)
    )
    relaxation = Relaxation(parameter="k", asked=3, relaxed=2, kept=1, of=2, unit="events", text=EVIL)
    findings = Findings(
        risks=tuple(risks()),
        explanation=Explanation(reasons=(reason,), relaxations=(relaxation,), notes=(EVIL, SECRET)),
        timings=Timings(phases={EVIL: 1.5, LONG: 90.0}, peak_bytes=10**9),
    )
    plain = make_release([tuple("abc")] * 4)
    return {
        "external": external_page(release),
        "internal": internal_page(release, original=table, findings=findings),
        "plain-external": external_page(plain),
        "plain-internal": internal_page(plain),
        "document": internal_document(release, original=table, findings=findings),
    }


@pytest.fixture(scope="session")
def seen(pages, tmp_path_factory):
    if find_browser() is None:
        pytest.skip("no Chromium is installed")
    with Look({name: page for name, page in pages.items() if name != "document"}) as look:
        light = look.measure((PHONE, DESK), folder=tmp_path_factory.mktemp("light"))
        dark = look.measure((DESK,), dark=True, folder=tmp_path_factory.mktemp("dark"))
        return light, dark, look.asked


def test_nothing_overflows_on_a_phone_or_on_a_desk(seen):
    light, _, _ = seen
    assert len(light) == 8
    for (name, width), found in light.items():
        assert found["width"] <= width, (name, width, found["wide"][:5])
        assert found["wide"] == [], (name, width)


def test_letters_stand_out_from_what_is_behind_them_in_light_and_dark(seen):
    light, dark, _ = seen
    for found in (*light.values(), *dark.values()):
        assert found["faint"] == []


def test_nothing_is_fetched_and_no_label_does_harm(seen):
    light, dark, asked = seen
    for found in (*light.values(), *dark.values()):
        assert found["fetched"] == []
        assert found["scripts"] == 0
        assert not found["pwned"]
    ours = {"/all.html", "/external.html", "/internal.html", "/plain-external.html", "/plain-internal.html"}
    assert set(asked) - {"/favicon.ico"} == ours


def test_nothing_internal_is_outside_and_everything_is_inside(pages):
    assert SECRET not in pages["external"]
    assert SECRET in pages["internal"]
    assert SECRET in pages["document"]
    for words in ("q1", "56001", "0.987", "Three risks", "adversar"):
        assert words not in pages["external"]
    for words in ("56001", "0.9877", "Three risks", "What would have kept more", "1 min 30 s"):
        assert words in pages["internal"]


def test_pages_are_small(pages):
    assert all(len(page.encode()) < 3_000_000 for page in pages.values())


def test_the_document_has_the_numbers_of_the_page(pages):
    document = json.loads(pages["document"])
    assert len(document["attacks"]) == 48
    assert document["attacks"][0]["release"] == {"value": 0.02, "interval": [0.0, 0.1]}
    assert document["utility"][SECRET]["value"] == 0.987654
    assert document["explanation"]["relaxations"][0]["relaxed"] == 2
    assert document["timings"]["seconds"] == 91.5
    assert document["counts"]["events"]["lost"] == 76543
    zips = next(each for each in document["levels"] if each["attribute"] == "ZIP")
    assert {(step["level"], step["cells"]) for step in zips["released"]} == {(0, 20), (1, 20), (3, 20)}


@pytest.mark.parametrize("name", ["external", "internal", "plain-external", "plain-internal"])
def test_headings_come_in_order_and_drawings_say_what_they_show(pages, name):
    headings = [int(level) for level in re.findall(r"<h([1-6])[ >]", pages[name])]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))
    for opening in re.findall(r"<svg[^>]*>", pages[name]):
        assert 'aria-hidden="true"' in opening or re.search(r'role="img" aria-label="[^"]+"', opening), (
            opening
        )
    places = set(re.findall(r' id="([^"]*)"', pages[name]))
    assert set(re.findall(r'href="#([^"]*)"', pages[name])) <= places


def test_the_internal_page_is_printed_on_at_most_three_sheets(tmp_path, make_release):
    if find_browser() is None:
        pytest.skip("no Chromium is installed")
    columns = {f"column {i}": [["a", "*"][(i + row) % 2] for row in range(40)] for i in range(50)}
    frame = pl.DataFrame({"person": [f"p{i:02}" for i in range(40)], "order": [1] * 40} | columns)
    tree = pl.DataFrame({"node": ["*", "a"], "parent": ["", "*"], "leaves": [9, 1]})
    score = Score(value=0.25, goal="minimize", bounds=(0, 1), means="MEANING")
    release = make_release(
        tables={"events": frame},
        hierarchies=dict.fromkeys(columns, tree),
        limits=tuple(f"Limit {i}: " + "a word " * 20 for i in range(12)),
        utility={"information_loss": score} | {f"measure_{i}": score for i in range(60)},
    )
    page = internal_page(release, findings=Findings(risks=tuple(risks())))
    (tmp_path / "page.html").write_text(page)
    print_page(tmp_path / "page.html", tmp_path / "page.pdf", folder=tmp_path / "profile")
    sheets = re.findall(rb"/Type /Page\b", (tmp_path / "page.pdf").read_bytes())
    assert 1 <= len(sheets) <= 3
