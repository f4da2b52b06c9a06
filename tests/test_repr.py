"""A table shows its roles and warnings, and never lets a label break out of the page."""

from __future__ import annotations

from html.parser import HTMLParser

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester._repr import Card
from sequester.attacks.risk import Proportion, Risk, Risks
from sequester.data.schema import Schema, Sensitive
from sequester.data.table import EventTable
from sequester.explanation import Explanation, Reason, Relaxation
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.privacy.model import Verdict
from sequester.verification.claim import Verification


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = set()
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.tags |= {tag, *(name for name, _ in attrs)}

    def handle_data(self, data):
        self.text += data


def parsed(html):
    parser = Tags()
    parser.feed(html)
    return parser


ALLOWED = {"div", "strong", "table", "tbody", "thead", "tr", "th", "td", "ul", "li", "style"}
hostile = st.text(st.sampled_from("<>&\"'/=a\n\x1b "), max_size=12) | st.just("<script>alert(1)</script>")


@given(hostile, hostile, hostile, hostile)
def test_hostile_labels_stay_text(title, name, remark, cell):
    card = Card(title=title, facts=((name, cell),), remarks=(remark,), header=(name,), rows=((cell,),))
    assert parsed(card.html()).tags <= ALLOWED
    assert str(card).count("\n") == 2
    assert "\x1b" not in str(card) + card.html()


def test_long_cells_are_cut():
    assert len(str(Card(title="x" * 1000))) == 60


def test_a_table_in_a_terminal():
    frame = pl.DataFrame(
        {
            "PID": ["a", "a", "b"],
            "at": ["2010-01-01", "2010-01-01", "2010-01-03"],
            "ZIP": ["56001", "56002", "70000"],
            "D1": ["flu", "HIV", "flu"],
            "D2": [None, None, "flu"],
            "ward": ["x", "y", "z"],
            "name": ["Ann", "Ann", "Bob"],
        }
    )
    schema = Schema(
        person="PID",
        time="at",
        quasi={"ZIP": Hierarchy.mask([3, 1]), "visits": Hierarchy.flat()},
        sensitive={"Disease": Sensitive(("D1", "D2"), ("HIV",))},
        keep=["ward"],
        drop=["name"],
        derive={"visits": "event_count"},
    )
    assert repr(EventTable(frame, schema)).splitlines() == [
        "EventTable: 2 persons, 3 events",
        "  person     PID",
        "  time       at",
        "  quasi      ZIP (3 labels, 3 levels)",
        "  quasi      visits (2 labels, 1 levels, event_count)",
        "  sensitive  Disease from D1, D2 (1 protected)",
        "  keep       ward",
        "  drop       name",
        "  note: column 'at': events of a person at the same time stay in file order (2 rows: 1, 2)",
    ]


def test_a_table_in_a_notebook():
    frame = pl.DataFrame({"u": [f"<b>{i}" for i in range(9)], "n": range(9), "p": [None, *["<i>"] * 8]})
    html = EventTable(frame, Schema(person="u", order="n", symbol="p"))._repr_html_()
    assert parsed(html).tags <= ALLOWED
    assert "EventTable: 9 persons, 9 events" in parsed(html).text
    assert "<b>4" in parsed(html).text
    assert "<b>5" not in parsed(html).text


EVIL = "<script>alert(1)</script>"


def risk(value, bound):
    control = Proportion(0.1, (0.0, 0.2))
    return Risk(value, (0.0, 1.0), 0.01, control, name=EVIL, kind=EVIL, known=2, bound=bound, targets=10)


REASON = Reason(
    constraint=EVIL, change=EVIL, persons=3, events=1234, text=f"because {EVIL}", examples=(EVIL,)
)
STEP = Relaxation(parameter="k", asked=3, relaxed=2, kept=1, of=2, unit="events", text=f"relax {EVIL}")


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (Verdict(holds=True, achieved={"k": 5, EVIL: 0.25}), ["✓", "The promise holds", "k", "5", "0.25"]),
        (
            Verdict(holds=False, achieved={"k": 1}, witnesses=((EVIL, "b"),), violations=1200),
            ["✗", "The promise does not hold", f"broken by {EVIL} → b", "and 1,199 more"],
        ),
        (
            Verification(False, "KCPPrivacy", {"k": 1}, 3, (EVIL,), EVIL, "sha256:abc"),
            ["✗", "KCPPrivacy does not hold, checked from the files", "sha256:abc", "and 2 more"],
        ),
        (
            Verification(True, "KCPPrivacy", {"k": 5}, 0, (), "out/release"),
            ["✓", "KCPPrivacy holds, checked from the files", "out/release"],
        ),
        (risk(0.125, 0.5), ["✓", "1 attack: none beats the claim", "0.125", "at most 0.5"]),
        (Risks([risk(0.125, None)] * 2), ["2 attacks: nothing is claimed about them", "0 to 1"]),
        (Risks([risk(0.75, 0.5), risk(0.1, 0.5)]), ["✗", "2 attacks: 1 beat the claim", "at most 0.5 ✗"]),
        (
            Explanation(reasons=(REASON,), relaxations=(STEP,), notes=(EVIL,)),
            ["What was changed, and why", "1,234", f"because {EVIL}", f"relax {EVIL}"],
        ),
    ],
)
def test_values_show_themselves(shown, words):
    html = shown._repr_html_()
    found = parsed(html)
    assert found.tags <= ALLOWED
    assert EVIL not in html
    for each in words:
        assert each in found.text


def test_a_list_of_risks_is_a_list():
    risks = Risks([risk(0.1, None), risk(0.2, None)])
    assert isinstance(risks, list)
    assert risks == [risk(0.1, None), risk(0.2, None)]
    assert repr(risks) == repr(list(risks))
