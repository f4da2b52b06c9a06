"""``hierarchy build`` and ``hierarchy show`` from the command line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

VISITS = "who,n,ill\na,1,flu\na,2,cold\nb,1,flu\n"
TOML = """
[data]
path = "visits.csv"
person = "who"
order = "n"
[data.quasi.ill]
hierarchy = { kind = "tree", tree = { acute = ["flu", "cold"], chronic = ["asthma"] } }
"""


@pytest.fixture
def config(tmp_path):
    (tmp_path / "visits.csv").write_text(VISITS)
    (tmp_path / "release.toml").write_text(TOML)
    return "release.toml"


def test_build(run, config, tmp_path):
    ran = run("hierarchy", "build", config, "ill", "--out", "ill.csv", "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "ill.csv: 3 leaves, 2 levels\n", "")
    assert (tmp_path / "ill.csv").read_text() == "cold;acute;*\nflu;acute;*\nasthma;chronic;*\n"
    again = run("hierarchy", "build", config, "ill", "--out", "ill.csv")
    assert again.code == 2
    assert again.errors[0].startswith("ill.csv exists already; --force replaces it")
    forced = run("hierarchy", "build", config, "ill", "--out", "ill.csv", "--force", "--json")
    assert forced.document == {"attribute": "ill", "path": "ill.csv", "leaves": 3, "nodes": 6, "levels": 2}


def test_show(run, config):
    ran = run("hierarchy", "show", config, "ill")
    assert ran.code == 0
    assert ran.out.splitlines()[1:3] == [
        "*                3        2  2 of 3",
        "  acute          3        2  2 of 2",
    ]
    assert "folded" not in ran.out
    folded = run("hierarchy", "show", config, "ill", "--depth", 1).out.splitlines()
    assert len(folded) == 5
    assert folded[-1] == "folded at depth 1 of 2; --depth 2 shows all levels"
    short = run("hierarchy", "show", config, "ill", "--depth", 0, "--json").document
    assert short["levels"] == 2
    assert short["nodes"] == [
        {"node": "*", "parent": "", "depth": 0, "events": 3, "persons": 2, "leaves": 3, "occurring": 2}
    ]
    assert len(run("hierarchy", "show", config, "ill", "--json").document["nodes"]) == 6


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (
            ("show", "release.toml", "who"),
            "ATTRIBUTE must be a column with a hierarchy, one of 'ill', got 'who'",
        ),
        (("show", "release.toml", "ill", "--depth", "deep"), "must be a whole number, got 'deep'"),
        (("show", "release.toml", "ill", "--depth", "-1"), "must be at least 0, got -1"),
        (("show", "release.toml", "ill", "--children", "0"), "must be at least 1, got 0"),
        (("build", "release.toml", "ill"), "missing option '--out'"),
        (
            ("build", "release.toml", "ill", "--out", "visits.csv/x"),
            "cannot write visits.csv/x: visits.csv is not a folder",
        ),
        (("build", "nowhere.toml", "ill", "--out", "x.csv"), "cannot read nowhere.toml"),
    ],
)
def test_wrong_use(run, config, listing, argv, line):
    before = listing()
    ran = run("hierarchy", *argv)
    assert ran.code == 2
    assert line in "\n".join(ran.errors)
    assert listing() == before


def test_the_page_shows_what_is_printed(run, tmp_path):
    assert run("datasets", "make", "hospital", "--out", "v.csv", "--persons", 500).code == 0
    (tmp_path / "release.toml").write_text(
        '[data]\npath = "v.csv"\nperson = "PID"\norder = "VID"\ndrop = ["AdmYr", "ZIP", "LOS", "Disease"]\n'
        '[data.quasi.DSFC]\nhierarchy = { kind = "intervals", width = [7, 28] }\n'
    )
    shown = run("hierarchy", "show", "release.toml", "DSFC", "--children", 2).out
    page = (Path(__file__).parents[2] / "docs" / "hierarchies.md").read_text(encoding="utf-8")
    assert f"```text\n{shown}```\n" in page


def test_labels_cannot_break_a_line(run, config, tmp_path):
    (tmp_path / "visits.csv").write_text('who,n,ill\na,1,"x\x1b[2J\ny"\n')
    (tmp_path / "release.toml").write_text(re.sub(r"{.*}", '{ kind = "flat" }', TOML))
    ran = run("hierarchy", "show", config, "ill")
    assert "\x1b" not in ran.out
    assert "  x\\x1b[2J\\ny" in ran.out


def test_lint_names_limits_that_the_tree_does_not_have(run, config, tmp_path):
    limits = 'max_level = 9\nnever_suppress = ["flu", "acute", "mumps"]\n'
    (tmp_path / "release.toml").write_text(TOML + limits)
    ran = run("hierarchy", "lint", config, "--quiet")
    assert ran.code == 1
    assert ran.errors == [
        "quasi.ill.max_level must be at most 2, got 9",
        "quasi.ill.never_suppress names values without a leaf: 'acute', 'mumps'",
    ]
    (tmp_path / "release.toml").write_text(TOML + 'max_level = 2\nnever_suppress = ["flu", "asthma"]\n')
    assert run("hierarchy", "lint", config, "--quiet").code == 0
