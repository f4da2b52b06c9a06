"""What a release is still good for: one file per measure."""

from sequester.utility.certainty_penalty import CertaintyPenalty
from sequester.utility.classification_metric import ClassificationMetric
from sequester.utility.discernibility import Discernibility
from sequester.utility.edit_distance import EditDistance
from sequester.utility.expected_edits import ExpectedEdits
from sequester.utility.gap_distribution import GapDistribution
from sequester.utility.iloss import ILoss
from sequester.utility.information_loss import InformationLoss
from sequester.utility.invented_items import InventedItems
from sequester.utility.itemset_supports import ItemsetSupports
from sequester.utility.length_distribution import LengthDistribution
from sequester.utility.loss_metric import LossMetric
from sequester.utility.loss_per_gain import LossPerGain
from sequester.utility.pattern_similarity import PatternSimilarity
from sequester.utility.precision import Precision
from sequester.utility.query_error import Query, QueryError
from sequester.utility.query_workload import draw_queries
from sequester.utility.return_gaps import ReturnGaps
from sequester.utility.score import Score
from sequester.utility.side_effects import SideEffects
from sequester.utility.suppression import Suppression
from sequester.utility.symbol_levels import SymbolLevels
from sequester.utility.symbol_ranks import SymbolRanks
from sequester.utility.time_to_event import TimeToEvent
from sequester.utility.top_patterns import TopPatterns
from sequester.utility.transitions import Transitions
from sequester.utility.value_divergence import ValueDivergence

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
