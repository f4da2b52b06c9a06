"""Verify a release by its files; import the models, never the methods."""
