"""Rooted trees of labels: how they are built, whether they fit a column, what they cost."""

from sequester.hierarchies.builder import HierarchyBuilder
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import MISSING, ROOT
from sequester.hierarchies.lint import Finding, lint

__all__ = ["MISSING", "ROOT", "Finding", "Hierarchy", "HierarchyBuilder", "lint"]
