"""Protected values that are similar: to know which of them somebody has matters less than that it is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.data.protect import Protect
from sequester.hierarchies.labels import ROOT

if TYPE_CHECKING:
    from sequester.data.table import EventTable


def similar_values(table: EventTable) -> dict[str, str]:
    """Lead from protected labels to their group: the value above them, or the rule that protects them.

    Where the sensitive column has a hierarchy, values right below the same one are similar. Otherwise those
    are that one prefix or range of codes protects. A label without others like it is left out.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"who": list("abc"), "n": [1, 1, 1], "code": ["0421", "0429", "700"]})
    >>> schema = Schema("who", "n", sensitive={"code": Protect(prefix=("042",), values=("700",))})
    >>> similar_values(EventTable(frame, schema))
    {'0421': "prefix '042'", '0429': "prefix '042'"}
    """
    groups: dict[str, str] = {}
    for attribute, sensitive in table.schema.sensitive.items():
        labels = sorted(table.protected[attribute])
        trees = [table.hierarchies[name] for name in sensitive.columns if name in table.hierarchies]
        for tree in trees[:1]:
            above = {label: tree.generalize(label, 1) for label in labels if label in tree}
            groups |= {label: group for label, group in above.items() if group not in (ROOT, label)}
        if not trees and isinstance(sensitive.protect, Protect):
            for rule in sensitive.protect.rules():
                if rule.kind != "value":
                    groups |= {label: str(rule) for label in rule.matches(labels)}
    sizes: dict[str, int] = {}
    for group in groups.values():
        sizes[group] = sizes.get(group, 0) + 1
    return {label: group for label, group in groups.items() if sizes[group] > 1}
