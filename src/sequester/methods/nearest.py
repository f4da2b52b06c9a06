"""The nearest settings that can be kept, where what is asked for cannot: each of them is tried."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING

from sequester.errors import InputError, SequesterWarning, UnattainableError
from sequester.methods.ladder import first_step

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.methods.ladder import Ladder
    from sequester.methods.method import Method
    from sequester.release.outcome import Outcome

SECONDS = 20.0
"""How long settings are tried for a refusal."""


class TimeUpError(Exception):
    """A run was given up, because its time is over."""


def run_until(
    deadline: float, method: Method, table: EventTable, *, seed: str, engine: Engine, phase: Progress
) -> Outcome:
    """Run a method on a table, without measures and pseudonyms; `phase` hears of every step of it.

    Raises
    ------
    TimeUpError
        When the deadline, by the monotonic clock, has passed.
    """
    from sequester.release.randomness import Randomness  # noqa: PLC0415  (methods answer without numpy)

    def watch(fraction: float, name: str) -> None:
        phase(fraction, name)
        if time.monotonic() > deadline:
            raise TimeUpError

    watch(0.0, "reading")
    with warnings.catch_warnings():
        # What a trial would draw warnings for is not released.
        warnings.simplefilter("ignore", SequesterWarning)
        method.accept(table)
        return method.transform(table, randomness=Randomness.of(seed), engine=engine, progress=watch)


def with_nearest(
    refusal: UnattainableError,
    method: Method,
    table: EventTable,
    *,
    seed: str,
    engine: Engine,
    progress: Progress,
    seconds: float = SECONDS,
) -> UnattainableError:
    """Complete a refusal that names no setting: relax one thing at a time until a run ends well."""
    stop = time.monotonic() + seconds
    ladders = [each for each in method.ladders(table) if each.steps]
    words, untried = [], []
    achieved: dict[str, float] = {}

    def silent_phase(fraction: float, name: str) -> None:
        del fraction, name
        progress(0.9, "looking for what could be kept")

    for number, ladder in enumerate(ladders):
        now = time.monotonic()
        deadline = now + max(stop - now, 0.0) / (len(ladders) - number)

        def holds(place: int, ladder: Ladder = ladder, deadline: float = deadline) -> bool:
            other, changed = ladder.at(method, table, ladder.steps[place])
            try:
                run_until(deadline, other, changed, seed=seed, engine=engine, phase=silent_phase)
            except (UnattainableError, InputError):
                return False
            return True

        try:
            place = first_step(ladder, holds)
        except TimeUpError:
            untried.append(ladder.parameter)
            continue
        if place is not None:
            step = ladder.steps[place]
            words.append(f"{ladder.parameter}{ladder.equals}{ladder.words(step)}")
            if isinstance(step, int | float):
                achieved[ladder.parameter] = step
    hint = (
        f"{' or '.join(words)} could be kept"
        if words
        else f"relaxing {', '.join(each.parameter for each in ladders)} alone does not help"
        if ladders and not untried
        else "no other setting was found that could be kept"
        if untried
        else "no less can be asked for"
    )
    there = f" (there was no time to try {', '.join(untried)})" if untried else ""
    return UnattainableError(f"{refusal}; {hint}{there}", achieved=achieved)
