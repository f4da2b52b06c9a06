"""Lost and ghost patterns against their definition."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from oracles import pattern_hiding as oracles
from sequester.data.sequences import Sequences
from sequester.utility import SideEffects

rows = st.lists(st.text("abc", max_size=5), min_size=1, max_size=6)
secrets = st.frozensets(st.text("abcx", min_size=1, max_size=2).map(tuple), max_size=2)


@given(rows, rows, secrets, st.integers(1, 3), st.sampled_from([None, 2]))
def test_they_are_those_of_the_definition(released, original, secrets, min_support, max_length):
    after, before = Sequences.from_rows(released), Sequences.from_rows(original)
    effects = SideEffects(sensitive=secrets, min_support=min_support, max_length=max_length)
    lost, ghosts = oracles.side_effects(secrets, released, original, min_support, max_length)
    scores = effects.score(after, original=before)
    assert {name: score.value for name, score in scores.items()} == {
        "lost_patterns": len(lost),
        "ghost_patterns": len(ghosts),
    }
    assert effects.lost(after, original=before) == tuple(sorted(lost, key=lambda each: (len(each), each)))
    assert effects.ghosts(after, original=before) == tuple(sorted(ghosts, key=lambda each: (len(each), each)))


def test_the_words_name_the_limits():
    data = Sequences.from_rows(["ab", "ab"])
    scores = SideEffects(sensitive=frozenset(), min_support=2, max_length=4).score(data, original=data)
    assert "of the 3 patterns of at least 2 persons and at most 4 items" in scores["lost_patterns"].means
    assert scores["lost_patterns"].bounds == (0, 3)
