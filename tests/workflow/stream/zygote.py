"""Loads everything once, and then runs streams in children that can be killed, one per line of its input.

A line is JSON: the folder of a stream, whether to finish, and the seconds after which the child is killed
(null for never). The answer is a line, too: ``killed``, or the child's exit code and how long it took.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path


def answer_with(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main() -> None:
    # polars starts its threads with its first work, which only children do: threads do not survive a fork.
    from fractions import Fraction

    import numpy as np

    from sequester.methods.reposition._group_kernels import form_groups, shuffled_within
    from sequester.methods.reposition.method import Costs
    from sequester.methods.reposition.window import Window
    from sequester.workflow.stream.stream import stream

    # Kernels that are loaded here need not be loaded by every child.
    window = Window(size=3, level=Fraction(3), costs=Costs.of("quadratic", window=3), seed=1)
    for _ in range(4):
        window.feed(np.array([0, 1, 1, 2], np.int32), np.arange(4))
    other = Window(size=3, level=Fraction(3), costs=window.costs, seed=1)
    other.load(window.dump(), {number: np.arange(4) for number in range(4)})
    state = np.ones(1, np.uint64)
    form_groups(np.array([0, 1, 2], np.int32), np.array([0, 3]), 3, 3, state, np.zeros(3, np.int64))
    shuffled_within(np.zeros(3, np.int64), state)
    answer_with("ready")
    for line in sys.stdin:
        folder, finish, seconds = json.loads(line)
        started = time.monotonic()
        child = os.fork()
        if not child:
            code = 3
            try:
                place = Path(folder)
                done = stream(
                    place / "c.toml",
                    inputs=place / "in",
                    out=place / "out",
                    state=place / "state",
                    finish=finish,
                )
                code = 2 if done.rejected else 0
            finally:
                os._exit(code)
        if seconds is not None:
            time.sleep(seconds)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        took = time.monotonic() - started
        answer = "killed" if os.WIFSIGNALED(status) else [os.WEXITSTATUS(status), took]
        answer_with(answer)


if __name__ == "__main__":
    main()
