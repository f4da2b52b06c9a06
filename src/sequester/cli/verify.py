"""``sequester verify`` and ``sequester attack``: check and attack a release."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sequester._repr import aligned
from sequester.cli.exits import DONE, NOT_SATISFIED
from sequester.cli.options import (
    EngineAddress,
    Json,
    Quiet,
    ReleaseFolder,
    configured_method,
    flag,
    option,
    whole_number,
)
from sequester.cli.terminal import Terminal, levels

if TYPE_CHECKING:
    from sequester.verification.claim import Verification
    from sequester.workflow.attack import AttackResult


def verify(
    folder: ReleaseFolder,
    original: Annotated[
        Path | None, option("CONFIG", "The configuration it was made from, to compare with its data.")
    ] = None,
    pseudonyms: Annotated[
        Path | None, option("FILE", "The pseudonyms, where they are not in internal/ beside the release.")
    ] = None,
    earlier: Annotated[
        list[Path] | None,
        option("DIR", "An earlier part of its series; repeat it, from the first part on.", "--with"),
    ] = None,
    engine: EngineAddress = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Check a release by its files.

    Hashes, every file and column against the claim, CSV against Parquet, every value against its hierarchy,
    then the promise. With --original, also the claim against the configuration. A later part of a series
    needs all parts before it, with --with: they are checked, and the promise on all of them together. Exit 1
    if anything is not as certified or not as asked for.
    """
    from sequester.workflow.verify import verify_release  # noqa: PLC0415  (--help need not wait for polars)

    terminal = Terminal(json, quiet)
    with terminal.work(engine, configured_method(original), "verify") as run:
        found = verify_release(
            folder,
            original=original,
            pseudonyms=pseudonyms,
            earlier=earlier or (),
            run=run,
        )
    if not found:
        for witness, line in zip(found.witnesses, found.lines, strict=True):
            what = "" if isinstance(witness, str) else "the promise is broken by "
            terminal.say(f"error: {what}{line}")
    terminal.answer(found.to_json(), _verified_lines(found, folder))
    return DONE if found else NOT_SATISFIED


def _verified_lines(found: "Verification", folder: Path) -> list[str]:
    if not found:
        problems = f"{found.violations:,} problem{'s' * (found.violations != 1)}"
        return [f"{folder} fails verification: {found.model}, {problems}"]
    promise = f"{found.model}, {levels(found.achieved)}"
    kept = f"is as certified and keeps its promise: {promise}"
    if found.parts is not None and not found.achieved:
        kept = f"is as certified; its promise was not checked: {found.model}"
    elif found.parts is not None and found.parts[1] > 1:
        before = f"the {found.parts[1] - 1:,} before it"
        kept = f"and {before} are as certified and keep the promise together: {promise}"
    # A folder of snapshots has a certificate for each.
    own = [f"certificate {found.certificate_sha256}"] if found.certificate_sha256 else []
    return [f"{folder} {kept}", *own, *found.not_checked]


_MOST_KNOWN = 10


def _sizes(text: str) -> str:
    """Accept how many items may be known: a number, or a range such as 1-3."""
    given = re.fullmatch(r"([0-9]{1,3})(?:-([0-9]{1,3}))?", text)
    low, high = (int(given[1]), int(given[2] or given[1])) if given else (0, 0)
    if not 1 <= low <= high <= _MOST_KNOWN:
        msg = f"must be a number or a range such as 1-3, of 1 to {_MOST_KNOWN}, got {text!r}"
        raise typer.BadParameter(msg)
    return text


def attack(
    folder: ReleaseFolder,
    original: Annotated[
        Path, option("CONFIG", "The configuration that it was made from: the background knowledge.")
    ],
    held_out: Annotated[
        Path | None, option("CONFIG", "A configuration of persons who are not in the release: the control.")
    ] = None,
    known: Annotated[
        str, option("1-3", "How many items they know: a number or a range.", parser=_sizes)
    ] = "1-3",
    targets: Annotated[
        int | None,
        option(
            "N",
            "How many targets are tried for each kind of knowledge: 10,000, or fewer on much data.",
            parser=whole_number(1),
        ),
    ] = None,
    seed: Annotated[
        str | None, option("TEXT", "Draw targets from this text; the same targets by default.")
    ] = None,
    also: Annotated[
        list[Path] | None, option("DIR", "Another release of the same people, or a part of its series.")
    ] = None,
    thorough: Annotated[
        bool, flag("--thorough", "Try all targets and attacks, however long it takes.")
    ] = False,
    all_risks: Annotated[
        bool, flag("--all", "Print all risks, not only the main ones and those above a claim.")
    ] = False,
    engine: EngineAddress = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """Attack a release with simulated adversaries.

    They know some items of persons of the original, and look for them in the original, in the release and
    in a control: the release with its values permuted, or other persons who were held out of the release.
    All attacks run; the main ones are printed. Exit 1 if one of them achieves more than the release claims.
    """
    from sequester.workflow.attack import attack_release  # noqa: PLC0415  (--help need not wait for polars)

    low, _, high = known.partition("-")
    terminal = Terminal(json, quiet)
    with terminal.work(engine, configured_method(original), "attack") as run:
        found = attack_release(
            folder,
            *(also or ()),
            original=original,
            held_out=held_out,
            known=range(int(low), int(high or low) + 1),
            targets=targets,
            seed=seed,
            thorough=thorough,
            run=run,
        )
    for risk in found.beaten:
        terminal.say(f"error: an attack beat the claim {found.model}: {risk}")
    terminal.answer(found.to_json(), _lines(found, all_risks=all_risks))
    return DONE if found else NOT_SATISFIED


_SHOWN = 10
"""Risks that are printed unless all are asked for."""


def _lines(found: "AttackResult", *, all_risks: bool) -> Iterator[str]:
    from sequester.report.summary import main_risks, risk_row  # noqa: PLC0415  (--help need not wait)

    claimed = sum(risk.bound is not None for risk in found.risks)
    kept = "none exceeds its bound" if found else f"{len(found.beaten):,} exceed their bound"
    verdict = "holds against these adversaries" if found else "is broken"
    bounded = (
        f"{claimed:,} of them bounded by the promise: {kept}" if claimed else "none bounded by the promise"
    )
    outcome = verdict if claimed else "bounds no such adversary"
    yield f"{found.model} {outcome}: {len(found.risks):,} attacks, {bounded}"
    yield ""
    printed = found.risks if all_risks else main_risks(found.risks, _SHOWN)
    rows = [("attack", "knows", "before", "after", "95%", "control", "chance", "promised")]
    for risk in printed:
        row = risk_row(risk)
        title = f"{row['title']} [{risk.name}]" if all_risks else row["title"]
        columns = ("case", "raw", "release", "interval", "control", "chance")
        claimed = row["claimed"] + ("" if risk.is_within else " exceeded")
        rows.append((title, *(row[name] for name in columns), claimed))
    yield from aligned(rows)
    if len(printed) < len(found.risks):
        yield ""
        yield f"the worst case of {len(printed):,} attacks; --all shows all {len(found.risks):,} risks"
