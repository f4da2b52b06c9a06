"""A release as its recipient has it, and counts estimated from its generalized values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from sequester._repr import Card, CardRepr
from sequester.data.roles import nearest_name
from sequester.errors import ParameterError
from sequester.hierarchies.labels import ROOT, as_number
from sequester.privacy.l_diversity import COUNT, GROUP
from sequester.release.fields import safe_repr
from sequester.release.release import PERSON, PERSONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sequester.release.certificate import Certificate


@dataclass(frozen=True, slots=True, repr=False)
class Opened(CardRepr):
    """A release that came from somebody else; its files are those that the certificate lists.

    Examples
    --------
    >>> import tempfile, warnings
    >>> import sequester as sq
    >>> frame = pl.DataFrame(
    ...     {"who": list("abcdef"), "n": [1] * 6, "days": ["1", "2", "2", "3", "8", "9"], "ill": ["flu"] * 6}
    ... )
    >>> quasi = {"days": sq.Hierarchy.intervals([5, 10])}
    >>> schema = sq.Schema(person="who", order="n", quasi=quasi, sensitive={"ill": ["HIV"]})
    >>> with warnings.catch_warnings(action="ignore"):
    ...     release = sq.GloGen(k=2, c=0.5, p=1).apply(sq.EventTable(frame, schema))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     opened = sq.open(sq.write(release, folder))
    >>> opened.expected_counts("days").rows()
    [('*', 10, 0, 6.0), ('[0:9]', 10, 0, 6.0), ('[0:4]', 5, 4, 4.0), ('[5:9]', 5, 2, 2.0)]
    >>> opened.expected_count(days="2")  # four events in [0:4], which covers five values
    0.8
    """

    frame: pl.DataFrame
    """One row per event: ``person``, ``order``, then the attributes; or one per record, from ``time`` on."""
    hierarchies: Mapping[str, pl.DataFrame]
    """Per attribute that has one: ``node``, ``parent`` (empty at the root) and ``leaves``."""
    certificate: Certificate
    """What is promised, how it was checked, and what is not promised."""
    tables: Mapping[str, pl.DataFrame]
    """Every table by its name, the main one first."""

    def expected_count(
        self,
        values: Mapping[str, str] | None = None,
        /,
        *,
        persons: bool = False,
        under: Mapping[str, str] | None = None,
        **more: str,
    ) -> float:
        """Estimate how many events, or persons with such an event, had these values.

        Attributes of persons are those of each of their events; where nothing else is asked for, persons are
        counted.

        A generalized value is each of the values that it covers with a probability in proportion to the rows
        that show it (see `node_probabilities`), and cells are independent: the estimate is the sum of the
        probabilities of all rows. It is exact where nothing was generalized.

        Parameters
        ----------
        values
            Column to value; as keywords too. A value may be a released one, one above it, or one below.
        persons
            Count persons with at least one such event instead of events.
        under
            Column to the finest released value that covers a value below it. Not needed where labels tell:
            ranges, masked codes, parts of dates.

        Raises
        ------
        ParameterError
            Where there is no such column, or where it cannot be told what covers a value.
        """
        wanted = {**(values or {}), **more}
        if not wanted:
            msg = "expected_count needs a column and its value, such as expected_count(ZIP='56001')"
            raise ParameterError(msg)
        texts = {name: str(value) for name, value in wanted.items()}
        tables = dict(self.tables)
        everybody = tables.pop(PERSONS, self.frame)
        own = {
            name: texts.pop(name) for name in wanted if PERSONS in self.tables and name in everybody.columns
        }
        of_persons = row_probabilities({PERSONS: everybody}, self.hierarchies, own, under or {})
        if own and not texts:
            return float(of_persons.sum())
        chance = row_probabilities(tables, self.hierarchies, texts, under or {})
        if own:
            has = pl.DataFrame({PERSON: everybody[PERSON], "has": of_persons})
            has = self.frame.select(PERSON).join(has, on=PERSON, how="left", maintain_order="left")
        if not persons:
            return float((chance * has["has"] if own else chance).sum())
        if PERSON not in self.frame.columns:
            msg = "persons cannot be counted in a release of records without persons"
            raise ParameterError(msg)
        some = pl.DataFrame({PERSON: self.frame[PERSON], "none": 1 - chance})
        if own:
            # A person's attributes are the same in all events, so that they count once.
            some = some.with_columns(has["has"])
            each = some.group_by(PERSON).agg(pl.col("has").first() * (1 - pl.col("none").product()))
            return float(each["has"].sum())
        return float((1 - some.group_by(PERSON).agg(pl.col("none").product())["none"]).sum())

    def expected_counts(self, column: str) -> pl.DataFrame:
        """List the values of a column: how many events show them, and how many are expected to have had them.

        ``value``, ``leaves`` (values of the source that it covers), ``shown`` and ``expected``, which takes
        in the coarser values above by how often the values below them are shown, and all values below.
        """
        everybody = self.tables.get(PERSONS, self.frame)
        frame = self.frame if column in self.frame.columns else everybody
        if column not in frame.columns:
            known = [*self.frame.columns, *everybody.columns]
            msg = f"column {column!r} is not in the release{nearest_name(column, known)}"
            raise ParameterError(msg)
        tree = self.hierarchies.get(column)
        return counts_by_value(frame[column]) if tree is None else counts_by_node(frame[column], tree)

    @property
    def persons(self) -> pl.DataFrame | None:
        """The attributes of persons, one row each; None where the release has none."""
        return self.tables.get(PERSONS)

    def _card(self) -> Card:
        """Return a card with the promise, the counts, the limits and the first rows."""
        certificate = self.certificate
        first = self.frame.head(_SHOWN_ROWS)
        state = "holds" if certificate.holds else "does not hold"
        return Card(
            title=f"Opened release: {certificate.model} {state}",
            good=certificate.holds,
            facts=tuple(_facts(self)),
            remarks=tuple(f"limit: {line}" for line in certificate.limits),
            header=tuple(first.columns),
            rows=tuple(tuple(str(cell) for cell in row) for row in first.iter_rows()),
        )


_RANGE = re.compile(r"\[([^:]+):([^:]+)([\])])")
_OPEN = re.compile(r"(<|>=)(.+)")
_MASK = re.compile(r"([^*]+)\*+")
_PART_OF_DATE = re.compile(r"([0-9]{4})(?:-(?:([0-9]{2})|Q([1-4])))?")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-[0-9]{2}.*")


def node_probabilities(
    tree: pl.DataFrame,
    wanted: str,
    *,
    column: str,
    under: str | None = None,
    shown: Mapping[str, int] | None = None,
) -> dict[str, float]:
    """Return, for each node of a released hierarchy, the probability that its value was the wanted one.

    A node at or below `wanted` certainly is. The rows of a coarser one are divided from the root down: first
    among leaves below it that are not released, up to what a released leaf has on average; the rest among
    the released nodes in proportion to the rows that show them (`shown`), as iterative proportional fitting
    does for nested classes, where it has this closed form. One further row is divided evenly, so that a node
    without rows is not taken for impossible. Where nothing below is shown, all leaves are equally likely.
    A value below all that is released counts as one leaf of the finest node that covers it: `under`, or what
    the labels of ranges, masked codes and dates say; where these all say that they do not, the root.

    Examples
    --------
    >>> tree = pl.DataFrame({"node": ["*", "56***", "7****"], "parent": ["", "*", "*"], "leaves": [9, 5, 4]})
    >>> node_probabilities(tree, "56***", column="ZIP")
    {'*': 0.5555555555555556, '56***': 1.0, '7****': 0.0}
    >>> node_probabilities(tree, "56001", column="ZIP")["56***"]
    0.2
    >>> round(node_probabilities(tree, "56***", column="ZIP", shown={"56***": 9, "7****": 90})["*"], 3)
    0.096

    References
    ----------
    Deming, Stephan (1940), On a least squares adjustment of a sampled frequency table.
    """
    weights = NodeWeights.of(tree, shown or {})
    is_node = wanted in weights.parent
    place = wanted if is_node else _covering_node(weights.parent, weights.leaves, wanted, column, under)
    chance = 1.0 if is_node else weights.unseen[place]
    above = {place: chance}
    while weights.parent[place]:
        chance *= weights.shares[place]
        place = weights.parent[place]
        above[place] = chance
    return {
        node: above[node] if node in above else float(is_node and wanted in _ancestors(weights.parent, node))
        for node in weights.parent
    }


@dataclass(frozen=True, slots=True)
class NodeWeights:
    """How the rows of each node of a released hierarchy are divided among the nodes below it."""

    parent: Mapping[str, str]
    """Node to the one above it; empty for the root."""
    leaves: Mapping[str, int]
    """Node to the values of the source that it covers."""
    below: Mapping[str, int]
    """Node to the rows that show it or a node below it."""
    from_above: Mapping[str, float]
    """Node to the rows of coarser nodes that are expected to belong to it."""
    shares: Mapping[str, float]
    """Node to the share of the rows of its parent that belong to it."""
    unseen: Mapping[str, float]
    """Node to the share of its rows that belongs to one leaf that is not released."""

    @classmethod
    def of(cls, tree: pl.DataFrame, shown: Mapping[str, int]) -> NodeWeights:
        """Divide the rows, from the root down."""
        parent = dict(tree.select("node", "parent").iter_rows())
        leaves = dict(tree.select("node", "leaves").iter_rows())
        below = dict.fromkeys(parent, 0)
        for node, count in shown.items():
            for each in _ancestors(parent, node) if node in parent else ():
                below[each] += count
        children: dict[str, list[str]] = {node: [] for node in parent}
        for node, above in parent.items():
            if above:
                children[above].append(node)
        from_above, shares = dict.fromkeys(parent, 0.0), dict.fromkeys(parent, 1.0)
        unseen = dict.fromkeys(parent, 0.0)
        for node in sorted(parent, key=lambda each: len(_ancestors(parent, each))):
            released = sum(leaves[child] for child in children[node])
            hidden = leaves[node] - released
            inside = sum(below[child] for child in children[node])
            rows = shown.get(node, 0) + from_above[node]
            # A value that is shown would as a rule be shown here, too: what is coarse belongs to what is not
            # shown, but not more to each of these values than a shown one has on average.
            apart = (
                hidden / leaves[node] if not inside else min(hidden * inside / released, rows) / (rows or 1)
            )
            unseen[node] = apart / (hidden or 1)
            for child in children[node]:
                part = (below[child] + leaves[child] / released) / (inside + 1)
                shares[child] = (1 - apart) * part
                from_above[child] = rows * shares[child]
        return cls(parent, leaves, below, from_above, shares, unseen)


def _covering_node(
    parent: Mapping[str, str], leaves: Mapping[str, int], wanted: str, column: str, under: str | None
) -> str:
    """Find the finest node that covers a value which is not a node."""
    if under is not None:
        if under not in parent:
            msg = f"under must name a node of hierarchies/{column}, got {safe_repr(under)}"
            raise ParameterError(msg)
        return under
    found = [node for node in parent if covers(node, wanted)]
    if not found and all(_is_descriptive(node) for node in parent if leaves[node] > 1 and node != ROOT):
        return ROOT
    if not found:
        msg = (
            f"column {safe_repr(column)}: {safe_repr(wanted)} is not a node of its hierarchy, and no label "
            "says where it belongs; name the finest released node that covers it in under"
        )
        raise ParameterError(msg)
    return max(found, key=lambda node: len(_ancestors(parent, node)))


def _is_descriptive(node: str) -> bool:
    """Return whether the label of a node says what it covers."""
    return any(form.fullmatch(node) for form in (_RANGE, _OPEN, _MASK, _PART_OF_DATE))


def _ancestors(parent: Mapping[str, str], node: str) -> set[str]:
    """Return the node and all nodes above it."""
    way = {node}
    while parent[node]:
        node = parent[node]
        way.add(node)
    return way


def covers(node: str, value: str) -> bool:
    """Return whether the label of a node says that it covers a value; names of groups do not say it.

    Examples
    --------
    >>> covers("[0:6]", "6"), covers("[0:0.5)", "0.5"), covers("<20", "3"), covers(">=80", "80.5")
    (True, False, True, True)
    >>> covers("56***", "56001"), covers("56***", "57001"), covers("2010-Q1", "2010-03-31")
    (True, False, True)
    >>> covers("acute", "flu"), covers("*", "flu")
    (False, False)
    """
    if match := _RANGE.fullmatch(node):
        low, high, number = as_number(match[1]), as_number(match[2]), as_number(value)
        if low is None or high is None or number is None:
            return False
        return low <= number <= high if match[3] == "]" else low <= number < high
    if match := _OPEN.fullmatch(node):
        edge, number = as_number(match[2]), as_number(value)
        return edge is not None and number is not None and (number < edge) == (match[1] == "<")
    if match := _MASK.fullmatch(node):
        return value.startswith(match[1]) and len(value) <= len(node)
    part, day = _PART_OF_DATE.fullmatch(node), _DATE.fullmatch(value)
    if part is None or day is None or part[1] != day[1]:
        return False
    return (part[2] in (None, day[2])) and (part[3] is None or int(part[3]) == (int(day[2]) + 2) // 3)


def row_probabilities(
    tables: Mapping[str, pl.DataFrame],
    hierarchies: Mapping[str, pl.DataFrame],
    wanted: Mapping[str, str],
    under: Mapping[str, str],
) -> pl.Series:
    """Return, for each row of the main table, the probability that it has all wanted values."""
    frame, *others = tables.values()
    chance = pl.Series("chance", [1.0], dtype=pl.Float64).new_from_index(0, frame.height)
    for column, value in wanted.items():
        if column in frame.columns:
            chance = chance * _cells(frame[column], hierarchies.get(column), value, column, under.get(column))
        elif any(column in other.columns for other in others):
            chance = chance * _by_group(frame, next(o for o in others if column in o.columns), column, value)
        else:
            known = [name for table in tables.values() for name in table.columns]
            msg = f"column {safe_repr(column)} is not in the release{nearest_name(column, known)}"
            raise ParameterError(msg)
    return chance


def _cells(
    cells: pl.Series, tree: pl.DataFrame | None, wanted: str, column: str, under: str | None
) -> pl.Series:
    text = cells.cast(pl.String)
    if tree is None:
        if under is not None:
            msg = f"under names {safe_repr(column)}, which has no hierarchy"
            raise ParameterError(msg)
        return (text == wanted).fill_null(value=False).cast(pl.Float64)
    shown = dict(text.drop_nulls().alias("node").value_counts().iter_rows())
    chance = node_probabilities(tree, wanted, column=column, under=under, shown=shown)
    return text.replace_strict(list(chance), list(chance.values()), default=0.0, return_dtype=pl.Float64)


def _by_group(frame: pl.DataFrame, values: pl.DataFrame, column: str, wanted: str) -> pl.Series:
    """Return, for each record, the share of its group's values that are wanted."""
    shares = values.group_by(GROUP).agg(
        pl.col(COUNT).filter(pl.col(column).cast(pl.String) == wanted).sum() / pl.col(COUNT).sum()
    )
    joined = frame.select(GROUP).join(shares, on=GROUP, how="left", maintain_order="left")
    return joined[COUNT].fill_null(0.0).cast(pl.Float64)


def counts_by_node(cells: pl.Series, tree: pl.DataFrame) -> pl.DataFrame:
    """List each node of a hierarchy with the rows that show it, and those expected at or below it."""
    counts = dict(cells.cast(pl.String).alias("node").value_counts().iter_rows())
    weights = NodeWeights.of(tree, counts)
    rows = [
        (node, weights.leaves[node], counts.get(node, 0), weights.below[node] + weights.from_above[node])
        for node in weights.parent
    ]
    schema = {"value": pl.String, "leaves": pl.Int64, "shown": pl.Int64, "expected": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def counts_by_value(cells: pl.Series) -> pl.DataFrame:
    """List each value of a column that is released as it was."""
    counted = cells.cast(pl.String).alias("value").value_counts(name="shown").sort("value")
    return counted.select(
        "value",
        pl.lit(1, pl.Int64).alias("leaves"),
        pl.col("shown").cast(pl.Int64),
        pl.col("shown").cast(pl.Float64).alias("expected"),
    )


_SHOWN_ROWS = 5


def _facts(opened: Opened) -> Iterator[tuple[str, str]]:
    certificate = opened.certificate
    yield "promised", ", ".join(f"{name} = {value}" for name, value in certificate.claim.items())
    yield "reached", ", ".join(f"{name} = {value:.4g}" for name, value in certificate.achieved.items())
    yield "method", certificate.method
    if certificate.persons is not None:
        yield "persons", f"{certificate.persons:,}"
    yield "events" if certificate.persons is not None else "records", f"{certificate.events:,}"
    for name, tree in opened.hierarchies.items():
        yield "generalized", f"{name} ({tree.height:,} nodes)"
    for name, score in certificate.utility.items():
        yield name.replace("_", " "), f"{score.value:.3g}"
