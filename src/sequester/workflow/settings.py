"""The tables of ``release.toml``, as they are written."""

from typing import Annotated, Any, Literal

from pydantic import Field

from sequester.data.schema import Alike, Derivation
from sequester.workflow.hierarchy_settings import HierarchySettings, Name, Table
from sequester.workflow.place_settings import PlaceSettings, TripSettings


class QuasiSettings(Table):
    """What an adversary may know of an event, and how coarse it may become."""

    hierarchy: HierarchySettings
    max_level: Annotated[int, Field(ge=0)] | None = None
    """The column may not be generalized further than this level."""
    never_suppress: list[str] = Field(default_factory=list)
    """Values that may not become *."""
    weight: Annotated[float, Field(ge=0)] = 1.0
    """Importance in every loss."""


class ProtectSettings(Table):
    """Protected values by how they begin."""

    prefix: list[str] = Field(default_factory=list)
    """Every value that starts so."""
    range: list[str] = Field(default_factory=list)
    """Every value between two bounds of the same length, both included: 634-639."""


class SensitiveSettings(Table):
    """What must not be learned about a person."""

    columns: list[str] | None = None
    """Columns that are one attribute with several values per event; default: the column of that name."""
    protect: list[str] | Literal["all"] | ProtectSettings
    """The highly sensitive values: a list, "all", or a table with prefix and range."""


class SymbolSettings(Table):
    """The one attribute of plain symbol sequences."""

    column: str
    """Its column."""
    hierarchy: HierarchySettings | None = None


class DataSettings(Table):
    """Which table is published, and the role of each column."""

    path: Name
    """The data, relative to this file: .csv .tsv .txt (csv) .spmf .seq .xes .parquet .arrow, or a folder."""
    format: Literal["csv", "spmf", "seq", "xes", "parquet", "arrow"] | None = None
    """Only where the name of the file does not tell; seq is the UCI format of MSNBC."""
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    """What separates the cells of a CSV file; default: found among , ; tab |."""
    encoding: Name = "utf-8"
    """How text is written."""
    person: Annotated[str, Field(min_length=1)] | None = None
    """The column of person keys, or "row" where each line is a person (spmf and seq imply it)."""
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
    drop: list[str] = Field(default_factory=list)
    """Identifiers: never leave."""
    keep: list[str] = Field(default_factory=list)
    """Released as they are, with their event: the steward vouches."""
    invalid: Literal["refuse", "drop"] = "refuse"
    """What happens to rows with a missing person, an unreadable time or a place that cannot be."""
    alike: Alike | None = None
    """Labels that differ only in case, blanks or Unicode form, or are equal numbers: refuse, merge, keep."""
    derive: dict[str, Derivation] = Field(default_factory=dict)
    """Quasi-identifiers made from time: new column to what it holds."""
    symbol: SymbolSettings | None = None
    """Where each event is one symbol: instead of quasi."""
    place: PlaceSettings | None = None
    """Where: coordinates that become regions."""
    quasi: dict[str, QuasiSettings] = Field(default_factory=dict)
    """One table per quasi-identifier."""
    sensitive: dict[str, SensitiveSettings] = Field(default_factory=dict)
    """One table per sensitive attribute."""


class ReleaseSettings(Table):
    """Where the release goes."""

    path: Name | None = None
    """The folder that gets release/ and internal/, relative to this file; --out wins."""
    internal: Name | None = None
    """Keeps what stays in the house elsewhere."""
    pseudonyms: bool = False
    """Also write internal/pseudonyms.parquet, which undoes the new names."""
    max_suppressed: Annotated[float, Field(ge=0, le=1)] | None = None
    """Refuse a release that loses more than this share of events; without it, more than 0.2 only warns."""
    accept_unprotected: bool = False
    """Needed where kept columns alone single out more than 5 % of the persons."""
    seed: str | None = None
    """Everything random comes from this text, which must be kept secret; --seed wins."""


class Settings(Table):
    """One file describes one release."""

    data: DataSettings
    """Which table is published, and the role of each column."""
    method: dict[str, Any] | None = None
    """How it is protected: a name, and the parameters of the method of that name."""
    release: ReleaseSettings = ReleaseSettings()
    """Where the release goes."""
