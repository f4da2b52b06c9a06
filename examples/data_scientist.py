"""A data scientist: protect a frame of polars or pandas in three lines, and read what it costs.

Run it: python examples/data_scientist.py
"""

from __future__ import annotations

import sequester as sq
from sequester.datasets import clicks


def main() -> None:
    frame = clicks.make(persons=500)  # or a polars, pandas or pyarrow table of your own

    table = sq.EventTable(frame, sq.Schema(person="user", time="at", symbol="page"))
    release = sq.BFP2kA(k=3).apply(table)
    protected = release.frame  # polars; .to_pandas() where you need pandas

    print(protected.head(3))
    print(f"promise kept: {release.verdict.holds}, k = {release.verdict.achieved['k']}")
    print(f"{release.n_lost_events:,} of {release.n_input_events:,} events were suppressed")
    for name in ("information_loss", "query_error", "transition_distance"):
        print(f"{name} = {release.utility[name].value:.3f}: {release.utility[name].means}")


if __name__ == "__main__":
    main()
