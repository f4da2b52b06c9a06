"""The questions about patterns: who contains them, in how many ways, and which are frequent."""

from sequester.mining.frequent import (
    EventPatterns,
    Itemsets,
    Patterns,
    frequent,
    frequent_events,
    frequent_itemsets,
)
from sequester.mining.support import (
    count_embeddings,
    embeddings,
    minimum_prefix,
    support,
    supporters,
    supports,
)

__all__ = [
    "EventPatterns",
    "Itemsets",
    "Patterns",
    "count_embeddings",
    "embeddings",
    "frequent",
    "frequent_events",
    "frequent_itemsets",
    "minimum_prefix",
    "support",
    "supporters",
    "supports",
]
