"""Count the persons who have what queries ask for, where cells are only known with some probability."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sequester.kernels.compiler import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Codes, Counts, Offsets

    Amounts = npt.NDArray[np.float64]


class Questions(NamedTuple):
    """Queries: events in order, of each all conditions must hold, of each condition one column must."""

    events: Offsets
    """Query ``q`` has the events ``events[q]`` to ``events[q + 1]``."""
    conditions: Offsets
    """Event ``e`` has the conditions ``conditions[e]`` to ``conditions[e + 1]``."""
    entries: Offsets
    """Condition ``i`` has the entries ``entries[i]`` to ``entries[i + 1]``."""
    columns: Codes
    """Entry to the column that it looks at."""
    tables: Counts
    """Entry to the place in `chances` of the column's code 0."""
    chances: Amounts
    """How likely a cell with some code is what is asked for."""


@njit
def _event_chance(questions: Questions, cells: Codes, row: int, event: int) -> float:
    """Give the probability that a row has all that an event of a query asks for."""
    chance = 1.0
    for condition in range(questions.conditions[event], questions.conditions[event + 1]):
        missed = 1.0
        for entry in range(questions.entries[condition], questions.entries[condition + 1]):
            code = cells[row, questions.columns[entry]]
            missed *= 1.0 - questions.chances[questions.tables[entry] + code]
        chance *= 1.0 - missed
        if chance == 0.0:
            break
    return chance


@njit
def count_expected(
    questions: Questions, first: int, last: int, cells: Codes, offsets: Offsets, weights: Counts
) -> Amounts:
    """Add up, for the queries `first` to `last`, the probabilities that persons have their events in order.

    Row ``r`` of `cells` is an event; history ``h`` has the rows ``offsets[h]`` to ``offsets[h + 1]`` and
    stands for ``weights[h]`` persons. Cells are independent. What is matched first stays matched: an event
    that fits the next one asked for always takes its place, so the number of events matched so far is all
    there is to remember.
    """
    expected = np.zeros(last - first, np.float64)
    for query in range(first, last):
        start = questions.events[query]
        n_asked = questions.events[query + 1] - start
        matched = np.zeros(n_asked + 1, np.float64)
        for history in range(offsets.size - 1):
            matched[:] = 0.0
            matched[0] = 1.0
            for row in range(offsets[history], offsets[history + 1]):
                for place in range(n_asked - 1, -1, -1):
                    if matched[place] > 0.0:
                        moved = matched[place] * _event_chance(questions, cells, row, start + place)
                        matched[place] -= moved
                        matched[place + 1] += moved
            expected[query - first] += weights[history] * matched[n_asked]
    return expected
