"""A disk that is full is the user's to free, and leaves nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs limits of Unix")

# A limit on the size of a file stops the writer in the middle, as a full disk does, and needs no rights.
LIMITED = """
import json, resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from release.samples import Pages, release_of
from sequester.workflow.write import write
from sequester.errors import InputError

out = Path(sys.argv[1])
release = release_of([f"{person:05}abc" for person in range(2000) for _ in range(2)])
sizes = [path.stat().st_size for path in Path(write(release, out / "whole", report=Pages())).iterdir()]
unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
answers = []
for limit in sorted({0, 10, *(size - 1 for size in sizes)}):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1]))
    try:
        write(release, out / "new" / str(limit), report=Pages())
        answer = "written"
    except InputError as error:
        answer = str(error)
    try:
        write(release, out / "whole", report=Pages(), force=True)
    except InputError:
        pass
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    answers.append([limit, answer])
print(json.dumps(answers))
"""


def test_nothing_is_left_and_an_older_release_stays(tmp_path):
    command = [sys.executable, "-c", LIMITED, str(tmp_path), str(Path(__file__).parents[1])]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    assert len(answers) >= 5
    for limit, answer in answers:
        assert answer == f"cannot write {tmp_path / 'new' / str(limit)}: File too large"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["whole"]
    assert sorted(path.name for path in (tmp_path / "whole").iterdir()) == ["internal", "release"]
    assert (tmp_path / "whole" / "release" / "certificate.json").exists()
