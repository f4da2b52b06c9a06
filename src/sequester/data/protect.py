"""Which values are highly sensitive: by list, by prefix, or by range of codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sequester.errors import ParameterError
from sequester.hierarchies.alike import caseless

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


@dataclass(frozen=True, slots=True)
class Protect:
    """Protected values by list, by prefix, or by range of codes.

    A range ``"634-639"`` compares codes by their first characters, as many as the bounds have: it covers 634,
    634.1 and 63492, and neither 64 nor 640. Both bounds have the same length.

    Examples
    --------
    >>> protect = Protect(prefix=("042",), range=("634-639",))
    >>> protect.of(["042", "0421", "63492", "634.1", "639", "640", "63"])
    ['042', '0421', '63492', '634.1', '639']
    """

    values: tuple[str, ...] = ()
    """Values, letter by letter."""
    prefix: tuple[str, ...] = ()
    """Every value that starts so."""
    range: tuple[str, ...] = ()
    """Every value whose first characters lie between two bounds, both included."""

    def __post_init__(self) -> None:
        for name in ("values", "prefix", "range"):
            object.__setattr__(self, name, texts(name, getattr(self, name)))
        if not self.rules():
            msg = "protect must name at least one value, prefix or range, got none"
            raise ParameterError(msg)
        if "" in self.prefix:
            msg = "prefix must have at least one character, got '' (\"all\" protects everything)"
            raise ParameterError(msg)
        for each in self.range:
            _bounds(each)

    def of(self, labels: Sequence[str]) -> list[str]:
        """Give those of `labels` that are protected, in their order."""
        known = dict.fromkeys(labels)
        found = {label for rule in self.rules() for label in rule.matches(known)}
        return [label for label in labels if label in found]

    def rules(self) -> list[Rule]:
        """Give every single value, prefix and range, so that one that matches nothing can be named."""
        return [
            *(Rule("value", text) for text in self.values),
            *(Rule("prefix", text) for text in self.prefix),
            *(Rule("range", text) for text in self.range),
        ]


@dataclass(frozen=True, slots=True)
class Rule:
    """One value, prefix or range that is protected."""

    kind: Literal["value", "prefix", "range"]
    text: str

    def matches(self, labels: Collection[str]) -> list[str]:
        """Give those of `labels` that the rule covers."""
        if self.kind == "value":
            return [self.text] if self.text in labels else []
        if self.kind == "prefix":
            return [label for label in labels if label.startswith(self.text)]
        low, high = _bounds(self.text)
        size = len(low)
        return [label for label in labels if len(label) >= size and low <= label[:size] <= high]

    def covers_caseless(self, form: str) -> bool:
        """Tell whether a prefix or range covers a label whose caseless form is `form`.

        Examples
        --------
        >>> Rule("prefix", "V51").covers_caseless("v510"), Rule("value", "V51").covers_caseless("v51")
        (True, False)
        """
        if self.kind == "value":
            return False
        if self.kind == "prefix":
            return form.startswith(caseless(self.text))
        low, high = map(caseless, _bounds(self.text))
        return len(low) == len(high) <= len(form) and low <= form[: len(low)] <= high

    def __str__(self) -> str:
        return f"{self.kind} {self.text!r}"


Protection = Protect | Literal["all"]
"""What may stand in `protect`, completed."""


def as_protection(protect: Protection | Sequence[str] | Mapping[str, Sequence[str]]) -> Protection:
    """Complete the short forms of `protect`: a list of values, a table as in TOML, or ``"all"``.

    Examples
    --------
    >>> as_protection({"prefix": ["B2"]})
    Protect(values=(), prefix=('B2',), range=())
    """
    if isinstance(protect, Protect):
        return protect
    if isinstance(protect, str) and protect == "all":
        return "all"
    if isinstance(protect, Mapping):
        strange = sorted(set(protect) - {"values", "prefix", "range"}, key=str)
        if strange:
            msg = f"protect may have values, prefix and range, got {strange[0]!r}"
            raise ParameterError(msg)
        return Protect(**{name: texts(name, labels) for name, labels in protect.items()})
    if isinstance(protect, str) or not isinstance(protect, Iterable):
        msg = f'protect must be a list of values, "all", or prefixes and ranges, got {protect!r}'
        raise ParameterError(msg)
    return Protect(values=tuple(protect))


def texts(parameter: str, names: Sequence[str]) -> tuple[str, ...]:
    """Take a list of texts, and refuse a single text, which would be a list of its letters."""
    given: object = names  # Python lets anything through.
    is_list = isinstance(given, Iterable) and not isinstance(given, str)
    if not is_list or not all(isinstance(name, str) for name in names):
        msg = f"{parameter} must be a list of texts, got {names!r}"
        raise ParameterError(msg)
    return tuple(names)


def _bounds(text: str) -> tuple[str, str]:
    low, dash, high = text.partition("-")
    if not (dash and low and "-" not in high and len(low) == len(high) and low <= high):
        msg = f"range must be two bounds of the same length in order, such as 634-639, got {text!r}"
        raise ParameterError(msg)
    return low, high
