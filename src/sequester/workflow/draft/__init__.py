"""Draft a configuration from the data alone, with a reason for every choice."""
