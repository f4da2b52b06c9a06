"""Recommend a method for data and purpose: four questions, and a trial of each method that serves."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sequester._repr import aligned, json_fields
from sequester.attacks.singling_out import SinglingOut
from sequester.engine import part, silent
from sequester.errors import InputError, ParameterError, UnattainableError
from sequester.hierarchies.labels import counted
from sequester.methods import METHODS
from sequester.methods.prices import classes_of
from sequester.methods.relax import TimeUpError, run_trial, working_time
from sequester.release.outcome import outcome_losses
from sequester.release.purpose import KEEP, KNOWN, QUESTIONS, RECIPIENT, RELEASE
from sequester.workflow.config import Config

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.data.table import EventTable
    from sequester.engine import Progress
    from sequester.methods.method import Method
    from sequester.release.purpose import Question, Suitability


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
    """What may be revealed about patterns, in bits, where that is bounded."""
    reason: str = ""
    """Why there is no figure."""

    def to_json(self) -> dict[str, Any]:
        """Return the trial as a JSON document."""
        return json_fields(self) | {"method": self.method.name}

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
        in_time = method.tried_in_time
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
    made, trial = method(**parameters), MethodTrial(method=method, parameters=parameters)
    try:
        outcome = run_trial(made, table, seed=SEED, deadline=deadline)
        scores = made.evaluate(outcome, table, progress=silent)
    except TimeUpError:
        return replace(trial, reason="not done in its share of the time")
    except (UnattainableError, InputError) as error:
        return replace(trial, reason=str(error).splitlines()[0])
    lost = outcome_losses(outcome, table).lost / max(table.n_events, 1)
    # Of records that are moved or left out, what is left is as it was.
    loss = scores["information_loss"].value if "information_loss" in scores else lost
    bounds = outcome.evidence["verdicts"]["bound_bits"] if "verdicts" in outcome.evidence else None
    return replace(
        trial,
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


DEFAULT_K = {"public": 10, "partner": 5, "colleague": 3, "service": 5}
"""Recipient to the number of persons among whom somebody is to be hidden, to begin with."""
MIN_GROUPS = 20
"""A smaller k is suggested where not so many groups of k persons can be made."""
PATTERNS = "patterns"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """A method that serves all answers."""

    method: type[Method]
    """The method."""
    merit: int
    """How well it keeps what must stay true."""
    keeps: str
    """How it does that."""
    reasons: tuple[str, ...]
    """Why it serves."""
    parameters: Mapping[str, object]
    """What to begin with."""
    kept: float | None = None
    """What it kept of a sample: one less its information loss; None where it was not tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What to use, and what not, for which reasons; false where no method serves the answers."""

    answers: Mapping[str, str]
    """Question to answer."""
    shape: tuple[str, ...]
    """What the data is, as far as it matters."""
    recommended: Recommendation | None
    """The method to begin with."""
    runner_up: tuple[str, str] | None
    """The next one, and why it is not the first."""
    refused: Mapping[str, str]
    """The others, and why not."""
    notes: tuple[str, ...]
    """What else to think of; where nothing is recommended, which other answers are served."""
    trials: tuple[MethodTrial, ...] = ()
    """What each method that serves kept of a sample."""
    sample: str = ""
    """What they were tried on."""

    def __bool__(self) -> bool:
        return self.recommended is not None

    @property
    def block(self) -> str:
        """The table ``[method]`` to paste into the configuration."""
        if self.recommended is None:
            return ""
        table = {"name": self.recommended.method.name, **self.recommended.parameters}
        # What parameters are made of is written in TOML as it is in JSON.
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()]
        text = "\n".join(("[method]", *lines, ""))
        if PATTERNS in table:
            hint = "# name your own: each a list of symbols, in order; this one only shows the form"
            text = text.replace(f"{PATTERNS} =", f"{hint}\n{PATTERNS} =", 1)
        return text

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``advise --json`` prints."""
        first = self.recommended
        return {
            "answers": dict(self.answers),
            "data": list(self.shape),
            "recommended": None
            if first is None
            else {
                "method": first.method.name,
                "reasons": list(first.reasons),
                "parameters": dict(first.parameters),
                "block": self.block,
            },
            "runner_up": None
            if self.runner_up is None
            else {"method": self.runner_up[0], "why_not": self.runner_up[1]},
            "refused": dict(self.refused),
            "notes": list(self.notes),
            "sample": self.sample,
            "trials": [each.to_json() for each in self.trials],
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the lines for a terminal."""
        said = [f"data: {', '.join(self.shape)}"]
        if self.recommended is None:
            said.append("no method serves these answers for this data")
        else:
            said.append(f"recommended: {self.recommended.method.name}")
            said += [f"  {reason}" for reason in self.recommended.reasons]
        if self.runner_up is not None:
            said.append(f"runner-up: {self.runner_up[0]}, but {self.runner_up[1]}")
        said += self.notes
        if self.trials:
            header = ("method", "setting", "events", "information kept")
            said += [
                "",
                f"tried on {self.sample}:",
                *aligned([header, *(each.cells() for each in self.trials)], indent="  "),
            ]
        if self.recommended is None:
            said += [f"not {name}: {why}" for name, why in self.refused.items()]
        else:
            said += ["", *self.block.splitlines()]
        return said


def advise(
    data: str | Path | EventTable,
    *,
    recipient: str,
    known: str,
    keep: str,
    release: str = "once",
    seconds: float = SECONDS,
    progress: Progress = silent,
) -> Advice:
    """Recommend a method for a table, or for the data that a configuration describes.

    Parameters
    ----------
    data
        The table, or the configuration; it needs no ``[method]``.
    recipient
        Who receives it: public, partner, colleague, or service.
    known
        What they may know or look for: few, all, time, or patterns.
    keep
        What must stay true: records, complete, patterns, counts, times, or yardstick.
    release
        once, or repeated.
    seconds
        Time to try the methods that serve the answers on a sample; 0 recommends without trial.
    progress
        Called with the share of the work that is done, and what is done next.

    Returns
    -------
    Advice
        The recommended method with its parameters, a runner-up, and the reasons.

    Raises
    ------
    ParameterError
        If an answer is none of those above.
    InputError
        If the configuration or its data cannot be used.

    Examples
    --------
    >>> from sequester.testing import symbol_table
    >>> advice = advise(symbol_table(["ab", "abc", "c"]), recipient="public", known="few", keep="patterns")
    >>> advice.recommended.method.name, advice.runner_up[0]
    ('p2ka', 'prefix-pruning')
    """
    answers = {RECIPIENT.name: recipient, KNOWN.name: known, KEEP.name: keep, RELEASE.name: release}
    for question in QUESTIONS:
        if answers[question.name] not in question.answers:
            words = ", ".join(question.answers)
            msg = f"{question.name} must be one of {words}, got {answers[question.name]!r}"
            raise ParameterError(msg)
    progress(0.0, "reading")
    table = Config.load(data).table() if isinstance(data, str | Path) else data
    if table.schema.purpose is not None:
        # Each method would give the same reason for having no figure.
        classes_of(table.histories, table.schema.purpose)
    progress(0.2, "comparing methods")
    k = max(2, min(DEFAULT_K[recipient], table.n_owners // MIN_GROUPS))
    fitting, misfits = _fitting(table, k=k)
    advice = _decide(table, answers, fitting, misfits, seconds=seconds, progress=part(progress, 0.2, 1.0))
    progress(1.0, "compared")
    return advice


def _fitting(table: EventTable, *, k: int) -> tuple[dict[str, dict[str, object]], dict[str, str]]:
    """Try every method's own rules on the table: parameters of those that take it, and why others do not."""
    fitting: dict[str, dict[str, object]] = {}
    misfits: dict[str, str] = {}
    for name, method in METHODS.items():
        if table.owners is not None and not method.takes_trips:
            misfits[name] = "it needs one sequence per person, and trip makes several"
            continue
        if table.schema.purpose is not None and not method.takes_purpose:
            misfits[name] = "it does not support a purpose"
            continue
        try:
            parameters = method.suggest(table, k=k)
            made = method(**parameters)
            made.accept(made.view(table))
        except InputError as error:
            misfits[name] = error.lines[0]
        else:
            fitting[name] = parameters
    return fitting, misfits


def _decide(
    table: EventTable,
    answers: Mapping[str, str],
    fitting: Mapping[str, dict[str, object]],
    misfits: Mapping[str, str],
    *,
    seconds: float,
    progress: Progress,
) -> Advice:
    effective = dict(answers)
    notes = []
    if table.n_owners == 1 and effective[RECIPIENT.name] != "service":
        effective[RECIPIENT.name] = "service"
        notes.append("there is one person, who cannot be hidden among others: only patterns can")
    candidates: list[Recommendation] = []
    refused = dict(misfits)
    for name, parameters in fitting.items():
        service = METHODS[name].serves
        why_not = _mismatch(service, effective)
        if service is None or why_not:
            refused[name] = why_not
        else:
            candidates.append(_candidate(METHODS[name], service, effective, parameters, table))
    candidates.sort(key=lambda each: -each.merit)
    trials, sample = list[MethodTrial](), ""
    if seconds and candidates:
        settings = [(each.method, dict(each.parameters)) for each in candidates]
        trials, sample = try_methods(settings, table, seconds=seconds, progress=progress)
        candidates = _ranked(candidates, trials, effective)
    first = candidates[0] if candidates else None
    runner_up = None
    if first is not None:
        runner_up = _runner_up(first, candidates[1:], refused, fitting)
        notes += _cautions(first, effective)
        if first.kept is not None and first.kept < LITTLE:
            what = "fewer or coarser columns" if table.regions is None else "larger cells, or shorter trips,"
            notes.append(f"none kept {LITTLE:.0%} of the sample: {what} would keep more")
        notes += _beyond(table)
    else:
        # Whom one person's data goes to makes no difference.
        asked = [each for each in QUESTIONS if each is not RECIPIENT or table.n_owners != 1]
        served = [name for name in misfits if not _mismatch(METHODS[name].serves, effective)]
        notes += [f"{name} would serve these answers, but not this data: {misfits[name]}" for name in served]
        notes += _other_answers(fitting, effective, asked) or (
            [] if served else ["no other answer to a single question is served either"]
        )
    return Advice(
        answers=answers,
        shape=_shape(table),
        recommended=first,
        runner_up=runner_up,
        refused=refused,
        notes=tuple(notes),
        trials=tuple(trials),
        sample=sample,
    )


LITTLE = 0.5
"""Where the best keeps less than this share of the information, that is said."""
CLOSE = 0.05
"""Shares of information kept that differ by less are taken for equal: then the method's merit decides."""


def _ranked(
    candidates: Sequence[Recommendation], trials: Sequence[MethodTrial], answers: Mapping[str, str]
) -> list[Recommendation]:
    """Return the candidates by what they kept of the sample, with the settings that kept it."""
    found = []
    for each in candidates:
        best = best_setting([trial for trial in trials if trial.method is each.method], each.parameters)
        if best is None:
            reason = next(trial.reason for trial in trials if trial.method is each.method)
            found.append(replace(each, reasons=(*each.reasons, f"it gave no figure on the sample: {reason}")))
            continue
        parameters = dict(best.parameters)
        if best.bits is not None and answers[RELEASE.name] == "repeated":
            # A stream has no entropy that a share could be taken of.
            del parameters["max_leakage"]
            parameters["max_leakage_bits"] = float(f"{best.bits:.2g}")
        found.append(replace(each, parameters=parameters, kept=best.information_kept))
    most = max((each.kept for each in found if each.kept is not None), default=0.0)

    def rank(each: Recommendation) -> tuple[bool, int, float]:
        kept = -1.0 if each.kept is None else each.kept
        return kept < most - CLOSE, -each.merit, -kept

    return sorted(found, key=rank)


def _mismatch(service: Suitability | None, answers: Mapping[str, str]) -> str:
    """Describe which answer a method does not serve; empty where it serves all."""
    if service is None:
        return "its purpose is not declared"
    known, keep = answers[KNOWN.name], answers[KEEP.name]
    if known not in service.known:
        covers = " or ".join(KNOWN.answers[each] for each in KNOWN.answers if each in service.known)
        return f"it does not cover {KNOWN.answers[known]}; it covers {covers}"
    if answers[RECIPIENT.name] not in service.recipients:
        return f"it is for {' or '.join(each for each in RECIPIENT.answers if each in service.recipients)}"
    if answers[RELEASE.name] not in service.release:
        return "a second release of the same people is not covered"
    if keep not in service.keeps:
        return f"it does not keep this: {KEEP.answers[keep]}"
    return ""


def _candidate(
    method: type[Method],
    service: Suitability,
    answers: Mapping[str, str],
    parameters: Mapping[str, object],
    table: EventTable,
) -> Recommendation:
    merit, why = service.keeps[answers[KEEP.name]]
    known = answers[KNOWN.name]
    reasons = [
        f"{KNOWN.answers[known]}: {service.more.get(known, method.promise).rstrip('.')}",
        f"{KEEP.answers[answers[KEEP.name]]}: {why}",
        f"it changes the data so: {method.changes.rstrip('.')}",
    ]
    n_labels = sum(map(len, table.histories.labels.values()))
    if service.most_labels is not None and n_labels > service.most_labels:
        merit = 0
        reasons.append(f"with {n_labels:,} labels it is slow")
    if answers[RELEASE.name] == "repeated":
        reasons.append("it may be used again and again, as data comes in")
    return Recommendation(
        method=method, merit=merit, keeps=why, reasons=tuple(reasons), parameters=parameters
    )


def _runner_up(
    first: Recommendation,
    others: list[Recommendation],
    refused: Mapping[str, str],
    fitting: Mapping[str, object],
) -> tuple[str, str] | None:
    """Return the next best that serves all answers, or one that takes the data and fails an answer."""
    if others:
        second = others[0]
        if first.kept is not None and second.kept is not None and abs(first.kept - second.kept) > CLOSE:
            return second.method.name, f"it kept {second.kept:.0%} of the sample, not {first.kept:.0%}"
        better = "no better" if second.merit == first.merit else "less well"
        return second.method.name, f"it keeps {better} what must stay true: {second.keeps}"
    near = next((name for name in fitting if name in refused), None)
    return None if near is None else (near, refused[near])


def _cautions(first: Recommendation, answers: Mapping[str, str]) -> list[str]:
    service = first.method.serves
    cautions = {} if service is None else service.cautions
    notes = [cautions[answer] for answer in answers.values() if answer in cautions]
    if PATTERNS in first.parameters:
        notes.append("you decide which patterns are secret")
    if answers[KEEP.name] == "yardstick":
        notes.append("a yardstick is there to be compared with; hand out what a better method makes")
    if answers[RECIPIENT.name] == "public":
        notes.append("before anybody gets it, let simulated adversaries try: sequester attack")
    return notes


def _beyond(table: EventTable) -> list[str]:
    """Describe who is singled out by columns that no method covers."""
    found = SinglingOut.of(table)
    if found is None:
        return []
    notes = [f"beyond any promise: {line}" for line in found.lines(raw=True)]
    if found.needs_consent:
        notes.append("protect will ask for [release] accept_unprotected = true, or for fewer kept columns")
    return notes


def _other_answers(
    fitting: Mapping[str, object], answers: Mapping[str, str], questions: Sequence[Question]
) -> list[str]:
    """Describe which single other answer some method serves."""
    notes = []
    for question in questions:
        for answer in question.answers:
            changed = {**answers, question.name: answer}
            served = [name for name in fitting if not _mismatch(METHODS[name].serves, changed)]
            if served:
                notes.append(f"--{question.name} {answer} would be served: {', '.join(served)}")
    return notes


def _shape(table: EventTable) -> tuple[str, ...]:
    schema = table.schema
    persons = counted(table.n_owners, "person", "persons")
    parts = [persons, f"{table.n_events:,} events"]
    if table.owners is not None:
        parts.append(f"{table.n_persons:,} trips")
    if table.regions is not None:
        parts.append("places")
    if table.symbol is not None:
        parts.append(f"one symbol per event ({len(table.labels[table.symbol]):,} labels)")
        if table.symbol in table.hierarchies:
            parts.append("with a hierarchy")
    if schema.quasi:
        parts.append(f"{len(schema.quasi)} quasi-identifier{'s' * (len(schema.quasi) != 1)}")
    own = None if table.demographics is None else table.demographics.schema
    if own is not None and own.quasi:
        parts.append(f"{counted(len(own.quasi), 'attribute', 'attributes')} of persons that may be known")
    sensitive = [*schema.sensitive, *(() if own is None else own.sensitive)]
    if sensitive:
        parts.append(f"sensitive: {', '.join(sensitive)}")
    return tuple(parts)
