"""What somebody who knows a little could do: adversaries, simulated on data."""

from sequester.attacks.attack import attack_tables
from sequester.attacks.destination import Destination
from sequester.attacks.exposure import Confidence, Exposure, Pattern
from sequester.attacks.hidden_patterns import OrderGuess, Suspicion
from sequester.attacks.hold_out import hold_out
from sequester.attacks.inference import Inference
from sequester.attacks.intersection import Intersection
from sequester.attacks.knowledge import expose
from sequester.attacks.linkage import Linkage
from sequester.attacks.minimality import Minimality
from sequester.attacks.positions import PositionGuess
from sequester.attacks.presence import Presence
from sequester.attacks.recognition import Recognition
from sequester.attacks.risk import Risk
from sequester.attacks.share import Share
from sequester.attacks.snapshot_guess import ArrivalGuess, SnapshotGuess

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
    "Recognition",
    "Risk",
    "Share",
    "SnapshotGuess",
    "Suspicion",
    "attack_tables",
    "expose",
    "hold_out",
]
