"""All commands under one name."""

from collections.abc import Sequence
from typing import Annotated

import typer

from sequester._version import __version__
from sequester.cli import data, methods, protect, start, verify
from sequester.cli.exits import DONE, USAGE_ERROR
from sequester.cli.options import Command, Group
from sequester.errors import InputError

app = typer.Typer(
    name="sequester",
    cls=Group,
    help="Publish event data about people, with a privacy promise that is checked on the released files.",
    add_completion=False,
    rich_markup_mode=None,  # plain help needs no rich, and answers at once
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo", cls=Command)(start.demo)
app.command("init", cls=Command)(data.init)
app.command("inspect", cls=Command)(data.inspect)
app.command("methods", cls=Command)(methods.methods)
app.command("advise", cls=Command)(methods.advise)
app.command("protect", cls=Command)(protect.protect)
app.command("verify", cls=Command)(verify.verify)
app.command("attack", cls=Command)(verify.attack)
app.command("compare", cls=Command)(methods.compare)
app.command("stream", cls=Command)(protect.stream)
app.command("reproduce", cls=Command)(methods.reproduce)
app.add_typer(data.hierarchy_app, name="hierarchy")
app.add_typer(data.datasets_app, name="datasets")
app.command("convert", cls=Command)(data.convert)
app.command("schema", cls=Command)(data.schema)
app.command("warmup", cls=Command)(methods.warmup)
app.command("workbench", cls=Command)(start.workbench)

_Usage: type[Exception] = typer.BadParameter.__mro__[1]
"""What typer raises when a command is not used as it must be; it moved between versions."""


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sequester {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _without_command(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001  (acts when it is parsed)
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(USAGE_ERROR)


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    command = typer.main.get_command(app)
    try:
        with command.make_context("sequester", list(arguments)) as context:
            return command.invoke(context) or DONE
    except typer.Exit as stop:
        return stop.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except _Usage as error:
        raise InputError(_wrong_use(error)) from None


def _wrong_use(error: Exception) -> str:
    """Describe in one line what is wrong with the command, and where to read on."""
    message = " ".join(error.format_message().split()).rstrip(".")  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "sequester"
    message = message.replace(". Did you mean", "; did you mean")
    return f"{message[:1].lower()}{message[1:]}{'' if message.endswith('?') else ';'} see {path} --help"
