"""What somebody who knows a little could do: adversaries, simulated on data."""

from sequester.attacks.exposure import Confidence, Exposure, Pattern
from sequester.attacks.knowledge import expose
from sequester.attacks.share import Share

__all__ = ["Confidence", "Exposure", "Pattern", "Share", "expose"]
