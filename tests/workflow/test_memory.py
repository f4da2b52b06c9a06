"""How much memory there is, as different systems tell it."""

from __future__ import annotations

import os
import sys

import polars as pl
import pytest

from sequester.errors import InputError
from sequester.workflow import memory
from sequester.workflow.config import Config
from sequester.workflow.protect import dry_run, protect
from sequester.workflow.run import RunContext


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


@pytest.mark.parametrize(("free", "fits"), [(None, True), (2_100_000_000, True), (2_000_000_000, False)])
def test_a_forecast_says_what_is_needed_and_what_would_fit(free, fits):
    forecast = memory.MemoryForecast(n_events=2_500_000, n_attributes=4, free=free)
    assert forecast.needed == 250_000_000 + 2_500_000 * 720
    assert forecast.fits is fits
    assert str(forecast).startswith("about 2.0 GB of memory will be needed")
    assert (free is None) == ("would fit" not in str(forecast))


def test_events_after_the_first_millions_need_less():
    few, many = (
        memory.MemoryForecast(each, n_attributes=4, free=None).needed for each in (5_000_000, 25_000_000)
    )
    assert few == 250_000_000 + 5_000_000 * 720
    assert many == few + 20_000_000 * 360


@pytest.mark.parametrize(
    ("free", "most"),
    [(0, 0), (250_000_000, 0), (250_007_200, 10), (2_600_000_000, 3_200_000), (11_050_000_000, 25_000_000)],
)
def test_the_largest_table_that_fits_has_two_digits(free, most):
    assert memory.MemoryForecast(n_events=1, n_attributes=4, free=free).most_events == most


@pytest.fixture
def clicks(tmp_path):
    (tmp_path / "clicks.csv").write_text("user,n,page\n" + "".join(f"{who},1,a\n" for who in "abcd"))
    (tmp_path / "release.toml").write_text(
        '[data]\npath = "clicks.csv"\nperson = "user"\norder = "n"\nsymbol.column = "page"\n'
        '[method]\nname = "p2ka"\nk = 2\n[release]\npath = "out"\n'
    )
    return tmp_path


def test_protect_refuses_where_memory_is_far_too_little(clicks, monkeypatch):
    monkeypatch.setattr(memory, "obtainable", lambda: 100_000_000)
    monkeypatch.setattr(memory, "swap", lambda: 20_000_000)
    with pytest.raises(InputError, match=r"^about 0.3 GB of memory will be needed, and 0.1 GB are free: up"):
        protect(clicks / "release.toml", quick=True)
    assert sorted(path.name for path in clicks.iterdir()) == ["clicks.csv", "release.toml"]
    (clicks / "parts").mkdir()
    pl.read_csv(clicks / "clicks.csv").write_parquet(clicks / "parts/1.parquet")
    (clicks / "parts.toml").write_text((clicks / "release.toml").read_text().replace("clicks.csv", "parts"))
    with monkeypatch.context() as patch:
        # Before anything is read.
        patch.setattr("sequester.workflow.protect.obtainable", lambda: 100_000_000)
        patch.setattr(Config, "table", None)
        with pytest.raises(InputError, match=r"^about 0.3 GB of memory will be needed"):
            protect(clicks / "parts.toml", quick=True)
    monkeypatch.setattr(memory, "swap", lambda: 30_000_000)
    assert protect(clicks / "release.toml", quick=True).written


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of Unix")
def test_a_limit_of_the_process_bounds(tmp_path, monkeypatch):
    import resource

    (tmp_path / "meminfo").write_text("MemAvailable:  64 kB\nSwapFree:   8 kB\n")
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "status").write_text("VmSize:\t 20 kB\n")
    assert memory.available(tmp_path, tmp_path) == 64 * 1024
    monkeypatch.setattr(resource, "getrlimit", lambda which: (50 * 1024, resource.RLIM_INFINITY))
    assert memory.available(tmp_path, tmp_path) == 30 * 1024
    assert memory.swap(tmp_path) == 8 * 1024


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of Unix")
@pytest.mark.parametrize(
    ("run", "most", "refused"),
    [
        (protect, 60_000_000_000, "60.0 GB of addresses, and drawing plots reserves 70 GB of them"),
        (dry_run, 1_500_000_000, "1.5 GB of addresses, and reading reserves 2 GB of them"),
    ],
)
def test_a_limit_under_which_libraries_end_the_process_is_refused(clicks, monkeypatch, run, most, refused):
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda which: (most, resource.RLIM_INFINITY))
    with pytest.raises(InputError, match=rf"^ulimit -v allows {refused}"):
        run(clicks / "release.toml")
    assert sorted(path.name for path in clicks.iterdir()) == ["clicks.csv", "release.toml"]


def test_what_this_process_holds_is_as_good_as_free(monkeypatch):
    """The table is among what a release needs, and it has been read by then."""
    monkeypatch.setattr(memory, "available", lambda: 500)
    monkeypatch.setattr(memory, "taken", lambda pid: {os.getpid(): 70}[pid])
    assert memory.obtainable() == 570
    monkeypatch.setattr(memory, "available", lambda: None)
    assert memory.obtainable() is None


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of Unix")
@pytest.mark.parametrize(
    ("free", "limited", "fits"), [(1_100, False, True), (1_100, True, False), (2_100, True, True)]
)
def test_under_a_limit_all_that_is_needed_must_be_free(monkeypatch, free, limited, fits):
    monkeypatch.setattr(memory, "_of_limit", lambda proc: free * 10**6 if limited else None)
    monkeypatch.setattr(memory, "swap", lambda: 0)
    forecast = memory.MemoryForecast(n_events=2_500_000, n_attributes=4, free=free * 10**6)
    if fits:
        forecast.check()
    else:
        with pytest.raises(InputError, match=r"2.0 GB of memory will be needed, and 1.1 GB are free"):
            forecast.check()


def test_protect_warns_where_memory_will_not_do(clicks, monkeypatch):
    monkeypatch.setattr(memory, "obtainable", lambda: 200_000_000)
    said = []
    protect(clicks / "release.toml", quick=True, run=RunContext(warn=said.append))
    assert [line for line in said if "memory" in line] == [
        "about 0.3 GB of memory will be needed, and 0.2 GB are free: up to about 0 events would fit"
    ]
