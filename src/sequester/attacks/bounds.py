"""The largest risk that a promise leaves to an adversary.

An adversary against whom nothing is promised has no bound. The derivations are beside each promise.
"""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from sequester._validation import exact_fraction
from sequester.attacks.inference import Inference
from sequester.attacks.linkage import Linkage
from sequester.privacy.kc import KCPrivacy
from sequester.privacy.kcp import KCPPrivacy
from sequester.privacy.sequence_k import SequenceKAnonymity

if TYPE_CHECKING:
    from sequester.attacks.linkage import Adversary

_SPLITTING = ("sensitive", "protected", "kept", "released")
"""Kinds of knowledge that go beyond quasi-identifiers."""


@singledispatch
def bound_of(model: object, adversary: Adversary) -> float | None:
    """Return the largest risk that the promise `model` leaves to an adversary, or None.

    Examples
    --------
    >>> bound_of(SequenceKAnonymity(k=4), Linkage(known=3))
    0.25
    >>> bound_of(SequenceKAnonymity(k=4), Linkage(known=3, kind="count")) is None
    True
    """
    del model, adversary
    return None


@bound_of.register
def _(model: SequenceKAnonymity, adversary: object) -> float | None:
    # Whoever fits holds the items in some order, and k released records hold them in this order. How many
    # events there are, what stands side by side and what is not there is not part of the promise.
    if (
        model.strict
        and isinstance(adversary, Linkage)
        and adversary.kind in ("ordered", "anywhere", "generalized", "mixed")
    ):
        return _crowd_bound(adversary, model.k)
    return None


@bound_of.register
def _(model: KCPPrivacy, adversary: object) -> float | None:
    # What follows from the columns that a value depends on is not shown, and not covered.
    if not isinstance(adversary, Linkage | Inference) or adversary.known > model.p or adversary.narrowed:
        return None
    # One value has one level; of several, those of one attribute are at one where levels are the same.
    if adversary.kind == "mixed" and model.levels != "mixed" and adversary.known > 1:
        return None
    if isinstance(adversary, Linkage):
        # Whoever fits shows the items in some order, stars included, and k persons show the same. Where
        # stars do not count as items, nothing is promised to those whom a star makes fit.
        is_covered = adversary.kind in ("ordered", "event", "anywhere", "generalized", "mixed")
        return (
            _crowd_bound(adversary, model.k)
            if is_covered and (adversary.shown or model.stars == "counted")
            else None
        )
    # The promise is about persons who show the same items. Several such crowds together, as a star or an
    # unknown order makes them, may hold more protected values than each of them.
    if (
        adversary.shown
        and adversary.measure == "confidence"
        and adversary.kind in ("ordered", "event", "generalized", "mixed")
    ):
        return float(exact_fraction("c", model.c))
    return None


@bound_of.register
def _(model: KCPrivacy, adversary: object) -> float | None:
    # Whatever is known about quasi-identifiers fits whole classes, each of k persons and a share of at most
    # c; what follows from them is the same throughout a class. Sensitive and kept values split classes.
    if not isinstance(adversary, Linkage | Inference) or adversary.kind in _SPLITTING:
        return None
    if isinstance(adversary, Linkage):
        return _crowd_bound(adversary, model.k)
    if adversary.measure == "confidence" or (adversary.measure == "at_risk" and model.reading == "any"):
        return float(exact_fraction("c", model.c))
    return None


def _crowd_bound(adversary: Linkage, k: int) -> float | None:
    """Return the bound where every candidate set has at least `k` persons or nobody."""
    if adversary.measure == "unique":
        return 0.0
    if adversary.measure == "below_k":
        return 0.0 if adversary.k <= k else None
    return 1 / k
