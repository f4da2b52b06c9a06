"""A privacy researcher: attack a release, and compare methods on risk and utility.

Run it: python examples/privacy_researcher.py
"""

from __future__ import annotations

import sequester as sq
from sequester.datasets import clicks

SEED = "the same sentence gives the same results"


def main() -> None:
    frame = clicks.make(persons=400, seed=SEED)
    table = sq.EventTable(frame, sq.Schema(person="user", time="at", symbol="page"))

    release = sq.BFP2kA(k=5).apply(table, seed=SEED)
    for risk in sq.attack(release, original=table, known=(1, 2), targets=200, seed=SEED):
        if risk.bound is not None:  # what the release promises to bound
            shown = f"{risk.raw.value:.3f} before, {risk.value:.3f} after, at most {risk.bound:.3f} promised"
            print(f"{risk.name}, {risk.known} known: {shown}")

    methods = [sq.BFP2kA(k=5), sq.PrefixPruning(k=5)]
    comparison = sq.compare(table, methods, targets=200, at_once=1, seed=SEED)
    print(comparison)


if __name__ == "__main__":
    main()
