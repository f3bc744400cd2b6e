"""Taps of a loop variable step by step: its reads, its writes, and the distance to later reads."""

from __future__ import annotations

from typing import NamedTuple

from scanviz.record.graphs.graph import LoopVariableRecord


class Lag(NamedTuple):
    """A write and a later step's read of it, with the number of steps between."""

    write: int
    read: int
    steps: int


def taps(variable: LoopVariableRecord) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the steps at which a loop variable is read and written, relative to t.

    A carry and a step's output have no taps, but are written at t; a carry is read one step later.
    """
    reads, writes = variable.reads, variable.writes
    if variable.kind == "carry":
        reads = reads or (-1,) * len(variable.inner_inputs)
    if variable.kind in ("carry", "nitsot"):
        writes = writes or (0,) * len(variable.inner_outputs)
    return reads[: len(variable.inner_inputs)], writes[: len(variable.inner_outputs)]


def lags(variable: LoopVariableRecord) -> list[Lag]:
    """Return every pair of a write and a later read of the same row.

    Examples
    --------
    >>> lags(LoopVariableRecord("mitsot", "h", (-3, -1), (0,), ("h[t-3]", "h[t-1]"), ("v1",), "h0", "h"))
    [Lag(write=0, read=0, steps=3), Lag(write=0, read=1, steps=1)]
    """
    if variable.kind not in ("sitsot", "mitsot", "mitmot", "carry"):
        return []
    reads, writes = taps(variable)
    return [
        Lag(j, i, write - read)
        for j, write in enumerate(writes)
        for i, read in enumerate(reads)
        if write - read > 0
    ]


def steps_text(count: int) -> str:
    """Return a number of steps in words.

    Examples
    --------
    >>> steps_text(1), steps_text(3)
    ('1 step', '3 steps')
    """
    return f"{count} step" + ("" if count == 1 else "s")


def with_taps(variable: LoopVariableRecord) -> str:
    """Return a loop variable's name, with its taps unless they are the usual ones.

    Examples
    --------
    >>> with_taps(LoopVariableRecord("sitsot", "h", (-1,), (0,), (0,), (2,), 0, 0))
    'h'
    >>> with_taps(LoopVariableRecord("mitmot", "g", (0, 1), (1,), ("h[t-3]", "h[t-1]"), ("v1",), "h0", "h"))
    'g, taps 0, 1 → 1'
    """
    reads, writes = ", ".join(map(str, variable.reads)), ", ".join(map(str, variable.writes))
    match variable.kind:
        case "mitmot":
            return f"{variable.name}, taps {reads} → {writes}"
        case "mitsot":
            return f"{variable.name}, tap{'s' if len(variable.reads) > 1 else ''} {reads}"
        case "sequence" if variable.reads not in ((), (0,)):
            return f"{variable.name}, tap {reads}"
    return variable.name
