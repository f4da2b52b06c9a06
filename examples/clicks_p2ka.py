"""Publish invented clicks with p2ka, with the largest crowd that is worth its cost.

Run it: python examples/clicks_p2ka.py [FOLDER]
"""

from __future__ import annotations

import sys

import sequester as sq
from sequester.datasets import clicks

WORTH_IT = 0.55
"""An information loss above this is too much for the people who will use the data."""


def main(folder: str) -> None:
    table = sq.EventTable(clicks.make(persons=2000), sq.Schema(person="user", time="at", symbol="page"))
    print(f"{table.n_persons:,} persons, {table.n_events:,} clicks")

    chosen = None
    for k in (5, 10, 20):
        release = sq.BFP2kA(k=k).apply(table)
        loss = release.utility["information_loss"].value
        print(f"k = {k:2}: {len(release.pseudonyms):,} persons, information loss {loss:.2f}")
        if loss <= WORTH_IT:
            chosen = release
    if chosen is None:
        sys.exit("no k is worth it here")

    sq.write(chosen, folder, original=table, force=True)
    checked = sq.verify(f"{folder}/release")
    print(f"written to {folder}; verified from the files: {checked.holds}, k = {checked.achieved['k']}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "out/clicks_p2ka")
