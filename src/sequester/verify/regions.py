"""The outlines of released regions: one for each region in the rows, and nothing beside them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sequester.data.place import REGION
from sequester.data.regions import AT
from sequester.errors import InputError
from sequester.hierarchies.labels import in_label_order
from sequester.release.fields import bare, read_document, shown
from sequester.release.file_names import REGIONS

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from sequester.release.fields import Field

_NOWHERE = {"*", "(missing)"}
_DIGITS = 6
_FEWEST, _MOST = 4, 16
"""Corners of an outline, the first one repeated: a rectangle has 5, a cell of H3 at most 11."""


def check_regions(folder: Path, frame: pl.DataFrame) -> list[str]:
    """Compare the outlines with the released rows."""
    text = (folder / REGIONS).read_bytes()
    top = read_document(text, REGIONS)
    try:
        _is(top.expect("type", "features").take("type"), "FeatureCollection")
        outlined = [_outline(feature) for feature in top.take("features").items()]
    except InputError as error:
        return list(error.lines)
    values = in_label_order(frame[REGION].drop_nulls().unique())
    released = dict.fromkeys(value if value in outlined else value.partition(AT)[0] for value in values)
    wanted = [name for name in released if name not in _NOWHERE]
    findings = []
    for names, what in (
        (set(wanted) - set(outlined), "has no outline of the released region"),
        (set(outlined) - set(wanted), "has an outline of a region that is not released,"),
    ):
        findings += [f"{REGIONS}: {what} {shown(name)}" for name in sorted(names)[:5]]
    if not findings and outlined != wanted:
        findings.append(f"{REGIONS}: has outlines twice, or in another order than the regions")
    if not findings and json.dumps(top.value, ensure_ascii=False).encode() + b"\n" != text:
        findings.append(
            f"{REGIONS}: is not written as a release is: blanks or other numbers can carry something"
        )
    return findings


def _outline(field: Field) -> str:
    """Return the region of an outline that is as a release has it: one ring of plain corners."""
    feature = field.table().expect("type", "properties", "geometry")
    _is(feature.take("type"), "Feature")
    region = feature.take("properties").table().expect(REGION).take(REGION).text()
    geometry = feature.take("geometry").table().expect("type", "coordinates")
    _is(geometry.take("type"), "Polygon")
    rings = geometry.take("coordinates")
    if len(rings.items()) != 1:
        rings.refuse("must be one ring")
    ring = rings.items()[0]
    corners = [tuple(number.number() for number in corner.items()) for corner in ring.items()]
    if not _FEWEST <= len(corners) <= _MOST or any(len(corner) != 2 for corner in corners):
        ring.refuse(f"must be {_FEWEST} to {_MOST} corners of two numbers each")
    if corners[0] != corners[-1] or len(set(corners)) != len(corners) - 1:
        ring.refuse("must end where it begins, and pass every other corner once")
    for lon, lat in corners:
        if not (abs(lon) <= 360 and abs(lat) <= 90) or (lon, lat) != (
            round(lon, _DIGITS),
            round(lat, _DIGITS),
        ):
            ring.refuse(f"must be longitudes and latitudes of at most {_DIGITS} digits behind the point")
    return region


def _is(field: Field, value: str) -> None:
    if field.value != value:
        msg = f"{REGIONS}: {bare('.'.join(field.path))} must be {value!r}, got {shown(field.value)}"
        raise InputError(msg)
