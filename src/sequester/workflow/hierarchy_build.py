"""Writes the tree of an attribute as a file that can be looked at, edited and named in a configuration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sequester.engine import silent
from sequester.hierarchies.labels import ROOT, counted, listed
from sequester.hierarchies.text_files import rows_as_text
from sequester.workflow.bound_hierarchy import bind_hierarchy
from sequester.workflow.config import Config
from sequester.workflow.hearing import keep_quiet
from sequester.workflow.output_file import put, refuse_existing, refuse_inputs

if TYPE_CHECKING:
    from sequester.engine import Progress
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.workflow.hearing import Warn


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A tree that has been written."""

    attribute: str
    """Its column."""
    path: Path
    """The file."""
    tree: Hierarchy
    """What is in it."""

    def to_json(self) -> dict[str, Any]:
        """Give the document that ``hierarchy build --json`` prints."""
        return {
            "attribute": self.attribute,
            "path": str(self.path),
            "leaves": len(self.tree.leaf_nodes),
            "nodes": len(self.tree),
            "levels": self.tree.height,
        }


def build_hierarchy(
    config: str | Path | Config,
    attribute: str,
    out: str | Path,
    *,
    force: bool = False,
    progress: Progress = silent,
    warn: Warn = keep_quiet,
) -> Built:
    """Write the hierarchy of one attribute, bound to its column, as an ARX file."""
    out = Path(out)
    refuse_existing(out, force=force)
    config = config if isinstance(config, Config) else Config.load(config)
    refuse_inputs(out, inputs=config.inputs)
    progress(0.0, "reading")
    _, tree = bind_hierarchy(config, attribute)
    for line in _differences(tree):
        warn(line)
    put(rows_as_text(tree.arx_rows()).encode(), out)
    return Built(attribute=attribute, path=out, tree=tree)


def _differences(tree: Hierarchy) -> list[str]:
    """Say where the tree that is read from the file will not be this one."""
    lines = []
    named, all_leaves = len(tree.leaf_nodes), int(tree.leaves[0])
    if all_leaves > named:
        what = counted(named, "leaf that occurs", "leaves that occur")
        lines.append(f"the file lists the {what} of {all_leaves:,}: read from it, a group counts only those")
    blank = [label for label in tree.labels if label != label.strip() and label != ROOT]
    if blank:
        what = counted(len(blank), "label has", "labels have")
        lines.append(f"{what} blanks around, which are trimmed when the file is read: {listed(blank)}")
    return lines
