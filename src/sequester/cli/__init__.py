"""The command line: one file per group of commands, and one place that turns errors into exit codes."""

from sequester.cli.run import main

__all__ = ["main"]
