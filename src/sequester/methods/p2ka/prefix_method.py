"""What BF-P2kA and prefix pruning share: the table they take, the road they go, what they measure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from sequester._validation import at_least
from sequester.engine import part
from sequester.errors import SchemaError
from sequester.methods.limits import ONE_RELEASE
from sequester.methods.method import Method, symbol_errors
from sequester.methods.relax import RelaxationPath, downwards

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester._typing import Codes
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.privacy.sequence_k import SequenceKAnonymity
    from sequester.release.outcome import Outcome, Reason
    from sequester.release.randomness import Randomness
    from sequester.release.release import Release
    from sequester.utility.score import Score

NO_DIVERSITY = (
    "Only the number of persons is promised, not how different they are: all who share a part of a sequence "
    "may also share what follows, and then whoever knows the part learns the rest."
)
SUCCESSION = (
    "That events follow each other directly, how many there are, and that something did not happen is not "
    "covered: only which events there are, and their order."
)


@dataclass(frozen=True, kw_only=True)
class PrefixMethod(Method):
    """A method that releases the paths of a prefix tree that enough persons take."""

    takes_trips: ClassVar[bool] = True
    reattaches: ClassVar[bool]
    """A sequence that is cut moves to its closest path instead of being dropped."""

    k: int = field(metadata={"least": 2})
    """Persons among whom the owner of any part of a released sequence is hidden; at least 2."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", at_least("k", self.k, 2))

    @property
    def counts_released(self) -> bool:
        """Supporters are counted among the released records, too."""
        return True

    @property
    def limits(self) -> tuple[str, ...]:
        """What is not promised, whatever the data."""
        return (NO_DIVERSITY, SUCCESSION, ONE_RELEASE)

    def model(self) -> SequenceKAnonymity:
        """Promise sequence k-anonymity."""
        # Loaded here so that `sequester methods` need not wait for polars.
        from sequester.privacy.sequence_k import SequenceKAnonymity  # noqa: PLC0415

        return SequenceKAnonymity(k=self.k, strict=self.counts_released)

    def weigh(self, table: EventTable) -> Callable[[Codes], Codes] | None:  # noqa: ARG002  (one signature)
        """What pairs of symbols have in common, where not only equal ones have something."""
        return None

    def accept(self, table: EventTable) -> None:
        """Refuse a table that has anything but one symbol per event, and name every column in the way."""
        lines = symbol_errors(self, table, "quasi", "sensitive", "keep")
        if lines:
            raise SchemaError(*lines)

    def transform(
        self, table: EventTable, *, randomness: Randomness, engine: Engine, progress: Progress
    ) -> Outcome:
        """Prune the prefix tree and find a place in it for every sequence; nothing here is random."""
        # Loaded here so that `sequester methods` need not wait for polars and numba.
        from sequester.methods.p2ka.advice import HALF, Advice  # noqa: PLC0415
        from sequester.methods.p2ka.attachment import Attacher  # noqa: PLC0415
        from sequester.methods.p2ka.publish import publish  # noqa: PLC0415

        del randomness
        progress(0.0, "folding equal sequences")
        attacher = Attacher(
            distinct=table.sequences.distinct(),
            strict=self.counts_released,
            reattach=self.reattaches,
            engine=engine,
            weigh=self.weigh(table),
        )
        if self.k > table.n_owners:
            # Said here, because kernels count in 64 bits and k may be any whole number.
            raise Advice(attacher).nothing_released(self.k)
        attachment = attacher.run(self.k, progress=part(progress, 0.1, 0.7))
        if attachment.releases_nothing:
            raise Advice(attacher).nothing_released(self.k)
        warnings: tuple[str, ...] = ()
        if attachment.cut_share > HALF:
            progress(0.7, "looking for a k that cuts less")
            warnings = (Advice(attacher).cut_too_much(self.k, attachment.cut_share),)
        progress(0.8, "listing the changes")
        return publish(table, attacher.distinct, attachment, limits=self.limits, warnings=warnings)

    @classmethod
    def suggest(cls, table: EventTable, *, k: int) -> dict[str, object]:
        """Give k as it is asked."""
        del table
        return {"k": k}

    def reasons(self, release: Release, original: EventTable) -> tuple[Reason, ...]:
        """Say whose sequences too few begin with, and whose company was lost."""
        # Loaded here so that `sequester methods` need not wait for polars and numba.
        from sequester.methods.p2ka.reasons import reasons_of  # noqa: PLC0415

        return reasons_of(release.changes, original, k=self.k)

    def relaxations(self, original: EventTable) -> tuple[RelaxationPath, ...]:
        """Ask for fewer persons, or for coarser symbols where there is a hierarchy."""
        # Loaded here so that `sequester methods` need not wait for polars.
        from sequester.methods.relax_hierarchies import coarser_start  # noqa: PLC0415

        fewer = RelaxationPath.of(self, "k", downwards(self.k, 2))
        return (fewer, *(coarser_start(original, column) for column in original.hierarchies))

    def evaluate(self, outcome: Outcome, table: EventTable, *, progress: Progress) -> dict[str, Score]:
        """Say how many events, sequences and patterns survive."""
        # Loaded here so that `sequester methods` need not wait for polars and numba.
        from sequester.methods.p2ka.measures import measure  # noqa: PLC0415

        return measure(outcome, table, k=self.k, progress=progress)
