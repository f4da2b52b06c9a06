"""Find labels that look alike, and refuse them, merge them or keep them apart as the schema says.

Labels look alike that differ only in case, blanks, unseen characters or Unicode form, and numbers that are
equal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from sequester.data.problems import Problem
from sequester.data.schema import Protect, Schema
from sequester.data.text import all_numbers, as_text, distinct_labels
from sequester.errors import HierarchyError
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.hierarchies.labels import DECIMAL, MISSING, ROOT, canonical_label, caseless, counted, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sequester._typing import RowNumbers
    from sequester.data.problems import Severity
    from sequester.data.schema import Alike
    from sequester.data.table import EventTable
    from sequester.hierarchies.builder import HierarchyBuilder

_SHOWN_GROUPS = 3
_SHOWN_LABELS = 5
_ASCII = r"^[!-~]+(?: [!-~]+)*$"
_LETTERS = "[!-~à-öø-ſа-џ一-龥ぁ-ヿ가-힣]"
_PLAIN = f"^{_LETTERS}+(?: {_LETTERS}+)*$"
"""Small letters that are folded, in Unicode form NFKC, without unseen characters and runs of blanks."""
_DECIDE = 'say alike = "merge" or alike = "keep"'

Group = tuple[str, ...]
"""Labels that look alike."""


def canonical_labels(labels: pl.Series) -> pl.Series:
    """Return what each label has in common with those that look like it; fast where most are plain.

    Examples
    --------
    >>> canonical_labels(pl.Series(["Ann", "ann ", "007.50", None])).to_list()
    ['ann', 'ann', '7.5', None]
    """
    labels = labels.alias("")
    forms = labels.str.to_lowercase()
    if not forms.str.contains(_ASCII).all():
        forms = labels.str.normalize("NFKC").str.to_lowercase()
        odd = ~forms.str.contains(_PLAIN)
        if odd.any():
            folded = pl.Series(map(caseless, labels.filter(odd).to_list()), dtype=pl.String)
            forms = forms.scatter(odd.arg_true(), folded)
    numbers = forms.str.contains(DECIMAL).fill_null(value=False)
    if numbers.any():
        forms = forms.scatter(numbers.arg_true(), _canonical(forms.filter(numbers)))
    return forms


def _canonical(numbers: pl.Series) -> pl.Series:
    """Write each plain decimal number in its shortest form, as `canonical_label` does."""
    text = numbers.str.replace(r"^(-?)\+?0*([0-9.])", "${1}${2}").str.replace(r"^(-?)\.", "${1}0.")
    has_point = text.str.contains(".", literal=True)
    if has_point.any():
        text = text.zip_with(~has_point, text.str.strip_chars_end("0").str.strip_chars_end("."))
    return text.replace("-0", "0")


def find_twins(labels: pl.Series) -> list[Group]:
    """Return the groups of labels that look alike; a label of nothing that is seen is a group of its own.

    Examples
    --------
    >>> find_twins(pl.Series(["Ann", "Bob", " ", "ann"]))
    [('Ann', 'ann'), (' ',)]
    """
    labels = labels.drop_nulls().alias("label")
    forms = canonical_labels(labels)
    suspect = forms == ""
    if forms.n_unique() < len(forms):
        suspect |= forms.is_duplicated()
    frame = pl.DataFrame([forms.alias("form"), labels]).filter(suspect)
    groups = frame.group_by("form", maintain_order=True).agg("label")
    rows = (tuple(sorted(set(group))) for group in groups["label"].to_list())
    return [group for group in rows if len(group) > 1 or not canonical_label(group[0])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The labels of a column, or of all columns of a sensitive attribute, and what others call them."""

    name: str
    """As messages call it."""
    texts: Mapping[str, pl.Series]
    """Its columns, every value as text."""
    occurring: Sequence[str] | pl.Series
    """Its different labels, gaps aside."""
    noun: str = "label"
    """What a label stands for."""
    is_secret: bool = False
    """No label may have a twin: they are persons, or all protected."""
    secret: frozenset[str] = frozenset()
    """Labels that may have no twin and need not occur: protected values, items of secret patterns."""
    leaves: frozenset[str] = frozenset()
    """The leaves of a hierarchy that is given and not built from the labels."""

    def twins(self) -> list[Twins]:
        """Return the labels of the data that look alike, and those that look like one that others name."""
        gaps = any(text.null_count() for text in self.texts.values())
        named = [*sorted(self.secret | self.leaves), ROOT, *([MISSING] if gaps else [])]
        groups = find_twins(pl.concat([pl.Series("", self.occurring, pl.String), pl.Series("", named)]))
        if not groups:
            return []
        counts = self._count([label for group in groups for label in group])
        found = [self._twins(group, counts) for group in groups]
        return [each for each in found if each is not None]

    def _count(self, labels: list[str]) -> dict[str, int]:
        rows: dict[str, int] = {}
        for text in self.texts.values():
            found = text.filter(text.is_in(labels)).alias("label").value_counts(name="rows")
            for label, count in found.iter_rows():
                rows[label] = rows.get(label, 0) + count
        return rows

    def _twins(self, group: Group, counts: Mapping[str, int]) -> Twins | None:
        present = [label for label in group if label in counts]
        secret = self.secret.intersection(group)
        leaves = self.leaves.intersection(group)
        reserved = [label for label in group if label in (ROOT, MISSING)]
        if not present:
            return None
        if len(present) == 1 and canonical_label(group[0]):
            (label,) = present
            is_named = label in secret or self.is_secret or not secret
            is_leaf = label in leaves or not leaves
            if is_named and is_leaf and (label in reserved or not reserved):
                return None
        pool = reserved or leaves & secret or leaves or secret or present
        best = min(pool, key=lambda label: (-counts.get(label, 0), label))
        shown = tuple(sorted(secret.union(present, [best]), key=lambda label: (-counts.get(label, 0), label)))
        return Twins(
            rows={label: counts.get(label, 0) for label in shown},
            best=best if canonical_label(best) else None,
            is_secret=bool(secret) or self.is_secret,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Twins:
    """Labels that look alike."""

    rows: Mapping[str, int]
    """Each label with the rows it has, most frequent first; 0 where only others name it."""
    best: str | None
    """The label that stands for all of them where they are merged; None where it is a gap."""
    is_secret: bool
    """A person, a protected value or an item of a secret pattern is among them."""

    @property
    def others(self) -> list[str]:
        """The labels that become another one where they are merged."""
        return [label for label, count in self.rows.items() if label != self.best and count]

    @property
    def are_numbers(self) -> bool:
        """They are numbers of one value; codes of different meaning can be so too."""
        return re.match(DECIMAL, canonical_label(next(iter(self.rows)))) is not None

    def in_words(self, *, merged: bool) -> str:
        """List the labels with their rows, and what they become where they are merged."""
        shown = [f"{quoted(label)} ({count:,})" for label, count in self.rows.items()][:_SHOWN_LABELS]
        rest = len(self.rows) - len(shown)
        text = ", ".join(shown) + (f" and {rest:,} more" if rest else "")
        return f"{text} as {'a gap' if self.best is None else quoted(self.best)}" if merged else text


def settle(
    vocabulary: Vocabulary, alike: Alike | None, rows: RowNumbers, problems: list[Problem]
) -> list[Twins]:
    """Report the labels that look alike, and return them.

    Where nobody has said what to do, a secret label with a twin is an error, and others are a warning.
    """
    found = vocabulary.twins()
    parts: dict[tuple[bool, bool], list[Twins]] = {}
    for each in found:
        parts.setdefault((each.best is None, not each.is_secret), []).append(each)
    problems += [
        _problem(vocabulary, part, alike, rows) for _, part in sorted(parts.items(), key=itemgetter(0))
    ]
    return found


def _becomes(found: list[Twins], alike: Alike | None) -> dict[str, str | None]:
    """Return which label becomes which, or a gap: none unless they are merged."""
    return {label: each.best for each in found for label in each.others} if alike == "merge" else {}


def _problem(vocabulary: Vocabulary, found: list[Twins], alike: Alike | None, rows: RowNumbers) -> Problem:
    number = counted(sum(len(each.rows) for each in found), vocabulary.noun, f"{vocabulary.noun}s")
    if found[0].best is None:
        what = f"{number} of nothing but blanks, as if missing"
    else:
        as_numbers = " as numbers" if all(each.are_numbers for each in found) else ""
        what = f"{number} look alike{as_numbers} and may be {len(found):,}"
        if found[0].is_secret and not vocabulary.is_secret:
            what += ", with a protected one among them"
    shown = "; ".join(each.in_words(merged=alike == "merge") for each in found[:_SHOWN_GROUPS])
    rest = len(found) - _SHOWN_GROUPS
    shown += f"; and {counted(rest, 'more group', 'more groups')}" if rest > 0 else ""
    end, severity = _decision(alike, is_secret=found[0].is_secret)
    return _about(
        vocabulary, f"{what}: {shown}; {end}", {*chain(*(each.rows for each in found))}, rows, severity
    )


def _about(
    vocabulary: Vocabulary, what: str, labels: Collection[str], rows: RowNumbers, severity: Severity
) -> Problem:
    """Make the problem of the rows that have one of `labels`."""
    where = np.zeros(len(rows), np.bool_)
    for text in vocabulary.texts.values():
        where |= text.is_in(list(labels)).fill_null(value=False).to_numpy()
    column = next(iter(vocabulary.texts))
    return Problem.at(f"{vocabulary.name}: {what}", column, where, rows, severity, alike=True)


def _decision(alike: Alike | None, *, is_secret: bool) -> tuple[str, Severity]:
    """Return what becomes of labels that look alike, and how severe it is."""
    if alike == "merge":
        return "merged", "note"
    if alike == "keep":
        return "kept apart", "note"
    return _DECIDE, "error" if is_secret or alike == "refuse" else "warning"


def settle_keys(frame: pl.DataFrame, schema: Schema, problems: list[Problem]) -> pl.DataFrame:
    """Settle persons, trips, an order of texts and kept columns; return the frame, merged where asked for."""
    nouns = {
        **dict.fromkeys(schema.keep, "label"),
        **({} if schema.order is None else {schema.order: "place"}),
        **({schema.trip: "trip"} if isinstance(schema.trip, str) else {}),
        **({} if schema.person_column is None else {schema.person_column: "person"}),
    }
    rows = np.arange(1, frame.height + 1, dtype=np.int64)
    merged = []
    for column, noun in nouns.items():
        if schema.released or column not in frame.columns or not _may_differ(frame[column], noun):
            continue
        text = as_text(frame[column])
        if noun == "place" and all_numbers(text):  # the order of numbers knows that 1 and 01 are the same
            continue
        vocabulary = Vocabulary(
            name=f"column {quoted(column)}",
            texts={column: text},
            occurring=text.drop_nulls().unique(),
            noun=noun,
            is_secret=noun == "person",
        )
        becomes = _becomes(settle(vocabulary, schema.alike, rows, problems), schema.alike)
        if becomes:
            merged.append(_replaced(text, becomes))
    return frame.with_columns(merged) if merged else frame


def _may_differ(values: pl.Series, noun: str) -> bool:
    """Return whether a column can spell one value in two ways: whole numbers and times cannot."""
    return values.dtype in (pl.String, pl.Categorical, pl.Enum) or (
        values.dtype.is_float() and noun != "label"
    )


def _replaced(text: pl.Series, becomes: Mapping[str, str | None]) -> pl.Series:
    return text.replace(list(becomes), pl.Series(list(becomes.values()), dtype=pl.String))


def settle_attributes(
    frame: pl.DataFrame,
    schema: Schema,
    labels: Mapping[str, list[str]],
    rows: RowNumbers,
    problems: list[Problem],
) -> tuple[pl.DataFrame, Schema, dict[str, list[str]]]:
    """Settle the labels of the symbol, quasi-identifiers and sensitive attributes.

    Where they are merged, the frame, the labels and what the schema says of labels come merged.
    """
    if schema.released:
        return frame, schema, dict(labels)
    labels = dict(labels)
    for name, columns in _attributes(schema, labels):
        vocabulary = _vocabulary(name, columns, frame, schema, labels)
        found = settle(vocabulary, schema.alike, rows, problems)
        becomes = _becomes(found, schema.alike)
        if becomes:
            frame = frame.with_columns(_replaced(frame[column], becomes) for column in columns)
            labels |= {column: distinct_labels(frame[column]) for column in columns}
        missed = _missed(name, vocabulary, schema, {*chain(*(each.rows for each in found))})
        if missed:
            problems.append(_missed_problem(vocabulary, missed, schema.alike, rows))
        if schema.alike == "merge":
            known = dict.fromkeys(chain(vocabulary.leaves, *(labels[column] for column in columns)))
            schema = _with_labels(schema, name, columns, known, becomes, missed)
    return frame, schema, labels


def _attributes(schema: Schema, labels: Mapping[str, list[str]]) -> Iterator[tuple[str, list[str]]]:
    """Yield each attribute with its columns; times have a form of their own."""
    present = [column for column in labels if column not in schema.time_columns]
    for name, sensitive in schema.sensitive.items():
        columns = [column for column in sensitive.columns if column in present]
        if columns:
            yield name, columns
    yield from ((column, [column]) for column in present if column not in schema.sensitive_columns)


def _vocabulary(
    name: str, columns: list[str], frame: pl.DataFrame, schema: Schema, labels: Mapping[str, list[str]]
) -> Vocabulary:
    texts = {column: frame[column] for column in columns}
    occurring = list(dict.fromkeys(chain.from_iterable(labels[column] for column in columns)))
    if any(text.null_count() for text in texts.values()):
        occurring = [label for label in occurring if label != MISSING]
    secret: Iterable[str] = ()
    sensitive = schema.sensitive.get(name)
    if sensitive is not None and sensitive.protect != "all":
        secret = (*sensitive.protect.values, *sensitive.protect.of(occurring))
    elif schema.symbol is not None:
        secret = schema.symbol.named
    leaves: set[str] = set()
    if schema.alike == "merge":
        sources = [schema.quasi[column].hierarchy for column in columns if column in schema.quasi]
        if schema.symbol is not None and schema.symbol.hierarchy is not None:
            sources = [schema.symbol.hierarchy]
        leaves.update(*(leaves_of(source, name) for source in sources))
    what = "sensitive attribute" if sensitive is not None and columns != [name] else "column"
    return Vocabulary(
        name=f"{what} {quoted(name)}",
        texts=texts,
        occurring=occurring,
        is_secret=sensitive is not None and sensitive.protect == "all",
        secret=frozenset(secret),
        leaves=frozenset(leaves),
    )


def leaves_of(source: Hierarchy | HierarchyBuilder, column: str) -> Iterator[str]:
    """Yield the leaves of a hierarchy that is given; one that is built from values has none of its own."""
    if not isinstance(source, Hierarchy):
        try:
            source = source.build([], column=column)
        except HierarchyError:
            return
    yield from (source.labels[node] for node in source.leaf_nodes)


def _missed(name: str, vocabulary: Vocabulary, schema: Schema, named: Collection[str]) -> dict[str, str]:
    """Return the labels that a protected prefix or range covers but for case and blanks, with the rule."""
    sensitive = schema.sensitive.get(name)
    if sensitive is None or sensitive.protect == "all":
        return {}
    left = [label for label in vocabulary.occurring if label not in vocabulary.secret and label not in named]
    forms = {label: caseless(label) for label in left}
    return {
        label: str(rule)
        for rule in sensitive.protect.rules()
        for label, form in forms.items()
        if rule.covers_caseless(form)
    }


def _missed_problem(
    vocabulary: Vocabulary, missed: Mapping[str, str], alike: Alike | None, rows: RowNumbers
) -> Problem:
    first, rule = next(iter(missed.items()))
    number = counted(len(missed), "label looks", "labels look")
    end, severity = _decision(alike, is_secret=True)
    end = "protected as well" if alike == "merge" else end
    what = f"{number} like the protected {rule}, such as {quoted(first)}; {end}"
    return _about(vocabulary, what, missed, rows, severity)


def _with_labels(
    schema: Schema,
    name: str,
    columns: Sequence[str],
    known: Collection[str],
    becomes: Mapping[str, str | None],
    missed: Collection[str],
) -> Schema:
    """Return the schema with the labels that it names for an attribute as they are after merging."""
    by_form = {canonical_label(label): label for label in known}

    def merged(names: Iterable[str]) -> tuple[str, ...]:
        now = (becomes.get(each) or each for each in names)
        return tuple(dict.fromkeys(n if n in known else by_form.get(canonical_label(n), n) for n in now))

    quasi = {
        column: replace(each, never_suppress=merged(each.never_suppress)) if column in columns else each
        for column, each in schema.quasi.items()
    }
    schema = replace(schema, quasi=quasi)
    sensitive = schema.sensitive.get(name)
    if sensitive is None or sensitive.protect == "all":
        return schema
    # A label that was protected stays so under the name it has now.
    moved = (new for old, new in becomes.items() if new is not None and sensitive.protect.of([old]))
    values = merged((*sensitive.protect.values, *moved, *missed))
    protect = Protect(values, sensitive.protect.prefix, sensitive.protect.range)
    return replace(schema, sensitive={**schema.sensitive, name: replace(sensitive, protect=protect)})


def find_named_twins(names: Sequence[str], table: EventTable) -> list[str]:
    r"""List the labels named to a method that look like another label of the data, one line each.

    Examples
    --------
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"user": ["u", "u"], "n": [1, 2], "page": ["news", "local"]})
    >>> find_named_twins(["News"], EventTable(frame, Schema(person="user", order="n", symbol="page")))
    ['\'News\' looks like the label \'news\' of column \'page\': write it so, or say alike = "keep"']
    """
    symbol = table.symbol
    if not names or symbol is None or table.schema.alike == "keep":
        return []
    wanted = {canonical_label(name): name for name in names}
    found = [
        (wanted[form], label)
        for label, form in ((label, canonical_label(label)) for label in table.labels[symbol])
        if form in wanted and label not in names
    ]
    end = 'write it so, or say alike = "keep"'
    return [
        f"{quoted(name)} looks like the label {quoted(label)} of column {quoted(symbol)}: {end}"
        for name, label in found
    ]
