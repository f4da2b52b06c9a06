"""Table 1 and Figure 4 of Pensa and others (2008): six densities, several k, on invented trips or on yours.

    python benchmarks/six_densities.py
    python benchmarks/six_densities.py gps.toml        the [data] and [data.place] of a configuration

Prints regions, trajectories and average length per density threshold, then SIM1 and SIM2 for each k.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace

from sequester.data.place import DensityRegions, Place
from sequester.data.schema import Schema
from sequester.data.table import EventTable
from sequester.datasets import trips
from sequester.errors import InputError, UnattainableError
from sequester.methods import BFP2kA
from sequester.workflow.config import Config

THRESHOLDS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1)
KS = (5, 10, 20, 50, 100)


def main() -> None:
    """Print the table and the figure."""
    warnings.simplefilter("ignore")
    if len(sys.argv) > 1:
        config = Config.load(sys.argv[1])
        frame, schema = config.frame(), config.schema
    else:
        frame = trips.make(persons=2_000)
        place = Place("lat", "lon", DensityRegions(250, THRESHOLDS[0]))
        schema = Schema(person="user", time="at", trip="trip", place=place)
    if schema.place is None or not isinstance(schema.place.regions, DensityRegions):
        sys.exit("the configuration must have [data.place] with regions of the kind density")
    print("threshold  regions  trajectories  length   " + "  ".join(f"k={k:<4}SIM1 SIM2" for k in KS))
    for threshold in THRESHOLDS:
        regions = replace(schema.place.regions, threshold=threshold)
        place = Place(
            schema.place.lat,
            schema.place.lon,
            regions,
            time_of_day=schema.place.time_of_day,
            max_speed=schema.place.max_speed,
        )
        try:
            table = EventTable(frame, replace(schema, place=place))
        except InputError as error:
            print(f"{threshold:9.3f}  {error.lines[0]}")
            continue
        length = table.n_events / table.n_persons
        cells = [f"{threshold:9.3f}  {len(table.regions.labels):7,}  {table.n_persons:12,}  {length:6.3f}   "]
        for k in KS:
            try:
                scores = BFP2kA(k=k).apply(table).utility
                cells.append(f"      {scores['sim1'].value:.2f} {scores['sim2'].value:.2f}")
            except UnattainableError:
                cells.append("      nothing  ")
        print("  ".join(cells))


if __name__ == "__main__":
    main()
