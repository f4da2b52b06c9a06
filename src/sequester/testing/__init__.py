"""Laws that every method obeys, for anyone to run on a method of their own."""

from sequester.testing.checks import LAWS, BrokenLawError, check
from sequester.testing.tables import EDGES, history_table, record_table, symbol_table

__all__ = ["EDGES", "LAWS", "BrokenLawError", "check", "history_table", "record_table", "symbol_table"]
