"""Experiments of papers: a grid, figures and claims per paper as data, and one runner for all.

A paper is one module here, ``author_year.py``, with a function ``plan(data, *, quick)`` that returns a plan:
cells with the tables their rows go to, drawings of these tables, and statements to check on them. `data` is
the folder of public data sets, or None where generators stand in for them. What follows the comment ``Figures
and claims`` only draws and judges: editing it does not make finished cells run again. A line in `PAPERS`
registers the paper with ``sequester reproduce``.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sequester.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from sequester.reproduce.plan import Plan

__all__ = ["PAPERS", "Paper", "find_paper"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """A paper whose experiments can be run."""

    name: str
    """As in ``sequester reproduce PAPER``."""
    title: str
    """Its title."""
    reference: str
    """Authors, venue and year."""

    def plan(self, data: Path | None, *, quick: bool) -> Plan:
        """Return what to run: on public data where it is given, on a part of the grid where `quick`."""
        # A list of papers does not need polars and the methods, which the experiments load.
        module = importlib.import_module(f"sequester.reproduce.{self.name.replace('-', '_')}")
        plan: Plan = module.plan(data, quick=quick)
        return plan


PAPERS = {
    each.name: each
    for each in (
        Paper(
            name="bonomi-2016",
            title="An Information Theoretic Approach to Individual Sequential Data Sanitization",
            reference="L. Bonomi, L. Fan, H. Jin, WSDM 2016",
        ),
        Paper(
            name="gwadera-2013",
            title="Permutation-Based Sequential Pattern Hiding",
            reference="R. Gwadera, A. Gkoulalas-Divanis, G. Loukides, ICDM 2013",
        ),
        Paper(
            name="pensa-2008",
            title="Pattern-Preserving k-Anonymization of Sequences and its Application to Mobility Data "
            "Mining",
            reference="R. G. Pensa, A. Monreale, F. Pinelli, D. Pedreschi, PiLBA 2008",
        ),
        Paper(
            name="sehatkar-2014",
            title="Towards a Privacy Preserving Framework for Publishing Longitudinal Data",
            reference="M. Sehatkar, thesis, University of Ottawa 2014",
        ),
        Paper(
            name="wang-2010",
            title="Anonymizing Temporal Data",
            reference="K. Wang, Y. Xu, R. C.-W. Wong, A. W.-C. Fu, ICDM 2010",
        ),
    )
}
"""Papers by name."""


def find_paper(name: str) -> Paper:
    """Return the paper of that name.

    Examples
    --------
    >>> find_paper("wang-2010").title
    'Anonymizing Temporal Data'
    >>> find_paper("wang")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    sequester.errors.InputError: PAPER must be one of bonomi-2016, ..., wang-2010, got 'wang'
    """
    if name not in PAPERS:
        msg = f"PAPER must be one of {', '.join(PAPERS)}, got {name!r}"
        raise InputError(msg)
    return PAPERS[name]
