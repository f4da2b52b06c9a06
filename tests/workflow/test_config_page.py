"""The page about the configuration: its examples load, and it names every key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sequester.workflow.config import Config
from sequester.workflow.settings import (
    DataSettings,
    DensitySettings,
    GridSettings,
    H3Settings,
    PlaceSettings,
    ProtectSettings,
    QuasiSettings,
    ReleaseSettings,
    SensitiveSettings,
    SymbolSettings,
    TripSettings,
)

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_well_formed(tmp_path, example):
    (tmp_path / "release.toml").write_text(example)
    assert Config.load(tmp_path / "release.toml").schema.person


@pytest.mark.parametrize(
    "table",
    [
        DataSettings,
        QuasiSettings,
        SensitiveSettings,
        ProtectSettings,
        SymbolSettings,
        ReleaseSettings,
        TripSettings,
        PlaceSettings,
        DensitySettings,
        GridSettings,
        H3Settings,
    ],
)
def test_every_key_is_on_the_page(table):
    for key in table.model_fields:
        assert re.search(rf"`{key}`|\[data\.{key}", PAGE), key
