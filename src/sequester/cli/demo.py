"""``sequester demo``: a first look in a minute."""

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sequester.cli.options import Json, Quiet, Seed
from sequester.cli.terminal import Terminal, levels

if TYPE_CHECKING:
    from sequester.workflow.demo import Demo, Hidden


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where everything goes.")] = Path("sequester-demo"),
    seed: Seed = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Have a first look at everything.

    Invents a day of clicks, shows what it gives away, publishes it without, verifies, and says where to look.
    """
    from sequester.workflow.demo import demo as show  # noqa: PLC0415  (--help need not wait for polars)

    terminal = Terminal(json, quiet)
    with terminal.progress() as progress:
        shown = show(out, seed=seed, progress=progress, warn=terminal.warn)
    terminal.answer(shown.to_json(), _story(shown), made=shown.folder)


def _story(shown: "Demo") -> Iterator[str]:
    release, written = shown.protected.release, shown.protected.written
    persons, released = release.n_input_persons, len(release.pseudonyms)
    yield f"A news site wants to share a day of {release.n_input_events:,} clicks by {persons:,} visitors."
    yield ""
    yield "What the raw file gives away, even without names:"
    yield f"  {shown.alone:,} visitors ({shown.alone / persons:.0%}) took a way that nobody else took."
    yield f"  Who knows the first three clicks of {shown.alone_by_three:,} of them learns all that follow."
    if shown.example is not None:
        yield f"  {shown.example.person} is the only one who went {_way(shown.example.before)}."
    yield ""
    yield "What the release promises:"
    yield from textwrap.wrap(release.model.in_words(), 98, initial_indent="  ", subsequent_indent="  ")
    yield ""
    yield "What was done to keep that promise:"
    yield f"  {shown.unchanged:,} visitors are released as they are,"
    yield f"  {released - shown.unchanged:,} on the closest way that enough share, often a part of their own,"
    yield f"  {persons - released:,} had nothing in common with any such way and are left out."
    if shown.example is not None:
        yield f"  {_outcome(shown.example)}"
    lost = f"{release.n_lost_events:,} clicks ({release.lost_share:.0%})"
    yield f"  The price: {lost} are lost, taken from ways that too few share."
    yield ""
    yield "What a recipient finds when they check the files:"
    verdict = "holds" if shown.verification else "does not hold"
    yield f"  {shown.verification.model} {verdict}: {levels(shown.verification.achieved)}"
    yield ""
    yield f"Open    {written.path / 'report.html'}   what a recipient reads"
    yield f"then    {written.internal / 'report.html'}   what stays in the house: all changes"
    yield f"and try sequester protect {shown.folder / 'release.toml'} --force   with another k in that file"


def _way(items: tuple[str, ...]) -> str:
    return " > ".join(items)


def _outcome(hidden: "Hidden") -> str:
    if not hidden.after:
        return f"{hidden.person} is left out."
    return f"{hidden.person} now went {_way(hidden.after)}, like {hidden.crowd - 1:,} others."
