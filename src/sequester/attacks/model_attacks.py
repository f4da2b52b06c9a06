"""The register of attacks on one kind of promise, beside those that run on every release of persons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sequester.attacks.minimality import attack_minimality
from sequester.attacks.mutual_information import attack_positions
from sequester.attacks.pattern_hiding import attack_hidden
from sequester.attacks.sequence_k_anonymity import attack_destinations
from sequester.attacks.snapshot_attacks import attack_snapshots

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester.attacks.context import Case
    from sequester.attacks.risk import Risk
    from sequester.privacy.model import PrivacyModel

MODEL_ATTACKS: dict[str, Callable[[Any, Case], list[Risk]]] = {
    "minimality": attack_minimality,
    "positions": attack_positions,
    "hidden patterns": attack_hidden,
    "whole sequences": attack_destinations,
    "snapshots": attack_snapshots,
}
"""What a promise names in `attacks`, to the function that returns the risks of all its adversaries."""


def model_attacks(model: PrivacyModel, case: Case) -> list[Risk]:
    """Return the risks of the attacks on this promise only; none where it names none."""
    return MODEL_ATTACKS[model.attacks](model, case) if model.attacks else []
