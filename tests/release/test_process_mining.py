"""A process miner can use a released log: run out of process, where pm4py is installed apart from us."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from sequester.io.xes import read_xes
from sequester.release.files import ARTIFICIAL, write_log

PM4PY = os.environ.get("SEQUESTER_PM4PY", "")
"""A Python that has pm4py, whose licence keeps it out of our dependencies."""
ROWS = [["register", "examine", "pay"], ["register", "pay"], ["register", "examine", "pay"], ["examine"]]
_MINE = """
import json, sys, warnings
warnings.simplefilter("ignore")
import pm4py
log = pm4py.read_xes(sys.argv[1])
net, initial, final = pm4py.discover_petri_net_inductive(log)
print(json.dumps({
    "starts": pm4py.get_start_activities(log),
    "variants": sorted(["/".join(variant), int(count)] for variant, count in pm4py.get_variants(log).items()),
    "transitions": sorted({str(each.label) for each in net.transitions if each.label}),
}))
"""


@pytest.fixture
def frame():
    rows = [(f"p{i}", n + 1, name) for i, row in enumerate(ROWS) for n, name in enumerate(row)]
    return pl.DataFrame(rows, schema=["person", "order", "concept:name"], orient="row")


def test_times_are_artificial_marked_and_keep_the_order(frame):
    text = write_log(frame, "xes").decode()
    assert '<extension name="Sequester" prefix="sequester"' in text
    found = read_xes(text.encode(), "x")
    assert found[ARTIFICIAL].to_list() == ["true"] * frame.height
    begin = datetime(1970, 1, 1, tzinfo=UTC)
    times = [datetime.fromisoformat(time) for time in found["time:timestamp"]]
    assert times == [begin + timedelta(seconds=order - 1) for order in frame["order"]]


def test_a_released_time_is_not_replaced(frame):
    frame = frame.with_columns(pl.lit("2010").alias("time:timestamp"))
    text = write_log(frame, "xes").decode()
    assert ARTIFICIAL not in text
    assert text.count('key="time:timestamp" value="2010"') == frame.height


@pytest.mark.skipif(not PM4PY, reason="SEQUESTER_PM4PY names no Python with pm4py")
def test_pm4py_discovers_counts_variants_and_start_activities(frame, tmp_path):
    (tmp_path / "log.xes").write_bytes(write_log(frame, "xes"))
    done = subprocess.run(
        [PM4PY, "-c", _MINE, tmp_path / "log.xes"], capture_output=True, text=True, timeout=600, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["starts"] == {"register": 3, "examine": 1}
    assert found["variants"] == [["examine", 1], ["register/examine/pay", 2], ["register/pay", 1]]
    assert found["transitions"] == ["examine", "pay", "register"]
