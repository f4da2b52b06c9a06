"""The nine steps, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.workbench.steps import (
    check,
    data,
    explore,
    hierarchies,
    history,
    promise,
    release,
    risk,
    roles,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sequester.workbench.steps.step import Step

STEPS: Mapping[str, Step] = {
    "data": data.STEP,
    "roles": roles.STEP,
    "hierarchies": hierarchies.STEP,
    "risk": risk.STEP,
    "promise": promise.STEP,
    "explore": explore.STEP,
    "release": release.STEP,
    "check": check.STEP,
    "history": history.STEP,
}
"""Name in the address to step."""
