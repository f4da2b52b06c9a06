"""``sequester stream`` as a command."""

from __future__ import annotations

from sequester.workflow.stream import stream as module
from workflow.stream.days import make_stream


def test_a_run_a_rejection_and_the_end(run, tmp_path):
    folder = make_stream(tmp_path, days=4)
    options = ["--in", folder / "in", "--out", folder / "out", "--state", folder / "state"]
    argv = ["stream", folder / "c.toml", *options]
    ran = run(*map(str, argv))
    assert ran.code == 0
    assert "4 files taken, 1 snapshot published" in ran.out
    assert "3 snapshots wait in the window" in ran.out
    (folder / "in" / "1999.csv").write_text("x\n")
    ran = run(*map(str, argv), "--finish")
    assert ran.code == 2
    assert "error: 1999.csv was not taken: too late" in ran.err
    assert "1 file not taken" in ran.out
    ran = run(*map(str, argv), "--json")
    assert ran.code == 0
    assert ran.document["taken"] == []
    assert run("verify", str(folder / "out")).code == 0


def test_what_is_lost_is_named_by_value(run, tmp_path):
    folder = make_stream(tmp_path, days=4, level=7)
    options = ["--in", folder / "in", "--out", folder / "out", "--state", folder / "state"]
    ran = run(*map(str, ["stream", folder / "c.toml", *options, "--finish"]))
    assert ran.code == 0
    assert "records so far found no place and are lost: influenza" in ran.out


def test_an_interrupt_says_what_is_safe(run, tmp_path, monkeypatch):
    folder = make_stream(tmp_path, days=2)
    options = ["--in", folder / "in", "--out", folder / "out", "--state", folder / "state"]
    argv = list(map(str, ["stream", folder / "c.toml", *options, "--follow"]))

    def interrupt(seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr(module.time, "sleep", interrupt)
    ran = run(*argv)
    assert ran.code == 130
    assert f"what was taken is safe in {folder / 'state'}; the same command goes on from there" in ran.err
    assert f"interrupted; what was published in {folder / 'out'} is complete and in place" in ran.err
    monkeypatch.undo()
    assert "2 snapshots published" in run(*argv[:-1], "--finish").out
