"""Explain what a release changed and why, and what would have kept more."""

from sequester.explanation.explain import explain
from sequester.explanation.explanation import Explanation, Reason, Relaxation

__all__ = ["Explanation", "Reason", "Relaxation", "explain"]
