"""Runs commands in this process, in a folder of their own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from refusal_cases import GOOD, HEAD, TOML, Refusal
from sequester.cli import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from refusal_cases import Case


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def errors(self) -> list[str]:
        """The lines that say what is wrong."""
        return [line.removeprefix("error: ") for line in self.err.splitlines() if line.startswith("error: ")]

    @property
    def warnings(self) -> list[str]:
        """The lines that say what must be known."""
        return [
            line.removeprefix("warning: ") for line in self.err.splitlines() if line.startswith("warning: ")
        ]


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """Run ``sequester ARGV`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    # On a busy machine a command would show its progress, and no test looks for it.
    monkeypatch.setattr("sequester.cli.terminal.PATIENCE", 3600.0)

    def run(*argv: object) -> Ran:
        capfd.readouterr()
        code = main([str(each) for each in argv])
        return Ran(code, *capfd.readouterr())

    return run


@pytest.fixture
def put_clicks(tmp_path: Path) -> Callable[..., Path]:
    """Write clicks, a person's pages per line, and a configuration beside them; gives their folder."""

    def put_clicks(*rows: str, config: str = TOML) -> Path:
        lines = [f"{i},{n},{page}\n" for i, row in enumerate(rows) for n, page in enumerate(row.split())]
        (tmp_path / "clicks.csv").write_text(HEAD + "".join(lines), encoding="utf-8")
        (tmp_path / "release.toml").write_text(config, encoding="utf-8")
        return tmp_path

    return put_clicks


@pytest.fixture
def listing(tmp_path: Path) -> Callable[[], dict[str, bytes | None]]:
    """List everything in the folder: files with their content, folders without."""

    def listing() -> dict[str, bytes | None]:
        return {
            path.relative_to(tmp_path).as_posix(): path.read_bytes() if path.is_file() else None
            for path in tmp_path.rglob("*")
        }

    return listing


@pytest.fixture
def refusal(
    run: Callable[..., Ran], listing: Callable[[], dict[str, bytes | None]], tmp_path: Path
) -> Callable[..., Refusal]:
    """Run a bad case and gather what it did."""

    def refusal(case: Case, *options: str) -> Refusal:
        for name, content in {"clicks.csv": GOOD, "release.toml": TOML, **case.files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        before = listing()
        ran = run(*case.argv, "--quiet", *options)
        after = listing()
        errors = "\n".join(ran.errors)
        unruly = [
            line
            for line in ran.err.splitlines()
            if not line.startswith(("error: ", "warning: ", "info: ")) or "\x1b" in line
        ]
        unruly += [line for line in (ran.err + ran.out).splitlines() if "Traceback" in line]
        return Refusal(
            ran.code,
            [line for line in case.lines if line not in errors],
            unruly,
            sorted(name for name, _ in before.items() ^ after.items()),
        )

    return refusal
