"""From the certificate to the question: the model that is claimed, and the table it is asked about."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, cast

from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.errors import InputError
from sequester.privacy import MODELS
from sequester.release.certificate import CERTIFICATE
from sequester.release.fields import plain_table, shown
from sequester.release.release import ORDER, PERSON
from sequester.release.roles import AREA, KEEP, QUASI_ROLES, SYMBOL, released_schema
from sequester.verify.columns import with_role

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from sequester.privacy import PrivacyModel
    from sequester.release.certificate import Certificate

_KINDS: dict[object, tuple[str, tuple[type, ...]]] = {
    "int": ("a whole number", (int,)),
    "float": ("a number", (int, float)),
    "bool": ("true or false", (bool,)),
    "str": ("text", (str,)),
}
"""What a parameter may be in the certificate, in words and as types, by how the model declares it."""


def hidden_parameters(certificate: Certificate) -> list[str]:
    """List the parameters of the claimed model that must not be published; refuse a claim that has one."""
    kind = MODELS.get(certificate.model)
    if kind is None:
        names = ", ".join(MODELS)
        msg = f"{CERTIFICATE}: claim.model must be one of {names}, got {shown(certificate.model)}"
        raise InputError(msg)
    declared = fields(kind)  # type: ignore[arg-type]
    hidden = [each.name for each in declared if not each.metadata.get("published", True)]
    told = [f"{name} must not be published, and is" for name in hidden if name in certificate.claim]
    if told:
        raise InputError(*(f"{CERTIFICATE}: claim.parameters: {line}" for line in told))
    return hidden


def claimed_model(certificate: Certificate, known: PrivacyModel | None = None) -> PrivacyModel:
    """Make the model that the certificate claims; a claim that is incomplete or senseless is refused.

    Parameters that must not be published, ``field(metadata={"published": False})``, are taken from `known`,
    the promise as those have it who hold the original.
    """
    hidden = hidden_parameters(certificate)
    kind = MODELS[certificate.model]
    declared = {each.name: each for each in fields(kind)}  # type: ignore[arg-type]
    claim: dict[str, Any] = dict(certificate.claim)
    if hidden:
        if known is None:
            msg = (
                f"the claim {certificate.model} compares with the original, and what it hides is not "
                "published; give the configuration that it was made from with --original"
            )
            raise InputError(msg)
        if type(known) is not kind:
            msg = f"{CERTIFICATE}: claims {certificate.model}, and the configuration {type(known).__name__}"
            raise InputError(msg)
        other = plain_table(known.claim())
        if other != claim:
            msg = f"{CERTIFICATE}: claims {shown(claim)}, and the configuration {shown(other)}"
            raise InputError(msg)
        claim |= {name: getattr(known, name) for name in hidden}
    problems = [f"{shown(name)} is not known to this version" for name in claim if name not in declared]
    for name, each in declared.items():
        if name not in claim:
            if each.default is MISSING and each.default_factory is MISSING:
                problems.append(f"{name} is missing")
        elif each.type in _KINDS and name not in hidden:
            what, types = _KINDS[each.type]
            if type(claim[name]) not in types:
                problems.append(f"{name} must be {what}, got {shown(claim[name])}")
    if problems:
        raise InputError(*(f"{CERTIFICATE}: claim.parameters: {problem}" for problem in problems))
    try:
        return kind(**claim)
    except InputError as error:
        raise InputError(*(f"{CERTIFICATE}: claim.parameters: {line}" for line in error.lines)) from None


def rebuild(
    frame: pl.DataFrame, certificate: Certificate, hierarchies: Mapping[str, pl.DataFrame]
) -> EventTable:
    """Give the released columns the roles that the claim names; `claimed_columns` has accepted those."""
    columns = certificate.columns
    symbols = with_role(columns, (SYMBOL, AREA))
    if symbols:
        return EventTable(frame, Schema(person=PERSON, order=ORDER, symbol=symbols[0], released=True))
    schema = released_schema(
        # In the order of the table: a release lists its files in the order of their names.
        {column: hierarchies[column] for column in with_role(columns, QUASI_ROLES)},
        protect=cast("Mapping[str, Sequence[str]]", certificate.claim.get("protect", {})),
        columns=cast("Mapping[str, Sequence[str]]", certificate.claim.get("columns", {})),
        keep=with_role(columns, (KEEP,)),
    )
    return EventTable(frame, schema)
