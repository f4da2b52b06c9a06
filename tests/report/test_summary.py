"""Risks on a page: the worst of each attack, and whether the claim is kept."""

from __future__ import annotations

import pytest

from sequester.attacks.risk import Proportion, Risk
from sequester.report.summary import GENERAL, is_largest, main_risks, summarize_risks
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
    assert [(row["title"], row["case"], row["release"], row["claimed"]) for row in found["claimed"]] == [
        (attack_title("marketer"), "2 values, in order", "4%", "20%"),
        ("Leakage", "2 values, a secret pattern, and the mapping", "40%", "50%"),
    ]
    assert [(row["title"], row["release"], row["claimed"]) for row in found["beyond"]] == [
        (attack_title("marketer"), "30%", "")
    ]
    assert (found["n_attacks"], found["n_claimed"], found["n_beaten"]) == (5, 3, 0)
    assert (found["targets"], found["most_known"]) == (300, 3)


def test_an_adversary_who_beats_the_claim_comes_before_a_larger_risk_that_keeps_it():
    found = summarize_risks(
        [
            risk("unique", "event", 1, 0.001, bound=0.0),
            risk("unique", "event", 2, 0.4, bound=0.5),
        ]
    )
    assert found["n_beaten"] == 1
    assert not found["claimed"][0]["is_within"]
    assert found["claimed"][0]["release"] == "0.1%"


@pytest.mark.parametrize(
    ("interval", "words"), [((0.2, 1.0), "or more"), ((0.1, 0.3), "10% to 30%"), ((0.2, 0.2), "exactly")]
)
def test_intervals_in_words(interval, words):
    found = summarize_risks([risk("marketer", "event", 1, 0.2, interval=interval)])
    assert found["beyond"][0]["interval"] == words
    assert is_largest(Proportion(0.2, interval)) == (words == "or more")


def test_the_ten_risks_that_matter_begin_with_those_above_their_claim():
    risks = [risk("marketer", "event", known, 0.01 * known, bound=0.2) for known in (1, 2, 3)] + [
        risk("prosecutor", "event", 3, 1.0),
        risk("unique", "event", 1, 0.3, bound=0.0),
    ]
    found = main_risks(risks, 3)
    assert [(each.name, each.known) for each in found] == [("unique", 1), ("marketer", 3), ("prosecutor", 3)]
    beaten = [risk("unique", "event", known, 0.3, bound=0.0) for known in range(12)]
    assert main_risks(beaten, 10) == beaten


def test_every_attack_and_kind_of_the_package_has_a_definition():
    from typing import get_args

    from sequester.attacks.background_knowledge import KnowledgeKind
    from sequester.attacks.inference import InferenceMeasure, PresenceMeasure
    from sequester.attacks.linkage import LinkageMeasure

    measures = {*get_args(LinkageMeasure), *get_args(InferenceMeasure), *get_args(PresenceMeasure)}
    for name in measures - {"found"}:  # counted for `compare` alone
        assert attack_means(name)
        assert attack_title(f"{name}_shown") == f"{ATTACKS[name][0]}, without suppressed values"
        assert name in GENERAL
    assert set(get_args(KnowledgeKind)) <= set(KNOWLEDGE)
