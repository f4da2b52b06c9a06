"""Which measures apply to a release, and all of them in one go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.engine import silent
from sequester.utility.register import MEASURES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.engine import Progress
    from sequester.utility.comparison import Comparison, Measure
    from sequester.utility.score import Score


def applicable(pair: Comparison) -> list[Measure]:
    """List the measures that say something about a release, in the order of the register.

    Examples
    --------
    >>> from sequester.privacy import SequenceKAnonymity
    >>> from sequester.testing import symbol_table
    >>> from sequester.utility.comparison import Comparison
    >>> table = symbol_table(["ab", "ab"])
    >>> pair = Comparison(released=table.sequences, original=table, model=SequenceKAnonymity(k=2))
    >>> [name for each in applicable(pair) for name in each.names][:3]
    ['suppressed_events', 'suppressed_persons', 'discernibility']
    """
    return [each for each in MEASURES if each.applies(pair)]


def measure_all(
    pair: Comparison, *, known: Mapping[str, Score] | None = None, progress: Progress = silent
) -> dict[str, Score]:
    """Find every score that applies and is not `known` yet.

    What is looked at depends on the size of the data alone, never on the clock, so that a run can be
    repeated. Where a sample of persons has to do, the score says so.
    """
    known = known or {}
    asked = [each for each in applicable(pair) if not set(each.names) <= known.keys()]
    views: dict[int | None, Comparison] = {None: pair}
    found: dict[str, Score] = {}
    for number, each in enumerate(asked):
        progress(number / len(asked), each.phase)
        if each.most_events not in views:
            views[each.most_events] = pair.sampled(each.most_events or pair.original.n_events)
        view = views[each.most_events]
        for name, score in each.run(view).items():
            if name not in known:
                found[name] = score if view is pair else view.told(score)
    progress(1.0, "measured")
    return found
