"""Draw the nine customers of the slides before and after: ``python docs/images/gwadera_2013.py``."""

from __future__ import annotations

from pathlib import Path

import sequester as sq
from sequester.testing import symbol_table

ROWS = ["abcdef", "abce", "acehb", "fgceab", "dfghb", "dhbfg", "fhgb", "cdfge", "dhfgb"]
SENSITIVE = ["ace", "dfg", "dhb"]
SEED = "kept in a safe place"
CELL, GAP, TOP = 26, 250, 62
PLAIN, HELD, MOVED = "#e8edf2", "#f4b6a6", "#a9d3b0"


def release_rows() -> list[str]:
    """Give the released sequences in the order of the customers."""
    method = sq.PH(patterns=[list(each) for each in SENSITIVE], min_support=3)
    release = method.apply(symbol_table(ROWS), seed=SEED)
    names = dict(release.pseudonyms.iter_rows())
    rows = dict(release.frame.group_by("person", maintain_order=True).agg("symbol").iter_rows())
    return ["".join(rows[names[f"person {number}"]]) for number in range(1, len(ROWS) + 1)]


def held_places(row: str) -> set[int]:
    """Give the places of the first embedding of each sensitive pattern."""
    places: set[int] = set()
    for pattern in SENSITIVE:
        at, found = 0, []
        for place, symbol in enumerate(row):
            if at < len(pattern) and symbol == pattern[at]:
                found.append(place)
                at += 1
        places |= set(found) if at == len(pattern) else set()
    return places


def cells(row: str, x: int, y: int, colors: dict[int, str]) -> list[str]:
    """Draw a sequence as a row of cells."""
    parts = []
    for place, symbol in enumerate(row):
        left = x + place * CELL
        fill = colors.get(place, PLAIN)
        parts.append(
            f'<rect x="{left}" y="{y}" width="{CELL - 3}" height="{CELL - 3}" rx="4" fill="{fill}"/>'
            f'<text x="{left + 11.5}" y="{y + 16}" text-anchor="middle">{symbol}</text>'
        )
    return parts


def draw() -> str:
    """Draw what customers bought, and what is released of it."""
    after = release_rows()
    height = TOP + CELL * len(ROWS) + 40
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 470 {height}" role="img" '
            'font-family="sans-serif" font-size="13" fill="#1d2730">'
        ),
        "<title>Nine sequences before and after: three of them were permuted</title>",
        f'<rect width="470" height="{height}" fill="#ffffff"/>',
        '<text x="40" y="22" font-weight="bold">original</text>',
        f'<text x="{40 + GAP}" y="22" font-weight="bold">release</text>',
        (
            f'<rect x="40" y="34" width="14" height="14" rx="3" fill="{HELD}"/>'
            '<text x="60" y="46" font-size="12">in a sensitive pattern</text>'
        ),
        (
            f'<rect x="{40 + GAP}" y="34" width="14" height="14" rx="3" fill="{MOVED}"/>'
            f'<text x="{60 + GAP}" y="46" font-size="12">another item than before</text>'
        ),
    ]
    for number, (row, released) in enumerate(zip(ROWS, after, strict=True)):
        y = TOP + number * CELL
        moved = {place for place, (a, b) in enumerate(zip(row, released, strict=True)) if a != b}
        parts.append(f'<text x="12" y="{y + 16}" font-size="12">t{number + 1}</text>')
        parts += cells(row, 40, y, dict.fromkeys(held_places(row), HELD))
        colors = dict.fromkeys(held_places(released), HELD) | dict.fromkeys(moved, MOVED)
        parts += cells(released, 40 + GAP, y, colors)
        if moved:
            x = GAP - 20
            parts.append(
                f'<path d="M{x} {y + 11}h34m-6 -5l6 5l-6 5" fill="none" stroke="#5b6770" stroke-width="1.5"/>'
            )
    below = TOP + len(ROWS) * CELL + 20
    parts.append(f'<text x="40" y="{below}" font-size="12">ace 3, dfg 4, dhb 3 customers</text>')
    parts.append(f'<text x="{40 + GAP}" y="{below}" font-size="12">2 customers each</text></svg>')
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("gwadera-2013.svg").write_text(draw(), encoding="utf-8")
