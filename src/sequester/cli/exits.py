"""What the exit codes say."""

DONE = 0
"""Done; verified."""
UNMET = 1
"""The guarantee is not met or cannot be."""
WRONG = 2
"""Wrong use, bad input, no place to write to."""
OURS = 3
"""Our fault."""
INTERRUPTED = 130
"""Interrupted; nothing left behind."""
