"""What a reproduction is written as: tables, figures, and the paper's statements beside what was measured."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import polars as pl
from markupsafe import Markup

from sequester.report.page import template

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sequester.reproduce.plan import Claim, Drawing
    from sequester.reproduce.reproduce import Reproduction

AGREEMENT = ("the paper says", "we measure", "agrees?", "why")
"""Columns of the table of claims."""
_XML_HEAD = re.compile(r"^\s*(<\?xml[^>]*>)?\s*(<!DOCTYPE[^>]*>)?")

_PAGE = """{% extends "page.html" %}
{% block title %}{{ found.paper.name }}{% endblock %}
{% block header %}
<p class="kind">Reproduction</p>
<h1>{{ found.paper.title }}</h1>
<p class="lead">{{ found.paper.reference }}. {{ summary }}</p>
{% endblock %}
{% block main %}
<section>
<h2>What the paper says, and what we measure</h2>
<div class="scroll">
<table>
<thead><tr>{% for name in header %}<th scope="col">{{ name }}</th>{% endfor %}</tr></thead>
<tbody>
{% for claim in found.claims %}
<tr><td>{{ claim.says }}</td><td>{{ claim.measured }}</td>
<td>{{ "yes" if claim.agrees else "no" }}</td><td>{{ claim.why }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
</section>
<section>
<h2>How it was run</h2>
<ul>
{% for line in found.sources %}
<li>{{ line }}</li>
{% endfor %}
{% for line in found.notes %}
<li>{{ line }}</li>
{% endfor %}
</ul>
</section>
{% for drawing, svg in drawn %}
<section>
<h2>{{ drawing.title }}</h2>
<p class="soft">{{ drawing.name }}, from {{ drawing.table }}.csv</p>
<div class="scroll wide">
{{ svg }}
</div>
</section>
{% endfor %}
{% endblock %}
"""


def agreement_table(claims: Sequence[Claim]) -> pl.DataFrame:
    """Write the claims as a table."""
    rows = [(claim.says, claim.measured, "yes" if claim.agrees else "no", claim.why) for claim in claims]
    return pl.DataFrame(rows, schema=dict.fromkeys(AGREEMENT, pl.String), orient="row")


def markdown_page(found: Reproduction) -> str:
    """Write the page as Markdown, with links to the figures."""
    return "\n".join(_markdown(found)) + "\n"


def _markdown(found: Reproduction) -> Iterator[str]:
    yield from (f"# {found.paper.title}", "", f"{found.paper.reference}. {found.summary}", "")
    yield f"| {' | '.join(AGREEMENT)} |"
    yield "|---|---|---|---|"
    for row in agreement_table(found.claims).iter_rows():
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield from ("", "## How it was run", "")
    for line in (*found.sources, *found.notes):
        yield f"- {line}"
    for drawing in found.drawn:
        yield from ("", f"## {drawing.title}", "", f"![{drawing.title}](figures/{drawing.name}.svg)")


def html_page(found: Reproduction, drawn: Sequence[tuple[Drawing, str]]) -> str:
    """Write the page as one file that needs no network and runs no script."""
    # Labels come escaped from the renderer.
    inline = [(drawing, Markup(_XML_HEAD.sub("", svg))) for drawing, svg in drawn]  # noqa: S704
    page = template("page.html").environment.from_string(_PAGE)
    return page.render(found=found, summary=found.summary, header=AGREEMENT, drawn=inline)
