"""A released column that is quasi-identifier and sensitive is judged by what is above protected values."""

from __future__ import annotations

import warnings

import polars as pl
import pytest

import sequester as sq
from release.samples import Pages
from sequester.errors import SequesterWarning
from sequester.verification.verify import verify
from sequester.workflow.write import write
from verification.doctoring import edit_certificate

INFECTIOUS = {"infectious": ["HIV", "flu"], "other": ["gout", "cold"]}
ALONE = {"STD": ["HIV"], "other": ["gout", "cold"]}


def released(tmp_path, counts, tree, method):
    labels = [label for label, n_persons in counts.items() for _ in range(n_persons)]
    table = sq.EventTable(
        pl.DataFrame({"who": range(len(labels)), "n": 1, "ill": labels}),
        sq.Schema(
            person="who", order="n", quasi={"ill": sq.Hierarchy.from_tree(tree)}, sensitive={"ill": ["HIV"]}
        ),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SequesterWarning)
        release = method.apply(table, seed="a sentence that nobody guesses")
        written = write(release, tmp_path / "out", original=table, report=Pages())
    return written.path, release


def claim(folder, **changes):
    edit_certificate(folder, lambda document: document["claim"]["parameters"].update(changes))


@pytest.mark.parametrize(
    ("counts", "witness"),
    [
        ({"flu": 5, "HIV": 20, "gout": 300, "cold": 300}, "ill = infectious: ill = HIV for 20 of 25 persons"),
        # Those with flu are too few to be shown: nothing released but HIV is infectious.
        ({"flu": 2, "HIV": 20, "gout": 300, "cold": 300}, "ill = infectious: ill = HIV for 20 of 20 persons"),
    ],
)
def test_a_release_that_shows_a_protected_value_below_a_known_node_is_refused(tmp_path, counts, witness):
    folder, release = released(tmp_path, counts, INFECTIOUS, sq.HALT(k=5, c=1, p=1))
    assert "HIV" in set(release.frame["ill"])
    assert verify(folder)
    claim(folder, c=0.5)
    verdict = verify(folder)
    assert not verdict
    assert list(verdict.lines) == [witness]


@pytest.mark.parametrize(
    "method", [sq.HALT(k=5, c=0.5, p=1), sq.GloGen(k=5, c=0.5, p=1), sq.CBLDA(k=5, c=0.5)]
)
def test_what_is_released_is_accepted(tmp_path, method):
    counts = {"flu": 5, "HIV": 20, "gout": 300, "cold": 300}
    assert verify(released(tmp_path, counts, INFECTIOUS, method)[0])


def test_the_claim_names_nodes_that_have_only_protected_leaves(tmp_path):
    counts = {"HIV": 20, "gout": 300, "cold": 300}
    folder, release = released(tmp_path, counts, ALONE, sq.HALT(k=5, c=0.5, p=1))
    assert set(release.frame["ill"]) == {"HIV", "gout", "cold"}
    assert verify(folder)
    # What is not named is knowledge: without it, nobody can tell that nothing else is below STD.
    claim(folder, protect={"ill": ["HIV"]})
    assert list(verify(folder).lines) == ["ill = STD: ill = HIV for 20 of 20 persons"]
