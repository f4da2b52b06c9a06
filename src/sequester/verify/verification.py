"""The result of verification: a verdict about files on disk."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sequester._repr import Card
from sequester.privacy.model import spelled

if TYPE_CHECKING:
    from collections.abc import Mapping


_NEEDS_ORIGINAL = (
    "Not checked without --original: whether roles of columns, protected values and parameters are those "
    "that were asked for, whether released values are of the original, and whether persons are distinct."
)
_NEVER_CHECKED = (
    "Not checked by any means: the words of report.html and of limits, the information loss, and whose a "
    "value is."
)


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether the files of a release keep its promise, and what speaks against it.

    Examples
    --------
    >>> found = Verification(
    ...     holds=False,
    ...     model="SequenceKAnonymity",
    ...     achieved={"k": 1},
    ...     violations=1,
    ...     witnesses=(("news", "sports"),),
    ...     release="out/release",
    ... )
    >>> bool(found)
    False
    >>> found.lines
    ('news → sports',)
    """

    holds: bool
    """The files are as certified, and keep the promise."""
    model: str
    """The promise, by the name of its class."""
    achieved: Mapping[str, float]
    """Parameter to the best value that holds; empty where the files were not fit to be counted."""
    violations: int
    """How many speak against the release, witnesses included."""
    witnesses: tuple[object, ...]
    """What speaks against it: a line that names a file, or labels that break the promise, shortest first."""
    release: str
    """The folder, as it was given."""
    certificate_sha256: str = field(default="", repr=False)
    """The certificate's own hash, to compare with the one that came by another way."""

    compared: bool = field(default=False, repr=False)
    """The original was at hand."""

    def __bool__(self) -> bool:
        return self.holds

    @property
    def lines(self) -> tuple[str, ...]:
        """The witnesses as one line each, without characters that could disturb a terminal."""
        return tuple(_line(witness) for witness in self.witnesses)

    @property
    def not_checked(self) -> tuple[str, ...]:
        """What this check could not see, in a line each."""
        return (_NEVER_CHECKED,) if self.compared else (_NEEDS_ORIGINAL, _NEVER_CHECKED)

    def _repr_html_(self) -> str:
        """Return the result for a notebook."""
        more = self.violations - len(self.witnesses)
        return Card(
            title=f"{self.model} {'holds' if self.holds else 'does not hold'}, checked from the files",
            good=self.holds,
            facts=(
                ("release", self.release),
                *((name, f"{value:.4g}") for name, value in self.achieved.items()),
                ("certificate", self.certificate_sha256),
            ),
            remarks=(*self.lines, *((f"and {more:,} more",) if more > 0 else ())),
        ).html()

    def to_json(self) -> dict[str, object]:
        """Return the document that ``verify --json`` prints."""
        return {
            "holds": self.holds,
            "model": self.model,
            "achieved": dict(self.achieved),
            "violations": self.violations,
            "witnesses": list(self.lines),
            "release": self.release,
            "certificate_sha256": self.certificate_sha256,
            "not_checked": list(self.not_checked),
        }


def _line(witness: object) -> str:
    text = spelled(witness)
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
