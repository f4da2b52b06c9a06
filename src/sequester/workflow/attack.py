"""Attack a release with simulated adversaries, and compare the risks with what it claims."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sequester.attacks import attack_tables
from sequester.attacks.attack import KNOWN, model_attacks
from sequester.attacks.context import TARGETS, Case
from sequester.attacks.linkage import beside_one, lay_side_by_side
from sequester.attacks.risk import Risks
from sequester.data.table import EventTable
from sequester.datasets import SEED
from sequester.engine import LocalEngine, part, silent
from sequester.errors import InputError, SchemaError
from sequester.hierarchies.labels import ROOT, listed
from sequester.methods import METHODS
from sequester.methods.relax import run_trial
from sequester.privacy import MODELS
from sequester.privacy.model import HISTORIES, RecordModel
from sequester.release.certificate import rebuild_table
from sequester.release.folder import PSEUDONYMS, read_certificate
from sequester.release.release import PERSON
from sequester.verification.claim import claimed_model
from sequester.verification.original import align_to_original, check_pseudonyms, read_pseudonyms, with_owners
from sequester.verification.verify import find_pseudonyms, open_parts, release_folder
from sequester.workflow.config import Config
from sequester.workflow.run import SILENT, RunContext

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import polars as pl

    from sequester._typing import Codes
    from sequester.attacks import Risk
    from sequester.attacks.context import Replay, Replayed
    from sequester.data.sequences import Sequences
    from sequester.engine import Engine, Progress
    from sequester.methods.method import Method
    from sequester.privacy import PrivacyModel
    from sequester.release.release import Release


MAIN_CELLS, MOST_CELLS = 1_000_000_000, 2_000_000_000
"""Cells times targets that the main attacks, and all of them, go through, unless that would be too few."""
MAIN_TARGETS, FEWEST_TARGETS = 1_000, 100
"""Targets of every kind of knowledge: of the main attacks on small tables, and of all on the largest."""
ONE_PERSON = "attacks that look for a person among others were left out, because the data has one person"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackResult:
    """What all adversaries achieved against a release."""

    risks: tuple[Risk, ...]
    """One for each adversary, kind of knowledge and number of items."""
    model: str
    """The promise of the release, by the name of its class."""

    def __bool__(self) -> bool:
        return not self.beaten

    @property
    def beaten(self) -> tuple[Risk, ...]:
        """Risks above what the release claims."""
        return tuple(risk for risk in self.risks if not risk.is_within)

    def to_json(self) -> dict[str, Any]:
        """Return the document that ``attack --json`` prints."""
        return {
            "holds": not self.beaten,
            "model": self.model,
            "attacks": [risk.to_json() for risk in self.risks],
        }


def attack(
    release: Release,
    *,
    original: EventTable,
    held_out: EventTable | None = None,
    groups: Mapping[str, str] | None = None,
    known: Sequence[int] = KNOWN,
    targets: int = TARGETS,
    seed: str | None = None,
    thorough: bool = True,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> Risks:
    """Attack a release with adversaries who have real background knowledge.

    Targets are persons of `original`. Their items are looked for in the release, in the original and in a
    control. Each risk has the bound that the release claims against this adversary, if it claims one.

    Parameters
    ----------
    release
        The release to attack.
    original
        The table that it was made from: background knowledge is drawn from it.
    held_out
        Persons who are not in the release, for the control; see `sequester.attacks.hold_out`. By default the
        control is the release with its values permuted.
    groups
        Protected value to its group of similar values; by default, hierarchies and rules of protection say
        which are similar.
    known
        Numbers of items that the adversary knows.
    targets
        How many persons are attacked.
    seed
        Draws the targets and what is known of them.
    thorough
        Run all attacks. Otherwise only the main ones run: singling out, linkage and inference with the
        knowledge that the promise speaks of and with the strongest beyond it, and the attacks on this kind of
        promise.
    engine
        Where the work runs.
    progress
        Called with the share of the work that is done, and what is done next.

    Returns
    -------
    Risks
        A list with one `Risk` per adversary, number of known items and kind of knowledge; its ``notes`` say
        what was not tried.

    Raises
    ------
    SchemaError
        If `original` or `held_out` is no table, or does not fit the release.
    ParameterError
        If `known` or `targets` is out of range.

    Examples
    --------
    >>> import polars as pl
    >>> from sequester.data.schema import Schema
    >>> from sequester.methods import BFP2kA
    >>> frame = pl.DataFrame({"user": list("aabbcc"), "n": [1, 2] * 3, "page": list("xyxyxz")})
    >>> table = EventTable(frame, Schema(person="user", order="n", symbol="page"))
    >>> release = BFP2kA(k=2).apply(table)
    >>> for risk in attack(release, original=table, known=(2,)):
    ...     if risk.name == "prosecutor" and risk.kind == "ordered":
    ...         print(risk.raw.value, risk.bound, risk.is_within)
    1.0 0.5 True
    """
    for name, table in {"original": original, "held_out": original if held_out is None else held_out}.items():
        given: object = table  # Python lets anything through.
        if not isinstance(given, EventTable):
            msg = f"{name} must be an EventTable, got {type(given).__name__}"
            raise SchemaError(msg)
    notes: list[str] = []
    has_persons = not isinstance(release.model, RecordModel)
    case = Case(
        tables=release.tables,
        released=release.table if has_persons else None,
        # Records have the attributes of their persons among their own.
        original=original if has_persons else original.with_attributes,
        method=release.method,
        parameters=release.parameters,
        known=known,
        targets=targets,
        seed=SEED if seed is None else seed,
        thorough=thorough,
        engine=engine,
        progress=progress,
        warn=notes.append,
    )
    risks = _attack(
        release.model,
        case,
        method_of(release),
        release.pseudonyms,
        held_out=held_out,
        groups=groups,
        thorough=thorough,
    )
    return Risks(risks, notes)


def attack_release(
    *folders: str | os.PathLike[str],
    original: str | Path | Config,
    held_out: str | Path | Config | None = None,
    known: Sequence[int] = KNOWN,
    targets: int | None = None,
    seed: str | None = None,
    thorough: bool = False,
    run: RunContext = SILENT,
) -> AttackResult:
    """Attack the release in the first folder; `original` is the configuration that it was made from.

    Other `folders` are releases of the same people. Parts of one series are joined by their pseudonyms, and
    attacked as one release; others are laid side by side by who is who. `held_out` is a configuration of
    persons who are not in the release, for the control. Unless `targets` says how many are tried, they are
    10,000, or fewer where the table is large or wide. With `thorough` they are never fewer, and attacks run,
    too, that take minutes.

    Raises
    ------
    InputError
        Where a folder is no release or not as certified, or the configuration or its data is at fault.
    """
    run.progress(0.0, "reading the release")
    places = [release_folder(each) if len(folders) > 1 else Path(each) for each in folders]
    parts = _series_of(places)
    opened = open_parts(*(parts or places[:1]))
    config = Config.load(original)
    run.progress(0.1, "reading the original")
    table = config.table(run.warn, engine=run.engine)
    absent = None
    if held_out is not None:
        run.progress(0.15, "reading held-out persons")
        absent = Config.load(held_out).table(run.warn, engine=run.engine)
    if targets is None:
        targets = TARGETS if thorough else targets_for(table.n_events, len(table.schema.quasi), main=False)
        if targets < TARGETS:
            run.warn(
                f"{targets:,} targets are tried of each kind of knowledge, not {TARGETS:,}, because there is "
                "much data: --targets or --thorough tries more"
            )
    method = None if config.settings.method is None else config.method()
    certificate = opened.certificate
    model = claimed_model(certificate, None if method is None else method.model().about(table))
    # What may not be published, such as patterns, is in the configuration.
    if method is not None and method.name != certificate.method:
        method = None
    released, pseudonyms = None, None
    if isinstance(model, RecordModel):
        table = table.with_attributes
    else:
        released = rebuild_table(opened.tables, certificate, opened.hierarchies)
        pseudonyms = load_pseudonyms(parts[-1] if parts else places[0], opened.frame, table)
        if table.owners is not None and pseudonyms is None:
            run.warn(f"no {PSEUDONYMS} was found, so released trips are counted, and not persons")
    case = Case(
        tables=opened.tables,
        released=released,
        original=table,
        method=certificate.method,
        parameters={**({} if method is None else method.parameters()), **certificate.parameters},
        known=known,
        targets=targets,
        seed=SEED if seed is None else seed,
        thorough=thorough,
        engine=run.engine,
        progress=part(run.progress, 0.2, 1.0),
        warn=run.warn,
    )
    risks = _attack(model, case, method, pseudonyms, held_out=absent)
    if len(places) > 1 and not parts:
        risks += _attack_side_by_side(places, case)
    return AttackResult(risks=tuple(risks), model=certificate.model)


def _series_of(folders: Sequence[Path]) -> list[Path]:
    """Return the parts of one series in their order; nothing where the releases are of none, or several."""
    links = {folder: read_certificate(folder) for folder in folders}
    numbers = {folder: each.series.part for folder, (each, _) in links.items() if each.series is not None}
    ordered = sorted(numbers, key=lambda folder: numbers[folder])
    hashes = [links[folder][1] for folder in ordered]
    named = [link.continues for folder in ordered[1:] if (link := links[folder][0].series) is not None]
    is_one = len(ordered) == len(folders) > 1 and hashes[:-1] == named
    return ordered if is_one else []


def _attack_side_by_side(folders: Sequence[Path], case: Case) -> list[Risk]:
    """Attack independent releases of the same people together, beside the first of them alone."""
    tables, names = [], []
    for folder in folders:
        opened = open_parts(folder)
        path = find_pseudonyms(folder)
        if path is None:
            msg = (
                f"{folder}: no {PSEUDONYMS} in internal/ beside it, and releases of the same people are laid "
                "side by side by who is who: make them with [release] pseudonyms = true"
            )
            raise InputError(msg)
        promise = MODELS.get(opened.certificate.model)
        if PERSON not in opened.frame.columns or promise is None or HISTORIES not in promise.layouts:
            msg = f"{folder}: {opened.certificate.model} is about records or symbols, which are not compared"
            raise InputError(msg)
        tables.append(rebuild_table(opened.tables, opened.certificate, opened.hierarchies).events)
        names.append(dict(read_pseudonyms(path).select("pseudonym", "person").iter_rows()))
    together, alone = (
        attack_tables(
            each,
            original=case.original.events,
            known=case.known,
            targets=case.targets,
            seed=case.seed,
            thorough=False,
            engine=case.engine,
        )
        for each in (lay_side_by_side(tables, names), tables[0])
    )
    return beside_one(together, alone)


def targets_for(n_events: int, n_columns: int, *, main: bool = True) -> int:
    """Return how many targets the `main` attacks, or all of them, can try in about half a minute.

    Where a table has more events or quasi-identifiers, fewer are tried, so that it takes no longer.

    Examples
    --------
    >>> [targets_for(n_events, 5) for n_events in (12_000, 1_000_000, 50_000_000)], targets_for(100_000, 50)
    ([1000, 200, 100], 200)
    >>> targets_for(10_000, 5, main=False), targets_for(100_000, 50, main=False)
    (10000, 400)
    """
    cells, columns, most = (MAIN_CELLS, 5, MAIN_TARGETS) if main else (MOST_CELLS, 1, TARGETS)
    return min(max(cells // max(n_events * max(n_columns, columns), 1), FEWEST_TARGETS), most)


def _attack(
    model: PrivacyModel,
    case: Case,
    method: Method | None,
    pseudonyms: pl.DataFrame | None,
    *,
    held_out: EventTable | None = None,
    groups: Mapping[str, str] | None = None,
    thorough: bool = True,
) -> list[Risk]:
    """Run the attacks that apply to a release of `method`, those on its promise last."""
    case = replace(case, **background_knowledge(method, case.released, case.original, pseudonyms))
    risks: list[Risk] = []
    is_crowd = case.original.n_owners != 1
    if case.released is not None:
        _check_original(case.released, case.original)
    if case.released is not None and not is_crowd:
        case.warn(ONE_PERSON)
    elif case.released is not None:
        risks = attack_tables(
            case.released,
            original=case.original,
            model=model,
            held_out=held_out,
            groups=groups,
            owners=_owners(case.released, case.original, pseudonyms),
            thorough=thorough,
            known=case.known,
            targets=case.targets,
            seed=case.seed,
            engine=case.engine,
            progress=part(case.progress, 0.0, 0.8),
        )
    risks += model_attacks(model, replace(case, progress=part(case.progress, 0.8, 1.0)))
    if not risks and is_crowd:
        msg = f"no attack applies: the release claims {type(model).__name__} for records without persons"
        raise InputError(msg)
    return risks


def _owners(released: EventTable, original: EventTable, pseudonyms: pl.DataFrame | None) -> Codes | None:
    """Return whose each released trip is; None where there are no trips, or it is not known."""
    if original.owners is None or pseudonyms is None:
        return None
    return with_owners(pseudonyms, released).owners


def _check_original(released: EventTable, original: EventTable) -> None:
    """Refuse an original that has other columns or values than the release, or fewer persons."""
    if (released.symbol is None) != (original.symbol is None):
        msg = (
            "the release and the original do not fit: one has a symbol per event, the other has "
            "quasi-identifiers"
        )
        raise InputError(msg)
    pairs = {name: name for name in (*released.schema.quasi, *released.schema.sensitive_columns)}
    if released.symbol is not None and original.symbol is not None:
        pairs = {released.symbol: original.symbol}
    for name, own in pairs.items():
        if own not in original.labels:
            msg = f"the release has the column {name!r}, and the original has no such column"
            raise InputError(msg)
        tree = original.hierarchies.get(own)
        known = original.labels[own] if tree is None else tree.labels
        strange = set(released.labels[name]).difference(known, [ROOT])
        if strange:
            msg = (
                f"column {name!r} of the release has {listed(strange)}, which the original has neither as a "
                "value nor in a hierarchy: give the configuration that the release was made from"
            )
            raise InputError(msg)
    if released.n_persons > original.n_persons:
        msg = f"the release has {released.n_persons:,} persons, and the original {original.n_persons:,}"
        raise InputError(msg)


def background_knowledge(
    method: Method | None,
    released: EventTable | None,
    original: EventTable,
    pseudonyms: pl.DataFrame | None,
) -> dict[str, Any]:
    """Return the parts of a case that only an internal attack knows of a release of `method`."""
    return {
        "histories": _histories(released, original, pseudonyms),
        "replay": None if method is None else _replay(method),
        "stream": None if method is None else method.stream_of(original),
    }


def method_of(release: Release) -> Method | None:
    """Make the method that a release came from; None where it is not one of ours."""
    kind = METHODS.get(release.method)
    return None if kind is None else kind(**release.parameters)


def load_pseudonyms(
    folder: str | os.PathLike[str], frame: pl.DataFrame, original: EventTable
) -> pl.DataFrame | None:
    """Read the pseudonyms beside a release; None where they were not kept."""
    path = find_pseudonyms(Path(folder))
    if path is None:
        return None
    findings = check_pseudonyms(path, frame, original)
    if findings:
        raise InputError(*findings)
    return read_pseudonyms(path)


def _histories(
    released: EventTable | None, original: EventTable, pseudonyms: pl.DataFrame | None
) -> Sequences | None:
    if released is None or pseudonyms is None or released.symbol is None or original.owners is not None:
        return None
    if not pseudonyms["person"].is_in(original.persons.implode()).all():
        # Another original: what it says of these persons is looked at where tables are compared.
        return None
    return align_to_original(pseudonyms, released, original)


def _replay(method: Method) -> Replay:
    def replay(table: EventTable) -> Replayed:
        # The same coins every time: whatever differs comes from the table.
        return run_trial(method, table, seed=SEED, engine=LocalEngine(threads=1, shards=1))

    return replay
