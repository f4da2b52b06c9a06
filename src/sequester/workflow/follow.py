"""Sanitize the symbols of one person as they arrive, as JSON lines."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sequester.errors import HierarchyError, InputError
from sequester.hierarchies.labels import canonical_label, groups_alike, listed, quoted
from sequester.methods.mutual_information.method import TopDown
from sequester.workflow.build import name_key
from sequester.workflow.config import Config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.methods.mutual_information.online import OnlineTopDown


_REPORTED = 1_000
"""Symbols after which it is said what has become of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowResult:
    """What became of a stream."""

    n_symbols: int
    """Symbols that came, and left."""
    leakage_bits: float
    """What they leak at most, by the measure."""
    measure: str
    """How leakage is measured: "exact" is mutual information, "paper" the paper's sum."""
    loss_per_symbol: float
    """Their mean cost."""
    bound_bits: float
    """What they may tell."""

    def __str__(self) -> str:
        """Write what has left, what it tells of what it may, and what it lost."""
        counted_by = "mutual information" if self.measure == "exact" else "by the paper's measure"
        return (
            f"{self.n_symbols:,} symbols have left; place by place they tell {self.leakage_bits:.2g} bits on "
            f"average ({counted_by}), at most {self.bound_bits:g} are allowed, and they lost "
            f"{self.loss_per_symbol:.0%} of what they said"
        )


def follow(
    config: str | Path | Config,
    lines: Iterable[bytes],
    write: Callable[[str], None],
    report: Callable[[FollowResult], None] | None = None,
) -> FollowResult:
    """Read a symbol per line and write what leaves, each line as soon as it can.

    A line is a JSON text, or an object with the symbol's column; what leaves has the same form, and nothing
    but the symbol. Empty lines are passed over. The data of the configuration is not read. `report` is called
    with what has become of the stream, after every 1,000 symbols.

    Raises
    ------
    InputError
        Where the method cannot follow, the taxonomy is not known in advance, or a line is no symbol of it;
        what has been written stays true.
    """
    config = Config.load(config)
    online, column, leaf_of, method = _start(config)
    is_object = False
    n_symbols = 0

    def leave(labels: list[str]) -> None:
        for label in labels:
            write(json.dumps({column: label} if is_object else label, ensure_ascii=False) + "\n")

    def result() -> FollowResult:
        return FollowResult(
            n_symbols=n_symbols,
            leakage_bits=online.leakage_bits,
            measure=method.measure,
            loss_per_symbol=online.loss_per_symbol,
            bound_bits=method.max_leakage_bits or 0.0,
        )

    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        symbol, is_object = _symbol(line, number, column)
        try:
            leave(online.push(leaf_of(symbol)))
        except InputError as error:
            raise InputError(*(f"line {number}: {each}" for each in error.lines)) from None
        n_symbols += 1
        if report is not None and n_symbols % _REPORTED == 0:
            report(result())
    leave(online.finish())
    return result()


def _start(config: Config) -> tuple[OnlineTopDown, str, Callable[[str], str], TopDown]:
    """Return what follows, the symbol's column, which leaf a symbol is, and the method."""
    method = config.method()
    if not isinstance(method, TopDown):
        msg = f'{config.path.name}: method.name must be "top-down" to follow a stream, got "{method.name}"'
        raise InputError(msg)
    symbol = config.schema.symbol
    if symbol is None:
        msg = f"{config.path.name}: data.symbol is missing; --follow needs one symbol per event"
        raise InputError(msg)
    try:
        taxonomy = _taxonomy(config, symbol.column)
        leaf_of = _leaves(config, method, taxonomy)
        # Patterns mean the leaves that they look like, where these are merged.
        patterns = tuple(tuple(map(leaf_of, pattern)) for pattern in method.patterns)
        return replace(method, patterns=patterns).follow(taxonomy), symbol.column, leaf_of, method
    except InputError as error:
        names = method.parameters()
        raise InputError(
            *(
                line
                if line.startswith(config.path.name)
                else f"{config.path.name}: {name_key(line, 'method', names)}"
                for line in error.lines
            )
        ) from None


def _leaves(config: Config, method: TopDown, taxonomy: Hierarchy) -> Callable[[str], str]:
    """Describe which leaf a symbol is; what looks alike and is nowhere decided on is refused."""
    alike = config.schema.alike
    if alike == "keep":
        return str
    leaves = [taxonomy.labels[node] for node in taxonomy.leaf_nodes]
    named = set(method.named_labels())
    groups = groups_alike([*leaves, *sorted(named)])
    lines = [
        f'{config.path.name}: labels look alike: {listed(group)}; set alike = "merge" or alike = "keep"'
        for group in groups
        if alike == "refuse" or named.intersection(group)
    ]
    if alike != "merge":
        if lines:
            raise InputError(*lines)
        return str
    best = {canonical_label(leaf): leaf for leaf in reversed(leaves)}
    best |= {canonical_label(leaf): leaf for leaf in leaves if leaf in named}
    return lambda symbol: best.get(canonical_label(symbol), symbol)


def _taxonomy(config: Config, column: str) -> Hierarchy:
    """Build the tree without any values, which only files and trees allow."""
    symbol = config.schema.symbol
    builder = None if symbol is None else symbol.hierarchy
    reason = "and there is none"
    if builder is not None:
        try:
            return builder.build([], column=column)
        except HierarchyError as error:
            reason = f"got one that needs data: {error.lines[0]}"
    msg = (
        f"{config.path.name}: data.symbol.hierarchy must be a file or a tree, because no data is read "
        f"(sequester hierarchy build writes a file), {reason}"
    )
    raise InputError(msg)


def _symbol(line: bytes, number: int, column: str) -> tuple[str, bool]:
    """Take the symbol of a line, and tell whether it came in an object."""
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    is_object = isinstance(value, dict)
    symbol = value.get(column) if isinstance(value, dict) else value
    if not isinstance(symbol, str):
        text = line.decode("utf-8", "backslashreplace").strip()
        msg = f"line {number} must be a JSON text or an object with {quoted(column)}, got {quoted(text)}"
        raise InputError(msg)
    return symbol, is_object
