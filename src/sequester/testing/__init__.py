"""Laws for every method, to check a method of your own, and small tables to check it on."""

from sequester.testing.checks import (
    EDGES,
    LAWS,
    BrokenLawError,
    check,
    history_table,
    record_table,
    symbol_table,
)

__all__ = ["EDGES", "LAWS", "BrokenLawError", "check", "history_table", "record_table", "symbol_table"]
