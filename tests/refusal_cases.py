"""Bad input as data: the files, the command, and what it must say."""

from __future__ import annotations

from dataclasses import dataclass, field

HEAD = "user,n,page\n"
GOOD = HEAD + "".join(f"u{i},{n},{page}\n" for i in range(6) for n, page in enumerate(("news", "tech"), 1))
TOML = """
[data]
path = "clicks.csv"
person = "user"
order = "n"
[data.symbol]
column = "page"
[method]
name = "p2ka"
k = 2
[release]
path = "out"
"""


@dataclass(frozen=True)
class Case:
    """Files beside (or instead of) good ones, the command, and what it must say and exit with."""

    name: str
    code: int
    lines: tuple[str, ...]
    files: dict[str, str | bytes] = field(default_factory=dict)
    argv: tuple[str, ...] = ("protect", "release.toml")

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Refusal:
    """What a refused command did; nothing but its code where it behaved."""

    code: int
    missing: list[str] = field(default_factory=list)
    """Lines that should have been said."""
    unruly: list[str] = field(default_factory=list)
    """Lines that no refusal may print."""
    left_behind: list[str] = field(default_factory=list)
    """Files that were made, changed or removed."""


def toml(*replaced: tuple[str, str]) -> dict[str, str | bytes]:
    """Change the good configuration here and there."""
    text = TOML
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    return {"release.toml": text}


def data(content: str | bytes, name: str = "clicks.csv") -> dict[str, str | bytes]:
    """Put other data in the place of the good."""
    return {name: content, **toml(("clicks.csv", name))}


def more(line: str) -> dict[str, str | bytes]:
    """Add a line to ``[data]``."""
    return toml(('order = "n"', f'order = "n"\n{line}'))


def hierarchy(content: str, settings: str = 'path = "pages.csv"') -> dict[str, str | bytes]:
    """Give the symbol a hierarchy."""
    return {
        "pages.csv": content,
        **toml(('column = "page"', f'column = "page"\nhierarchy = {{ {settings} }}')),
    }
