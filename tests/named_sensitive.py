"""What a steward does with a drafted configuration: take the # off what is sensitive."""

from __future__ import annotations

import re
import tomllib

from sequester.workflow.build import toml_text as _text


def with_sensitive_named(text: str, which: int = 0) -> str:
    """Take the # off one of the drafted tables of sensitive attributes; text without any stays as it is."""
    tables = list(re.finditer(r"^#\[data\.sensitive\..*\n(?:#(?!\[| ).*\n)+", text, re.MULTILINE))
    if not tables:
        return text
    start, end = tables[which % len(tables)].span()
    named = re.sub(r"^#", "", text[start:end], flags=re.MULTILINE)
    ((name, table),) = tomllib.loads(named)["data"]["sensitive"].items()
    before = "\n".join(
        line for line in text[:start].split("\n") if not _drops(line, table.get("columns", [name]))
    )
    return before + named + text[end:]


def _drops(line: str, columns: list[str]) -> bool:
    """Whether a line of the drafted list of dropped columns is about one of these."""
    return any(line.startswith(f"    {_text(column)},") for column in columns)


def count_sensitive(text: str) -> int:
    """Count the tables of sensitive attributes that are drafted and left open."""
    return len(re.findall(r"^#\[data\.sensitive\.", text, re.MULTILINE))
