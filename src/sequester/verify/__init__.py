"""Verify a release by its files; import the models, never the methods."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from sequester.verify.verification import Verification
from sequester.verify.verify import verify

__all__ = ["Verification", "verify"]


class _Callable(ModuleType):
    """A package that is also the function: ``import sequester as sq; sq.verify("out/release")``."""

    def __call__(self, *args: Any, **keywords: Any) -> Verification:
        return verify(*args, **keywords)


# Importing this package makes it the attribute `verify` of `sequester`, which hides a function of that name.
sys.modules[__name__].__class__ = _Callable
