"""Attacks a release: lets every adversary try who fits it, and compares with what it claims."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sequester.attacks import attack_tables
from sequester.attacks.attack import KNOWN
from sequester.attacks.special import Case, special_attacks
from sequester.attacks.world import TARGETS
from sequester.bundle.open import open_release
from sequester.data.table import EventTable
from sequester.datasets import SEED
from sequester.engine import part, silent
from sequester.errors import InputError, SchemaError
from sequester.privacy.model import RecordModel
from sequester.verify.claim import claimed_model, rebuild
from sequester.workflow.background import background, method_of, who_is_who
from sequester.workflow.config import Config
from sequester.workflow.hearing import hearing, keep_quiet

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

    from sequester.attacks import Risk
    from sequester.engine import Engine, Progress
    from sequester.privacy import PrivacyModel
    from sequester.release.release import Release
    from sequester.workflow.hearing import Warn


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
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
        """Give the document that ``attack --json`` prints."""
        return {
            "holds": not self.beaten,
            "model": self.model,
            "attacks": [risk.to_json() for risk in self.risks],
        }


def attack(
    release: Release,
    *,
    original: EventTable,
    known: Sequence[int] = KNOWN,
    targets: int = TARGETS,
    seed: str | None = None,
    engine: Engine | None = None,
    progress: Progress = silent,
) -> list[Risk]:
    """Let adversaries with real background knowledge try a release.

    They know up to so many items of persons of `original`, drawn by the seed, of every kind that the table
    allows, and look for them in the release, in the original and in a control. Each risk carries the bound
    that the release claims against this adversary, where it claims one.

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
    given: object = original  # Python lets anything through.
    if not isinstance(given, EventTable):
        msg = f"original must be an EventTable, got {type(given).__name__}"
        raise SchemaError(msg)
    released = None if isinstance(release.model, RecordModel) else release.table
    return _attack(
        release.model,
        Case(
            tables=release.tables,
            released=released,
            original=original,
            method=release.method,
            parameters=release.parameters,
            **background(method_of(release), released, original, release.pseudonyms),
            known=known,
            targets=targets,
            seed=SEED if seed is None else seed,
            engine=engine,
            progress=progress,
        ),
    )


def attack_release(
    folder: str | os.PathLike[str],
    *,
    original: str | Path | Config,
    known: Sequence[int] = KNOWN,
    targets: int = TARGETS,
    seed: str | None = None,
    engine: Engine | None = None,
    progress: Progress = silent,
    warn: Warn = keep_quiet,
) -> Attack:
    """Attack the release in `folder`; `original` is the configuration that it was made from.

    Raises
    ------
    InputError
        Where the folder is no release or not as certified, or the configuration or its data is at fault.
    """
    with hearing(warn):
        progress(0.0, "reading the release")
        opened = open_release(folder)
        config = original if isinstance(original, Config) else Config.load(original)
        progress(0.1, "reading the original")
        table = config.table()
        method = None if config.settings.method is None else config.method()
        certificate = opened.certificate
        model = claimed_model(certificate, None if method is None else method.model().about(table))
        released = None
        if not isinstance(model, RecordModel):
            released = rebuild(opened.frame, certificate, opened.hierarchies)
            _refuse_strangers(released, table)
        # What may not be published, such as patterns, is in the configuration.
        if method is not None and method.name != certificate.method:
            method = None
        unpublished = {} if method is None else method.parameters()
        pseudonyms = None if released is None else who_is_who(folder, opened.frame, table)
        risks = _attack(
            model,
            Case(
                tables=opened.tables,
                released=released,
                original=table,
                method=certificate.method,
                parameters={**unpublished, **certificate.parameters},
                **background(method, released, table, pseudonyms),
                known=known,
                targets=targets,
                seed=SEED if seed is None else seed,
                engine=engine,
                progress=part(progress, 0.2, 1.0),
            ),
        )
        return Attack(risks=tuple(risks), model=certificate.model)


def _attack(model: PrivacyModel, case: Case) -> list[Risk]:
    """Let everybody try who fits the release, those last who fit its promise only."""
    risks: list[Risk] = []
    if case.released is not None:
        risks = attack_tables(
            case.released,
            original=case.original,
            model=model,
            known=case.known,
            targets=case.targets,
            seed=case.seed,
            engine=case.engine,
            progress=part(case.progress, 0.0, 0.8),
        )
    risks += special_attacks(model, replace(case, progress=part(case.progress, 0.8, 1.0)))
    if not risks:
        msg = (
            f"the release claims {type(model).__name__} for records without persons, "
            "and there is nobody in it to look for"
        )
        raise InputError(msg)
    return risks


def _refuse_strangers(released: EventTable, original: EventTable) -> None:
    """Refuse an original that has other columns than the release."""
    if (released.symbol is None) != (original.symbol is None):
        msg = "one of the release and the original has a symbol per event, and the other quasi-identifiers"
        raise InputError(msg)
    missing = [name for name in released.schema.quasi if name not in original.schema.quasi]
    if missing:
        msg = f"the release has the quasi-identifier {missing[0]!r}, and the original has no such column"
        raise InputError(msg)
