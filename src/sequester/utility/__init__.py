"""What a release is still good for: one file per measure."""

from sequester.utility.edit_distance import EditDistance
from sequester.utility.information_loss import InformationLoss
from sequester.utility.invented_items import InventedItems
from sequester.utility.itemset_supports import ItemsetSupports
from sequester.utility.pattern_similarity import PatternSimilarity
from sequester.utility.query_error import Query, QueryError
from sequester.utility.query_workload import draw_queries
from sequester.utility.score import Score
from sequester.utility.side_effects import SideEffects
from sequester.utility.symbol_levels import SymbolLevels
from sequester.utility.symbol_ranks import SymbolRanks
from sequester.utility.top_patterns import TopPatterns

__all__ = [
    "EditDistance",
    "InformationLoss",
    "InventedItems",
    "ItemsetSupports",
    "PatternSimilarity",
    "Query",
    "QueryError",
    "Score",
    "SideEffects",
    "SymbolLevels",
    "SymbolRanks",
    "TopPatterns",
    "draw_queries",
]
