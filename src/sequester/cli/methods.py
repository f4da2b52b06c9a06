"""``sequester methods``: what there is to choose from."""

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sequester.cli.options import Json, Quiet
from sequester.cli.terminal import Terminal

if TYPE_CHECKING:
    from sequester.methods.method import Method


def methods(json: Json = False, quiet: Quiet = False) -> None:
    """List the methods to choose from.

    Of each: what it promises, what it changes, when to use it, and its parameters.
    """
    from sequester.methods import METHODS  # noqa: PLC0415  (--help need not wait for it)

    described = [_describe(method) for method in METHODS.values()]
    Terminal(json, quiet).answer({"methods": described}, _lines(described))


def _describe(method: "type[Method]") -> dict[str, Any]:
    from sequester.workflow.parameters import in_words, parameters_of  # noqa: PLC0415

    return {
        "name": method.name,
        "class": method.__name__,
        "promise": method.promise,
        "changes": method.changes,
        "use_when": method.use_when,
        "paper": method.paper,
        "parameters": [
            {
                "name": each.name,
                "must_be": in_words(each.annotation),
                "required": each.required,
                **({} if each.required else {"default": each.default}),
                "about": each.about,
            }
            for each in parameters_of(method)
        ],
    }


def _lines(described: list[dict[str, Any]]) -> Iterator[str]:
    for place, each in enumerate(described):
        if place:
            yield ""
        yield each["name"]
        yield from _entry("promises", each["promise"])
        yield from _entry("changes", each["changes"])
        yield from _entry("use it", each["use_when"])
        for parameter in each["parameters"]:
            default = "" if parameter["required"] else f" (default {_toml(parameter['default'])})"
            about = f": {parameter['about']}" if parameter["about"] else ""
            yield from _entry(parameter["name"], f"{parameter['must_be']}{default}{about}")
        yield from _entry("paper", each["paper"])


def _entry(name: str, text: str) -> list[str]:
    return textwrap.wrap(text, 96, initial_indent=f"  {name + ' ':<11}", subsequent_indent=" " * 13)


def _toml(value: object) -> str:
    if value == ():
        return "none"
    return str(value).lower() if isinstance(value, bool) or value is None else repr(value).replace("'", '"')
