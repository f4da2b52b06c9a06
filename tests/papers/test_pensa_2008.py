"""Pensa, Monreale, Pinelli, Pedreschi (2008): what the paper prints, and where its promise has holes.

The holes are numbered as in the specification of the algorithm; each shows what we do about it.
"""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from oracles.sequences import is_strictly_k_anonymous, satisfies_definition_1, support
from sequester.data.schema import Schema
from sequester.data.sequences import Sequences
from sequester.data.table import EventTable
from sequester.engine import LocalEngine
from sequester.errors import SequesterWarning
from sequester.io import read_frame
from sequester.methods import BFP2kA, PrefixPruning
from sequester.methods.p2ka.algorithm import ROOT, PrefixTree, Reconstructor
from sequester.mining.support import minimum_prefix, supports_of_codes
from sequester.privacy import SequenceKAnonymity
from sequester.testing import symbol_table

FIG_1A = ["ABCDEF", "ABCDEF", "ABCDEF", "ADEF", "ADEF", "ADEF", "BKS", "BK", "BK", "DEJF"]
FIG_1B = ["ABCDEF", "ABCDEF", "ABCDEF", "ADEF", "ADEF", "ADEF", "ADEF", "BK", "BK", "BK"]
HOLE_1 = ["AB", "ABXYZ", "CXYZ", "CXYZ"]


def released(method, rows):
    """What is released of each person, as only the publisher can tell; nothing is the empty text."""
    table = symbol_table(rows)
    release = method.apply(table)
    records = release.frame.group_by("person").agg("symbol").iter_rows()
    by_pseudonym = {pseudonym: "".join(symbols) for pseudonym, symbols in records}
    pseudonyms = dict(release.pseudonyms.iter_rows())
    return [by_pseudonym.get(pseudonyms.get(person), "") for person in table.persons]


def test_example_1_minimum_prefix():
    assert "".join(minimum_prefix("ACD", "ABCDECDF")) == "ABCD"


@pytest.mark.parametrize("strict", [True, False])
def test_fig_1(strict):
    after = released(BFP2kA(k=2, strict=strict), FIG_1A)
    assert sorted(after) == FIG_1B
    assert after[:6] == FIG_1A[:6]  # what is frequent stays
    assert after[6:] == ["BK", "BK", "BK", "ADEF"]  # s7 = BKS moves to BK, s10 = DEJF to ADEF


def test_fig_2_trees():
    """Fig. 2: nodes <12, S, 1> and <13, D, 1> are pruned, and B, K and A, D, E, F gain one supporter each."""
    distinct = symbol_table(FIG_1A).sequences.distinct()
    full, ends = PrefixTree.grow(distinct, 1)
    assert full.passing(ends, distinct).tolist() == [10, 6, *[3] * 5, *[3] * 3, 3, 3, 1, *[1] * 4]
    reconstructor = Reconstructor(distinct=distinct, strict=True, reattach=True, engine=LocalEngine())
    after = reconstructor.run(2)
    assert after.tree.passing(after.targets, distinct).tolist() == [10, 7, *[3] * 5, *[4] * 3, 3, 3]


def test_theorem_1():
    """Everything in D' has k supporters in D, also without our repair."""
    rows = HOLE_1 + FIG_1A
    assert satisfies_definition_1(released(BFP2kA(k=2, strict=False), rows), rows, 2)


def test_hole_1_supporters_in_the_original_do_not_hide_anybody():
    """Whoever knows that person 1 did A and then B finds one record, and it is person 1's."""
    printed = released(BFP2kA(k=2, strict=False), HOLE_1)
    assert printed == ["AB", "CXYZ", "CXYZ", "CXYZ"]
    assert (support("AB", HOLE_1), support("AB", printed)) == (2, 1)
    verdict = SequenceKAnonymity(k=2).check(symbol_table(printed))
    assert not verdict
    assert verdict.witnesses == (("A", "B"),)

    repaired = released(BFP2kA(k=2), HOLE_1)
    assert repaired == ["", "CXYZ", "CXYZ", "CXYZ"]
    assert is_strictly_k_anonymous(repaired[1:], 2)


def test_hole_2_an_emptied_ancestor_does_not_come_back_for_one():
    """Two persons begin with A and move elsewhere; a third, who had A late, is moved to A and alone there."""
    rows = ["Abc", "Ade", "bc", "bc", "de", "de", "qA"]
    printed = released(BFP2kA(k=2, strict=False), rows)
    assert printed == ["bc", "de", "bc", "bc", "de", "de", "A"]
    assert released(BFP2kA(k=2), rows) == [*printed[:-1], ""]


def test_hole_4_records_are_not_truthful_and_the_limits_say_so():
    release = BFP2kA(k=2).apply(symbol_table(FIG_1A))
    assert release.utility["invented_items"].value == 1  # s10 never had A
    assert any("not truthful" in limit for limit in release.limits)
    assert any("more often than they did" in limit for limit in release.limits)
    assert support("A", FIG_1A) == 6
    assert support("A", FIG_1B) == 7
    honest = PrefixPruning(k=2).apply(symbol_table(FIG_1A))
    assert honest.utility["invented_items"].value == 0
    assert not any("truthful" in limit for limit in honest.limits)


def test_hole_5_cutting_most_sequences_warns_and_names_a_k_that_cuts_less():
    rows = ["abc"] * 4 + ["abd"] * 4 + ["b"] * 3
    with pytest.warns(SequesterWarning, match=r"^k = 5 cuts 100\.0% of the sequences; k = 4 cuts 27\.3%$"):
        BFP2kA(k=5).apply(symbol_table(rows))


def test_hole_6_all_k_may_share_what_follows_and_the_limits_say_so():
    release = BFP2kA(k=3).apply(symbol_table(["clinic", "clinic", "clinic"]))
    assert release.verdict
    assert any("learns the rest" in limit for limit in release.limits)


def spmf(path):
    """Sequences of an SPMF file with one item per itemset."""
    with gzip.open(path, "rt") as lines:
        rows = [line.replace(" -1", "").split()[:-1] for line in lines if line.strip()]
    return Sequences.from_rows(row for row in rows if row)


def run(sequences, k, *, strict):
    distinct = sequences.distinct()
    reconstructor = Reconstructor(distinct=distinct, strict=strict, reattach=True, engine=LocalEngine())
    return distinct, reconstructor.run(k)


def below_k(sequences, k, *, strict):
    """Distinct released sequences with fewer than k supporters in the release; and all their records."""
    distinct, after = run(sequences, k, strict=strict)
    nodes, counts = np.unique(after.targets[distinct.row_of_person], return_counts=True)
    items, offsets = after.tree.paths()
    records = Sequences(
        np.concatenate([[0], np.cumsum(np.diff(offsets)[nodes])]),
        {"symbol": np.concatenate([items[offsets[node] : offsets[node + 1]] for node in nodes])},
        sequences.codebooks,
    )
    book = sequences.codebooks["symbol"]
    # Supports are counted in the release itself: each distinct record as often as it is released.
    folded = records.distinct()
    weights = np.zeros(folded.n_rows, np.int64)
    weights[folded.row_of_person] = counts
    folded = type(folded)(folded.items, folded.offsets, weights, folded.row_of_person)
    supports = supports_of_codes(folded.items, folded.offsets, book, folded, book)
    low = (supports < k) & (folded.lengths > 0)
    return int(low.sum()), int(weights[low].sum())


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "k", "cut", "known"),
    [
        # How many break depends on ties, which the paper breaks arbitrarily. With ties broken otherwise than
        # by label, 138 (775 records), 101 (1,253), 58 (1,538) and 245 (1,183) were counted.
        ("MSNBC", 20, 0.975, (154, 773)),
        ("MSNBC", 50, 0.986, (112, 1358)),
        ("MSNBC", 100, 0.992, (60, 1595)),
        ("BIKE", 10, 0.879, (182, 934)),
    ],
)
def test_holes_3_and_5_scale(shared_data, name, k, cut, known):
    sequences = spmf(shared_data / "spmf" / f"{name}.txt.gz")
    _, printed = run(sequences, k, strict=False)
    assert printed.cut_share == pytest.approx(cut, abs=0.0005)
    assert below_k(sequences, k, strict=False) == known
    assert below_k(sequences, k, strict=True) == (0, 0)


@pytest.mark.real
def test_holes_3_and_5_scale_on_all_of_msnbc(shared_data):
    frame = read_frame(shared_data / "msnbc" / "msnbc990928.seq.gz")
    table = EventTable(frame, Schema(person="person", order="order", symbol="symbol"))
    distinct = table.sequences.distinct()
    assert (int(distinct.weights.sum()), distinct.n_rows) == (989_818, 169_714)
    for k, cut in ((50, 0.210), (1000, 0.318)):
        tree, deepest = PrefixTree.grow(distinct, k)
        is_cut = tree.depths[deepest] < distinct.lengths
        assert distinct.weights[is_cut].sum() / distinct.weights.sum() == pytest.approx(cut, abs=0.0005)
        if k == 50:
            left = tree.passing(np.where(is_cut, np.int32(ROOT), deepest), distinct)
            assert (tree.n_nodes - 1, int(((left > 0) & (left < k)).sum())) == (3_866, 2_364)
