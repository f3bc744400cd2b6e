"""Random loops without a Scan: as a plain Python loop over arrays, and as an unrolled graph.

:func:`run_plainly` is the meaning of scan in thirty lines, with no graph at all.  Gradients of the unrolled graph, of any order,
come from the derivatives of single operations alone, so they are what the gradients of a Scan are compared with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz import disconnected_grad
from scanviz import tensor as T
from scanviz.engine.graph.nodes import Array, Variable
from scanviz.testing.expressions import Shape
from scanviz.testing.loop_case import LoopCase, OutputCase, SequenceCase


def unroll(
    case: LoopCase,
    inputs: list[tuple[Variable, Array]],
    state: Variable | None,
    *,
    truncate_gradient: int = -1,
) -> tuple[list[Variable], Variable | None]:
    """Return the results of a loop and the last value of its shared variable, as graphs without a Scan.

    Parameters
    ----------
    case : LoopCase
        The loop.
    inputs : list of (Variable, array)
        The symbolic inputs of the scan to compare with, as ``case.build()`` returns them.
    state : Variable or None
        Its shared variable.
    truncate_gradient : int
        As given to scan: derivatives go through the last so many steps alone, what steps before them computed is a
        constant.  -1 for all steps.

    Examples
    --------
    >>> from hypothesis import find
    >>> from scanviz.testing import random_loops
    >>> case = find(random_loops(stops=False), lambda case: case.n_steps == 2)
    >>> results, _, inputs, state = case.build()
    >>> [result.ndim for result in unroll(case, inputs, state)[0]] == [result.ndim for result in results]
    True
    """
    named = {str(variable.name): variable for variable, _ in inputs}
    steps = len(run_plainly(case)[0][0])
    rows: list[list[Variable]] = [_initial(case, k, named) for k in range(len(case.outputs))]
    sources = [named[f"x{k}"] for k in range(len(case.sequences))]
    for t in range(steps):
        values: list[Variable] = _slices(case, t, sources, rows)
        values += [named[f"w{k}"] for k in range(len(case.constants))]
        values += [named["captured"]] if case.captured is not None else []
        values += [state] if state is not None else []
        if case.nested is not None:
            last = values[0]
            for _ in range(3):
                last = case.nested.apply([last, values[0]])
            values.append(last)
        results = [output.value.apply(values) for output in case.outputs]
        if case.update is not None:
            state = case.update.apply(values)
        if truncate_gradient != -1 and t < steps - truncate_gradient:
            results = [disconnected_grad(result) for result in results]
            state = disconnected_grad(state) if case.update is not None else state
        for kept, result in zip(rows, results, strict=True):
            kept.append(result)
    outputs = [
        _stacked(kept[_depth(output) :], output.shape, case.dtype)
        for kept, output in zip(rows, case.outputs, strict=True)
    ]
    return outputs, state


def _steps_of(sequence: SequenceCase) -> int:
    """Return the number of steps that a sequence has rows for."""
    return len(sequence.values) - max(0, *sequence.taps) + min(0, *sequence.taps)


def _depth(output: OutputCase) -> int:
    """Return the number of an output's initial rows."""
    return 0 if output.initial is None else -min(output.taps)


def _slices(case: LoopCase, step: int, sources: Sequence[Any], rows: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the slices of sequences and the rows of outputs that a step reads."""
    found: list[Any] = []
    for sequence, values in zip(case.sequences, sources, strict=True):
        place = (_steps_of(sequence) - 1 - step if case.go_backwards else step) - min(0, *sequence.taps)
        found += [values[place + tap] for tap in sequence.taps]
    for output, kept in zip(case.outputs, rows, strict=True):
        found += [kept[_depth(output) + step + tap] for tap in output.taps]
    return found


def _initial(case: LoopCase, k: int, named: dict[str, Variable]) -> list[Variable]:
    output = case.outputs[k]
    if output.initial is None:
        return []
    given = T.zeros_like(named[f"h{k}"]) if output.from_zeros else named[f"h{k}"]
    return [given] if output.taps == (-1,) else [given[row] for row in range(-min(output.taps))]


def _stacked(rows: list[Any], shape: Shape, dtype: str) -> Variable:
    if rows:
        stacked: Variable = T.stack(rows)
        return stacked
    return T.constant(np.zeros((0, *shape), dtype))


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
    possible = [_steps_of(sequence) for sequence in case.sequences]
    steps = case.n_steps if case.n_steps is not None else min(possible)
    if any(max(count, 0) < steps for count in possible):
        raise ValueError(f"a sequence has {min(possible)} rows for {steps} steps")
    rows: list[list[Array]] = [
        [] if output.initial is None else [np.asarray(row) for row in output.initial]
        for output in case.outputs
    ]
    given = [len(kept) for kept in rows]
    if steps and given != [_depth(output) for output in case.outputs]:
        raise ValueError("a state starts from more or fewer rows than its taps reach back")
    state = None if case.shared_start is None else case.shared_start.copy()
    for t in range(steps):
        values = _slices(case, t, [sequence.values for sequence in case.sequences], rows)
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
        np.array(kept[count:], case.dtype).reshape(-1, *(kept[0].shape if kept else output.shape))
        for kept, count, output in zip(rows, given, case.outputs, strict=True)
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
