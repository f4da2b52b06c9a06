"""Options and command classes that several commands share."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup


def argument(metavar: str, about: str) -> Any:
    """Declare an argument of a command by what stands for it, and what it is."""
    return typer.Argument(metavar=metavar, help=about)


def option(metavar: str, about: str, *names: str, parser: Callable[[str], Any] | None = None) -> Any:
    """Declare an option with a value by what stands for that, and what it is; named as its parameter."""
    return typer.Option(*names, metavar=metavar, help=about, parser=parser)


def flag(name: str, about: str) -> Any:
    """Declare an option without a value, by its name and what it does."""
    return typer.Option(name, help=about)


Json = Annotated[bool, flag("--json", "Print one JSON document on stdout, and nothing else there.")]
Quiet = Annotated[bool, flag("--quiet", "Show no progress.")]
Force = Annotated[bool, flag("--force", "Replace what is already there.")]
Seed = Annotated[str | None, option("TEXT", "Everything random comes from this text: same text, same bytes.")]
EngineAddress = Annotated[
    str | None,
    option(
        "ADDRESS",
        "Workers that share the work: tcp://host:port or tls://host:port of a dask scheduler, or "
        "local:N processes here.",
        "--engine",
    ),
]
DataFormat = Annotated[
    str | None,
    option(
        "NAME", "The format of the data, if its name does not show it: csv, spmf, seq, xes, ...", "--format"
    ),
]
Delimiter = Annotated[str | None, option("CHARACTER", "The delimiter of a CSV file; found by default.")]
Encoding = Annotated[str | None, option("NAME", "The encoding of a text file; utf-8 by default.")]
ReleaseFolder = Annotated[Path, argument("DIR", "The release folder, such as out/release.")]
ConfigPath = Annotated[Path, argument("CONFIG", "The configuration, such as release.toml.")]


def whole_number(least: int | None = None) -> Callable[[str], int]:
    """Make what reads an option that is a whole number, of at least `least`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            msg = f"must be a whole number, got {text!r}"
            raise typer.BadParameter(msg) from None
        if least is not None and number < least:
            msg = f"must be at least {least}, got {number}"
            raise typer.BadParameter(msg)
        return number

    return read


def configured_method(config: Path | None) -> str:
    """Return the method that a configuration names, or nothing; whether it is right, the command says."""
    if config is None or not config.is_file():  # what is no file, such as a pipe, can be read only once
        return ""
    try:
        return str(tomllib.loads(config.read_text(encoding="utf-8-sig"))["method"]["name"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""


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
