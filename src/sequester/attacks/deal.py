"""A control: the same symbols, dealt out anew."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sequester.data.sequences import Sequences


def deal_out(sequences: Sequences, rng: np.random.Generator, *, within_persons: bool = False) -> Sequences:
    """Deal all symbols out anew, among all events or among those of each person.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> dealt = deal_out(Sequences.from_rows(["aab", "cc"]), np.random.default_rng(5), within_persons=True)
    >>> [sorted(row) for row in dealt.to_rows()]
    [['a', 'a', 'b'], ['c', 'c']]
    """
    chance = rng.random(sequences.n_events)
    if within_persons:
        owner = np.repeat(np.arange(sequences.n_persons), np.diff(sequences.person_offsets))
        order = np.lexsort((chance, owner))
    else:
        order = np.argsort(chance)
    columns = {name: codes[order] for name, codes in sequences.columns.items()}
    # What was folded before is not what is folded now, and `replace` starts anew.
    return replace(sequences, columns=columns)
