"""Commands to begin with: ``demo`` and ``workbench``."""

import textwrap
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from sequester.cli.exits import DONE, INTERRUPTED
from sequester.cli.options import Json, Quiet, Seed, argument, flag, option, whole_number
from sequester.cli.terminal import Terminal, levels
from sequester.errors import InputError

if TYPE_CHECKING:
    from sequester.workflow.demo import Demo, RawRisk


def demo(
    out: Annotated[Path, option("DIR", "Where everything goes.")] = Path("sequester-demo"),
    seed: Seed = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Take a first look at everything.

    Makes up visits to a hospital, shows their re-identification risk, protects, attacks and verifies them,
    and says where to look.
    """
    from sequester.workflow.demo import demo as show  # noqa: PLC0415  (--help need not wait for polars)

    terminal = Terminal(json, quiet)
    with terminal.work(None, "halt", "protect", "verify", "attack") as run:
        shown = show(
            out,
            seed=seed,
            show=lambda raw: terminal.begin(_before(raw), run.progress),
            run=run,
        )
    terminal.answer(shown.to_json(), _after(shown), made=shown.folder)


def _before(raw: "RawRisk") -> Iterator[str]:
    yield f"A hospital wants to share two tables: {raw.persons:,} patients and their {raw.events:,} visits."
    yield ""
    yield "Risk in the raw files, even without names:"
    alone = f"{raw.alone:,} patients ({raw.alone / raw.persons:.0%})"
    yield f"  {alone} have two values, of a visit or of who they are, that match nobody else."
    if raw.example is not None:
        yield f"  Anyone who knows {_values(raw.example.values)} of {raw.example.person}"
        yield f"  learns the diagnosis: {raw.example.disease}."
    yield ""


def _after(shown: "Demo") -> Iterator[str]:
    release, written = shown.protected.release, shown.protected.written
    yield "Promise of the release:"
    yield from textwrap.wrap(release.model.in_words(), 98, initial_indent="  ", subsequent_indent="  ")
    yield ""
    yield "Changes that keep the promise:"
    yield from (f"  {column.name}: {column.text}" for column in shown.columns)
    if shown.raw.example is not None:
        person, others = shown.raw.example.person, f"{shown.alike - 1:,} others"
        yield f"  {person} now has {_values(shown.after)}, like {others}."
    loss = release.utility["information_loss"].value
    yield f"  Information loss: {loss:.2f} (0: nothing is lost, 1: everything)"
    yield ""
    summary, found, learned = shown.protected.summary, shown.found, shown.learned
    yield f"What {summary.n_attacks:,} simulated adversaries achieve, who know real values of patients:"
    before, after = _per_1000(found.raw.value), _per_1000(found.value)
    yield f"  Two values of a visit re-identify {before} patients in the raw file, {after} in the release."
    yield (
        f"  The most certain inference of a disease: {learned.raw.value:.0%} in the raw file, "
        f"{learned.value:.0%} in the release (promised: at most {learned.bound:.0%})."
    )
    yield f"  {summary.n_claimed:,} of them test the promise. None achieves more than is promised."
    yield ""
    yield "Verification from the files, as a recipient does it:"
    verdict = "holds" if shown.verification else "does not hold"
    yield f"  {shown.verification.model} {verdict}: {levels(shown.verification.achieved)}"
    yield ""
    yield f"Open    {written.path / 'report.html'}   for recipients"
    yield f"then    {written.internal / 'report.html'}   internal: risk, reasons, all changes"
    yield f"and try sequester protect {shown.folder / 'release.toml'} --force   with another k, c or p"


def _per_1000(share: float) -> str:
    """Write a share of patients so that it can be imagined."""
    expected = 1000 * share
    return f"{expected:.0f} in 1,000" if expected >= 1 else "fewer than 1 in 1,000"


def _values(values: dict[str, str]) -> str:
    return " and ".join(f"{name} = {value}" for name, value in values.items())


def workbench(
    source: Annotated[
        str | None,
        argument(
            "CONFIG or DATA",
            "A configuration, a table of events, a folder, or a database; by default the folder here.",
        ),
    ] = None,
    port: Annotated[
        int | None, option("N", "The port to listen at; a free one by default.", parser=whole_number(1))
    ] = None,
    no_browser: Annotated[bool, flag("--no-browser", "Print the address, and open no browser.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Open the workbench in a browser.

    From data to a verified release, step by step, on this machine only. Prints its address, which holds a
    token: who has it can use the workbench. Ends with Ctrl-C, and ends with it the work that is under way.
    """
    if find_spec("uvicorn") is None or find_spec("starlette") is None:
        msg = "the workbench needs the extra workbench: pip install 'sequester[workbench]'"
        raise InputError(msg)
    from sequester.workbench.server import serve  # noqa: PLC0415  (--help need not wait)

    terminal = Terminal(json, quiet)

    def announce(address: str) -> None:
        terminal.answer({"address": address}, [address])

    try:
        serve(source, port=port, open_browser=not no_browser, announce=announce)
    except KeyboardInterrupt:
        # It has no other end, and what it has made is in its place.
        return INTERRUPTED
    return DONE
