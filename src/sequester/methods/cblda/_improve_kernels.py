"""Find what is left of the persons of a class when one of them leaves and somebody else comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.kernels.compiler import njit
from sequester.methods.cblda._alignment_kernels import (
    LENGTH,
    SIZE,
    START,
    WORTH_LEFT,
    best_saving,
    merge,
    write_profile,
)

if TYPE_CHECKING:
    from sequester._typing import Counts
    from sequester.methods.cblda._alignment_kernels import Clusters, Scratch


@njit
def write_values(
    trial: Clusters,
    alone: Clusters,
    scratch: Scratch,
    members: Counts,
    others: Counts,
    first: int,
    values: Counts,
) -> int:
    """Write down what is left of all members but the one of each row, with the other of each column.

    In the last row nobody leaves, in the last column nobody comes; rows before ``first`` are left out.
    ``members`` ascend. They are taken from ``alone``, where everybody is a cluster of their own, and aligned
    one after another in ``trial``, which has the cluster of the last row in the end. Returns the cells that
    were looked at.
    """
    state, cells, n_work = trial.state, trial.cells, 0
    n_quasi, width = cells.shape[1] // 2, scratch.profile.shape[1]
    for leaving in range(first, members.size + 1):
        cluster = members[1] if leaving == 0 else members[0]
        for i in range(members.size):
            person = members[i]
            if i == leaving:
                continue
            for column in range(state.shape[1]):
                state[person, column] = alone.state[person, column]
            start, length = state[person, START], state[person, LENGTH]
            for event in range(start, start + length):
                for column in range(cells.shape[1]):
                    cells[event, column] = alone.cells[event, column]
            if person != cluster:
                n_work += state[cluster, LENGTH] * (width + length * n_quasi)
                merge(trial, scratch, cluster, person)
        size, length = state[cluster, SIZE], state[cluster, LENGTH]
        values[leaving, others.size] = size * state[cluster, WORTH_LEFT]
        if others.size:
            write_profile(trial.tree, cells, state[cluster, START], length, scratch.profile)
        for j in range(others.size):
            start, theirs = alone.state[others[j], START], alone.state[others[j], LENGTH]
            saving = best_saving(scratch.profile, length, alone.cells, start, theirs, scratch.row)
            values[leaving, j] = (size + 1) * saving
            n_work += length * theirs * n_quasi
    return n_work
