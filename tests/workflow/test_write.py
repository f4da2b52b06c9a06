"""A release folder is written whole, verified, or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from release.samples import Pages, release_of
from sequester.attacks.singling_out import SinglingOut
from sequester.data.sequences import Sequences
from sequester.errors import InputError, InternalError, SequesterWarning, UnattainableError
from sequester.privacy import SequenceKAnonymity
from sequester.release.staging import check_target
from sequester.verification.verify import open_parts as open_release
from sequester.verification.verify import verify
from sequester.workflow.write import write


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder; an empty folder is named too."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
    }


def test_the_folders_hold_what_the_interface_lists(tmp_path):
    written = write(release_of(), tmp_path / "out", report=Pages())
    assert written.path == tmp_path / "out" / "release"
    assert sorted(contents(tmp_path / "out")) == [
        "internal",
        "internal/changes.parquet",
        "internal/release.toml",
        "internal/report.html",
        "internal/report.json",
        "release",
        "release/certificate.json",
        "release/croissant.json",
        "release/events.csv",
        "release/events.parquet",
        "release/report.html",
    ]
    assert written.verification.holds
    assert written.verification.release == str(written.path)
    digest = hashlib.sha256((written.path / "certificate.json").read_bytes()).hexdigest()
    assert written.certificate_sha256 == f"sha256:{digest}" == written.verification.certificate_sha256


def test_written_stands_for_its_path(tmp_path):
    written = write(release_of(), tmp_path, report=Pages())
    assert verify(written)
    assert Path(written) == tmp_path / "release"


def test_the_certificate_lists_every_other_file(tmp_path):
    written = write(release_of(), tmp_path, report=Pages())
    certificate = json.loads((written.path / "certificate.json").read_bytes())
    listed = {
        name: hashlib.sha256((written.path / name).read_bytes()).hexdigest()
        for name in ("croissant.json", "events.csv", "events.parquet", "report.html")
    }
    assert certificate["files"] == {name: f"sha256:{digest}" for name, digest in listed.items()}
    assert certificate["counts"] == {"persons": 5, "events": 11}
    assert certificate["verdict"] == {"holds": True, "achieved": {"k": 2}}
    assert list(certificate["utility"]) == ["information_loss"]
    assert certificate["utility"]["information_loss"]["value"] == 0.12


@pytest.mark.skipif(sys.platform == "win32", reason="modes are those of Unix")
def test_internal_is_for_its_owner_only_and_release_for_all_whom_the_mask_allows(tmp_path):
    before = os.umask(0o027)
    try:
        written = write(release_of(), tmp_path, report=Pages(), pseudonyms=True)
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes[written.internal] == 0o700
    assert {modes[path] for path in written.internal.iterdir()} == {0o600}
    assert modes[written.path] == 0o750
    assert {modes[path] for path in written.path.iterdir()} == {0o640}


def test_pseudonyms_are_written_only_if_asked_for(tmp_path):
    asked = write(release_of(), tmp_path / "asked", report=Pages(), pseudonyms=True)
    table = pl.read_parquet(asked.internal / "pseudonyms.parquet")
    assert table.columns == ["person", "pseudonym"]
    assert table["person"].to_list() == [f"raw-p{i:03}" for i in range(5)]
    assert not (write(release_of(), tmp_path / "b", report=Pages()).internal / "pseudonyms.parquet").exists()


def test_a_promise_about_the_original_brings_pseudonyms_and_needs_the_original(tmp_path):
    release = release_of(["ab", "ab"], model=SequenceKAnonymity(k=2, strict=False))
    with pytest.raises(InputError, match="original"):
        write(release, tmp_path / "out", report=Pages())
    assert not (tmp_path / "out").exists()


def test_internal_may_be_elsewhere(tmp_path):
    written = write(release_of(), tmp_path / "out", internal=tmp_path / "safe" / "mine", report=Pages())
    assert written.internal == tmp_path / "safe" / "mine"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["release"]
    assert (tmp_path / "safe" / "mine" / "changes.parquet").exists()


@pytest.mark.parametrize("internal", ["out/release", "out/release/internal", "out", "out/x/../release/y"])
def test_internal_must_not_share_a_folder_with_the_release(tmp_path, internal):
    with pytest.raises(InputError, match="inside or around"):
        write(release_of(), tmp_path / "out", internal=tmp_path / internal, report=Pages())
    assert not any(tmp_path.iterdir())


def test_the_configuration_is_kept_as_given(tmp_path):
    text = '# mine\n[method]\nname = "p2ka"\n'
    written = write(release_of(), tmp_path, report=Pages(), config_toml=text)
    assert (written.internal / "release.toml").read_text() == text


def test_without_a_configuration_method_and_seed_are_kept(tmp_path):
    written = write(release_of(), tmp_path, report=Pages())
    kept = tomllib.loads((written.internal / "release.toml").read_text())
    assert kept == {
        "method": {"name": "p2ka", "k": 2, "strict": True},
        "release": {"seed": "a seed that stays inside"},
    }


@pytest.mark.parametrize("name", ["with spaces", "Größe ☂ 数", "a'b\"c", "-dash", "x" * 200])
def test_any_path_will_do(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written = write(release_of(), name, report=Pages())
    assert verify(Path(name) / "release")
    assert os.fspath(written) == str(Path(name) / "release")


@pytest.mark.parametrize("half", ["release", "internal"])
def test_an_existing_output_is_refused_and_stays(tmp_path, half):
    (tmp_path / half).mkdir()
    (tmp_path / half / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        write(release_of(), tmp_path, report=Pages())
    assert contents(tmp_path) == {half: b"", f"{half}/mine.txt": b"mine"}


def test_a_link_in_the_way_counts_as_existing(tmp_path):
    (tmp_path / "release").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="exists already"):
        write(release_of(), tmp_path, report=Pages())
    assert (tmp_path / "release").is_symlink()


def test_force_replaces_all_of_it(tmp_path):
    write(release_of(["zz", "zz"]), tmp_path, report=Pages(), pseudonyms=True)
    (tmp_path / "release" / "stray.txt").write_text("stray")
    written = write(release_of(), tmp_path, report=Pages(), force=True)
    assert open_release(written).frame["page"].n_unique() == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["internal", "release"]
    assert not (written.path / "stray.txt").exists()
    assert not (written.internal / "pseudonyms.parquet").exists()


def test_force_replaces_a_link_and_not_what_it_shows(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.txt").write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    (out / "release").symlink_to(elsewhere)
    assert write(release_of(), out, report=Pages(), force=True).verification
    assert (elsewhere / "mine.txt").read_text() == "mine"
    assert not (out / "release").is_symlink()


def test_force_replaces_an_empty_folder(tmp_path):
    (tmp_path / "release").mkdir()
    (tmp_path / "internal").mkdir()
    assert write(release_of(), tmp_path, report=Pages(), force=True).verification


FOREIGN = {
    "release": ["photo.jpg", "certificate.json", ""],
    "internal": ["photo.jpg", "release.toml", "changes.parquet", ""],
}


@pytest.mark.parametrize(
    ("half", "name"), [(half, name) for half, names in FOREIGN.items() for name in names]
)
def test_force_does_not_replace_what_no_release_has_put_there(tmp_path, half, name):
    place = tmp_path / half / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("{}")
    before = contents(tmp_path)
    line = f"{tmp_path / half} exists already and was not written with a release"
    for attempt in (lambda: check_target(tmp_path, force=True), lambda: forced(tmp_path)):
        with pytest.raises(InputError, match=re.escape(line)):
            attempt()
    assert contents(tmp_path) == before


def forced(out: Path) -> None:
    write(release_of(), out, report=Pages(), force=True)


def test_a_certificate_of_another_program_is_not_ours_to_replace(tmp_path):
    folder = write(release_of(), tmp_path, report=Pages()).path
    text = (folder / "certificate.json").read_text()
    (folder / "certificate.json").write_text(text.replace('"name": "sequester"', '"name": "another"'))
    with pytest.raises(InputError, match="was not written with a release"):
        forced(tmp_path)
    assert (folder / "events.csv").exists()


STEPS = ["write_tables", "write_hierarchies", "write_certificate", "write_internal", "_sync", "_verify"]


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), KeyboardInterrupt(), RuntimeError("x")]
)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("existing", [False, True])
def test_a_failure_at_any_step_leaves_everything_as_it_was(tmp_path, monkeypatch, step, error, existing):
    out = tmp_path / "made" / "out"
    if existing:
        write(release_of(["zz", "zz"]), out, report=Pages())
    before = contents(tmp_path)

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(sys.modules["sequester.workflow.write"], step, fail)
    expected = InputError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected) as raised:
        write(release_of(), out, report=Pages(), force=True)
    assert contents(tmp_path) == before
    if isinstance(error, OSError):
        assert str(raised.value) == f"cannot write {out}: No space left on device"


@pytest.mark.parametrize("nth", [1, 2, 3, 4])
def test_a_rename_that_fails_is_undone(tmp_path, monkeypatch, nth):
    write(release_of(["zz", "zz"]), tmp_path, report=Pages())
    before = contents(tmp_path)
    rename, calls = Path.rename, []

    def fail_once(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == nth:
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_once)
    with pytest.raises(InputError, match="Permission denied"):
        write(release_of(), tmp_path, report=Pages(), force=True)
    assert contents(tmp_path) == before


def test_files_that_are_not_what_was_meant_are_never_put_in_place(tmp_path, monkeypatch):
    module = sys.modules["sequester.workflow.write"]
    honest = module.write_tables

    def short(release, folder):
        honest(release, folder)
        text = (folder / "events.csv").read_text().splitlines()
        (folder / "events.csv").write_text("\n".join(text[:-1]) + "\n")

    monkeypatch.setattr(module, "write_tables", short)
    with pytest.raises(InternalError, match=r"events\.csv and events\.parquet differ: 10 and 11 rows"):
        write(release_of(), tmp_path, report=Pages())
    assert contents(tmp_path) == {}


def test_a_release_that_breaks_its_promise_is_not_written(tmp_path):
    with pytest.raises(UnattainableError, match="does not keep its promise") as raised:
        write(release_of(["ab", "ab", "c"]), tmp_path / "out", report=Pages())
    assert raised.value.achieved == {"k": 1}
    assert not (tmp_path / "out").exists()


def test_the_original_is_asked_too(tmp_path):
    original = Sequences.from_rows(["ab", "a", "b"], column="page")
    with pytest.raises(InternalError, match="a → b"):
        write(release_of(["ab", "ab"]), tmp_path / "out", report=Pages(), original=original)
    assert not (tmp_path / "out").exists()


def test_more_loss_than_allowed_is_refused_with_share_and_limit(tmp_path):
    with pytest.raises(
        UnattainableError, match=r"loses 8\.3% of the events \(1 of 12\).*max_suppressed = 0\.05"
    ):
        write(release_of(lost=1), tmp_path / "out", report=Pages(), max_suppressed=0.05)
    assert not (tmp_path / "out").exists()
    assert write(release_of(lost=1), tmp_path / "out", report=Pages(), max_suppressed=1 / 12).warnings == ()


def test_much_loss_only_warns_without_a_limit(tmp_path):
    with pytest.warns(SequesterWarning, match=r"loses 26\.7% of the events"):
        written = write(release_of(lost=4), tmp_path / "a", report=Pages())
    assert len(written.warnings) == 1
    assert write(release_of(lost=2), tmp_path / "b", report=Pages()).warnings == ()


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_limit_that_is_no_share_is_refused(tmp_path, share):
    with pytest.raises(InputError, match="max_suppressed must be between 0 and 1"):
        write(release_of(), tmp_path / "out", report=Pages(), max_suppressed=share)


@pytest.mark.parametrize("cell", ["=1+1", "+a", "-5", "@x", "\tx", "\rx"])
def test_formula_like_cells_are_released_as_they_are_and_named(tmp_path, cell):
    with pytest.warns(
        SequesterWarning, match="column 'page': 1 value begins like a spreadsheet formula"
    ) as caught:
        written = write(release_of([[cell, "a=b"], [cell, "a=b"]]), tmp_path, report=Pages())
    assert ascii(cell) in str(caught[0].message)
    assert pl.read_parquet(written.path / "events.parquet")["page"].to_list() == [cell, "a=b"] * 2


def test_a_formula_like_column_name_is_named_too(tmp_path):
    with pytest.warns(SequesterWarning, match="column '=page'"):
        write(release_of(column="=page"), tmp_path, report=Pages())


def test_a_report_that_leaves_a_link_is_not_certified(tmp_path):
    class Linking(Pages):
        def external_page(self, release):
            next((tmp_path / "out").glob(".release.*")).joinpath("link").symlink_to("/etc/passwd")
            return super().external_page(release)

    with pytest.raises(InputError, match="link: is a link, and a release has none"):
        write(release_of(), tmp_path / "out", report=Linking())
    assert not (tmp_path / "out").exists()


class TestCheckTarget:
    def test_leaves_no_trace(self, tmp_path):
        check_target(tmp_path / "a" / "b", internal=tmp_path / "c" / "d")
        assert contents(tmp_path) == {}

    def test_refuses_what_exists_unless_forced(self, tmp_path):
        (tmp_path / "release").mkdir()
        with pytest.raises(InputError, match="exists already"):
            check_target(tmp_path)
        check_target(tmp_path, force=True)

    def test_refuses_a_file_in_the_way(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(InputError, match="is not a folder"):
            check_target(tmp_path / "file" / "out")

    def test_refuses_a_folder_that_cannot_be_written(self, tmp_path, monkeypatch):
        # Whoever runs this may be allowed everything, so the answer of the system is given.
        monkeypatch.setattr(os, "access", lambda *_: False)
        with pytest.raises(InputError, match="is not writable"):
            check_target(tmp_path / "out")


def test_an_output_that_cannot_be_made_is_the_users_to_fix(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        write(release_of(), tmp_path / "file" / "out", report=Pages())
    assert contents(tmp_path) == {"file": b""}


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that not even root can write")
def test_a_read_only_place_is_the_users_to_fix(tmp_path):
    place = tmp_path / "sealed"
    place.mkdir()
    place.chmod(0o500)
    if os.geteuid() == 0:
        # Modes do not bind root; the kernel's own folder does.
        place = Path("/proc/sys")
    with pytest.raises(InputError, match="cannot write"):
        write(release_of(), place / "out", report=Pages())
    assert not (place / "out").exists()


def test_kept_columns_that_single_out_are_refused_where_it_is_asked_for(tmp_path):
    found = SinglingOut(persons=10, kept=("ward",), by_all=10, by_kept=3, by_kept_event=1)
    release = replace(release_of(), singled_out=found)
    with pytest.raises(InputError, match=r"kept column ward alone singles out 30\.0%"):
        write(release, tmp_path / "out", report=Pages(), accept_unprotected=False)
    assert not (tmp_path / "out").exists()
    with pytest.warns(SequesterWarning, match="kept column ward alone singles out"):
        write(release, tmp_path / "out", report=Pages(), accept_unprotected=True)
    assert write(release, tmp_path / "other", report=Pages()).warnings == ()
