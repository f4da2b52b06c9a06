"""What names somebody or points at a row, and what says nothing: columns that never leave."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sequester.data.roles import RESERVED
from sequester.hierarchies.labels import quoted
from sequester.workflow.draft.words import PERSON, names_key, word_set, words

if TYPE_CHECKING:
    from sequester.workflow.draft.column import Column

_MOST = 0.8
"""Share of values that look alike which makes the column one of them."""
_FEW = 20
"""Values below which it says nothing that none of them repeats."""
_MANY_KEYS = 100
_PROSE = 40

_NAMES = word_set(
    "name firstname lastname surname forename maiden nickname first last prefix suffix fullname "
    "vorname nachname nom prenom apellido nombre"
)
_BESIDE_NAMES = _NAMES | PERSON | {"full", "middle", "given", "family", "birth", "login", "id"}
_IDENTIFYING = {
    "email": "e-mail addresses",
    "mail": "e-mail addresses",
    "phone": "phone numbers",
    "telephone": "phone numbers",
    "tel": "phone numbers",
    "mobile": "phone numbers",
    "fax": "phone numbers",
    "ssn": "social security numbers",
    "passport": "passport numbers",
    "drivers": "driving licences",
    "licence": "licences",
    "license": "licences",
    "address": "addresses",
    "street": "addresses",
    "iban": "accounts",
    "password": "passwords",
    "username": "user names",
    "plate": "licence plates",
}
_COUNTED = ("driving licences", "licences", "addresses")
_LOOKS = {
    "e-mail addresses": r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}",
    "social security numbers": r"\d{3}-\d{2}-\d{4}",
    "network addresses": r"(\d{1,3}\.){3}\d{1,3}|([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}",
    "links": r"(https?|ftp)://\S+",
    "card numbers": r"\d{4}([ -]?\d{4}){3}",
    "phone numbers": r"\+\d[\d ()./-]{6,}\d|\(?\d{2,5}\)?([ ./-]\d{2,5}){2,5}",
    "keys": r"[0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}|[0-9A-Fa-f]{32,128}",
}
_PATTERNS = {what: re.compile(pattern) for what, pattern in _LOOKS.items()}


def reason_to_drop(column: Column) -> str | None:
    """Say why a column should not leave; None where nothing speaks against it."""
    if not column.is_plain:
        return f"holds {column.series.dtype}, which is no single value"
    if not column.n_distinct:
        return "is always empty"
    if column.n_distinct == 1 and not column.n_missing:
        return f"is always {quoted(column.counts['value'][0])}, which says nothing"
    what = _identifies(column)
    if what is not None:
        return f"{what}; {column.evidence()}"
    if column.name in RESERVED:
        return f"a release has a column {quoted(column.name)} of its own: rename this one to publish it"
    return None


def _identifies(column: Column) -> str | None:
    named = [what for word, what in _IDENTIFYING.items() if word in words(column.name)]
    is_count = column.numbers is not None and column.n_distinct <= _MANY_KEYS
    # A number of drivers is no licence.
    if named and not (is_count and named[0] in _COUNTED):
        return f"named like {named[0]}"
    if _names_names(column):
        return "named like names of people"
    looks = _looks_like(column)
    if looks is not None:
        return f"the values look like {looks}"
    is_key = names_key(column.name)
    if is_key and column.n_distinct > _MANY_KEYS:
        return "named like a key"
    if column.n_distinct < _FEW:
        return None
    if column.is_unique and (is_key or _numbers_rows(column)):
        return "no value repeats, as in the key of a row"
    mean, _ = column.lengths
    if column.numbers is not None or column.time_form is not None:
        return None
    if column.n_distinct > 0.9 * column.n_present:
        return "hardly any value repeats, as in keys and names"
    if mean >= _PROSE and column.n_distinct > 0.2 * column.n_present:
        return "prose, in which anything may stand"
    return None


def _names_names(column: Column) -> bool:
    found = {*words(column.name)}
    return bool(found & _NAMES) and found <= _BESIDE_NAMES and column.numbers is None


def _looks_like(column: Column) -> str | None:
    if column.time_form is not None or (column.numbers is not None and not column.numbers.is_whole):
        return None
    some = column.some.head(200).to_list()
    for what, pattern in _PATTERNS.items():
        if sum(pattern.fullmatch(value) is not None for value in some) >= _MOST * len(some):
            return what
    return None


def _numbers_rows(column: Column) -> bool:
    """Tell whether the values are the numbers from one to the number of rows, or nearly."""
    numbers = column.numbers
    return numbers is not None and numbers.is_whole and numbers.high - numbers.low < 1.1 * column.n_present
