"""Pseudonyms and order come from the seed alone, and look like chance."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sequester.release.randomness import Randomness, pseudonym_labels

KEPT = Randomness.of("a sentence that nobody guesses")


@given(st.text(st.characters(exclude_categories=["Cs"])), st.text("ab ", max_size=5), st.integers(0, 9))
def test_numbers_are_hmac_sha_256_in_counter_mode(seed, purpose, count):
    key = hmac.new(b"sequester", seed.encode(), hashlib.sha256).digest()[:16]
    stream = b"".join(
        hmac.new(key, f"numbers {purpose} ".encode() + block.to_bytes(8, "big"), hashlib.sha256).digest()
        for block in range(3)
    )
    expected = [int.from_bytes(stream[8 * i : 8 * i + 8], "big") for i in range(count)]
    assert Randomness.of(seed).numbers(purpose, count).tolist() == expected


def test_the_same_seed_draws_the_same_and_anything_else_draws_another():
    drawn = KEPT.pseudonyms(100).tolist()
    assert Randomness.of(KEPT.seed).pseudonyms(100).tolist() == drawn
    assert not set(drawn) & set(Randomness.of("another sentence nobody guesses").pseudonyms(100).tolist())
    assert not set(drawn) & set(KEPT.pseudonyms(100, about="another release").tolist())
    assert not set(drawn) & set(KEPT.numbers("another purpose", 100).tolist())


def test_without_a_seed_the_system_draws_128_bits():
    seeds = {Randomness.of(None).seed for _ in range(100)}
    assert len(seeds) == 100
    assert {len(seed) for seed in seeds} == {32}


def test_generators_repeat_by_purpose():
    first, again = KEPT.generator("ties").random(5), KEPT.generator("ties").random(5)
    assert first.tolist() == again.tolist()
    assert first.tolist() != KEPT.generator("other").random(5).tolist()


def test_a_million_pseudonyms_are_different():
    drawn = KEPT.pseudonyms(1_000_000)
    assert np.unique(drawn).size == 1_000_000


def test_pseudonyms_that_fall_together_are_drawn_again(monkeypatch):
    numbers, purposes = Randomness.numbers, []

    def unlucky(self, purpose, count):
        purposes.append(purpose)
        drawn = numbers(self, purpose, count)
        if len(purposes) < 3:
            drawn[-1] = drawn[0]
        return drawn

    monkeypatch.setattr(Randomness, "numbers", unlucky)
    assert len(set(KEPT.pseudonyms(10).tolist())) == 10
    assert len(set(purposes)) == 3


def test_every_bit_and_byte_is_used_evenly():
    drawn = KEPT.pseudonyms(100_000)
    octets = drawn.view(np.uint8).reshape(-1, 8)
    for place in range(8):
        counts = np.bincount(octets[:, place], minlength=256)
        assert stats.chisquare(counts).pvalue > 1e-6
    ones = np.unpackbits(octets, axis=1).mean(axis=0)
    assert np.abs(ones - 0.5).max() < 0.01


def test_the_order_of_persons_has_nothing_to_do_with_the_input():
    drawn = KEPT.pseudonyms(100_000)
    place = np.argsort(np.argsort(drawn))
    number = np.arange(len(drawn))
    # In 100,000 places of a random order the correlation has a deviation of 0.003.
    assert abs(np.corrcoef(number, place)[0, 1]) < 0.015
    assert abs(np.corrcoef(place[1:], place[:-1])[0, 1]) < 0.015
    assert np.mean(place[1:] == place[:-1] + 1) < 0.001
    # Over many seeds, each of the six orders of three persons is as frequent as the others.
    orders = [tuple(np.argsort(Randomness.of(f"seed {i}").pseudonyms(3)).tolist()) for i in range(6000)]
    counts = [orders.count(order) for order in set(orders)]
    assert len(counts) == 6
    assert stats.chisquare(counts).pvalue > 1e-6


@given(st.lists(st.integers(0, 2**64 - 1)))
def test_labels_keep_the_order_of_the_numbers_and_are_no_numbers(numbers):
    labels = pseudonym_labels(np.array(numbers, np.uint64))
    assert labels == [f"p{number:016x}" for number in numbers]
    assert sorted(labels) == [f"p{number:016x}" for number in sorted(numbers)]


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5])
def test_any_number_of_pseudonyms(count):
    assert len(KEPT.pseudonyms(count)) == count
