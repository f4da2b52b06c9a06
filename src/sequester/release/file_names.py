"""Names of files in a release: which ones stay inside the folder, and which one an attribute gets."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable

REGIONS = "regions.geojson"
"""The outlines of released regions."""
HIERARCHIES = "hierarchies"
"""The folder of hierarchies in a release."""
_LONGEST = 120
"""Characters of a name, so that it fits everywhere with its ending and folder."""
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names that mean a device on some systems, with any ending."""
_STRANGE = re.compile(r"[\x00-\x1f\x7f\\:]")


def outside_reason(name: str) -> str | None:
    """Say why a file name must not be followed, or None: it stays in the folder, on every system.

    Examples
    --------
    >>> outside_reason("hierarchies/ZIP.csv")
    >>> outside_reason("../secrets.csv")
    'leaves the folder'
    """
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        return "is an absolute path"
    if _STRANGE.search(name):
        return "has a character that no released file name has"
    steps = name.split("/")
    if ".." in steps:
        return "leaves the folder"
    if "" in steps or "." in steps:
        return "is no plain path"
    return None


def hierarchy_files(attributes: Iterable[str]) -> dict[str, str]:
    """Give each attribute the file of its hierarchy: safe on every system, and never the same for two.

    Letters, digits, ``_``, ``-`` and inner dots stay as they are; everything else is percent-encoded, which
    `urllib.parse.unquote` undoes. A name that would be too long is cut, and names that differ in nothing but
    case would fall together on some systems: both get a part of their SHA-256 behind a ``~``.

    Examples
    --------
    >>> hierarchy_files(["ZIP", "../x", "Länge"])
    {'ZIP': 'hierarchies/ZIP.csv', '../x': 'hierarchies/%2E.%2Fx.csv', 'Länge': 'hierarchies/L%C3%A4nge.csv'}
    >>> hierarchy_files(["zip", "ZIP"])["zip"]
    'hierarchies/zip~4a70fe9aa6436e02.csv'
    """
    stems = {attribute: _stem(attribute) for attribute in attributes}
    shared = Counter(stem.casefold() for stem in stems.values())
    names = {}
    for attribute, stem in stems.items():
        if len(stem) > _LONGEST or shared[stem.casefold()] > 1:
            digest = hashlib.sha256(attribute.encode()).hexdigest()
            stem = f"{stem[:_LONGEST]}~{digest[:16]}"  # noqa: PLW2901
        names[attribute] = f"{HIERARCHIES}/{stem}.csv"
    return names


def _stem(attribute: str) -> str:
    stem = quote(attribute, safe="").replace("~", "%7E")
    if _DEVICES.fullmatch(stem):
        return f"%{ord(stem[0]):02X}{stem[1:]}"
    if stem.startswith("."):
        stem = "%2E" + stem[1:]
    if stem.endswith("."):
        stem = stem[:-1] + "%2E"
    return stem
