"""Attack a release in every way that fits it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, get_args

from sequester.attacks.bounds import bound_of
from sequester.attacks.given_back import given_back
from sequester.attacks.inference import Inference, has_numbers
from sequester.attacks.kept import coded_kept
from sequester.attacks.linkage import Linkage, LinkageMeasure
from sequester.attacks.pieces import BEYOND, kinds_for
from sequester.attacks.presence import Presence
from sequester.attacks.record_risks import singled_out
from sequester.attacks.similar import similar_values
from sequester.attacks.world import TARGETS, World
from sequester.datasets import SEED
from sequester.engine import silent
from sequester.errors import ParameterError
from sequester.hierarchies.labels import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sequester._typing import Codes
    from sequester.attacks.adversary import Adversary
    from sequester.attacks.pieces import PieceKind
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
    kinds: Sequence[PieceKind] | None = None,
    groups: Mapping[str, str] | None = None,
    targets: int = TARGETS,
    seed: str = SEED,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> list[Risk]:
    """Let every adversary who fits the tables try; risks carry the bound that `model` claims for them.

    The control is the same adversary against persons who were `held_out`, or, where there are none, against
    the release with its values dealt out anew. Where persons have trips, `owners` tells whose each released
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
    prepare = partial(World.of, owners=owners, targets=targets, seed=seed, groups=groups, engine=engine)
    world = prepare(released, original, held_out=held_out)
    exact = kinds is None
    kept = coded_kept(original) if kinds is None or any(kind in BEYOND for kind in kinds) else []
    beyond = world
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
        where = beyond if kind in BEYOND else world
        risks += [
            replace(adversary.judge(where), bound=bound_of(model, adversary))
            for adversary in _adversaries(where, kind, size, k=getattr(model, "k", FEW), groups=groups)
        ]
        where.forget()
    if world.narrowing is not None:
        risks.append(given_back(world, world.narrowing))
    if exact:
        risks += singled_out(released, original, seed=seed)
    progress(1.0, "attacked")
    return risks


def _check_known(known: object) -> None:
    """Refuse anything but numbers of items; Python lets anything through."""
    sizes = list(known) if isinstance(known, Iterable) and not isinstance(known, str) else [known]
    for size in sizes or ["none"]:
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            msg = f"known must be whole numbers of at least 1, got {size!r}"
            raise ParameterError(msg)
    if not isinstance(known, Sequence):
        msg = f"known must be a list of whole numbers, got {known!r}"
        raise ParameterError(msg)


def _adversaries(
    world: World, kind: PieceKind, known: int, *, k: int, groups: Mapping[str, str]
) -> Iterator[Adversary]:
    for measure in get_args(LinkageMeasure):
        yield Linkage(kind=kind, known=known, measure=measure, k=k)
    has_stars = any(ROOT in labels for labels in world.released.labels.values())
    if has_stars:
        yield Linkage(kind=kind, known=known, shown=True)
    is_narrowed = kind not in BEYOND and world.narrowing is not None
    if is_narrowed:
        for measure in NARROWED:
            yield Linkage(kind=kind, known=known, measure=measure, k=k, narrowed=True)
    yield Presence(kind=kind, known=known, measure="absence")
    yield Presence(kind=kind, known=known, measure="membership")
    # Where only one value is protected and it is known, there is none to find out.
    if len(world.ground.names) > (kind == "protected"):
        yield Inference(kind=kind, known=known, measure="confidence")
        yield Inference(kind=kind, known=known, measure="confidence", shown=True)
        yield Inference(kind=kind, known=known, measure="at_risk")
        yield Inference(kind=kind, known=known, measure="guess")
        if is_narrowed:
            yield Inference(kind=kind, known=known, measure="confidence", narrowed=True)
        if groups:
            yield Inference(kind=kind, known=known, measure="group", groups=groups)
        if has_numbers(world):
            yield Inference(kind=kind, known=known, measure="close")
