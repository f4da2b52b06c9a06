"""Slow, obvious definitions that the library is held against. They import nothing of it."""
