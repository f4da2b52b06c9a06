"""Explain what a release changed and why, and what would have kept more."""

from sequester.explanation.explain import Explanation, explain
from sequester.explanation.relaxation import Relaxation
from sequester.release.outcome import Reason

__all__ = ["Explanation", "Reason", "Relaxation", "explain"]
