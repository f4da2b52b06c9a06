"""The roles of a release are the same for who writes it and for who reads it."""

from __future__ import annotations

from sequester.data.protect import Protect
from sequester.data.schema import Quasi, Sensitive
from sequester.hierarchies import Hierarchy
from sequester.release.roles import released_schema

STAYS = Hierarchy.from_tree({"short": ["1", "2"], "long": ["30"]})


def test_the_schema_of_a_release_has_the_released_part_of_every_tree():
    schema = released_schema(
        {"stay": STAYS.above(["short"])},
        protect={"ill": {"HIV", "Cancer"}, "job": []},
        columns={"ill": ["D1", "D2"]},
        keep=["ward"],
    )
    assert schema.person == "person"
    assert schema.order == "order"
    assert schema.released
    assert schema.quasi == {"stay": Quasi(Hierarchy.from_frame(STAYS.above(["short"])))}
    assert schema.sensitive == {
        "ill": Sensitive(("D1", "D2"), Protect(values=("Cancer", "HIV"))),
        "job": Sensitive(("job",), "all"),
    }
    assert schema.keep == ("ward",)
