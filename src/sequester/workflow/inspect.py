"""Inspect a table: its shape, its problems, and the re-identification risk of the raw data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sequester._repr import shown
from sequester.attacks import expose, expose_attributes
from sequester.attacks.exposure import EXACT, TARGETS
from sequester.attacks.exposure_search import most_items
from sequester.attacks.singling_out import SinglingOut
from sequester.datasets import SEED
from sequester.engine import part, silent
from sequester.errors import ParameterError, ignore_warning
from sequester.mining.dependence import find_changes, find_dependences
from sequester.workflow.config import Config
from sequester.workflow.inspect_measures import SHOWN, C, ChannelCounts, FrequentPatterns, K, Shape
from sequester.workflow.inspect_text import lines
from sequester.workflow.output_file import refuse_existing, refuse_inputs, write_file

if TYPE_CHECKING:
    from pathlib import Path

    from sequester.attacks import AttributeExposure, Exposure
    from sequester.data.problems import Problem, ReadSummary
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.errors import Warn
    from sequester.mining.dependence import Dependence


KNOWN = 3
"""Items that somebody may know, at most."""
MOST_COMBINATIONS = 20_000_000
"""Combinations of items that are looked at; where all persons have more, fewer persons are targets."""
FEWEST_TARGETS = 500
"""Persons who are targets in any case."""


def inspect(
    table: EventTable,
    *,
    patterns: bool = False,
    min_support: int | None = None,
    top: int | None = None,
    seed: str | None = None,
    k: int = K,
    c: float = C,
    thorough: bool = False,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> Inspection:
    """Return the shape of a table, its problems, and the risk from an adversary who knows 1 to 3 items.

    The trips of a person are looked at together. Up to 100,000 persons everything is exact. Of more persons
    10,000 are drawn by the seed, and what could be known of each of them is counted among everybody; shares
    then come with an interval. Where there are quasi-identifiers, minimal inference channels are counted by
    length, as far as that takes seconds: background knowledge that matches fewer than `k` persons, or that
    shows a protected value with a confidence above `c`.

    Parameters
    ----------
    table
        The data.
    patterns
        List frequent patterns, too.
    min_support
        Persons that a listed pattern has at least.
    top
        How many patterns are listed; 20 by default.
    seed
        Draws persons where there are too many.
    k
        Smallest number of persons that is no inference channel.
    c
        Largest confidence that is no inference channel.
    thorough
        Look at everybody, however many items they have.
    engine
        Where the work runs.
    progress
        Called with the share of the work that is done, and what is done next.

    Returns
    -------
    Inspection
        Shape, problems, dependent quasi-identifiers and risks; it shows itself in a notebook.

    Raises
    ------
    ParameterError
        If `min_support` or `top` is given without `patterns`, or a parameter is out of range.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"user": list("112233"), "n": [1, 2] * 3, "page": list("ababba")})
    >>> found = inspect(EventTable(frame, Schema(person="user", order="n", symbol="page")))
    >>> found.shape.persons, found.problems, found.dependent
    (3, (), ())
    >>> [(each.known, round(each.unique.value, 2)) for each in found.exposures if each.kind == "ordered"]
    [(1, 0.0), (2, 0.33), (3, 0.33)]
    """
    if not patterns and (min_support is not None or top is not None):
        msg = f"{'top' if min_support is None else 'min_support'} needs patterns: ask for them, too"
        raise ParameterError(msg)
    progress(0.0, "measuring")
    shape = Shape.of(table)
    # Who has the data has all trips of a person under one key.
    whole = table.joined().histories
    follows = find_dependences(table)
    frequent = None
    if patterns:
        progress(0.05, "mining patterns")
        frequent = FrequentPatterns.of(
            table,
            min_support=min_support,
            top=SHOWN if top is None else top,
            engine=engine,
            progress=part(progress, 0.05, 0.1),
        )
    exposures: tuple[Exposure, ...] = ()
    by_attribute: tuple[AttributeExposure, ...] = ()
    # One person is told from nobody.
    if whole.n_persons > 1:
        targets = None if thorough else count_targets(whole)
        drawn: dict[str, Any] = {
            "known": KNOWN,
            "exact": EXACT if targets is None else targets,
            "targets": TARGETS if targets is None else targets,
            "seed": SEED if seed is None else seed,
            "engine": engine,
        }
        exposures = expose(whole, **drawn, progress=part(progress, 0.1, 0.7))
        by_attribute = expose_attributes(whole, **drawn, progress=part(progress, 0.7, 0.8))
    channels = ChannelCounts.of(whole, k=k, c=c, most=KNOWN, engine=engine, progress=part(progress, 0.8, 1.0))
    progress(1.0, "inspected")
    return Inspection(
        shape=shape,
        problems=(*table.problems, *find_changes(whole)),
        reading=table.reading,
        dependent=follows,
        exposures=exposures,
        by_attribute=by_attribute,
        frequent=frequent,
        channels=channels,
        singled_out=SinglingOut.of(whole),
    )


def count_targets(table: EventTable) -> int | None:
    """Return how many persons are targets where all have too many items to combine; None where all are.

    Examples
    --------
    >>> from sequester.testing import symbol_table
    >>> count_targets(symbol_table(["ab", "ab"])) is None
    True
    """
    n_columns = 1 if table.symbol is not None else len(table.schema.quasi)
    n_items = np.minimum(np.diff(table.person_offsets) * n_columns, most_items(KNOWN)).astype(np.float64)
    combinations = n_items * np.maximum(n_items - 1, 0) * np.maximum(n_items - 2, 0) / 6
    if combinations.sum() <= MOST_COMBINATIONS:
        return None
    targets = max(int(MOST_COMBINATIONS / combinations.mean()), FEWEST_TARGETS)
    return targets if targets < table.n_persons else None


def inspect_config(
    config: str | Path | Config,
    *,
    out: Path | None = None,
    force: bool = False,
    progress: Progress = silent,
    warn: Warn = ignore_warning,
    **asked: Any,
) -> Inspection:
    """Inspect the data of a configuration, which need not name a method, and write the page to `out`.

    `asked` are further parameters of `inspect`.

    Raises
    ------
    InputError
        Where the configuration or the data is at fault, all problems together, or the page cannot be written.
    """
    if out is not None:
        refuse_existing(out, force=force)
    config = Config.load(config)
    if out is not None:
        refuse_inputs(out, inputs=config.inputs)
    progress(0.0, "reading")
    table = config.table(warn, engine=asked.get("engine"))
    k, c = (config.settings.method and config.method().channel_thresholds()) or (K, C)
    found = inspect(table, k=k, c=c, progress=part(progress, 0.15, 1.0), **asked)
    if out is not None:
        write_file(found.to_html().encode(), out)
    return found


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Inspection:
    """The shape of a table, its problems, and its re-identification risk.

    Names no person but those whose keys look alike.
    """

    shape: Shape
    """How many, how often, how far apart."""
    problems: tuple[Problem, ...]
    """Warnings and notes, with counts and rows."""
    dependent: tuple[Dependence, ...]
    """Quasi-identifiers that follow from others."""
    exposures: tuple[Exposure, ...]
    """What somebody who knows a few items of a person finds, kind by kind."""
    by_attribute: tuple[AttributeExposure, ...] = ()
    """Who is singled out by one attribute alone, the worst first; empty where there is only one attribute."""
    frequent: FrequentPatterns | None = None
    """Frequent patterns, where they were asked for."""
    reading: ReadSummary | None = None
    """What became of the rows of the input: events, parts of one, or left out."""
    channels: ChannelCounts | None = None
    """Minimal inference channels by length, where there are quasi-identifiers."""

    singled_out: SinglingOut | None = None
    """Who is singled out by kept columns and unprotected sensitive values; None where there are none."""

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``inspect --json`` prints."""
        document = {
            "persons": self.shape.persons,
            **({} if self.shape.trips is None else {"trips": self.shape.trips}),
            "events": self.shape.events,
            "reading": None if self.reading is None else self.reading.to_json(),
            "problems": [
                {
                    "what": each.what,
                    "count": each.count,
                    "rows": list(each.rows),
                    "column": each.column,
                    "severity": each.severity,
                }
                for each in self.problems
            ],
            "dependent": [list(each.columns) for each in self.dependent],
            "risk": [each.to_json() for each in self.exposures],
            "by_attribute": [each.to_json() for each in self.by_attribute],
            "singled_out": None if self.singled_out is None else self.singled_out.to_json(),
            "shape": self.shape.to_json(),
        }
        if self.channels is not None:
            document["channels"] = self.channels.to_json()
        return document | ({} if self.frequent is None else {"patterns": self.frequent.to_json()})

    def to_html(self) -> str:
        """Write everything as a page of its own, which needs no network and runs no script."""
        # The renderer of plots takes most of a second to load, and only pages need it.
        from sequester.workflow.inspect_page import page  # noqa: PLC0415

        return page(self)

    def __repr__(self) -> str:
        return "\n".join(map(shown, lines(self)))

    def _repr_html_(self) -> str:
        from sequester.workflow.inspect_page import fragment  # noqa: PLC0415  (as above)

        return fragment(self)
