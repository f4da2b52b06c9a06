"""What a dishonest or careless publisher can do to a release: each forgery, and who can notice it.

A forgery changes a `Copy`; hashes and counts are computed anew afterwards, and what the files achieve is
written into the certificate, so that nothing else gives it away.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from verification.honest import CASES, NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from verification.doctoring import Copy

Who = Literal["recipient", "publisher", "nobody"]
NAME = NAMES[0]
"""Somebody whom no release may name."""

WITH_PERSONS = ("persons", "persons-cblda")
QUASI = ("halt", "glogen", "cblda", "cblda-baseline", "rich", *WITH_PERSONS)
SYMBOL = ("p2ka", "prefix-pruning", "ph", "sbsh", "abul", "top-down", "bottom-up", "xes", "spmf")
HIDDEN = ("ph", "sbsh", "abul", "top-down", "bottom-up")
"""Judged with the original, because their claim cannot be checked without."""
COUNTED = tuple(case for case in SYMBOL if case not in HIDDEN)
"""Their promise counts persons: it has a k, and what one person has breaks it."""
TREE = ("top-down", "bottom-up")
ANATOMY = ("reposition", "suppress-only", "merge-snapshots", "stream")
RECORDS = (*ANATOMY, "generalize", "none")
HISTORIES = (*QUASI, *SYMBOL, "trips")
FOLDERS = tuple(case for case in CASES if case != "stream")
LAYOUTS = ("rich", "persons", "trips", "xes", "spmf", "reposition", "generalize", "none", "stream")
"""One release of each kind, for what has to do with files and not with methods."""
HIERARCHIES = (*QUASI, *TREE, "generalize", "none", "reposition", "suppress-only", "merge-snapshots")


class NotHereError(Exception):
    """The release has nothing that could be forged so."""


@dataclass(frozen=True)
class Forgery:
    """A change, the cases to which it applies, and who notices it."""

    change: Callable[[Copy], None]
    cases: tuple[str, ...]
    who: Who
    why: str
    """Why a recipient cannot notice it; empty where one must."""

    @property
    def name(self) -> str:
        """What the function is called."""
        return self.change.__name__


FORGERIES: dict[str, Forgery] = {}


def forgery(
    *cases: Iterable[str], who: Who = "recipient", why: str = ""
) -> Callable[[Callable[[Copy], None]], Callable[[Copy], None]]:
    """Register a forgery for some cases."""
    chosen = tuple(dict.fromkeys(name for some in cases or (CASES,) for name in some))

    def register(change: Callable[[Copy], None]) -> Callable[[Copy], None]:
        assert change.__name__ not in FORGERIES
        assert (who == "recipient") != bool(why)
        FORGERIES[change.__name__] = Forgery(change, chosen, who, why)
        return change

    return register


def named(name: str, change: Callable[[Copy], None]) -> Callable[[Copy], None]:
    """Give a function made in a loop its name."""
    change.__name__ = name
    return change


def with_column(frame: pl.DataFrame, column: pl.Series, place: int | None = None) -> pl.DataFrame:
    """Add a column behind the attributes; `group` and `count` stay the last."""
    if place is None:
        place = frame.width - (frame.columns[-1] in {"group", "count"})
    return frame.insert_column(place, column)


def raw(copy: Copy, column: str) -> pl.Series:
    """As many names as the table has rows."""
    return pl.Series(column, [NAMES[row % len(NAMES)] for row in range(copy.frame().height)])


def need(found: list[str] | dict[str, Path]) -> Any:
    """Take the first, where there is one."""
    if not found:
        raise NotHereError
    return next(iter(found))


def roles(document: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Give the roles that a certificate claims, where it does."""
    claimed = document["claim"].get("columns")
    if claimed is None:
        raise NotHereError
    return claimed


# Persons.


@forgery(WITH_PERSONS)
def leave_a_person_out_of_the_table_of_persons(copy: Copy) -> None:
    who = copy.frame()["person"][0]
    copy.put(copy.frame("persons").filter(pl.col("person") != who), "persons")


@forgery(WITH_PERSONS)
def give_a_person_two_rows(copy: Copy) -> None:
    persons = copy.frame("persons")
    copy.put(pl.concat([persons.head(1), persons]), "persons")


@forgery(WITH_PERSONS)
def put_the_table_of_persons_in_another_order(copy: Copy) -> None:
    copy.put(copy.frame("persons").reverse(), "persons")


@forgery(WITH_PERSONS)
def call_a_person_by_name_in_the_table_of_persons(copy: Copy) -> None:
    persons, events = copy.frame("persons"), copy.frame()
    who = events["person"][0]
    for name, frame in (("persons", persons), ("events", events)):
        copy.put(frame.with_columns(pl.col("person").replace(who, NAMES[0])), name)


@forgery(WITH_PERSONS)
def publish_the_birth_year_of_a_person(copy: Copy) -> None:
    persons = copy.frame("persons")
    copy.put(persons.with_columns(pl.Series("born", ["1950", *persons["born"][1:]])), "persons")


@forgery(WITH_PERSONS)
def make_csv_and_parquet_of_persons_differ(copy: Copy) -> None:
    path = copy.path("persons.csv")
    path.write_text(path.read_text().replace("some", "none", 1))


@forgery(WITH_PERSONS)
def claim_that_no_attribute_is_known(copy: Copy) -> None:
    with copy.certify() as document:
        del document["claim"]["parameters"]["persons"]


@forgery(WITH_PERSONS)
def claim_one_attribute_less(copy: Copy) -> None:
    with copy.certify() as document:
        document["claim"]["parameters"]["persons"] = ["born"]


@forgery(WITH_PERSONS)
def call_an_attribute_of_persons_kept(copy: Copy) -> None:
    persons = copy.frame("persons")
    copy.put(persons.select("person", "born", "faith", "sex", "site"), "persons")
    with copy.certify() as document:
        roles(document)["persons"] = {
            "person": "technical",
            "born": "quasi",
            "faith": "sensitive",
            "sex": "keep",
            "site": "keep",
        }


@forgery(WITH_PERSONS)
def add_a_column_of_names_to_the_persons(copy: Copy) -> None:
    persons = copy.frame("persons")
    names = pl.Series("name", [NAMES[row % len(NAMES)] for row in range(persons.height)])
    copy.put(persons.with_columns(names), "persons")


# Columns.


@forgery()
def add_a_column_of_names(copy: Copy) -> None:
    copy.put(with_column(copy.frame(), raw(copy, "name")))


@forgery()
def add_a_constant_column(copy: Copy) -> None:
    copy.put(with_column(copy.frame(), pl.Series("source", ["ward 7"] * copy.frame().height)))


@forgery()
def add_a_column_of_numbers(copy: Copy) -> None:
    copy.put(with_column(copy.frame(), pl.Series("row", range(copy.frame().height), dtype=pl.Int64)))


@forgery()
def add_a_column_in_front(copy: Copy) -> None:
    copy.put(with_column(copy.frame(), raw(copy, "name"), 0))


@forgery()
def add_a_column_among_the_attributes(copy: Copy) -> None:
    copy.put(with_column(copy.frame(), raw(copy, "name"), 1 + ("order" in copy.frame().columns)))


@forgery()
def add_a_column_with_an_empty_name(copy: Copy) -> None:
    copy.put(with_column(copy.frame(), raw(copy, "")))


@forgery()
def add_a_column_that_looks_like_another(copy: Copy) -> None:
    copy.put(with_column(copy.frame(), raw(copy, f"{need(copy.columns('quasi', 'symbol'))} ")))


@forgery(ANATOMY)
def add_the_sensitive_attribute_to_the_records(copy: Copy) -> None:
    attribute = copy.document["claim"]["parameters"]["sensitive"]
    copy.put(with_column(copy.frame(), pl.Series(attribute, ["HIV"] * copy.frame().height)))


@forgery(ANATOMY)
def add_names_to_the_values(copy: Copy) -> None:
    values = copy.frame("values")
    copy.put(with_column(values, pl.Series("name", [NAME] * values.height)), "values")


@forgery(
    FOLDERS,
    who="publisher",
    why="The claim names the column; that nobody asked for it is in the configuration.",
)
def add_a_column_and_claim_that_it_is_kept(copy: Copy) -> None:
    copy.put(with_column(copy.frame(), raw(copy, "name")))
    copy.role("name", "keep")


@forgery(RECORDS, SYMBOL, ["trips"])
def keep_a_column_where_no_method_keeps_any(copy: Copy) -> None:
    roles(copy.document)
    add_a_column_and_claim_that_it_is_kept(copy)


@forgery()
def add_a_column_and_claim_that_it_is_technical(copy: Copy) -> None:
    copy.put(with_column(copy.frame(), raw(copy, "name")))
    copy.role("name", "technical")


for _role in ("quasi", "sensitive", "keep", "symbol", "quasi+sensitive", "group", "count", "time", "person"):

    def _homonym(copy: Copy, role: str = _role) -> None:
        roles(copy.document)
        frame = copy.frame()
        if role in frame.columns:
            raise NotHereError
        # Beside a column that really has the role, where there is one.
        places = [frame.columns.index(column) for column in copy.columns(role.partition("+")[0])]
        place = 1 + places[-1] if places else None
        copy.put(with_column(frame, raw(copy, role), place))
        with copy.certify() as document:
            table = copy.tables[0]
            claimed = {**roles(document)[table], role: "technical"}
            roles(document)[table] = {column: claimed[column] for column in copy.frame().columns}

    forgery(["rich", "p2ka", "reposition", "none"])(
        named(f"add_a_technical_column_called_{_role.replace('+', '_')}", _homonym)
    )


@forgery(QUASI)
def call_a_quasi_identifier_keep_and_claim_that_it_is_technical(copy: Copy) -> None:
    roles(copy.document)
    column = quasi_to_the_end(copy)
    copy.put(copy.frame().rename({column: "keep"}))
    with copy.certify() as document:
        claimed = {
            ("keep" if each == column else each): role for each, role in roles(document)["events"].items()
        }
        claimed["keep"] = "technical"
        roles(document)["events"] = {each: claimed[each] for each in copy.frame().columns}


@forgery()
def add_a_column_and_claim_that_it_is_a_region(copy: Copy) -> None:
    copy.put(with_column(copy.frame(), raw(copy, "name")))
    copy.role("name", "region")


@forgery()
def add_a_column_and_claim_that_it_is_a_symbol(copy: Copy) -> None:
    copy.put(with_column(copy.frame(), raw(copy, "name")))
    copy.role("name", "symbol")


@forgery(["stream"])
def claim_another_quasi_identifier_in_one_snapshot(copy: Copy) -> None:
    copy.put(with_column(copy.frame(), raw(copy, "name")))
    copy.role("name", "quasi")


@forgery(FOLDERS)
def add_a_column_and_claim_that_it_is_a_quasi_identifier(copy: Copy) -> None:
    copy.put(with_column(copy.frame(), raw(copy, "name")))
    copy.role("name", "quasi")


@forgery()
def add_a_column_and_claim_that_it_is_sensitive(copy: Copy) -> None:
    copy.put(with_column(copy.frame(), raw(copy, "name")))
    copy.role("name", "sensitive")


@forgery(QUASI, who="publisher", why="That none of its values is protected can be meant so.")
def add_a_sensitive_column_without_protected_values(copy: Copy) -> None:
    frame = copy.frame()
    place = 1 + max(frame.columns.index(column) for column in copy.columns("sensitive"))
    copy.put(with_column(frame, raw(copy, "name"), place))
    copy.role("name", "sensitive")
    with copy.certify() as document:
        document["claim"]["parameters"]["protect"]["name"] = []


@forgery()
def rename_a_column(copy: Copy) -> None:
    column = need(copy.columns("sensitive", "symbol", "quasi"))
    copy.put(copy.frame().rename({column: "nickname"}))
    if column in copy.trees():
        copy.trees()[column].rename(copy.folder / "hierarchies" / "nickname.csv")


@forgery(FOLDERS, who="publisher", why="Names of columns are the publisher's; the configuration has others.")
def rename_a_column_everywhere(copy: Copy) -> None:
    rename_a_column(copy)
    old = need([column for column in copy_columns_before(copy) if column not in copy.frame().columns])

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {("nickname" if key == old else key): renamed(each) for key, each in value.items()}
        if isinstance(value, list):
            return [renamed(each) for each in value]
        return "nickname" if value == old else value

    with copy.certify() as document:
        document["claim"] = renamed(document["claim"])


def copy_columns_before(copy: Copy) -> list[str]:
    """The columns of the honest release."""
    return pl.read_parquet(copy.publisher.out / "release" / f"{copy.tables[0]}.parquet").columns


@forgery(QUASI, ["generalize", "none"])
def move_the_sensitive_attribute_to_the_front(copy: Copy) -> None:
    frame = copy.frame()
    rest = [column for column in frame.columns if column not in copy.columns("sensitive")]
    copy.put(frame.select(*rest[:2], *copy.columns("sensitive"), *rest[2:]))


@forgery(["rich"], who="publisher", why="What stands in a kept column is not looked at without the original.")
def exchange_a_sensitive_and_a_kept_column(copy: Copy) -> None:
    frame = copy.frame()
    copy.put(frame.with_columns(drug=frame["ward"], ward=frame["drug"]))


def quasi_to_the_end(copy: Copy) -> str:
    column = need(copy.columns("quasi"))
    frame = copy.frame()
    # The group stays last.
    rest = [each for each in frame.columns if each not in (column, "group")]
    copy.put(frame.select(*rest, column, *(["group"] if "group" in frame.columns else [])))
    copy.trees()[column].unlink()
    return column


@forgery(HIERARCHIES)
def turn_a_quasi_identifier_into_a_kept_column(copy: Copy) -> None:
    if not copy.columns("quasi"):
        raise NotHereError
    quasi_to_the_end(copy)


@forgery(
    QUASI, ["generalize", "none", "reposition"], who="publisher", why="Its role is the publisher's decision."
)
def turn_a_quasi_identifier_into_a_kept_column_and_claim_it(copy: Copy) -> None:
    copy.role(quasi_to_the_end(copy), "keep")


@forgery(QUASI, who="publisher", why="Its role is the publisher's decision.")
def turn_all_quasi_identifiers_into_kept_columns_and_claim_it(copy: Copy) -> None:
    while copy.columns("quasi"):
        copy.role(quasi_to_the_end(copy), "keep")


@forgery(QUASI, who="publisher", why="Its role is the publisher's decision.")
def publish_raw_values_in_a_quasi_identifier_turned_kept(copy: Copy) -> None:
    column = quasi_to_the_end(copy)
    copy.put(copy.frame().with_columns(raw(copy, column)))
    copy.role(column, "keep")


@forgery(["rich"], who="publisher", why="Its role is the publisher's decision.")
def turn_a_sensitive_attribute_into_a_kept_column(copy: Copy) -> None:
    with copy.certify() as document:
        del document["claim"]["parameters"]["protect"]["drug"]
    copy.put(copy.frame().select(pl.exclude("drug"), "drug"))
    copy.role("drug", "keep")


@forgery(["rich"])
def forget_a_source_column(copy: Copy) -> None:
    roles(copy.document)
    with copy.certify() as document:
        document["claim"]["parameters"]["columns"]["Disease"] = ["D1"]
    copy.put(copy.frame().select(pl.exclude("D2"), "D2"))


@forgery(["rich"], who="publisher", why="Its role is the publisher's decision.")
def turn_a_source_column_into_a_kept_column(copy: Copy) -> None:
    with copy.certify() as document:
        document["claim"]["parameters"]["columns"]["Disease"] = ["D1"]
    copy.put(copy.frame().select(pl.exclude("D2"), "D2"))
    copy.role("D2", "keep")


@forgery(["rich"])
def point_a_sensitive_attribute_at_the_kept_column(copy: Copy) -> None:
    with copy.certify() as document:
        document["claim"]["parameters"]["columns"]["Disease"] = ["ward"]


@forgery(["rich"])
def let_two_attributes_share_a_column(copy: Copy) -> None:
    with copy.certify() as document:
        document["claim"]["parameters"]["columns"] = {"Disease": ["D1", "D2"], "drug": ["D2"]}


# Roles in the claim.


@forgery()
def claim_no_roles(copy: Copy) -> None:
    with copy.certify() as document:
        roles(document)
        del document["claim"]["columns"]


@forgery()
def claim_no_roles_of_a_table(copy: Copy) -> None:
    with copy.certify() as document:
        roles(document).pop(copy.tables[-1])


@forgery()
def claim_an_empty_table_of_roles(copy: Copy) -> None:
    with copy.certify() as document:
        roles(document)
        document["claim"]["columns"] = {}


@forgery()
def claim_no_role_of_one_column(copy: Copy) -> None:
    with copy.certify() as document:
        of_table = roles(document)[copy.tables[0]]
        of_table.popitem()


@forgery()
def claim_a_column_that_is_not_there(copy: Copy) -> None:
    with copy.certify() as document:
        roles(document)[copy.tables[0]][NAME] = "keep"


@forgery()
def claim_a_table_that_is_not_there(copy: Copy) -> None:
    with copy.certify() as document:
        roles(document)["persons"] = {NAME: "keep"}


@forgery()
def claim_an_empty_table_that_is_not_there(copy: Copy) -> None:
    with copy.certify() as document:
        roles(document)[NAME] = {}


for _role, _has in (
    ("quasi", (*QUASI, *RECORDS)),
    ("sensitive", (*QUASI, "generalize", "none")),
    ("keep", ("rich",)),
    ("symbol", ("p2ka", "abul", "top-down", "xes", "spmf")),
    ("region", ("trips",)),
    ("technical", LAYOUTS),
):
    for _other in ("quasi", "sensitive", "keep", "symbol", "region", "technical", NAME, None, ["keep"]):

        def _change(copy: Copy, role: str = _role, other: Any = _other) -> None:
            with copy.certify() as document:
                of_table = roles(document)[copy.tables[0]]
                columns = [column for column, each in of_table.items() if each == role]
                of_table[need(columns)] = other

        if _role != _other:
            what = "nothing" if _other is None else "somebody" if _other == NAME else "".join(_other)
            what += "_in_a_list" if isinstance(_other, list) else ""
            forgery(_has)(named(f"call_{_role}_{what}", _change))


# Claim, method, verdict, counts.

WEAKER: dict[str, Any] = {
    "k": lambda k: k - 1,
    "c": lambda c: 0.99,
    "p": lambda p: p - 1,
    "l": lambda level: 1.5,
    "min_support": lambda support: support + 1,
    "max_leakage": lambda leakage: 0.9,
    "window": lambda window: window - 1,
}


def weaken(copy: Copy, what: Callable[[dict[str, Any], str, object], None], names: Iterable[str]) -> None:
    with copy.certify() as document:
        claim = document["claim"]["parameters"]
        present = [name for name in names if name in claim]
        if not present:
            raise NotHereError
        for name in present:
            claim[name] = WEAKER[name](claim[name])
            what(document["method"]["parameters"], name, claim[name])


for _name in WEAKER:
    _has = {
        "k": (*QUASI, *COUNTED, "trips"),
        "c": QUASI,
        "p": ("halt", "glogen", "rich"),
        "l": RECORDS,
        "min_support": ("ph", "sbsh", "abul"),
        "max_leakage": TREE,
        "window": TREE,
    }[_name]

    def _alone(copy: Copy, name: str = _name) -> None:
        weaken(copy, lambda method, name, value: None, [name])

    def _forgotten(copy: Copy, name: str = _name) -> None:
        weaken(copy, lambda method, name, value: method.pop(name, None), [name])

    def _null(copy: Copy, name: str = _name) -> None:
        weaken(copy, lambda method, name, value: method.update({name: None}), [name])

    def _both(copy: Copy, name: str = _name) -> None:
        weaken(copy, lambda method, name, value: method.update({name: value}), [name])

    forgery(_has)(named(f"weaken_{_name}_in_the_claim_alone", _alone))
    for _title, _weak in (
        ("and_drop_what_was_asked_for", _forgotten),
        ("and_say_that_nothing_was_asked_for", _null),
        ("throughout", _both),
    ):
        forgery(
            [case for case in _has if case != "stream"],
            who="publisher",
            why="A weaker promise that is kept is no broken one; the configuration asked for more.",
        )(named(f"weaken_{_name}_{_title}", _weak))


@forgery(["stream"])
def weaken_the_promise_of_one_snapshot_throughout(copy: Copy) -> None:
    weaken(copy, lambda method, name, value: method.update({name: value}), ["l"])


@forgery(["stream"])
def let_snapshots_be_of_two_methods(copy: Copy) -> None:
    with copy.certify() as document:
        document["method"]["name"] = "suppress-only"


def _switch(name: str, value: object) -> Callable[[Copy], None]:
    def change(copy: Copy) -> None:
        with copy.certify() as document:
            claim, method = document["claim"]["parameters"], document["method"]["parameters"]
            if claim.get(name) == value:
                raise NotHereError
            claim[name] = value
            method[name] = value

    return change


for _name, _value, _has in (
    ("stars", "ignored", ("halt", "rich")),
    ("reading", "each", ("cblda", "cblda-baseline")),
    ("strict", False, ("p2ka", "xes", "spmf")),
    ("worst_case", True, TREE),
):
    forgery(
        _has,
        who="publisher",
        why="Another promise that is kept is no broken one; the configuration has this.",
    )(named(f"switch_{_name}", _switch(_name, _value)))


@forgery(["trips"], who="publisher", why="A trip looks like a person; the configuration has trips.")
def count_trips_as_persons(copy: Copy) -> None:
    with copy.certify() as document:
        document["claim"]["parameters"].pop("trips", None)


@forgery(["p2ka", "spmf"], who="publisher", why="A trip looks like a person; the configuration has none.")
def count_persons_as_trips(copy: Copy) -> None:
    with copy.certify() as document:
        document["claim"]["parameters"]["trips"] = True


@forgery(QUASI, who="publisher", why="What is protected is the publisher's decision.")
def shorten_the_list_of_protected_values(copy: Copy) -> None:
    with copy.certify() as document:
        protect = document["claim"]["parameters"]["protect"]
        protect[next(iter(protect))].pop()


@forgery(QUASI, who="publisher", why="What is protected is the publisher's decision.")
def protect_another_value_instead(copy: Copy) -> None:
    with copy.certify() as document:
        protect = document["claim"]["parameters"]["protect"]
        protect[next(iter(protect))] = ["cold and flu"]


@forgery(QUASI, who="publisher", why="A protected value need not be released.")
def name_a_person_among_the_protected_values(copy: Copy) -> None:
    with copy.certify() as document:
        protect = document["claim"]["parameters"]["protect"]
        protect[next(iter(protect))].append(NAME)


@forgery(QUASI)
def protect_nothing(copy: Copy) -> None:
    with copy.certify() as document:
        document["claim"]["parameters"]["protect"] = {}


@forgery(QUASI)
def protect_an_attribute_that_is_not_there(copy: Copy) -> None:
    with copy.certify() as document:
        document["claim"]["parameters"]["protect"][NAME] = ["HIV"]


@forgery(QUASI)
def protect_a_quasi_identifier_too(copy: Copy) -> None:
    # An item with a protected value is not counted as knowledge.
    column = need(copy.columns("quasi"))
    with copy.certify() as document:
        document["claim"]["parameters"]["protect"][column] = copy.frame()[column].unique().sort().to_list()


@forgery(QUASI, who="publisher", why="Its role is the publisher's decision.")
def protect_a_quasi_identifier_too_and_claim_it(copy: Copy) -> None:
    protect_a_quasi_identifier_too(copy)
    copy.role(need(copy.columns("quasi", "sensitive")), "quasi+sensitive")


@forgery(QUASI)
def call_source_columns_of_an_attribute_that_is_not_there(copy: Copy) -> None:
    with copy.certify() as document:
        document["claim"]["parameters"].setdefault("columns", {})[NAME] = ["D1"]


@forgery(RECORDS)
def point_the_promise_at_another_column(copy: Copy) -> None:
    with copy.certify() as document:
        quasi = [column for column in copy.columns("quasi", "technical") if column != "time"]
        document["claim"]["parameters"]["sensitive"] = quasi[0] if copy.tables == ["events"] else "group"


@forgery(["generalize", "none"], who="publisher", why="Its role is the publisher's decision.")
def exchange_the_sensitive_attribute_and_a_quasi_identifier(copy: Copy) -> None:
    frame = copy.frame()
    # The quasi-identifier is as different as one likes, and the disease is known now.
    copy.put(with_column(frame.drop("sex"), frame["sex"]))
    copy.trees()["sex"].unlink()
    labels = frame["ill"].unique().sort().to_list()
    rows = ["node;parent;leaves", f"*;;{len(labels)}", *(f"{label};*;1" for label in labels), ""]
    (copy.folder / "hierarchies" / "ill.csv").write_text("\n".join(rows))
    copy.role("sex", "sensitive")
    copy.role("ill", "quasi")
    with copy.certify() as document:
        document["claim"]["parameters"]["sensitive"] = "sex"


@forgery(RECORDS)
def leave_open_which_attribute_is_sensitive(copy: Copy) -> None:
    with copy.certify() as document:
        document["claim"]["parameters"]["sensitive"] = ""


@forgery(["halt", "glogen", "rich"], who="publisher", why="Another promise that is kept is no broken one.")
def exchange_the_model(copy: Copy) -> None:
    with copy.certify() as document:
        claim = document["claim"]
        kept = {
            name: value for name, value in claim["parameters"].items() if name in {"k", "protect", "columns"}
        }
        claim["model"] = "KCPrivacy"
        claim["parameters"] = {**kept, "c": 0.99, "reading": "each"}
        document["method"] = {"name": "cblda", "parameters": {"k": kept["k"], "c": 0.99, "reading": "each"}}


@forgery(["generalize"], who="publisher", why="Another promise that is kept is no broken one.")
def exchange_groups_for_snapshots(copy: Copy) -> None:
    # Whole snapshots are l-eligible where groups need not be l-diverse.
    frame = copy.frame().drop("group")
    for ending in ("csv", "parquet"):
        copy.path(f"records.{ending}").unlink()
    copy.put(frame, "events")
    with copy.certify() as document:
        document["claim"]["model"] = "LEligibility"
        document["method"]["parameters"]["then"] = "none"
        if "columns" in document["claim"]:
            (of_table,) = document["claim"]["columns"].values()
            document["claim"]["columns"] = {
                "events": {name: of_table[name] for name in of_table if name != "group"}
            }


@forgery(HISTORIES)
def claim_a_model_of_records(copy: Copy) -> None:
    with copy.certify() as document:
        document["claim"]["model"] = "LEligibility"
        document["claim"]["parameters"] = {"l": 2, "sensitive": copy.frame().columns[-1]}
    copy.boasts = True


@forgery()
def say_that_the_promise_is_not_kept(copy: Copy) -> None:
    copy.boasts = True
    with copy.certify() as document:
        document["verdict"]["holds"] = False


for _title, _factor in (("boast_of_more_than_is_achieved", 1.5), ("achieve_less_than_the_files_do", 0.5)):

    def _achieve(copy: Copy, factor: float = _factor) -> None:
        copy.boasts = True
        with copy.certify() as document:
            achieved = document["verdict"]["achieved"]
            achieved.update({name: value * factor + (factor - 1) for name, value in achieved.items()})

    forgery()(named(_title, _achieve))


@forgery()
def achieve_nothing(copy: Copy) -> None:
    copy.boasts = True
    with copy.certify() as document:
        document["verdict"]["achieved"] = {}


@forgery()
def achieve_something_else_as_well(copy: Copy) -> None:
    copy.boasts = True
    with copy.certify() as document:
        document["verdict"]["achieved"][NAME] = 1


@forgery()
def count_one_event_more(copy: Copy) -> None:
    copy.boasts = True
    with copy.certify() as document:
        document["counts"]["events"] += 1


@forgery()
def count_one_person_more(copy: Copy) -> None:
    copy.boasts = True
    with copy.certify() as document:
        document["counts"]["persons"] = document["counts"].get("persons", 23) + 1


for _path in (
    (),
    ("software",),
    ("method",),
    ("claim",),
    ("claim", "parameters"),
    ("verdict",),
    ("counts",),
    ("utility",),
    ("utility", "information_loss"),
):

    def _member(copy: Copy, path: tuple[str, ...] = _path) -> None:
        copy.boasts = True
        with copy.certify() as document:
            table = document
            for step in path:
                if step not in table:
                    raise NotHereError
                table = table[step]
            table["note"] = NAME

    forgery()(named(f"add_a_member_to_{'_'.join(_path) or 'the_certificate'}", _member))


@forgery(
    FOLDERS, who="publisher", why="What was asked of the method beside the promise is in the configuration."
)
def add_a_member_to_method_parameters(copy: Copy) -> None:
    with copy.certify() as document:
        document["method"]["parameters"]["note"] = NAME


@forgery()
def add_a_measure(copy: Copy) -> None:
    with copy.certify() as document:
        score = {"value": 0.07, "goal": "minimize", "bounds": [0, 1], "means": f"{NAME} was left out."}
        document["utility"][NAME] = score


@forgery(RECORDS)
def tell_the_loss_of_records(copy: Copy) -> None:
    with copy.certify() as document:
        score = {
            "value": 0.07,
            "goal": "minimize",
            "bounds": [0, 1],
            "means": "Share of records not published.",
        }
        document["utility"]["information_loss"] = score


@forgery(HISTORIES)
def tell_an_impossible_loss(copy: Copy) -> None:
    with copy.certify() as document:
        document["utility"]["information_loss"]["value"] = 4912345678.5


@forgery(HISTORIES)
def tell_an_impossible_loss_within_other_bounds(copy: Copy) -> None:
    with copy.certify() as document:
        document["utility"]["information_loss"].update(value=4912345678.5, bounds=[0, 5e9])


@forgery(HISTORIES, who="nobody", why="A loss compares with the original, and a method measures its own.")
def tell_another_loss(copy: Copy) -> None:
    with copy.certify() as document:
        document["utility"]["information_loss"]["value"] = 0.01


@forgery(HISTORIES, who="nobody", why="Words for people are not read.")
def tell_something_else_of_the_loss(copy: Copy) -> None:
    with copy.certify() as document:
        document["utility"]["information_loss"]["means"] = NAME


@forgery(who="nobody", why="Words for people are not read.")
def promise_without_limits(copy: Copy) -> None:
    with copy.certify() as document:
        document["limits"] = []


@forgery(who="nobody", why="Words for people are not read.")
def name_a_person_in_the_limits(copy: Copy) -> None:
    with copy.certify() as document:
        document["limits"].append(f"{NAME} has HIV.")


@forgery(who="nobody", why="Nobody can tell which program wrote a file.")
def tell_another_program(copy: Copy) -> None:
    with copy.certify() as document:
        document["software"] = {"name": "sequester", "version": "99.0"}


@forgery()
def name_a_person_as_the_program(copy: Copy) -> None:
    with copy.certify() as document:
        document["software"]["version"] = NAME


@forgery(
    FOLDERS, who="publisher", why="What was asked of the method beside the promise is in the configuration."
)
def tell_another_method(copy: Copy) -> None:
    with copy.certify() as document:
        document["method"]["name"] = "abul" if document["method"]["name"] != "abul" else "sbsh"


@forgery(
    FOLDERS, who="publisher", why="What was asked of the method beside the promise is in the configuration."
)
def tell_a_method_that_is_none(copy: Copy) -> None:
    with copy.certify() as document:
        document["method"]["name"] = NAME


@forgery(
    FOLDERS, who="publisher", why="What was asked of the method beside the promise is in the configuration."
)
def tell_another_parameter_of_the_method(copy: Copy) -> None:
    with copy.certify() as document:
        claim, method = document["claim"]["parameters"], document["method"]["parameters"]
        others = [
            name for name, value in method.items() if name not in claim and isinstance(value, str | int)
        ]
        method[need(others)] = NAME


@forgery(
    FOLDERS, who="publisher", why="What was asked of the method beside the promise is in the configuration."
)
def tell_no_parameters_of_the_method(copy: Copy) -> None:
    with copy.certify() as document:
        document["method"]["parameters"] = {}


@forgery(HIDDEN)
def publish_the_patterns_with_the_method(copy: Copy) -> None:
    with copy.certify() as document:
        document["method"]["parameters"]["patterns"] = [["a", "b"]]


@forgery(HIDDEN)
def publish_the_patterns_with_the_claim(copy: Copy) -> None:
    with copy.certify() as document:
        document["claim"]["parameters"]["patterns"] = [["a", "b"]]


@forgery()
def certify_in_another_format(copy: Copy) -> None:
    with copy.certify() as document:
        document["format"] = 2


@forgery()
def certify_in_a_format_that_is_no_number(copy: Copy) -> None:
    with copy.certify() as document:
        document["format"] = True


# The text of the certificate.


def _respell(copy: Copy, change: Callable[[str], str]) -> None:
    copy.last.append(lambda: copy.certificate.write_text(change(copy.certificate.read_text())))


for _title, _spell in {
    "repeat_a_member": lambda text: text.replace('"software"', '"limits": [], "software"', 1),
    "repeat_a_parameter": lambda text: text.replace('"model"', '"model": "LDiversity", "model"', 1),
    "repeat_the_claim": lambda text: text.replace('"claim"', '"claim": {}, "claim"', 1),
    "claim_nan": lambda text: text.replace('"achieved": {', '"achieved": {"x": NaN, ', 1),
    "claim_infinity": lambda text: text.replace('"achieved": {', '"achieved": {"x": Infinity, ', 1),
    "claim_a_number_without_end": lambda text: text.replace('"achieved": {', '"achieved": {"x": 1e999, ', 1),
    "claim_a_huge_number": lambda text: text.replace(
        '"achieved": {', '"achieved": {"x": ' + "9" * 5000 + ", ", 1
    ),
    "claim_a_format_as_a_fraction": lambda text: text.replace('"format": 1', '"format": 1.0', 1),
    "nest_deeply": lambda text: text.replace(
        '"limits": [', '"limits": [' + "[" * 9999 + "]" * 9999 + ", ", 1
    ),
    "begin_with_a_mark": lambda text: "\ufeff" + text,
    "go_on_behind_the_end": lambda text: text + json.dumps({"name": NAME}),
    "put_a_comment_behind": lambda text: text + f"// {NAME}\n",
    "put_a_nul_behind": lambda text: text + "\0",
    "name_half_a_character": lambda text: text.replace('"limits": [', '"limits": ["\\ud800", ', 1),
}.items():

    def _text(copy: Copy, spell: Callable[[str], str] = _spell) -> None:
        before = copy.certificate.read_text()
        if spell(before) == before:
            raise NotHereError
        _respell(copy, spell)

    forgery(["rich", "abul", "none", "stream"])(named(_title, _text))


@forgery(who="nobody", why="The certificate's own hash, sent by another way, tells its bytes.")
def spell_the_certificate_in_another_way(copy: Copy) -> None:
    _respell(copy, lambda text: json.dumps(json.loads(text), indent=7).replace("sha256", "\\u0073ha256"))


@forgery()
def take_the_certificate_of_another_release(copy: Copy) -> None:
    with copy.certify() as document:
        other = "abul" if copy.publisher.name not in {"abul", "ph", "sbsh"} else "halt"
        if other == "abul":
            claim = {"model": "PatternHiding", "parameters": {"min_support": 3}}
        else:
            claim = {"model": "KCPPrivacy", "parameters": {"k": 2, "c": 0.5, "p": 1, "protect": {"D1": []}}}
        document["claim"] = claim
        document["method"] = {"name": other, "parameters": claim["parameters"]}


# Files.


@forgery(LAYOUTS)
def list_no_hash(copy: Copy) -> None:
    def change() -> None:
        with copy.certify() as document:
            document["files"][next(iter(document["files"]))] = ""

    copy.last.append(change)


@forgery(LAYOUTS)
def list_a_hash_of_another_kind(copy: Copy) -> None:
    def change() -> None:
        with copy.certify() as document:
            name, value = next(iter(document["files"].items()))
            document["files"][name] = value.upper()

    copy.last.append(change)


@forgery(LAYOUTS)
def list_a_file_that_is_not_there(copy: Copy) -> None:
    def change() -> None:
        with copy.certify() as document:
            document["files"][f"{copy.stem}{NAME}"] = "sha256:" + 64 * "0"

    copy.last.append(change)


@forgery(LAYOUTS)
def list_a_file_outside(copy: Copy) -> None:
    def change() -> None:
        with copy.certify() as document:
            document["files"]["../internal/pseudonyms.parquet"] = "sha256:" + 64 * "0"

    copy.last.append(change)


@forgery(LAYOUTS)
def list_a_file_by_another_path(copy: Copy) -> None:
    def change() -> None:
        with copy.certify() as document:
            files = document["files"]
            files["./" + next(iter(files))] = next(iter(files.values()))

    copy.last.append(change)


@forgery(LAYOUTS)
def add_a_file_without_listing_it(copy: Copy) -> None:
    copy.last.append(lambda: copy.path("names.txt").write_text(NAME) and None)


for _file in (
    "names.csv",
    "names.parquet",
    "README.md",
    "report.txt",
    "report.html.bak",
    "events.csv.gz",
    "events.arrow",
    "Events.csv",
    "events.json",
    "persons.csv",
    "persons.parquet",
    "croissant.json",
    "certificate.json.bak",
    "certificate.json.sig",
    "EVENTS.PARQUET",
    "internal.parquet",
):

    def _extra(copy: Copy, file: str = _file) -> None:
        copy.path(file).write_text(f"person,name\n1,{NAME}\n")

    forgery([case for case in LAYOUTS if (case, _file.partition(".")[0]) != ("persons", "persons")])(
        named(f"add_{_file.replace('.', '_')}", _extra)
    )


@forgery([case for case in LAYOUTS if case != "stream"])
def add_a_hidden_file(copy: Copy) -> None:
    (copy.folder / ".names").write_text(NAME)


@forgery(["stream"])
def add_a_hidden_file_to_a_stream(copy: Copy) -> None:
    (copy.folder / ".names.csv").write_text(NAME)


@forgery(["stream"])
def add_a_hidden_file_of_a_snapshot(copy: Copy) -> None:
    (copy.folder / f".{copy.stem}names.csv").write_text(NAME)


@forgery(["stream"])
def take_away_the_certificate_of_a_snapshot(copy: Copy) -> None:
    copy.last.append(copy.certificate.unlink)


@forgery(["stream"])
def list_the_same_file_in_two_certificates(copy: Copy) -> None:
    def change() -> None:
        inner = copy.folder / f"{copy.stem}records.certificate.json"
        document = copy.document
        document["files"] = {}
        inner.write_text(json.dumps(document))

    copy.last.append(change)


@forgery(LAYOUTS)
def add_a_folder_with_a_file(copy: Copy) -> None:
    (copy.folder / "more").mkdir()
    (copy.folder / "more" / "names.csv").write_text(NAME)


@forgery(["rich", "trips", "generalize", "none"])
def add_another_release_in_a_folder(copy: Copy) -> None:
    (copy.folder / "raw").mkdir()
    for name in ("events.csv", "records.csv"):
        if (copy.folder / name).exists():
            (copy.folder / "raw" / name).write_text(NAME)


@forgery(LAYOUTS)
def add_an_empty_folder_with_a_name(copy: Copy) -> None:
    (copy.folder / f"{copy.stem}{NAME} has HIV").mkdir()


@forgery(HIERARCHIES)
def add_a_file_beside_the_hierarchies(copy: Copy) -> None:
    (copy.folder / "hierarchies" / "names.txt").write_text(NAME)


@forgery(HIERARCHIES)
def add_a_folder_among_the_hierarchies(copy: Copy) -> None:
    (copy.folder / "hierarchies" / "more").mkdir()
    (copy.folder / "hierarchies" / "more" / "ZIP.csv").write_text(NAME)


@forgery(LAYOUTS)
def add_a_link(copy: Copy) -> None:
    copy.path("names").symlink_to(copy.folder.parent)


@forgery(LAYOUTS)
def turn_a_table_into_a_link(copy: Copy) -> None:
    def change() -> None:
        path = copy.path(f"{copy.tables[0]}.csv")
        path.rename(copy.folder.parent / "elsewhere.csv")
        path.symlink_to(copy.folder.parent / "elsewhere.csv")

    copy.last.append(change)


@forgery(LAYOUTS)
def add_a_pipe(copy: Copy) -> None:
    copy.last.append(lambda: os.mkfifo(copy.path("pipe")))


@forgery(SYMBOL, QUASI, ["trips"])
def add_tables_of_another_layout(copy: Copy) -> None:
    for ending in ("csv", "parquet"):
        copy.path(f"records.{ending}").write_bytes(copy.path(f"events.{ending}").read_bytes())


@forgery(ANATOMY, ["generalize"])
def add_a_table_of_events(copy: Copy) -> None:
    frame = pl.DataFrame({"person": [NAME], "order": [1], "ill": ["HIV"]})
    frame.write_csv(copy.path("events.csv"))
    frame.write_parquet(copy.path("events.parquet"))


@forgery(["generalize", "none"])
def add_a_table_of_values(copy: Copy) -> None:
    # A layout of records and values would be read instead, where it is there.
    frame = pl.DataFrame({"group": [1], "ill": [NAME], "count": [1]})
    frame.write_csv(copy.path("values.csv"))


@forgery(RECORDS)
def add_an_event_log_to_records(copy: Copy) -> None:
    copy.path("events.xes").write_text(
        f"<log><trace><string key='concept:name' value='{NAME}'/></trace></log>"
    )


@forgery(RECORDS)
def add_outlines_to_records(copy: Copy) -> None:
    features = [{"type": "Feature", "properties": {"region": NAME}, "geometry": None}]
    copy.path("regions.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))


@forgery(QUASI, SYMBOL)
def add_outlines_without_regions(copy: Copy) -> None:
    copy.path("regions.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": []}))


@forgery(LAYOUTS)
def take_away_the_csv(copy: Copy) -> None:
    copy.path(f"{copy.tables[0]}.csv").unlink()


@forgery(LAYOUTS)
def take_away_the_parquet(copy: Copy) -> None:
    copy.path(f"{copy.tables[0]}.parquet").unlink()


@forgery(ANATOMY)
def take_away_the_values(copy: Copy) -> None:
    for ending in ("csv", "parquet"):
        copy.path(f"values.{ending}").unlink()


@forgery(FOLDERS, who="nobody", why="The page is for people; nobody reads it back.")
def write_another_page(copy: Copy) -> None:
    copy.path("report.html").write_text(f"<p>{NAME} has HIV.</p>")


@forgery(FOLDERS)
def take_away_the_page(copy: Copy) -> None:
    copy.path("report.html").unlink()


# Parquet.


def _arrow(copy: Copy) -> pa.Table:
    table = copy.frame().to_arrow()
    fields = [
        pa.field(each.name, pa.int64() if pa.types.is_integer(each.type) else pa.large_string())
        for each in table.schema
    ]
    return table.cast(pa.schema(fields))


@forgery(LAYOUTS)
def put_metadata_into_parquet(copy: Copy) -> None:
    copy.frame().write_parquet(copy.path(f"{copy.tables[0]}.parquet"), metadata={"name": NAME})


@forgery(LAYOUTS)
def put_metadata_into_the_schema_of_parquet(copy: Copy) -> None:
    table = _arrow(copy).replace_schema_metadata({"name": NAME})
    pq.write_table(table, copy.path(f"{copy.tables[0]}.parquet"))


@forgery(LAYOUTS)
def put_metadata_into_a_column_of_parquet(copy: Copy) -> None:
    # It stands in ARROW:schema alone, which every file has.
    table = _arrow(copy)
    fields = [each.with_metadata({"name": NAME}) for each in table.schema]
    pq.write_table(table.cast(pa.schema(fields)), copy.path(f"{copy.tables[0]}.parquet"))


@forgery(LAYOUTS)
def put_metadata_into_a_column_as_polars_does(copy: Copy) -> None:
    frame = copy.frame()
    fields = [each.with_metadata({"name": NAME}) for each in _arrow(copy).schema]
    schema = pa.schema(
        [each.with_type(pa.string_view()) if each.type == pa.large_string() else each for each in fields]
    )
    frame.write_parquet(copy.path(f"{copy.tables[0]}.parquet"), arrow_schema=schema)


@forgery(LAYOUTS)
def leave_labels_in_a_dictionary_of_parquet(copy: Copy) -> None:
    table = _arrow(copy)
    place = next(
        i for i, each in enumerate(table.schema) if each.type == pa.large_string() and each.name != "person"
    )
    values = table.column(place).to_pylist()
    labels = list(dict.fromkeys([*values, *NAMES]))
    indices = pa.array([labels.index(value) for value in values], pa.int32())
    packed = pa.DictionaryArray.from_arrays(indices, pa.array(labels, pa.string()))
    table = table.set_column(place, table.schema[place].name, packed)
    pq.write_table(table, copy.path(f"{copy.tables[0]}.parquet"), store_schema=False, compression="none")
    assert copy.path(f"{copy.tables[0]}.parquet").read_bytes().count(NAMES[5].encode())
    assert copy.frame().columns == table.schema.names


@forgery(LAYOUTS)
def hide_text_before_the_foot_of_parquet(copy: Copy) -> None:
    path = copy.path(f"{copy.tables[0]}.parquet")
    contents = path.read_bytes()
    foot = len(contents) - 8 - int.from_bytes(contents[-8:-4], "little")
    path.write_bytes(contents[:foot] + NAME.encode() * 3 + contents[foot:])
    copy.frame()


@forgery(LAYOUTS)
def hide_text_in_the_statistics_of_parquet(copy: Copy) -> None:
    path = copy.path(f"{copy.tables[0]}.parquet")
    contents = path.read_bytes()
    foot = len(contents) - 8 - int.from_bytes(contents[-8:-4], "little")
    column = copy.frame().columns[0]
    label = copy.frame()[column].max()
    other = NAME.encode().ljust(len(label), b"!")[: len(label)]
    doctored = contents[foot:].replace(str(label).encode(), other)
    if doctored == contents[foot:]:
        raise NotHereError
    path.write_bytes(contents[:foot] + doctored)
    copy.frame()


@forgery(LAYOUTS)
def tell_another_writer_of_parquet(copy: Copy) -> None:
    path = copy.path(f"{copy.tables[0]}.parquet")
    contents = path.read_bytes()
    assert b"Polars" in contents
    path.write_bytes(contents.replace(b"Polars", b"AnnHIV"))
    copy.frame()


@forgery(LAYOUTS)
def name_a_person_as_the_writer_of_parquet(copy: Copy) -> None:
    path = copy.path(f"{copy.tables[0]}.parquet")
    contents = path.read_bytes()
    writer = f"Polars {NAME}".encode()
    # In Parquet's foot a text stands behind its length, and the length of the foot at the end.
    start = contents.index(b"Polars")
    length = contents[start - 1]
    foot = int.from_bytes(contents[-8:-4], "little") + len(writer) - length
    contents = contents[: start - 1] + bytes([len(writer)]) + writer + contents[start + length : -8]
    path.write_bytes(contents + foot.to_bytes(4, "little") + b"PAR1")
    copy.frame()


for _title, _note in {
    "hide_short_words_in_a_column_of_parquet": lambda column: {"a": "Ann", "b": "HIV"},
    "hide_the_name_of_a_column_with_more_in_parquet": lambda column: {column: f"{NAME}: {column} HIV"},
    "hide_other_letters_in_a_column_of_parquet": lambda column: {"ä": "Ä ö ü ß ¢"},
}.items():

    def _hide(copy: Copy, note: Callable[[str], dict[str, str]] = _note) -> None:
        fields = [each.with_metadata(note(each.name)) for each in _arrow(copy).schema]
        views = [
            each.with_type(pa.string_view()) if each.type == pa.large_string() else each for each in fields
        ]
        copy.frame().write_parquet(copy.path(f"{copy.tables[0]}.parquet"), arrow_schema=pa.schema(views))

    forgery(LAYOUTS)(named(_title, _hide))


@forgery(LAYOUTS)
def write_categories_into_parquet(copy: Copy) -> None:
    frame = copy.frame()
    column = frame.columns[-2] if frame.columns[-1] == "group" else frame.columns[-1]
    labels = pl.Enum([*frame[column].unique().sort(), *NAMES])
    frame.with_columns(pl.col(column).cast(labels)).write_parquet(copy.path(f"{copy.tables[0]}.parquet"))


@forgery(LAYOUTS)
def end_parquet_with_an_empty_cell(copy: Copy) -> None:
    frame = copy.frame()
    column = frame.columns[0]
    frame = frame.with_columns(pl.when(pl.int_range(pl.len()) > 0).then(pl.col(column)).alias(column))
    frame.write_parquet(copy.path(f"{copy.tables[0]}.parquet"))


@forgery(LAYOUTS)
def write_parquet_in_many_groups(copy: Copy) -> None:
    # How rows are cut into groups can tell who belongs together.
    copy.frame().write_parquet(copy.path(f"{copy.tables[0]}.parquet"), row_group_size=3)


# CSV.

for _title, _spell in {
    "quote_every_cell": lambda text: "".join(
        ",".join(f'"{cell}"' for cell in line.split(",")) + "\n" for line in text.splitlines()
    ),
    "quote_one_cell": lambda text: text.replace("person", '"person"', 1).replace("time", '"time"', 1),
    "end_lines_as_windows_does": lambda text: text.replace("\n", "\r\n"),
    "end_one_line_as_windows_does": lambda text: text.replace("\n", "\r\n", 1),
    "begin_the_csv_with_a_mark": lambda text: "\ufeff" + text,
    "end_the_csv_with_blank_lines": lambda text: text + "\n\n",
    "end_the_csv_without_a_line_end": lambda text: text.removesuffix("\n"),
    "begin_the_csv_with_a_blank_line": lambda text: "\n" + text,
    "end_the_csv_with_a_comment": lambda text: text + f"# {NAME}\n",
    "begin_the_csv_with_a_comment": lambda text: f"# {NAME}\n" + text,
    "end_a_line_with_a_comma": lambda text: text.replace("\n", ",\n", 1),
    "end_all_lines_with_a_comma": lambda text: text.replace("\n", ",\n"),
    "end_all_lines_with_a_name": lambda text: text.replace("\n", f",{NAME}\n").replace(
        f",{NAME}", ",name", 1
    ),
    "end_a_row_with_a_name": lambda text: text.removesuffix("\n") + f",{NAME}\n",
    "begin_cells_with_blanks": lambda text: text.replace(",", ", "),
    "add_a_row_to_the_csv": lambda text: text + text.splitlines()[-1] + "\n",
    "end_the_csv_with_a_nul": lambda text: text + "\0",
    "put_a_nul_into_the_csv": lambda text: text.replace("\n", "\0\n", 1),
    "number_with_zeros": lambda text: text.replace(",1,", ",01,").replace(",1\n", ",01\n"),
    "exchange_two_rows_of_the_csv": lambda text: "\n".join(
        [(lines := text.split("\n"))[0], lines[2], lines[1], *lines[3:]]
    ),
    "exchange_two_cells_of_the_csv": lambda text: text.replace("person,order", "order,person").replace(
        "time,", "when,"
    ),
}.items():

    def _csv(copy: Copy, spell: Callable[[str], str] = _spell) -> None:
        path = copy.path(f"{copy.tables[-1]}.csv")
        before = path.read_text()
        if spell(before) == before:
            raise NotHereError
        path.write_bytes(spell(before).encode())

    forgery(LAYOUTS)(named(_title, _csv))


# Hierarchies.


def leaf_tree(copy: Copy) -> tuple[Path, list[list[str]]]:
    """The first hierarchy, as rows of cells without the header."""
    path = copy.trees()[need(copy.trees())]
    return path, [line.split(";") for line in path.read_text().splitlines()[1:]]


def grow(path: Path, rows: list[list[str]]) -> None:
    path.write_text("\n".join(["node;parent;leaves", *(";".join(row) for row in rows), ""]))


@forgery(HIERARCHIES)
def add_a_leaf_below_a_released_value(copy: Copy) -> None:
    path, rows = leaf_tree(copy)
    grow(path, [*rows, [NAME, rows[-1][0], "1"]])


@forgery(HIERARCHIES)
def add_a_node_beside_the_released_values(copy: Copy) -> None:
    path, rows = leaf_tree(copy)
    rows[0][2] = str(int(rows[0][2]) + 1)
    grow(path, [*rows, [NAME, "*", "1"]])


@forgery(
    HIERARCHIES,
    who="publisher",
    why="What nodes are called is the publisher's; the configuration has others.",
)
def call_a_node_above_by_a_name(copy: Copy) -> None:
    path, rows = leaf_tree(copy)
    parents = {parent for _, parent, _ in rows} - {"", "*"}
    released = set(copy.frame()[path.stem])
    old = need(sorted(parents - released))
    grow(path, [[NAME if cell == old else cell for cell in row] for row in rows])


@forgery(
    HIERARCHIES,
    who="publisher",
    why="What nodes are called is the publisher's; the configuration has others.",
)
def call_a_released_value_by_a_name(copy: Copy) -> None:
    path, rows = leaf_tree(copy)
    old = need(sorted(set(copy.frame()[path.stem]) - {"*"}))
    grow(path, [[NAME if cell == old else cell for cell in row] for row in rows])
    copy.put(copy.frame().with_columns(pl.col(path.stem).replace({old: NAME})))


@forgery(
    HIERARCHIES,
    who="publisher",
    why="How many leaves there were below a node is known to the publisher alone.",
)
def count_more_leaves(copy: Copy) -> None:
    path, rows = leaf_tree(copy)
    rows[0][2] = "49123456"
    grow(path, rows)


@forgery(HIERARCHIES)
def count_fewer_leaves(copy: Copy) -> None:
    path, rows = leaf_tree(copy)
    if int(rows[0][2]) < 2:
        raise NotHereError
    rows[0][2] = "0"
    grow(path, rows)


@forgery(HIERARCHIES)
def count_fewer_leaves_than_below(copy: Copy) -> None:
    path, rows = leaf_tree(copy)
    if len(rows) < 3:
        raise NotHereError
    rows[0][2] = "1"
    rows[-1][2] = "2"
    grow(path, rows)


@forgery(HIERARCHIES, who="publisher", why="Which nodes lie between is known to the publisher alone.")
def flatten_a_hierarchy(copy: Copy) -> None:
    # Knowledge of the nodes between would not be counted then.
    path, rows = leaf_tree(copy)
    released = {*copy.frame()[path.stem], "*"}
    flat = [[node, parent and "*", leaves] for node, parent, leaves in rows if node in released]
    if flat == rows:
        raise NotHereError
    grow(path, flat)


@forgery(HIERARCHIES, who="publisher", why="Which nodes lie between is known to the publisher alone.")
def put_a_node_between(copy: Copy) -> None:
    path, rows = leaf_tree(copy)
    if len(rows) < 2:
        raise NotHereError
    node, parent, leaves = rows[-1]
    grow(path, [*rows[:-1], [NAME, parent, leaves], [node, NAME, leaves]])


@forgery(HIERARCHIES)
def repeat_a_node(copy: Copy) -> None:
    path, rows = leaf_tree(copy)
    grow(path, [*rows, rows[-1]])


@forgery(HIERARCHIES)
def grow_a_second_root(copy: Copy) -> None:
    path, rows = leaf_tree(copy)
    grow(path, [*rows, [NAME, "", "1"]])


@forgery(HIERARCHIES)
def run_a_hierarchy_in_a_circle(copy: Copy) -> None:
    path, rows = leaf_tree(copy)
    if len(rows) < 3:
        raise NotHereError
    rows[1][1] = rows[1][0]
    grow(path, rows)


@forgery(HIERARCHIES)
def take_away_a_hierarchy(copy: Copy) -> None:
    leaf_tree(copy)[0].unlink()


@forgery(HIERARCHIES)
def take_away_all_hierarchies(copy: Copy) -> None:
    for path in copy.trees().values():
        path.unlink()
    (copy.folder / "hierarchies").rmdir()


@forgery(HISTORIES, ["generalize", "none"])
def add_a_hierarchy_of_a_technical_column(copy: Copy) -> None:
    column = copy.frame().columns[0]
    labels = sorted(set(copy.frame()[column]))
    (copy.folder / "hierarchies").mkdir(exist_ok=True)
    rows = [
        ["*", "", str(len(labels))],
        [NAME, "*", str(len(labels))],
        *([label, NAME, "1"] for label in labels),
    ]
    grow(copy.folder / "hierarchies" / f"{column}.csv", rows)


@forgery(QUASI, ["generalize", "none"])
def add_a_hierarchy_of_the_sensitive_attribute(copy: Copy) -> None:
    column = need(copy.columns("sensitive"))
    labels = sorted(set(copy.frame()[column]))
    rows = [
        ["*", "", str(len(labels))],
        [NAME, "*", str(len(labels))],
        *([label, NAME, "1"] for label in labels),
    ]
    grow(copy.folder / "hierarchies" / f"{column}.csv", rows)


@forgery(["rich"])
def add_a_hierarchy_of_a_kept_column(copy: Copy) -> None:
    rows = [["*", "", "2"], [NAME, "*", "2"], ["east", NAME, "1"], ["west", NAME, "1"]]
    grow(copy.folder / "hierarchies" / "ward.csv", rows)


@forgery(
    ["p2ka", "ph", "xes"], who="publisher", why="A symbol may have a hierarchy; the configuration tells."
)
def add_a_hierarchy_of_a_symbol(copy: Copy) -> None:
    column = copy.frame().columns[-1]
    labels = sorted(set(copy.frame()[column]))
    (copy.folder / "hierarchies").mkdir()
    rows = [
        ["*", "", str(len(labels))],
        [NAME, "*", str(len(labels))],
        *([label, NAME, "1"] for label in labels),
    ]
    file = "page.csv" if column == "page" else "concept%3Aname.csv"
    grow(copy.folder / "hierarchies" / file, rows)


for _title, _spell in {
    "add_a_column_to_a_hierarchy": lambda text: text.replace("\n", f";{NAME}\n"),
    "end_a_hierarchy_with_blank_lines": lambda text: text + "\n\n",
    "end_a_hierarchy_with_a_comment": lambda text: text + f"# {NAME}\n",
    "quote_a_hierarchy": lambda text: text.replace("node", '"node"', 1),
    "end_lines_of_a_hierarchy_as_windows_does": lambda text: text.replace("\n", "\r\n"),
    "count_leaves_with_zeros": lambda text: text.replace("*;;", "*;;000", 1),
    "count_leaves_with_a_sign": lambda text: text.replace("*;;", "*;;+", 1),
    "count_leaves_with_blanks": lambda text: text.replace("*;;", "*;; ", 1),
    "rename_the_header_of_a_hierarchy": lambda text: text.replace("leaves", NAME, 1),
    "turn_a_hierarchy_upside_down": lambda text: "\n".join(
        [text.splitlines()[0], *reversed(text.splitlines()[1:]), ""]
    ),
}.items():

    def _tree(copy: Copy, spell: Callable[[str], str] = _spell) -> None:
        path, _ = leaf_tree(copy)
        path.write_bytes(spell(path.read_text()).encode())

    forgery(["rich", "top-down", "generalize", "none"])(named(_title, _tree))


# Outlines.


def outlines(copy: Copy, change: Callable[[dict[str, Any]], None]) -> None:
    path = copy.path("regions.geojson")
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document, ensure_ascii=False) + "\n")


def _feature(document: dict[str, Any]) -> dict[str, Any]:
    return document["features"][0]


for _title, _outline in {
    "add_a_member_to_the_outlines": lambda document: document.update(name=NAME),
    "add_a_bounding_box": lambda document: document.update(bbox=[13.4, 52.5, 13.5, 52.6]),
    "add_a_reference_system": lambda document: document.update(
        crs={"type": "name", "properties": {"name": NAME}}
    ),
    "add_a_property": lambda document: _feature(document)["properties"].update(name=NAME),
    "add_a_member_to_a_feature": lambda document: _feature(document).update(id=NAME),
    "add_a_member_to_a_geometry": lambda document: _feature(document)["geometry"].update(name=NAME),
    "add_an_outline_of_a_region_that_is_not_released": lambda document: document["features"].append(
        {**_feature(document), "properties": {"region": "r99c99"}}
    ),
    "repeat_an_outline": lambda document: document["features"].append(_feature(document)),
    "add_a_second_outline_of_a_region": lambda document: document["features"].append(
        {
            **_feature(document),
            "geometry": {"type": "Point", "coordinates": [13.4012345, 52.5012345]},
        }
    ),
    "add_a_feature_without_a_region": lambda document: document["features"].append(
        {"type": "Feature", "properties": {}, "geometry": None}
    ),
    "take_away_an_outline": lambda document: document["features"].pop(),
    "take_away_a_geometry": lambda document: _feature(document).update(geometry=None),
    "put_points_in_the_place_of_an_outline": lambda document: _feature(document).update(
        geometry={"type": "MultiPoint", "coordinates": [[13.4012345, 52.5012345]]}
    ),
    "add_geometries_to_an_outline": lambda document: _feature(document).update(
        geometry={
            "type": "GeometryCollection",
            "geometries": [
                _feature(document)["geometry"],
                {"type": "Point", "coordinates": [13.4012345, 52.5012345]},
            ],
        }
    ),
    "add_a_second_ring": lambda document: _feature(document)["geometry"]["coordinates"].append(
        [[13.401, 52.501], [13.402, 52.501], [13.402, 52.502], [13.401, 52.501]]
    ),
    "add_heights": lambda document: [
        corner.append(49.12) for corner in _feature(document)["geometry"]["coordinates"][0]
    ],
    "leave_a_ring_open": lambda document: _feature(document)["geometry"]["coordinates"][0].pop(),
    "leave_the_earth": lambda document: _feature(document)["geometry"]["coordinates"][0].insert(
        1, [491234, 5678]
    ),
    "write_text_for_a_coordinate": lambda document: _feature(document)["geometry"]["coordinates"][0].insert(
        1, [NAME, 52.5]
    ),
    "call_a_feature_by_another_type": lambda document: _feature(document).update(type=NAME),
    "call_the_outlines_by_another_type": lambda document: document.update(type=NAME),
    "call_a_region_by_a_list": lambda document: _feature(document)["properties"].update(
        region=[_feature(document)["properties"]["region"]]
    ),
}.items():

    def _geo(copy: Copy, change: Callable[[dict[str, Any]], None] = _outline) -> None:
        outlines(copy, change)

    forgery(["trips"])(named(_title, _geo))


@forgery(
    ["trips"],
    who="publisher",
    why="Where a region lies is the publisher's; the configuration makes the regions.",
)
def move_an_outline(copy: Copy) -> None:
    def change(document: dict[str, Any]) -> None:
        for corner in _feature(document)["geometry"]["coordinates"][0]:
            corner[0] = round(corner[0] + 1, 6)

    outlines(copy, change)


@forgery(
    ["trips"],
    who="publisher",
    why="Where a region lies is the publisher's; the configuration makes the regions.",
)
def draw_an_outline_around_a_door(copy: Copy) -> None:
    def change(document: dict[str, Any]) -> None:
        ring = [
            [13.400001, 52.500001],
            [13.400002, 52.500001],
            [13.400002, 52.500002],
            [13.400001, 52.500001],
        ]
        _feature(document)["geometry"]["coordinates"] = [ring]

    outlines(copy, change)


@forgery(["trips"])
def write_many_digits(copy: Copy) -> None:
    def change(document: dict[str, Any]) -> None:
        ring = _feature(document)["geometry"]["coordinates"][0]
        ring[1] = [ring[1][0] + 4.9123e-10, ring[1][1]]

    outlines(copy, change)


for _title, _spell in {
    "repeat_a_member_of_the_outlines": lambda text: text.replace(
        '"features"', f'"features": [{{"name": "{NAME}"}}], "features"', 1
    ),
    "repeat_a_property": lambda text: text.replace('{"region"', f'{{"region": "{NAME}", "region"', 1),
    "repeat_a_geometry": lambda text: text.replace(
        '"geometry"', '"geometry": {"type": "Point"}, "geometry"', 1
    ),
    "outline_with_nan": lambda text: text.replace("[[[", "[[[NaN, 52.5], [", 1),
    "end_the_outlines_with_blanks": lambda text: text + " " * 20 + "\n",
    "indent_the_outlines": lambda text: json.dumps(json.loads(text), indent=3) + "\n",
}.items():

    def _geo_text(copy: Copy, spell: Callable[[str], str] = _spell) -> None:
        path = copy.path("regions.geojson")
        path.write_text(spell(path.read_text()))

    forgery(["trips"])(named(_title, _geo_text))


@forgery(["trips"])
def take_away_the_outlines(copy: Copy) -> None:
    if "region" not in {role for each in roles(copy.document).values() for role in each.values()}:
        raise NotHereError
    copy.path("regions.geojson").unlink()


# Event logs.

_NAME_ATTRIBUTE = f'<string key="name" value="{NAME}"/>'
for _title, _spell in {
    "add_an_attribute_to_an_event": lambda text: text.replace("<event>", "<event>" + _NAME_ATTRIBUTE, 1),
    "add_an_attribute_to_all_events": lambda text: text.replace("<event>", "<event>" + _NAME_ATTRIBUTE),
    "add_an_attribute_to_a_trace": lambda text: text.replace("<trace>", "<trace>" + _NAME_ATTRIBUTE, 1),
    "add_an_attribute_to_the_log": lambda text: text.replace(
        "<classifier", _NAME_ATTRIBUTE + "<classifier", 1
    ),
    "add_an_attribute_behind_the_traces": lambda text: text.replace("</log>", _NAME_ATTRIBUTE + "</log>"),
    "add_a_trace_without_events": lambda text: text.replace(
        "</log>", f'<trace><string key="concept:name" value="{NAME}"/></trace></log>'
    ),
    "add_a_trace": lambda text: text.replace(
        "</log>",
        f'<trace><string key="concept:name" value="{NAME}"/>'
        '<event><string key="concept:name" value="a"/></event></trace></log>',
    ),
    "add_an_event_without_attributes": lambda text: text.replace("</trace>", "<event></event></trace>", 1),
    "nest_an_attribute": lambda text: text.replace('value="b"/>', f'value="b">{_NAME_ATTRIBUTE}</string>', 1),
    "comment_a_log": lambda text: text.replace("<trace>", f"<trace><!-- {NAME} -->", 1),
    "instruct_a_reader": lambda text: text.replace("<trace>", f"<?name {NAME}?><trace>", 1),
    "write_text_into_a_log": lambda text: text.replace("<trace>", f"<trace>{NAME}", 1),
    "write_an_unknown_element": lambda text: text.replace("<trace>", f'<person name="{NAME}"/><trace>', 1),
    "give_an_element_another_attribute": lambda text: text.replace("<trace>", f'<trace name="{NAME}">', 1),
    "give_an_event_an_id": lambda text: text.replace(
        "<event>", "<event><id key='identity:id' value='49'/>", 1
    ),
    "give_a_log_another_classifier": lambda text: text.replace('name="Activity"', f'name="{NAME}"', 1),
    "give_a_log_another_extension": lambda text: text.replace(
        "<classifier", f'<extension name="{NAME}" prefix="n" uri="http://n"/><classifier', 1
    ),
    "give_a_log_a_global": lambda text: text.replace(
        "<classifier", f'<global scope="event">{_NAME_ATTRIBUTE}</global><classifier', 1
    ),
    "give_a_log_features": lambda text: text.replace('xes.features=""', f'xes.features="{NAME}"', 1),
    "give_an_event_a_time": lambda text: text.replace(
        "<event>", '<event><date key="time:timestamp" value="2024-05-01T08:15:00Z"/>', 1
    ),
    "give_all_events_a_time": lambda text: text.replace(
        "<event>", '<event><date key="time:timestamp" value="2024-05-01T08:15:00Z"/>'
    ),
    "give_an_event_a_list": lambda text: text.replace(
        "<event>", f'<event><list key="l"><values>{_NAME_ATTRIBUTE}</values></list>', 1
    ),
    "put_a_comment_behind_the_log": lambda text: text + f"<!-- {NAME} -->\n",
    "spell_a_value_in_another_way": lambda text: text.replace('value="b"', 'value="&#98;"', 1),
    "repeat_an_attribute": lambda text: text.replace(
        '<string key="concept:name" value="b"/>',
        '<string key="concept:name" value="a"/><string key="concept:name" value="b"/>',
        1,
    ),
}.items():

    def _log(copy: Copy, spell: Callable[[str], str] = _spell) -> None:
        path = copy.path("events.xes")
        before = path.read_text()
        assert spell(before) != before
        path.write_text(spell(before))

    forgery(["xes"])(named(_title, _log))

for _title, _spell in {
    "name_an_item_that_is_not_there": lambda text: text.replace("@ITEM=1", f"@ITEM=99={NAME}\n@ITEM=1", 1),
    "name_the_end_of_a_sequence": lambda text: text.replace("@ITEM=1", f"@ITEM=-2={NAME}\n@ITEM=1", 1),
    "comment_sequences": lambda text: text + f"# {NAME}\n",
    "comment_sequences_with_a_percent_sign": lambda text: f"% {NAME}\n" + text,
    "give_sequences_another_header": lambda text: text.replace("@CONVERTED_FROM_TEXT", f"@NAME={NAME}", 1),
    "end_sequences_with_blank_lines": lambda text: text + "\n\n",
    "put_blanks_between_items": lambda text: text.replace(" -1", "  -1", 1),
    "number_items_in_another_way": lambda text: (
        text.replace("@ITEM=1=", "@ITEM=49=").replace("\n1 ", "\n49 ").replace(" 1 ", " 49 ")
    ),
    "name_an_item_twice": lambda text: text.replace("@ITEM=1=a", "@ITEM=1=a\n@ITEM=1=a", 1),
}.items():

    def _sequences(copy: Copy, spell: Callable[[str], str] = _spell) -> None:
        path = copy.path("events.spmf")
        before = path.read_text()
        assert spell(before) != before
        path.write_text(spell(before))

    forgery(["spmf"])(named(_title, _sequences))


# Rows.


@forgery(["generalize"])
def give_every_record_of_a_group_its_own_quasi_identifiers(copy: Copy) -> None:
    frame = copy.frame()
    nodes = sorted(set(frame["age"]))
    assert len(nodes) > 1
    copy.put(frame.with_columns(age=pl.Series([nodes[row % len(nodes)] for row in range(frame.height)])))


@forgery(["generalize"])
def give_one_record_of_a_group_another_quasi_identifier(copy: Copy) -> None:
    frame = copy.frame()
    nodes = sorted(set(frame["sex"]) - {frame["sex"][0]})
    copy.put(frame.with_columns(sex=pl.Series([nodes[0], *frame["sex"][1:]])))


@forgery(["generalize"])
def put_records_of_two_snapshots_into_one_group(copy: Copy) -> None:
    frame = copy.frame()
    # By snapshot and group together, nothing has changed.
    first = frame.filter(pl.col("time") == frame["time"][0])["group"].n_unique()
    copy.put(frame.with_columns(group=(pl.col("group") - 1) % first + 1))


@forgery(["generalize"])
def merge_groups_that_differ(copy: Copy) -> None:
    frame = copy.frame()
    copy.put(frame.with_columns(group=pl.col("time").rank("dense").cast(pl.Int64)))


@forgery(ANATOMY, ["generalize"])
def number_groups_so_that_they_tell_something(copy: Copy) -> None:
    for name in copy.tables:
        frame = copy.frame(name)
        copy.put(frame.with_columns(group=pl.col("group") * 7 + 4912300000), name)


@forgery(ANATOMY, ["generalize"])
def number_groups_below_zero(copy: Copy) -> None:
    for name in copy.tables:
        frame = copy.frame(name)
        copy.put(frame.with_columns(group=-pl.col("group")), name)


@forgery(ANATOMY)
def move_a_record_to_another_group(copy: Copy) -> None:
    frame = copy.frame()
    groups = frame["group"].to_list()
    other = next(group for group in groups if group != groups[0])
    copy.put(frame.with_columns(group=pl.Series([other, *groups[1:]])))


@forgery(ANATOMY)
def count_a_value_once_more(copy: Copy) -> None:
    values = copy.frame("values")
    count = values["count"].to_list()
    copy.put(values.with_columns(count=pl.Series([count[0] + 1, *count[1:]])), "values")


@forgery(ANATOMY)
def split_a_count_into_two_rows(copy: Copy) -> None:
    values = copy.frame("values")
    row = values.head(1)
    copy.put(pl.concat([row, row, values.slice(2)]), "values")


@forgery(ANATOMY)
def list_values_in_an_order_that_tells_something(copy: Copy) -> None:
    # Such as that of the records, which says who has which.
    values = copy.frame("values")
    copy.put(values.reverse().sort("group", maintain_order=True), "values")


@forgery(ANATOMY)
def give_every_record_a_group_of_its_own(copy: Copy) -> None:
    frame, values = copy.frame(), copy.frame("values")
    attribute = values.columns[1]
    copy.put(frame.with_columns(group=pl.int_range(1, pl.len() + 1)))
    rows = {
        "group": range(1, frame.height + 1),
        attribute: ["HIV"] * frame.height,
        "count": [1] * frame.height,
    }
    copy.put(pl.DataFrame(rows, schema=values.schema), "values")


@forgery(
    ["reposition", "suppress-only", "merge-snapshots"],
    who="publisher",
    why="Two labels may mean one value; the data has others.",
)
def call_a_value_in_two_ways(copy: Copy) -> None:
    # Two records of one value are two values then.
    frame, values = copy.frame(), copy.frame("values")
    attribute = values.columns[1]
    group = values["group"][0]
    size = frame.filter(pl.col("group") == group).height
    rows = pl.DataFrame(
        {"group": [group] * size, attribute: ["HIV" + " " * n for n in range(size)], "count": [1] * size},
        schema=values.schema,
    )
    copy.put(pl.concat([rows, values.filter(pl.col("group") != group)]), "values")


@forgery(ANATOMY, who="nobody", why="A record carries no person, so nobody knows in which group it belongs.")
def exchange_two_records(copy: Copy) -> None:
    frame = copy.frame()
    groups = frame["group"].to_list()
    other = next(
        row
        for row, group in enumerate(groups)
        if group != groups[0] and frame["time"][row] == frame["time"][0]
    )
    groups[0], groups[other] = groups[other], groups[0]
    copy.put(frame.with_columns(group=pl.Series(groups)))


@forgery(RECORDS, who="nobody", why="Names of snapshots are the publisher's.")
def name_a_person_in_a_snapshot(copy: Copy) -> None:
    copy.put(copy.frame().with_columns(time=pl.col("time") + f" {NAME}"))


@forgery(
    QUASI, RECORDS, who="publisher", why="Unprotected values are released as they are; the data has others."
)
def name_a_person_in_a_sensitive_value(copy: Copy) -> None:
    name = "values" if "values" in copy.tables else copy.tables[0]
    attribute = copy.columns("sensitive")[0] if name != "values" else copy.frame("values").columns[1]
    frame = copy.frame(name)
    others = sorted(set(frame[attribute]) - {"HIV"})
    copy.put(frame.with_columns(pl.col(attribute).replace({others[0]: NAME})), name)


@forgery(QUASI, who="publisher", why="Two labels may mean one value; the data has others.")
def spell_a_protected_value_in_another_way(copy: Copy) -> None:
    frame = copy.frame()
    copy.put(
        frame.with_columns(pl.col(column).replace({"HIV": "HIV "}) for column in copy.columns("sensitive"))
    )


@forgery(["rich"], who="publisher", why="Kept values are released as they are; the data has others.")
def name_persons_in_a_kept_column(copy: Copy) -> None:
    copy.put(copy.frame().with_columns(raw(copy, "ward")))


@forgery(
    SYMBOL,
    ["trips"],
    who="publisher",
    why="Symbols without a hierarchy are the publisher's; the data has others.",
)
def name_a_person_in_a_symbol(copy: Copy) -> None:
    column = copy.frame().columns[-1]
    if column in copy.trees() or copy.path("regions.geojson").exists():
        raise NotHereError
    copy.put(copy.frame().with_columns(pl.col(column).replace({"a": NAME})))


@forgery(HISTORIES)
def release_names_for_pseudonyms(copy: Copy) -> None:
    persons = sorted(set(copy.frame()["person"]))
    names = [f"{NAMES[row % len(NAMES)]} {row // len(NAMES) or ''}".strip() for row in range(len(persons))]
    copy.put(copy.frame().with_columns(pl.col("person").replace_strict(persons, names)))


@forgery(HISTORIES, who="publisher", why="A pseudonym is any text; who is who is in internal/.")
def release_pseudonyms_that_nobody_drew(copy: Copy) -> None:
    persons = sorted(set(copy.frame()["person"]))
    names = [f"p{row:016x}" for row in range(len(persons))]
    copy.put(copy.frame().with_columns(pl.col("person").replace_strict(persons, names)))


@forgery(HISTORIES, who="publisher", why="Nobody outside knows how many persons there were.")
def make_a_crowd_of_one_person(copy: Copy) -> None:
    frame = copy.frame()
    first = frame.filter(pl.col("person") == frame["person"][0])
    crowd = [first.with_columns(person=pl.lit(f"p{row:016x}")) for row in range(3)]
    copy.put(pl.concat([*crowd, frame]))


@forgery(QUASI, who="publisher", why="Nobody outside knows how many persons there were.")
def make_a_crowd_around_a_unique_person(copy: Copy) -> None:
    frame = copy.frame()
    column = need(copy.columns("quasi"))
    path = copy.trees()[column]
    text = path.read_text()
    rows = [line.split(";") for line in text.splitlines()[1:]]
    grow(path, [*rows, ["99999", rows[-1][1], "1"]] if column == "ZIP" else rows)
    own = frame.filter(pl.col("person") == frame["person"][0]).with_columns(pl.lit("99999").alias(column))
    # Three copies of one person stand for three others, who are left out.
    names = frame["person"].unique(maintain_order=True).to_list()[:4]
    rest = frame.filter(~pl.col("person").is_in(names))
    crowd = [own.with_columns(person=pl.lit(f"p{row:016x}")) for row in range(len(names))]
    copy.put(pl.concat([*crowd, rest]))


@forgery(HISTORIES, who="nobody", why="Whoever is left out is not there to be counted.")
def leave_out_a_person(copy: Copy) -> None:
    frame = copy.frame()
    copy.put(frame.filter(pl.col("person") != frame["person"][0]))


@forgery(QUASI, who="nobody", why="The promise is about how many are alike, not about what is true.")
def exchange_events_of_two_persons(copy: Copy) -> None:
    frame = copy.frame()
    first, *_, last = frame["person"].unique(maintain_order=True).to_list()
    other = frame["person"].replace({first: last, last: first})
    copy.put(frame.with_columns(person=other))


@forgery(HISTORIES)
def sort_persons_as_the_house_does(copy: Copy) -> None:
    frame = copy.frame()
    known = pl.read_parquet(copy.folder.parent / "internal" / "pseudonyms.parquet").cast(pl.String)
    ranks = dict(known.select("pseudonym", "person").iter_rows())
    copy.put(frame.sort(pl.col("person").replace_strict(ranks), "order", maintain_order=True))


@forgery(HISTORIES)
def number_events_from_zero(copy: Copy) -> None:
    copy.put(copy.frame().with_columns(order=pl.col("order") - 1))


@forgery(HISTORIES)
def leave_a_gap_in_the_order(copy: Copy) -> None:
    copy.put(
        copy.frame().with_columns(order=pl.when(pl.col("order") > 1).then(pl.col("order") + 1).otherwise(1))
    )


@forgery(HISTORIES)
def tear_a_person_apart(copy: Copy) -> None:
    frame = copy.frame()
    person = frame.filter(pl.col("order") == 2)["person"][0]
    first = (pl.col("person") == person) & (pl.col("order") == 1)
    copy.put(pl.concat([frame.filter(~first), frame.filter(first)]))


@forgery(FOLDERS, who="nobody", why="Nothing breaks no promise, and one sees that it is nothing.")
def release_nothing(copy: Copy) -> None:
    for name in copy.tables:
        copy.put(copy.frame(name).clear(), name)


@forgery(QUASI)
def release_the_data_as_it_is(copy: Copy) -> None:
    frame = copy.frame()
    data = pl.read_csv(copy.publisher.out.parent / "data.csv", infer_schema=False)
    known = pl.read_parquet(copy.folder.parent / "internal" / "pseudonyms.parquet").cast(pl.String)
    data = data.with_columns(
        person=pl.col("pid").replace_strict(*(known[name] for name in ("person", "pseudonym")))
    )
    data = data.with_columns(order=pl.col("n").cast(pl.Int64)).sort("person", "order")
    copy.put(data.select(frame.columns))
    for column, path in copy.trees().items():
        if column not in data.columns:
            continue
        labels = sorted(set(data[column]))
        grow(path, [["*", "", str(len(labels))], *([label, "*", "1"] for label in labels)])


@forgery(QUASI)
def release_a_value_of_one_person_as_it_is(copy: Copy) -> None:
    frame = copy.frame()
    column = need(copy.columns("quasi"))
    path = copy.trees()[column]
    rows = [line.split(";") for line in path.read_text().splitlines()[1:]]
    rows[0][2] = str(int(rows[0][2]) + 1)
    grow(path, [*rows, ["56103", "*", "1"]])
    copy.put(frame.with_columns(pl.Series(column, ["56103", *frame[column][1:]])))


@forgery(COUNTED)
def release_a_sequence_that_one_person_has(copy: Copy) -> None:
    frame = copy.frame()
    column = frame.columns[-1]
    copy.put(frame.with_columns(pl.Series(column, ["z", *frame[column][1:]])))


@forgery(RECORDS)
def release_one_value_throughout(copy: Copy) -> None:
    name = copy.tables[-1]
    frame = copy.frame(name)
    attribute = copy.columns("sensitive")[0] if name != "values" else frame.columns[1]
    copy.put(frame.with_columns(pl.lit("HIV").alias(attribute)), name)
