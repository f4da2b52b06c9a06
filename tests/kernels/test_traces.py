"""The walk over traces finds what a regular expression finds, and stops at what is not plain."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sequester.kernels.traces import ELEMENTS, copy_values, scan_traces

pytestmark = pytest.mark.kernel

ATTRIBUTE = r'<({})( key="([^"<&\x00-\x1f]+)" value="([^"<\x00-\x08\x0b\x0c\x0e-\x1f]*)"[ \t\r\n]*/>)'.format(
    "|".join(ELEMENTS)
)
PLAIN = re.compile(
    r"_(?:<trace>_(?:A_)*(?:<event>_(?:A_)*</event>_(?:A_)*)*</trace>_)*".replace(
        "A", f"(?:{ATTRIBUTE})"
    ).replace("_", r"[ \t\r\n]*")
)
words = st.lists(
    st.sampled_from(
        [
            "<trace>",
            "</trace>",
            "<event>",
            "</event>",
            '<string key="a" value="x"/>',
            '<date key="a" value=""/>',
            '<id key="ab" value="\r\n<" />',
            '<int key="" value="1"/>',
            '<string key="a" value="\r\ny\tz" />',
            "\n",
            "<!---->",
            "x",
        ]
    ),
    max_size=10,
).map("".join)
traces = st.lists(
    st.lists(
        st.sampled_from(['<string key="a" value="x"/>', '<date key="b" value="y" />\n']), max_size=3
    ).map("".join),
    max_size=3,
).map(
    lambda events: (
        "<trace>"
        + "".join(f"<event>{inside}</event>" for inside in events)
        + '<int key="a" value="1"/></trace>'
    )
)


def scanned(text):
    data = np.frombuffer(text.encode(), np.uint8)
    end, codes, owners, starts, ends, trace_of_event, names = scan_traces(
        data, text.count('"'), text.count("<event>")
    )
    if end < 0:
        return end, [], []
    named = [
        (bool(is_event), ELEMENTS[element], text.encode()[a:b].decode())
        for is_event, element, a, b in names.tolist()
    ]
    copied = copy_values(data, starts, ends).tobytes().decode().split('"')[:-1]
    rows = [
        (*named[code], owner, value)
        for code, owner, value in zip(codes, owners.tolist(), copied, strict=True)
    ]
    return end, rows, trace_of_event.tolist()


def expected(text):
    """Where plain traces end, and what is in them; -1 where what follows begins like a trace."""
    end = PLAIN.match(text).end()
    if text.startswith("<trace>", end):
        return -1, [], []
    rows, trace_of_event = [], []
    trace = event = -1
    in_event = False
    for tag in re.finditer(rf"</?trace>|</?event>|{ATTRIBUTE}", text[:end]):
        if tag[0] == "<trace>":
            trace += 1
        elif tag[0] in ("<event>", "</event>"):
            in_event = tag[0] == "<event>"
            if in_event:
                event += 1
                trace_of_event.append(trace)
        elif tag[1]:
            value = re.sub(r"[\t\n\r]", " ", tag[4].replace("\r\n", "\n"))
            rows.append((in_event, tag[1], tag[3], event if in_event else trace, value))
    return end, rows, trace_of_event


@given(
    words
    | st.lists(traces, max_size=3).map("".join)
    | st.tuples(st.lists(traces).map("".join), words).map("".join)
)
def test_traces_are_found_as_a_regular_expression_finds_them(text):
    assert scanned(text) == expected(text)


def test_many_names_are_told_apart_and_too_many_are_not_plain():
    def log(n_names):
        return "<trace>" + "".join(f'<string key="k{i}" value="{i}"/>' for i in range(n_names)) + "</trace>"

    end, rows, _ = scanned(log(3_000) + log(3_000))
    assert end > 0
    assert [row[2] for row in rows] == [f"k{i}" for i in range(3_000)] * 2
    assert scanned(log(10_001))[0] == -1


def test_buffers_that_are_too_small_are_not_overrun():
    data = np.frombuffer(b'<trace><event><id key="a" value=""/></event></trace>', np.uint8)
    assert scan_traces(data, 1, 1)[0] == data.size
    assert scan_traces(data, 0, 1)[0] == -1
    assert scan_traces(data, 1, 0)[0] == -1
    assert scan_traces(data[:0], 0, 0)[0] == 0
