"""The result of a method: data, changes, claim, verdict."""
