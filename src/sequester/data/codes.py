"""Codes and names that can be told by their form: diagnoses, drugs, laboratory tests, clinical terms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST = 0.9
"""Share of the values that must have the form."""
_FEWEST = 3
_LOOKED_AT = 300
_ICD_9 = re.compile(r"(\d{3}|V\d\d|E\d{3})(\.?\d{1,2})?")
_SURELY_ICD_9 = re.compile(r"V\d\d.*|E\d{3}.*|0\d\d.*|\d{3}\.\d{1,2}")
_NAMED_ICD = re.compile(r"icd|dgns|(^|[^a-z])(dx|diag(?!nostic))", re.IGNORECASE)
_FORMS = {
    "ATC codes": re.compile(r"[ABCDGHJLMNPRSV]\d{2}[A-Z]{2}(\d{2})?"),
    "ICD-10 codes": re.compile(r"[A-TV-Z]\d[0-9A-B](\.?[0-9A-Z]{1,4})?"),
}
_DRUG = re.compile(
    r"\b(insulin|aspirin|ibuprofen|paracetamol|acetaminophen|morphine|codeine|warfarin|heparin|digoxin|"
    r"prednison\w*|metformin\w*|\w+(cillin|mycin|statin|pril|sartan|olol|azole|gliptin|glitazone|gliflozin|"
    r"glinide|flozin|formin|oxacin|cycline|dipine|zepam|zolam|barbital|codone|triptyline|oxetine|setron|"
    r"parin|semide|thiazide|terol|sone|solone|lukast|mab|tinib|ciclovir|vudine|dronate|profen|amide|uride|ide))\b",
    re.IGNORECASE,
)
_DRUG_SUFFIX_ALONE = re.compile(r"(ide|amide|sone)$", re.IGNORECASE)
_VERHOEFF_D = (
    "0123456789123406789523401789563401289567401239567859876043216598710432765982104387659321049876543210"
)
_VERHOEFF_P = "01234567891576283094580379614289160435279453126870428657390127938064157046913258"
"""Tables of multiplication and of permutation, row by row."""


def code_form(name: str, values: Sequence[str]) -> str | None:
    """Return what nearly all of the distinct `values` of a column are codes of, or None.

    Examples
    --------
    >>> code_form("x", ["E11.9", "I10", "J45", "B20"])
    'ICD-10 codes'
    >>> code_form("diag_1", ["250", "276", "648"]), code_form("room", ["250", "276", "648"])
    ('ICD-9 codes', None)
    """
    values = values[:_LOOKED_AT]
    if len(values) < _FEWEST:
        return None

    def share(form: re.Pattern[str]) -> float:
        return sum(form.fullmatch(value) is not None for value in values) / len(values)

    named = _NAMED_ICD.search(name) is not None
    for what, form in _FORMS.items():
        if share(form) >= _MOST:
            return what
    if share(_ICD_9) >= _MOST and (named or share(_SURELY_ICD_9) >= 0.2):
        return "ICD-9 codes"
    if named and share(_ICD_9) + share(_FORMS["ICD-10 codes"]) >= _MOST:
        return "ICD codes"
    if sum(map(_is_loinc, values)) >= _MOST * len(values):
        return "LOINC codes"
    if sum(map(_is_snomed, values)) >= _MOST * len(values):
        return "SNOMED CT codes"
    drugs = [_DRUG.search(value) for value in values]
    sure = [each for each in drugs if each is not None and len(each[0]) > 6]
    return "drug names" if len(sure) >= 0.5 * len(values) else None


def names_drug(name: str) -> bool:
    """Return whether a column is called like a drug.

    Examples
    --------
    >>> [names_drug(name) for name in ("metformin-rosiglitazone", "insulin", "acarbose", "guide", "side")]
    [True, True, False, False, False]
    """
    found = _DRUG.search(name)
    return found is not None and not (_DRUG_SUFFIX_ALONE.search(found[0]) and len(found[0]) < 9)


def _is_loinc(value: str) -> bool:
    """Return whether a value is a number, a dash and the check digit of that number (Luhn)."""
    number, dash, check = value.rpartition("-")
    if not (dash and number.isascii() and number.isdigit() and 1 <= len(number) <= 7 and len(check) == 1):
        return False
    doubled = [int(digit) * (2 - place % 2) for place, digit in enumerate(reversed(number))]
    return check == str(-sum(each - 9 * (each > 9) for each in doubled) % 10)


def _is_snomed(value: str) -> bool:
    """Return whether a value is an identifier of SNOMED CT: 6 to 18 digits that end in Verhoeff's check."""
    if not (value.isascii() and value.isdigit() and 6 <= len(value) <= 18 and value[0] != "0"):
        return False
    check = 0
    for place, digit in enumerate(reversed(value)):
        check = int(_VERHOEFF_D[10 * check + int(_VERHOEFF_P[10 * (place % 8) + int(digit)])])
    return check == 0
