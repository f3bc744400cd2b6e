"""What a random loop must return, by a plain Python loop: the meaning of scan in thirty lines, with no graph at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanviz.engine.graph.nodes import Array
from scanviz.testing.loop_case import LoopCase


def run_plainly(case: LoopCase) -> tuple[list[Array], Array | None]:
    """Return the results of a loop and the last value of its shared variable.

    Examples
    --------
    >>> from hypothesis import find
    >>> from scanviz.testing import random_loops
    >>> case = find(random_loops(stops=False), lambda case: case.n_steps == 2)
    >>> len(run_plainly(case)[0][0])
    2
    """
    lows = [min(0, *each.taps) for each in case.sequences]
    highs = [max(0, *each.taps) for each in case.sequences]
    possible = [
        len(each.values) - (high - low) for each, low, high in zip(case.sequences, lows, highs, strict=True)
    ]
    steps = case.n_steps if case.n_steps is not None else min(possible)
    rows: list[list[Any]] = [[] if each.initial is None else list(each.initial) for each in case.outputs]
    depths = [0 if each.initial is None else -min(each.taps) for each in case.outputs]
    state = None if case.shared_start is None else case.shared_start.copy()
    for t in range(steps):
        values: list[Any] = []
        for each, low, count in zip(case.sequences, lows, possible, strict=True):
            centre = (count - 1 - t if case.go_backwards else t) - low
            values += [each.values[centre + tap] for tap in each.taps]
        for output, kept, depth in zip(case.outputs, rows, depths, strict=True):
            values += [kept[depth + t + tap] for tap in output.taps]
        values += case.constants
        values += [each for each in (case.captured, state) if each is not None]
        values = [np.asarray(each) for each in values]
        if case.nested is not None:
            last = values[0]
            for _ in range(3):
                last = np.asarray(case.nested.apply([last, values[0]]), case.dtype)
            values.append(last)
        results = [np.asarray(each.value.apply(values), case.dtype) for each in case.outputs]
        if case.update is not None:
            state = np.asarray(case.update.apply(values), case.dtype)
        for kept, result in zip(rows, results, strict=True):
            kept.append(result)
        if case.stop is not None and np.sum(results[0]) > case.stop:
            break
    return [
        np.array(kept[depth:], case.dtype).reshape(-1, *output.shape)
        for kept, depth, output in zip(rows, depths, case.outputs, strict=True)
    ], state
