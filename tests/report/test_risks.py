"""Risks on a page: the worst of each attack, whether the claim is kept, and curves over what is known."""

from __future__ import annotations

import re

import pytest

from sequester.attacks.risk import NOTHING, Proportion, Risk
from sequester.report.risks import (
    GENERAL,
    Curve,
    draw_curve,
    draw_span,
    is_largest,
    scale_for,
    summarize_risks,
)
from sequester.report.text import ATTACKS, KNOWLEDGE, attack_means, attack_title


def risk(name, kind, known, value, *, bound=None, raw=0.5, interval=None):
    return Risk(
        value,
        interval or (value / 2, min(2 * value, 1.0)),
        0.001,
        Proportion(0.01, (0.0, 0.05)),
        raw=Proportion(raw, (raw / 2, 1.0)),
        name=name,
        kind=kind,
        known=known,
        bound=bound,
        targets=100 * known,
    )


def test_nobody_attacked():
    assert summarize_risks(()) is None


def test_the_worst_of_each_attack_is_shown_once_claimed_ones_first():
    found = summarize_risks(
        [
            risk("marketer", "event", 1, 0.01, bound=0.2),
            risk("marketer", "ordered", 2, 0.04, bound=0.2),
            risk("marketer", "ordered", 3, 0.3),
            risk("candidates", "ordered", 3, 0.3),
            risk("leakage", "mapping", 2, 0.4, bound=0.5),
        ]
    )
    assert [(row.title, row.case, row.release, row.claimed) for row in found.claimed] == [
        (attack_title("marketer"), "in order, 2 known", "4%", "20%"),
        ("Leakage", "a secret pattern, and the mapping, 2 known", "40%", "50%"),
    ]
    assert [(row.title, row.release, row.claimed) for row in found.beyond] == [
        (attack_title("marketer"), "30%", "")
    ]
    assert (found.n_attacks, found.n_claimed, found.n_beaten) == (5, 3, 0)
    assert (found.targets, found.most_known) == (300, 3)
    assert sum(len(kind.rows) for kind in found.kinds) == 5


def test_an_adversary_who_beats_the_claim_comes_before_a_larger_risk_that_keeps_it():
    found = summarize_risks(
        [
            risk("unique", "event", 1, 0.001, bound=0.0),
            risk("unique", "event", 2, 0.4, bound=0.5),
        ]
    )
    assert found.n_beaten == 1
    assert not found.claimed[0].is_within
    assert found.claimed[0].release == "0.1%"


@pytest.mark.parametrize(
    ("interval", "words"), [((0.2, 1.0), "or more"), ((0.1, 0.3), "10% to 30%"), ((0.2, 0.2), "exactly")]
)
def test_intervals_in_words(interval, words):
    found = summarize_risks([risk("marketer", "event", 1, 0.2, interval=interval)])
    assert found.beyond[0].interval == words
    assert is_largest(Proportion(0.2, interval)) == (words == "or more")


def test_curves_are_drawn_for_each_kind_with_what_was_found_read_out():
    risks = [
        risk("marketer", kind, known, 0.01 * known, bound=0.2 if known < 3 else None, raw=0.1 * known)
        for kind in ("event", "ordered")
        for known in (3, 1, 2)
    ]
    found = summarize_risks(risks)
    (curves,) = found.curves
    assert curves.has_claim
    assert [title for title, _, _ in curves.drawings] == ["In one event", "In order"]
    drawing = str(curves.drawings[0][2])
    label = re.search(r'aria-label="([^"]*)"', drawing)[1]
    assert label.startswith(
        f"{attack_title('marketer')}, in one event. 1 known: original 10%, release 1%, control 1%; 2 known"
    )
    assert "3 known: original 30%, release 3%" in label
    heights = [float(y) for y in re.findall(r'cy="([0-9.]+)"', drawing)][:3]
    # More is higher up, and equal steps are equally far apart.
    assert heights[0] - heights[1] == pytest.approx(heights[1] - heights[2], abs=0.2)
    assert heights[0] > heights[2]


def test_the_axis_holds_every_point():
    share = Proportion(0.22, (0.2, 0.25))
    curve = Curve(
        title="x", means="", known=(1,), raw=(share,), release=(NOTHING,), control=(NOTHING,), bound=(None,)
    )
    assert scale_for([curve]) == 0.3
    assert scale_for([]) == 0.001
    assert "<circle" in draw_curve(curve, end=0.3, label='"><script>')
    assert "<script>" not in draw_curve(curve, end=0.3, label='"><script>')


def test_one_line_from_the_original_to_the_release():
    drawing = draw_span(
        Proportion(1.0, (1.0, 1.0)), Proportion(0.0, (0.0, 0.1)), Proportion(0.5, (0.4, 0.6)), 0.25
    )
    places = [float(x) for x in re.findall(r'cx="([0-9.]+)"', drawing)]
    assert places == [214.0, 6.0]
    assert 'x1="58.0"' in drawing


def test_every_attack_and_kind_of_the_package_has_a_definition():
    from typing import get_args

    from sequester.attacks.background_knowledge import KnowledgeKind
    from sequester.attacks.inference import InferenceMeasure, PresenceMeasure
    from sequester.attacks.linkage import LinkageMeasure

    for name in (*get_args(LinkageMeasure), *get_args(InferenceMeasure), *get_args(PresenceMeasure)):
        assert attack_means(name)
        assert attack_title(f"{name}_shown") == f"{ATTACKS[name][0]}, without suppressed values"
        assert name in GENERAL
    assert set(get_args(KnowledgeKind)) <= set(KNOWLEDGE)
