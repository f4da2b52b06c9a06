"""Wang, Xu, Wong, Fu (2010): the figures of our experiments, and what their results should look like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from sequester.reproduce.plan import Claim, Drawing

if TYPE_CHECKING:
    from collections.abc import Mapping

WHOLE = "all"
"""The window that holds everything."""
_MOST_LOST = 0.5
"""Where no method can publish more than this share of records, it does not matter which one is used."""
_SOME_L = "over data and every l at which half of the records can be published at all"
_NEARLY = 0.05
"""An error up to this is next to none."""

_BY_WINDOW: dict[str, Any] = {
    "table": "moves",
    "x": "window",
    "x_title": "snapshots in the window; all of the stream",
    "series": "l",
    "panel": "data",
    "where": {"cost": "quadratic"},
}
_BY_LENGTH: dict[str, Any] = {
    "table": "queries",
    "x": "length",
    "y": "error",
    "x_title": "snapshots that a query spans",
    "y_title": "mean relative error",
    "series": "method",
    "panel": "data",
}
DRAWINGS = (
    Drawing(
        name="eligibility",
        title="Snapshots that cannot be published as they are",
        table="eligibility",
        x="l",
        y="ineligible",
        x_title="l",
        y_title="share of snapshots",
        series="data",
    ),
    Drawing(
        name="suppressed-by-window",
        title="Records that are never published, by window and l",
        y="suppressed",
        y_title="share of records",
        **_BY_WINDOW,
    ),
    Drawing(
        name="avoidable-by-window",
        title="Records that are never published, beyond those that no method can publish",
        y="avoidable",
        y_title="share of records",
        own_y=True,
        **_BY_WINDOW,
    ),
    Drawing(
        name="moved-by-window",
        title="Records that are published later than they came, by window and l",
        y="moved",
        y_title="share of records",
        **_BY_WINDOW,
    ),
    Drawing(
        name="loss-by-window",
        title="Information loss, by window and l",
        y="loss_per_record",
        y_title="loss per record",
        **_BY_WINDOW,
    ),
    Drawing(
        name="distances",
        title="How far records are moved that are moved, window 7",
        table="distances",
        x="distance",
        y="share_of_moved",
        x_title="snapshots later",
        y_title="share of moved records",
        series="l",
        panel="data",
    ),
    *(
        Drawing(
            name=f"queries-l{level}",
            title=f"Error of window queries, l = {level}",
            where={"l": level},
            **_BY_LENGTH,
        )
        for level in (2, 3, 5)
    ),
)


def claims(tables: Mapping[str, pl.DataFrame]) -> list[Claim]:
    """Hold the tables against what is to be expected of the algorithm."""
    moves = tables["moves"].filter(pl.col("cost") == "quadratic")
    usable = moves.filter(pl.col("unavoidable") <= _MOST_LOST)
    pairs = usable.select("data", "l").unique()
    return [
        _ineligible(tables["eligibility"]),
        _near(tables["distances"]),
        _flat(usable),
        _saves(usable),
        _short_windows(moves),
        _queries(tables["queries"].join(pairs, on=["data", "l"], maintain_order="left")),
        _finer(tables["queries"].join(pairs, on=["data", "l"], maintain_order="left")),
        _steps(tables["moves"]),
    ]


def _ineligible(table: pl.DataFrame) -> Claim:
    most = table.filter(pl.col("l") == pl.col("l").max())
    return Claim(
        says="Most snapshots are not eligible where l comes near the number of sensitive values.",
        measured=f"at l = {most['l'][0]}: {_each(most, 'ineligible')} of the snapshots",
        agrees=bool((most["ineligible"] > 0.5).all()),
        why=_unless(
            most["ineligible"] > 0.5, "days are large and values even, so that all of them occur often enough"
        ),
    )


def _near(table: pl.DataFrame) -> Claim:
    near = (
        table.filter(pl.col("distance") <= 2)
        .group_by("data", "l", maintain_order=True)
        .agg(pl.col("share_of_moved").sum())
    )
    return Claim(
        says="Most records that are moved are moved by at most two snapshots.",
        measured=f"{_range(near['share_of_moved'])} of them, over data and every l at which some are moved",
        agrees=bool((near["share_of_moved"] > 0.5).all()),
        why=_unless(near["share_of_moved"] > 0.5, "few records find a place at all where days are small"),
    )


def _flat(moves: pl.DataFrame) -> Claim:
    wide = _by_window(moves)
    wide = wide.filter(pl.col("1") - pl.col("8") > 0.001)
    share = (wide["1"] - wide["4"]) / (wide["1"] - wide["8"])
    return Claim(
        says="Suppression falls fast with the window, and is flat after about three or four snapshots.",
        measured=f"a window of 4 saves {_range(share)} of what one of 8 saves, {_SOME_L}",
        agrees=bool((share > 2 / 3).all()),
        why=_unless(
            share > 2 / 3,
            "at large l most days are skewed the same way, and each further day has a little room",
        ),
    )


def _saves(moves: pl.DataFrame) -> Claim:
    wide = _by_window(moves).filter(pl.col("1") - pl.col("unavoidable") > 0.001)
    saved = (wide["1"] - wide["8"]) / (wide["1"] - wide["unavoidable"])
    must = moves.unique(["data", "l"], maintain_order=True)["unavoidable"]
    return Claim(
        says="Much less is lost than by suppression alone.",
        measured=(
            f"of the suppression that can be avoided, a window of 8 avoids {_range(saved)}, {_SOME_L}; "
            f"{_range(must)} of the records can be published by no method, because eligible snapshots make "
            "an eligible whole"
        ),
        agrees=bool((saved > 0.5).all()),
        why=_unless(
            saved > 0.5,
            "where most days are skewed the same way, few snapshots within a window have room; only farther "
            "moves, or publishing less often, would help",
        ),
    )


def _short_windows(moves: pl.DataFrame) -> Claim:
    losses = moves.pivot(on="window", index=["data", "l"], values="loss_per_record", maintain_order=True)
    more = losses["8"] / losses[WHOLE] - 1
    return Claim(
        says="A window of a week loses little against one that holds the whole stream.",
        measured=f"{_range(more)} more loss in a window of 8 than in one of everything, over data and l",
        agrees=bool((more <= 0.1).all()),
        why=_unless(more <= 0.1, "a window that never lets go finds places weeks later"),
    )


def _queries(table: pl.DataFrame) -> Claim:
    ours = table.filter((pl.col("method") == "reposition") & (pl.col("length") >= 3))
    worst = ours.group_by("data", "l", maintain_order=True).agg(pl.col("error").max(), pl.col("lost").first())
    exact = worst.filter(pl.col("error") <= _NEARLY).height
    beyond = max((worst["error"] - worst["lost"]).to_list())
    return Claim(
        says="Window queries over three or more snapshots are nearly exact.",
        measured=(
            f"errors from {_range(worst['error'])}; at most {_NEARLY:.0%} for {exact} of {worst.height} "
            f"pairs, {_SOME_L}"
        ),
        agrees=exact == worst.height,
        why=_unless(
            worst["error"] <= _NEARLY,
            "what is not published is missing in windows of any length, and values are too uneven for "
            f"large l: beyond the share of records that are not published the error is at most {beyond:.0%}",
        ),
    )


def _finer(table: pl.DataFrame) -> Claim:
    short = table.filter(pl.col("length") <= 3)
    both = short.pivot(on="method", index=["data", "l", "length"], values="error", maintain_order=True)
    both = both.drop_nulls(["reposition", "merge-snapshots"])
    better = both["reposition"] <= both["merge-snapshots"]
    mostly = int(better.sum()) > 0.9 * better.len()
    return Claim(
        says="Times stay finer than by merging snapshots.",
        measured=(
            f"over 1 to 3 snapshots, errors are {_mean(both['reposition'])} on average, by merging seven "
            f"{_mean(both['merge-snapshots'])}; smaller in {int(better.sum())} of {better.len()} cases"
        ),
        agrees=mostly,
        why=_unless(
            pl.Series([mostly]),
            "at large l both lose so much that nothing is left to be finer about",
        ),
    )


def _steps(moves: pl.DataFrame) -> Claim:
    most = max(moves["steps_of_bound"].to_list())
    return Claim(
        says="Relays take at most sigma (w + values) steps (Theorem 2).",
        measured=f"at most {most:.0%} of that bound, over all runs",
        agrees=most <= 1,
        why=_unless(pl.Series([most <= 1]), "a relay goes through more snapshots than its window has"),
    )


def _by_window(moves: pl.DataFrame) -> pl.DataFrame:
    index = ["data", "l", "unavoidable"]
    return moves.pivot(on="window", index=index, values="suppressed", maintain_order=True)


def _unless(holds: pl.Series, reason: str) -> str:
    return "" if holds.all() else reason


def _range(shares: pl.Series) -> str:
    # Without the sign of a zero.
    low, high = (round(end(shares.to_list()), 3) + 0.0 for end in (min, max))
    return f"{low:.1%} to {high:.1%}"


def _mean(shares: pl.Series) -> str:
    return f"{sum(shares.to_list()) / shares.len():.1%}"


def _each(table: pl.DataFrame, column: str) -> str:
    return ", ".join(f"{share:.0%} ({data})" for data, share in table.select("data", column).iter_rows())
