"""Commands that answer at once."""

from typing import Any

from typer.core import TyperCommand, TyperGroup


class _Prompt:
    """Gives ``--help`` a value from the start: without one, typer loads pydantic to find out what it is."""

    def get_help_option(self, ctx: Any) -> Any:
        """Make the option, as it is made anyway, with a default."""
        option = super().get_help_option(ctx)  # type: ignore[misc]  # of the command beside this class
        if option is not None:
            option.default = False
        return option


class Command(_Prompt, TyperCommand):
    """A command."""


class Group(_Prompt, TyperGroup):
    """Commands under one name."""
