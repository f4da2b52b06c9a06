"""What a publisher says about the data: title, licence, contact, and what each column means."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("title", "publisher", "contact", "licence", "description", "created")
"""What can be said about a release; each is text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The publisher's own words, for the certificate and the pages; empty where nothing is said.

    Examples
    --------
    >>> About(title="Visits", licence="CC-BY-4.0").rows()
    [('Licence', 'CC-BY-4.0')]
    """

    title: str = ""
    """What the data is called."""
    publisher: str = ""
    """Who publishes it."""
    contact: str = ""
    """Whom to ask."""
    licence: str = ""
    """Under which terms it may be used."""
    description: str = ""
    """What it is about."""
    created: str = ""
    """When the release was made; no clock is asked."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Released column to what it means."""

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self))

    def rows(self) -> list[tuple[str, str]]:
        """Return name and value of what a page shows beside title and description."""
        rest = ("publisher", "contact", "licence", "created")
        return [(name.capitalize(), getattr(self, name)) for name in rest if getattr(self, name)]

    def to_json(self) -> dict[str, Any]:
        """Return what is said, as the certificate has it; what is empty is left out."""
        said = {name: getattr(self, name) for name in NAMES if getattr(self, name)}
        return {**said, **({"columns": dict(self.columns)} if self.columns else {})}
