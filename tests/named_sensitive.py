"""What a steward does with a drafted configuration: take the # off what is sensitive."""

from __future__ import annotations

import re


def with_sensitive_named(text: str, which: int = 0) -> str:
    """Take the # off one of the drafted tables of sensitive attributes; text without any stays as it is."""
    tables = list(re.finditer(r"^#\[data\.sensitive\..*\n(?:#(?!\[| ).*\n)+", text, re.MULTILINE))
    if not tables:
        return text
    start, end = tables[which % len(tables)].span()
    return text[:start] + re.sub(r"^#", "", text[start:end], flags=re.MULTILINE) + text[end:]


def count_sensitive(text: str) -> int:
    """Count the tables of sensitive attributes that are drafted and left open."""
    return len(re.findall(r"^#\[data\.sensitive\.", text, re.MULTILINE))
