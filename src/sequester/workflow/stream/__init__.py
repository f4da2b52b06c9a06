"""Snapshots that arrive file by file: each is taken once and published once, whatever happens in between."""
