"""The answers: one folder per paper, and the register of all methods by their name on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.methods.cblda.method import CBLDA, CBLDABaseline
from sequester.methods.halt.method import HALT, GloGen
from sequester.methods.mutual_information.method import BottomUp, TopDown
from sequester.methods.p2ka.method import BFP2kA, PrefixPruning
from sequester.methods.ph.method import PH, SBSH, Abul
from sequester.methods.reposition.method import MergeSnapshots, Reposition, SuppressOnly

if TYPE_CHECKING:
    from sequester.methods.method import Method

METHODS: dict[str, type[Method]] = {
    each.name: each
    for each in (
        HALT,
        GloGen,
        CBLDA,
        CBLDABaseline,
        PH,
        SBSH,
        Abul,
        BFP2kA,
        PrefixPruning,
        TopDown,
        BottomUp,
        Reposition,
        SuppressOnly,
        MergeSnapshots,
    )
}
"""Name to class, in the order in which they are listed."""

__all__ = [
    "CBLDA",
    "HALT",
    "METHODS",
    "PH",
    "SBSH",
    "Abul",
    "BFP2kA",
    "BottomUp",
    "CBLDABaseline",
    "GloGen",
    "MergeSnapshots",
    "PrefixPruning",
    "Reposition",
    "SuppressOnly",
    "TopDown",
]
