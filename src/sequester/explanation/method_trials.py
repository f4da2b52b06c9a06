"""Try the methods that serve the answers on a sample, and show what each keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sequester.engine import part, silent
from sequester.errors import InputError, UnattainableError
from sequester.hierarchies.labels import counted
from sequester.methods.relax import TimeUpError, run_trial, working_time
from sequester.methods.reposition.method import SnapshotMethod
from sequester.release.outcome import outcome_losses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.methods.method import Method

SECONDS = 60.0
"""Time for all trials together, compiling aside."""
PERSONS, EVENTS = 2_000, 20_000
"""What a sample has at most."""
MOST_LOST = 0.2
"""Share of lost events above which another setting of a method is looked for."""
SEED = "what a method keeps"
_HIDDEN = ("patterns",)


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodTrial:
    """A method with parameters, and what it kept of a sample."""

    method: type[Method]
    """The method."""
    parameters: Mapping[str, object]
    """What it was tried with."""
    events_kept: float | None = None
    """Share of the events that the release would still show; None where there was none."""
    information_kept: float | None = None
    """One less its information loss."""
    bits: float | None = None
    """What may be told about patterns, in bits, where that is bounded."""
    reason: str = ""
    """Why there is no figure."""

    def to_json(self) -> dict[str, Any]:
        """Return the trial as a JSON document."""
        return {
            "method": self.method.name,
            "parameters": dict(self.parameters),
            "events_kept": self.events_kept,
            "information_kept": self.information_kept,
            "bits": self.bits,
            "reason": self.reason,
        }

    def cells(self) -> tuple[str, ...]:
        """Return the cells of its row in a table."""
        shown = {name: value for name, value in self.parameters.items() if name not in _HIDDEN}
        setting = " ".join(f"{name}={value}" for name, value in shown.items())
        bits = "" if self.bits is None else f" ({self.bits:.2g} bits)"
        if self.events_kept is None or self.information_kept is None:
            return self.method.name, setting, "", self.reason
        return self.method.name, setting + bits, f"{self.events_kept:.0%}", f"{self.information_kept:.0%}"


def try_methods(
    candidates: Sequence[tuple[type[Method], dict[str, object]]],
    table: EventTable,
    *,
    seconds: float = SECONDS,
    progress: Progress = silent,
) -> tuple[list[MethodTrial], str]:
    """Try every candidate and its alternatives on a sample; also describe the sample.

    Each trial gets an equal part of the time that is left, so that all of them have a chance.
    """
    stop = working_time() + seconds
    settings = [
        (method, each) for method, parameters in candidates for each in method.alternatives(table, parameters)
    ]
    samples: dict[bool, EventTable] = {}
    trials = []
    for place, (method, parameters) in enumerate(settings):
        in_time = issubclass(method, SnapshotMethod)
        sample = samples.setdefault(in_time, _sample(table, in_time=in_time))
        now = working_time()
        deadline = now + max(stop - now, 0.0) / (len(settings) - place)
        report = part(progress, place / len(settings), (place + 1) / len(settings))
        report(0.0, f"trying {method.name}")
        trials.append(_try(method, parameters, sample, deadline))
    used = next(iter(samples.values()), table)
    whole = "everything" if used is table else "a sample"
    return trials, f"{whole}: {counted(used.n_owners, 'person', 'persons')}, {used.n_events:,} events"


def _sample(table: EventTable, *, in_time: bool) -> EventTable:
    """Draw persons at random; for snapshots take those who come first, so that each is as full as it was."""
    if not in_time:
        return table.sample(persons=PERSONS, events=EVENTS, seed=SEED)
    if table.n_events <= EVENTS:
        return table
    when = table.times if table.times is not None else table.frame[str(table.schema.order)]
    firsts = when.gather(table.person_offsets[:-1]).rank("ordinal").to_numpy()
    return table.take(np.asarray(firsts <= EVENTS * table.n_persons / table.n_events))


def _try(
    method: type[Method], parameters: Mapping[str, object], table: EventTable, deadline: float
) -> MethodTrial:
    made = method(**parameters)
    try:
        outcome = run_trial(made, table, seed=SEED, deadline=deadline)
        scores = made.evaluate(outcome, table, progress=silent)
    except TimeUpError:
        return MethodTrial(method=method, parameters=parameters, reason="not done in its share of the time")
    except (UnattainableError, InputError) as error:
        return MethodTrial(method=method, parameters=parameters, reason=str(error).splitlines()[0])
    lost = outcome_losses(outcome, table).lost / max(table.n_events, 1)
    # Of records that are moved or left out, what is left is as it was.
    loss = scores["information_loss"].value if "information_loss" in scores else lost
    bounds = outcome.evidence["verdicts"]["bound_bits"] if "verdicts" in outcome.evidence else None
    return MethodTrial(
        method=method,
        parameters=parameters,
        events_kept=1 - lost,
        information_kept=1 - loss,
        bits=None if bounds is None or not len(bounds) else float(bounds.max()),  # type: ignore[arg-type]
    )


def best_setting(trials: Sequence[MethodTrial], suggested: Mapping[str, object]) -> MethodTrial | None:
    """Return the first setting that loses few events, `suggested` before others; or what keeps most.

    It keeps the same promise as `suggested`: what is promised less is shown, and not recommended.
    """
    made = [
        each
        for each in trials
        if each.events_kept is not None
        and each.method(**each.parameters).model() == each.method(**suggested).model()
    ]
    made.sort(key=lambda each: each.parameters != suggested)
    few = [each for each in made if each.events_kept is not None and each.events_kept >= 1 - MOST_LOST]
    return next(iter(few), None) or max(made, key=lambda each: each.events_kept or 0.0, default=None)
