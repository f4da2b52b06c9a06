"""Names that no system takes for a folder."""

from __future__ import annotations

import pytest

from sequester.bundle.target import Target
from sequester.errors import InputError


@pytest.mark.parametrize("places", [("a\0b", None), ("out", "a\0b")])
def test_a_nul_character_is_refused(places):
    with pytest.raises(InputError, match=r"^'a\\x00b' cannot be written: it has a NUL character$"):
        Target.of(*places)
