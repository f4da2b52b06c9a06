"""What to do with the cluster that is left over: bring it into others, and leave nobody out.

To drop it, as the thesis does, would tell of whoever is known to be in the data, and found nowhere, that
they were among those with protected values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sequester import kernels
from sequester.methods.cblda.work import Snapshot

if TYPE_CHECKING:
    from sequester._typing import Counts
    from sequester.methods.cblda.work import Work


def absorb(work: Work, rest: int, finished: Counts) -> None:
    """Bring a cluster that is not finished into finished ones, for little extra loss while the share holds.

    The cluster as a whole goes into one of them, or its persons one by one into several, whichever loses
    less. If neither is possible, who found no place is merged with finished clusters until the share holds;
    with all of them it does. Everything happens among `rest` and `finished`.
    """
    if work.is_private(rest):
        work.clusters.status[rest] = kernels.clusters.FINISHED
        return
    host, extra = _find_host(work, rest, finished)
    members = work.members(rest)
    everybody = np.sort(np.concatenate([members, *(work.members(int(each)) for each in finished)]))
    before = Snapshot.of(work, everybody)
    whole_worth = work.left_worth(np.append(finished, rest)) - extra
    finished, left = _place(work, members, finished)
    if not len(left) and (host < 0 or work.left_worth(finished) > whole_worth):
        return
    if host >= 0:
        before.go_back(work)
        work.merge(host, rest)
        return
    rest = int(left[0])
    for other in left[1:]:
        rest = work.merge(rest, int(other))
    host, _ = _find_host(work, rest, finished)
    if host >= 0:
        work.merge(host, rest)
        return
    rates = kernels.hosts.rate_hosts(
        work.trees.kernel, work.clusters, work.demand, rest, finished, work.longest
    )
    for each in finished[np.lexsort((finished, rates))]:
        rest = work.merge(int(each), rest)
        if work.clusters.status[rest] == kernels.clusters.FINISHED:
            return


def _find_host(work: Work, cluster: int, finished: Counts) -> tuple[int, int]:
    host, extra = kernels.hosts.find_host(
        work.trees.kernel,
        work.clusters,
        work.demand,
        cluster,
        finished,
        work.scratch(),
    )
    return int(host), int(extra)


def _place(work: Work, members: Counts, finished: Counts) -> tuple[Counts, Counts]:
    """Put persons one by one into finished clusters: give these, and who found no place.

    Those without protected values come first, because they make room for the others.
    """
    work.restore(members)
    order = np.lexsort((members, work.clusters.risky[members] > 0))
    finished, left, _ = kernels.hosts.place_persons(
        work.trees.kernel, work.clusters, work.demand, members[order], finished, work.longest
    )
    return finished, np.sort(left)
