"""Rooted trees of labels: where they come from, whether they fit a column, what they cost."""

from sequester.hierarchies.builder import HierarchyBuilder
from sequester.hierarchies.finding import Finding
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import MISSING, ROOT
from sequester.hierarchies.lint import lint

__all__ = ["MISSING", "ROOT", "Finding", "Hierarchy", "HierarchyBuilder", "lint"]
