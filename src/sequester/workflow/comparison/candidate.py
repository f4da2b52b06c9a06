"""A method with its parameters, to be tried on a table."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sequester.release.fields import plain_table
from sequester.report.wording import setting

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sequester.methods.method import Method

_TELLING = ("k", "c", "p", "l", "min_support", "max_leakage", "max_leakage_bits")
"""What a label names where nothing was asked to vary: the strength of a promise."""
_LONGEST = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One point of the grid, which may turn out not to fit."""

    name: str
    """The method's name."""
    label: str
    """The method and the parameters that tell it from its neighbours."""
    method: Method | None = None
    """The method itself; None where its parameters do not make one."""
    misfit: str = ""
    """Why it is not tried; empty where it is."""
    given: Mapping[str, object] = field(default_factory=dict)
    """The parameters that were asked for, without defaults."""

    @property
    def parameters(self) -> dict[str, object]:
        """Every parameter with its value, as JSON has it."""
        return plain_table(self.given if self.method is None else self.method.parameters())


def label_of(name: str, parameters: Mapping[str, object], varied: Sequence[str] = ()) -> str:
    """Name a candidate by its method and what varies.

    Examples
    --------
    >>> label_of("halt", {"k": 5, "c": 0.5, "p": 3, "levels": "same"})
    'halt k=5 c=0.5 p=3'
    >>> label_of("halt", {"k": 5, "c": 0.5, "p": 3, "levels": "same"}, ["levels"])
    'halt levels=same'
    """
    telling = [each for each in varied or _TELLING if parameters.get(each) is not None]
    return " ".join([name, *(f"{each}={_short(parameters[each])}" for each in telling)])


def told(lines: Sequence[str]) -> str:
    """Say in one line what is wrong.

    Examples
    --------
    >>> told(["there is no symbol", "column 'a' has the role quasi", "column 'b' has the role quasi"])
    'there is no symbol (and 2 more)'
    """
    more = len(lines) - 1
    return lines[0] + (f" (and {more:,} more)" if more > 0 else "")


def file_name(label: str, key: str) -> str:
    """Give a name for files that any system takes, and no other candidate has.

    Examples
    --------
    >>> file_name("halt k=5 c=1/3", "0123456789abcdef")
    'halt-k5-c1-3-01234567'
    """
    words = re.sub(r"[^A-Za-z0-9.]+|\.{2,}", "-", label.replace("=", "")).strip("-.")
    return f"{words[:_LONGEST]}-{key[:8]}"


def _short(value: object) -> str:
    text = setting(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
