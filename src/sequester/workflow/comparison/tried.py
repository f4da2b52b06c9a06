"""What became of a candidate, as it is kept on disk and shown."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal

from sequester.attacks.share import Share
from sequester.utility.score import Score

if TYPE_CHECKING:
    from collections.abc import Mapping

State = Literal["made", "unattainable", "unfit", "failed"]
"""A release was made; none can be; the method is not for this table; or something went wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Risks:
    """What one adversary achieves against the release, and against the original."""

    release: Share
    """Against the release."""
    raw: Share
    """Against the original."""
    bound: float | None = None
    """What the release claims that it cannot exceed."""
    is_within: bool = True
    """The bound, if there is one, is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A candidate after it was tried."""

    method: str
    """Its name."""
    label: str
    """The method and the parameters that tell it from its neighbours."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Every parameter with its value."""
    state: State = "made"
    """How it ended."""
    reason: str = ""
    """Why there is no release."""
    model: str = ""
    """The promise, by the name of its class."""
    claim: Mapping[str, Any] = field(default_factory=dict)
    """The parameters of the promise."""
    achieved: Mapping[str, Any] = field(default_factory=dict)
    """The best level that the data reaches."""
    risks: Mapping[str, Risks] = field(default_factory=dict)
    """What each adversary achieves, by name."""
    utility: Mapping[str, Score] = field(default_factory=dict)
    """What the release is still good for."""
    persons: int | None = None
    """Persons, or trips, in the release; None where it has records without persons."""
    events: int = 0
    """Events or records in the release."""
    lost_share: float = 0.0
    """Share of the input's events that are lost."""
    moved: int = 0
    """Released items that their person had elsewhere in the order."""
    invented: int = 0
    """Released items that their person never had."""
    warnings: tuple[str, ...] = ()
    """What the steward must know."""
    seconds: float = 0.0
    """How long it took to make, to measure and to attack."""
    peak_memory: int = 0
    """Bytes that the process of its own took, at most; 0 where that is not known."""
    report: str = ""
    """The page about it, relative to the folder of the comparison."""
    release: str = ""
    """The folder with ``release`` and ``internal``, where releases were asked for."""
    is_ours: bool = False
    """It failed by a fault of the program."""

    @property
    def holds(self) -> bool:
        """There is a release, and it keeps its promise."""
        return self.state == "made"

    def to_json(self) -> dict[str, Any]:
        """Give the document that is kept; `of` reads it."""
        return asdict(self) | {"holds": self.holds}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Tried:
        """Read what was kept."""
        given = {each.name: document[each.name] for each in fields(cls)}
        given["risks"] = {
            name: Risks(
                release=_share(each["release"]),
                raw=_share(each["raw"]),
                bound=each["bound"],
                is_within=each["is_within"],
            )
            for name, each in document["risks"].items()
        }
        given["utility"] = {
            name: Score(**{**each, "bounds": tuple(each["bounds"])})
            for name, each in document["utility"].items()
        }
        given["warnings"] = tuple(document["warnings"])
        return cls(**given)


def _share(document: Mapping[str, Any]) -> Share:
    low, high = document["interval"]
    return Share(document["value"], (low, high))
