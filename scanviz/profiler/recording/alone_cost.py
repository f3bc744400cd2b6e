"""What a call takes more that a profile passes over, beyond what it can time itself: measured from outside of calls.

Such a call goes the way it goes alone, but it finds caches and predictors as the profile's own work left them, notes the runs of
its loops, and enters and leaves by another line.  No clock inside it sees that.  So a small function is called with and without
somebody who watches, in turns, with clocks around the calls alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import cache
from time import perf_counter_ns
from typing import Any

import numpy as np

from scanviz import tensor as T
from scanviz.engine.observe import Observer, observers
from scanviz.engine.scan.build import scan

CALLS = 40  # of a round
ROUNDS = 15
ENOUGH = 10**6  # calls that are passed over from here on


class _Told(Observer):
    """Takes what it is told of calls, and does nothing with it."""

    samples_runs = samples_calls = control = True

    def __init__(self) -> None:
        self.waiting: deque[Any] = deque(maxlen=4096)
        self.telling: list[int] = []

    def call_run(
        self,
        function: int,
        elapsed_ns: int,
        checks_ns: int,
        copies_ns: int,
        watching_ns: int,
        runs: Sequence[tuple[int, int, int, int, int, int]],
    ) -> None:
        """Take a call."""
        self.waiting.append((function, elapsed_ns, checks_ns, copies_ns, watching_ns, tuple(runs)))
        self.telling.append(watching_ns)


def alone_cost() -> float:
    """Return the nanoseconds that a call of a short loop takes more where it is passed over, without those that it is told itself.

    It is measured once a process; 0 where others watch now, who would be told of it.
    """
    return 0.0 if observers() else _measured()


@cache
def _measured() -> float:
    h, n, told = T.vector("h"), T.lscalar("n"), _Told()
    rows, _ = scan(lambda h: T.tanh(h + 0.1), outputs_info=h, n_steps=n)
    from scanviz.engine.function import function  # which a script that builds none does not wait for

    called, start = function([h, n], rows[-1], mode="numpy"), np.ones(64)

    def calls() -> int:
        begun = perf_counter_ns()
        for _ in range(CALLS):
            called(start, 1)
        return perf_counter_ns() - begun

    def watched() -> int:
        called.profile_observer = told
        called.passes_over(ENOUGH)
        taken = calls()
        called.profile_observer = None
        return taken

    calls()
    called.profile_observer = told
    called(start, 1)  # is looked at
    called(start, 1)
    watched()
    told.telling.clear()
    # the least of each: on a machine that others use, too, differences of neighbours are up to twice as large
    rounds = [(watched(), calls()) for _ in range(ROUNDS)]
    more = min(taken for taken, _ in rounds) - min(taken for _, taken in rounds)
    return max(0.0, more / CALLS - float(np.median(told.telling)))


__all__ = ["alone_cost"]
