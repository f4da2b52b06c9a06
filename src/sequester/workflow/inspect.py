"""Looks at a table as it stands: its shape, its problems, and what it gives away."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypedDict, cast

from sequester.attacks import expose
from sequester.attacks.singling_out import SinglingOut
from sequester.datasets import SEED
from sequester.engine import part, silent
from sequester.errors import ParameterError
from sequester.methods import METHODS
from sequester.methods.halt.kcp_method import KCPMethod
from sequester.mining.dependence import dependent
from sequester.workflow.config import Config
from sequester.workflow.hearing import hearing, keep_quiet
from sequester.workflow.inspection.channels import C, ChannelCounts, K
from sequester.workflow.inspection.frequent import SHOWN, Frequent
from sequester.workflow.inspection.inspection import Inspection
from sequester.workflow.inspection.shape import Shape
from sequester.workflow.output_file import put, refuse_existing, refuse_inputs

if TYPE_CHECKING:
    from pathlib import Path

    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.workflow.hearing import Warn

KNOWN = 3
"""Items that somebody may know, at most."""


class _Demanded(TypedDict, total=False):
    k: int
    c: float


def inspect(
    table: EventTable,
    *,
    patterns: bool = False,
    min_support: int | None = None,
    top: int | None = None,
    seed: str | None = None,
    k: int = K,
    c: float = C,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> Inspection:
    """Say what a table looks like, what is wrong with it, and what somebody who knows 1 to 3 items could do.

    The trips of a person are looked at together. Up to 100,000 persons everything is exact. Of more persons
    10,000 are drawn by the seed, and what could be known of each of them is counted among everybody; shares
    then come with an interval. Where there are quasi-identifiers, minimal inference channels are counted by
    length, as far as that takes seconds: what fits fewer than `k` persons, or tells a protected value with a
    confidence above `c`. With `patterns`, the `top` frequent patterns are listed (20 unless told), each of at
    least `min_support` persons.

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
        msg = f"{'top' if min_support is None else 'min_support'} is about patterns: ask for patterns too"
        raise ParameterError(msg)
    progress(0.0, "measuring")
    shape = Shape.of(table)
    # Who has the data has all trips of a person under one key.
    whole = table.joined()
    follows = dependent(table)
    frequent = None
    if patterns:
        progress(0.05, "mining patterns")
        frequent = Frequent.of(
            table,
            min_support=min_support,
            top=SHOWN if top is None else top,
            engine=engine,
            progress=part(progress, 0.05, 0.1),
        )
    exposures = expose(
        whole,
        known=KNOWN,
        seed=SEED if seed is None else seed,
        engine=engine,
        progress=part(progress, 0.1, 0.8),
    )
    channels = ChannelCounts.of(whole, k=k, c=c, most=KNOWN, engine=engine, progress=part(progress, 0.8, 1.0))
    progress(1.0, "inspected")
    return Inspection(
        shape=shape,
        problems=table.problems,
        reading=table.reading,
        dependent=follows,
        exposures=exposures,
        frequent=frequent,
        channels=channels,
        singled_out=SinglingOut.of(whole),
    )


def inspect_config(
    config: str | Path | Config,
    *,
    out: Path | None = None,
    force: bool = False,
    patterns: bool = False,
    min_support: int | None = None,
    top: int | None = None,
    seed: str | None = None,
    engine: Engine | None = None,
    progress: Progress = silent,
    warn: Warn = keep_quiet,
) -> Inspection:
    """Inspect the data of a configuration, which need not name a method, and write the page to `out`.

    Raises
    ------
    InputError
        Where the configuration or the data is at fault, all problems together, or the page cannot be written.
    """
    with hearing(warn):
        if out is not None:
            refuse_existing(out, force=force)
        config = config if isinstance(config, Config) else Config.load(config)
        if out is not None:
            refuse_inputs(out, inputs=config.inputs)
        progress(0.0, "reading")
        table = config.table()
        found = inspect(
            table,
            patterns=patterns,
            min_support=min_support,
            top=top,
            seed=seed,
            engine=engine,
            progress=part(progress, 0.15, 1.0),
            **_demanded(config),
        )
        if out is not None:
            put(found.to_html().encode(), out)
        return found


def _demanded(config: Config) -> _Demanded:
    """Read what the method asks for, where there is one that speaks of channels."""
    name = (config.settings.method or {}).get("name")
    if not issubclass(METHODS.get(str(name), object), KCPMethod):
        return {}
    method = cast("KCPMethod", config.method())
    return {"k": method.k, "c": float(Fraction(method.c))}
