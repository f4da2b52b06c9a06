"""What a release is still good for: one file per measure."""

from sequester.utility.edit_distance import EditDistance
from sequester.utility.information_loss import InformationLoss
from sequester.utility.invented_items import InventedItems
from sequester.utility.pattern_similarity import PatternSimilarity
from sequester.utility.score import Score

__all__ = ["EditDistance", "InformationLoss", "InventedItems", "PatternSimilarity", "Score"]
