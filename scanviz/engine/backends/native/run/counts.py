"""Count the runs, steps and times of inner loops in native code.

The code adds to a table among its arguments, which takes an addition or two per run.  Times are taken by the cycle counter, only
of loops that are nested once.  Code of unobserved runs counts nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from scanviz.engine.backends.native.emit.call_arguments import RunCounter
from scanviz.engine.backends.native.run.cycles import counter, is_steady, write_now
from scanviz.engine.graph.nodes import Array

if TYPE_CHECKING:
    from scanviz.engine.backends.native.emit.frame import Shared
    from scanviz.engine.backends.native.emit.ir import Value
    from scanviz.engine.backends.native.emit.places import Base
    from scanviz.engine.observation.events import Run

COUNTS: Base = ("counts", 0, 0)
WIDTH = 4  # runs, steps, the most steps of a run, ticks
LONGEST = 2  # the index of the maximum among them


def count_begin(shared: Shared, key: int, is_inner: bool) -> tuple[int, Value | None]:
    """Write the begin of a counted run; return the loop's row in the table, and the ticks.

    Parameters
    ----------
    is_inner : bool
        Whether the loop is inside another inner loop.
    """
    if not shared.counts:
        return -1, None
    is_timed = not is_inner and is_steady()
    shared.counted.append(RunCounter(key, is_timed))
    shared.address(COUNTS)
    return len(shared.counted) - 1, write_now(shared.code, False) if is_timed else None


def count_end(shared: Shared, began: tuple[int, Value | None], done: Value) -> None:
    """Write the end of a counted run."""
    (place, begun), code = began, shared.code
    if place < 0:
        return
    start = code.at(shared.address(COUNTS), 8 * WIDTH * place)

    def add(column: int, value: Value | int) -> None:
        address = code.at(start, 8 * column)
        code.store(code.add(code.load(address, "int64"), value), address)

    add(0, 1)
    add(1, done)
    address = code.at(start, 16)
    longest = code.load(address, "int64")
    code.declared["llvm.smax.i64"] = "declare i64 @llvm.smax.i64(i64, i64)"
    code.store(code.op(f"call i64 @llvm.smax.i64(i64 {longest.text}, i64 {done.text})", "int64"), address)
    if begun is not None:
        ticks = code.op(f"sub i64 {write_now(code, False).text}, {begun.text}", "int64")
        add(3, ticks)


def table(loops: Sequence[RunCounter]) -> Array:
    """Return an empty table of counts."""
    return np.zeros((max(1, len(loops)), WIDTH), np.int64)


def runs_counted(loops: Sequence[RunCounter], numbers: Array) -> list[Run]:
    """Return the counts of the loops that ran; the time of an unobserved loop is -1."""
    found: list[Run] = []
    for loop, (runs, steps, longest, ticks) in zip(loops, numbers.tolist(), strict=False):
        if runs:
            known = counter() if loop.is_timed else None
            taken = -1.0 if known is None else max(0.0, ticks * known.tick_ns - runs * known.stamp_ns)
            found.append((loop.key, runs, steps, longest, 0, round(taken), "native"))
    return found
