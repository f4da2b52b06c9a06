"""The roles of columns, and which values are protected."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

from sequester._repr import Card
from sequester._validation import at_least, one_of
from sequester.data.places import Gap, Place
from sequester.errors import ParameterError
from sequester.hierarchies.labels import caseless

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sequester.hierarchies.builder import HierarchyBuilder
    from sequester.hierarchies.hierarchy import Hierarchy

FORM = 'a column, or a list of columns and of patterns such as ["ward=A", "ward=B"]'


@dataclass(frozen=True, slots=True)
class Purpose:
    """What is to be predicted from the release.

    Examples
    --------
    >>> Purpose.of({"predict": "readmitted"})
    Purpose(predict=('readmitted',))
    >>> Purpose.of({"predict": ["readmitted", ["ward=A", "ward=B"]]}).predict[1]
    ('ward=A', 'ward=B')
    """

    predict: tuple[str | tuple[str, ...], ...]
    """Columns, or patterns: values of a person in order, each written ``column=value``."""

    @classmethod
    def of(cls, given: object) -> Purpose:
        """Return the purpose that a table of the configuration describes."""
        if isinstance(given, Purpose):
            return given
        asked = given.get("predict") if isinstance(given, Mapping) and {*given} == {"predict"} else None
        listed = [asked] if isinstance(asked, str) else asked
        if not isinstance(listed, list | tuple) or not listed or not all(map(_is_target, listed)):
            msg = f"purpose must be a table with predict: {FORM}; got {given!r}"
            raise ParameterError(msg)
        return cls(tuple(each if isinstance(each, str) else tuple(each) for each in listed))


def _is_target(given: object) -> bool:
    if isinstance(given, str):
        return bool(given)
    return (
        isinstance(given, list | tuple)
        and bool(given)
        and all(isinstance(each, str) and "=" in each for each in given)
    )


ROW = "row"
"""As `person`: every row is a person of its own."""
ALL = "all"
"""As `person`: all rows are of one person."""

Derivation = Literal[
    "year",
    "month",
    "quarter",
    "weekday",
    "days_since_first",
    "days_since_first_in_year",
    "days_since_previous",
    "event_count",
]
"""What can be derived from the times of a person's events."""

Alike = Literal["refuse", "merge", "keep"]
"""What becomes of labels that look alike."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """The one attribute of plain symbol sequences.

    Examples
    --------
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> Symbol("page", Hierarchy.tree({"news": ["local", "world"]})).column
    'page'
    """

    column: str
    """Its column."""
    hierarchy: Hierarchy | HierarchyBuilder | None = None
    """Only the methods that generalize need it."""
    named: tuple[str, ...] = ()
    """Labels that a method names, such as items of secret patterns: they may have no twin."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "named", texts("named", self.named))
        if self.hierarchy is not None:
            _check_builds(self.hierarchy)


@dataclass(frozen=True, slots=True)
class Quasi:
    """A quasi-identifier: what an adversary may know of an event, and how coarse it may become.

    Examples
    --------
    >>> from sequester.hierarchies.hierarchy import Hierarchy
    >>> Quasi(Hierarchy.mask([3, 1]), max_level=1, never_suppress=["56001"]).never_suppress
    ('56001',)
    """

    hierarchy: Hierarchy | HierarchyBuilder
    """A tree, or a way to build one from the values of the column."""
    max_level: int | None = None
    """The column may not be generalized further than this level."""
    never_suppress: tuple[str, ...] = ()
    """Values that may not become ``*``."""
    weight: float = 1.0
    """Importance in every loss."""

    def __post_init__(self) -> None:
        _check_builds(self.hierarchy)
        object.__setattr__(self, "never_suppress", texts("never_suppress", self.never_suppress))
        if self.max_level is not None:
            at_least("max_level", self.max_level, 0)
        if not (math.isfinite(self.weight) and self.weight >= 0):
            msg = f"weight must be a number of at least 0, got {self.weight}"
            raise ParameterError(msg)


@dataclass(frozen=True, slots=True)
class Sensitive:
    """A sensitive attribute: what must not be learned about a person.

    Examples
    --------
    >>> Sensitive(columns=["ICD1", "ICD2"], protect=["042"]).protect
    Protect(values=('042',), prefix=(), range=())
    """

    columns: tuple[str, ...] = ()
    """Columns that are one attribute with several values per event; default: the attribute's name."""
    protect: Protection = "all"
    """The highly sensitive values: a list, ``"all"``, or a `Protect` of prefixes and ranges."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", texts("columns", self.columns))
        object.__setattr__(self, "protect", as_protection(self.protect))


@dataclass(frozen=True, slots=True, init=False)
class Schema:
    """Every column's role; a column without one is an error, never passed through.

    Short forms are completed: a name for `symbol`, a hierarchy for a value of `quasi`, a list or ``"all"``
    for a value of `sensitive`.

    Examples
    --------
    >>> schema = Schema(person="user", time="at", symbol="page", drop=["name"])
    >>> schema.symbol
    Symbol(column='page', hierarchy=None, named=())
    >>> print(schema)
    Schema
      person  user
      time    at
      symbol  page
      drop    name
    >>> Schema(person="PID", order="VID", sensitive={"Disease": ["HIV"]}).sensitive["Disease"]
    Sensitive(columns=('Disease',), protect=Protect(values=('HIV',), prefix=(), range=()))
    """

    person: str
    """Who: the column of person keys, ``"row"`` where each row is a person, ``"all"`` where all are one."""
    order: str | None = None
    """When: numbers if all are numbers, otherwise text."""
    time: str | tuple[str, ...] | None = None
    """When: dates or date-times, in one column, or in two (date, clock). Instead of `order`."""
    time_format: str | None = None
    """How times are written, such as ``%Y%m%d``, where not ISO 8601."""
    tie: str | None = None
    """Second key where order or time repeat within a person; otherwise file order."""
    symbol: Symbol | None = None
    """What, where it is one symbol per event."""
    quasi: Mapping[str, Quasi] = field(default_factory=dict)
    """What an adversary may know."""
    sensitive: Mapping[str, Sensitive] = field(default_factory=dict)
    """What must not be learned."""
    keep: tuple[str, ...] = ()
    """Released as they are; the steward vouches."""
    drop: tuple[str, ...] = ()
    """Identifiers; never leave."""
    derive: Mapping[str, Derivation] = field(default_factory=dict)
    """Quasi-identifiers made from time: new column to what it holds."""
    invalid: Literal["refuse", "drop"] = "refuse"
    """What happens to rows with a missing person or an unreadable time."""
    released: bool = False
    """The table is a release: its values may be generalized, ``*`` included."""
    weight: str | None = None
    """The importance of each event, for methods that weigh what they lose; never released."""
    trip: str | Gap | None = None
    """What separates the trips of a person, each a sequence of its own: a column, or a gap in time."""
    place: Place | None = None
    """Where: coordinates that become regions; the symbol, or a quasi-identifier beside others."""
    alike: Alike | None = None
    """What becomes of labels that differ only in case, blanks or Unicode form, or are equal as numbers.

    ``"merge"`` takes them for one label, ``"keep"`` for several, and ``"refuse"`` for a mistake: no method
    takes the table. By default, only a person or a protected value with such a twin is refused.
    """
    missing: tuple[str, ...] | Mapping[str, tuple[str, ...]] = ()
    """Cells that stand for a missing value, such as ``?``: everywhere, or column by column."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """Column of the input to its name here and in the release; the roles have the new name."""
    purpose: Purpose | None = None
    """What is to be predicted from the release; generalization is priced by what that loses."""

    def __init__(
        self,
        person: str,
        order: str | None = None,
        time: str | Sequence[str] | None = None,
        time_format: str | None = None,
        tie: str | None = None,
        symbol: str | Symbol | None = None,
        quasi: Mapping[str, Hierarchy | HierarchyBuilder | Quasi] | None = None,
        sensitive: Mapping[str, Sequence[str] | str | Mapping[str, Sequence[str]] | Protect | Sensitive]
        | None = None,
        keep: Sequence[str] = (),
        drop: Sequence[str] = (),
        derive: Mapping[str, Derivation] | None = None,
        invalid: Literal["refuse", "drop"] = "refuse",
        *,
        released: bool = False,
        weight: str | None = None,
        trip: str | Gap | None = None,
        place: Place | None = None,
        alike: Alike | None = None,
        missing: Sequence[str] | Mapping[str, Sequence[str]] = (),
        rename: Mapping[str, str] | None = None,
        purpose: Purpose | Mapping[str, object] | None = None,
    ) -> None:
        complete = {name: value for name, value in locals().items() if name != "self"}
        _check_types(complete)
        complete |= {
            "time": time if time is None or isinstance(time, str) else texts("time", time),
            "symbol": Symbol(symbol) if isinstance(symbol, str) else symbol,
            "quasi": {
                name: each if isinstance(each, Quasi) else Quasi(each) for name, each in (quasi or {}).items()
            },
            "sensitive": {name: _sensitive(name, each) for name, each in (sensitive or {}).items()},
            "keep": texts("keep", keep),
            "drop": texts("drop", drop),
            "derive": dict(derive or {}),
            "missing": {name: texts(f"missing.{name}", each) for name, each in missing.items()}
            if isinstance(missing, Mapping)
            else texts("missing", missing),
            "rename": dict(rename or {}),
            "purpose": None if purpose is None else Purpose.of(purpose),
        }
        for name, value in complete.items():
            object.__setattr__(self, name, value)
        self._check_values()

    def _check_values(self) -> None:
        one_of("invalid", self.invalid, ("refuse", "drop"))
        if self.alike is not None:
            one_of("alike", self.alike, get_args(Alike))
        for name, kind in self.derive.items():
            if kind not in get_args(Derivation):
                msg = f"derive.{name} must be one of {', '.join(get_args(Derivation))}, got {kind!r}"
                raise ParameterError(msg)
        if isinstance(self.time, tuple) and len(self.time) != 2:
            msg = f"time must be one column or two (date, clock), got {len(self.time)}"
            raise ParameterError(msg)

    def __str__(self) -> str:
        return str(self._card())

    def _repr_html_(self) -> str:
        return self._card().html()

    def _card(self) -> Card:
        when = ("time", " ".join(self.time_columns)) if self.time_columns else ("order", self.order or "")
        symbol = "" if self.symbol is None else self.symbol.column
        facts = [
            ("person", self.person),
            when,
            ("tie", self.tie or ""),
            ("symbol", symbol),
            *(("quasi", f"{name}: {each.hierarchy!r}") for name, each in self.quasi.items()),
            *(("sensitive", f"{name}: {each.protect}") for name, each in self.sensitive.items()),
            ("keep", ", ".join(self.keep)),
            ("drop", ", ".join(self.drop)),
        ]
        return Card(title="Schema", facts=tuple((name, text) for name, text in facts if text))

    @property
    def person_column(self) -> str | None:
        """The column of person keys; None where each row is a person, or all rows are one."""
        return None if self.person in (ROW, ALL) else self.person

    @property
    def time_columns(self) -> tuple[str, ...]:
        """The columns that hold the time: none, one, or a date and a clock."""
        if self.time is None:
            return ()
        return (self.time,) if isinstance(self.time, str) else self.time

    @property
    def sensitive_columns(self) -> tuple[str, ...]:
        """The source columns of all sensitive attributes."""
        return tuple(column for each in self.sensitive.values() for column in each.columns)

    def only(self, columns: Collection[str]) -> Schema:
        """Return the same roles, without quasi-identifiers, sensitive and kept columns other than these."""
        return replace(
            self,
            quasi={name: each for name, each in self.quasi.items() if name in columns},
            sensitive={name: each for name, each in self.sensitive.items() if {*each.columns} <= {*columns}},
            keep=tuple(name for name in self.keep if name in columns),
        )

    @property
    def attributes(self) -> tuple[str, ...]:
        """The columns that become codes: the symbol, or quasi-identifiers and then sensitive columns."""
        if self.symbol is not None:
            return (self.symbol.column,)
        return tuple(dict.fromkeys((*self.quasi, *self.sensitive_columns)))


def _check_types(given: Mapping[str, object]) -> None:
    """Refuse what Python lets through, such as ``trip={"gap": "30min"}``, before it is passed over."""
    for name in ("person", "order", "time_format", "tie", "weight"):
        if not isinstance(given[name], str) and (given[name] is not None or name == "person"):
            msg = f"{name} must be text, got {given[name]!r}"
            raise ParameterError(msg)
    for name in ("quasi", "sensitive", "derive", "rename"):
        if not isinstance(given[name], Mapping | None):
            msg = f"{name} must be a mapping from columns, got {given[name]!r}"
            raise ParameterError(msg)
    kinds_of: dict[str, tuple[type, ...]] = {"symbol": (str, Symbol), "trip": (str, Gap), "place": (Place,)}
    for name, kinds in kinds_of.items():
        if given[name] is not None and not isinstance(given[name], kinds):
            words = " or ".join("a column's name" if kind is str else f"a {kind.__name__}" for kind in kinds)
            msg = f"{name} must be {words}, got {given[name]!r}"
            raise ParameterError(msg)


def _check_builds(hierarchy: object) -> None:
    if not hasattr(hierarchy, "build"):
        msg = f"hierarchy must be a Hierarchy, such as Hierarchy.flat(), got {hierarchy!r}"
        raise ParameterError(msg)


def _sensitive(
    name: str, given: Sequence[str] | str | Mapping[str, Sequence[str]] | Protect | Sensitive
) -> Sensitive:
    if not isinstance(given, Sensitive):
        given = Sensitive(protect=as_protection(given))
    return given if given.columns else Sensitive((name,), given.protect)


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
        """Return those of `labels` that are protected, in their order."""
        known = dict.fromkeys(labels)
        found = {label for rule in self.rules() for label in rule.matches(known)}
        return [label for label in labels if label in found]

    def rules(self) -> list[Rule]:
        """Yield every single value, prefix and range, so that one that matches nothing can be named."""
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
        """Return those of `labels` that the rule covers."""
        if self.kind == "value":
            return [self.text] if self.text in labels else []
        if self.kind == "prefix":
            return [label for label in labels if label.startswith(self.text)]
        low, high = _bounds(self.text)
        size = len(low)
        return [label for label in labels if len(label) >= size and low <= label[:size] <= high]

    def covers_caseless(self, form: str) -> bool:
        """Return whether a prefix or range covers a label whose caseless form is `form`.

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
    """Return a list of texts as a tuple; refuse a single text, which would be a list of its letters."""
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
