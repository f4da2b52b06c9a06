"""Which columns a release may have: those that its claim names, each with its role, in their order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sequester.data.place import REGION
from sequester.errors import InputError
from sequester.privacy.l_diversity import RECORDS, VALUES
from sequester.privacy.shares import lists_of_text
from sequester.privacy.skew import COUNT
from sequester.privacy.snapshots import GROUP, TIME
from sequester.release.certificate import CERTIFICATE
from sequester.release.fields import shown
from sequester.release.release import ORDER, PERSON
from sequester.release.roles import QUASI_ROLES, REGION_ROLES, SENSITIVE_ROLES, TECHNICAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sequester.release.certificate import Certificate

_TECHNICAL = (PERSON, ORDER, TIME, GROUP, COUNT)
EVENTS = "events"
"""The table of histories, by file name without ending."""
_QUASI = r"( quasi(\+region)?)*"
_ONE_SYMBOL = {EVENTS: f"{PERSON} {ORDER} (symbol|region)"}
_SEVERAL = {EVENTS: rf"{PERSON} {ORDER}( quasi(\+sensitive|\+region)?)*( sensitive)*( keep)*"}
_LAYOUTS: Mapping[str, tuple[Mapping[str, str], ...]] = {
    "KCPPrivacy": (_SEVERAL,),
    "KCPrivacy": (_SEVERAL,),
    "LEligibility": ({EVENTS: rf"{TIME}{_QUASI} sensitive"},),
    "LDiversity": (
        {RECORDS: rf"{TIME}{_QUASI} {GROUP}", VALUES: rf"{GROUP} sensitive {COUNT}"},
        {RECORDS: rf"{TIME}{_QUASI} sensitive {GROUP}"},
    ),
}
"""Model to the tables that a release may consist of: the roles of their columns, technical ones by name."""
Roles = Mapping[str, Mapping[str, str]]
"""Table to column to role."""


def claimed_columns(certificate: Certificate) -> Roles:
    """Return the role of every released column; a claim that names none, or impossible ones, is refused."""
    columns = certificate.columns
    if not columns:
        msg = (
            f"{CERTIFICATE}: claim.columns is missing: the release was made by an older version, and does "
            "not say what its columns are; release it again with this version"
        )
        raise InputError(msg)
    layouts = _LAYOUTS.get(certificate.model, (_ONE_SYMBOL,))
    fitting = [each for each in layouts if list(each) == list(columns)]
    if not fitting:
        names = " or ".join(" and ".join(each) for each in layouts)
        msg = f"{CERTIFICATE}: claim.columns must be about {names}, it is about {shown(list(columns))}"
        raise InputError(msg)
    problems = []
    for table, roles in columns.items():
        spelled = " ".join(column if role == TECHNICAL else role for column, role in roles.items())
        if not re.fullmatch(fitting[0][table], spelled):
            problems.append(f"{table}: {certificate.model} has no table with the roles {shown(spelled)}")
        problems += [
            f"{table}: column {shown(column)} cannot be {TECHNICAL}: only {', '.join(_TECHNICAL)} are"
            for column, role in roles.items()
            if role == TECHNICAL and column not in _TECHNICAL
        ]
        problems += [
            f"{table}: column {shown(column)} cannot be {role}: places are in the column {REGION!r}"
            for column, role in roles.items()
            if role in REGION_ROLES and column != REGION
        ]
    problems += [
        f"{table}: column {shown(column)} is {role}, and sensitive in another table"
        for column in with_role(columns, SENSITIVE_ROLES)
        for table, roles in columns.items()
        if (role := roles.get(column, "sensitive")) not in SENSITIVE_ROLES
    ]
    problems += _check_sensitive(certificate)
    if problems:
        raise InputError(*(f"{CERTIFICATE}: claim.columns: {problem}" for problem in problems))
    return columns


def with_role(columns: Roles, roles: Sequence[str]) -> list[str]:
    """List the columns of all tables that have one of these roles."""
    return [column for table in columns.values() for column, role in table.items() if role in roles]


def _check_sensitive(certificate: Certificate) -> list[str]:
    """Compare the sensitive columns with the attributes that the parameters of the claim are about."""
    parameters = certificate.claim
    if certificate.model not in _LAYOUTS:
        return []
    if "sensitive" in parameters:
        named = {str(parameters["sensitive"])}
    else:
        source = lists_of_text("columns", parameters.get("columns", {}))
        protect = lists_of_text("protect", parameters.get("protect", {}))
        strange = sorted(source.keys() - protect.keys())
        if strange:
            return [f"claim.parameters.columns has {shown(strange[0])}, and claim.parameters.protect has not"]
        named = {column for name in protect for column in source.get(name, (name,))}
    claimed = set(with_role(certificate.columns, SENSITIVE_ROLES))
    return [
        *(f"column {shown(column)} is sensitive, and claim.parameters does not name it"
          for column in sorted(claimed - named)),
        *(f"claim.parameters names the sensitive column {shown(column)}, and it is not sensitive here"
          for column in sorted(named - claimed)),
    ]  # fmt: skip


def hierarchy_columns(
    certificate: Certificate, columns: Roles, *, n_rows: int, alone: bool
) -> dict[str, bool]:
    """Return the columns that may have a hierarchy, and whether they must.

    `alone` is a snapshot of a stream, whose values have hierarchies only where they are generalized.
    """
    if alone and (VALUES in columns or EVENTS in columns or not n_rows):
        return {}
    symbols = with_role(columns, ("symbol", "region"))
    return {
        **dict.fromkeys(with_role(columns, QUASI_ROLES), True),
        **dict.fromkeys(symbols, certificate.model == "MutualInformationPrivacy"),
    }
