"""Event logs come back attribute by attribute, by either road, and hostile files are refused in a line."""

from __future__ import annotations

import gzip
from xml.sax.saxutils import escape, quoteattr

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import logs as oracles
from sequester.errors import InputError, SequesterWarning
from sequester.io import read_frame, xes
from sequester.io.xes import ACTIVITY, CASE, TIME, read_xes

texts = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn", "Co"])
    | st.sampled_from("&<>\"'\t\n\r "),
    max_size=5,
)
keys = st.sampled_from(["concept:name", "time:timestamp", "cost", "a b", 'q"&<', "case:cost"])
elements = st.sampled_from(["string", "string", "date", "int", "float", "boolean", "id"])
times = st.sampled_from(
    [
        "2010-12-30T14:32:00.000+01:00",
        "2010-12-30T14:32:00",
        "2010-12-30T14:32:00.120Z",
        "2010-12-30T14:32:00.123456-05:30",
        "2010-12-30",
        "1969-12-31T23:59:59Z",
        "soon",
        "2010-02-30T00:00:00Z",
        "",
    ]
)


@st.composite
def attribute(draw, depth=0):
    """One attribute, as XML."""
    element, key = draw(elements), draw(keys)
    value = draw(times if element == "date" else texts)
    inside = "".join(draw(st.lists(attribute(depth + 1), max_size=1))) if depth < 2 else ""
    said = [f"key={quoteattr(key)}", f"value={value_in_quotes(value)}"]
    if draw(st.integers(0, 9)) == 0:
        said = draw(st.sampled_from([said[:1], said[1:], said[::-1], []]))
    if draw(st.integers(0, 9)) == 0:
        return f"<list {' '.join(said[:1])}><values>{inside}</values></list>"
    end = draw(st.sampled_from(["/>", " />"])) if not inside else f">{inside}</{element}>"
    return f"<{element} {' '.join(said)}{end}"


def value_in_quotes(value):
    return quoteattr(value, {"\n": "&#10;", "\r": "&#13;", "\t": "&#x9;"})


between = st.sampled_from(["", "\n\t", "<!-- <event> -->", "<![CDATA[</trace>]]>", "words", "<?do it?>"])


@st.composite
def documents(draw):
    """A log with at least one event that has an attribute."""
    attributes = st.lists(attribute(), max_size=4)
    traces = []
    for n_events in draw(st.lists(st.integers(0, 3), max_size=3)):
        events = [f"<event>{''.join(draw(attributes))}{draw(between)}</event>" for _ in range(n_events)]
        parts = [*draw(attributes), *events]
        if draw(st.booleans()):
            parts = draw(st.permutations(parts))
        traces.append(f"<trace>{draw(between)}{''.join(parts)}</trace>")
    traces.append('<trace><event><string key="last" value="x"/></event></trace>')
    head = '<global scope="event"><string key="g" value="G"/></global><string key="log" value="L"/>'
    between_traces = draw(between)
    return f'<log xmlns="http://www.xes-standard.org/">{head}{between_traces.join(["", *traces])}</log>'


def as_dicts(frame):
    return [{key: value for key, value in row.items() if value is not None} for row in frame.to_dicts()]


@given(documents())
def test_events_are_read_as_the_definition_reads_them(text):
    frame = read_xes(text.encode(), "x.xes")
    assert as_dicts(frame) == oracles.read_xes(text)
    assert set(frame.dtypes) == {pl.String}


@given(documents(), st.sampled_from(["utf-16", "utf-8-sig", "utf-8"]))
def test_the_encoding_that_the_file_states_counts(text, encoding):
    contents = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>{text}'.encode(encoding)
    assert read_xes(contents, "x.xes").equals(read_xes(text.encode(), "x.xes"))


plain_keys = st.sampled_from(["concept:name", "time:timestamp", "cost", "a b", "ä'"])


@st.composite
def plain_documents(draw):
    """A log as programs write them, whose events may be anything within that."""
    blank = draw(st.sampled_from(["", "\n", "\r\n  ", "\t"]))
    end = draw(st.sampled_from(["/>", " />"]))

    def attributes(known):
        chosen = draw(st.lists(plain_keys, unique=draw(st.booleans()), max_size=4))
        values = [plain(draw(times if known[key] == "date" else texts)) for key in chosen]
        return "".join(
            f'<{known[key]} key="{key}" value="{value}"{end}{blank}'
            for key, value in zip(chosen, values, strict=True)
        )

    # Programs give a key one type.
    known = {key: draw(elements) for key in ["concept:name", "time:timestamp", "cost", "a b", "ä'"]}
    traces = ""
    for n_events in draw(st.lists(st.integers(0, 3), min_size=1, max_size=3)):
        events = "".join(f"<event>{blank}{attributes(known)}</event>{blank}" for _ in range(n_events))
        traces += f"<trace>{blank}{attributes(known)}{events}</trace>{blank}"
    traces += f'<trace>{blank}<event><string key="last" value="x"{end}</event></trace>'
    head = '<?xml version="1.0" encoding="UTF-8" ?>\n<!-- by a program -->'
    return f"{head}\n<log>{blank}{traces}{blank}</log>{blank}"


def plain(value):
    return escape(value, {'"': "&quot;"})


@given(plain_documents())
def test_plain_logs_are_read_as_the_definition_reads_them(text):
    assert as_dicts(read_xes(text.encode(), "x.xes")) == oracles.read_xes(text)


@pytest.mark.real
@pytest.mark.parametrize("name", ["07_bpic2013_incidents", "08_receipt", "helpdesk", "running-example"])
def test_real_logs_are_read_as_the_definition_reads_them(shared_data, name):
    contents = gzip.decompress((shared_data / "eventlogs" / f"{name}.xes.gz").read_bytes())
    assert as_dicts(read_xes(contents, name)) == oracles.read_xes(contents.decode())


def event(inside):
    return f"<log><trace><event>{inside}</event></trace></log>"


ATTRIBUTE = '<string key="a" value="x"/>'
UNUSUAL = {
    "an entity that is a number": event('<string key="a" value="&#65;"/>'),
    "an attribute inside another": event(f'<string key="a" value="x">{ATTRIBUTE}</string>'),
    "a comment between attributes": event(f"{ATTRIBUTE}<!-- -->"),
    "other quotes": event("<string key='a' value='x'/>"),
    "an element that nobody knows": event('<text key="a" value="x"/>'),
    "a trace in a comment": event(ATTRIBUTE).replace("<log>", "<log><!-- <trace> -->"),
    "words between attributes": event(f"{ATTRIBUTE}words"),
    "two spaces before the value": event('<string key="a"  value="x"/>'),
}


@pytest.mark.parametrize("text", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_unusual_files_are_read_as_the_definition_reads_them(text):
    assert as_dicts(read_xes(text.encode(), "x.xes")) == oracles.read_xes(text)


BROKEN = {
    "a file that is cut off": event(ATTRIBUTE).removesuffix("</log>"),
    "a list": event('<list key="a"><values/></list>'),
    "no key": event('<string value="x"/>'),
    "a trace before the log": "<!-- <trace> --><log></log>",
    "an entity of its own": f'<!DOCTYPE log [<!ENTITY a "x">]>{event(ATTRIBUTE)}',
    "another kind of file": event(ATTRIBUTE).replace("log", "logs"),
    "a control character": event('<string key="a" value="\x01"/>'),
    "a character that is none": event('<string key="a" value="\uffff"/>'),
    "an event outside": event(ATTRIBUTE).replace("<log>", "<log><event></event>"),
    "more names than any log has": event("".join(f'<id key="{i}" value="x"/>' for i in range(10_001))),
    "bytes that are no text": event('<string key="a" value="\xff"/>').encode("latin-1"),
    "a key of bytes that are no text": event('<string key="\xff" value="x"/>').encode("latin-1"),
    "a value that never ends": '<log><trace><event><string key="a" value="x',
    "something after the log": event(ATTRIBUTE) + "<log/>",
    "an event that has no end": event(ATTRIBUTE).replace("</event>", ""),
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_broken_files_are_refused(text):
    with pytest.raises(InputError):
        read_xes(text if isinstance(text, bytes) else text.encode(), "x.xes")


EXAMPLE = """<?xml version="1.0" encoding="UTF-8"?>
<xes:log xmlns:xes="http://www.xes-standard.org/">
  <xes:trace>
    <xes:string key="concept:name" value="7"/>
    <xes:event>
      <xes:int key="pieces" value="007"/>
      <xes:float key="cost" value="1.50"/>
      <xes:boolean key="paid" value="True"/>
      <xes:date key="time:timestamp" value="2010-12-30T00:30:00+01:00"/>
      <xes:string key="concept:name" value="two
        lines"/>
    </xes:event>
    <xes:int key="late" value="1"/>
  </xes:trace>
</xes:log>
"""


def test_values_are_as_written_and_times_in_utc():
    frame = read_xes(EXAMPLE.encode(), "x.xes")
    assert frame.columns == [CASE, ACTIVITY, TIME, "case:late", "cost", "paid", "pieces"]
    assert frame.rows() == [
        ("7", "two         lines", "2010-12-29T23:30:00+00:00", "1", "1.50", "True", "007")
    ]


def test_by_name_packed_or_not(tmp_path):
    (tmp_path / "a.xes").write_text(EXAMPLE)
    (tmp_path / "b.XES.gz").write_bytes(gzip.compress(EXAMPLE.encode()))
    (tmp_path / "c.xml").write_text(EXAMPLE)
    frames = [read_frame(tmp_path / "a.xes"), read_frame(tmp_path / "b.XES.gz")]
    frames.append(read_frame(tmp_path / "c.xml", format="xes"))
    assert all(frame.equals(frames[0]) for frame in frames)


def test_another_encoding_than_the_stated_one():
    text = '<?xml version="1.0" encoding="UTF-8"?>' + event('<string key="ü" value="é"/>')
    assert read_xes(text.encode("latin-1"), "x.xes", encoding="latin-1").to_dicts() == [{"ü": "é"}]
    assert read_xes(text.encode("cp037"), "x.xes", encoding="cp037").to_dicts() == [{"ü": "é"}]
    stated = text.replace("UTF-8", "iso-8859-1").encode("latin-1")
    assert read_xes(stated, "x.xes").to_dicts() == [{"ü": "é"}]


BOMB = '<?xml version="1.0"?><!DOCTYPE log [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">' + event(
    '<string key="x" value="&b;"/>'
).replace("<log>", "]><log>")
OUTSIDE = '<!DOCTYPE log SYSTEM "file:///etc/passwd"><log/>'
NO_DOCTYPE = "line 1: has a document type declaration; entities are not expanded, and no event log needs them"
DAMAGED = "the XML is damaged or cut off"
NO_TOKEN = f"line 1: {DAMAGED} (not well-formed (invalid token))"
NO_ENCODING = "says that it has an encoding that cannot be read; set encoding"
NO_LOG = "line 1: the file is not an event log: its outermost element is 'html' and not 'log'"


@pytest.mark.parametrize(
    ("contents", "line"),
    [
        (BOMB, NO_DOCTYPE),
        (OUTSIDE, NO_DOCTYPE),
        (event('<string key="a" value="&nbsp;"/>'), f"line 1: {DAMAGED} (undefined entity)"),
        (event('<string key="a" value="x"/>')[:-1], f"line 1: {DAMAGED} (unclosed token)"),
        ("<log>\n<trace>\n", f"line 3: {DAMAGED} (no element found)"),
        ("<log>\n</trace></log>", f"line 2: {DAMAGED} (mismatched tag)"),
        ("case,activity\n1,a\n", f"line 1: {DAMAGED} (syntax error)"),
        (event('<string key="a" value="\0"/>'), NO_TOKEN),
        (event('<string key="a" value="é"/>').encode("latin-1"), NO_TOKEN),
        ('<?xml version="1.0" encoding="klingon"?><log/>', NO_ENCODING),
        ('<?xml version="1.0" encoding="gb2312"?><log/>', NO_ENCODING),
        ("<html><trace/></html>", NO_LOG),
        ("<log/>", "has no events"),
        ("<log><trace/></log>", "has no events"),
        ("<log><trace><event/></trace></log>", "its events have no attributes"),
        ("<log>\n<event/></log>", "line 2: <event> stands outside of <trace>"),
        ("<log><trace><trace/></trace></log>", "line 1: <trace> stands inside <trace>"),
        ("<log><trace><event><event/></event></trace></log>", "line 1: <event> stands inside <event>"),
        ("<log><trace><event><trace/></event></trace></log>", "line 1: <trace> stands inside <event>"),
    ],
)
def test_hostile_and_broken_files_are_refused_in_one_line(contents, line):
    with pytest.raises(InputError) as caught:
        read_xes(contents if isinstance(contents, bytes) else contents.encode(), "x.xes")
    assert caught.value.lines == (f"x.xes: {line}",)


def test_deep_files_are_read_and_many_names_are_not(monkeypatch):
    deep = event('<string key="a" value="x">' + "<b>" * 100_000 + "</b>" * 100_000 + "</string>")
    assert read_xes(deep.encode(), "x.xes").rows() == [("x",)]
    monkeypatch.setattr(xes, "MOST_NAMES", 10)
    many = event("".join(f'<string key="{i}" value="x"/>' for i in range(11)))
    with pytest.raises(
        InputError, match=r"^x\.xes: has more than 10 names of attributes, as no honest log has$"
    ):
        read_xes(many.encode(), "x.xes")


@pytest.mark.parametrize("part", [0.1, 0.5, 0.99])
def test_packed_files_that_are_cut_off(tmp_path, part):
    packed = gzip.compress(EXAMPLE.encode())
    path = tmp_path / "x.xes.gz"
    path.write_bytes(packed[: int(len(packed) * part)])
    with pytest.raises(InputError, match=r"x\.xes\.gz: the gzip file is cut off"):
        read_frame(path)


@given(
    st.binary(max_size=60)
    | st.text(st.sampled_from('<>/"= &;'), max_size=30).map(lambda t: f"<log>{t}".encode())
)
def test_any_bytes_are_refused_in_plain_lines(contents):
    with pytest.raises(InputError) as caught:
        read_xes(contents, "x.xes")
    assert all(line.startswith("x.xes: ") for line in caught.value.lines)


def test_traces_without_events_are_counted(tmp_path):
    event = '<event><string key="concept:name" value="pay"/></event>'
    full = f'<trace><string key="concept:name" value="7"/>{event}</trace>'
    empty = '<trace><string key="concept:name" value="8"/></trace>'
    path = tmp_path / "log.xes"
    path.write_text(f"<log>{full}{empty}{empty}</log>")
    with pytest.warns(SequesterWarning, match=r"log\.xes: 2 traces have no event and are left out"):
        assert read_frame(path).height == 1
