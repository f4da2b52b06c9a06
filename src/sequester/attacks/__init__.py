"""Adversaries, simulated on data: re-identification, inference and what a promise leaves open."""

from sequester.attacks.attack import attack_tables
from sequester.attacks.context import hold_out
from sequester.attacks.exposure import (
    AttributeExposure,
    Confidence,
    Exposure,
    Pattern,
    expose,
    expose_attributes,
)
from sequester.attacks.inference import Inference, Presence
from sequester.attacks.linkage import Linkage
from sequester.attacks.risk import Proportion, Risk

__all__ = [
    "AttributeExposure",
    "Confidence",
    "Exposure",
    "Inference",
    "Linkage",
    "Pattern",
    "Presence",
    "Proportion",
    "Risk",
    "attack_tables",
    "expose",
    "expose_attributes",
    "hold_out",
]
