"""Event tables: schemas, tables, and their sequences of codes."""
