"""Publish data about people over time without giving the people away.

Names load on first use, so that the command line answers at once.

Examples
--------
>>> import polars as pl
>>> import sequester as sq
>>> frame = pl.DataFrame({"user": list("aabbcc"), "n": [1, 2, 1, 2, 1, 2], "page": list("xyxyxz")})
>>> table = sq.EventTable(frame, sq.Schema(person="user", order="n", symbol="page"))
>>> release = sq.BFP2kA(k=2).apply(table)
>>> release.verdict
Verdict(holds=True, achieved={'k': 2}, witnesses=())
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from sequester._version import __version__

if TYPE_CHECKING:
    from sequester.attacks.risk import Risk
    from sequester.bundle.open import open_release as open  # noqa: A004  (as in sq.open, where it is plain)
    from sequester.bundle.write import write
    from sequester.data.schema import Protect, Quasi, Schema, Sensitive, Symbol
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.engine.local import LocalEngine
    from sequester.errors import (
        HierarchyError,
        InputError,
        InternalError,
        ParameterError,
        SchemaError,
        SequesterError,
        SequesterWarning,
        UnattainableError,
    )
    from sequester.explanation.explain import explain
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.methods import (
        CBLDA,
        HALT,
        PH,
        SBSH,
        Abul,
        BFP2kA,
        BottomUp,
        CBLDABaseline,
        GloGen,
        MergeSnapshots,
        PrefixPruning,
        Reposition,
        SuppressOnly,
        TopDown,
    )
    from sequester.privacy.kc import KCPrivacy
    from sequester.privacy.kcp import KCPPrivacy
    from sequester.privacy.l_diversity import LDiversity
    from sequester.privacy.l_eligibility import LEligibility
    from sequester.privacy.model import Verdict
    from sequester.privacy.mutual_information import MutualInformationPrivacy
    from sequester.privacy.pattern_hiding import PatternHiding
    from sequester.privacy.sequence_k import SequenceKAnonymity
    from sequester.release.release import Release
    from sequester.workflow.advise import advise
    from sequester.workflow.attack import attack
    from sequester.workflow.compare import compare
    from sequester.workflow.config import read
    from sequester.workflow.inspect import inspect

    # Not from `sequester.verify`: to mypy that would bind the package, which cannot be called.
    from sequester.workflow.verify import verify

__all__ = [
    "CBLDA",
    "HALT",
    "PH",
    "SBSH",
    "Abul",
    "BFP2kA",
    "BottomUp",
    "CBLDABaseline",
    "EventTable",
    "GloGen",
    "Hierarchy",
    "HierarchyError",
    "InputError",
    "InternalError",
    "KCPPrivacy",
    "KCPrivacy",
    "LDiversity",
    "LEligibility",
    "LocalEngine",
    "MergeSnapshots",
    "MutualInformationPrivacy",
    "ParameterError",
    "PatternHiding",
    "PrefixPruning",
    "Protect",
    "Quasi",
    "Release",
    "Reposition",
    "Risk",
    "Schema",
    "SchemaError",
    "Sensitive",
    "SequenceKAnonymity",
    "Sequences",
    "SequesterError",
    "SequesterWarning",
    "SuppressOnly",
    "Symbol",
    "TopDown",
    "UnattainableError",
    "Verdict",
    "__version__",
    "advise",
    "attack",
    "compare",
    "explain",
    "inspect",
    "open",
    "read",
    "verify",
    "write",
]

_PLACES = {
    "Abul": "methods",
    "BFP2kA": "methods",
    "BottomUp": "methods",
    "CBLDA": "methods",
    "CBLDABaseline": "methods",
    "EventTable": "data.table",
    "GloGen": "methods",
    "HALT": "methods",
    "Hierarchy": "hierarchies.hierarchy",
    "HierarchyError": "errors",
    "InputError": "errors",
    "InternalError": "errors",
    "KCPPrivacy": "privacy.kcp",
    "KCPrivacy": "privacy.kc",
    "LDiversity": "privacy.l_diversity",
    "LEligibility": "privacy.l_eligibility",
    "LocalEngine": "engine.local",
    "MergeSnapshots": "methods",
    "MutualInformationPrivacy": "privacy.mutual_information",
    "PH": "methods",
    "ParameterError": "errors",
    "PatternHiding": "privacy.pattern_hiding",
    "PrefixPruning": "methods",
    "Protect": "data.schema",
    "Quasi": "data.schema",
    "Release": "release.release",
    "Risk": "attacks.risk",
    "Reposition": "methods",
    "SBSH": "methods",
    "Schema": "data.schema",
    "SchemaError": "errors",
    "Sensitive": "data.schema",
    "SequenceKAnonymity": "privacy.sequence_k",
    "Sequences": "data.sequences",
    "SequesterError": "errors",
    "SequesterWarning": "errors",
    "SuppressOnly": "methods",
    "Symbol": "data.schema",
    "TopDown": "methods",
    "UnattainableError": "errors",
    "Verdict": "privacy.model",
    "advise": "workflow.advise",
    "attack": "workflow.attack",
    "explain": "explanation.explain",
    "compare": "workflow.compare",
    "inspect": "workflow.inspect",
    "open": "bundle.open",
    "read": "workflow.config",
    "write": "bundle.write",
}
"""Public name to the module that has it."""
_OTHER_NAMES = {"open": "open_release"}
"""Public name to the one it has there, where they differ."""


def __getattr__(name: str) -> object:
    if name == "verify":
        # The package of that name can be called, because importing it hides any function of the name.
        return importlib.import_module("sequester.verify")
    if name not in _PLACES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    found = getattr(importlib.import_module(f"sequester.{_PLACES[name]}"), _OTHER_NAMES.get(name, name))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
