"""Candidates for one table: list them, run them, and recommend one."""
