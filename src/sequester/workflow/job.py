"""What a configuration and the command line ask for together."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from sequester._version import __version__
from sequester.bundle.target import Target, check_target
from sequester.errors import InputError, SchemaError, SequesterWarning
from sequester.workflow.output_file import refuse_inputs

if TYPE_CHECKING:
    from sequester.data.table import EventTable
    from sequester.methods.method import Method
    from sequester.workflow.config import Config


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One release to be made; the command line has won over the file."""

    config: Config
    """The file."""
    method: Method
    """How to protect."""
    out: Path
    """The folder that gets ``release`` and ``internal``."""
    internal: Path | None
    """Another place for what stays in the house."""
    seed: str | None
    """What everything random comes from; None draws one from the system."""
    force: bool
    """Replace what is there."""

    @classmethod
    def of(
        cls, config: Config, *, out: str | Path | None = None, seed: str | None = None, force: bool = False
    ) -> Job:
        """Settle what is asked for; refuse an output that exists, cannot be written, or holds the input."""
        release = config.settings.release
        lines: list[str] = []
        method = None
        try:
            method = config.method()
        except InputError as error:
            lines += error.lines
        if out is None and release.path is None:
            lines.append(
                f"{config.path.name}: release.path is missing; it must be text: the folder for the release, "
                "unless --out names it"
            )
        if method is None or lines:
            raise InputError(*lines)
        job = cls(
            config=config,
            method=method,
            out=Path(out) if out is not None else config.folder / str(release.path),
            internal=None if release.internal is None else config.folder / release.internal,
            seed=release.seed if seed is None else seed,
            force=force,
        )
        refuse_inputs(*Target.of(job.out, job.internal).folders, inputs=config.inputs)
        check_target(job.out, internal=job.internal, force=force)
        return job

    def to_toml(self, seed: str) -> str:
        """Write the configuration that repeats this run: absolute paths, every parameter, and the seed."""
        settings = self.config.settings
        folder = self.config.folder
        data = _written(settings.data.model_dump(exclude_unset=True))
        data["path"] = str(self.config.data_path.resolve())
        for each in (data.get("symbol", {}), *data.get("quasi", {}).values()):
            if "path" in each.get("hierarchy", {}):
                each["hierarchy"]["path"] = str((folder / each["hierarchy"]["path"]).resolve())
        release = _written(settings.release.model_dump(exclude_unset=True))
        release |= {"path": str(self.out.resolve()), "seed": seed}
        if self.internal is not None:
            release["internal"] = str(self.internal.resolve())
        method = {"name": self.method.name, **_written(self.method.parameters())}
        document = {"data": data, "method": method, "release": release}
        head = f"# Repeats this run byte for byte with sequester {__version__}. Keep it: it holds the seed."
        return f"{head}\n\n{tomli_w.dumps(document)}"


def tell_problems(table: EventTable) -> None:
    """Warn of what is doubtful about the data, and of notes on rows, such as events at the same time.

    Raises
    ------
    SchemaError
        Where labels look alike and the configuration does not say what to do.
    """
    for problem in table.problems:
        if problem.severity == "warning" or (problem.severity == "note" and problem.count):
            warnings.warn(str(problem), SequesterWarning, stacklevel=2)
    errors = [str(problem) for problem in table.problems if problem.severity == "error"]
    if errors:
        raise SchemaError(*errors)


def _written(table: dict[str, Any]) -> dict[str, Any]:
    """Leave out what has no value, which TOML cannot write, and write sets and tuples as lists."""
    return {name: _plain(value) for name, value in table.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return _written(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(_plain(each) for each in value)
    return value if isinstance(value, bool | int | float | str) else str(value)
