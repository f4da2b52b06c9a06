"""Explain a release: reasons for its changes, and relaxations that would have kept more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from sequester._repr import Card, Document
from sequester._validation import in_range
from sequester.engine import silent
from sequester.errors import InputError, ParameterError, UnattainableError
from sequester.explanation.offers import find_offers
from sequester.explanation.relaxation import MOST_EVENTS, find_relaxations
from sequester.hierarchies.labels import counted
from sequester.methods.relax import TimeUpError, run_trial, working_time
from sequester.utility.generalization import information_loss

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.explanation.offers import Offer
    from sequester.explanation.relaxation import Relaxation
    from sequester.methods.method import Method
    from sequester.release.outcome import Reason
    from sequester.release.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Document):
    """Why a release is as it is, and what would have kept more. Internal."""

    reasons: tuple[Reason, ...]
    """What was changed, by the constraint that demanded it."""
    relaxations: tuple[Relaxation, ...] = ()
    """The smallest steps that would have kept more of what is lost, each of them tried."""
    offers: tuple[Offer, ...] = ()
    """What to leave out, repair or group, each of them tried, the smallest loss first."""
    notes: tuple[str, ...] = ()
    """How it was tried: on a sample, what would have helped nothing, and what there was no time for."""
    fresh_loss: float | None = None
    """Of a later part of a series, what a fresh series of the whole input would lose; None if not tried."""

    @property
    def leave_out(self) -> tuple[str, ...]:
        """The persons whom an offer leaves out, by their keys in the input; none where there is no offer."""
        return next((each.persons for each in self.offers if each.kind == "leave out"), ())

    def _repr_html_(self) -> str:
        return Card(
            title="What was changed, and why",
            remarks=tuple(str(self).splitlines()),
            header=("change", "events", "persons"),
            rows=tuple((each.change, f"{each.events:,}", f"{each.persons:,}") for each in self.reasons),
        ).html()

    def __str__(self) -> str:
        return "\n".join(
            (
                *(each.text for each in self.reasons),
                *(each.text for each in self.offers),
                *(each.text for each in self.relaxations),
                *self.notes,
            )
        )


def explain(
    release: Release,
    *,
    original: EventTable,
    method: Method,
    seconds: float = 30,
    progress: Progress = silent,
) -> Explanation:
    """Describe what was changed and why, and what the smallest relaxations would have kept.

    Relaxations are found by running the method again, with the release's seed. Large tables are tried on
    some of their persons, and what there was no time for is said.

    Parameters
    ----------
    release
        The release.
    original
        The table that it was made from.
    method
        The method that made it.
    seconds
        How long relaxations may be tried; 0 tries none.
    progress
        Called with the share of the work that is done, and what is done next.

    Returns
    -------
    Explanation
        Reasons for the changes, relaxations with what they would have kept, and what there was no time for.

    Raises
    ------
    ParameterError
        If `seconds` is below 0, or `method` did not make the release.

    Examples
    --------
    >>> from sequester.methods import PrefixPruning
    >>> from sequester.testing import symbol_table
    >>> table = symbol_table(["ab", "ab", "ab", "cd", "cd", "e"])
    >>> method = PrefixPruning(k=3)
    >>> release = method.apply(table, seed="a sentence nobody guesses")
    >>> print(explain(release, original=table, method=method).relaxations[0].text)
    k = 2 instead of 3 would have kept 4 of 5 events that are not shown as they were
    """
    in_range("seconds", seconds, 0)
    if release.method != method.name:
        msg = f"method must be the one that made the release, {release.method}, got {method.name}"
        raise ParameterError(msg)
    progress(0.0, "finding reasons")
    original = method.view(original)
    reasons = method.reasons(release, original)
    if release.link is not None and release.link.part > 1:
        fresh_loss, notes = _fresh_series(release, original, method, seconds)
        progress(1.0, "explained")
        return Explanation(reasons=reasons, notes=tuple(notes), fresh_loss=fresh_loss)
    progress(0.05, "looking for rare persons and values")
    began = working_time()
    offers, why = find_offers(
        original,
        method,
        seed=release.seed,
        seconds=seconds / 2,
        persons=method.trial_persons,
        events=MOST_EVENTS,
    )
    left = max(seconds - (working_time() - began), 0.0)
    relaxations, notes = find_relaxations(release, original, method, left, progress)
    progress(1.0, "explained")
    return Explanation(
        reasons=reasons,
        offers=tuple(offers),
        relaxations=tuple(relaxations),
        notes=(*why, *notes),
    )


def _fresh_series(
    release: Release, original: EventTable, method: Method, seconds: float
) -> tuple[float | None, list[str]]:
    """Return what a fresh series of the same input would lose, and notes on it beside this part.

    What could be relaxed is not looked for: a series keeps its parameters.
    """
    untried = "what a fresh series would keep was not tried"
    if original.n_events > MOST_EVENTS:
        return None, [f"{untried}: the input has more than {MOST_EVENTS:,} events"]
    try:
        outcome = run_trial(method, original, seed=release.seed, deadline=working_time() + seconds)
    except TimeUpError:
        return None, [f"{untried}: it would take longer than the time given"]
    except (UnattainableError, InputError) as error:
        return None, [f"{untried}: {error}"]
    fresh = information_loss(outcome.sequences, original=original).value
    n_suppressed = outcome.changes.lazy().select((pl.col("what") == "suppressed").sum()).collect().item()
    values = counted(n_suppressed, "suppressed value", "suppressed values")
    told = f"would lose {fresh:.3f} of what its quasi-identifiers tell, with {values}"
    notes = [f"a fresh series of the whole input {told} and no event held back"]
    if release.series is not None:
        row, own = release.series.history[-1], release.utility.get("information_loss")
        loss = "" if own is None else f" loses {own.value:.3f} and"
        held_back = counted(row["held_back"], "new event is", "new events are")
        values = counted(row["suppressed"], "value is", "values are")
        notes.append(
            f"this part, at the levels of the series,{loss} pays for its past: {values} suppressed and "
            f"{held_back} held back"
        )
        notes += [
            f"a fresh series would show {name} {'finer' if depth > here else 'coarser'} than the series does"
            for name, depth in outcome.depths.items()
            if (here := release.series.depths.get(name, depth)) != depth
        ]
    notes.append(
        "a fresh series could not be joined with what was published, and both side by side are not covered"
    )
    return fresh, notes
