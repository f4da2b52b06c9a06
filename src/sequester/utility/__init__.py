"""Utility of a release: measures by family, and one register of them."""

from sequester.utility.distributions import LengthDistribution, SymbolLevels, SymbolRanks, ValueDivergence
from sequester.utility.edits import EditDistance, ExpectedEdits, InventedItems, Transitions
from sequester.utility.equivalence_classes import ClassificationMetric, Discernibility, LossPerGain
from sequester.utility.generalization import CertaintyPenalty, ILoss, InformationLoss, LossMetric, Precision
from sequester.utility.patterns import ItemsetSupports, PatternSimilarity, SideEffects, TopPatterns
from sequester.utility.queries import Query, QueryError, draw_queries
from sequester.utility.score import Score
from sequester.utility.suppression import Suppression
from sequester.utility.times import GapDistribution, ReturnGaps, TimeToEvent

__all__ = [
    "CertaintyPenalty",
    "ClassificationMetric",
    "Discernibility",
    "EditDistance",
    "ExpectedEdits",
    "GapDistribution",
    "ILoss",
    "InformationLoss",
    "InventedItems",
    "ItemsetSupports",
    "LengthDistribution",
    "LossMetric",
    "LossPerGain",
    "PatternSimilarity",
    "Precision",
    "Query",
    "QueryError",
    "ReturnGaps",
    "Score",
    "SideEffects",
    "Suppression",
    "SymbolLevels",
    "SymbolRanks",
    "TimeToEvent",
    "TopPatterns",
    "Transitions",
    "ValueDivergence",
    "draw_queries",
]
