"""Buffers of a loop that are zeros but for their first row: what rule ``mitmot_to_sitsot`` asks, and does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from scanviz.engine.graph.nodes import Apply, Constant, Variable, is_floating, rebuild
from scanviz.engine.ops.index import INDEX, getitem, last_row
from scanviz.engine.ops.shape import ALLOC, alloc
from scanviz.engine.ops.sizes import as_size, size_of, surely_equal
from scanviz.engine.ops.support import constant
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.rewrites.identities import is_positive_zero
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Refusal
from scanviz.engine.scan.loop import ScanView
from scanviz.engine.scan.variables import LoopVariable, State
from scanviz.engine.sizes.dims import SIZES


class HandedOn(NamedTuple):
    """A state whose steps hand on a row, in place of one that has a buffer.

    Attributes
    ----------
    state : State
        The state.
    outer : mapping
        The state as it was → what it starts from; a sequence that is read beside it → its rows.
    values : mapping
        Variables of the step → what the step computes with in their place.
    last : callable
        ``last(rows)``: what stands for the last row of the buffer.
    message : str
        What was done.
    """

    state: State
    outer: Mapping[LoopVariable, Variable]
    values: Mapping[Variable, Variable]
    last: Callable[[Variable], Variable]
    message: str


def handed_on(state: State, view: ScanView, level: Level) -> HandedOn | Refusal:
    """Return the state that hands on a row and had a buffer of zeros but for the first row, or why it does not."""
    row = _first_row(state, view, level)
    if isinstance(row, Refusal):
        return row
    before, arriving = state.reads[0], state.reads[1]
    # -0.0 changes no number that it is added to, so that the sum leaves the step
    nothing = constant(-0.0 if is_floating(arriving) else 0, arriving.type.dtype)
    zero = alloc(nothing, [as_size(size) for size in shape_of(before)])
    handed = State(state.name, {-1: before}, {0: state.writes[1]}, shared=state.shared)
    message = f"`{state.name}` is a row that steps hand on: its buffer was zeros but for the first row"
    return HandedOn(handed, {state: row}, {arriving: zero}, lambda rows: last_row(rows, row), message)


def _first_row(state: State, view: ScanView, level: Level) -> Variable | Refusal:
    """Return the first row of a buffer whose other rows are zeros, and of whose result the last row is read alone."""
    given = view.outer(state).owner
    if given is not None and is_zeros(given):
        return _of_zeros(state, given, view, level)
    zeros = given.inputs[0].owner if given is not None else None
    if given is None or given.op.name != "assign" or zeros is None or not is_zeros(zeros):
        return Refusal(f"rows of `{state.name}` are no zeros when the loop begins", 1)
    from scanviz.engine.rewrites.places import (  # gradients have such buffers, few others
        is_whole,
        surely_exists,
    )

    entries = given.op.parameters.pattern.entries
    first, *others = entries
    if first.kind != "integer" or first.start != 0 or not all(map(is_whole, others)):
        return Refusal(f"another row of `{state.name}` than the first is set before the loop", 2)
    shape = level.shape(zeros.outputs[0])
    # of fewer than no steps the loop makes an error itself
    one_a_step = _has_one_a_step(shape[0], view)
    if not one_a_step and not surely_exists(entries, shape):
        return Refusal(f"it is not known that `{state.name}` has a row", 3)
    if not is_read_at_its_end(state, view, level):
        return Refusal(f"other rows of `{state.name}` than the last are read after the loop", 4)
    if not one_a_step and _is_read(state, view, level):
        return Refusal(f"the last row of `{state.name}` may be one that no step writes", 4)
    return getitem(rebuild(given, [_one_row(zeros), *given.inputs[1:]]).outputs[0], 0)


def _of_zeros(state: State, zeros: Apply, view: ScanView, level: Level) -> Variable | Refusal:
    """Return the first row of a buffer that is all zeros, and of whose result the last row is read alone."""
    if not _has_one_a_step(level.shape(zeros.outputs[0])[0], view):
        return Refusal(f"it is not known that `{state.name}` has a row a step", 3)
    if not is_read_at_its_end(state, view, level):
        return Refusal(f"other rows of `{state.name}` than the last are read after the loop", 4)
    return getitem(_one_row(zeros), 0)


def _has_one_a_step(rows: Any, view: ScanView) -> bool:
    """Return whether a buffer surely has a row for each step, and the one before the first."""
    return view.op.until is None and surely_equal(rows, SIZES.add(size_of(view.n_steps), 1))


def _one_row(zeros: Apply) -> Variable:
    return rebuild(zeros, [zeros.inputs[0], constant(1, "int64"), *zeros.inputs[2:]]).outputs[0]


def is_read_at_its_end(state: State, view: ScanView, level: Level) -> bool:
    """Return whether of a state's result the last row is read, or nothing."""
    result = view.outer_output(state)
    if result is None or not _is_read(state, view, level):
        return True
    return result not in level.wanted and all(_reads_the_end(*reader) for reader in level.readers(result))


def _is_read(state: State, view: ScanView, level: Level) -> bool:
    result = view.outer_output(state)
    return result is not None and level.is_read(result)


def is_zeros(node: Apply) -> bool:
    """Return whether a node makes an array of zeros without a sign."""
    value = node.inputs[0] if node.op.declaration is ALLOC else None
    return isinstance(value, Constant) and value.value.size == 1 and is_positive_zero(value.value.reshape(()))


def _reads_the_end(node: Apply, position: int) -> bool:
    """Return whether a reader takes the last row alone."""
    from scanviz.engine.rewrites.places import is_whole

    if node.op.declaration is not INDEX or position != 0:
        return False
    first, *others = node.op.parameters.entries
    return first.kind == "integer" and first.start == -1 and all(map(is_whole, others))
