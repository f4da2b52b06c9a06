"""Section 5 of Pensa and others (2008): regions of interest, Table 1 and Figure 4, on data that is at hand.

The trajectories of Milan are not public, so Table 1 cannot be reproduced row by row; what it shows of
densities, regions and trajectories must hold on other data.
"""

from __future__ import annotations

import polars as pl
import pytest

from sequester.data.places import DensityRegions, Gap, GridRegions, Place
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import trips
from sequester.hierarchies.hierarchy import Hierarchy
from sequester.methods import CBLDA, HALT, BFP2kA

SEED = "a sentence nobody guesses"
pytestmark = pytest.mark.filterwarnings("ignore::sequester.errors.SequesterWarning")


def table_1(frame, schema, cell, thresholds):
    """Threshold to the number of regions, trajectories and the average length, and the table."""
    found = {}
    for threshold in thresholds:
        place = Place("lat", "lon", DensityRegions(cell, threshold))
        table = EventTable(frame, Schema(**schema, place=place))
        mean = table.n_events / table.n_persons
        found[threshold] = (len(table.regions.labels), table.n_persons, mean, table)
    return found


def test_higher_thresholds_leave_fewer_trajectories():
    """Table 1: the number of trajectories falls from 82,341 to 9,213 as the threshold grows."""
    frame = trips.make(persons=500)
    n_trajectories = frame.select(pl.struct("user", "trip").n_unique()).item()
    found = table_1(
        frame, {"person": "user", "time": "at", "trip": "trip"}, 250, (0.02, 0.03, 0.05, 0.07, 0.09, 0.1)
    )
    kept = [row[1] for row in found.values()]
    assert kept == sorted(kept, reverse=True)
    assert kept[0] <= n_trajectories
    assert kept[-1] < kept[0]
    regions = [row[0] for row in found.values()]
    assert regions[-1] < max(regions)  # low values make few big regions, high values few small ones


@pytest.mark.real
def test_figure_4_on_foursquare(shared_data):
    """Figure 4: both similarities lie between 0 and 1, and every release keeps its promise, in persons."""
    frame = pl.read_csv(shared_data / "foursquare_nyc_week" / "train_latlon.csv.gz")
    frame = frame.with_columns(pl.col("day") * 24 + pl.col("hour")).drop("hour", "category")
    roles = {"person": "label", "order": "day", "trip": "tid", "invalid": "drop"}
    found = table_1(frame, roles, 1000, (0.02, 0.05))
    kept = [row[1] for row in found.values()]
    assert kept == sorted(kept, reverse=True)
    assert found[0.02][3].n_owners <= 193
    for k in (5, 10):
        release = BFP2kA(k=k).apply(found[0.02][3], seed=SEED)
        assert release.verdict
        assert all(0 <= release.utility[name].value <= 1 for name in ("sim1", "sim2"))


@pytest.mark.real
def test_geolife_becomes_trips_of_eleven_persons(shared_data):
    frame = pl.read_csv(shared_data / "geolife11" / "geolife11.csv.gz", infer_schema=False)
    schema = Schema(
        person="user",
        time=["date", "time"],
        trip=Gap("30min"),
        drop=["trajectory", "alt_ft"],
        invalid="drop",
        place=Place("lat", "lon", DensityRegions(500, 0.1), max_speed=70),
    )
    table = EventTable(frame, schema)
    assert 2 <= table.n_owners <= 11
    assert table.n_owners < table.n_persons
    release = BFP2kA(k=2).apply(table, seed=SEED)
    assert release.verdict


@pytest.mark.parametrize(
    "method", [HALT(k=3, c=0.9, p=2, infeasible="drop"), CBLDA(k=3, c=0.9, infeasible="drop")]
)
def test_places_are_quasi_identifiers_beside_a_sensitive_attribute(method):
    frame = trips.make(persons=60, errands=0).group_by("user", maintain_order=True).first()
    ill = ["hiv" if number % 9 == 0 else "flu" for number in range(frame.height)]
    frame = frame.drop("trip").with_columns(pl.Series("ill", ill), sex=pl.Series(["f", "m"] * 30))
    schema = Schema(
        person="user",
        time="at",
        quasi={"sex": Hierarchy.flat()},
        sensitive={"ill": ["hiv"]},
        place=Place("lat", "lon", GridRegions(2000)),
    )
    table = EventTable(frame, schema)
    release = method.apply(table, seed=SEED)
    assert release.verdict
    assert release.frame.columns == ["person", "order", "sex", "region", "ill"]
    assert release.regions is not None
    values = set(release.frame["region"].unique()) - {"*"}
    assert values <= set(release.regions.outlines)
