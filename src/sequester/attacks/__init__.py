"""Adversaries, simulated on data: re-identification, inference and what a promise leaves open."""

from sequester.attacks.attack import attack_tables
from sequester.attacks.context import hold_out
from sequester.attacks.exposure import Confidence, Exposure, Pattern, expose
from sequester.attacks.inference import Inference, Presence
from sequester.attacks.linkage import Linkage
from sequester.attacks.risk import Proportion, Risk

__all__ = [
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
    "hold_out",
]
