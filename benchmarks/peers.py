"""What people would use instead: which of it is installed, where, and what it does and does not do.

``SEQUESTER_PEERS`` names interpreters, parted as in ``PATH``, in which peers may be installed; some need
older packages than sequester does. Without it, only those beside sequester are found.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Peer:
    """A package that does a part of what sequester does."""

    name: str
    """As pip knows it."""
    module: str
    """What is imported."""
    does: str
    does_not: str


PEERS = {
    peer.name: peer
    for peer in (
        Peer(
            "prefixspan",
            "prefixspan",
            "mines frequent and closed sequential patterns of single items",
            "know gaps, windows or itemsets; hide anything",
        ),
        Peer(
            "seq2pat",
            "sequential.seq2pat",
            "mines sequential patterns of two items or more under constraints, in C++",
            "give patterns of one item; keep patterns of a span above 10 unless told to; hide anything",
        ),
        Peer(
            "pycanon",
            "pycanon.anonymity",
            "measures k-anonymity, l-diversity and their kin of a table with one row per person",
            "know histories, order or generalized values; make a release",
        ),
        Peer(
            "anjana",
            "anjana.anonymity",
            "makes a table with one row per person k-anonymous by full-domain generalization and suppression",
            "know histories; choose a level per value; check what it wrote",
        ),
        Peer(
            "scikit-mobility",
            "skmob.privacy.attacks",
            "simulates attackers who know places, sequences or times of a trajectory",
            "protect anything; finish on more than some dozen persons with 20 places",
        ),
    )
}


@cache
def interpreter_of(name: str) -> str | None:
    """Return the first interpreter in which a peer can be imported, or None."""
    for python in [*filter(None, os.environ.get("SEQUESTER_PEERS", "").split(os.pathsep)), sys.executable]:
        command = [python, "-W", "ignore", "-c", f"import {PEERS[name].module}"]
        if subprocess.run(command, check=False, capture_output=True).returncode == 0:
            return python
    return None
