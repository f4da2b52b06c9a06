"""What all methods share: take a table, return a release that its own model has checked, or raise."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import fields
from typing import TYPE_CHECKING, ClassVar

from sequester.engine import LocalEngine, part, silent
from sequester.errors import ParameterError, SchemaError, SequesterWarning

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.privacy.model import PrivacyModel
    from sequester.release.outcome import Outcome
    from sequester.release.randomness import Randomness
    from sequester.release.release import Release
    from sequester.utility.score import Score


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

    @abstractmethod
    def model(self) -> PrivacyModel:
        """The promise this method keeps, with its parameters."""

    @abstractmethod
    def accept(self, table: EventTable) -> None:
        """Refuse, before anything runs, a table that this method cannot work on."""

    @abstractmethod
    def transform(
        self, table: EventTable, *, randomness: Randomness, engine: Engine, progress: Progress
    ) -> Outcome:
        """Make data that keeps the promise, or raise `UnattainableError`."""

    @abstractmethod
    def measure(self, outcome: Outcome, table: EventTable, *, progress: Progress) -> dict[str, Score]:
        """Say what the outcome is still good for; ``information_loss`` is always among the answers."""

    def parameters(self) -> dict[str, object]:
        """Parameter to value; the certificate has those of them that may be published."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]

    def unpublished(self) -> frozenset[str]:
        """The parameters that would give away what is hidden: ``field(metadata={"published": False})``."""
        declared = fields(self)  # type: ignore[arg-type]  # every method is a dataclass
        return frozenset(each.name for each in declared if not each.metadata.get("published", True))

    def apply(
        self,
        table: EventTable,
        *,
        seed: str | None = None,
        engine: Engine | None = None,
        progress: Progress = silent,
    ) -> Release:
        """Return a release of `table` whose promise has been checked, or raise."""
        # Loaded here so that `sequester methods` need not wait for polars.
        from sequester.data.table import EventTable  # noqa: PLC0415
        from sequester.release.assemble import assemble  # noqa: PLC0415
        from sequester.release.randomness import SHORT_SEED, Randomness  # noqa: PLC0415

        given: tuple[object, object] = (table, seed)  # Python lets anything through.
        if not isinstance(given[0], EventTable):
            got = type(given[0]).__name__
            msg = f"table must be an EventTable, got {got}; make one: EventTable(frame, Schema(person=...))"
            raise SchemaError(msg)
        if not isinstance(given[1], str | None):
            msg = f"seed must be text, got {given[1]!r}"
            raise ParameterError(msg)
        self.accept(table)
        if seed is not None and len(seed) < SHORT_SEED:
            line = (
                f"the seed has {len(seed)} characters, fewer than {SHORT_SEED}: whoever guesses it can undo "
            )
            warnings.warn(f"{line}the shuffle of persons", SequesterWarning, stacklevel=2)
        randomness = Randomness.of(seed)
        outcome = self.transform(
            table, randomness=randomness, engine=engine or LocalEngine(), progress=part(progress, 0.0, 0.6)
        )
        utility = self.measure(outcome, table, progress=part(progress, 0.6, 0.8))
        release = assemble(
            outcome,
            table,
            method=self.name,
            parameters=self.parameters(),
            unpublished=self.unpublished(),
            model=self.model(),
            utility=utility,
            randomness=randomness,
            progress=part(progress, 0.8, 1.0),
        )
        for line in release.warnings:
            warnings.warn(line, SequesterWarning, stacklevel=2)
        return release
