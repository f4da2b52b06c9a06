"""Adversaries, simulated on data: re-identification, inference and what a promise leaves open."""

from sequester.attacks.attack import attack_tables
from sequester.attacks.context import hold_out
from sequester.attacks.exposure import Confidence, Exposure, Pattern, expose
from sequester.attacks.inference import Inference, Presence
from sequester.attacks.linkage import Linkage
from sequester.attacks.minimality import Minimality
from sequester.attacks.mutual_information import PositionGuess
from sequester.attacks.pattern_hiding import OrderGuess, Recognition, Suspicion
from sequester.attacks.risk import Proportion, Risk
from sequester.attacks.sequence_k_anonymity import Destination
from sequester.attacks.snapshot_attacks import ArrivalGuess, Intersection, SnapshotGuess

__all__ = [
    "ArrivalGuess",
    "Confidence",
    "Destination",
    "Exposure",
    "Inference",
    "Intersection",
    "Linkage",
    "Minimality",
    "OrderGuess",
    "Pattern",
    "PositionGuess",
    "Presence",
    "Proportion",
    "Recognition",
    "Risk",
    "SnapshotGuess",
    "Suspicion",
    "attack_tables",
    "expose",
    "hold_out",
]
