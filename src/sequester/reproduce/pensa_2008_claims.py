"""Pensa, Monreale, Pinelli, Pedreschi (2008): the figures, and what the paper says of them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import polars as pl

from sequester.reproduce.plan import Claim, Drawing

if TYPE_CHECKING:
    from collections.abc import Mapping

STRICT, AS_PRINTED, PRUNED = "strict", "as printed", "prefix pruning"
"""Supporters counted in the release, too; only in the original, as the paper does; no re-attachment."""
PLACES = ("trips", "foursquare weeks", "foursquare users", "geolife")
"""Data that has regions at several densities."""
_HIGH = 0.75
_CLOSE = 0.05
_LONG = 5.0
_KNOWN = {
    ("msnbc, long", 20): (138, 775),
    ("msnbc, long", 50): (101, 1_253),
    ("msnbc, long", 100): (58, 1_538),
    ("bike", 10): (245, 1_183),
}
"""Short sequences and records, as printed, of a count apart from this program."""
_KNOWN_CUT = {("msnbc, long", 50): 0.986, ("bike", 10): 0.879, ("msnbc", 50): 0.210, ("msnbc", 1000): 0.318}
"""Shares of sequences that are cut, of the same count."""


def _by_density(name: str, title: str, data: str, y: str, y_title: str, series: str, **where: str) -> Drawing:
    return Drawing(
        name=f"{name}-{data.replace(' ', '-')}",
        title=f"{title}, by density threshold, {data}",
        table="similarities",
        x="k",
        y=y,
        x_title="k",
        y_title=y_title,
        series=series,
        panel="threshold",
        where={"data": data, **where},
        log_x=True,
    )


def _drawings_of(data: str) -> tuple[Drawing, ...]:
    cut = "SIM2 strict, as printed, and without re-attachment"
    short = "Released records short of supporters in the release"
    return (
        _by_density(
            "figure-4",
            "Figure 4: SIM1 and SIM2 against k",
            data,
            "value",
            "similarity",
            "measure",
            method=STRICT,
        ),
        _by_density("strict", cut, data, "value", "SIM2", "method", measure="SIM2"),
        _by_density("short", short, data, "short_records", "records", "method", measure="SIM1"),
    )


DRAWINGS = tuple(drawing for data in PLACES for drawing in _drawings_of(data))


def claims(tables: Mapping[str, pl.DataFrame]) -> list[Claim]:
    """Hold the tables against what the paper says, and against what else is to be expected."""
    similarities = tables["similarities"]
    strict = similarities.filter(pl.col("method") == STRICT).drop_nulls("value")
    found = []
    for data in tables["table-1"]["data"].unique(maintain_order=True).to_list():
        mine = strict.filter((pl.col("data") == data) & pl.col("threshold").is_not_null())
        found += [
            *_table_1(tables["table-1"].filter(pl.col("data") == data), data),
            _mostly_high(mine, data),
            _rises(mine, data),
            _lower_where_sparse(mine, data),
            _optimum(mine, data),
        ]
    return [*found, _cost_of_strictness(similarities), _promise(similarities), *_by_hand(similarities)]


def _table_1(table: pl.DataFrame, data: str) -> list[Claim]:
    regions, kept = table["regions"].to_list(), table["trajectories"].to_list()
    fewer = all(late <= early for early, late in pairwise(kept))
    lengths = table["average_length"].to_list()
    is_long = min(lengths) >= _LONG
    return [
        Claim(
            says="Table 1: the more is asked of a region's density, the fewer regions there are (113 to 8).",
            measured=f"{data}: {_listed(regions)}",
            agrees=regions[-1] < regions[0],
            why=_unless(regions[-1] < regions[0], "low densities join everything into a few large regions")
            or _unless(
                regions == sorted(regions, reverse=True),
                "not step by step: low densities join neighbours into large regions, as the paper says, too",
            ),
        ),
        Claim(
            says="Table 1: the fewer trajectories cross any region (82,341 to 9,213).",
            measured=f"{data}: {_listed(kept)}",
            agrees=fewer,
            why=_unless(
                fewer,
                "a rectangle may hold cells that are not dense, so that a higher density now and then covers "
                "a cell that a lower one does not",
            ),
        ),
        Claim(
            says="Table 1: trajectories cross 6.2 to 9.2 regions on average.",
            measured=f"{data}: {min(lengths):.1f} to {max(lengths):.1f}",
            agrees=is_long,
            why=_unless(is_long, "these are shorter, and of fewer points, than a week of cars"),
        ),
    ]


def _means(table: pl.DataFrame, measure: str) -> pl.DataFrame:
    only = table.filter(pl.col("measure") == measure)
    return only.group_by("threshold", maintain_order=True).agg(pl.col("value").mean())


def _mostly_high(table: pl.DataFrame, data: str) -> Claim:
    means = _means(table, "SIM1")["value"].to_list()
    high = sum(mean >= _HIGH for mean in means)
    return Claim(
        says="SIM1 is quite high in general, with one data set as an exception.",
        measured=f"{data}: mean over k at least {_HIGH} at {high} of {len(means)} densities ({_two(means)})",
        agrees=high >= len(means) - 1,
        why=_unless(
            high >= len(means) - 1,
            "sequences that are cut are moved to beginnings of common paths, whose patterns become too "
            "frequent, and what else they held becomes too rare",
        ),
    )


def _rises(table: pl.DataFrame, data: str) -> Claim:
    sim1 = table.filter(pl.col("measure") == "SIM1")
    ends = sim1.group_by("threshold", maintain_order=True).agg(
        pl.col("value").sort_by("k").first().alias("first"), pl.col("value").sort_by("k").last().alias("last")
    )
    up = int((ends["last"] >= ends["first"]).sum())
    return Claim(
        says="The higher k, the more similar are the relative frequencies: SIM1 rises with k.",
        measured=(
            f"{data}: not lower at the largest k than at the smallest at {up} of {ends.height} densities "
            f"({', '.join(f'{a:.2f} to {b:.2f}' for _, a, b in ends.iter_rows())})"
        ),
        agrees=2 * up > ends.height,
        why=_unless(
            up == ends.height,
            "where k comes near the number of persons, few patterns are left, and those at the beginning of "
            "common paths are inflated by everybody who is moved there",
        ),
    )


def _lower_where_sparse(table: pl.DataFrame, data: str) -> Claim:
    means = _means(table, "SIM2")["value"].to_list()
    sparse, dense = means[:2], means[2:]
    is_lower = bool(dense) and sum(sparse) / len(sparse) < sum(dense) / len(dense)
    return Claim(
        says="SIM2 is lower for the first two data sets, and closer to 1 for higher densities.",
        measured=f"{data}: mean over k {_two(means)}",
        agrees=is_lower,
        why=_unless(is_lower, "patterns are so few at high densities that one more or less is a large share"),
    )


def _optimum(table: pl.DataFrame, data: str) -> Claim:
    sim2 = table.filter(pl.col("measure") == "SIM2").sort("threshold", "k")
    places = []
    for (threshold,), mine in sim2.group_by("threshold", maintain_order=True):
        values, ks = mine["value"].to_list(), mine["k"].to_list()
        places += [
            f"k = {ks[i]} at {threshold}"
            for i in range(1, len(values) - 1)
            if values[i] > max(values[i - 1], values[i + 1])
        ]
    return Claim(
        says="SIM2 is not monotone in k: some k are better than those around them (k = 100, 300 or 500).",
        measured=f"{data}: {', '.join(places) or 'none'}",
        agrees=bool(places),
        why=_unless(bool(places), "there are too few k between which one could be better"),
    )


def _cost_of_strictness(table: pl.DataFrame) -> Claim:
    both = table.filter(pl.col("measure") == "SIM2").pivot(
        on="method", index=["data", "threshold", "k"], values="value", maintain_order=True
    )
    both = both.drop_nulls([STRICT, AS_PRINTED])
    less = (both[AS_PRINTED] - both[STRICT]).to_list()
    mean = sum(less) / max(len(less), 1)
    return Claim(
        says="To be expected: counting supporters in the release costs little of SIM2.",
        measured=f"{mean:.3f} less on average over {len(less)} cases, {max(less):.3f} at most",
        agrees=mean <= _CLOSE,
        why=_unless(mean <= _CLOSE, "on sparse data most paths lose their supporters"),
    )


def _promise(table: pl.DataFrame) -> Claim:
    counts = (
        table.filter(pl.col("measure") == "SIM1")
        .group_by("method")
        .agg(pl.col("short_records").sum(), (pl.col("short_records") > 0).sum().alias("cases"), pl.len())
    )
    found = {method: (records, cases, n) for method, records, cases, n in counts.iter_rows()}
    records, cases, n = found[AS_PRINTED]
    return Claim(
        says="Theorem 1: the release is k-anonymous, so whoever knows a part of a sequence finds k persons.",
        measured=(
            f"as printed, {records:,} released records in {cases} of {n} cases have fewer than k supporters "
            f"in the release; strict, {found[STRICT][0]:,}"
        ),
        agrees=records == 0,
        why=_unless(
            records == 0,
            "the theorem counts supporters in the original: AB, ABXYZ, CXYZ, CXYZ with k = 2 become AB and "
            "three CXYZ, and the only AB is its owner's. Strict mode repeats until it holds in the release",
        ),
    )


def _by_hand(table: pl.DataFrame) -> list[Claim]:
    """Compare with what was counted apart from this program, where the same data is at hand."""
    found = []
    printed = table.filter((pl.col("measure") == "SIM1") & (pl.col("method") == AS_PRINTED))
    for (data, k), (sequences, records) in _KNOWN.items():
        mine = printed.filter((pl.col("data") == data) & (pl.col("k") == k))
        if mine.is_empty():
            continue
        ours = mine["short_sequences"][0], mine["short_records"][0]
        near = all(
            0.8 * known <= own <= 1.25 * known for known, own in zip((sequences, records), ours, strict=True)
        )
        found.append(
            Claim(
                says=f"A count apart: {data}, k = {k}, as printed: {sequences:,} released sequences "
                f"({records:,} records) are short of supporters.",
                measured=f"{ours[0]:,} ({ours[1]:,} records)",
                agrees=near,
                why=_unless(
                    ours == (sequences, records), "ties between equally close paths are broken otherwise"
                ),
            )
        )
    for (data, k), share in _KNOWN_CUT.items():
        mine = printed.filter((pl.col("data") == data) & (pl.col("k") == k))
        if mine.is_empty():
            continue
        is_same = round(mine["cut"][0], 3) == share
        found.append(
            Claim(
                says=f"A count apart: {data}, k = {k}: {share:.1%} of the sequences are cut.",
                measured=f"{mine['cut'][0]:.1%}",
                agrees=is_same,
                why=_unless(is_same, "the data is another one"),
            )
        )
    return found


def _unless(holds: bool, reason: str) -> str:
    return "" if holds else reason


def _listed(numbers: list[int]) -> str:
    return ", ".join(f"{each:,}" for each in numbers)


def _two(shares: list[float]) -> str:
    return ", ".join(f"{each:.2f}" for each in shares)
