"""Commands on data: ``init``, ``inspect``, ``hierarchy``, ``schema``, ``convert`` and ``datasets``."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sequester.cli.exits import DONE, NOT_SATISFIED
from sequester.cli.options import (
    Command,
    ConfigPath,
    DataFormat,
    Delimiter,
    Encoding,
    EngineAddress,
    Force,
    Group,
    Json,
    Quiet,
    argument,
    flag,
    option,
    whole_number,
)
from sequester.cli.terminal import Terminal, plain
from sequester.datasets import DATASETS, SEED
from sequester.errors import InputError

if TYPE_CHECKING:
    from sequester.workflow.init import Proposed
    from sequester.workflow.inspect import Inspection


def init(
    data: Annotated[
        str,
        argument(
            "DATA", "A table of events, in any format that is read, a folder of clinical data, or a database."
        ),
    ],
    out: Annotated[Path, option("FILE", "Where the configuration goes.")] = Path("release.toml"),
    query: Annotated[str | None, option("SQL", "What is read, if DATA is a database.")] = None,
    table: Annotated[str | None, option("NAME", "Instead of --query: the table of the database.")] = None,
    persons: Annotated[
        str | None,
        option(
            "FILE", "A table with one row per person, such as patients beside visits; a file or a database."
        ),
    ] = None,
    persons_query: Annotated[
        str | None, option("SQL", "What is read of persons, from the database --persons or DATA.")
    ] = None,
    persons_table: Annotated[
        str | None, option("NAME", "Instead of --persons-query: the table of persons.")
    ] = None,
    person: Annotated[
        str | None,
        option(
            "COLUMN",
            'The column of persons, if the guess is wrong; "row": each row is one; "all": the file is.',
        ),
    ] = None,
    sensitive: Annotated[
        list[str] | None,
        option("COLUMN", "A sensitive column, which nobody may learn; may be given several times."),
    ] = None,
    form: DataFormat = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a first configuration.

    Looks at the data, guesses the role and the hierarchy of every column, and explains each guess in a
    comment. What is sensitive is never guessed: it is asked on a terminal, and left open otherwise.
    """
    # --help need not wait for polars.
    from sequester.workflow.init import DataFile  # noqa: PLC0415
    from sequester.workflow.init import init as draft  # noqa: PLC0415

    own = None
    if persons or persons_query or persons_table:
        own = DataFile(persons or data, query=persons_query, table=persons_table)
    terminal = Terminal(json, quiet)
    with terminal.progress() as progress:
        proposed = draft(
            DataFile(data, form, delimiter, encoding, query=query, table=table),
            out,
            persons=own,
            person=person,
            force=force,
            progress=progress,
        )
    if sensitive:
        proposed = proposed.with_sensitive(sensitive)
    elif terminal.may_ask:
        proposed = _ask(proposed, terminal, ask_person=person is None)
    proposed.write()
    for doubt in proposed.draft.doubts:
        terminal.warn(doubt)
    terminal.answer(proposed.to_json(), _summary(proposed))


def _ask(proposed: "Proposed", terminal: Terminal, *, ask_person: bool) -> "Proposed":
    """Ask who and what is sensitive; an empty answer takes the guess, and leaves the other open."""
    if ask_person:
        guess = proposed.draft.person
        terminal.say(f"{proposed.data.path}: {guess.why}")
        answer = _answer(f"Who? A column, row if each row is a person, all for one [{plain(guess.column)}]")
        while answer and answer != guess.column:
            try:
                proposed = proposed.with_person(answer)
                break
            except InputError as error:
                answer = _again(error, terminal)
    if proposed.draft.symbol is not None:
        return proposed
    terminal.say(f"What must nobody learn about a person?{_could_be(proposed)}")
    answer = _answer("Columns with commas between them, or nothing to decide later")
    while answer:
        try:
            return proposed.with_sensitive([name.strip() for name in answer.split(",")])
        except InputError as error:
            answer = _again(error, terminal)
    return proposed


def _could_be(proposed: "Proposed") -> str:
    names = ", ".join(each.name for each in proposed.draft.candidates)
    return f" It could be {names}." if names else ""


def _answer(question: str) -> str:
    answer: str = typer.prompt(question, default="", show_default=False, err=True)
    return answer.strip()


def _again(error: InputError, terminal: Terminal) -> str:
    terminal.say(str(error))
    return _answer("Again, or nothing")


def _summary(proposed: "Proposed") -> Iterator[str]:
    draft, out = proposed.draft, proposed.out
    whole = {"row": "each row is a person", "all": "the file is one person"}
    parts = [whole.get(draft.person.column, f"person {draft.person.column}")]
    if draft.when is not None:
        parts.append(f"{'time' if draft.when.is_time else 'order'} {' and '.join(draft.when.columns)}")
    if draft.symbol is not None:
        parts.append(f"symbol {draft.symbol.column}")
    elif draft.place is not None:
        parts.append(f"regions of {draft.place.lat} and {draft.place.lon}")
    elif draft.quasi:
        parts.append(f"{len(draft.quasi)} quasi-identifier{'s' * (len(draft.quasi) != 1)}")
    if draft.sensitive:
        parts.append(f"sensitive {', '.join(each.name for each in draft.sensitive)}")
    if draft.drop:
        parts.append(f"{len(draft.drop)} dropped")
    yield f"{out}: {'; '.join(parts)}"
    if draft.symbol is None and not draft.sensitive and (draft.place is None or draft.candidates):
        yield f"sensitive: you decide, in {out}.{_could_be(proposed)}"
    yield f"next: read {out}, where each guess has its reason, and run sequester inspect {out}"


def inspect(
    config: ConfigPath,
    patterns: Annotated[
        bool, flag("--patterns", "Also list frequent patterns, where events are symbols.")
    ] = False,
    min_support: Annotated[
        int | None, option("N", "List patterns of at least N persons, not of one in a hundred.")
    ] = None,
    top: Annotated[int | None, option("N", "List the N most frequent patterns, not 20.")] = None,
    out: Annotated[
        Path | None, option("FILE", "Also write everything as a page, such as inspect.html.")
    ] = None,
    thorough: Annotated[bool, flag("--thorough", "Look at everybody, however many items they have.")] = False,
    seed: Annotated[
        str | None,
        option(
            "TEXT", "Draw persons from this text where not all are looked at; the same persons by default."
        ),
    ] = None,
    force: Force = False,
    engine: EngineAddress = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show the privacy risks of the data as it is.

    Shape, problems with row numbers, such as labels that look alike, quasi-identifiers that follow from
    others, and what somebody who knows 1, 2 or 3 items of a person could do today. Needs no method.
    """
    from sequester.workflow.inspect import inspect_config  # noqa: PLC0415  (--help need not wait for polars)

    terminal = Terminal(json, quiet)
    with terminal.work(engine, "", "inspect") as run:
        found = inspect_config(
            config,
            out=out,
            force=force,
            patterns=patterns,
            thorough=thorough,
            min_support=min_support,
            top=top,
            seed=seed,
            run=run,
        )
    page = {} if out is None else {"page": str(out)}
    terminal.answer(found.to_json() | page, _inspection_lines(found, out), made=out)


def _inspection_lines(found: "Inspection", out: Path | None) -> Iterator[str]:
    from sequester.workflow.inspect_report import lines  # noqa: PLC0415  (as above)

    yield from lines(found)
    if out is not None:
        yield ""
        yield f"to read          {out} (internal: do not share)"


Attribute = Annotated[str, argument("ATTRIBUTE", "A column that has a hierarchy.")]
_DEPTH, _CHILDREN = 2, 10

hierarchy_app = typer.Typer(cls=Group, help="Check, build and show hierarchies.", rich_markup_mode=None)


@hierarchy_app.callback()
def hierarchy() -> None:
    """Check, build and show hierarchies."""


@hierarchy_app.command(cls=Command)
def lint(config: ConfigPath, json: Json = False, quiet: Quiet = False) -> int:
    """Check hierarchies against their columns.

    Names cycles, second parents, doubled leaves, values of the data that are missing, and more. Exit 1
    on errors.
    """
    from sequester.workflow.hierarchy import lint_hierarchies  # noqa: PLC0415  (--help need not wait for polars)

    terminal = Terminal(json, quiet)
    with terminal.progress() as progress:
        linted = lint_hierarchies(config, progress=progress)
    for each in linted:
        for finding in each.findings:
            terminal.say(f"{finding.severity}: {finding}")
    n_errors = sum(each.count("error") for each in linted)
    document = {"holds": not n_errors, "errors": n_errors, "hierarchies": [each.to_json() for each in linted]}
    terminal.answer(document, [each.summary() for each in linted] or ["no column has a hierarchy"])
    return NOT_SATISFIED if n_errors else DONE


@hierarchy_app.command(cls=Command)
def build(
    config: ConfigPath,
    attribute: Attribute,
    out: Annotated[Path, option("FILE", "The file to write, in ARX format: one row per leaf.")],
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a hierarchy as a file.

    Binds the hierarchy of one attribute to its column and writes every leaf with what lies above it, to be
    looked at, edited, and named in the configuration: hierarchy = { path = "FILE" }.
    """
    from sequester.workflow.hierarchy import build_hierarchy  # noqa: PLC0415  (--help need not wait)

    terminal = Terminal(json, quiet)
    with terminal.work(None) as run:
        built = build_hierarchy(config, attribute, out, force=force, run=run)
    leaves, levels = len(built.tree.leaf_nodes), built.tree.height
    line = f"{out}: {leaves:,} lea{'f' if leaves == 1 else 'ves'}, {levels} level{'s' * (levels != 1)}"
    terminal.answer(built.to_json(), [line], made=out)


@hierarchy_app.command(cls=Command)
def show(
    config: ConfigPath,
    attribute: Attribute,
    depth: Annotated[
        int | None,
        option(
            "N",
            f"Fold what lies deeper than this below the root (default {_DEPTH}; --json: nothing).",
            parser=whole_number(0),
        ),
    ] = None,
    children: Annotated[
        int, option("N", "Show at most so many nodes under one (not --json).", parser=whole_number(1))
    ] = _CHILDREN,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show a hierarchy as a tree.

    Beside each node: the events and the persons that have a value there, and how many of its leaves occur.
    """
    from sequester.workflow.hierarchy import show_hierarchy  # noqa: PLC0415  (--help need not wait)

    terminal = Terminal(json, quiet)
    with terminal.progress() as progress:
        shown = show_hierarchy(config, attribute, progress=progress)
    lines = shown.lines(depth=_DEPTH if depth is None else depth, children=children)
    terminal.answer(shown.to_json(depth=depth), lines)


def schema(json: Json = False, quiet: Quiet = False) -> None:  # noqa: ARG001  (a schema is JSON in any case)
    """Print the configuration's JSON Schema."""
    from sequester.workflow.config import config_schema  # noqa: PLC0415  (pydantic takes its time)

    Terminal(as_json=True, quiet=quiet).answer(config_schema(), ())


def convert(
    source: Annotated[Path, argument("IN", "The data, or a configuration whose data and roles are meant.")],
    out: Annotated[
        Path, argument("OUT", "Where to: .csv, .tsv, .spmf, .seq, .xes, each also .gz; .parquet, .arrow.")
    ],
    person: Annotated[
        str | None, option("COLUMN", "The column of persons; row where each row is a person.")
    ] = None,
    order: Annotated[str | None, option("COLUMN", "The column that orders events: numbers, or text.")] = None,
    time: Annotated[
        list[str] | None, option("COLUMN", "The column of times; give it twice for dates and clock times.")
    ] = None,
    time_format: Annotated[str | None, option("FORM", "The format of times, such as %Y%m%d.")] = None,
    tie: Annotated[str | None, option("COLUMN", "A second key for events of the same order or time.")] = None,
    symbol: Annotated[str | None, option("COLUMN", "The column of symbols: what happened.")] = None,
    form: DataFormat = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    partition: Annotated[
        int | None,
        option(
            "N",
            "OUT is a folder of N Parquet files, each person in one; the input is read piece by piece.",
            parser=whole_number(1),
        ),
    ] = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write events in another format.

    Tables need no options. XES, SPMF and seq hold persons and what they did in order, so
    a table that does not use their names for columns needs --person, --symbol and --order or --time. What
    the new format cannot hold is said.
    """
    # --help need not wait for polars.
    from sequester.workflow.convert import Roles, Source  # noqa: PLC0415
    from sequester.workflow.convert import convert as write  # noqa: PLC0415

    roles = Roles(
        person=person,
        order=order,
        time=tuple(time or ()),
        time_format=time_format,
        tie=tie,
        symbol=symbol,
    )
    data = Source(path=source, format=form, delimiter=delimiter, encoding=encoding, roles=roles)
    terminal = Terminal(json, quiet)
    with terminal.progress() as progress:
        if partition is None:
            done = write(data, out, force=force, progress=progress)
        else:
            from sequester.workflow.convert import partition as write_parts  # noqa: PLC0415  (as above)

            done = write_parts(data, out, partition, force=force, progress=progress)
    for line in done.lost:
        terminal.warn(line)
    beside = [] if done.persons is None else [f"{done.persons}: the persons"]
    by = "" if done.partitioned_by is None else f", each person (column '{done.partitioned_by}') in one file"
    terminal.answer(done.to_json(), [f"{out}: {done.rows:,} events{by}", *beside], made=out)


datasets_app = typer.Typer(cls=Group, help="Make invented data to try things on.", rich_markup_mode=None)


@datasets_app.callback(invoke_without_command=True)
def datasets(context: typer.Context, json: Json = False, quiet: Quiet = False) -> None:
    """List the generators and the papers' tables."""
    if context.invoked_subcommand is not None:
        return
    document = [
        {"name": each.name, "about": each.about, "columns": list(each.columns), "persons": each.persons}
        for each in DATASETS.values()
    ]
    width = 2 + max(map(len, DATASETS))
    lines = [f"{each.name:<{width}}{each.about} ({', '.join(each.columns)})" for each in DATASETS.values()]
    Terminal(json, quiet).answer({"datasets": document}, lines)


@datasets_app.command(cls=Command)
def make(
    name: Annotated[str, argument("NAME", f"One of {', '.join(DATASETS)}.")],
    out: Annotated[Path, option("FILE", "Where to: .csv, .tsv, .csv.gz, .tsv.gz, .parquet; a folder.")],
    persons: Annotated[int | None, option("N", "How many persons.", parser=whole_number())] = None,
    seed: Annotated[str, option("TEXT", "The same text gives the same file.")] = SEED,
    form: Annotated[
        str | None, option("NAME", "hospital as a clinical data folder: omop, fhir, meds.", "--format")
    ] = None,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make one of them into a file."""
    from sequester.hierarchies.labels import counted  # noqa: PLC0415  (--help need not wait for numpy)
    from sequester.workflow.demo import make_dataset  # noqa: PLC0415  (--help need not wait for polars)

    terminal = Terminal(json, quiet)
    with terminal.progress() as progress:
        made = make_dataset(
            name, out, persons=persons, seed=seed, format=form, force=force, progress=progress
        )
    document = {"dataset": name, "path": str(out), "persons": made.persons, "events": made.events}
    lines = [
        f"{out}: {counted(made.persons, 'person', 'persons')}, {counted(made.events, 'event', 'events')}"
    ]
    if made.hierarchies:
        document |= {"hierarchies": [str(path) for path in made.hierarchies]}
        lines += [f"{path}: a hierarchy of it" for path in made.hierarchies]
    terminal.answer(document, lines, made=out)
