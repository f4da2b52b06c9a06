"""Everything that somebody ends a notebook cell with shows itself, and no label breaks out."""

from __future__ import annotations

import pytest

from display.test_card import ALLOWED, parsed
from sequester.attacks.risk import Risk
from sequester.attacks.risks import Risks
from sequester.attacks.share import Share
from sequester.explanation import Explanation, Reason, Relaxation
from sequester.privacy.model import Verdict
from sequester.verify.verification import Verification

EVIL = "<script>alert(1)</script>"


def risk(value, bound):
    control = Share(0.1, (0.0, 0.2))
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
