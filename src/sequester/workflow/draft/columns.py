"""What the values and the name of a column suggest about its role."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from sequester.data.text import all_numbers, as_text, is_plain
from sequester.data.times import TimeForm, clock_format, find_time_form, is_clock
from sequester.hierarchies.labels import counted, is_number_label

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

SAMPLE = 100_000
"""Rows whose values are looked at closely; counts are of all rows."""

_LOOKED_AT = 1_000


@dataclass(frozen=True, slots=True)
class Numbers:
    """Where the numbers of a column lie."""

    low: float
    high: float
    bulk: tuple[float, float]
    """Nine of ten rows lie between these."""
    middle: float
    """Half of the rows lie below."""
    is_whole: bool

    @property
    def is_even(self) -> bool:
        """Neither far values nor a crowded end would make equal widths useless."""
        low, high = self.bulk
        width = high - low
        return width >= 0.3 * (self.high - self.low) and 0.2 * width <= self.middle - low <= 0.8 * width


@dataclass(frozen=True)
class Column:
    """One column of the data."""

    name: str
    series: pl.Series

    @property
    def is_plain(self) -> bool:
        """A cell is one text, number, date or truth value."""
        return is_plain(self.series.dtype)

    @cached_property
    def text(self) -> pl.Series:
        """Every value as text, a gap is null."""
        return (
            as_text(self.series) if self.is_plain else pl.Series([None] * len(self.series), dtype=pl.String)
        )

    @property
    def n_rows(self) -> int:
        """Rows of the data."""
        return len(self.series)

    @cached_property
    def n_missing(self) -> int:
        """Rows without a value."""
        return self.text.null_count()

    @property
    def n_present(self) -> int:
        """Rows with a value."""
        return self.n_rows - self.n_missing

    @property
    def missing_share(self) -> float:
        """Share of rows without a value."""
        return self.n_missing / self.n_rows

    @cached_property
    def counts(self) -> pl.DataFrame:
        """Each value with the rows it has, most frequent first."""
        frame = self.text.drop_nulls().alias("value").value_counts(name="rows")
        return frame.sort("rows", "value", descending=[True, False])

    @cached_property
    def counted_values(self) -> Mapping[str, int]:
        """Each value to the rows it has."""
        return dict(self.counts.sort("value").iter_rows())

    @property
    def n_distinct(self) -> int:
        """Different values."""
        return self.counts.height

    @property
    def rows_each(self) -> float:
        """Mean rows of a value."""
        return self.n_present / max(self.n_distinct, 1)

    @property
    def is_unique(self) -> bool:
        """No value occurs twice."""
        return self.n_distinct == self.n_present > 1

    @cached_property
    def stands_together(self) -> bool:
        """All rows of a value stand one after the other."""
        text = self.text.drop_nulls()
        runs = int((text != text.shift(1)).sum()) + 1
        return self.n_distinct > 1 and runs == self.n_distinct

    @cached_property
    def sample(self) -> pl.DataFrame:
        """Different values of the sample in the order of the file, each with the rows it has there."""
        text = self.text.head(SAMPLE).drop_nulls().alias("value").to_frame()
        return text.group_by("value", maintain_order=True).len("rows").head(_LOOKED_AT)

    @property
    def some(self) -> pl.Series:
        """Different values of the sample, in the order of the file."""
        return self.sample["value"]

    @cached_property
    def lengths(self) -> tuple[float, int]:
        """Mean and largest number of characters of a value."""
        lengths = self.counts["value"].str.len_chars()
        return float(lengths.mean() or 0), int(lengths.max() or 0)  # type: ignore[arg-type]

    @cached_property
    def time_form(self) -> TimeForm | None:
        """How the column writes times; None where it holds something else."""
        if self.series.dtype in (pl.Date, pl.Datetime):
            return TimeForm(None, 1.0, self.some.str.contains(":").any())
        is_text = self.series.dtype == pl.String
        return find_time_form(self.some, self.sample["rows"]) if is_text else None

    @cached_property
    def clock(self) -> str | None:
        """The format of a column of times of day; None where it holds something else."""
        return clock_format(self.some) if is_clock(self.some) else None

    @cached_property
    def numbers(self) -> Numbers | None:
        """Where the numbers lie; None where a value is no number."""
        if not self.n_distinct or not all_numbers(self.counts["value"]):
            return None
        values = self.counts.with_columns(pl.col("value").cast(pl.Float64, strict=False)).sort("value")
        numbers: npt.NDArray[np.float64] = values["value"].to_numpy()
        if not np.isfinite(numbers).all():
            return None
        ends = np.cumsum(values["rows"].to_numpy())
        low, middle, high = (
            float(numbers[np.searchsorted(ends, share * ends[-1])]) for share in (0.05, 0.5, 0.95)
        )
        is_whole = bool((numbers == np.round(numbers)).all())
        return Numbers(float(numbers[0]), float(numbers[-1]), (low, high), middle, is_whole)

    @cached_property
    def odd_among_numbers(self) -> list[str]:
        """The values that are no numbers, where nearly all are; otherwise none."""
        if sum(map(is_number_label, self.some)) < 0.5 * len(self.some):
            return []
        odd = [value for value in self.counts["value"] if not is_number_label(value)]
        return odd if len(odd) <= 0.1 * self.n_distinct else []

    @cached_property
    def has_leading_zeros(self) -> bool:
        """Some numbers begin with a zero that no number needs: they are codes."""
        return bool(self.counts["value"].str.contains(r"^0\d").any())

    @property
    def has_blanks(self) -> bool:
        """Some values have blanks inside."""
        return bool(self.counts["value"].str.contains(r"\s").any())

    def evidence(self) -> str:
        """Describe in a few words what was counted."""
        parts = [counted(self.n_distinct, "distinct value", "distinct values")]
        if self.n_missing:
            parts.append(f"{self.n_missing:,} missing")
        return ", ".join(parts)


_FILE: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
WORDS = {name: frozenset(text.split()) for name, text in _FILE.items() if isinstance(text, str)}
"""What names suggest, to words; the file says what each list is for."""
IDENTIFYING = {what: frozenset(text.split()) for what, text in _FILE["identifying"].items()}
"""What identifies somebody, to words of names."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BOUNDARY = re.compile(r"[\W_]+|(?<=\D)(?=\d)|(?<=\d)(?=\D)")


def words(name: str) -> tuple[str, ...]:
    """Cut the name of a column into its words.

    Examples
    --------
    >>> words("ICD9_DGNS_CD_1"), words("ActivityDate"), words("Case no."), words("userid")
    (('icd', '9', 'dgns', 'cd', '1'), ('activity', 'date'), ('case', 'no'), ('user', 'id'))
    """
    found: list[str] = []
    for word in _BOUNDARY.split(_CAMEL.sub(" ", name)):
        lower = word.casefold()
        if lower.endswith("id") and lower[:-2] in WORDS["person"]:
            found += [lower[:-2], "id"]
        elif lower:
            found.append(lower)
    return tuple(found)


def is_named(name: str, what: str) -> bool:
    """Return whether a word of the name is in a list.

    Examples
    --------
    >>> is_named("Trip-ID", "trip"), is_named("ward", "trip")
    (True, False)
    """
    return not WORDS[what].isdisjoint(words(name))


def names_person(name: str) -> int:
    """Return how likely a column is the person by its name: 3 is very, 0 not at all.

    Examples
    --------
    >>> [names_person(name) for name in ("case_id", "case:concept:name", "Id", "xyz_id", "CLM_ID", "number")]
    [3, 3, 2, 1, 0, 0]
    """
    found = words(name)
    core = {*found} - WORDS["key"] - {"name", "concept", "code"}
    if core and core <= WORDS["person"]:
        return 3
    if core & WORDS["event"]:
        return 0
    if not core:
        return 2 * is_named(name, "key_alone")
    return int(found[-1] in WORDS["key"])


def names_key(name: str) -> bool:
    """Return whether a column is named like the key of something.

    Examples
    --------
    >>> [names_key(name) for name in ("hadm_id", "AT_PHYSN_NPI", "trajectory", "idhous", "Age")]
    [True, True, True, True, False]
    """
    found = words(name)
    return bool(found) and (
        found[-1] in WORDS["key"] | WORDS["trip"]
        or (found[0].startswith("id") and not found[0].startswith(("idle", "idea")))
    )


def names_order(name: str) -> int:
    """Return how likely a column orders events by its name: 2 is very, 0 not at all.

    Examples
    --------
    >>> names_order("seq_num"), names_order("day"), names_order("ward")
    (2, 1, 0)
    """
    return 2 if is_named(name, "order") else int(is_named(name, "perhaps_order"))


def names_code(name: str) -> bool:
    """Return whether a column is named like a code whose first characters say most."""
    return any(word in WORDS["code"] or word.endswith("code") for word in words(name))


def names_sensitive(name: str) -> bool:
    """Return whether a column is named like something that people keep to themselves.

    Examples
    --------
    >>> [names_sensitive(name) for name in ("Disease", "SP_DIABETES", "DiagnosticBlood", "num_procedures")]
    [True, True, False, False]
    """
    found = words(name)
    if found and found[0] in WORDS["counted"]:
        return False
    return any(
        word.startswith(stem) and not word.startswith(("diagnostic", "taxi"))
        for word in found
        for stem in WORDS["sensitive"]
    )


def names_coded(name: str) -> bool:
    """Return whether a column of numbers is named like a category: by a key or a code at the end."""
    found = words(name)
    is_classified = {*found} & WORDS["code"] - {"code", "codes", "cd"}
    return (
        bool(found) and not is_classified and found[-1] in {"id", "code", "cd", "type", "class", "category"}
    )


def rate_knowledge(name: str) -> int:
    """Return how likely an outsider knows what a column of this name says: 3 is seen by all, 0 by nobody.

    Examples
    --------
    >>> rate_knowledge("BirthYear"), rate_knowledge("ward"), rate_knowledge("leucocytes")
    (3, 2, 0)
    """
    return 3 if is_named(name, "visible") else 2 * is_named(name, "seen")


def has_stem(name: str, what: str) -> bool:
    """Return whether a word of the name begins with a word of a list, or ends with it."""
    stems = tuple(WORDS[what])
    return any(word.startswith(stems) or (len(word) > 4 and word.endswith(stems)) for word in words(name))


_MOST = 0.9
"""Share of the values that must have the form."""
_FEWEST = 3
_CODES_LOOKED_AT = 300
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
    values = values[:_CODES_LOOKED_AT]
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
