"""Events at the same time are told of, with their number and rows."""

from __future__ import annotations

import pytest

from sequester.workflow.dry_run import dry_run
from sequester.workflow.protect import protect

TOML = """
[data]
path = "d.csv"
person = "u"
order = "t"
symbol = { column = "s" }
[method]
name = "p2ka"
k = 2
[release]
path = "out"
"""


@pytest.mark.parametrize("job", [protect, dry_run])
def test_ties_are_told(tmp_path, job):
    (tmp_path / "d.csv").write_text("u,t,s\n1,1,a\n1,1,b\n2,1,a\n2,1,b\n")
    (tmp_path / "release.toml").write_text(TOML)
    told = []
    done = job(tmp_path / "release.toml", warn=told.append)
    line = "column 't': events of a person at the same time stay in file order (4 rows: 1, 2, 3, 4)"
    assert line in told
    assert line in done.to_json()["warnings"]
