"""The pages: self-contained, the same every time, harmless whatever the labels, and tight-lipped outside."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sequester.attacks.risk import NOTHING, Risk, exact
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.hierarchies import Hierarchy
from sequester.privacy.model import Verdict
from sequester.report import external_page, internal_page
from sequester.report.findings import Findings
from sequester.report.page import internal_document
from sequester.utility.score import Score

PAGES = pytest.mark.parametrize("page", [external_page, internal_page])
VOID = {"meta", "br", "link", "img", "hr", "input"}


class Outline(HTMLParser):
    """Tags with the names of their attributes, and text, as a browser would see them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.open, self.text, self.attributes = [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self.attributes.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, tuple(name for name, _ in attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip() and (not self.open or self.open[-1] != "style"):
            self.text.append(data.strip())

    def has(self, words):
        return words in " ".join(" ".join(self.text).split())


@PAGES
def test_no_request_no_script_no_handler(page, make_release):
    html = page(make_release())
    outline = Outline(html)
    assert outline.open == []
    tags = {tag for tag, _ in outline.tags}
    names = {name for _, attributes in outline.tags for name in attributes}
    assert not tags & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "form",
        "base",
        "image",
        "use",
    }
    assert not names & {"src", "xlink:href", "srcset", "action", "style"}
    # Links lead to places of the page itself.
    places = {given["id"] for _, given in outline.attributes if "id" in given}
    links = [given for tag, given in outline.attributes if "href" in given]
    assert all(given["href"].startswith("#") and given["href"][1:] in places for given in links)
    assert not [name for name in names if name.startswith("on")]
    assert not re.search(r"https?:|//[a-z]|url\(|@import|file:", html)


@PAGES
def test_accessible(page, make_release):
    outline = Outline(page(make_release()))
    attributes = outline.attributes
    assert dict(attributes)["html"] == {"lang": "en"}
    assert any(given.get("name") == "viewport" for tag, given in attributes if tag == "meta")
    headings = [int(tag[1]) for tag, _ in attributes if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))
    plots = [given for tag, given in attributes if tag == "svg"]
    assert any(given.get("aria-label") for given in plots)
    # A drawing is read out, or stands beside the same number in words.
    for plot in plots:
        assert (plot.get("role") == "img" and plot["aria-label"]) or plot["aria-hidden"] == "true"
    assert all("scope" in given for tag, given in attributes if tag == "th")


@PAGES
def test_labels_never_change_the_structure_of_the_page(page, make_release):
    def structure(a, b, c):
        return Outline(page(make_release([(a, b, c), (a, b), (a,)]))).tags

    plain = structure("home", "news", "sports")

    # Each example draws plots; a few say as much as thousands.
    @settings(max_examples=min(settings.default.max_examples, 25))
    @given(st.lists(st.text(max_size=40), min_size=3, max_size=3, unique=True))
    def holds(labels):
        assert structure(*labels) == plain

    holds()


@PAGES
def test_hostile_words_are_text_everywhere(page, make_release, crowd):
    evil = "<script>alert('x')</script><img src=x onerror=alert(1)>&lt;"

    class Hostile(crowd):
        def in_words(self):
            return evil

        def claim(self):
            return {evil: evil}

    release = make_release(
        [(evil, evil), (evil,)],
        model=Hostile(),
        method=evil,
        parameters={evil: [evil]},
        limits=(evil,),
        warnings=(evil,),
        verdict=Verdict(holds=True, achieved={evil: 1}),
        utility={evil: Score(value=1, goal="maximize", bounds=(0, 1), means=evil)},
        changes=pl.DataFrame({"what": [evil], evil: [evil]}),
    )
    outline = Outline(page(release))
    assert not {tag for tag, _ in outline.tags} & {"script", "img"}
    assert evil in outline.text


@PAGES
def test_two_runs_and_two_processes_give_the_same_bytes(page, make_release):
    here = page(make_release())
    assert page(make_release()) == here
    code = (
        "import sys; from conftest import by_hand; from sequester import report; "
        f"sys.stdout.buffer.write(report.{page.__name__}(by_hand()).encode())"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7", "TZ": "Pacific/Auckland", "USER": "somebody-else"}
    there = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        env=environment,
        capture_output=True,
        check=True,
    )
    assert there.stdout.decode() == here


def test_the_outer_page_depends_on_nothing_internal(make_release):
    release = make_release()
    loss = release.utility["information_loss"]
    other = make_release(
        warnings=(),
        utility={
            "information_loss": Score(value=0.1199, goal=loss.goal, bounds=loss.bounds, means=loss.means)
        },
        changes=pl.DataFrame(),
        pseudonyms=pl.DataFrame(),
        seed="another",
        n_input_persons=1,
        n_input_events=2,
        n_lost_events=0,
    )
    assert external_page(release) == external_page(other)


def test_the_inner_page_says_what_was_changed(make_release):
    outline = Outline(internal_page(make_release()))
    for words in (
        "WARNING-FOR-THE-HOUSE",
        "SECRET-PAGE",
        "MEANING-OF-THE-DISTANCE",
        "7.775",
        "3 of 87,654 persons",
        "5 of 98,765 events",
        "76,543",
        "cut",
        "dropped",
        "less is better, 0 or more",
    ):
        assert outline.has(words), words


def test_the_first_screen_of_the_inner_page_has_what_a_board_asks_for(make_release):
    risks = [
        Risk(
            0.0,
            (0.0, 0.01),
            0.001,
            NOTHING,
            raw=exact(0.043),
            name="unique",
            kind="event",
            known=2,
            bound=0.0,
        ),
        Risk(0.9, (0.8, 1.0), 0.001, NOTHING, raw=exact(0.95), name="unique", kind="released", known=3),
        Risk(0.001, (0.0, 0.01), 0.001, NOTHING, raw=exact(0.05), name="marketer", known=2, bound=0.2),
        Risk(0.17, (0.17, 1.0), 0.001, NOTHING, raw=exact(1.0), name="confidence_shown", known=2, bound=0.5),
    ]
    frame = pl.DataFrame(
        {"person": list("pqrs"), "order": [1] * 4, "ZIP": ["56***"] * 3 + ["*"], "gender": ["*"] * 4}
    )
    quasi = {"ZIP": Hierarchy.mask([2]), "gender": Hierarchy.flat()}
    original = EventTable(
        pl.DataFrame(
            {
                "who": list("abcd"),
                "n": [1] * 4,
                "ZIP": ["56001", "56002", "56003", "70000"],
                "gender": list("fmfm"),
            }
        ),
        Schema(person="who", order="n", quasi=quasi),
    )
    tree = pl.DataFrame({"node": ["*", "56***"], "parent": ["", "*"], "leaves": [4, 3]})
    release = make_release(
        tables={"events": frame},
        schema=Schema(person="person", order="order", quasi=quasi, released=True),
        hierarchies={"ZIP": tree, "gender": tree.head(1)},
    )
    page = internal_page(release, original=original, findings=Findings(risks=tuple(risks)))
    first, _, folded = page.partition('<details class="fold"')
    outline = Outline(first)
    for words in (
        "Singling out: Can a person be singled out?",
        "4.3% 0% 0%",
        "5% 0.1% at most 20%",
        "100% 17% at most 50%",
        "gender gone: every value is *",
        "ZIP coarser: 1 value instead of 4, * in 25%",
        "0.12 information loss",
        "Not covered A second release of the same people is not covered.",
    ):
        assert outline.has(words), words
    # Nothing else stands outside of a fold.
    assert "<section" not in folded


def test_changes_are_counted_by_person_where_they_name_persons(make_release):
    frame = pl.DataFrame({"person": ["a", "a", "b"], "what": ["moved", "moved", "left out"]})
    outline = Outline(internal_page(make_release(changes=frame, n_input_persons=10)))
    assert outline.has("Value Persons unchanged 8 left out 1 moved 1")
    assert outline.has("Value Changes moved 2 left out 1")


def test_pseudonyms_and_seed_are_on_no_page(make_release):
    release = make_release()
    for page in (external_page(release), internal_page(release), internal_document(release)):
        assert "ALICE" not in page
        assert "SEED-KEPT" not in page
        assert "p0000000000000000" not in page


def test_the_outer_page_says_promise_verdict_check_limits_and_counts(make_release):
    outline = Outline(external_page(make_release()))
    for words in (
        "Every released record has at least 3 owners.",
        "✓ The promise holds.",
        "k: promised 3, reached 4",
        "sequester verify",
        "A second release of the same people is not covered.",
        "events.csv",
        "events.parquet",
        "a random pseudonym, new in this release",
        "0.12",
        "by-hand",
        "Events per person",
        "Most frequent values of page",
    ):
        assert outline.has(words), words
    assert not outline.has("0.1235")


def test_a_broken_promise_is_not_dressed_up(make_release):
    outline = Outline(external_page(make_release(verdict=Verdict(holds=False, achieved={"k": 1}))))
    assert outline.has("✗ The promise does not hold.")
    assert not outline.has("✓")


def test_a_promise_about_the_original_says_who_can_check_it(make_release, crowd):
    outline = Outline(external_page(make_release(model=crowd(needs_original=True))))
    assert outline.has("Only those who hold the original can repeat the whole check")
    assert not outline.has("nothing but this folder")


def test_before_and_after(make_release):
    frame = pl.DataFrame({"user": ["a", "a", "a", "b"], "at": [1, 2, 3, 1], "page": ["x", "x", "y", "x"]})
    original = EventTable(frame, Schema(person="user", order="at", symbol="page"))
    release = make_release([("x", "x"), ("x",)])
    with_it = Outline(internal_page(release, original=original))
    without = Outline(internal_page(release))
    assert with_it.has("Before and after")
    assert with_it.has("y 1 0")
    assert with_it.has("x 3 3")
    assert not without.has("Before and after")
    assert without.has("The released data")


def test_several_columns_with_roles(make_release):
    frame = pl.DataFrame(
        {
            "person": ["p", "p", "q", "q"],
            "order": [1, 2, 1, 2],
            "ZIP": ["56***", "*", "56***", "*"],
            "Disease": ["HIV", "Flu", "Flu", "Flu"],
            "ward": ["A", "A", "B", "B"],
            "note": ["1", "2", "3", "4"],
        }
    )
    release = make_release(
        tables={"events": frame},
        schema=Schema(
            person="person",
            order="order",
            quasi={"ZIP": Hierarchy.flat()},
            sensitive={"Disease": ["HIV"]},
            keep=("ward", "note"),
        ),
        hierarchies={"ZIP": pl.DataFrame({"node": ["*", "56***"], "parent": ["", "*"], "leaves": [9, 5]})},
    )
    outline = Outline(external_page(release))
    assert outline.has("ZIP quasi-identifier, which others may know; may be coarser than the source")
    assert outline.has("Disease sensitive; as in the source")
    assert outline.has("ward released as it was in the source")
    assert outline.has("hierarchies/")
    assert outline.has("Most frequent values of ward")
    assert not outline.has("Most frequent values of note")


def test_records_without_persons(make_release):
    frame = pl.DataFrame({"time": ["2010-01", "2010-01"], "group": [1, 1]})
    tables = {"records": frame, "values": pl.DataFrame({"group": [1], "count": [2]})}
    outline = Outline(external_page(make_release(tables=tables)))
    assert outline.has("Records 2")
    assert outline.has("records.csv , records.parquet , values.csv and values.parquet")
    assert not outline.has("Events per person")


@PAGES
def test_a_release_of_nobody_is_a_page_too(page, make_release):
    outline = Outline(page(make_release([], changes=pl.DataFrame({"what": []}, schema={"what": pl.String}))))
    assert outline.has("Persons 0") or outline.has("0 of 87,654 persons")


@PAGES
def test_wide_tables_with_long_labels_stay_small(page, make_release):
    labels = [f"{i} " + "long " * 2000 for i in range(300)]
    frame = pl.DataFrame({"person": labels, "order": [1] * 300} | {f"c{i}": labels for i in range(60)})
    release = make_release(
        tables={"events": pl.concat([frame, frame]).sort("person")},
        changes=frame.with_columns(what=pl.lit("x")),
    )
    html = page(release)
    assert len(html.encode()) < 1_000_000
    assert Outline(html).has("and 280 more")


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "print"])
def test_contrast(scheme, make_release):
    html = external_page(make_release())
    block = re.findall(r":root \{(.*?)\}", html, re.DOTALL)[scheme]
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))
    for letters, ground in [
        ("ink", "ground"),
        ("ink", "card"),
        ("soft", "ground"),
        ("soft", "card"),
        ("good", "good-ground"),
        ("bad", "bad-ground"),
        ("warn", "warn-ground"),
    ]:
        assert contrast(colours[letters], colours[ground]) >= 4.5, (letters, ground)
    assert contrast(colours["accent"], colours["card"]) >= 3
    assert contrast(colours["second"], colours["card"]) >= 2.5


def test_every_colour_of_the_plots_follows_the_page(make_release):
    html = external_page(make_release())
    style, body = html.split("</style>")
    for name, colour in set(re.findall(r'(fill|stroke)="(#[^"]*)"', body)):
        assert f'svg [{name}="{colour}"] {{ {name}: var(' in style
