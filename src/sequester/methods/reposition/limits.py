"""What releases of records in snapshots do not promise, in sentences that name no value."""

from __future__ import annotations

from sequester.methods.limits import ONE_RELEASE

ONE_RECORD = (
    "A published snapshot has at most one record of each person. The program saw to that; nobody can check "
    "it in the release, because records carry no person."
)
POSTERIOR = (
    "The promise bounds how often a sensitive value occurs in a snapshot. An adversary who also knows how "
    "the program works, and how many records arrived when, may infer a value with more confidence than 1/l."
)
SEVERAL = (
    "Persons with records in several snapshots are not protected against an adversary who knows in which "
    "snapshots they are, and looks for what those have in common."
)
LATE = (
    "The time of a record is the snapshot in which it is published. It may have arrived earlier, by fewer "
    "snapshots than the window has, and some records are not published at all."
)
MERGED = (
    "The time of a record is a span of several snapshots; in which of them it arrived is not shown, and some "
    "records are not published at all."
)
UNPUBLISHED = "Some records are not published at all, and more often those with frequent sensitive values."
AS_THEY_ARE = (
    "Quasi-identifiers are published unchanged. An adversary who knows those of a person finds their "
    "records, and learns when they are in the data, and which sensitive values are possible for them."
)
WITH_VALUES = (
    "Quasi-identifiers are published unchanged beside the sensitive value: an adversary who knows those of a "
    "person finds their record with its value. The promise bounds only what a whole snapshot shows."
)


def in_several(n_persons: int) -> str:
    """Return the warning about persons who are in several published snapshots.

    Examples
    --------
    >>> in_several(1)[:50]
    '1 person has records in several published snapshot'
    """
    # `sequester methods` need not wait for polars.
    from sequester.hierarchies.labels import counted  # noqa: PLC0415

    who = counted(n_persons, "person has", "persons have")
    return (
        f"{who} records in several published snapshots; they are not protected against an adversary who "
        "knows in which"
    )


def limits_of(then: str, *, time: str) -> tuple[str, ...]:
    """Return the limits of a release in which `then` followed, with what is to say about times."""
    shown = {"none": (WITH_VALUES,), "anatomy": (AS_THEY_ARE,), "generalize": ()}[then]
    return (*shown, ONE_RECORD, POSTERIOR, SEVERAL, time, ONE_RELEASE)
