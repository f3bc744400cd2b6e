"""What a run of a loop in a step takes more where it is counted there: measured of one that is built for it.

Alone, between calls of NumPy, counting finds caches and predictors as it left them, and takes two thirds of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np

from scanviz import tensor as T
from scanviz.engine.observe import observers
from scanviz.engine.program.instructions import all_loops
from scanviz.engine.runtime.driver import LoopRunner
from scanviz.engine.runtime.events import Watch
from scanviz.engine.runtime.specialised import ENTERED
from scanviz.engine.runtime.untimed import run_plain
from scanviz.engine.scan.build import scan
from scanviz.engine.told import CountedRuns

STEPS = 60  # of a round, in each of which is a run
ROUNDS = 15


class CountingCosts(NamedTuple):
    """What a run of a short loop in a step takes for being counted.

    Attributes
    ----------
    timed, alike : float
        Nanoseconds more where it has a time, and where it has none.
    """

    timed: float
    alike: float


def counting_costs() -> CountingCosts:
    """Return the nanoseconds that counting a run takes.

    They are measured once a process; 0 where others watch now, who would be told of it.
    """
    return CountingCosts(0.0, 0.0) if observers() else _measured()


@cache
def _measured() -> CountingCosts:
    x, n = T.matrix("x"), T.lscalar("n")
    rows, _ = scan(lambda row: scan(lambda h: T.tanh(h * 0.9), None, row, n_steps=n)[0][-1], x)
    from scanviz.engine.function import function  # which a script that builds none does not wait for

    called = function([x, n], rows, mode="numpy")
    (runner,) = called.executable.flat.runners.values()
    given = np.ones((STEPS, 8)), np.asarray(1)
    for _ in range(ENTERED + 1):  # runs of the loop inside need no arena then
        called(*given)
    known = dict(zip(called.program.inputs, given, strict=True))
    values = [known.get(number, STEPS) for number in runner.loop.inputs]
    rounds = [[_taken(runner, values, let_pass) for let_pass in (0, STEPS, None)] for _ in range(ROUNDS)]
    # the least of each: what disturbs one of short pieces of work would be taken for a difference
    timed, alike, plain = (min(times) for times in zip(*rounds, strict=True))
    return CountingCosts(max(0, timed - plain) / STEPS, max(0, alike - plain) / STEPS)


def _taken(runner: LoopRunner, values: Sequence[Any], let_pass: int | None) -> int:
    """Return the nanoseconds of steps whose runs are counted, with so many let pass after one that is timed, or not at all."""
    arena, code = runner.opened(values, None)
    if let_pass is not None:
        ((inner, _),) = all_loops(runner.loop.body)
        runs = CountedRuns((let_pass,))
        runs.runs = 1  # not the first: those are all timed
        arena.watch = Watch(0, (), counted={inner.key: runs})
    begun = perf_counter_ns()
    run_plain(arena, code)
    return perf_counter_ns() - begun


__all__ = ["CountingCosts", "counting_costs"]
