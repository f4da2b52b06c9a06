"""Turn ``[data]`` and ``[data.persons]`` into schemas, with a line for everything that is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sequester.data.schema import ROW, Protect, Purpose, Quasi, Schema, Sensitive, Symbol
from sequester.data.sequences import SYMBOL
from sequester.errors import InputError
from sequester.io.database import is_url
from sequester.workflow.method_settings import name_key
from sequester.workflow.settings import DataSettings, ProtectSettings, SymbolSettings, TripSettings
from sequester.workflow.validation_errors import toml_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from sequester.hierarchies.builder import HierarchyBuilder
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.workflow.settings import (
        ConfigTable,
        HierarchySettings,
        PersonsSettings,
        QuasiSettings,
        ReleaseSettings,
        SensitiveSettings,
    )

T = TypeVar("T")


def make_schema(
    data: DataSettings,
    folder: Path,
    *,
    weight: str | None = None,
    named: tuple[str, ...] = (),
    release: ReleaseSettings | None = None,
) -> Schema:
    """Return the role of every column, or refuse with one line per problem.

    `weight` is the column and `named` are the labels of the symbol that a method names; `release` says
    what is to be predicted.
    """
    data = with_implied_roles(data)
    builder = _SchemaBuilder(folder, ("data",))
    symbol, place, trip = data.symbol, data.place, data.trip
    at = ("data", "place")
    regions = None if place is None else builder.attempt(place.regions.value, (*at, "regions"), place.regions)
    same = ("order", "time", "time_format", "tie", "derive", "invalid", "alike", "missing", "rename")
    return builder.schema(
        data,
        person=data.person or "",
        symbol=None if symbol is None else builder.symbol(symbol, named),
        place=None if place is None or regions is None else builder.attempt(place.value, at, place),
        trip=builder.attempt(trip.value, ("data", "trip"), trip) if isinstance(trip, TripSettings) else trip,
        weight=weight,
        purpose=None if release is None else builder.purpose(release),
        **{name: getattr(data, name) for name in same},
    )


def make_persons_schema(persons: PersonsSettings, folder: Path) -> Schema:
    """Return the role of every attribute of persons, or refuse with one line per problem."""
    return _SchemaBuilder(folder, ("data", "persons")).schema(persons, person=ROW)


def with_implied_roles(data: DataSettings) -> DataSettings:
    """Fill in what a format implies: in spmf and seq the line is the person and the place in it the order."""
    if not _has_lines(data.format, data.path):
        return data
    implied: dict[str, object] = {}
    if data.person in (None, ROW):
        implied["person"] = "person"
    if data.order is None and data.time is None:
        implied["order"] = "order"
    if data.symbol is None and not data.quasi and data.place is None:
        implied["symbol"] = SymbolSettings(column=SYMBOL)
    return data.model_copy(update=implied)


def check_person(data: object) -> list[str]:
    """Report that ``person`` is missing, which is an error except where the format implies it."""
    if not isinstance(data, dict) or "person" in data or _has_lines(data.get("format"), data.get("path")):
        return []
    about = (DataSettings.model_fields["person"].description or "").rstrip(".")
    return [f"data.person is missing; it must be text: {about}"]


def _has_lines(form: object, path: object) -> bool:
    """Return whether the format is one of sequences, one per line."""
    if is_url(path):
        return False
    ending = Path(str(path).lower().removesuffix(".gz")).suffix.removeprefix(".")
    return (ending if form is None else form) in ("spmf", "seq")


class _SchemaBuilder:
    """Makes what it can, and keeps a line for what it cannot."""

    def __init__(self, folder: Path, at: tuple[str, ...]) -> None:
        self.folder = folder
        self.at = at
        self.lines: list[str] = []

    def schema(self, data: DataSettings | PersonsSettings, **others: Any) -> Schema:
        """Make the roles of a table's columns, or refuse with all lines."""
        quasi = {name: self.quasi(name, each) for name, each in data.quasi.items()}
        sensitive = {name: self.sensitive(name, each) for name, each in data.sensitive.items()}
        schema = self.attempt(
            lambda: Schema(
                quasi={name: each for name, each in quasi.items() if each is not None},
                sensitive={name: each for name, each in sensitive.items() if each is not None},
                keep=data.keep,
                drop=data.drop,
                **others,
            ),
            self.at,
            data,
        )
        if schema is None or self.lines:
            raise InputError(*self.lines)
        return schema

    def attempt(self, make: Callable[[], T], place: tuple[str, ...], settings: ConfigTable) -> T | None:
        """Return what `make` makes of the `settings` at a place; None, and a line, where it refuses them."""
        try:
            return make()
        except InputError as error:
            # Hierarchies begin with their kind, which the key says as well.
            kind = f"{getattr(settings, 'kind', '')}: "
            keys = type(settings).model_fields
            self.lines += [name_key(line.removeprefix(kind), toml_key(place), keys) for line in error.lines]
            return None

    def hierarchy(
        self, settings: HierarchySettings, place: tuple[str, ...]
    ) -> Hierarchy | HierarchyBuilder | None:
        return self.attempt(lambda: settings.builder(self.folder), (*place, "hierarchy"), settings)

    def quasi(self, name: str, settings: QuasiSettings) -> Quasi | None:
        place = (*self.at, "quasi", name)
        hierarchy = self.hierarchy(settings.hierarchy, place)
        if hierarchy is None:
            return None
        spared = tuple(settings.never_suppress)
        return self.attempt(
            lambda: Quasi(hierarchy, settings.max_level, spared, weight=settings.weight), place, settings
        )

    def sensitive(self, name: str, settings: SensitiveSettings) -> Sensitive | None:
        def make() -> Sensitive:
            protect = settings.protect
            columns = tuple(settings.columns or (name,))
            if protect == "all":
                return Sensitive(columns, "all")
            if isinstance(protect, ProtectSettings):
                return Sensitive(columns, Protect(**protect.model_dump()))
            return Sensitive(columns, Protect(tuple(protect)))

        return self.attempt(make, (*self.at, "sensitive", name), settings)

    def purpose(self, settings: ReleaseSettings) -> Purpose | None:
        given = settings.purpose
        if given is None:
            return None
        return self.attempt(lambda: Purpose.of(given.model_dump()), ("release",), settings)

    def symbol(self, settings: SymbolSettings, named: tuple[str, ...]) -> Symbol:
        given = settings.hierarchy
        hierarchy = None if given is None else self.hierarchy(given, ("data", "symbol"))
        return Symbol(settings.column, hierarchy, named)
