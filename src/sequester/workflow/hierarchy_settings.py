"""The table ``hierarchy`` of the configuration: one model per kind, each of which builds its tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from sequester.hierarchies.hierarchy import Hierarchy
from sequester.workflow.parameters import NO_NUL

if TYPE_CHECKING:
    from pathlib import Path

    from sequester.hierarchies.builder import HierarchyBuilder

Name = Annotated[str, Field(pattern=NO_NUL)]
"""What a system knows a thing by, such as a file."""


class Table(BaseModel):
    """A table of the configuration: no other keys, no guessing of types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


class Mask(Table):
    """Keep the first characters and mask the rest."""

    kind: Literal["mask"]
    """The kind of hierarchy."""
    levels: list[int]
    """Characters kept at each level, fewer and fewer: [3, 1] makes 561**, then 5****, then *."""

    def builder(self, folder: Path) -> HierarchyBuilder:  # noqa: ARG002  (one signature for all kinds)
        """Make what builds the tree."""
        return Hierarchy.mask(self.levels)


class Intervals(Table):
    """Numbers in ranges of growing width."""

    kind: Literal["intervals"]
    """The kind of hierarchy."""
    width: list[int | float]
    """Width of the ranges at each level, each a multiple of the one before: [7, 28]."""
    origin: int | float = 0
    """Where a range begins."""

    def builder(self, folder: Path) -> HierarchyBuilder:  # noqa: ARG002
        """Make what builds the tree."""
        return Hierarchy.intervals(self.width, origin=self.origin)


class Dates(Table):
    """Days in months, quarters, years."""

    kind: Literal["dates"]
    """The kind of hierarchy."""
    levels: list[str]
    """Units from fine to coarse: ["month", "quarter", "year"]."""

    def builder(self, folder: Path) -> HierarchyBuilder:  # noqa: ARG002
        """Make what builds the tree."""
        return Hierarchy.dates(self.levels)


class Quantiles(Table):
    """Ranges that hold about equally many events, learned from the data, edges rounded."""

    kind: Literal["quantiles"]
    """The kind of hierarchy."""
    bins: list[int]
    """Number of ranges at each level, fewer and fewer: [20, 5]."""

    def builder(self, folder: Path) -> HierarchyBuilder:  # noqa: ARG002
        """Make what builds the tree."""
        return Hierarchy.quantiles(self.bins)


class Flat(Table):
    """The value, then *."""

    kind: Literal["flat"]
    """The kind of hierarchy."""

    def builder(self, folder: Path) -> HierarchyBuilder:  # noqa: ARG002
        """Make what builds the tree."""
        return Hierarchy.flat()


class Tree(Table):
    """A tree written out as nested tables."""

    kind: Literal["tree"]
    """The kind of hierarchy."""
    tree: dict[str, Any]
    """A node's name to a table of its children, or to a list of its leaves."""

    def builder(self, folder: Path) -> HierarchyBuilder:  # noqa: ARG002
        """Make what builds the tree."""
        return Hierarchy.tree(self.tree)


class H3(Table):
    """H3 cells under their parents; needs the extra geo."""

    kind: Literal["h3"]
    """The kind of hierarchy."""
    resolutions: list[int]
    """Resolutions of the parents at each level, coarser and coarser: [7, 5]."""

    def builder(self, folder: Path) -> HierarchyBuilder:  # noqa: ARG002
        """Make what builds the tree."""
        return Hierarchy.h3(self.resolutions)


class File(Table):
    """A tree in a file of its own."""

    path: Name
    """The file, relative to this file."""
    format: Literal["arx", "edges"] = "arx"
    """arx: leaf;level1;...;*   edges: child,parent."""

    def builder(self, folder: Path) -> HierarchyBuilder:
        """Make what builds the tree."""
        return Hierarchy.read(folder / self.path, format=self.format)


KINDS = ("mask", "intervals", "dates", "quantiles", "flat", "tree", "h3")
"""What ``kind`` may be."""


def _tag(given: object) -> str | None:
    if isinstance(given, dict):
        if "kind" not in given and "path" in given:
            return "<path>"
        return f"<{given.get('kind')}>" if given.get("kind") in KINDS else None
    return f"<{given.kind}>" if isinstance(given, Table) and hasattr(given, "kind") else "<path>"


HierarchySettings = Annotated[
    Annotated[Mask, Tag("<mask>")]
    | Annotated[Intervals, Tag("<intervals>")]
    | Annotated[Dates, Tag("<dates>")]
    | Annotated[Quantiles, Tag("<quantiles>")]
    | Annotated[Flat, Tag("<flat>")]
    | Annotated[Tree, Tag("<tree>")]
    | Annotated[H3, Tag("<h3>")]
    | Annotated[File, Tag("<path>")],
    Discriminator(_tag),
    Field(description=f"kind = one of {', '.join(KINDS)}, or path = a file."),
]
"""One of the kinds, told apart by ``kind``, or by ``path`` where there is none."""
