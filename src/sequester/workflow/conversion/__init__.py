"""From a table to each format, and what the format has no place for."""
