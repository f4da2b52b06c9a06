"""Attacks on mutual-information privacy: where in a person's sequence a secret pattern was."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from sequester.attacks.context import permute
from sequester.attacks.risk import Risk, exact, largest_of, mean_of
from sequester.datasets.draws import generator
from sequester.hierarchies.labels import ROOT
from sequester.privacy.mutual_information import count_fitting, count_spelled, measure_leakage, tuple_counts

if TYPE_CHECKING:
    import numpy.typing as npt

    from sequester._typing import Counts, Mask
    from sequester.attacks.context import Case
    from sequester.attacks.risk import Proportion
    from sequester.data.sequences import Sequences
    from sequester.data.table import EventTable
    from sequester.hierarchies.hierarchy import Hierarchy
    from sequester.privacy.mutual_information import Leakage, Measure, MutualInformationPrivacy

    Chances = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PatternPositions:
    """Who had which secret pattern how often, and what the release, or a control, tells of where."""

    model: MutualInformationPrivacy
    """The promise, with the patterns."""
    original: Sequences
    """The events of the persons who are looked at."""
    released: Sequences
    """The same places as they are released."""
    control: Sequences
    """The released symbols of each person, permuted among the person's places."""
    tree: Hierarchy | None
    """The taxonomy; without one, nothing lies between symbols and the root."""
    measured: Leakage
    """What the release tells."""
    is_everybody: bool
    """All persons are looked at, and not only some who were drawn."""

    @classmethod
    def of(
        cls,
        model: MutualInformationPrivacy,
        released: Sequences,
        original: EventTable,
        *,
        targets: int,
        seed: str,
    ) -> PatternPositions:
        """Read everybody, or `targets` persons drawn at random; both have the same persons in order."""
        before, after = original.sequences, released
        is_everybody = before.n_persons <= targets
        if not is_everybody:
            rng = generator("attack positions", seed)
            drawn = np.sort(rng.choice(before.n_persons, targets, replace=False)).astype(np.int64)
            before, after = before.take(drawn), after.take(drawn)
        control = permute(after, generator("attack control", seed), within_persons=True)
        return cls(
            model,
            before,
            after,
            control,
            original.hierarchies.get(before.symbol),
            measure_leakage(after, before, tuple(model.sensitive), window=model.window),
            is_everybody,
        )

    @property
    def has(self) -> Mask:
        """Cell ``[p, i]``: person ``i`` has pattern ``p``."""
        return self.measured.occurrences > 0

    @property
    def tuples(self) -> Counts:
        """Cell ``[p, i]``: the index tuples of person ``i`` that pattern ``p`` could have been."""
        sizes = np.diff(self.original.person_offsets)
        rows = [tuple_counts(sizes, len(each), self.model.window) for each in self.measured.patterns]
        return np.array(rows, np.int64).reshape(self.has.shape)

    @property
    def prior(self) -> Chances:
        """For each person and pattern they have: the share of all index tuples that are the pattern."""
        share: Chances = self.measured.occurrences[self.has] / self.tuples[self.has]
        return share

    @property
    def posterior(self) -> Chances:
        """The belief in what is true, after the release: its geometric mean over all occurrences.

        A pattern leaks its share P of all tuples times log2 (posterior / P), whether its symbols are released
        in one way or in several (Equation 2).
        """
        prior = self.prior
        gained: Chances = self.measured.leakage[self.has] / prior
        return np.exp2(np.minimum(np.log2(prior) + gained, 0.0))

    def by_chance(self) -> tuple[Counts, Counts]:
        """Count the control's tuples that look as a pattern is released: those that are it, and all."""
        before = self.original.codes
        after, permuted = (each.codes for each in (self.released, self.control))
        book = self.original.codebook
        offsets, window, has = self.original.person_offsets, self.model.window, self.has
        right, alike = np.zeros(has.shape, np.int64), np.zeros(has.shape, np.int64)
        count = count_spelled
        for row, pattern in enumerate(self.measured.patterns):
            if not has[row].any():
                continue
            codes = book.encode(pattern)
            looks = [np.unique(after[before == code]).tolist() for code in codes.tolist()]
            for image in product(*looks):
                look = np.array(image, np.int32)
                shown = count(before, after, offsets, codes, look, window, has[row]) > 0
                right[row] += count(before, permuted, offsets, codes, look, window, shown)
                alike[row] += count(permuted, permuted, offsets, look, look, window, shown)
        return right[has], alike[has]

    def claimed(self) -> Chances:
        """Return the largest posterior that the promise leaves for each person and pattern they have."""
        lengths, _, _, bound = self.model.bounds(self.measured)
        rows = (
            np.arange(len(self.measured.patterns))
            if self.model.worst_case
            else np.searchsorted(lengths, self.measured.lengths)
        )
        prior = self.prior
        with np.errstate(over="ignore"):
            gained = bound[rows][self.has] / prior
        largest: Chances = np.exp2(np.minimum(np.log2(prior) + gained, 0.0))
        return largest

    def possible(self, data: Sequences, *, spelled: bool) -> Counts:
        """Count, for each person and pattern they have, the index tuples of `data` that may have been it.

        With `spelled` only those count that were it.
        """
        book, has = self.original.codebook, self.has
        counts = np.zeros(has.shape, np.int64)
        for row, pattern in enumerate(self.measured.patterns):
            if has[row].any():
                may_be = np.array([self._may_be(label, data.codebook.labels) for label in pattern], np.bool_)
                was = np.arange(len(book)) == book.encode(pattern)[:, None]
                fits = was if spelled else np.ones_like(was), may_be
                sides = self.original.codes, data.codes
                counts[row] = count_fitting(sides, data.person_offsets, fits, self.model.window, has[row])
        return counts[has]

    def _may_be(self, label: str, labels: tuple[str, ...]) -> list[bool]:
        """Return which released labels may stand for a symbol: itself, and what lies above it."""
        above = {label, ROOT}
        if self.tree is not None:
            above = {self.tree.labels[node] for node in self.tree.ancestors(self.tree.node(label))} | above
        return [each in above for each in labels]


def position_risks(places: PatternPositions) -> list[Risk]:
    """Return the success of an adversary who knows a secret pattern and points at places in the release.

    Who knows the ``taxonomy`` points at any index tuple within the window that may have been the pattern. Who
    also knows what each symbol was released as (``mapping``), having the program, points at those alone.
    ``position`` is the mean chance to be right, over persons and the patterns they have; for `mapping` the
    geometric mean over the occurrences of a pattern. ``surest_position`` is the largest share of the pattern
    among tuples that look alike. ``leakage`` is the largest share of what could be learned that is learned,
    in bits: the mutual information of patterns and release, by whatever measure the promise is. For a promise
    by the paper's measure it has no bound, and ``paper_leakage`` is what is claimed.

    Examples
    --------
    >>> from sequester.data.sequences import Sequences
    >>> from sequester.testing import symbol_table
    >>> from sequester.privacy import MutualInformationPrivacy
    >>> model = MutualInformationPrivacy(sensitive=frozenset({("a", "b")}), window=2, max_leakage=0.6)
    >>> released = Sequences.from_rows(["AAAxAA"])
    >>> places = PatternPositions.of(model, released, symbol_table(["aabxab"]), targets=9, seed="any")
    >>> risk = position_risks(places)[3]
    >>> round(risk.value, 3), risk.bound, risk.is_within
    (0.413, 0.6, True)

    References
    ----------
    Bonomi, Fan, Jin (2016), Definition 2 and Equation 2.
    """
    prior = places.prior
    right, alike = places.by_chance()
    chances: Chances = right / np.maximum(alike, 1)
    mean = partial(mean_of, is_all=places.is_everybody)
    largest = partial(largest_of, is_all=places.is_everybody)
    claimed, chance = places.claimed(), float(prior.mean()) if prior.size else 0.0
    most = float(claimed.mean()) if claimed.size else None
    pointed, by_chance = (mean(_pointed(places, data)) for data in (places.released, places.control))
    surest, likeliest = places.measured.posterior[places.has], float(prior.max(initial=0.0))
    (leaked, bound), (paper_leaked, paper_bound) = (_worst_share(places, each) for each in ("exact", "paper"))
    learned, gained = _informed(places, right, alike), _gained(chances, prior)
    found: list[tuple[str, str, Proportion, Proportion, float, float | None]] = [
        ("position", "taxonomy", pointed, by_chance, chance, most),
        ("position", "mapping", mean(places.posterior), mean(chances), chance, most),
        ("surest_position", "mapping", largest(surest), largest(chances), likeliest, None),
        ("leakage", "mapping", largest(leaked), largest(learned), 0.0, bound),
        ("paper_leakage", "mapping", largest(paper_leaked), largest(gained), 0.0, paper_bound),
    ]
    n_pairs = int(places.has.sum())
    return [
        Risk.of(
            release,
            baseline,
            control,
            raw=exact(1.0 if n_pairs else 0.0),
            name=name,
            kind=kind,
            known=max((len(each) for each in places.measured.patterns), default=0),
            bound=bound,
            targets=n_pairs,
        )
        for name, kind, release, control, baseline, bound in found
    ]


def attack_positions(model: MutualInformationPrivacy, case: Case) -> list[Risk]:
    """Run the attacks on the positions of secret patterns; it must be known who is who."""
    if case.histories is None:
        case.warn("no pseudonyms were found, so nobody tried to find where secret patterns were")
        return []
    places = PatternPositions.of(model, case.histories, case.original, targets=case.targets, seed=case.seed)
    case.progress(0.7, "attacking (places of patterns, by the taxonomy)")
    risks = position_risks(places)
    return risks if model.measure == "paper" else risks[:-1]


def _pointed(places: PatternPositions, data: Sequences) -> Chances:
    """Return the chance that a tuple which may have been the pattern was it; 0 where there is none."""
    possible = places.possible(data, spelled=False)
    chances: Chances = places.possible(data, spelled=True) / np.maximum(possible, 1)
    return chances


def _worst_share(places: PatternPositions, measure: Measure) -> tuple[Chances, float | None]:
    """Return the share of its entropy that leaks where most leaks, and what may leak there.

    It is most in comparison with what may leak, so that nothing above its bound is passed over. By another
    measure than that of the promise, nothing is claimed.
    """
    is_claimed = measure == places.model.measure
    _, leakage, entropy, bound = replace(places.model, measure=measure).bounds(places.measured)
    is_some = entropy > 0
    if not is_some.any():
        return np.zeros(0), 1.0 if is_claimed else None
    shares, allowed = leakage[is_some] / entropy[is_some], bound[is_some] / entropy[is_some]
    worst = int(np.argmax(shares - allowed * is_claimed))
    return shares[worst : worst + 1], float(min(allowed[worst], 1.0)) if is_claimed else None


def _informed(places: PatternPositions, right: Counts, alike: Counts) -> Chances:
    """Return the share of the entropy of "is it the pattern?" that is told by "does it look like it?"."""
    n_tuples, n_hits = places.tuples[places.has], places.measured.occurrences[places.has]
    table = np.array([right, alike - right, n_hits - right, n_tuples - n_hits - alike + right])
    outcomes = np.array([n_hits, n_tuples - n_hits])
    terms = [
        _plogp(table / n_tuples).sum(axis=0),
        -_plogp(outcomes / n_tuples).sum(axis=0),
        -_plogp(np.array([alike, n_tuples - alike]) / n_tuples).sum(axis=0),
    ]
    entropy = terms[1]
    is_open = entropy > 0
    shares: Chances = np.maximum(np.sum(terms, axis=0)[is_open] / entropy[is_open], 0.0)
    return shares


def _plogp(shares: Chances) -> Chances:
    terms: Chances = shares * np.log2(shares, out=np.zeros(shares.shape), where=shares > 0)
    return terms


def _gained(posterior: Chances, prior: Chances) -> Chances:
    """Return the share of what was not known that is learned, in bits; nothing where a belief has fallen."""
    is_open = (prior < 1) & (posterior > prior)
    gained: Chances = 1 - np.log2(posterior[is_open]) / np.log2(prior[is_open])
    return gained
