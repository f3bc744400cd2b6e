"""What a random loop must return, by a plain Python loop: the meaning of scan in thirty lines, with no graph at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanviz.engine.graph.nodes import Array
from scanviz.testing.loop_case import LoopCase


def run_plainly(case: LoopCase) -> tuple[list[Array], Array | None]:
    """Return the results of a loop and the last value of its shared variable.

    Raises
    ------
    ValueError
        If a sequence is too short for the steps, a state starts from too few or too many rows, or a state or output changes
        its shape; and whatever NumPy raises.

    Examples
    --------
    >>> from hypothesis import find
    >>> from scanviz.testing import random_loops
    >>> case = find(random_loops(stops=False), lambda case: case.n_steps == 2)
    >>> len(run_plainly(case)[0][0])
    2
    """
    lows = [min(0, *sequence.taps) for sequence in case.sequences]
    highs = [max(0, *sequence.taps) for sequence in case.sequences]
    possible = [
        len(sequence.values) - (high - low)
        for sequence, low, high in zip(case.sequences, lows, highs, strict=True)
    ]
    steps = case.n_steps if case.n_steps is not None else min(possible)
    if any(max(count, 0) < steps for count in possible):
        raise ValueError(f"a sequence has {min(possible)} rows for {steps} steps")
    rows: list[list[Array]] = [
        [] if output.initial is None else [np.asarray(row) for row in output.initial]
        for output in case.outputs
    ]
    depths = [0 if output.initial is None else -min(output.taps) for output in case.outputs]
    if steps and any(len(kept) != depth for kept, depth in zip(rows, depths, strict=True)):
        raise ValueError("a state starts from more or fewer rows than its taps reach back")
    state = None if case.shared_start is None else case.shared_start.copy()
    for t in range(steps):
        values: list[Any] = []
        for sequence, low, count in zip(case.sequences, lows, possible, strict=True):
            centre = (count - 1 - t if case.go_backwards else t) - low
            values += [sequence.values[centre + tap] for tap in sequence.taps]
        for output, kept, depth in zip(case.outputs, rows, depths, strict=True):
            values += [kept[depth + t + tap] for tap in output.taps]
        values += case.constants
        values += [array for array in (case.captured, state) if array is not None]
        values = [np.asarray(value) for value in values]
        if case.nested is not None:
            values.append(_nested(case, values[0]) if case.reads_nested() else None)
        results = [np.asarray(output.value.apply(values), case.dtype) for output in case.outputs]
        if case.update is not None:
            state = _same_shape(state, np.asarray(case.update.apply(values), case.dtype))
        for kept, result in zip(rows, results, strict=True):
            _append(kept, result)
        if case.stop is not None and np.sum(results[0]) > case.stop:
            break
    return [
        np.array(kept[depth:], case.dtype).reshape(-1, *(kept[0].shape if kept else output.shape))
        for kept, depth, output in zip(rows, depths, case.outputs, strict=True)
    ], state


def _nested(case: LoopCase, first: Array) -> Array:
    assert case.nested is not None
    rows = [first]
    for _ in range(3):
        _append(rows, np.asarray(case.nested.apply([rows[-1], first]), case.dtype))
    return rows[-1]


def _append(rows: list[Array], row: Array) -> None:
    rows.append(_same_shape(rows[0] if rows else None, row))


def _same_shape(before: Array | None, row: Array) -> Array:
    if before is not None and before.shape != row.shape:
        raise ValueError(f"a row of shape {row.shape} after rows of shape {before.shape}")
    return row
