"""Utility of a release: measures by family, and one register of them."""

from sequester.utility.distributions import (
    kl_values,
    length_distance,
    rank_correlation,
    symbol_levels,
    transitions,
)
from sequester.utility.edits import edit_distance, expected_edits, invented_items, suppression
from sequester.utility.generalization import (
    classification_metric,
    discernibility,
    iloss,
    information_loss,
    loss_metric,
    loss_per_privacy_gain,
    ncp,
    precision,
)
from sequester.utility.patterns import TopPatterns, itemset_supports, pattern_similarity, side_effects
from sequester.utility.places import displacement, mobility
from sequester.utility.queries import Query, QueryError, draw_queries
from sequester.utility.score import Score
from sequester.utility.times import gap_distance, return_distance, time_to_event_distance

__all__ = [
    "Query",
    "QueryError",
    "Score",
    "TopPatterns",
    "classification_metric",
    "discernibility",
    "displacement",
    "draw_queries",
    "edit_distance",
    "expected_edits",
    "gap_distance",
    "iloss",
    "information_loss",
    "invented_items",
    "itemset_supports",
    "kl_values",
    "length_distance",
    "loss_metric",
    "loss_per_privacy_gain",
    "mobility",
    "ncp",
    "pattern_similarity",
    "precision",
    "rank_correlation",
    "return_distance",
    "side_effects",
    "suppression",
    "symbol_levels",
    "time_to_event_distance",
    "transitions",
]
