"""The candidates of a comparison: methods times parameter values, all checked before any runs."""

from __future__ import annotations

import itertools
import re
import tomllib
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sequester.errors import InputError, ParameterError
from sequester.methods import METHODS
from sequester.methods.method import Method
from sequester.release.fields import plain_table
from sequester.report.text import parameter_text
from sequester.workflow.build import build_method
from sequester.workflow.parameters import parameters_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sequester.data.table import EventTable
    from sequester.workflow.parameters import Parameter


MAX_CANDIDATES = 1_000
"""Candidates of one comparison."""


def read_methods(text: str | None) -> tuple[str, ...] | None:
    """Read ``--methods a,b``; None where everything that fits is asked for.

    Examples
    --------
    >>> read_methods("p2ka, ph")
    ('p2ka', 'ph')
    >>> read_methods("magic")
    Traceback (most recent call last):
    sequester.errors.InputError: --methods: there is no method 'magic'; sequester methods lists all
    """
    if text is None:
        return None
    names = tuple(dict.fromkeys(each.strip() for each in text.split(",")))
    lines = []
    for name in names:
        if name not in METHODS:
            near = get_close_matches(name, METHODS, 1)
            hint = f"the nearest is {near[0]!r}, and sequester methods lists all" if near else ""
            lines.append(f"--methods: there is no method {name!r}; {hint or 'sequester methods lists all'}")
    if lines:
        raise InputError(*lines)
    return names


def read_settings(texts: Iterable[str]) -> dict[str, list[Any]]:
    """Read every ``--set k=2,5,10``: values are written as in the configuration, text also without quotes.

    Examples
    --------
    >>> read_settings(["k=2,5", "c=1/3,0.5", "strict=true,false", 'patterns=[["a", "b"]],[["c"]]'])
    {'k': [2, 5], 'c': ['1/3', 0.5], 'strict': [True, False], 'patterns': [[['a', 'b']], [['c']]]}
    >>> read_settings(["k"])
    Traceback (most recent call last):
    sequester.errors.InputError: --set must be a parameter and its values, such as k=2,5,10, got 'k'
    """
    read: dict[str, list[Any]] = {}
    lines = []
    for text in texts:
        given = re.fullmatch(r"\s*([A-Za-z_]+)\s*=\s*(\S.*)", text, re.DOTALL)
        if given is None:
            lines.append(f"--set must be a parameter and its values, such as k=2,5,10, got {text!r}")
        elif given[1] in read:
            lines.append(f"--set {given[1]} is given twice; write all its values behind one, with commas")
        else:
            try:
                read[given[1]] = _different(_values(given[2].strip()))
            except ValueError:
                lines.append(f"--set {given[1]}: {given[2]!r} is not a list of values such as 2,5,10")
    if lines:
        raise InputError(*lines)
    return read


def _values(text: str) -> list[Any]:
    try:
        return list(_toml(f"[{text}]"))
    except tomllib.TOMLDecodeError:
        parts = [part.strip() for part in text.split(",")]
    # Text may go without quotes; where there are any, or brackets, everything must be as in TOML.
    if not all(parts) or re.search(r"[\"'\[\]{}]", text):
        raise ValueError(text)
    return [_value(part) for part in parts]


def _value(text: str) -> Any:
    try:
        return _toml(text)
    except tomllib.TOMLDecodeError:
        return text


def _toml(text: str) -> Any:
    if "\n" in text or "\r" in text:
        raise ValueError(text)
    return tomllib.loads(f"value = {text}")["value"]


def _different(values: list[Any]) -> list[Any]:
    """Leave out what was listed before; true is not 1."""
    kept = {repr(value): value for value in values}
    if not kept:
        raise ValueError(values)
    return list(kept.values())


def grid(
    own: Mapping[str, Any] | None,
    *,
    methods: Sequence[str] | None = None,
    settings: Mapping[str, Sequence[Any]] | None = None,
    folder: Path = Path(),
) -> list[Candidate]:
    """List the candidates: `methods`, or all there are, with each combination of the `settings` they have.

    Parameters that are not set come from `own`, the table ``[method]``: its own method has all of them, and
    another has those that it declares alike (same type, same default). A method that lacks a parameter, or
    cannot have a value, is a misfit; where it was named in `methods`, it is an error.

    Examples
    --------
    >>> [each.label for each in grid({"name": "p2ka", "k": 3}, methods=["p2ka"], settings={"k": [2, 5]})]
    ['p2ka k=2', 'p2ka k=5']
    """
    settings = settings or {}
    names = tuple(METHODS) if methods is None else tuple(methods)
    _refuse_unknown(settings, names)
    sizes = (_size(name, settings) for name in names)
    if (asked := sum(sizes)) > MAX_CANDIDATES:
        msg = f"--set makes {asked:,} candidates, at most {MAX_CANDIDATES:,} are compared; list fewer values"
        raise InputError(msg)
    candidates, lines = [], []
    for name in names:
        for each in _points(name, own or {}, settings, folder):
            candidates.append(each)
            if each.misfit and methods is not None:
                lines.append(f"{each.label}: {each.misfit}")
    for parameter, values in settings.items():
        lines += _never_taken(parameter, values, candidates)
    if lines:
        raise InputError(*dict.fromkeys(lines))
    # One that says the same as one before, such as 0.5 beside 1/2, is left out.
    return list({(each.name, repr(each.parameters), each.misfit): each for each in candidates}.values())


def series_grid(own: Method, continues: Path) -> list[Candidate]:
    """List the candidates where a release continues a series: that, and a fresh series of the same input."""
    return [
        Candidate(name=own.name, label=f"{own.name} continued", method=own, continues=continues),
        Candidate(name=own.name, label=f"{own.name} fresh series", method=own),
    ]


def candidates_of(methods: Sequence[object]) -> list[Candidate]:
    """Name each method by the parameters in which it differs from others of its name."""
    values: dict[str, list[dict[str, object]]] = {}
    for method in methods:
        if not isinstance(method, Method):
            msg = f"methods must be methods with their parameters, such as BFP2kA(k=2), got {method!r}"
            raise ParameterError(msg)
        values.setdefault(method.name, []).append(method.parameters())
    varied = {
        name: [key for key in rows[0] if len({repr(row[key]) for row in rows}) > 1]
        for name, rows in values.items()
    }
    return [
        Candidate(
            name=method.name,
            label=label_of(method.name, method.parameters(), varied[method.name]),
            method=method,
        )
        for method in methods
        if isinstance(method, Method)
    ]


def fitting_candidates(
    candidates: Sequence[Candidate], table: EventTable, *, refuse: bool = False
) -> list[Candidate]:
    """Note why a method is not for this table, once where it is always for the same reason.

    Raises
    ------
    InputError
        Where a candidate does not fit, and that is to `refuse` all of them.
    """
    tried = [replace(each, misfit=each.misfit or _misfit(each, table)) for each in candidates]
    lines = dict.fromkeys(f"{each.name}: {each.misfit}" for each in tried if each.misfit)
    if lines and refuse:
        raise InputError(*lines)
    reasons: dict[str, set[str]] = {}
    for each in tried:
        reasons.setdefault(each.name, set()).add(each.misfit)
    kept: dict[object, Candidate] = {}
    for place, each in enumerate(tried):
        if each.misfit and len(reasons[each.name]) == 1:
            kept.setdefault(each.name, replace(each, label=each.name))
        else:
            kept[place] = each
    return list(kept.values())


def _misfit(candidate: Candidate, table: EventTable) -> str:
    method = candidate.method
    if method is None:
        return ""
    if candidate.continues is not None and (refusal := method.series_refusal()):
        return f"cannot make a series of releases: {refusal}"
    try:
        method.accept(method.view(table))
    except InputError as error:
        return one_line(error.lines)
    return ""


def _refuse_unknown(settings: Mapping[str, Sequence[Any]], names: Sequence[str]) -> None:
    known = {name: {each.name for each in parameters_of(METHODS[name])} for name in names}
    lines = [
        f"--set {parameter}: none of the methods has this parameter; they have "
        f"{', '.join(sorted(set().union(*known.values())))}"
        for parameter in settings
        if not any(parameter in each for each in known.values())
    ]
    if lines:
        raise InputError(*lines)


def _size(name: str, settings: Mapping[str, Sequence[Any]]) -> int:
    size = 1
    for each in parameters_of(METHODS[name]):
        size *= len(settings.get(each.name, (None,)))
    return size


def _points(
    name: str, own: Mapping[str, Any], settings: Mapping[str, Sequence[Any]], folder: Path
) -> Iterator[Candidate]:
    declared = parameters_of(METHODS[name])
    varied = [each.name for each in declared if each.name in settings]
    base = {key: value for key, value in _inherited(name, own, declared).items() if key not in varied}
    for values in itertools.product(*(settings[each] for each in varied)):
        given = {**base, **dict(zip(varied, values, strict=True))}
        for each in declared:
            # What is set wins over a file that the configuration names for it.
            if each.name in varied and each.path_key is not None:
                given.pop(each.path_key, None)
        label = label_of(name, given, varied)
        try:
            method = build_method({"name": name, **given}, folder)
        except InputError as error:
            yield Candidate(name=name, label=label, misfit=_reason(error.lines), given=given)
        else:
            label = label_of(name, method.parameters(), varied)
            yield Candidate(name=name, label=label, method=method, given=given)


def _reason(lines: Sequence[str]) -> str:
    """Describe in one line why no method can be made.

    Examples
    --------
    >>> _reason(["method.c is missing; it must be a number", "method.p is missing; it must be a number"])
    'c and p are missing; --set gives them values'
    """
    missing = [found[1] for line in lines if (found := re.match(r"method\.(\w+) is missing;", line))]
    if len(missing) < len(lines):
        return one_line([line.removeprefix("method.").removeprefix("method: ") for line in lines])
    if len(missing) == 1:
        return f"{missing[0]} is missing; --set gives it a value"
    return f"{', '.join(missing[:-1])} and {missing[-1]} are missing; --set gives them values"


def _inherited(name: str, own: Mapping[str, Any], declared: Sequence[Parameter]) -> dict[str, Any]:
    """Take over the parameters of ``[method]`` that mean the same here."""
    if own.get("name") == name:
        return {key: value for key, value in own.items() if key != "name"}
    source = METHODS.get(str(own.get("name")))
    if source is None:
        return {}
    theirs = {each.name: each for each in parameters_of(source)}
    alike = [
        each
        for each in declared
        if (other := theirs.get(each.name)) is not None
        and (other.annotation, other.default) == (each.annotation, each.default)
    ]
    keys = {key for each in alike for key in (each.name, each.path_key) if key is not None}
    return {key: value for key, value in own.items() if key in keys}


def _never_taken(parameter: str, values: Sequence[Any], candidates: Sequence[Candidate]) -> Iterator[str]:
    """Name each value that no method can have, with what is wrong with it."""
    for value in values:
        having = [each for each in candidates if repr(each.given.get(parameter)) == repr(value)]
        wrong = [each for each in having if each.misfit.startswith(f"{parameter} ")]
        if wrong and all(each.misfit for each in having):
            yield f"--set {parameter}: {wrong[0].misfit} ({wrong[0].name})"


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
    continues: Path | None = None
    """The part of a series that it continues; None for a fresh release."""

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


def one_line(lines: Sequence[str]) -> str:
    """Describe in one line what is wrong.

    Examples
    --------
    >>> one_line(["there is no symbol", "column 'a' has the role quasi", "column 'b' has the role quasi"])
    'there is no symbol (and 2 more)'
    """
    more = len(lines) - 1
    return lines[0] + (f" (and {more:,} more)" if more > 0 else "")


def file_name(label: str, key: str) -> str:
    """Return a name for files that any system takes, and no other candidate has.

    Examples
    --------
    >>> file_name("halt k=5 c=1/3", "0123456789abcdef")
    'halt-k5-c1-3-01234567'
    """
    words = re.sub(r"[^A-Za-z0-9.]+|\.{2,}", "-", label.replace("=", "")).strip("-.")
    return f"{words[:_LONGEST]}-{key[:8]}"


def _short(value: object) -> str:
    text = parameter_text(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
