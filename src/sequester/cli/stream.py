"""``sequester stream``: publish snapshots as their files arrive."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sequester.cli.exits import DONE, USAGE_ERROR
from sequester.cli.options import ConfigPath, Json, Quiet, configured_method
from sequester.cli.terminal import Terminal

if TYPE_CHECKING:
    from sequester.workflow.stream.stream import StreamResult

_SHOWN = 5
"""Sensitive values that are named with the records they lost."""


def stream(
    config: ConfigPath,
    inputs: Annotated[
        Path, typer.Option("--in", metavar="DIR", help="Input files, each one snapshot, taken in name order.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where published snapshots go.")],
    state: Annotated[
        Path, typer.Option(metavar="DIR", help="What is kept between runs; as sensitive as the input.")
    ],
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more files, until interrupted.")] = False,
    finish: Annotated[
        bool, typer.Option("--finish", help="Also publish what is still in the window: no more will come.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Publish snapshots as their files arrive.

    Each file is taken once, and each snapshot published once, when it leaves the window. Killed at any
    moment and started again, the output is the same. Files that do not fit go to rejected/ in the state
    folder, with an explanation, and the command ends with 2.
    """
    from sequester.workflow.stream.stream import stream as run  # noqa: PLC0415  (--help need not wait)

    terminal = Terminal(json, quiet)
    try:
        with terminal.progress(configured_method(config), "protect") as progress:
            done = run(
                config,
                inputs=inputs,
                out=out,
                state=state,
                follow=follow,
                finish=finish,
                progress=progress,
                warn=terminal.warn,
            )
    except KeyboardInterrupt:
        if state.exists():
            terminal.say(f"what was taken is safe in {state}; the same command goes on from there")
            terminal.keep(f"what was published in {out}")
        raise
    for each in done.rejected:
        for reason in each.reasons:
            terminal.say(f"error: {each.name} was not taken: {reason}")
    terminal.answer(done.to_json(), _summary(done), made=done.out)
    return USAGE_ERROR if done.rejected else DONE


def _summary(done: "StreamResult") -> Iterator[str]:
    from sequester.hierarchies.labels import counted  # noqa: PLC0415  (--help need not wait for numpy)

    published = counted(len(done.published), "snapshot", "snapshots")
    yield f"{counted(len(done.taken), 'file', 'files')} taken, {published} published in {done.out}"
    if done.left_out:
        rows = counted(sum(done.left_out.values()), "row was", "rows were")
        yield f"{rows} left out on reading, of {counted(len(done.left_out), 'file', 'files')}"
    if done.in_window:
        waiting = counted(done.in_window, "snapshot waits", "snapshots wait")
        yield f"{waiting} in the window for others to come"
    if done.unpublished:
        shown = [f"{value} {count:,}" for value, count in list(done.unpublished.items())[:_SHOWN]]
        more = ", ..." if len(done.unpublished) > _SHOWN else ""
        total = counted(
            sum(done.unpublished.values()),
            "record so far found no place and is",
            "records so far found no place and are",
        )
        yield f"{total} lost: {', '.join(shown)}{more}"
    if done.rejected:
        rejected = counted(len(done.rejected), "file", "files")
        yield f"{rejected} not taken, now in {done.rejected[0].place.parent}"
