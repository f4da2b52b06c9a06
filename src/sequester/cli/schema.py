"""``sequester schema``: the configuration, for editors and other programs."""

from sequester.cli.options import Json, Quiet
from sequester.cli.terminal import Terminal


def schema(json: Json = False, quiet: Quiet = False) -> None:  # noqa: ARG001  (a schema is JSON in any case)
    """Print the configuration's JSON Schema."""
    from sequester.workflow.config_schema import config_schema  # noqa: PLC0415  (pydantic takes its time)

    Terminal(as_json=True, quiet=quiet).answer(config_schema(), ())
