"""A person with one long log: hide two patterns of your days, on your own machine.

Run it: python examples/one_long_log.py
"""

from __future__ import annotations

import sequester as sq
from sequester.datasets import activities

SECRETS = (("therapy", "pharmacy"), ("bar", "sleep"))


def main() -> None:
    log = activities.make(persons=1, days=90)
    symbol = sq.Symbol("activity", activities.taxonomy())
    table = sq.EventTable(log, sq.Schema(person="user", time="at", symbol=symbol))

    # Within six steps, the copy may tell at most 30 % of what the log tells about the patterns.
    release = sq.TopDown(patterns=SECRETS, window=6, max_leakage=0.3).apply(table)

    print(f"promise kept: {release.verdict.holds}, {release.verdict.achieved}")
    before, after = (set(frame["activity"]) for frame in (log, release.frame))
    print(f"generalized away: {', '.join(sorted(before - after))}")
    print(f"shown instead: {', '.join(sorted(after - before))}")


if __name__ == "__main__":
    main()
