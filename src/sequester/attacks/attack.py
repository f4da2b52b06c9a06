"""Run the attacks that fit a release: those that a board asks for, or all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from sequester.attacks.background_knowledge import BEYOND, kinds_for
from sequester.attacks.candidate_sets import telling_column
from sequester.attacks.context import AttackContext, coded_kept
from sequester.attacks.inference import Inference, Presence, has_numbers, similar_values
from sequester.attacks.linkage import Linkage, LinkageMeasure, bound_of
from sequester.attacks.minimality import attack_destinations, attack_minimality
from sequester.attacks.mutual_information import attack_positions
from sequester.attacks.narrowing import refinement_risk
from sequester.attacks.pattern_hiding import attack_hidden
from sequester.attacks.singling_out import singling_out_risks
from sequester.attacks.snapshots import attack_snapshots
from sequester.engine import LocalEngine, part, silent
from sequester.errors import ParameterError
from sequester.hierarchies.labels import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Unpack

    from sequester.attacks.background_knowledge import KnowledgeKind
    from sequester.attacks.context import Case, ContextOptions
    from sequester.attacks.linkage import Adversary
    from sequester.attacks.risk import Risk
    from sequester.data.table import EventTable
    from sequester.engine import Engine, Progress
    from sequester.privacy.model import PrivacyModel

FEW = 5
"""Candidates that are few where the release claims no other number."""
KNOWN = (1, 2, 3)
"""Items that an adversary may know."""
NARROWED: tuple[LinkageMeasure, ...] = ("unique", "below_k", "prosecutor", "marketer")
"""What is counted again once values are narrowed by those that they depend on."""
_PLAIN: tuple[KnowledgeKind, ...] = ("ordered", "event")
"""The kinds that stand for all others where a promise bounds none."""
_STRONGEST: tuple[KnowledgeKind, ...] = ("released", "kept", "gaps", "count")
"""Kinds that promises rarely cover, the strongest first."""


def attack_tables(
    released: EventTable,
    *,
    original: EventTable,
    model: object = None,
    known: Sequence[int] = KNOWN,
    kinds: Sequence[KnowledgeKind] | None = None,
    thorough: bool = True,
    engine: Engine | None = None,
    progress: Progress = silent,
    **options: Unpack[ContextOptions],
) -> list[Risk]:
    """Run every attack that fits the tables; risks carry the bound that `model` claims for them.

    Without `thorough`, only the main attacks run: singling out, linkage and inference with the kinds and
    numbers of items that the promise bounds, and with the strongest knowledge beyond it; see `main_rounds`.

    The control is the same adversary against persons who were held out, or, where there are none, against
    the release with its values permuted. See `ContextOptions` for `options`; groups are by default what
    `similar_values` finds.

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
    engine = engine or LocalEngine()
    if options.get("groups") is None:
        options["groups"] = similar_values(original.histories)
    context, beyond = _contexts(released.histories, original.histories, kinds, options)
    chosen = kinds_for(context.original, beyond.domain) if kinds is None else kinds
    main = main_rounds(model, chosen, known, context)
    rounds = [(kind, size) for kind in chosen for size in known] if thorough else main
    progress(0.0, "attacking")
    shared = _AttackRounds(context, beyond, model, main, thorough)
    _read_evidence(shared, [kind for kind, _ in rounds], engine, part(progress, 0.0, 0.2))
    done = engine.map(_attack, rounds, shared=shared, progress=part(progress, 0.2, 0.9), phase="attacking")
    risks = [risk for each in done for risk in each]
    if context.narrowing is not None:
        risks.append(refinement_risk(context, context.narrowing))
    if kinds is None:
        risks += singling_out_risks(context.released, context.original, seed=context.seed)
    progress(1.0, "attacked")
    return risks


def _contexts(
    released: EventTable,
    original: EventTable,
    kinds: Sequence[KnowledgeKind] | None,
    options: ContextOptions,
) -> tuple[AttackContext, AttackContext]:
    """Prepare release, original and persons who were held out; and the same with the kept columns coded.

    They are apart, because persons who differ in kept columns only are one to all other adversaries. Where
    nobody knows kept columns, both are the same.
    """
    absent = options.get("held_out")
    options["held_out"] = absent = None if absent is None else absent.histories
    # Rounds run side by side, so that nothing within them has to.
    prepare = partial(AttackContext, engine=LocalEngine(threads=1, shards=1))
    context = prepare(released, original, **options)
    kept = coded_kept(original) if kinds is None or any(kind in BEYOND for kind in kinds) else []
    if not kept:
        return context, context
    options["held_out"] = None if absent is None else absent.with_kept(kept)
    return context, prepare(released.with_kept(kept), original.with_kept(kept), **options)


class _AttackRounds(NamedTuple):
    """What all rounds of an attack have in common."""

    context: AttackContext
    beyond: AttackContext
    """The same with kept columns; for knowledge of these."""
    model: object
    main: list[tuple[KnowledgeKind, int]]
    thorough: bool

    def where(self, kind: KnowledgeKind) -> AttackContext:
        """Return the context that knowledge of the kind is for."""
        return self.beyond if kind in BEYOND else self.context


def _read_evidence(
    shared: _AttackRounds, kinds: Sequence[KnowledgeKind], engine: Engine, progress: Progress
) -> None:
    """Read what adversaries with such knowledge look at, side by side."""
    places = [shared.context] if shared.beyond is shared.context else [shared.context, shared.beyond]
    for number, where in enumerate(places):
        where.prepare(
            [kind for kind in kinds if shared.where(kind) is where],
            engine=engine,
            narrowed=shared.thorough and where is shared.context,
            progress=part(progress, number / len(places), (number + 1) / len(places)),
        )


def _attack(chosen: tuple[KnowledgeKind, int], shared: _AttackRounds) -> list[Risk]:
    """Run the adversaries who know so many items of a kind."""
    kind, size = chosen
    model, thorough = shared.model, shared.thorough
    where = shared.where(kind)
    first = _main_adversaries(where, kind, size, model) if chosen in shared.main else ()
    k = getattr(model, "k", FEW)
    others = _adversaries(where, kind, size, k=k) if thorough else ()
    main = {each.name: each for each in first}
    run = {each.name: each for each in others} | main
    found = [
        replace(each.judge(where), bound=bound_of(model, each), main=each.name in main)
        for each in run.values()
    ]
    where.forget(kind, size)
    return found


def main_rounds(
    model: object, kinds: Sequence[KnowledgeKind], known: Sequence[int], context: AttackContext
) -> list[tuple[KnowledgeKind, int]]:
    """Choose the knowledge that a board asks about: what the promise bounds, and the strongest beyond it.

    Of each kind that the promise bounds, adversaries know as many items as it speaks of; every item is also
    tried alone, so that rare ones are met. Beyond, they know one more kind, and more items than promised. A
    kind that can only leave more candidates than another one of the list is left out.
    """
    most = max(known)
    bounded: dict[KnowledgeKind, int] = {}
    for kind in kinds:
        sizes = [size for size in known if _is_bounded(model, kind, size)]
        if sizes:
            bounded[kind] = max(sizes)
    speaks_of = max(bounded.values(), default=most)
    if context.domain.n_open == 1 and "ordered" in bounded:
        bounded.pop("anywhere", None)
    if bounded.get("mixed") == speaks_of:
        bounded.pop("generalized", None)
    elif "generalized" in bounded:
        bounded.pop("mixed", None)
    chosen = bounded or {kind: most for kind in kinds if kind in _PLAIN} or dict.fromkeys(kinds, most)
    rounds = list(chosen.items())
    # Items that are known at any level include those that are known as they are.
    singles: tuple[KnowledgeKind, ...] = ("mixed", "generalized", "ordered")
    rounds += [(kind, 1) for kind in singles if kind in chosen and 1 in known][:1]
    beyond = [
        kind
        for kind in _STRONGEST
        if kind in kinds and kind not in bounded and (kind != "gaps" or _tells_time(context))
    ]
    rounds += [(kind, most) for kind in beyond[:1]]
    if speaks_of < most and "ordered" in kinds:
        rounds.append(("ordered", most))
    return list(dict.fromkeys(rounds))


def _is_bounded(model: object, kind: KnowledgeKind, known: int) -> bool:
    """Return whether the promise bounds an adversary with such knowledge."""
    return any(
        bound_of(model, adversary(kind=kind, known=known, shown=shown)) is not None
        for shown in (False, True)
        for adversary in (Linkage, Inference)
    )


def _tells_time(context: AttackContext) -> bool:
    """Return whether the release tells when events were, so that days between them can be compared."""
    return context.released.times is not None or telling_column(context.original, context.domain) >= 0


def _main_adversaries(
    context: AttackContext, kind: KnowledgeKind, known: int, model: object
) -> Iterator[Adversary]:
    """Yield who singles out, links and infers; a star fits nothing where the promise bounds only that."""
    adversaries: list[Adversary] = [
        Linkage(kind=kind, known=known, measure="unique"),
        Linkage(kind=kind, known=known, measure="prosecutor"),
    ]
    if kind in _PLAIN:
        adversaries.append(Linkage(kind=kind, known=known, measure="marketer"))
    if len(context.domain.names) > (kind == "protected"):
        adversaries.append(Inference(kind=kind, known=known, measure="confidence"))
    for each in adversaries:
        shown = replace(each, shown=True)
        yield shown if bound_of(model, each) is None and bound_of(model, shown) is not None else each


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


def _adversaries(context: AttackContext, kind: KnowledgeKind, known: int, *, k: int) -> Iterator[Adversary]:
    for measure in get_args(LinkageMeasure):
        if measure != "found":  # asked by `compare` alone
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
    if len(context.domain.names) > (kind == "protected"):
        yield Inference(kind=kind, known=known, measure="confidence")
        yield Inference(kind=kind, known=known, measure="confidence", shown=True)
        yield Inference(kind=kind, known=known, measure="at_risk")
        yield Inference(kind=kind, known=known, measure="guess")
        if is_narrowed:
            yield Inference(kind=kind, known=known, measure="confidence", narrowed=True)
        if context.groups:
            yield Inference(kind=kind, known=known, measure="group")
        if has_numbers(context):
            yield Inference(kind=kind, known=known, measure="close")


MODEL_ATTACKS: dict[str, Callable[[Any, Case], list[Risk]]] = {
    "minimality": attack_minimality,
    "positions": attack_positions,
    "hidden patterns": attack_hidden,
    "whole sequences": attack_destinations,
    "snapshots": attack_snapshots,
}
"""What a promise names in `attacks`, to the function that returns the risks of all its adversaries."""


def model_attacks(model: PrivacyModel, case: Case) -> list[Risk]:
    """Return the risks of the attacks on this promise only; none where it names none."""
    if not model.attacks:
        return []
    case.progress(0.0, f"attacking ({model.attacks})")
    risks = MODEL_ATTACKS[model.attacks](model, case)
    case.progress(1.0, "attacked")
    return risks
