"""Several risks together, as a notebook shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sequester.attacks.risk import Risk
from sequester.display.card import Card

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADER = ("attack", "knows", "original", "release", "95 %", "control", "chance", "claimed")


class Risks(list[Risk]):
    """A list of risks that shows itself as a table in a notebook.

    Examples
    --------
    >>> from sequester.attacks.share import Share
    >>> risk = Risk(0.5, (0.5, 1.0), 0.01, Share(0.1, (0.1, 1.0)), name="prosecutor", kind="event", known=2)
    >>> risks = Risks([risk])
    >>> risks == [risk], "prosecutor" in risks._repr_html_()
    (True, True)
    """

    def _repr_html_(self) -> str:
        return glance(self).html()


def glance(risks: Sequence[Risk]) -> Card:
    """Show what each adversary achieves, and whether a claim was beaten."""
    claimed = [risk for risk in risks if risk.bound is not None]
    beaten = [risk for risk in claimed if not risk.is_within]
    tried = "1 attack" if len(risks) == 1 else f"{len(risks):,} attacks"
    outcome = "nothing is claimed about them"
    if claimed:
        outcome = f"{len(beaten):,} beat the claim" if beaten else "none beats the claim"
    return Card(
        title=f"{tried}: {outcome}",
        good=not beaten if claimed else None,
        header=_HEADER,
        rows=tuple(_row(risk) for risk in risks),
    )


def _row(risk: Risk) -> tuple[str, ...]:
    low, high = risk.interval
    knows = ", ".join(filter(None, (risk.kind, f"{risk.known} known" if risk.known else "")))
    claimed = "" if risk.bound is None else f"at most {risk.bound:.4g}{'' if risk.is_within else ' ✗'}"
    return (
        risk.name,
        knows,
        f"{risk.raw.value:.4g}",
        f"{risk.value:.4g}",
        f"{low:.4g} to {high:.4g}",
        f"{risk.control.value:.4g}",
        f"{risk.baseline:.4g}",
        claimed,
    )
