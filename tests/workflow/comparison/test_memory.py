"""How much memory there is, as different systems tell it."""

from __future__ import annotations

import os

from sequester.workflow.comparison import memory


def test_the_machine_and_the_container_both_bound(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 100 kB\nMemAvailable:       64 kB\n")
    group = tmp_path / "group"
    group.mkdir()
    assert memory.available(tmp_path, group) == 64 * 1024
    (group / "memory.max").write_text("40000\n")
    (group / "memory.current").write_text("30000\n")
    (group / "memory.stat").write_text("anon 1\ninactive_file 5000\n")
    assert memory.available(tmp_path, group) == 15000
    (group / "memory.current").write_text("90000\n")
    assert memory.available(tmp_path, group) == 0
    (group / "memory.max").write_text("max\n")
    assert memory.available(tmp_path, group) == 64 * 1024


def test_where_nothing_is_told_half_of_all_memory_is_taken(tmp_path):
    told = memory.available(tmp_path, tmp_path)
    assert told == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def test_where_not_even_that_is_told(tmp_path, monkeypatch):
    def unknown(name):
        raise ValueError(name)

    monkeypatch.setattr(os, "sysconf", unknown)
    assert memory.available(tmp_path, tmp_path) is None


def test_what_a_process_takes(tmp_path):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "status").write_text("VmHWM:\t  30 kB\nVmRSS:\t  20 kB\n")
    assert memory.taken(7, tmp_path) == 20 * 1024
    assert memory.taken(8, tmp_path) is None
    (tmp_path / "7" / "status").write_text("Name: ghost\n")
    assert memory.taken(7, tmp_path) is None


def test_the_peak_of_this_process(tmp_path):
    assert memory.peak() > 10_000_000
    assert memory.peak(tmp_path) > 10_000_000
