"""Explain what a release changed and why, and what would have kept more."""

from sequester.explanation.explain import Explanation as Explanation
from sequester.explanation.explain import explain as explain
from sequester.explanation.relaxation import Relaxation as Relaxation
from sequester.release.outcome import Reason as Reason
