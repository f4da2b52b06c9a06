"""The JSON Schema of ``release.toml``, for editors that complete and check it."""

from __future__ import annotations

from typing import Any

from sequester.methods import METHODS
from sequester.workflow.method_settings import method_model
from sequester.workflow.settings import Settings

DIALECT = "https://json-schema.org/draft/2020-12/schema"
"""What the schema is written in."""
_BY_NAME = ("properties", "$defs")
"""Tables whose keys are names of ours, not words of JSON Schema."""
_PERSON_OR_LINES = [
    {"required": ["person"]},
    {"properties": {"format": {"enum": ["spmf", "seq"]}}, "required": ["format"]},
    {
        "properties": {"path": {"pattern": "\\.([sS][pP][mM][fF]|[sS][eE][qQ])(\\.[gG][zZ])?$"}},
        "not": {"required": ["format"]},
    },
]
"""A person column is needed, except where the format implies it."""


def config_schema() -> dict[str, Any]:
    """Describe ``release.toml``; the parameters of each method stand under its name."""
    schema = Settings.model_json_schema(mode="validation")
    definitions = schema["$defs"]
    choices = []
    for method in METHODS.values():
        described = method_model(method).model_json_schema(mode="validation")
        definitions.update(described.pop("$defs", {}))
        definitions[method.__name__] = described
        choices.append({"$ref": f"#/$defs/{method.__name__}"})
    about = schema["properties"]["method"]["description"]
    schema["properties"]["method"] = {"oneOf": choices, "description": about}
    definitions["DataSettings"]["anyOf"] = _PERSON_OR_LINES
    return {"$schema": DIALECT, "title": "release.toml", **_without_null(schema)}


def _without_null(schema: Any) -> Any:
    """Take out what TOML cannot say: null, and the titles that only repeat the keys."""
    if isinstance(schema, list):
        return [_without_null(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if "anyOf" in schema and len(choices) == 1:
        schema = {
            **choices[0],
            **{toml_key: value for toml_key, value in schema.items() if toml_key != "anyOf"},
        }
    elif "anyOf" in schema:
        schema = {**schema, "anyOf": choices}
    return {
        toml_key: {name: _without_null(each) for name, each in value.items()}
        if toml_key in _BY_NAME
        else _without_null(value)
        for toml_key, value in schema.items()
        if not (toml_key == "default" and value is None)
        and not (toml_key == "title" and isinstance(value, str))
    }
