"""Trial runs with less demanding settings: which ones there are, and the nearest that are feasible."""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sequester.engine import LocalEngine, silent
from sequester.errors import InputError, UnattainableError
from sequester.kernels import compile_times

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.methods.method import Method
    from sequester.release.outcome import Outcome


HUNDRED = 100
FEW = 6
"""A path with no more steps is tried step by step; a longer one by bisection."""
SECONDS = 20.0
"""How long alternatives to a setting that is not feasible are tried."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RelaxationPath:
    """Settings that demand less and less, the nearest first, and how a method runs with one of them."""

    parameter: str
    """What is relaxed, in words that follow those of the configuration."""
    asked: object
    """Its value now."""
    steps: Sequence[object]
    """What may be asked instead, from near to far."""
    at: Callable[[Any, EventTable, Any], tuple[Method, EventTable]]
    """Method, table and step to the method and the table that are tried."""
    text: Callable[[Any], str] = str
    """How a step, and what is asked now, is written."""
    equals: str = " = "
    """What stands between the parameter and its value."""

    def setting(self, step: object) -> str:
        """Return a step as a configuration has it, such as ``k = 3``."""
        return f"{self.parameter}{self.equals}{self.text(step)}"

    @classmethod
    def of(cls, method: Method, parameter: str, steps: Sequence[object]) -> RelaxationPath:
        """Relax a parameter of a method.

        Examples
        --------
        >>> from sequester.methods import BFP2kA
        >>> path = RelaxationPath.of(BFP2kA(k=4), "k", downwards(4, 2))
        >>> path.asked, list(path.steps)
        (4, [3, 2])
        """
        return cls(
            parameter=parameter,
            asked=getattr(method, parameter),
            steps=steps,
            at=lambda method, table, step: (replace(method, **{parameter: step}), table),
            text=value_text,
        )


def downwards(asked: int, least: int) -> range:
    """Return the whole numbers below what is asked, the nearest first."""
    return range(asked - 1, least - 1, -1)


def upwards(asked: float | str | Fraction) -> list[float]:
    """Return the hundredths above a share, up to 1, the nearest first.

    Examples
    --------
    >>> upwards("49/50"), upwards(0.985), upwards(1)
    ([0.99, 1.0], [0.99, 1.0], [])
    """
    first = int(Fraction(str(asked)) * HUNDRED) + 1
    return [hundredth / HUNDRED for hundredth in range(first, HUNDRED + 1)]


def value_text(value: object) -> str:
    """Return the value of a parameter as a configuration has it.

    Examples
    --------
    >>> value_text(True), value_text(0.5), value_text(12), value_text(None)
    ('true', '0.5', '12', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def first_step(path: RelaxationPath, holds: Callable[[int], bool]) -> int | None:
    """Find the first step at which something holds; on a long path by bisection.

    By bisection, the step before the one that is found was tried, too, and it did not hold there.

    Examples
    --------
    >>> from sequester.methods import BFP2kA
    >>> path = RelaxationPath.of(BFP2kA(k=90), "k", downwards(90, 2))
    >>> path.steps[first_step(path, lambda place: path.steps[place] <= 31)]
    31
    """
    last = len(path.steps) - 1
    if last < FEW:
        return next((place for place in range(last + 1) if holds(place)), None)
    if holds(0):
        return 0
    return bisect_left(range(last), True, 1, key=holds) if holds(last) else None


def largest(low: int, high: int, holds: Callable[[int], bool]) -> int | None:
    """Find the largest number from `low` to `high` for which `holds`; it fails for all above one that fails.

    Examples
    --------
    >>> largest(2, 100, lambda k: k * k < 50)
    7
    >>> largest(2, 1, lambda k: True), largest(2, 100, lambda k: False)
    (None, None)
    """
    if low > high or not holds(low):
        return None
    return low + bisect_left(range(low, high + 1), True, 1, key=lambda number: not holds(number)) - 1


def working_time() -> float:
    """Return the seconds of a monotonic clock that stands still while kernels are compiled.

    The first use on a machine must not find fewer settings than the second.
    """
    return time.monotonic() - sum(compile_times.measured().values())


class TimeUpError(Exception):
    """A trial was given up, because its time is over."""


def run_trial(
    method: Method,
    table: EventTable,
    *,
    seed: str,
    engine: Engine | None = None,
    progress: Progress = silent,
    deadline: float = math.inf,
) -> Outcome:
    """Run a method on a table, without measures and pseudonyms: nothing of it is released.

    Raises
    ------
    TimeUpError
        When the deadline, by `working_time`, has passed.
    """
    from sequester.release.randomness import Randomness  # noqa: PLC0415  (methods answer without numpy)

    def watch(fraction: float, phase: str) -> None:
        progress(fraction, phase)
        if working_time() > deadline:
            raise TimeUpError

    watch(0.0, "reading")
    table = method.view(table)
    method.accept(table)
    return method.transform(
        table, randomness=Randomness.of(seed), engine=engine or LocalEngine(), progress=watch
    )


def feasible_alternatives(
    refusal: UnattainableError,
    method: Method,
    table: EventTable,
    *,
    seed: str,
    engine: Engine,
    progress: Progress,
    seconds: float | None = None,
) -> UnattainableError:
    """Return a refusal that names feasible settings, found by relaxing one thing at a time."""
    stop = working_time() + (SECONDS if seconds is None else seconds)
    paths = [each for each in method.relaxations(table) if each.steps]
    settings, untried = [], []
    achieved: dict[str, float] = {}

    def report(fraction: float, phase: str) -> None:
        del fraction, phase
        progress(0.9, "searching for feasible settings")

    for number, path in enumerate(paths):
        now = working_time()
        deadline = now + max(stop - now, 0.0) / (len(paths) - number)

        def holds(place: int, path: RelaxationPath = path, deadline: float = deadline) -> bool:
            other, changed = path.at(method, table, path.steps[place])
            try:
                run_trial(other, changed, seed=seed, engine=engine, progress=report, deadline=deadline)
            except (UnattainableError, InputError):
                return False
            return True

        try:
            place = first_step(path, holds)
        except TimeUpError:
            untried.append(path.parameter)
            continue
        if place is not None:
            step = path.steps[place]
            settings.append(path.setting(step))
            if isinstance(step, int | float):
                achieved[path.parameter] = step
    hint = (
        f"{' or '.join(settings)} could be kept"
        if settings
        else f"relaxing {', '.join(each.parameter for each in paths)} alone does not help"
        if paths and not untried
        else "no other setting was found that could be kept"
        if untried
        else "no less can be asked for"
    )
    there = f" (there was no time to try {', '.join(untried)})" if untried else ""
    return UnattainableError(f"{refusal}; {hint}{there}", achieved=achieved)


def quasi_relaxations(table: EventTable) -> tuple[RelaxationPath, ...]:
    """List what each quasi-identifier could allow: a larger max_level, suppression, a coarser beginning."""
    coarse = [
        coarser_start(table, column)
        for column in table.schema.quasi
        if column not in table.schema.sensitive_columns
    ]
    return (*rule_relaxations(table), *(each for each in coarse if each.steps))


def rule_relaxations(table: EventTable) -> tuple[RelaxationPath, ...]:
    """List what the rules of each quasi-identifier could allow: coarser levels, or suppression."""
    paths: list[RelaxationPath] = []
    for column, quasi in table.schema.quasi.items():
        if quasi.max_level is not None:
            steps = range(quasi.max_level + 1, table.hierarchies[column].height + 1)
            paths.append(_rule_relaxation(column, "max_level", quasi.max_level, steps))
        if quasi.never_suppress:
            paths.append(_rule_relaxation(column, "never_suppress", quasi.never_suppress, ((),)))
    return tuple(each for each in paths if each.steps)


def _rule_relaxation(column: str, rule: str, asked: object, steps: Sequence[object]) -> RelaxationPath:
    def at(method: Method, table: EventTable, step: Any) -> tuple[Method, EventTable]:
        quasi = replace(table.schema.quasi[column], **{rule: step})
        schema = replace(table.schema, quasi={**table.schema.quasi, column: quasi})
        return method, table.replace(schema=schema)

    def text(value: object) -> str:
        return ", ".join(value) or "nothing" if isinstance(value, tuple) else str(value)

    return RelaxationPath(parameter=f"{rule} of {column}", asked=asked, steps=steps, at=at, text=text)


def coarser_start(table: EventTable, column: str) -> RelaxationPath:
    """Let the values of a column begin at a coarser level of its hierarchy."""
    tree = table.hierarchies[column]

    def text(level: int) -> str:
        some = next((label for label in tree.level_labels(level) if label not in tree.level_labels(0)), "")
        return "its own values" if level == 0 else f"level {level}{f' such as {some}' if some else ''}"

    def at(method: Method, table: EventTable, level: int) -> tuple[Method, EventTable]:
        return method, coarsened(table, column, level)

    return RelaxationPath(
        parameter=f"hierarchy of {column}",
        asked=0,
        steps=range(1, tree.height),
        at=at,
        text=text,
        equals=" beginning at ",
    )


def coarsened(table: EventTable, column: str, level: int) -> EventTable:
    """Return a table whose column shows a coarser level of its hierarchy from the start.

    Examples
    --------
    >>> from sequester.testing.checks import history_table
    >>> coarse = coarsened(history_table(["ac", "b"]), "letter", 1)
    >>> coarse.sequences.to_rows("letter")
    [('early', 'late'), ('early',)]
    """
    import polars as pl  # noqa: PLC0415  (methods answer without polars)

    from sequester.hierarchies.labels import in_label_order  # noqa: PLC0415

    tree = table.hierarchies[column]
    labels = tree.level_labels(level)
    coarse = type(tree).from_frame(tree.above(labels))
    above = {label: tree.generalize(label, level) for label in table.labels[column]}
    shown = table.frame[column].replace_strict(above, return_dtype=pl.String)
    occurring = {tree.generalize(label, level) for label in table.labels[column]}
    changes: dict[str, object] = {
        "frame": table.frame.with_columns(shown.alias(column)),
        "labels": {**table.labels, column: in_label_order(occurring)},
        "hierarchies": {**table.hierarchies, column: coarse},
    }
    quasi = table.schema.quasi.get(column)
    if quasi is not None:
        mapped = replace(
            quasi,
            hierarchy=coarse,
            max_level=None if quasi.max_level is None else max(quasi.max_level - level, 0),
            never_suppress=tuple(
                dict.fromkeys(tree.generalize(label, level) for label in quasi.never_suppress)
            ),
        )
        changes["schema"] = replace(table.schema, quasi={**table.schema.quasi, column: mapped})
    return table.replace(**changes)
