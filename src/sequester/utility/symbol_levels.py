"""At which level of the taxonomy the symbols of a release stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sequester.errors import ParameterError
from sequester.mining.support import sequences_of
from sequester.utility.score import Score

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolLevels:
    """The share of all events at each level: 0 as it was, one more for each step up, the root last.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.hierarchies import Hierarchy
    >>> from sequester.testing import symbol_table
    >>> food = Hierarchy.from_tree({"Snack": ["c", "d"], "m": {}})
    >>> released = Sequences.from_rows([["Snack", "d", "*", "m"]])
    >>> scores = SymbolLevels().score(released, original=symbol_table(["cdcm"], hierarchy=food))
    >>> {name: score.value for name, score in scores.items()}
    {'level_0': 0.5, 'level_1': 0.25, 'level_root': 0.25}
    """

    def score(self, released: EventTable | Sequences, *, original: EventTable) -> dict[str, Score]:
        """Compare place by place; both sides have the same events in the same order."""
        after, before = sequences_of(released), original.sequences
        column = before.symbol
        if after.n_events != before.n_events:
            msg = f"released must have the {before.n_events} events of original, there are {after.n_events}"
            raise ParameterError(msg)
        tree = original.hierarchies[column]
        from_depths = tree.depth[tree.nodes(before.codebooks[column].labels)][before.columns[column]]
        to_depths = tree.depth[tree.nodes(after.codebooks[after.symbol].labels)][after.columns[after.symbol]]
        steps = np.where(to_depths == 0, tree.height, from_depths - to_depths)
        counts = np.bincount(steps, minlength=tree.height + 1)
        total = max(after.n_events, 1)
        names = [f"level_{level}" for level in range(tree.height)] + ["level_root"]
        words = ["as they were", *(f"{level} up" for level in range(1, tree.height)), "as the root"]
        return {
            name: Score(
                value=float(count) / total,
                goal="maximize" if not level else "minimize",
                bounds=(0, 1),
                means=f"Share of the events whose symbol is released {said}.",
                formula="events whose symbol is released so many steps up / events; root: released as *",
                reference="Bonomi, Fan, Jin (2016), generalization along a taxonomy",
            )
            for level, (name, said, count) in enumerate(zip(names, words, counts, strict=True))
        }
