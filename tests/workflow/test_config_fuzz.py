"""Whatever stands in the file, it is understood or refused in lines; nothing else happens."""

from __future__ import annotations

import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from sequester.errors import InputError
from sequester.methods import METHODS
from sequester.workflow.config import Config
from sequester.workflow.settings import (
    KINDS,
    DataSettings,
    File,
    Intervals,
    Mask,
    Quantiles,
    QuasiSettings,
    ReleaseSettings,
    SensitiveSettings,
    SymbolSettings,
    Tree,
)

scalars = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([10**30, -(10**30)]),
    st.floats(),
    st.booleans(),
    st.dates(),
    st.sampled_from(["", "a", "row", "all", "seq", "xes", "p2ka", "h3", "arx", "1-2", "2-1", "\x1b", "é"]),
    st.sampled_from(KINDS),
)


def tables(inner, *models, required=()):
    keys = [key for model in models for key in model.model_fields] + ["a", "b c", "trip", "place", ""]
    optional = st.dictionaries(st.sampled_from(keys), inner, max_size=3)
    needed = st.fixed_dictionaries(dict.fromkeys(required, inner))
    return st.builds(lambda one, other: one | other, optional, needed)


values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | tables(inner), max_leaves=4)
hierarchies = tables(values, Mask, Intervals, Quantiles, Tree, File, required=("kind",)) | values
quasi = st.dictionaries(
    st.text(max_size=3), tables(hierarchies, QuasiSettings, required=("hierarchy",)), max_size=2
)
sensitive = st.dictionaries(
    st.text(max_size=3), tables(values, SensitiveSettings, required=("protect",)), max_size=2
)
data = st.builds(
    lambda table, more: table | more,
    tables(values, DataSettings, required=("path", "person")),
    st.fixed_dictionaries(
        {}, optional={"quasi": quasi, "sensitive": sensitive, "symbol": tables(hierarchies, SymbolSettings)}
    ),
)
method = st.fixed_dictionaries(
    {"name": st.sampled_from(list(METHODS)) | values}, optional={"k": values, "strict": values, "c": values}
)
files = st.fixed_dictionaries(
    {"data": data | values},
    optional={
        "method": method | values,
        "release": tables(values, ReleaseSettings) | values,
        "extra": values,
    },
)


def refusals(path):
    """Read everything that the configuration says, and give the lines that refuse it."""
    try:
        config = Config.load(path)
        _ = config.schema
        if config.settings.method is not None:
            config.method()
    except InputError as error:
        return error.lines
    return ()


@given(files)
def test_any_file_is_understood_or_refused_in_lines(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("fuzz") / "release.toml"
    path.write_text(tomli_w.dumps(content), encoding="utf-8")
    for line in refusals(path):
        assert line.startswith("release.toml: ")
        assert len(line) > len("release.toml: ")
        assert "\n" not in line
