"""Configuration, and one module per command."""
