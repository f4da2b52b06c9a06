"""Series: after every part all parts together are private by the oracle's count; nothing is taken back."""

from __future__ import annotations

import polars as pl
import pytest

from methods.halt.series_tables import RandomSeries, as_past, run, table_of
from methods.halt.tables import HIGH
from oracles import series as oracle
from sequester.data.schema import Quasi, Schema
from sequester.data.table import EventTable
from sequester.errors import (
    InputError,
    NothingNewError,
    ParameterError,
    SchemaError,
    UnattainableError,
)
from sequester.hierarchies import Hierarchy
from sequester.methods import METHODS
from sequester.methods.halt.method import HALT, GloGen
from sequester.methods.limits import ATTENDANCE, ONE_RELEASE, ONE_SERIES

FLAT = {"a": "*", "b": "*", "c": "*"}
TREES = {"Q": FLAT}


def rows(*persons, start=0):
    """Events of persons, written as ``who: values``; a value in capitals comes with the illness h."""
    return [
        (who, start + n, value.lower(), "h" if value.isupper() else "no")
        for who, values in persons
        for n, value in enumerate(values)
    ]


def first(*persons, **asked):
    method = HALT(**{"k": 2, "c": 1, "p": 2, **asked})
    return method, run(method, table_of(rows(*persons), TREES), series=True)


def part(method, past, *persons, start=1):
    return run(method, table_of(rows(*persons, start=start), TREES), continues=as_past(past))


def shown(release):
    """Person of the input to the values of this part."""
    who = dict(release.pseudonyms.select("pseudonym", "person").iter_rows())
    events = release.frame.group_by("person", maintain_order=True).agg("Q").iter_rows()
    return {who[name]: "".join(values) for name, values in events}


def follow(number):
    """Run a random series to its end, and return how many parts were released."""
    series, parts, past = RandomSeries(number), [], None
    for n in range(3):
        table = series.arrive(n)
        try:
            how = {"series": True} if past is None else {"continues": past}
            release = run(series.method, table, **how)
        except NothingNewError:
            continue
        except UnattainableError:
            if past is None:
                return 0
            raise
        parts.append(series.read(release))
        past = as_past(release)
        assert series.is_private(parts), number
        who = dict(past.pseudonyms.select("pseudonym", "person").iter_rows())
        assert len(set(who.values())) == len(who)
        for pseudonym, events in oracle.accumulate([events for _, events in parts]).items():
            own = series.people[who[pseudonym]]
            assert oracle.is_true([cells for cells, _ in events], [cells for cells, _ in own], series.trees)
            if not series.has_both:
                assert [values["ill"] for _, values in events] == [{ill} for _, ill in own[: len(events)]]
            series.n_released[who[pseudonym]] = len(events)
        if series.has_sexes:
            released = oracle.accumulate([attributes for attributes, _ in parts])
            assert set(released) == set(who)
            for pseudonym, [(cells, _)] in released.items():
                assert cells["sex"] in ("*", series.sexes[who[pseudonym]])
    return len(parts)


@pytest.mark.parametrize("block", range(4))
def test_random_series_are_private_after_every_part_and_never_stuck(block):
    assert sum(follow(20 * block + number) for number in range(20)) > 20


@pytest.mark.thorough
@pytest.mark.parametrize("block", range(4, 100))
def test_many_random_series(block):
    assert sum(follow(20 * block + number) for number in range(20)) > 20


def test_two_private_releases_that_intersect_in_one_person_cannot_be_parts_of_a_series():
    # Fung et al. (2008), section 1: each release is 2-anonymous, and who is in both classes is alone.
    first_classes, second_classes = [{"x", "y"}, {"z", "w"}], [{"x", "z"}, {"y", "w"}]
    assert all(len(each) == 2 for each in first_classes + second_classes)
    assert oracle.intersection([first_classes, second_classes], [0, 0]) == {"x"}
    # The same as histories: x and y show a, z and w show b; then x and z would show a, y and w b.
    method, release = first(("x", "a"), ("y", "a"), ("z", "b"), ("w", "b"))
    assert set(release.frame["Q"]) == {"a", "b"}
    careless = [{"x": "a", "y": "a", "z": "b", "w": "b"}, {"x": "a", "z": "a", "y": "b", "w": "b"}]
    parts = [{who: [({"Q": value}, {})] for who, value in each.items()} for each in careless]
    assert all(oracle.is_private([each], TREES, {}, 2, 1, 2) for each in parts)
    assert not oracle.is_private(parts, TREES, {}, 2, 1, 2)
    later = part(method, release, ("x", "a"), ("y", "b"), ("z", "a"), ("w", "b"))
    together = [*as_past(release).tables["events"].iter_rows(), *later.frame.iter_rows()]
    told = [{}, {}]
    for place, (who, _, value, _) in enumerate(together):
        told[place >= release.frame.height].setdefault(who, []).append(({"Q": value}, {}))
    assert oracle.is_private(told, TREES, {}, 2, 1, 2)
    assert any("*" in values or len(values) < 1 for values in shown(later).values())


def test_what_fits_enough_others_is_released_as_it_is():
    method, release = first(("x", "a"), ("y", "a"), ("z", "b"), ("w", "b"))
    later = part(method, release, ("x", "b"), ("y", "b"), ("n", "ab"), ("m", "ab"))
    assert shown(later) == {"x": "b", "y": "b", "n": "ab", "m": "ab"}
    before = dict(release.pseudonyms.iter_rows())
    after = dict(later.pseudonyms.iter_rows())
    assert all(after[who] == before[who] for who in "xy")
    assert len({*before.values(), *after.values()}) == 6
    assert later.link.part == 2
    assert later.verdict.achieved["k"] == 4
    assert later.table.n_persons == 6
    assert later.frame["person"].is_sorted()


def test_a_new_person_who_is_alone_waits_until_others_fit():
    method, release = first(("x", "a"), ("y", "a"))
    with pytest.raises(NothingNewError, match="1 new event is held back, and the series stays as it was"):
        part(method, release, ("n", "c"))
    later = part(method, release, ("n", "c"), ("m", "c"))
    assert shown(later) == {"n": "c", "m": "c"}


def test_an_input_without_anything_new_leaves_the_series_as_it_was():
    method, release = first(("x", "a"), ("y", "a"))
    with pytest.raises(NothingNewError, match="nothing that the series has not released"):
        part(method, release, ("x", "a"), ("y", "a"), start=0)


def test_sensitive_attributes_that_may_be_known_make_no_series():
    with pytest.raises(ParameterError, match="cannot be suppressed for others"):
        first(("x", "a"), ("y", "a"), sensitive_known=True)


def test_events_are_held_back_from_one_on_and_come_later_in_their_order():
    method, release = first(("x", "a"), ("y", "a"))
    held = part(method, release, ("x", "bcb"), ("y", "b"))
    assert shown(held) == {"x": "b", "y": "b"}
    waiting = held.changes.filter(pl.col("what") == "held back")
    assert waiting["row"].to_list() == [2, 3]
    assert waiting["because"].to_list() == ["Q = c: 1 person"] * 2
    again = rows(("x", "bcb"), start=1) + rows(("y", "cb"), start=2)
    last = run(method, table_of(again, TREES), continues=as_past(held))
    assert shown(last) == {"x": "cb", "y": "cb"}
    assert [row["held_back"] for row in last.series.history] == [0, 2, 0]


def test_a_new_protected_value_turns_an_old_item_into_a_channel_and_is_held_back():
    method, release = first(("x", "a"), ("y", "a"), ("z", "b"), ("w", "b"), c="1/3")
    with pytest.raises(NothingNewError):
        part(method, release, ("x", "A"))
    later = part(method, release, ("x", "A"), ("y", "a"), ("z", "b"), ("w", "b"))
    assert shown(later) == {"z": "b", "w": "b"}
    held = later.changes.filter(pl.col("what") == "held back")
    assert held.select("person", "constraint").sort("person").rows() == [
        ("x", "confidence above c"),
        ("y", "support below k"),
    ]


def test_a_column_that_showed_nothing_shows_nothing_later():
    # A star is an item where the column shows others: then the past would say how many events somebody had.
    trees = {"Q": FLAT, "R": FLAT}
    events = [
        (who, n, "a", value, "no")
        for who, values in (("x", "ab"), ("y", "ca"))
        for n, value in enumerate(values)
    ]
    method = HALT(k=2, c=1, p=2)
    release = run(method, table_of(events, trees), series=True)
    assert release.frame["R"].unique().to_list() == ["*"]
    more = [(who, 2, "a", "b", "no") for who in "xynm"]
    later = run(method, table_of(more, trees), continues=as_past(release))
    assert later.frame["R"].unique().to_list() == ["*"]
    assert later.frame["Q"].unique().to_list() == ["a"]


def test_glogen_holds_back_and_never_suppresses():
    method = GloGen(k=2, c=1, p=1)
    release = run(method, table_of(rows(("x", "a"), ("y", "a"), ("z", "b"), ("w", "b")), TREES), series=True)
    past = as_past(release)
    later = run(method, table_of(rows(("x", "bc"), ("y", "c"), ("z", "b"), start=1), TREES), continues=past)
    assert shown(later) == {"x": "bc", "y": "c", "z": "b"}
    alone = run(method, table_of(rows(("x", "bc"), start=1), TREES), continues=past)
    assert shown(alone) == {"x": "b"}


def test_old_events_that_differ_from_what_was_released_are_refused_with_their_rows():
    method, release = first(("x", "a"), ("y", "a"), ("z", "b"), ("w", "b"))
    events = [("x", 0, "a", "no"), ("y", 0, "b", "h"), ("z", 0, "b", "no"), ("x", 1, "b", "no")]
    with pytest.raises(InputError) as refusal:
        run(method, table_of(events, TREES), continues=as_past(release))
    assert len(refusal.value.lines) == 2
    for line in refusal.value.lines:
        assert "rows 2:" in line
    assert "'Q'" in refusal.value.lines[0]
    assert "released as 'a' and has 'b' now" in refusal.value.lines[0]
    assert "released as 'no' and has 'h' now" in refusal.value.lines[1]


def test_events_that_come_too_late_are_left_out_with_a_warning():
    method = HALT(k=2, c=1, p=2)
    release = run(method, table_of(rows(("x", "ab"), ("y", "ab"), start=5), TREES), series=True)
    events = [("x", 1, "a", "no"), ("x", 9, "b", "no"), ("y", 9, "b", "no")]
    later = run(method, table_of(events, TREES), continues=as_past(release))
    assert shown(later) == {"x": "b", "y": "b"}
    assert any("1 event lies before what was released" in line and "row 1" in line for line in later.warnings)


def test_a_series_that_began_with_values_suppressed_everywhere_is_continued_by_default():
    people = (("x", "a"), ("y", "a"), ("z", "b"), ("w", "c"))
    former, release = first(*people, suppression="global")
    later = part(HALT(k=former.k, c=former.c, p=former.p), release, ("x", "b"), ("y", "b"), ("z", "c"))
    assert release.parameters["suppression"] == "global"
    assert later.parameters["suppression"] == "local"
    assert later.verdict
    assert {"x", "y"} <= set(shown(later))


def test_other_parameters_roles_and_hierarchies_are_refused():
    method, release = first(("x", "a"), ("y", "a"))
    past, table = as_past(release), table_of(rows(("n", "a"), ("m", "a")), TREES)
    for other, reason in [
        (HALT(k=3, c=1, p=2), "k = 2"),
        (HALT(k=2, c=1, p=1), "p = 2"),
        (GloGen(k=2, c=1, p=2), "was made with halt"),
    ]:
        with pytest.raises(InputError, match=reason):
            run(other, table, continues=past)
    two = table_of([("n", 0, "a", "a", "no"), ("m", 0, "a", "a", "no")], {"Q": FLAT, "R": FLAT})
    with pytest.raises(InputError, match="column 'R': its role"):
        run(method, two, continues=past)
    deeper = {"a": "x", "b": "x", "c": "*", "x": "*"}
    with pytest.raises(InputError, match=r"'a' lies below 'x' here, and below '\*' in an earlier part"):
        run(method, table_of(rows(("n", "a"), ("m", "a")), {"Q": deeper}), continues=past)


def test_a_value_that_was_released_unprotected_cannot_be_protected_later():
    method, release = first(("x", "a"), ("y", "a"))
    frame = pl.DataFrame({"who": ["n", "m"], "n": 0, "Q": "a", "ill": ["no", "h"]})
    quasi = {"Q": Quasi(Hierarchy.from_edges(list(FLAT.items())))}
    schema = Schema(person="who", order="n", quasi=quasi, sensitive={"ill": [*HIGH, "no"]})
    with pytest.raises(InputError, match="'no', which an earlier part released unprotected"):
        run(method, EventTable(frame, schema), continues=as_past(release))


def test_an_event_count_and_a_missing_order_are_refused():
    frame = pl.DataFrame({"who": ["n", "m"], "at": ["2020-01-01", "2020-01-02"], "Q": "a"})
    flat = Quasi(Hierarchy.from_edges(list(FLAT.items())))
    quasi = {"Q": flat, "events": Hierarchy.flat()}
    schema = Schema(person="who", time="at", quasi=quasi, derive={"events": "event_count"})
    with pytest.raises(SchemaError, match="'events' counts events"):
        run(HALT(k=2, c=1, p=1), EventTable(frame, schema), series=True)
    rows_alone = EventTable(frame.select("Q"), Schema(person="row", quasi={"Q": flat}))
    with pytest.raises(SchemaError, match="a series needs an order or a time"):
        run(HALT(k=2, c=1, p=1), rows_alone, series=True)


def test_columns_that_look_back_need_the_earlier_events():
    frame = pl.DataFrame({"who": list("xxyy"), "at": ["2020-01-01", "2020-01-02"] * 2, "Q": "a"})
    quasi = {"Q": Quasi(Hierarchy.from_edges(list(FLAT.items()))), "gap": Hierarchy.intervals([10, 100])}
    schema = Schema(person="who", time="at", quasi=quasi, derive={"gap": "days_since_first"})
    method = HALT(k=2, c=1, p=1)
    release = run(method, EventTable(frame, schema), series=True)
    more = pl.DataFrame({"who": list("xy"), "at": ["2020-02-01", "2020-02-01"], "Q": "a"})
    with pytest.raises(SchemaError, match="'gap' looks back at earlier events"):
        run(method, EventTable(more, schema), continues=as_past(release))
    later = run(method, EventTable(pl.concat([frame, more]), schema), continues=as_past(release))
    assert later.frame.height == 2


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"halt", "glogen"}))
def test_all_other_methods_refuse_a_series_in_one_line(name):
    kind = METHODS[name]
    assert kind.no_series
    assert "\n" not in kind.no_series
    method = object.__new__(kind)
    table = table_of(rows(("x", "a"), ("y", "a")), TREES)
    for how in ({"series": True}, {"continues": "somewhere"}):
        with pytest.raises(ParameterError, match=f"{name} cannot make a series of releases: "):
            kind.apply(method, table, **how)


def test_the_limits_name_what_a_series_does_not_cover():
    _, release = first(("x", "a"), ("y", "a"))
    assert ONE_SERIES in release.limits
    assert ATTENDANCE in release.limits
    assert ONE_RELEASE not in release.limits
    alone = run(HALT(k=2, c=1, p=2), table_of(rows(("x", "a"), ("y", "a")), TREES))
    assert ONE_RELEASE in alone.limits
    assert alone.link is None


def test_the_same_seed_repeats_a_part():
    method, release = first(("x", "a"), ("y", "a"))
    table = table_of(rows(("n", "a"), ("m", "a")), TREES)
    one, two = (
        run(method, table, continues=as_past(release), seed="a sentence nobody guesses") for _ in range(2)
    )
    assert one.frame.equals(two.frame)
