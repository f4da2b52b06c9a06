"""Where a certificate tells something else than its files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sequester.privacy import Verdict
    from sequester.release.certificate import Certificate


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
    return disagreement


def _level(achieved: object) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in dict(achieved).items()) or "nothing"  # type: ignore[call-overload]
