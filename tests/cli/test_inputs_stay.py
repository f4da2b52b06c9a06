"""Whatever ``--force`` replaces, it is never what a command reads."""

from __future__ import annotations

import pytest

GOOD = "user,at,page\n" + "".join(f"u{n},{at},p{at}\n" for n in range(4) for at in (1, 2))
TREE = "p1;p;*\np2;p;*\n"
DATA = """
[data]
path = "{data}"
person = "user"
order = "at"
[data.symbol]
column = "page"
hierarchy = {{ path = "{tree}" }}
[method]
name = "p2ka"
k = 2
[release]
path = "{out}"
"""


@pytest.fixture
def lay(tmp_path):
    """Lay out the data, its hierarchy and the configuration at paths of choice."""

    def lay(*, data="d.csv", tree="t.csv", toml="r.toml", out="out", internal=None):
        text = DATA.format(
            data=tmp_path / data, tree=tmp_path / tree, out=tmp_path / out if out[:1] != "." else out
        )
        if internal is not None:
            text += f'internal = "{internal}"\n'
        for name, content in ((data, GOOD), (tree, TREE), (toml, text)):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)

    return lay


@pytest.mark.parametrize(
    ("layout", "what"),
    [
        ({"data": "release/d.csv", "out": "."}, "the data"),
        ({"data": "out/release/deep/d.csv"}, "the data"),
        ({"data": "out/internal/d.csv"}, "the data"),
        ({"data": "home/d.csv", "internal": "home"}, "the data"),
        ({"internal": "d.csv"}, "the data"),
        ({"internal": "r.toml"}, "the configuration"),
        ({"toml": "internal/r.toml", "out": ".."}, "the configuration"),
        ({"tree": "out/release/t.csv"}, "the hierarchy of data.symbol"),
    ],
)
@pytest.mark.parametrize("dry", [False, True])
def test_a_release_does_not_replace_its_input(lay, run, listing, layout, what, dry):
    lay(**layout)
    before = listing()
    dry_run = ["--dry-run"] if dry else []
    ran = run("protect", layout.get("toml", "r.toml"), "--force", "--quiet", *dry_run)
    assert ran.code == 2
    assert f"would replace {what}, " in "\n".join(ran.errors)
    assert listing() == before


def test_an_earlier_release_that_holds_the_data_is_not_replaced(lay, run, listing, tmp_path):
    lay()
    assert run("protect", "r.toml", "--quiet").code == 0
    (tmp_path / "d.csv").rename(tmp_path / "out/internal/d.csv")
    text = (tmp_path / "r.toml").read_text().replace("d.csv", "out/internal/d.csv")
    (tmp_path / "r.toml").write_text(text)
    before = listing()
    ran = run("protect", "r.toml", "--force", "--quiet")
    assert (ran.code, len(ran.errors)) == (2, 1)
    assert listing() == before


def test_a_folder_of_photos_is_not_replaced(lay, run, listing, tmp_path):
    lay(internal="home")
    (tmp_path / "home" / "photos").mkdir(parents=True)
    (tmp_path / "home" / "photos" / "a.jpg").write_text("a")
    before = listing()
    ran = run("protect", "r.toml", "--force", "--quiet")
    assert ran.code == 2
    assert "home exists already and was not written with a release" in ran.errors[0]
    assert listing() == before


@pytest.mark.parametrize(
    "argv",
    [
        ("hierarchy", "build", "r.toml", "page", "--out", "d.csv"),
        ("hierarchy", "build", "r.toml", "page", "--out", "t.csv"),
        ("hierarchy", "build", "r.toml", "page", "--out", "r.toml"),
        ("hierarchy", "build", "r.toml", "page", "--out", "x/../d.csv"),
        ("hierarchy", "build", "r.toml", "page", "--out", "link.csv"),
        ("inspect", "r.toml", "--out", "d.csv"),
        ("inspect", "r.toml", "--out", "r.toml"),
        ("convert", "d.csv", "d.csv"),
        ("convert", "r.toml", "d.csv"),
        ("convert", "r.toml", "t.csv"),
        ("convert", "parts", "parts/1.parquet"),
        ("init", "d.csv", "--out", "d.csv"),
        ("init", "d.csv", "--out", "./d.csv"),
    ],
)
def test_a_file_does_not_replace_what_it_is_made_of(lay, run, listing, tmp_path, argv):
    lay()
    (tmp_path / "x").mkdir()
    (tmp_path / "parts").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "d.csv")
    assert run("convert", "d.csv", "parts/1.parquet", "--quiet").code == 0
    before = listing()
    ran = run(*argv, "--force", "--quiet")
    assert ran.code == 2, ran.out
    assert "would replace the " in ran.errors[0]
    assert listing() == before


def test_other_files_beside_the_input_are_replaced(lay, run, tmp_path):
    lay()
    (tmp_path / "other.csv").write_text("other")
    assert run("hierarchy", "build", "r.toml", "page", "--out", "other.csv", "--force", "--quiet").code == 0
    assert (tmp_path / "other.csv").read_text() != "other"
