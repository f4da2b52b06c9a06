"""The nine steps, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.workbench.steps import check, data, promise, release, roles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.workbench.steps.step import Step

STEPS: Mapping[str, Step] = {
    "data": data.STEP,
    "roles": roles.STEP,
    "promise": promise.STEP,
    "release": release.STEP,
    "check": check.STEP,
}
"""Name in the address to step."""
