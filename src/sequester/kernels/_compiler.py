"""The decorator of all kernels, under names that stay apart in code that several processes have compiled.

numba tells apart what one definition is compiled into (the parts of its own ``np.full``, say, for other
types) by a number in the name, which starts at 1 in every process. Compiled code is kept and shared, so two
processes could leave different code of the same name; whoever loads both then runs one for the other, and
gets wrong numbers or crashes. With a start drawn at random such names do not meet.
"""

from __future__ import annotations

import itertools
import secrets

from numba import njit
from numba.core.bytecode import FunctionIdentity

__all__ = ["njit"]

FunctionIdentity._unique_ids = itertools.count(secrets.randbits(48))  # noqa: SLF001  (there is no other way)
