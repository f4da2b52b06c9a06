"""What `inspect` finds in a table as it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sequester.report.wording import shown
from sequester.workflow.inspection.lines import lines

if TYPE_CHECKING:
    from sequester.attacks import Exposure
    from sequester.attacks.singling_out import SinglingOut
    from sequester.data.problems import Problem
    from sequester.data.reading import Reading
    from sequester.mining.dependence import Dependence
    from sequester.workflow.inspection.channels import ChannelCounts
    from sequester.workflow.inspection.frequent import Frequent
    from sequester.workflow.inspection.shape import Shape


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Inspection:
    """The shape of a table, what is wrong with it, and what it gives away.

    Names no person but those whose keys look alike.
    """

    shape: Shape
    """How many, how often, how far apart."""
    problems: tuple[Problem, ...]
    """Warnings and notes, with counts and rows."""
    dependent: tuple[Dependence, ...]
    """Quasi-identifiers that follow from others."""
    exposures: tuple[Exposure, ...]
    """What somebody who knows a few items of a person finds, kind by kind."""
    frequent: Frequent | None
    """Frequent patterns, where they were asked for."""
    reading: Reading | None = None
    """What became of the rows of the input: events, parts of one, or left out."""
    channels: ChannelCounts | None = None
    """Minimal inference channels by length, where there are quasi-identifiers."""

    singled_out: SinglingOut | None = None
    """Who is singled out by kept columns and unprotected sensitive values; None where there are none."""

    def to_json(self) -> dict[str, Any]:
        """Give the document that ``inspect --json`` prints."""
        document = {
            "persons": self.shape.persons,
            **({} if self.shape.trips is None else {"trips": self.shape.trips}),
            "events": self.shape.events,
            "reading": None if self.reading is None else self.reading.to_json(),
            "problems": [
                {
                    "what": each.what,
                    "count": each.count,
                    "rows": list(each.rows),
                    "column": each.column,
                    "severity": each.severity,
                }
                for each in self.problems
            ],
            "dependent": [list(each.columns) for each in self.dependent],
            "risk": [each.to_json() for each in self.exposures],
            "singled_out": None if self.singled_out is None else self.singled_out.to_json(),
            "shape": self.shape.to_json(),
        }
        if self.channels is not None:
            document["channels"] = self.channels.to_json()
        return document | ({} if self.frequent is None else {"patterns": self.frequent.to_json()})

    def to_html(self) -> str:
        """Write everything as a page of its own, which needs no network and runs no script."""
        # The renderer of plots takes most of a second to load, and only pages need it.
        from sequester.workflow.inspection.page import page  # noqa: PLC0415

        return page(self)

    def __repr__(self) -> str:
        return "\n".join(map(shown, lines(self)))

    def _repr_html_(self) -> str:
        from sequester.workflow.inspection.page import fragment  # noqa: PLC0415  (as above)

        return fragment(self)
