"""Whether a hierarchy has a leaf for every value of its column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.hierarchies.alike import shown_alike, twins
from sequester.hierarchies.finding import Finding
from sequester.hierarchies.labels import LONGEST, MISSING, ROOT, counted, in_label_order, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Set

    from sequester.hierarchies.outline import Source

ALIKE = "alike-labels"
"""The kind of finding about labels that look alike."""
_SHOWN = 3


def reserved_values(values: Collection[str], column: str | None) -> Iterator[Finding]:
    """Find values that cannot be leaves of any tree."""
    if ROOT in values:
        text = f"the value {quoted(ROOT)} is reserved for the root of the hierarchy"
        yield Finding(severity="error", kind="root-value", text=text, column=column, labels=(ROOT,))
    if "" in values:
        text = f"an empty value cannot be a leaf: a missing value is null and becomes {quoted(MISSING)}"
        yield Finding(severity="error", kind="empty-value", text=text, column=column, labels=("",))
    long = tuple(in_label_order(value for value in values if len(value) > LONGEST))
    if long:
        what = counted(len(long), "value is", "values are")
        text = f"{what} longer than {LONGEST:,} characters: {listed(long)}"
        yield Finding(
            severity="error", kind="long-label", text=text, column=column, labels=long, count=len(long)
        )


def coverage(values: Set[str], leaves: Set[str], groups: Set[str], source: Source) -> Iterator[Finding]:
    """Find values without a leaf of their own, and count leaves without a value.

    Examples
    --------
    >>> from sequester.hierarchies.outline import Source
    >>> place = Source("d.csv", "ill")
    >>> for finding in coverage({"flu", "acute", "mumps"}, {"flu", "cold"}, {"acute"}, place):
    ...     print(finding.severity, finding)
    error column 'ill': d.csv: 1 value of the data is missing: 'mumps'
    error column 'ill': d.csv: 1 value of the data is a group and no leaf: 'acute'
    info column 'ill': d.csv: 1 leaf does not occur in the data
    """
    wanted = values - {ROOT, "", MISSING}
    unknown = tuple(in_label_order(wanted - leaves - groups))
    if unknown:
        what = counted(len(unknown), "value of the data is", "values of the data are")
        text = f"{what} missing: {listed(unknown)}"
        like = shown_alike(unknown, leaves)
        if like:
            (value, leaf), *_ = like
            text += f" ({counted(len(like), 'looks', 'look')} like a leaf, such as {quoted(value)} like "
            text += f'{quoted(leaf)}: alike = "merge" takes it for that)'
        yield source.say("error", "missing-values", text, labels=unknown, count=len(unknown))
    inside = tuple(in_label_order(wanted & groups))
    if inside:
        what = counted(len(inside), "value of the data is a group", "values of the data are groups")
        what += " and no leaf" if len(inside) == 1 else " and no leaves"
        yield source.say(
            "error", "group-values", f"{what}: {listed(inside)}", labels=inside, count=len(inside)
        )
    # What does not occur does no harm, and where both occur they are named there.
    groups_alike = [
        group
        for group in twins(sorted(leaves | groups))
        if len(values & {*group}) < 2 and (values | groups) & {*group}
    ]
    if groups_alike:
        labels = tuple(label for group in groups_alike for label in group)
        shown = "; ".join(", ".join(map(quoted, group)) for group in groups_alike[:_SHOWN])
        rest = len(groups_alike) - _SHOWN
        shown += f"; and {counted(rest, 'more group', 'more groups')}" if rest > 0 else ""
        text = f"{len(labels):,} labels of the hierarchy look alike: {shown}"
        yield source.say("warning", ALIKE, text, labels=labels, count=len(labels))
    surplus = tuple(in_label_order(leaves - values))
    if surplus:
        text = f"{counted(len(surplus), 'leaf does', 'leaves do')} not occur in the data"
        yield source.say("info", "surplus-leaves", text, labels=surplus, count=len(surplus))
