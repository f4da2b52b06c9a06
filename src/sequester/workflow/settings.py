"""The tables of ``release.toml`` as pydantic models."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from sequester.data.places import DensityRegions, Gap, GridRegions, H3Regions, Place
from sequester.data.schema import Alike, Derivation, Protect
from sequester.hierarchies.builder import HierarchyBuilder
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.io.clinical import open_clinical
from sequester.io.database import locate
from sequester.workflow.parameters import NO_NUL

Name = Annotated[str, Field(pattern=NO_NUL)]
"""What a system knows a thing by, such as a file."""


class ConfigTable(BaseModel):
    """A table of the configuration: no other keys, no guessing of types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, use_attribute_docstrings=True)


Kind = TypeVar("Kind", bound=str)
Made = TypeVar("Made")


class KindTable(ConfigTable, Generic[Kind]):
    """A table that says by its kind what is made of its other keys."""

    kind: Kind
    """What is made: the other keys say how."""

    def made_by(self, maker: Callable[..., Made]) -> Made:
        """Return what the maker makes of the other keys."""
        return maker(**{name: getattr(self, name) for name in type(self).model_fields if name != "kind"})


class HierarchyTable(KindTable[Kind]):
    """A hierarchy that is built by the function of `Hierarchy` with the name of its kind."""

    def builder(self, folder: Path) -> HierarchyBuilder:
        """Make what builds the tree."""
        del folder
        maker: Callable[..., HierarchyBuilder] = getattr(Hierarchy, self.kind)
        return self.made_by(maker)


class Mask(HierarchyTable[Literal["mask"]]):
    """Keep the first characters and mask the rest."""

    levels: list[int]
    """Characters kept at each level, fewer and fewer: [3, 1] makes 561**, then 5****, then *."""


class Intervals(HierarchyTable[Literal["intervals"]]):
    """Numbers in ranges of growing width."""

    width: list[int | float]
    """Width of the ranges at each level, each a multiple of the one before: [7, 28]."""
    origin: int | float = 0
    """Where a range begins."""


class Dates(HierarchyTable[Literal["dates"]]):
    """Days in months, quarters, years."""

    levels: list[str]
    """Units from fine to coarse: ["month", "quarter", "year"]."""


class Quantiles(HierarchyTable[Literal["quantiles"]]):
    """Ranges that hold about equally many events, learned from the data, edges rounded."""

    bins: list[int]
    """Number of ranges at each level, fewer and fewer: [20, 5]."""


class Flat(HierarchyTable[Literal["flat"]]):
    """The value, then *."""


class Tree(HierarchyTable[Literal["tree"]]):
    """A tree written out as nested tables."""

    tree: dict[str, Any]
    """A node's name to a table of its children, or to a list of its leaves."""


class H3(HierarchyTable[Literal["h3"]]):
    """H3 cells under their parents; needs the extra geo."""

    resolutions: list[int]
    """Resolutions of the parents at each level, coarser and coarser: [7, 5]."""


class File(ConfigTable):
    """A tree in a file of its own."""

    path: Name
    """The file, relative to this file; or a folder or database of clinical data."""
    format: Literal["arx", "edges", "omop", "meds"] = "arx"
    """arx: leaf;level1;...;*   edges: child,parent   omop, meds: the vocabulary of a folder."""

    def builder(self, folder: Path) -> HierarchyBuilder:
        """Make what builds the tree."""
        if self.format == "arx" or self.format == "edges":  # noqa: PLR1714 - so that types are followed
            return Hierarchy.read(folder / self.path, format=self.format)
        return open_clinical(locate(self.path, folder), self.format).hierarchy()


KINDS = ("mask", "intervals", "dates", "quantiles", "flat", "tree", "h3")
"""What ``kind`` may be."""


def _tag(given: object) -> str | None:
    """Return the kind of a table, or that it names a file; whether there is such a kind, pydantic says."""
    kind = given.get("kind") if isinstance(given, dict) else getattr(given, "kind", None)
    if kind is None and isinstance(given, dict) and "path" not in given:
        return None
    return "<path>" if kind is None else f"<{kind}>"


HierarchySettings = Annotated[
    Annotated[Mask, Tag("<mask>")]
    | Annotated[Intervals, Tag("<intervals>")]
    | Annotated[Dates, Tag("<dates>")]
    | Annotated[Quantiles, Tag("<quantiles>")]
    | Annotated[Flat, Tag("<flat>")]
    | Annotated[Tree, Tag("<tree>")]
    | Annotated[H3, Tag("<h3>")]
    | Annotated[File, Tag("<path>")],
    Discriminator(_tag),
    Field(description=f"kind = one of {', '.join(KINDS)}, or path = a file."),
]
"""One of the kinds, distinguished by ``kind``, or by ``path`` where there is none."""


class TripSettings(ConfigTable):
    """What separates the trips of a person."""

    gap: str
    """A new trip begins where more time passes between two events: "90s", "30min", "2h", "1d"."""

    def value(self) -> Gap:
        """Make what splits persons into trips."""
        return Gap(self.gap)


class RegionTable(KindTable[Kind]):
    """A kind of regions."""

    def value(self) -> DensityRegions | GridRegions | H3Regions:
        """Make the kind of regions."""
        kinds: dict[str, Callable[..., DensityRegions | GridRegions | H3Regions]] = {
            "density": DensityRegions,
            "grid": GridRegions,
            "h3": H3Regions,
        }
        return self.made_by(kinds[self.kind])


class DensitySettings(RegionTable[Literal["density"]]):
    """Rectangles of cells that many trajectories touch."""

    cell: int | float
    """Metres from one side of a cell to the other."""
    threshold: int | float
    """Share of the trajectories that touch a dense cell, and the cells of a region on average."""
    touch: Literal["points", "segments"] = "points"
    """What touches a cell: points, or also the straight lines between them."""


class GridSettings(RegionTable[Literal["grid"]]):
    """Every cell of a grid that a point lies in."""

    cell: int | float
    """Metres from one side of a cell to the other."""


class H3Settings(RegionTable[Literal["h3"]]):
    """Every H3 cell that a point lies in; needs the extra geo."""

    resolution: int
    """0 (continents) to 15 (less than a square metre)."""


RegionSettings = Annotated[
    Annotated[DensitySettings, Tag("<density>")]
    | Annotated[GridSettings, Tag("<grid>")]
    | Annotated[H3Settings, Tag("<h3>")],
    Discriminator(_tag),
    Field(description="kind = one of density, grid, h3."),
]
"""One of the kinds, distinguished by ``kind``."""


class PlaceSettings(ConfigTable):
    """Coordinates that become regions: the symbol, or a quasi-identifier beside sensitive columns."""

    lat: str
    """The column of latitudes, in degrees."""
    lon: str
    """The column of longitudes, in degrees."""
    regions: RegionSettings
    time_of_day: list[int] = Field(default_factory=list)
    """Hours at which another part of the day begins; symbols are then a region and a part of the day."""
    max_speed: int | float | None = None
    """Metres per second; points that could only be reached faster follow invalid."""

    def value(self, regions: DensityRegions | GridRegions | H3Regions) -> Place:
        """Make what turns points into regions."""
        return Place(self.lat, self.lon, regions, self.time_of_day, self.max_speed)


class QuasiSettings(ConfigTable):
    """What an adversary may know of an event, and how coarse it may become."""

    hierarchy: HierarchySettings
    max_level: Annotated[int, Field(ge=0)] | None = None
    """The column may not be generalized further than this level."""
    never_suppress: list[str] = Field(default_factory=list)
    """Values that may not become *."""
    weight: Annotated[float, Field(ge=0)] = 1.0
    """Importance in every loss."""


class ProtectSettings(ConfigTable):
    """Protected values, one by one or by how they begin."""

    values: list[str] = Field(default_factory=list)
    """Values, letter by letter."""
    prefix: list[str] = Field(default_factory=list)
    """Every value that starts so."""
    range: list[str] = Field(default_factory=list)
    """Every value between two bounds of the same length, both included: 634-639."""


class SensitiveSettings(ConfigTable):
    """What must not be learned about a person."""

    columns: list[str] | None = None
    """Columns that are one attribute with several values per event; default: the column of that name."""
    protect: list[str] | Literal["all"] | ProtectSettings
    """The highly sensitive values: a list, "all", or a table of values, prefix and range."""

    def values(self) -> Protect | Literal["all"]:
        """Return which values are protected."""
        if isinstance(self.protect, ProtectSettings):
            return Protect(**self.protect.model_dump())
        return "all" if self.protect == "all" else Protect(tuple(self.protect))


class SymbolSettings(ConfigTable):
    """The one attribute of plain symbol sequences."""

    column: str
    """Its column."""
    hierarchy: HierarchySettings | None = None


class TableSettings(ConfigTable):
    """How a table is read, and what its columns are."""

    path: Name | None = None
    """The table, relative to this file; without it: the persons of a folder of clinical data, or columns of
    the data that never change within a person."""
    query: Name | None = None
    """Of a database (postgresql://host/db, sqlite:///file, duckdb:///file): select ..., which is read."""
    table: Name | None = None
    """Of a database, instead of query: the table, such as visits or public.visits."""
    format: str | None = None
    """Only where the name of the file does not tell."""
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    """What separates the cells of a CSV file; default: found among , ; tab |."""
    encoding: Name = "utf-8"
    """How text is written."""
    person: Annotated[str, Field(min_length=1)] | None = None
    """The column of person keys; default: the name in data."""
    drop: list[str] = Field(default_factory=list)
    """Identifiers: never leave."""
    keep: list[str] = Field(default_factory=list)
    """Released as they are, with their event or person: the steward vouches."""
    quasi: dict[str, QuasiSettings] = Field(default_factory=dict)
    """One table per quasi-identifier."""
    sensitive: dict[str, SensitiveSettings] = Field(default_factory=dict)
    """One table per sensitive attribute."""


class PersonsSettings(TableSettings):
    """A table with one row per person: their attributes are an event before all others."""

    format: Literal["csv", "spmf", "seq", "xes", "parquet", "arrow"] | None = None
    """Only where the name of the file does not tell."""


class ColumnSettings(ConfigTable):
    """What a publisher says about a column."""

    description: str
    """What it means, for the recipient."""


class DataSettings(TableSettings):
    """Which table is published, and the role of each column."""

    path: Name
    """Data, relative to this file: .csv .tsv .txt .spmf .seq .xes .parquet .arrow, a folder or a database."""
    format: Literal["csv", "spmf", "seq", "xes", "parquet", "arrow", "omop", "fhir", "meds"] | None = None
    """Only where the name of the file does not tell; seq is that of MSNBC; omop, fhir, meds: a folder."""
    tables: Annotated[list[str], Field(min_length=1)] | None = None
    """Of an OMOP folder: the tables that become events; default: those that have rows."""
    person: Annotated[str, Field(min_length=1)] | None = None
    """The column of person keys; "row" where each line is a person, "all" where the file is one person."""
    order: str | None = None
    """The column that orders a person's events: as numbers if all are numbers, otherwise as text."""
    time: str | list[str] | None = None
    """Instead of order: the column of times, or a list of a date and a clock column."""
    time_format: str | None = None
    """How times are written, such as %Y%m%d, where not ISO 8601."""
    tie: str | None = None
    """Second key where order or time repeat within a person; otherwise file order."""
    trip: str | TripSettings | None = None
    """The column of trips, or a table with a gap; each trip gets its own pseudonym."""
    invalid: Literal["refuse", "drop"] = "refuse"
    """What happens to rows with a missing person, an unreadable time or a place that cannot be."""
    alike: Alike | None = None
    """Labels that differ only in case, blanks or Unicode form, or are equal numbers: refuse, merge, keep."""
    missing: list[str] | dict[str, list[str]] = Field(default_factory=list)
    """Cells that stand for a missing value, such as ["?", "NA"]; or a table of such lists, by column."""
    rename: dict[str, str] = Field(default_factory=dict)
    """Columns that get another name, as in { group = "team" }; everything else names them by the new one."""
    derive: dict[str, Derivation] = Field(default_factory=dict)
    """Quasi-identifiers made from time: new column to what it holds."""
    symbol: SymbolSettings | None = None
    """Where each event is one symbol: instead of quasi."""
    place: PlaceSettings | None = None
    """Where: coordinates that become regions."""
    persons: PersonsSettings | None = None
    """What is known of persons apart from their events: one row per person."""
    columns: dict[str, ColumnSettings] = Field(default_factory=dict)
    """One table per column that is described to the recipient."""


class PurposeSettings(ConfigTable):
    """What the release is for; halt, glogen and cblda price generalization by what it costs that."""

    predict: Name | list[Name | list[Name]]
    """A column, or a list of columns and of patterns such as ["ward=A", "ward=B"]."""


class ReleaseSettings(ConfigTable):
    """Where the release goes."""

    path: Name | None = None
    """The folder that gets release/ and internal/, relative to this file; --out wins."""
    internal: Name | None = None
    """Another folder for the internal files."""
    pseudonyms: bool = False
    """Also write internal/pseudonyms.parquet, which undoes the new names."""
    max_suppressed: Annotated[float, Field(ge=0, le=1)] | None = None
    """Refuse a release that loses more than this share of events; without it, more than 0.2 only warns."""
    accept_unprotected: bool = False
    """Needed where kept columns alone single out more than 5 % of the persons."""
    series: bool = False
    """First part of a series: internal/ keeps the pseudonyms, and later releases may continue it."""
    continues: Name | None = None
    """A further part: the folder of the part before it, with release/ and internal/; --continues wins."""
    leave_out: Name | None = None
    """A CSV file with a column person: these persons of the input stay out; relative to this file."""
    purpose: PurposeSettings | None = None
    """What is to be predicted from the release, such as { predict = "readmitted" }."""
    title: str = ""
    """What the data is called, for the recipient; as all that follows."""
    publisher: str = ""
    """Who publishes it."""
    contact: str = ""
    """Whom to ask about it."""
    licence: str = ""
    """Under which terms it may be used, such as CC-BY-4.0."""
    description: str = ""
    """What it is about."""
    created: Annotated[str, Field(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")] = ""
    """When the release was made, such as 2026-11-17; no clock is asked."""
    seed: str | None = None
    """Everything random comes from this text, which must be kept secret; --seed wins."""


class Settings(ConfigTable):
    """One file describes one release."""

    data: DataSettings
    """Which table is published, and the role of each column."""
    method: dict[str, Any] | None = None
    """How it is protected: a name, and the parameters of the method of that name."""
    release: ReleaseSettings = ReleaseSettings()
    """Where the release goes."""
