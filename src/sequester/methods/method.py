"""What all methods share: take a table, return a release that its own model has checked, or raise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Literal, get_args, get_origin, get_type_hints

from sequester._validation import at_least, one_of, true_or_false
from sequester.engine import LocalEngine, part, silent
from sequester.engine.progress import NoCheckpoint
from sequester.errors import InputError, ParameterError, SchemaError, UnattainableError, issue_warning
from sequester.methods.limits import series_limits
from sequester.methods.relax import (
    RelaxationPath,
    downwards,
    feasible_alternatives,
    quasi_relaxations,
    upwards,
)

# The names of types are read from the class, so that parameters can be listed.
from sequester.release.purpose import Suitability  # noqa: TC001

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from sequester.attacks.context import Stream
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.engine.progress import Checkpoint
    from sequester.errors import Warn
    from sequester.privacy.model import PrivacyModel
    from sequester.release.outcome import Outcome, PartOutcome, Reason
    from sequester.release.randomness import Randomness
    from sequester.release.release import Release
    from sequester.release.series import Series
    from sequester.utility.score import Score


_SHOWN = 10
"""Patterns that do not occur and are named."""


class Method(ABC):
    """A way to reach a promise. Subclasses are frozen dataclasses whose fields are the parameters."""

    name: ClassVar[str]
    """As in ``[method] name``."""
    paper: ClassVar[str]
    """Where it is from."""
    promise: ClassVar[str]
    """What it guarantees, in a sentence."""
    changes: ClassVar[str]
    """What it does to the data, in a sentence."""
    use_when: ClassVar[str]
    """When to reach for it, in a sentence."""
    takes_trips: ClassVar[bool] = False
    """It counts persons also where a person has several sequences."""
    takes_persons: ClassVar[bool] = False
    """It knows what to do with attributes of persons beside their events."""
    takes_purpose: ClassVar[bool] = False
    """It prices what it generalizes by what a purpose loses."""
    serves: ClassVar[Suitability | None] = None
    """What it is good for; a method that does not say is never recommended."""
    trial_persons: ClassVar[int] = 5_000
    """Persons with whom other settings are tried at most, so that many can be tried."""
    tried_in_time: ClassVar[bool] = False
    """Its sample has the persons who come first: records must be as many per snapshot as they were."""
    no_series: ClassVar[str] = "what it promises is about one release"
    """Why it cannot make a series of releases; empty where it can."""
    harmless: ClassVar[frozenset[str]] = frozenset()
    """Kinds of changes that take nothing from an event but its place."""

    def __post_init__(self) -> None:
        """Refuse a parameter that is not what its field declares: a word, true or false, or a number.

        Numbers of numpy are numbers, too; plain ones are made of those that must be at least so many.
        """
        kinds = _annotations(type(self))
        for each in fields(self):  # type: ignore[arg-type]  # every method is a dataclass
            value, kind = getattr(self, each.name), kinds.get(each.name)
            if get_origin(kind) is Literal:
                one_of(each.name, value, get_args(kind))
            elif kind is bool:
                true_or_false(each.name, value)
            elif kind is int and "least" in each.metadata:
                object.__setattr__(self, each.name, at_least(each.name, value, each.metadata["least"]))

    @abstractmethod
    def model(self) -> PrivacyModel:
        """Return the promise that this method keeps, with its parameters."""

    @abstractmethod
    def accept(self, table: EventTable) -> None:
        """Refuse, before anything runs, a table that this method cannot work on."""

    @abstractmethod
    def transform(
        self, table: EventTable, *, randomness: Randomness, engine: Engine, progress: Progress
    ) -> Outcome:
        """Make data that keeps the promise, or raise `UnattainableError`."""

    def resume(
        self,
        table: EventTable,
        *,
        randomness: Randomness,
        engine: Engine,
        progress: Progress,
        checkpoint: Checkpoint,
    ) -> Outcome:
        """Do as `transform`, from where an interrupted run has come to; a quick method begins anew."""
        del checkpoint
        return self.transform(table, randomness=randomness, engine=engine, progress=progress)

    def series_refusal(self) -> str:
        """Return why it cannot make a series of releases; empty where it can."""
        return self.no_series

    def extend(self, table: EventTable, past: Series, *, engine: Engine, progress: Progress) -> PartOutcome:
        """Make the next part of a series, so that all parts together keep the promise."""
        del table, past, engine, progress
        msg = f"{self.name} cannot continue a release: {self.no_series}"
        raise ParameterError(msg)

    @abstractmethod
    def evaluate(self, outcome: Outcome, table: EventTable, *, progress: Progress) -> dict[str, Score]:
        """Return what the outcome is still good for; ``information_loss`` is always among the measures."""

    def thorough(self) -> Method:
        """Return the method without bounds on its work, for ``protect --thorough``."""
        return self

    @classmethod
    def suggest(cls, table: EventTable, *, k: int) -> dict[str, object]:
        """Return parameters to begin with, where persons are to be hidden among `k`."""
        del table, k
        return {}

    @classmethod
    def alternatives(cls, table: EventTable, parameters: dict[str, object]) -> tuple[dict[str, object], ...]:
        """Return settings that are tried on a sample of `table`, the suggested `parameters` among them."""
        del table
        return (parameters,)

    def reasons(self, release: Release, original: EventTable) -> tuple[Reason, ...]:
        """Return which constraint of the promise led to which changes; kind by kind unless overridden."""
        from sequester.release.outcome import reasons_by_kind

        del original
        return reasons_by_kind(release.changes, constraint=self.promise)

    def relaxations(self, original: EventTable) -> tuple[RelaxationPath, ...]:
        """List the demands that could be relaxed, so that more is kept; none unless overridden."""
        del original
        return ()

    def stream_of(self, table: EventTable) -> Stream | None:
        """Return when records come and how much later they may be published; None without snapshots."""
        del table
        return None

    def channel_thresholds(self) -> tuple[int, float] | None:
        """Return the k and c that make an inference channel; None where the promise knows no channels."""
        return None

    def named_labels(self) -> tuple[str, ...]:
        """Return the labels of the symbol that a parameter names, such as the items of secret patterns."""
        return ()

    def refuse_twins(self, table: EventTable) -> None:
        """Refuse a table in which labels look alike and nobody has decided whether they are one."""
        from sequester.data.alike import find_named_twins

        lines = [str(problem) for problem in table.problems if problem.severity == "error"]
        if not lines:
            lines = [f"{self.name}: {line}" for line in find_named_twins(self.named_labels(), table)]
        if lines:
            raise SchemaError(*lines)

    def parameters(self) -> dict[str, object]:
        """Return parameter to value; the certificate has those of them that may be published."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        return {name: _as_table(value) for name, value in values.items()}

    def unpublished(self) -> frozenset[str]:
        """Return the parameters that would give away what is hidden: ``metadata={"published": False}``."""
        declared = fields(self)  # type: ignore[arg-type]  # every method is a dataclass
        return frozenset(each.name for each in declared if not each.metadata.get("published", True))

    def apply(
        self,
        table: EventTable,
        *,
        seed: str | None = None,
        engine: Engine | None = None,
        progress: Progress = silent,
        checkpoint: Checkpoint | None = None,
        evaluate: bool = True,
        series: bool = False,
        continues: str | os.PathLike[str] | Series | None = None,
        warn: Warn = issue_warning,
    ) -> Release:
        """Return a release of `table` whose promise has been checked, or raise.

        Parameters
        ----------
        table
            The data; it stays as it is.
        seed
            Everything random comes from it: the same table, parameters, version and seed give the same
            release. By default the system draws a key. Keep it secret: it undoes the shuffle of persons.
        engine
            Where the method and the check of its promise run; by default threads of this process.
        progress
            Called with the share of the work that is done, and what is done next.
        checkpoint
            Keeps the steps of a long run; one that was interrupted comes to the same release.
        evaluate
            Measure the utility of the release. Without it `Release.utility` is empty, and everything else is
            the same.
        series
            Begin a series: later releases may continue this one.
        continues
            The folder of the part of a series that this one continues, with ``release`` and ``internal``. The
            release has only what is new; its `table` and verdict are about all parts together.
        warn
            Called with each line of ``warnings`` of the release; by default, a `SequesterWarning` is issued.

        Returns
        -------
        Release
            The released tables with the claim, its verdict, the changes and the measures of utility.

        Raises
        ------
        SchemaError
            If the method is not for such a table.
        ParameterError
            If a parameter does not fit the table.
        UnattainableError
            If no release keeps the promise; the message names the nearest parameters that can be kept.

        Examples
        --------
        >>> from sequester.methods import PrefixPruning
        >>> from sequester.testing import symbol_table
        >>> release = PrefixPruning(k=2).apply(symbol_table(["ab", "ab", "c"]))
        >>> release.n_persons, release.verdict.holds
        (2, True)
        """
        past = self._past(continues, series=series)
        table = self._accepted(table, seed, in_series=series or past is not None)
        release = self._release(
            table,
            past,
            seed=seed,
            engine=engine or LocalEngine(),
            progress=progress,
            checkpoint=checkpoint or NoCheckpoint(),
            evaluate=evaluate,
            series=series,
        )
        progress(1.0, "checked")
        for line in release.warnings:
            warn(line)
        return release

    def _past(self, continues: str | os.PathLike[str] | Series | None, *, series: bool) -> Series | None:
        """Return the part of a series that is continued; refuse a series where the method makes none."""
        from sequester.release.series import Series

        if (series or continues is not None) and (refusal := self.series_refusal()):
            msg = f"{self.name} cannot make a series of releases: {refusal}"
            raise ParameterError(msg)
        return continues if isinstance(continues, Series | None) else Series.read(continues)

    def _release(
        self,
        table: EventTable,
        past: Series | None,
        *,
        seed: str | None,
        engine: Engine,
        progress: Progress,
        checkpoint: Checkpoint,
        evaluate: bool,
        series: bool,
    ) -> Release:
        """Run the method, measure what it made, and assemble a release that its model has checked."""
        from sequester.methods.evaluate import evaluate_release
        from sequester.release.outcome import SeriesStep, assemble, outcome_losses
        from sequester.release.randomness import Randomness

        randomness = Randomness.of(seed)
        running = part(progress, 0.0, 0.6)
        model, step = self.model(), SeriesStep() if series else None
        if past is None:
            outcome = self._run(table, randomness, engine, running, checkpoint)
        else:
            made = self.extend(table, past, engine=engine, progress=running)
            outcome, table, model = made.outcome, made.table, made.model
            step = SeriesStep(past=past, known=made.known, held_back=made.held_back)
        if step is not None:
            outcome = replace(outcome, limits=series_limits(outcome.limits))
        losses = outcome_losses(outcome, table)
        measuring = part(progress, 0.6, 0.8)
        scores = evaluate_release(self, outcome, table, losses, progress=measuring) if evaluate else {}
        progress(0.8, "shuffling persons")
        return assemble(
            replace(outcome, scores=scores),
            table,
            method=self.name,
            parameters=self.parameters(),
            unpublished=self.unpublished(),
            model=model,
            randomness=randomness,
            losses=losses,
            step=step,
            engine=engine,
        )

    def _run(
        self,
        table: EventTable,
        randomness: Randomness,
        engine: Engine,
        progress: Progress,
        checkpoint: Checkpoint,
    ) -> Outcome:
        """Return the outcome; where the promise is not feasible, raise with the nearest that is."""
        try:
            return self.resume(
                table, randomness=randomness, engine=engine, progress=progress, checkpoint=checkpoint
            )
        except UnattainableError as refusal:
            if refusal.is_settled:
                raise
            raise feasible_alternatives(
                refusal, self, table, seed=randomness.seed, engine=engine, progress=progress
            ) from None

    def view(self, table: EventTable) -> EventTable:
        """Return the table as the method sees it: attributes of persons are an event before all others.

        Raises
        ------
        SchemaError
            If the method does not know what to do with attributes of persons.
        """
        if table.demographics is not None and not self.takes_persons:
            names = ", ".join(table.demographics.schema.attributes)
            msg = (
                f"{self.name} cannot protect attributes of persons ({names}): leave out the table of "
                "persons, or use halt or cblda, with what events have as quasi-identifiers"
            )
            raise SchemaError(msg)
        return table.histories

    def _accepted(self, table: object, seed: object, *, in_series: bool) -> EventTable:
        """Return the table as the method sees it; refuse, before anything runs, what it cannot work with."""
        from sequester.data.table import EventTable
        from sequester.release.series import check_series_table

        if not isinstance(table, EventTable):
            got = type(table).__name__
            msg = f"table must be an EventTable, got {got}; make one: EventTable(frame, Schema(person=...))"
            raise SchemaError(msg)
        if not isinstance(seed, str | None):
            msg = f"seed must be text, got {seed!r}"
            raise ParameterError(msg)
        if table.owners is not None and not self.takes_trips:
            msg = f"{self.name} needs one sequence per person, and trip makes several: leave trip out"
            raise SchemaError(msg)
        if table.schema.purpose is not None and not self.takes_purpose:
            msg = f"{self.name} does not support a purpose: leave purpose out, or use halt or cblda"
            raise SchemaError(msg)
        self.refuse_twins(table)
        view = self.view(table)
        self.accept(view)
        if in_series:
            check_series_table(view)
        return view


class HistoryMethod(Method):
    """A method that makes quasi-identifiers coarser, for at least k persons and at most the share c."""

    takes_persons: ClassVar[bool] = True
    k: int
    """Fewest persons."""
    c: float | str
    """Largest share of them with a protected value."""

    def accept(self, table: EventTable) -> None:
        """Refuse a table without quasi-identifiers."""
        symbol = table.schema.symbol
        if symbol is not None:
            msg = (
                f"{self.name} needs quasi-identifiers, and column {symbol.column!r} is a symbol: name it in "
                "quasi, with a hierarchy"
            )
            raise SchemaError(msg)
        if not table.schema.quasi:
            msg = f"{self.name} needs quasi-identifiers, and no column has the role quasi"
            raise SchemaError(msg)

    @classmethod
    def suggest(cls, table: EventTable, *, k: int) -> dict[str, object]:
        """Return k as it is asked, and a c above the share of those at risk."""
        from sequester.methods.defaults import default_share

        return {"k": k, "c": default_share(table)}

    def relaxations(self, original: EventTable) -> tuple[RelaxationPath, ...]:
        """Ask for fewer persons, or a larger share of them at risk; or allow coarser values of one column."""
        return (
            RelaxationPath.of(self, "k", downwards(self.k, 2)),
            RelaxationPath.of(self, "c", upwards(self.c) if any(original.protected.values()) else ()),
            *quasi_relaxations(original),
        )


class SymbolMethod(Method):
    """A method for one symbol per event."""

    refused_roles: ClassVar[tuple[str, ...]] = ("quasi", "sensitive", "keep")
    """Roles of columns that it can only drop."""

    def accept(self, table: EventTable) -> None:
        """Refuse a table that has anything but one symbol per event, and name every column in the way."""
        lines = self.schema_errors(table)
        if lines:
            raise SchemaError(*lines)

    def schema_errors(self, table: EventTable) -> list[str]:
        """Return why a table is not one symbol per event: no symbol, or columns that are not released."""
        schema = table.schema
        columns = {"quasi": schema.quasi, "sensitive": schema.sensitive_columns, "keep": schema.keep}
        missing = f"{self.name} needs one symbol per event, and no column has the role symbol"
        return [
            *(() if schema.symbol is not None else (missing,)),
            *(
                f"{self.name} releases only the symbol column: move {column!r} from {role} to drop"
                for role in self.refused_roles
                for column in columns[role]
            ),
        ]


def absent_warnings(name: str, patterns: Iterable[tuple[str, ...]], counts: Iterable[int]) -> tuple[str, ...]:
    """Return a warning for each pattern that does not occur; that none of them occurs is an error.

    Examples
    --------
    >>> absent_warnings("patterns", [("a", "b"), ("b", "c")], [3, 0])
    ('patterns: b → c does not occur in the data',)
    >>> absent_warnings("patterns", [("b", "c")], [0])
    Traceback (most recent call last):
    sequester.errors.InputError: patterns: none of them occurs in the data: b → c
    """
    counted = list(zip(patterns, counts, strict=True))
    absent = [" → ".join(pattern) for pattern, count in counted if not count]
    if counted and len(absent) == len(counted):
        more = f" and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else ""
        msg = f"{name}: none of them occurs in the data: {', '.join(absent[:_SHOWN])}{more}"
        raise InputError(msg)
    return tuple(f"{name}: {each} does not occur in the data" for each in absent)


@cache
def _annotations(method: type[Method]) -> dict[str, object]:
    """Return the types of parameters; none where some are known to type checkers only."""
    try:
        return get_type_hints(method)
    except NameError:
        return {}


def _as_table(value: object) -> object:
    """Write a parameter that is a table, or a list of tables, as one."""
    if isinstance(value, tuple):
        return tuple(_as_table(each) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        return {name: each for name, each in vars(value).items() if each is not None}
    return value
