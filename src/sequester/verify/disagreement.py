"""Where a certificate tells something else than its files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sequester.release.certificate import PUBLIC_MEASURE, SOFTWARE
from sequester.release.fields import shown

if TYPE_CHECKING:
    from sequester.privacy import Verdict
    from sequester.release.certificate import Certificate

_VERSION = re.compile(r"[0-9]+(\.[0-9A-Za-z+-]{1,20}){0,5}")


def disagreements(verdict: Verdict, certificate: Certificate) -> list[str]:
    """Say where the certificate tells something else than a promise that was found to be kept."""
    disagreement = []
    if not certificate.holds:
        disagreement.append("certificate.json: says itself that the promise is not kept")
    if dict(verdict.achieved) != dict(certificate.achieved):
        disagreement.append(
            f"certificate.json: says that {_level(certificate.achieved)} is achieved, the files achieve "
            f"{_level(verdict.achieved)}"
        )
    if certificate.software != SOFTWARE or not _VERSION.fullmatch(certificate.version):
        made = shown(f"{certificate.software} {certificate.version}")
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
                f"without persons; it has {shown(name)} = {score.value:g}"
            )
    for name, claimed in certificate.claim.items():
        asked = certificate.parameters.get(name, claimed)
        if asked not in (None, claimed) and not _is_share(asked, claimed):
            disagreement.append(
                f"certificate.json: the method was asked for {name} = {shown(asked)}, and the claim is "
                f"{name} = {shown(claimed)}"
            )
    return disagreement


def _is_share(asked: object, claimed: object) -> bool:
    """Tell whether a share of the persons was asked for, where the claim has their number."""
    return isinstance(asked, float) and isinstance(claimed, int) and 0 < asked < 1 <= claimed


def _level(achieved: object) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in dict(achieved).items()) or "nothing"  # type: ignore[call-overload]
