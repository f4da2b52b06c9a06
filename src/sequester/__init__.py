"""Publish data about people over time without giving the people away."""

from sequester._version import __version__

__all__ = ["__version__"]
