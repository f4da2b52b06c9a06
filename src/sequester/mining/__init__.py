"""The questions about patterns: who contains them, and which are frequent."""

from sequester.mining.frequent import Patterns, frequent
from sequester.mining.support import minimum_prefix, support, supporters, supports

__all__ = ["Patterns", "frequent", "minimum_prefix", "support", "supporters", "supports"]
