"""One person's symbols as JSON lines: what comes, what leaves, and what is refused."""

from __future__ import annotations

import json

import pytest

from sequester.errors import InputError
from sequester.workflow.follow import follow

TOML = """
[data]
path = "none.csv"
person = "user"
order = "n"
[data.symbol]
column = "page"
hierarchy = {hierarchy}
[method]
name = "{name}"
patterns = [["news", "bbs"]]
window = 2
{bound}
"""
TREE = '{ kind = "tree", tree = { Info = ["news", "local"], Fun = ["bbs", "sports"] } }'


def write_config(tmp_path, *, name="top-down", bound="max_leakage_bits = 0.1", hierarchy=TREE):
    path = tmp_path / "release.toml"
    path.write_text(TOML.format(name=name, bound=bound, hierarchy=hierarchy), encoding="utf-8")
    return path


def followed(config, lines):
    out = []
    done = follow(config, [line.encode() for line in lines], out.append)
    return [json.loads(line) for line in out], done


def test_texts_come_and_texts_leave(tmp_path):
    lines = [json.dumps(each) + "\n" for each in ["news", "bbs", "local", "sports"] * 5]
    out, done = followed(write_config(tmp_path), ["\n", *lines])
    assert len(out) == done.n_symbols == 20
    assert set(out) <= {"*", "Info", "Fun", "news", "bbs", "local", "sports"}
    assert done.leakage_bits <= 0.1
    assert 0 < done.loss_per_symbol <= 1


def test_objects_leave_with_nothing_but_the_symbol(tmp_path):
    lines = [json.dumps({"page": each, "user": "me", "at": 7}) for each in ["news", "bbs", "local"]]
    out, _ = followed(write_config(tmp_path, bound="max_leakage_bits = 1"), lines)
    assert out == [{"page": "news"}, {"page": "bbs"}, {"page": "local"}]


def test_a_symbol_leaves_when_the_window_is_full(tmp_path):
    left = []

    def lines():
        for number, symbol in enumerate(["news", "local", "local", "local"]):
            assert len(left) == max(0, number - 2)
            yield json.dumps(symbol).encode()

    follow(write_config(tmp_path), lines(), left.append)
    assert len(left) == 4


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("7", "line 2 must be a JSON text or an object with 'page', got '7'"),
        ("{}", "line 2 must be a JSON text or an object with 'page', got '{}'"),
        ("news", "line 2 must be a JSON text or an object with 'page', got 'news'"),
        ('"nowhere"', "line 2: symbol 'nowhere' is not a leaf of the taxonomy"),
        ('"Info"', "line 2: symbol 'Info' is not a leaf of the taxonomy"),
    ],
)
def test_lines_are_refused_by_their_number(tmp_path, line, message):
    with pytest.raises(InputError) as refused:
        followed(write_config(tmp_path), ['"news"', line])
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"name": "bottom-up"},
            'release.toml: method.name must be "top-down" to follow a stream, got "bottom-up"',
        ),
        (
            {"bound": "max_leakage = 0.5"},
            "release.toml: method.max_leakage_bits must be given to follow a stream: its entropy",
        ),
        (
            {"hierarchy": '{ kind = "flat" }'},
            "release.toml: data.symbol.hierarchy must be a file or a tree, because no data is read",
        ),
    ],
)
def test_what_cannot_follow_is_refused(tmp_path, asked, message):
    with pytest.raises(InputError) as refused:
        followed(write_config(tmp_path, **asked), ['"news"'])
    assert str(refused.value).startswith(message)


def test_a_stream_needs_symbols_and_a_taxonomy(tmp_path):
    path = write_config(tmp_path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(f"hierarchy = {TREE}\n", ""), encoding="utf-8")
    with pytest.raises(InputError, match=r"because no data is read .*, and there is none"):
        followed(path, [])
    symbol = text[text.index("[data.symbol]") : text.index("[method]")]
    path.write_text(text.replace(symbol, f"[data.quasi.page]\nhierarchy = {TREE}\n"), encoding="utf-8")
    with pytest.raises(InputError, match=r"data\.symbol is missing"):
        followed(path, [])


def test_what_is_said_while_it_runs_is_the_figure_that_is_meant(tmp_path):
    config = write_config(tmp_path, bound="max_leakage_bits = 0.01")
    lines = [json.dumps(each).encode() for each in ["local", "sports"] * 990 + ["news", "bbs", "local"] * 20]
    said = []
    done = follow(config, lines, lambda line: None, said.append)
    assert [each.n_symbols for each in said] == [1000, 2000]
    assert 0 < done.leakage_bits < 0.01 == done.bound_bits
    text = str(done)
    assert f"tell {done.leakage_bits:.2g} bits" in text
    assert "at most 0.01 are allowed" in text
    assert float(text.split("tell ")[1].split(maxsplit=1)[0]) > 0
