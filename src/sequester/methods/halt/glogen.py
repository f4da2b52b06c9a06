"""GloGen: generalize whole columns until nothing gives anybody away; what HALT is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sequester.methods.halt.kcp_method import KCPMethod


@dataclass(frozen=True, kw_only=True)
class GloGen(KCPMethod):
    """(K,C)^P-privacy by generalizing quasi-identifiers, and by nothing else.

    References
    ----------
    Sehatkar (2014), section 6.4: HALT with its suppression left out.
    """

    name: ClassVar[str] = "glogen"
    paper: ClassVar[str] = "Sehatkar (2014), section 6.4"
    promise: ClassVar[str] = (
        "Whoever knows at most p values of a person, in their order, finds at least k persons whom they fit, "
        "and no protected value in more than the share c of them."
    )
    changes: ClassVar[str] = "Makes whole columns coarser, the same for everybody, and nothing else."
    use_when: ClassVar[str] = (
        "No value may be missing where its neighbours are shown; or to see what halt gains by suppressing "
        "a few."
    )
    suppresses: ClassVar[bool] = False
