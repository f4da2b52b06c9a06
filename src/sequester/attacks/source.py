"""Persons of whom something is known: those of the original, or others who were held out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sequester.attacks.crowds import Windows, without_told
from sequester.attacks.pieces import concerned, draw, draw_targets
from sequester.attacks.protected import values_of
from sequester.attacks.rarest import count_holders, draw_rarest

if TYPE_CHECKING:
    from sequester._typing import Codes, Counts, Offsets
    from sequester.attacks.ground import Ground
    from sequester.attacks.pieces import PieceKind, Pieces
    from sequester.data.table import EventTable


@dataclass(frozen=True, slots=True)
class Source:
    """A table that pieces of knowledge are drawn from, in the nodes of a ground."""

    table: EventTable
    """The persons and their events."""
    ground: Ground
    """The trees."""
    cells: Codes
    """The node of every event and column."""
    values: Codes
    """The protected values of all persons."""
    value_offsets: Offsets
    """Person ``i`` has the values ``value_offsets[i]`` to ``value_offsets[i + 1]``."""
    _holders: list[Counts] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, table: EventTable, ground: Ground) -> Source:
        """Read a table whose labels are all nodes of the ground."""
        sequences = table.sequences
        return cls(table, ground, ground.cells(sequences), *values_of(sequences, table.schema, ground.names))

    def draw(
        self,
        kind: PieceKind,
        known: int,
        targets: int,
        *,
        rng: np.random.Generator,
        strangers: bool = False,
    ) -> Pieces:
        """Draw pieces of so many targets, or of strangers who do not exist; none where nobody has any."""
        persons = concerned(kind, self.table, self.cells, self.ground)
        drawn = draw_targets(persons, targets, rng, self.table.owners) if persons.size else persons
        return draw(
            kind,
            known,
            drawn,
            table=self.table,
            cells=self.cells,
            ground=self.ground,
            rng=rng,
            strangers=strangers,
        )

    def draw_rarest(self, kind: PieceKind, known: int, targets: int, *, rng: np.random.Generator) -> Pieces:
        """Take pieces with the rarest items that anybody has; see `rarest`."""
        if not self._holders:
            self._holders.append(count_holders(self.table, self.cells, self.ground))
        return draw_rarest(
            kind,
            known,
            targets,
            table=self.table,
            cells=self.cells,
            ground=self.ground,
            holders=self._holders[0],
            rng=rng,
        )

    def windows(self, pieces: Pieces) -> Windows:
        """Give each piece the protected values of its target, one by one, but for the one that is known."""
        firsts = self.value_offsets[pieces.persons]
        counts = self.value_offsets[pieces.persons + 1] - firsts
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts) + np.repeat(firsts, counts)
        own = self.values[places]
        return without_told(Windows(offsets=offsets, lows=own, highs=own), pieces.told)
