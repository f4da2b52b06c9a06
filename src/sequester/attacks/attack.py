"""Run all attacks that fit a release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, get_args

from sequester.attacks.background_knowledge import BEYOND, kinds_for
from sequester.attacks.bounds import bound_of
from sequester.attacks.context import TARGETS, AttackContext, coded_kept
from sequester.attacks.inference import Inference, Presence, has_numbers, similar_values
from sequester.attacks.linkage import Linkage, LinkageMeasure
from sequester.attacks.narrowing import refinement_risk
from sequester.attacks.singling_out import singling_out_risks
from sequester.datasets import SEED
from sequester.engine import silent
from sequester.errors import ParameterError
from sequester.hierarchies.labels import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sequester._typing import Codes
    from sequester.attacks.background_knowledge import KnowledgeKind
    from sequester.attacks.linkage import Adversary
    from sequester.attacks.risk import Risk
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress

FEW = 5
"""Candidates that are few where the release claims no other number."""
KNOWN = (1, 2, 3)
"""Items that somebody may know."""
NARROWED: tuple[LinkageMeasure, ...] = ("unique", "below_k", "prosecutor", "marketer")
"""What is counted again once values are narrowed by those that they depend on."""


def attack_tables(
    released: EventTable,
    *,
    original: EventTable,
    model: object = None,
    held_out: EventTable | None = None,
    owners: Codes | None = None,
    known: Sequence[int] = KNOWN,
    kinds: Sequence[KnowledgeKind] | None = None,
    groups: Mapping[str, str] | None = None,
    targets: int = TARGETS,
    seed: str = SEED,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> list[Risk]:
    """Run every attack that fits the tables; risks carry the bound that `model` claims for them.

    The control is the same adversary against persons who were `held_out`, or, where there are none, against
    the release with its values permuted. Where persons have trips, `owners` tells whose each released
    one is, so that persons are counted. `groups` leads from protected labels to groups of similar ones; by
    default they are what `similar_values` finds.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.data.table import EventTable
    >>> frame = pl.DataFrame({"user": list("112233"), "n": [1, 2] * 3, "page": list("ababba")})
    >>> table = EventTable(frame, Schema(person="user", order="n", symbol="page"))
    >>> for risk in attack_tables(table, original=table, known=[2], kinds=["ordered"])[:7]:
    ...     print(risk.name, round(risk.value, 2))
    candidates 0.5
    unique 0.33
    below_k 1.0
    prosecutor 1.0
    journalist 1.0
    marketer 0.67
    absence 0.0
    """
    _check_known(known)
    groups = similar_values(original) if groups is None else groups
    prepare = partial(
        AttackContext.of, owners=owners, targets=targets, seed=seed, groups=groups, engine=engine
    )
    context = prepare(released, original, held_out=held_out)
    exact = kinds is None
    kept = coded_kept(original) if kinds is None or any(kind in BEYOND for kind in kinds) else []
    beyond = context
    if kept:
        # Apart, because persons who differ in kept columns only are one to all other adversaries.
        beyond = prepare(
            released.with_kept(kept),
            original.with_kept(kept),
            held_out=None if held_out is None else held_out.with_kept(kept),
        )
    kinds = kinds_for(original, beyond.ground) if kinds is None else kinds
    rounds = [(kind, size) for kind in kinds for size in known]
    risks: list[Risk] = []
    for place, (kind, size) in enumerate(rounds):
        progress(place / len(rounds), f"attacking ({kind}, {size} known)")
        where = beyond if kind in BEYOND else context
        risks += [
            replace(adversary.judge(where), bound=bound_of(model, adversary))
            for adversary in _adversaries(where, kind, size, k=getattr(model, "k", FEW), groups=groups)
        ]
        where.forget()
    if context.narrowing is not None:
        risks.append(refinement_risk(context, context.narrowing))
    if exact:
        risks += singling_out_risks(released, original, seed=seed)
    progress(1.0, "attacked")
    return risks


def _check_known(known: object) -> None:
    """Raise `ParameterError` for anything but numbers of items."""
    sizes = list(known) if isinstance(known, Iterable) and not isinstance(known, str) else [known]
    for size in sizes or ["none"]:
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            msg = f"known must be whole numbers of at least 1, got {size!r}"
            raise ParameterError(msg)
    if not isinstance(known, Sequence):
        msg = f"known must be a list of whole numbers, got {known!r}"
        raise ParameterError(msg)


def _adversaries(
    context: AttackContext, kind: KnowledgeKind, known: int, *, k: int, groups: Mapping[str, str]
) -> Iterator[Adversary]:
    for measure in get_args(LinkageMeasure):
        yield Linkage(kind=kind, known=known, measure=measure, k=k)
    has_stars = any(ROOT in labels for labels in context.released.labels.values())
    if has_stars:
        yield Linkage(kind=kind, known=known, shown=True)
    is_narrowed = kind not in BEYOND and context.narrowing is not None
    if is_narrowed:
        for measure in NARROWED:
            yield Linkage(kind=kind, known=known, measure=measure, k=k, narrowed=True)
    yield Presence(kind=kind, known=known, measure="absence")
    yield Presence(kind=kind, known=known, measure="membership")
    # Where only one value is protected and it is known, there is none to find out.
    if len(context.ground.names) > (kind == "protected"):
        yield Inference(kind=kind, known=known, measure="confidence")
        yield Inference(kind=kind, known=known, measure="confidence", shown=True)
        yield Inference(kind=kind, known=known, measure="at_risk")
        yield Inference(kind=kind, known=known, measure="guess")
        if is_narrowed:
            yield Inference(kind=kind, known=known, measure="confidence", narrowed=True)
        if groups:
            yield Inference(kind=kind, known=known, measure="group", groups=groups)
        if has_numbers(context):
            yield Inference(kind=kind, known=known, measure="close")
