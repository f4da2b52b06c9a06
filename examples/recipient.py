"""A recipient: check a release with nothing but its folder, and count with it.

Run it: python examples/recipient.py [FOLDER]
"""

from __future__ import annotations

import sys

import sequester as sq
from sequester.datasets import hospital


def receive(folder: str) -> None:
    verification = sq.verify(f"{folder}/release")
    print(f"verified from the files: {verification.holds}, {dict(verification.achieved)}")
    opened = sq.open(f"{folder}/release")
    print(opened.certificate.model)
    print(opened.frame.head(3))
    # Some lengths of stay are intervals now: expected counts spread them evenly over their values.
    print(opened.expected_counts("LOS").head(5))


def send(folder: str) -> None:
    """Stand in for the steward who made the release."""
    quasi = {"LOS": sq.Hierarchy.intervals([7, 28], origin=0)}
    sensitive, drop = {"Disease": ["HIV"]}, ["AdmYr", "ZIP", "DSFC"]
    schema = sq.Schema(person="PID", order="VID", quasi=quasi, sensitive=sensitive, drop=drop)
    table = sq.EventTable(hospital.make(persons=300), schema)
    sq.write(sq.HALT(k=5, c=0.5, p=2).apply(table), folder, force=True)


if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else "out/recipient"
    send(target)
    receive(target)
