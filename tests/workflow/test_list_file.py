"""One JSON list of texts per line."""

from __future__ import annotations

import pytest

from sequester.errors import InputError
from sequester.workflow import list_file
from sequester.workflow.list_file import read_lists


def test_lists_are_read_line_by_line(tmp_path):
    path = tmp_path / "patterns.jsonl"
    path.write_bytes('\ufeff["a", "b"]\r\n\n  ["ü\u2028x"]\n[]'.encode())
    assert read_lists(path) == (("a", "b"), ("ü\u2028x",), ())


@pytest.mark.parametrize("line", ["a, b", '"ab"', '["a", 1]', "{}", "[" * 100_000, '["' + "x" * 100])
def test_any_other_line_is_refused_by_its_number(tmp_path, line):
    path = tmp_path / "patterns.jsonl"
    path.write_text(f'["a"]\n{line}\n')
    with pytest.raises(InputError) as refused:
        read_lists(path)
    assert refused.value.lines[0].startswith("patterns.jsonl: line 2 must be a JSON list of texts")
    assert len(refused.value.lines[0]) < 150


def test_what_cannot_be_read_is_said(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"cannot read .*none\.jsonl: No such file"):
        read_lists(tmp_path / "none.jsonl")
    path = tmp_path / "latin.jsonl"
    path.write_bytes(b'["\xfc"]')
    with pytest.raises(InputError, match=r"is not UTF-8 text \(byte 3\)"):
        read_lists(path)
    monkeypatch.setattr(list_file, "_LARGEST", 3)
    with pytest.raises(InputError, match="is no file of lists"):
        read_lists(path)
