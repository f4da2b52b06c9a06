"""From the table ``[data]`` to the roles of columns, every problem named by its key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from sequester.data.protect import Protect
from sequester.data.schema import ROW, Quasi, Schema, Sensitive, Symbol
from sequester.data.sequences import SYMBOL
from sequester.errors import InputError
from sequester.workflow.method_settings import name_key
from sequester.workflow.place_settings import TripSettings
from sequester.workflow.refusals import key
from sequester.workflow.settings import DataSettings, ProtectSettings, SymbolSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sequester.data.place import Gap, Place
    from sequester.hierarchies.builder import HierarchyBuilder
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.workflow.hierarchy_settings import HierarchySettings
    from sequester.workflow.place_settings import PlaceSettings
    from sequester.workflow.settings import QuasiSettings, SensitiveSettings

T = TypeVar("T")


def schema_of(
    data: DataSettings, folder: Path, *, weight: str | None = None, named: tuple[str, ...] = ()
) -> Schema:
    """Give every column its role, or refuse with one line per problem.

    `weight` is the column and `named` are the labels of the symbol that a method names.
    """
    data = complete(data)
    making = _Making(folder)
    quasi = {name: making.quasi(name, each) for name, each in data.quasi.items()}
    sensitive = {name: making.sensitive(name, each) for name, each in data.sensitive.items()}
    symbol = None if data.symbol is None else making.symbol(data.symbol, named)
    place = None if data.place is None else making.place(data.place)
    trip = making.trip(data.trip)
    schema = making.attempt(
        lambda: Schema(
            person=data.person or "",
            order=data.order,
            time=data.time,
            time_format=data.time_format,
            tie=data.tie,
            symbol=symbol,
            quasi={name: each for name, each in quasi.items() if each is not None},
            sensitive={name: each for name, each in sensitive.items() if each is not None},
            keep=data.keep,
            drop=data.drop,
            derive=data.derive,
            invalid=data.invalid,
            alike=data.alike,
            trip=trip,
            place=place,
            weight=weight,
        ),
        ("data",),
        type(data).model_fields,
    )
    if schema is None or making.lines:
        raise InputError(*making.lines)
    return schema


def complete(data: DataSettings) -> DataSettings:
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


def missing_person(data: object) -> list[str]:
    """Say that ``person`` is missing, which is an error except where the format implies it."""
    if not isinstance(data, dict) or "person" in data or _has_lines(data.get("format"), data.get("path")):
        return []
    about = (DataSettings.model_fields["person"].description or "").rstrip(".")
    return [f"data.person is missing; it must be text: {about}"]


def _has_lines(form: object, path: object) -> bool:
    """Tell whether the format is one of sequences, one per line."""
    ending = Path(str(path).lower().removesuffix(".gz")).suffix.removeprefix(".")
    return (ending if form is None else form) in ("spmf", "seq")


class _Making:
    """Makes what it can, and keeps a line for what it cannot."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[str] = []

    def attempt(
        self, make: Callable[[], T], place: tuple[str, ...], names: Iterable[str], kind: str = ""
    ) -> T | None:
        try:
            return make()
        except InputError as error:
            # Hierarchies begin with their kind, which the key says as well.
            lines = (line.removeprefix(f"{kind}: ") for line in error.lines)
            self.lines += [name_key(line, key(place), names) for line in lines]
            return None

    def hierarchy(
        self, settings: HierarchySettings, place: tuple[str, ...]
    ) -> Hierarchy | HierarchyBuilder | None:
        return self.attempt(
            lambda: settings.builder(self.folder),
            (*place, "hierarchy"),
            type(settings).model_fields,
            getattr(settings, "kind", ""),
        )

    def quasi(self, name: str, settings: QuasiSettings) -> Quasi | None:
        place = ("data", "quasi", name)
        hierarchy = self.hierarchy(settings.hierarchy, place)
        if hierarchy is None:
            return None
        return self.attempt(
            lambda: Quasi(
                hierarchy, settings.max_level, tuple(settings.never_suppress), weight=settings.weight
            ),
            place,
            type(settings).model_fields,
        )

    def sensitive(self, name: str, settings: SensitiveSettings) -> Sensitive | None:
        def make() -> Sensitive:
            protect = settings.protect
            columns = tuple(settings.columns or (name,))
            if protect == "all":
                return Sensitive(columns, "all")
            if isinstance(protect, ProtectSettings):
                return Sensitive(columns, Protect((), tuple(protect.prefix), tuple(protect.range)))
            return Sensitive(columns, Protect(tuple(protect)))

        return self.attempt(make, ("data", "sensitive", name), type(settings).model_fields)

    def place(self, settings: PlaceSettings) -> Place | None:
        at = ("data", "place")
        regions = self.attempt(settings.regions.value, (*at, "regions"), type(settings.regions).model_fields)
        return None if regions is None else self.attempt(settings.value, at, type(settings).model_fields)

    def trip(self, settings: str | TripSettings | None) -> str | Gap | None:
        if not isinstance(settings, TripSettings):
            return settings
        return self.attempt(settings.value, ("data", "trip"), type(settings).model_fields)

    def symbol(self, settings: SymbolSettings, named: tuple[str, ...]) -> Symbol:
        hierarchy = None
        if settings.hierarchy is not None:
            hierarchy = self.hierarchy(settings.hierarchy, ("data", "symbol"))
        return Symbol(settings.column, hierarchy, named)
