"""Where shards of persons are worked on, and how far the work has come."""

from sequester.engine.local import Engine, LocalEngine
from sequester.engine.progress import Progress, part, silent

__all__ = ["Engine", "LocalEngine", "Progress", "part", "silent"]
