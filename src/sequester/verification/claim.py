"""The claim of a certificate: its model, its columns, whether the verdict agrees, and what is reported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from sequester._repr import Card
from sequester._validation import lists_of_text
from sequester.data.places import REGION
from sequester.errors import InputError
from sequester.privacy import MODELS
from sequester.privacy.l_diversity import COUNT, GROUP, TIME, VALUES
from sequester.privacy.model import spelled
from sequester.release.certificate import (
    CERTIFICATE,
    PUBLIC_MEASURE,
    QUASI_ROLES,
    REGION_ROLES,
    SENSITIVE_ROLES,
    SOFTWARE,
    TECHNICAL,
    columns_with_role,
)
from sequester.release.fields import plain_table, safe_repr
from sequester.release.release import EVENTS, ORDER, PERSON, PERSONS

if TYPE_CHECKING:
    from sequester.privacy import PrivacyModel, Verdict
    from sequester.release.certificate import Certificate


_KINDS: dict[object, tuple[str, tuple[type, ...]]] = {
    "int": ("a whole number", (int,)),
    "float": ("a number", (int, float)),
    "bool": ("true or false", (bool,)),
    "str": ("text", (str,)),
}
"""What a parameter may be in the certificate, in words and as types, by how the model declares it."""


def claimed_kind(certificate: Certificate) -> type[PrivacyModel]:
    """Return the class of the claimed model; raise if there is none of that name."""
    if certificate.model not in MODELS:
        names = ", ".join(MODELS)
        msg = f"{CERTIFICATE}: claim.model must be one of {names}, got {safe_repr(certificate.model)}"
        raise InputError(msg)
    return MODELS[certificate.model]


def hidden_parameters(certificate: Certificate) -> list[str]:
    """Return the parameters of the claimed model that must not be published; raise if the claim has one."""
    kind = claimed_kind(certificate)
    declared = fields(kind)  # type: ignore[arg-type]
    hidden = [each.name for each in declared if not each.metadata.get("published", True)]
    stated = [f"{name} must not be published, and is" for name in hidden if name in certificate.claim]
    if stated:
        raise InputError(*(f"{CERTIFICATE}: claim.parameters: {line}" for line in stated))
    return hidden


def claimed_model(certificate: Certificate, known: PrivacyModel | None = None) -> PrivacyModel:
    """Return the model that the certificate claims; raise if the claim is incomplete or invalid.

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
            asked = type(known).__name__
            msg = f"{CERTIFICATE}: claims {certificate.model}, but the configuration says {asked}"
            raise InputError(msg)
        other = plain_table(known.claim())
        if other != claim:
            msg = f"{CERTIFICATE}: claims {safe_repr(claim)}, but the configuration says {safe_repr(other)}"
            raise InputError(msg)
        claim |= {name: getattr(known, name) for name in hidden}
    problems = [f"{safe_repr(name)} is not known to this version" for name in claim if name not in declared]
    for name, each in declared.items():
        if name not in claim:
            if each.default is MISSING and each.default_factory is MISSING:
                problems.append(f"{name} is missing")
        elif each.type in _KINDS and name not in hidden:
            what, types = _KINDS[each.type]
            if type(claim[name]) not in types:
                problems.append(f"{name} must be {what}, got {safe_repr(claim[name])}")
    if problems:
        raise InputError(*(f"{CERTIFICATE}: claim.parameters: {problem}" for problem in problems))
    try:
        model = kind(**claim)
    except InputError as error:
        raise InputError(*(f"{CERTIFICATE}: claim.parameters: {line}" for line in error.lines)) from None
    # A default is this version's, and need not be what was meant.
    if missing := [name for name in model.claim() if name not in claim]:
        raise InputError(*(f"{CERTIFICATE}: claim.parameters: {name} is missing" for name in missing))
    return model


def with_protected(model: PrivacyModel, certificate: Certificate) -> PrivacyModel:
    """Return a promise that protects what the certificate of a later part does, and what it did before.

    Values that only earlier parts have are protected in all.
    """
    asked = getattr(model, "protect", None)
    if asked is None:
        return model
    known = lists_of_text("protect", certificate.claim.get("protect", {}))
    return replace(  # type: ignore[type-var]
        model, protect={name: tuple({*labels, *known.get(name, ())}) for name, labels in asked.items()}
    )


_TECHNICAL = (PERSON, ORDER, TIME, GROUP, COUNT)
Roles = Mapping[str, Mapping[str, str]]
"""Table to column to role."""


def claimed_columns(certificate: Certificate) -> Roles:
    """Return the role of every released column; raise if the claim has none, or impossible ones."""
    columns = certificate.columns
    if not columns:
        msg = (
            f"{CERTIFICATE}: claim.columns is missing: the release was made by an older version, and does "
            "not say what its columns are; release it again with this version"
        )
        raise InputError(msg)
    layouts = claimed_kind(certificate).layouts
    fitting = [each for each in layouts if list(each) == list(columns)]
    if not fitting:
        names = " or ".join(" and ".join(each) for each in layouts)
        msg = f"{CERTIFICATE}: claim.columns must be about {names}, it is about {safe_repr(list(columns))}"
        raise InputError(msg)
    problems = []
    for table, roles in columns.items():
        spelled = " ".join(column if role == TECHNICAL else role for column, role in roles.items())
        if not re.fullmatch(fitting[0][table], spelled):
            problems.append(f"{table}: {certificate.model} has no table with the roles {safe_repr(spelled)}")
        problems += [
            f"{table}: column {safe_repr(column)} cannot be {TECHNICAL}: only {', '.join(_TECHNICAL)} are"
            for column, role in roles.items()
            if role == TECHNICAL and column not in _TECHNICAL
        ]
        problems += [
            f"{table}: column {safe_repr(column)} cannot be {role}: places are in the column {REGION!r}"
            for column, role in roles.items()
            if role in REGION_ROLES and column != REGION
        ]
    problems += [
        f"{table}: column {safe_repr(column)} is {role}, and sensitive in another table"
        for column in columns_with_role(columns, SENSITIVE_ROLES)
        for table, roles in columns.items()
        if (role := roles.get(column, "sensitive")) not in SENSITIVE_ROLES
    ]
    problems += _check_sensitive(certificate)
    problems += _check_attributes(certificate)
    if problems:
        raise InputError(*(f"{CERTIFICATE}: claim.columns: {problem}" for problem in problems))
    return columns


def _check_attributes(certificate: Certificate) -> list[str]:
    """Compare the attributes of persons with those that the parameters of the claim are about."""
    events, persons = certificate.columns.get(EVENTS, {}), certificate.columns.get(PERSONS, {})
    named = certificate.claim.get("persons", [])
    quasi = [column for column, role in persons.items() if role in QUASI_ROLES]
    both = [column for column in persons if column != PERSON and column in events]
    return [
        *(f"column {safe_repr(column)} is in both tables" for column in both),
        *(
            [f"claim.parameters.persons must be {safe_repr(quasi)}, it is {safe_repr(named)}"]
            if named != quasi
            else []
        ),
    ]


def _check_sensitive(certificate: Certificate) -> list[str]:
    """Compare the sensitive columns with the attributes that the parameters of the claim are about."""
    parameters = certificate.claim
    layouts = claimed_kind(certificate).layouts
    if not any("sensitive" in roles for layout in layouts for roles in layout.values()):
        return []
    if "sensitive" in parameters:
        named = {str(parameters["sensitive"])}
    else:
        source = lists_of_text("columns", parameters.get("columns", {}))
        protect = lists_of_text("protect", parameters.get("protect", {}))
        strange = sorted(source.keys() - protect.keys())
        if strange:
            return [
                f"claim.parameters.columns has {safe_repr(strange[0])}, and claim.parameters.protect has not"
            ]
        named = {column for name in protect for column in source.get(name, (name,))}
    claimed = set(columns_with_role(certificate.columns, SENSITIVE_ROLES))
    return [
        *(f"column {safe_repr(column)} is sensitive, and claim.parameters does not name it"
          for column in sorted(claimed - named)),
        *(f"claim.parameters names the sensitive column {safe_repr(column)}, and it is not sensitive here"
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
    symbols = columns_with_role(columns, ("symbol", "region"))
    return {
        **dict.fromkeys(columns_with_role(columns, QUASI_ROLES), True),
        **dict.fromkeys(symbols, claimed_kind(certificate).needs_hierarchies),
    }


_VERSION = re.compile(r"[0-9]+(\.[0-9A-Za-z+-]{1,20}){0,5}")


def compare_verdict(verdict: Verdict | None, certificate: Certificate) -> list[str]:
    """Return where the certificate differs from the verdict on its files, and from what it may say.

    Without a `verdict`, as for a later part of a series alone, the rest is checked all the same.
    """
    disagreement = []
    if not certificate.holds:
        disagreement.append("certificate.json: says itself that the promise is not kept")
    if certificate.series is not None and certificate.persons is None:
        disagreement.append("certificate.json: names a series, which records without persons have not")
    if verdict is not None and dict(verdict.achieved) != dict(certificate.achieved):
        disagreement.append(
            f"certificate.json: says that {_level(certificate.achieved)} is achieved, the files achieve "
            f"{_level(verdict.achieved)}"
        )
    if certificate.software != SOFTWARE or not _VERSION.fullmatch(certificate.version):
        made = safe_repr(f"{certificate.software} {certificate.version}")
        disagreement.append(f"certificate.json: software must be {SOFTWARE} and its version, it is {made}")
    for name, score in certificate.utility.items():
        # Of records not even that is published: it would tell how many were moved.
        is_known = name == PUBLIC_MEASURE and certificate.persons is not None
        if (
            not is_known
            or score.goal != "minimize"
            or tuple(score.bounds) != (0, 1)
            or not 0 <= score.value <= 1
        ):
            disagreement.append(
                f"certificate.json: utility may have {PUBLIC_MEASURE} from 0 to 1, and nothing for records "
                f"without persons; it has {safe_repr(name)} = {score.value:g}"
            )
    for name, claimed in certificate.claim.items():
        asked = certificate.parameters.get(name, claimed)
        if asked not in (None, claimed) and not _is_share(asked, claimed):
            disagreement.append(
                f"certificate.json: the method was asked for {name} = {safe_repr(asked)}, and the claim is "
                f"{name} = {safe_repr(claimed)}"
            )
    return disagreement


def _is_share(asked: object, claimed: object) -> bool:
    """Return whether a share of the persons was asked for, where the claim has their number."""
    return isinstance(asked, float) and isinstance(claimed, int) and 0 < asked < 1 <= claimed


def _level(achieved: object) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in dict(achieved).items()) or "nothing"  # type: ignore[call-overload]


_NEEDS_ORIGINAL = (
    "Not checked without --original: whether roles of columns, protected values and parameters are those "
    "that were asked for, whether released values are of the original, and whether persons are distinct."
)


def _needs_parts(part: int) -> str:
    """Return what a later part of a series alone does not show."""
    return (
        f"Not checked without --with: this is part {part} of a series, and its promise is about all parts "
        "together; whether it continues them, fits them and keeps the promise with them."
    )


NEEDS_PSEUDONYMS = (
    "Not checked without --pseudonyms: whether released persons are distinct, and persons of the original."
)
"""What the original alone does not show."""
STREAM_ALONE = "Not checked of a stream: whether released values are those of its input."
"""What the configuration of a stream alone does not show."""
_NEVER_CHECKED = (
    "Not checked by any means: the words of report.html and of limits, the information loss, and whose a "
    "value is."
)


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether the files of a release keep its promise, and what speaks against it.

    Examples
    --------
    >>> found = Verification(
    ...     holds=False,
    ...     model="SequenceKAnonymity",
    ...     achieved={"k": 1},
    ...     violations=1,
    ...     witnesses=(("news", "sports"),),
    ...     release="out/release",
    ... )
    >>> bool(found)
    False
    >>> found.lines
    ('news → sports',)
    """

    holds: bool
    """The files are as certified, and keep the promise."""
    model: str
    """The promise, by the name of its class."""
    achieved: Mapping[str, float]
    """Parameter to the best value that holds; empty where the files were not fit to be counted."""
    violations: int
    """How many speak against the release, witnesses included."""
    witnesses: tuple[object, ...]
    """What speaks against it: a line that names a file, or labels that break the promise, shortest first."""
    release: str
    """The folder, as it was given."""
    certificate_sha256: str = field(default="", repr=False)
    """The certificate's own hash, to compare with the one that came by another way."""

    compared: bool = field(default=False, repr=False)
    """The original was at hand."""
    parts: tuple[int, int] | None = field(default=None, repr=False)
    """Of a series, the number of the part, and how many parts were checked together; None without series."""
    missing: tuple[str, ...] = field(default=(), repr=False)
    """What else could not be checked, in a sentence each."""

    def __bool__(self) -> bool:
        return self.holds

    @property
    def lines(self) -> tuple[str, ...]:
        """The witnesses as one line each, without characters that could disturb a terminal."""
        return tuple(_line(witness) for witness in self.witnesses)

    @property
    def not_checked(self) -> tuple[str, ...]:
        """What this check could not see, in a line each."""
        part, n_checked = self.parts or (1, 1)
        return (
            *([_needs_parts(part)] if n_checked < part else []),
            *(() if self.compared else (_NEEDS_ORIGINAL,)),
            " ".join((_NEVER_CHECKED, *self.missing)),
        )

    def _repr_html_(self) -> str:
        """Return the result for a notebook."""
        more = self.violations - len(self.witnesses)
        return Card(
            title=f"{self.model} {'holds' if self.holds else 'does not hold'}, checked from the files",
            good=self.holds,
            facts=(
                ("release", self.release),
                *((name, f"{value:.4g}") for name, value in self.achieved.items()),
                ("certificate", self.certificate_sha256),
            ),
            remarks=(*self.lines, *((f"and {more:,} more",) if more > 0 else ())),
        ).html()

    def to_json(self) -> dict[str, object]:
        """Return the document that ``verify --json`` prints."""
        return {
            "holds": self.holds,
            "model": self.model,
            "achieved": dict(self.achieved),
            "violations": self.violations,
            "witnesses": list(self.lines),
            "release": self.release,
            "certificate_sha256": self.certificate_sha256,
            "not_checked": list(self.not_checked),
        }


def _line(witness: object) -> str:
    text = spelled(witness)
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
