"""A rooted tree of labels per attribute: its leaves are the domain, of which the data shows a part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from sequester.errors import HierarchyError, ParameterError
from sequester.hierarchies.builder import (
    Flat,
    ParentGraph,
    Tree,
    hierarchy_file,
    nodes_as_frame,
    nodes_from_frame,
    write_hierarchy_rows,
)
from sequester.hierarchies.kinds import Dates, H3Cells, Intervals, Masked, Quantiles
from sequester.hierarchies.labels import MISSING, ROOT, counted, in_label_order, listed, quoted
from sequester.hierarchies.lint import coverage, refuse_errors, reserved_values
from sequester.hierarchies.outline import (
    MOST_LEAVES,
    Edge,
    Origin,
    Outline,
    examine,
    examine_nested,
    examine_paths,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt
    import polars as pl

    from sequester._typing import Codes, Counts, Mask
    from sequester.hierarchies.builder import HierarchyBuilder, Kind
    from sequester.hierarchies.lint import Finding


def number_nodes(
    parents: Mapping[str, str], sizes: Mapping[str, int]
) -> tuple[tuple[str, ...], Codes, Codes, Codes, Counts]:
    """Enumerate the nodes of a tree depth first, children in label order: the arrays of a `Hierarchy`.

    `parents` leads from every label but the root to the label above it and has no cycle. `sizes` gives the
    leaf counts of nodes that stand for more leaves than lie below them here.

    Examples
    --------
    >>> nodes = {"9": "low", "10": "low", "low": "*", "high": "*"}
    >>> labels, parent, depth, end, leaves = number_nodes(nodes, {"high": 5})
    >>> labels
    ('*', 'high', 'low', '9', '10')
    >>> parent.tolist(), end.tolist(), leaves.tolist()
    ([0, 0, 0, 2, 2], [5, 2, 5, 4, 5], [7, 5, 2, 1, 1])
    """
    children: dict[str, list[str]] = {}
    for label, above in parents.items():
        children.setdefault(above, []).append(label)
    labels: list[str] = []
    parent: list[int] = []
    depth: list[int] = []
    todo = [(ROOT, 0, 0)]
    while todo:
        label, above_node, steps = todo.pop()
        node = len(labels)
        labels.append(label)
        parent.append(above_node)
        depth.append(steps)
        if label in children:
            todo.extend((child, node, steps + 1) for child in reversed(in_label_order(children[label])))
    end = list(range(1, len(labels) + 1))
    leaves = [0] * len(labels)
    for node in range(len(labels) - 1, -1, -1):
        leaves[node] = sizes.get(labels[node], leaves[node] or 1)
        if node:
            leaves[parent[node]] += leaves[node]
            end[parent[node]] = max(end[parent[node]], end[node])
    if len(labels) == 1 and ROOT not in sizes:
        msg = "a hierarchy needs at least one leaf"
        raise HierarchyError(msg)
    if leaves[0] > MOST_LEAVES:
        msg = "the hierarchy stands for 2^63 leaves or more, which cannot be counted"
        raise HierarchyError(msg)
    nodes, depths, ends = (np.array(each, np.int32) for each in (parent, depth, end))
    return tuple(labels), nodes, depths, ends, np.array(leaves, np.int64)


def level_table(parent: Codes, depth: Codes) -> Codes:
    """Return a table whose row ``g`` leads from a node to its ancestor at generalization level ``g``.

    Level 0 is the depth of the deepest leaf; a node that lies above the level stays itself.

    Examples
    --------
    >>> level_table(np.array([0, 0, 1, 0], np.int32), np.array([0, 1, 2, 1], np.int32)).tolist()
    [[0, 1, 2, 3], [0, 1, 1, 3], [0, 0, 0, 0]]
    """
    height = int(depth.max())
    table = np.empty((height + 1, depth.size), np.int32)
    table[0] = np.arange(depth.size)
    for level in range(1, height + 1):
        below = table[level - 1]
        table[level] = np.where(depth[below] > height - level, parent[below], below)
    return table


def cost_table(kind: str, *, leaves: Counts, depth: Codes, is_exact: Mask) -> npt.NDArray[np.float64]:
    """Return the costs of publishing nodes, by their name in a configuration; what is exact costs nothing.

    ``information-loss`` is the share of the domain that a node stands for, ``linear`` is ``(D - d) / D`` at
    depth ``d`` of a tree of height ``D``, ``exponential`` is ``2^-d``; all are 1 for the root.

    References
    ----------
    Bonomi (2016), utility loss UL; c(a, a) = 0.

    Examples
    --------
    >>> arrays = {"leaves": np.array([4, 3, 1]), "depth": np.array([0, 1, 2])}
    >>> cost_table("information-loss", **arrays, is_exact=np.array([False, False, True])).tolist()
    [1.0, 0.75, 0.0]
    """
    if kind == "information-loss":
        costs = leaves / leaves[0]
    elif kind == "linear":
        costs = 1 - depth / max(int(depth.max()), 1)  # a tree of nothing but its root costs what a root costs
    elif kind == "exponential":
        costs = np.exp2(-depth.astype(np.float64))
    else:
        msg = f"cost must be information-loss, linear or exponential, got {kind!r}"
        raise ParameterError(msg)
    return np.where(is_exact, 0.0, costs)


_SHOWN_NODES = 200


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """A rooted tree in flat arrays; node 0 is the root ``*``, ancestors come before descendants.

    Nodes are numbered depth first, children in label order. The number of leaves of a node may exceed the
    leaves that are named: ``[0:6]`` stands for seven numbers, whichever of them occur.

    Examples
    --------
    >>> ill = Hierarchy.from_tree({"acute": ["flu", "cold"], "asthma": {}})
    >>> print(ill)
    * (3 leaves)
      acute (2 leaves)
        cold
        flu
      asthma
    >>> ill.parent.tolist(), ill.depth.tolist(), ill.leaves.tolist()
    ([0, 0, 1, 1, 0], [0, 1, 2, 2, 1], [3, 2, 1, 1, 1])
    >>> ill.generalize("flu", 1), ill.generalize("asthma", 1), ill.generalize("flu", 2)
    ('acute', 'asthma', '*')
    >>> ill.labels[ill.lca(ill.node("flu"), ill.node("cold"))]
    'acute'
    """

    labels: tuple[str, ...]
    """Node to label."""
    parent: Codes
    """Node to the node above it; the root to itself."""
    depth: Codes
    """Node to its steps from the root."""
    subtree_end: Codes
    """Node to the first one after its subtree: ``b`` is at or below ``a`` if ``a <= b < subtree_end[a]``."""
    leaves: Counts
    """Node to its number of leaves, 1 for a leaf."""
    rows: tuple[tuple[str, ...], ...] | None = field(default=None)
    """The rows of the ARX file it was read from, where they are all of one length."""

    # building

    @classmethod
    def from_outline(cls, outline: Outline, *, missing: bool = False) -> Hierarchy:
        """Make the tree of an outline without errors, with a leaf for missing values if asked."""
        refuse_errors(outline.findings)
        parents, sizes, rows = dict(outline.parents), dict(outline.sizes), outline.rows
        if missing and MISSING not in parents:
            parents[MISSING] = ROOT
            if ROOT in sizes:
                sizes[ROOT] += 1
            if rows:
                rows = (*rows, (*[MISSING] * (len(rows[0]) - 1), ROOT))
        labels, parent, depth, subtree_end, leaves = number_nodes(parents, sizes)
        for array in (parent, depth, subtree_end, leaves):
            array.flags.writeable = False
        return cls(labels, parent, depth, subtree_end, leaves, rows)

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[str]]) -> Hierarchy:
        """Make a tree of one path per leaf: the leaf first, the root last or left out.

        Parameters
        ----------
        paths
            One path per leaf.

        Returns
        -------
        Hierarchy
            The tree.

        Examples
        --------
        >>> Hierarchy.from_paths([["56001", "56***"], ["56002", "56***"], ["7", "*"]]).labels
        ('*', '56***', '56001', '56002', '7')
        """
        return cls.from_outline(examine_paths(enumerate(paths, start=1), Origin("paths")))

    @classmethod
    def from_edges(cls, pairs: Iterable[tuple[str, str]]) -> Hierarchy:
        """Make a tree of ``(child, parent)`` pairs; what has no parent goes under the root.

        Parameters
        ----------
        pairs
            Each label with its parent.

        Returns
        -------
        Hierarchy
            The tree.

        Examples
        --------
        >>> Hierarchy.from_edges([("flu", "acute"), ("cold", "acute")]).labels
        ('*', 'acute', 'cold', 'flu')
        """
        statements = (Edge(child, parent, row) for row, (child, parent) in enumerate(pairs, start=1))
        return cls.from_outline(examine(statements, Origin("edges"), each_once=True))

    @classmethod
    def from_tree(cls, tree: Mapping[str, object]) -> Hierarchy:
        """Make a tree of nested tables: a group holds a table of groups or a list of leaves.

        Parameters
        ----------
        tree
            Group to its groups or leaves.

        Returns
        -------
        Hierarchy
            The tree.
        """
        return cls.from_outline(examine_nested(tree, Origin("tree")))

    @classmethod
    def from_frame(cls, frame: pl.DataFrame) -> Hierarchy:
        """Make the tree that `to_frame` or `above` wrote, leaf counts as they are given.

        Parameters
        ----------
        frame
            Nodes with parent and number of leaves.

        Returns
        -------
        Hierarchy
            The tree, or the part of it that was written.

        Examples
        --------
        >>> ill = Hierarchy.from_tree({"acute": ["flu", "cold"], "asthma": {}})
        >>> part = Hierarchy.from_frame(ill.above(["acute"]))
        >>> part.labels, part.leaves.tolist()
        (('*', 'acute'), [3, 2])
        """
        return cls.from_outline(nodes_from_frame(frame))

    def build(self, values: Iterable[str], *, column: str, missing: bool = False) -> Hierarchy:
        """Return this tree once every value has a leaf, with the leaf ``(missing)`` if values are missing."""
        labels = set(values)
        refuse_errors(self.findings(labels, column=column))
        if not (missing or MISSING in labels) or MISSING in self:
            return self
        inner = np.flatnonzero(~self.is_leaf | (self.leaves > 1)).tolist()
        outline = Outline(
            {self.labels[node]: self.labels[self.parent[node]] for node in range(1, len(self))},
            sizes={self.labels[node]: int(self.leaves[node]) for node in inner},
            rows=self.rows,
        )
        return Hierarchy.from_outline(outline, missing=True)

    def findings(self, values: Iterable[str], *, column: str) -> list[Finding]:
        """List the values without a leaf, and count the leaves without a value."""
        labels = set(values)
        leaves = {self.labels[node] for node in self.leaf_nodes}
        checked = coverage(labels, leaves, set(self.labels) - leaves, Origin("hierarchy", column))
        return [*reserved_values(labels, column), *checked]

    # kinds that are built when the column is known

    @staticmethod
    def mask(levels: int | Sequence[int]) -> HierarchyBuilder:
        """Keep the first characters, as many as each level says: ``56***``. See `Masked`.

        Parameters
        ----------
        levels
            Characters that each level keeps, finest first.

        Returns
        -------
        HierarchyBuilder
            What makes the tree once the values of the column are known.
        """
        return KindBuilder(Masked(levels))

    @staticmethod
    def intervals(width: float | Sequence[float], origin: float = 0) -> HierarchyBuilder:
        """Group numbers in ranges of equal width: ``[0:6]``. See `Intervals`.

        Parameters
        ----------
        width
            Width of the ranges of each level, finest first.
        origin
            Where a range begins.

        Returns
        -------
        HierarchyBuilder
            What makes the tree once the values of the column are known.
        """
        return KindBuilder(Intervals(width, origin))

    @staticmethod
    def dates(levels: str | Sequence[str]) -> HierarchyBuilder:
        """Shorten dates to day, month, quarter, year: ``2009-Q1``. See `Dates`.

        Parameters
        ----------
        levels
            ``day``, ``month``, ``quarter`` or ``year``, finest first.

        Returns
        -------
        HierarchyBuilder
            What makes the tree once the values of the column are known.
        """
        return KindBuilder(Dates(levels))

    @staticmethod
    def quantiles(bins: int | Sequence[int]) -> HierarchyBuilder:
        """Group numbers in ranges that hold about equally many: ``[20:64]``. See `Quantiles`.

        Parameters
        ----------
        bins
            Number of ranges of each level, finest first.

        Returns
        -------
        HierarchyBuilder
            What makes the tree once the values of the column are known.
        """
        return KindBuilder(Quantiles(bins))

    @staticmethod
    def flat() -> HierarchyBuilder:
        """Generalize every value to the root at once. See `Flat`."""
        return KindBuilder(Flat())

    @staticmethod
    def tree(tree: Mapping[str, object]) -> HierarchyBuilder:
        """Read the tree from nested tables. See `Tree`.

        Parameters
        ----------
        tree
            Group to its groups or leaves.

        Returns
        -------
        HierarchyBuilder
            What makes the tree once the values of the column are known.
        """
        return KindBuilder(Tree(tree))

    @staticmethod
    def graph(parents: Mapping[str, list[str]], origin: str = "vocabulary") -> HierarchyBuilder:
        """Choose the tree from labels with several parents. See `ParentGraph`."""
        return KindBuilder(ParentGraph(parents, origin))

    @staticmethod
    def h3(resolutions: int | Sequence[int]) -> HierarchyBuilder:
        """Generalize H3 cells to their parents; needs the extra ``geo``. See `H3Cells`.

        Parameters
        ----------
        resolutions
            Resolution of each level, finest first.

        Returns
        -------
        HierarchyBuilder
            What makes the tree once the values of the column are known.
        """
        return KindBuilder(H3Cells(resolutions))

    @staticmethod
    def read(path: str | Path, format: Literal["arx", "edges"] = "arx") -> HierarchyBuilder:  # noqa: A002
        """Read the tree from a file: ARX (``leaf;level1;...;*``) or edges (``child,parent``).

        See `ArxFile` and `EdgesFile`.

        Parameters
        ----------
        path
            The file.
        format
            What the file holds.

        Returns
        -------
        HierarchyBuilder
            What makes the tree once the values of the column are known.
        """
        return KindBuilder(hierarchy_file(path, format))

    # looking at it

    @cached_property
    def is_leaf(self) -> Mask:
        """Node to whether nothing lies below it here."""
        mask: Mask = self.subtree_end == np.arange(1, len(self) + 1)
        mask.flags.writeable = False
        return mask

    @cached_property
    def leaf_nodes(self) -> Codes:
        """The leaves, in node order."""
        return np.flatnonzero(self.is_leaf).astype(np.int32)

    @cached_property
    def height(self) -> int:
        """The largest depth: the generalization level of the root."""
        return int(self.depth.max())

    @cached_property
    def levels(self) -> Codes:
        """Row ``g`` leads from each node to its ancestor at generalization level ``g``.

        Level 0 changes nothing, level `height` is the root. Levels are counted from the root: a leaf of a
        short branch stays itself until its own depth is reached.
        """
        table = level_table(self.parent, self.depth)
        table.flags.writeable = False
        return table

    @cached_property
    def loss(self) -> npt.NDArray[np.float64]:
        """Node to the share of all leaves that it stands for; 0 for a leaf."""
        return self.cost("information-loss")

    def cost(self, kind: str) -> npt.NDArray[np.float64]:
        """Return, per node, what it costs to publish it instead of a leaf below it.

        `kind` is ``information-loss``, ``linear`` or ``exponential``.

        Parameters
        ----------
        kind
            ``information-loss``, ``linear`` or ``exponential``.

        Returns
        -------
        numpy array
            One number per node; 0 is a leaf.

        Examples
        --------
        >>> ill = Hierarchy.from_tree({"acute": ["flu", "cold"], "asthma": {}})
        >>> ill.cost("linear").tolist(), ill.cost("exponential").tolist()
        ([1.0, 0.5, 0.0, 0.0, 0.0], [1.0, 0.5, 0.0, 0.0, 0.0])
        """
        exact = self.is_leaf & (self.leaves == 1)
        table = cost_table(kind, leaves=self.leaves, depth=self.depth, is_exact=exact)
        table.flags.writeable = False
        return table

    @cached_property
    def _node_of(self) -> dict[str, int]:
        return {label: node for node, label in enumerate(self.labels)}

    def node(self, label: str) -> int:
        """Find the node of a label; an unknown one is refused by name.

        Parameters
        ----------
        label
            A label of the hierarchy.

        Returns
        -------
        int
            Its node.
        """
        try:
            return self._node_of[label]
        except KeyError:
            msg = f"{quoted(label)} is not a node of the hierarchy"
            raise HierarchyError(msg) from None

    def nodes(self, labels: Iterable[str]) -> Codes:
        """Find the nodes of many labels; the unknown ones are refused together."""
        wanted = list(labels)
        found = np.array([self._node_of.get(label, -1) for label in wanted], np.int32)
        if (found < 0).any():
            unknown = {label for label in wanted if label not in self._node_of}
            msg = f"{listed(unknown)}: no node of the hierarchy"
            raise HierarchyError(msg)
        return found

    def nodes_of(self, column: pl.Series) -> Codes:
        """Find the node of each label of a column; a label that occurs often is looked up once.

        Examples
        --------
        >>> import polars as pl
        >>> Hierarchy.from_tree({"short": ["1", "2"]}).nodes_of(pl.Series(["2", "1", "2"])).tolist()
        [3, 2, 3]
        """
        labels = column.unique().to_list()
        found = dict(zip(labels, self.nodes(labels).tolist(), strict=True))
        return column.replace_strict(found).to_numpy().astype(np.int32) if labels else np.empty(0, np.int32)

    def lca(self, a: int, b: int) -> int:
        """Find the lowest node that lies at or above both nodes.

        Parameters
        ----------
        a
            A node.
        b
            Another one.

        Returns
        -------
        int
            The node.
        """
        while not a <= b < self.subtree_end[a]:
            a = int(self.parent[a])
        return a

    def children(self, node: int) -> list[int]:
        """List the nodes directly below a node.

        Parameters
        ----------
        node
            A node.

        Returns
        -------
        list of int
            Its children, in node order.
        """
        below = []
        child = node + 1
        while child < self.subtree_end[node]:
            below.append(child)
            child = int(self.subtree_end[child])
        return below

    def ancestors(self, node: int) -> list[int]:
        """List the node and what lies above it, up to the root.

        Parameters
        ----------
        node
            A node.

        Returns
        -------
        list of int
            From the node to the root.
        """
        above = [node]
        while above[-1]:
            above.append(int(self.parent[above[-1]]))
        return above

    def generalize(self, label: str, level: int) -> str:
        """Return the label at a generalization level, 0 to `height`.

        Parameters
        ----------
        label
            A label of the hierarchy.
        level
            Steps from the leaf towards the root.

        Returns
        -------
        str
            The label there.
        """
        self._check_level(level)
        return self.labels[int(self.levels[level, self.node(label)])]

    def level_labels(self, level: int) -> tuple[str, ...]:
        """List the labels that stand for the leaves at a generalization level, in node order."""
        self._check_level(level)
        return tuple(self.labels[node] for node in np.unique(self.levels[level][self.leaf_nodes]))

    def _check_level(self, level: int) -> None:
        if not 0 <= level <= self.height:
            msg = f"level must be 0 to {self.height}, got {level}"
            raise HierarchyError(msg)

    def to_frame(self) -> pl.DataFrame:
        """List all nodes with their parent (empty for the root) and number of leaves."""
        return nodes_as_frame(self, range(len(self)))

    def above(self, labels: Iterable[str]) -> pl.DataFrame:
        """List the given nodes and those above them, and nothing below: what a recipient may see.

        Parameters
        ----------
        labels
            Nodes of the hierarchy.

        Returns
        -------
        polars.DataFrame
            Nodes with parent and number of leaves.

        Examples
        --------
        >>> Hierarchy.from_tree({"acute": ["flu", "cold"], "asthma": {}}).above(["acute"]).rows()
        [('*', '', 3), ('acute', '*', 2)]
        """
        kept = {0}
        for node in self.nodes(labels).tolist():
            kept.update(self.ancestors(node))
        return nodes_as_frame(self, sorted(kept))

    def arx_rows(self) -> list[tuple[str, ...]]:
        """List one row per leaf with its label at every level, leaf first, root last.

        Rows that were read from an ARX file come as they stood there.
        """
        if self.rows is not None:
            return list(self.rows)
        return [tuple(self.labels[node] for node in self.levels[:, leaf]) for leaf in self.leaf_nodes]

    def write_arx(self, path: str | Path) -> None:
        """Write the tree as an ARX hierarchy: ``;`` between cells, one row per leaf, the root last.

        Parameters
        ----------
        path
            The file; one that is there is replaced.
        """
        write_hierarchy_rows(path, self.arx_rows())

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[str]:
        return iter(self.labels)

    def __contains__(self, label: object) -> bool:
        return label in self._node_of

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self._content == other._content

    def __hash__(self) -> int:
        return hash(self._content)

    @property
    def _content(self) -> tuple[tuple[str, ...], bytes, bytes]:
        return self.labels, self.parent.tobytes(), self.leaves.tobytes()

    def __repr__(self) -> str:
        return f"Hierarchy(nodes={len(self)}, leaves={self.leaves[0]}, height={self.height})"

    def __str__(self) -> str:
        lines = []
        for node, label in enumerate(self.labels[:_SHOWN_NODES]):
            size = counted(int(self.leaves[node]), "leaf", "leaves")
            known = self.is_leaf[node] and self.leaves[node] == 1
            lines.append(f"{'  ' * int(self.depth[node])}{label}" + ("" if known else f" ({size})"))
        rest = len(self) - _SHOWN_NODES
        return "\n".join(
            [*lines, f"... and {counted(rest, 'more node', 'more nodes')}"] if rest > 0 else lines
        )


@dataclass(frozen=True, slots=True)
class KindBuilder:
    """Builds the hierarchy of a kind once the values of a column are known."""

    kind: Kind
    """How values are grouped."""

    def __repr__(self) -> str:
        return repr(self.kind)

    def build(self, values: Iterable[str], *, column: str, missing: bool = False) -> Hierarchy:
        """Make the tree for the values of a column; see `HierarchyBuilder.build`."""
        occurring = values if isinstance(values, Mapping) else Counter(values)
        outline = self.kind.examine(occurring, column)
        has_missing = missing or MISSING in occurring
        refuse_errors(outline.findings)
        if not outline.parents and not has_missing:
            refuse_errors([self.kind.source(column).say("error", "empty", "the column has no values")])
        return Hierarchy.from_outline(outline, missing=has_missing)

    def findings(self, values: Iterable[str], *, column: str) -> list[Finding]:
        """List everything that is wrong or doubtful, without making the tree."""
        return list(self.kind.examine(values, column).findings)
