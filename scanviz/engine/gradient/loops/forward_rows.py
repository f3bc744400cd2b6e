"""Rows of a forward loop for its backward loop, and the gradients of the forward loop's inputs.

Step s of the backward loop belongs to step ``n - 1 - s`` of the forward one, so all rows are reversed.  Rows of sequences and
results are views.  Rows of a cotangent are the upper part of a mitmot's buffer, where they are written over.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from scanviz.engine.errors import InternalError
from scanviz.engine.gradient.loops.adjoint import rows_after
from scanviz.engine.gradient.sweeps.accumulate import is_zeros
from scanviz.engine.gradient.table import zeros_like
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, build_one, tensor_type
from scanviz.engine.ops.assign import ASSIGN, AssignParameters, inc_subtensor, set_subtensor
from scanviz.engine.ops.elementwise import add, minimum, subtract
from scanviz.engine.ops.index import getitem, state_history
from scanviz.engine.ops.index_pattern import IndexParameters
from scanviz.engine.ops.join import concatenate
from scanviz.engine.ops.shape import alloc, dimension
from scanviz.engine.ops.sizes import as_size, surely_equal
from scanviz.engine.ops.support import constant
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.scan.loop import ScanView
from scanviz.engine.scan.variables import ALL, LoopVariable, State, StepOutput, with_keep
from scanviz.engine.scan.variables import Sequence as LoopSequence


def reversed_rows(rows: Variable) -> Variable:
    """Return rows in reversed order."""
    return getitem(rows, slice(None, None, -1))


# of a loop that ends by a condition and has no other row a step
_COUNTER = StepOutput("step done", constant(True))


class ForwardRows:
    """The forward loop with its residuals, and its rows.

    Parameters
    ----------
    view : ScanView
        The forward loop.
    kept : sequence of StepOutput
        Residuals: results that it gives in addition.
    read : collection of loop variables
        Those whose rows are read.

    Attributes
    ----------
    steps, steps_back : Variable
        The steps that the forward loop did, and those that the backward loop does: int64 scalars.
    """

    def __init__(self, view: ScanView, kept: Sequence[StepOutput], read: Collection[LoopVariable]) -> None:
        self.original = view
        fresh: dict[LoopVariable, LoopVariable] = {
            variable: with_keep(variable, ALL)
            for variable in view.op.variables
            if variable in read or view.op.until is not None
        }
        extra = [*kept, *([_COUNTER] if view.op.until is not None and not view.op.counters else [])]
        variables = [*(fresh.get(variable, variable) for variable in view.op.variables), *extra]
        same = not extra and all(a is b for a, b in zip(variables, view.op.variables, strict=True))
        self.view = view if same else ScanView(_augmented(view.node, variables))
        self.now: dict[LoopVariable, LoopVariable] = {**fresh, **dict(zip(kept, kept, strict=True))}
        self.steps = self._steps_done()
        limit = view.op.settings.truncate_gradient
        self.steps_back = self.steps if limit == -1 else minimum(self.steps, limit)

    def _steps_done(self) -> Variable:
        if self.view.op.until is None:
            return self.view.n_steps
        return dimension(self.view.result(self.view.op.counters[0]), 0)

    def value(self, variable: LoopVariable) -> Variable:
        """Return the outer input of a loop variable of the forward loop."""
        return self.original.outer(variable)

    def result(self, variable: LoopVariable) -> Variable:
        """Return the outer output of a loop variable of the forward loop, all rows kept."""
        return self.view.result(self.now.get(variable, variable))

    def reversed(self, variable: LoopVariable, tap: int) -> Variable:
        """Return the rows of a loop variable at a tap, the last step's first."""
        match variable:
            case LoopSequence():
                return reversed_rows(self._first(self.value(variable), 0))
            case StepOutput():
                return reversed_rows(self.result(variable))
            case State() if variable.kind == "mitmot":
                return reversed_rows(self._first(self.result(variable), variable.offset + tap))
            case State() if tap == 0:
                return reversed_rows(self.result(variable))
            case State():
                history = state_history(self.result(variable), self.value(variable), variable.offset)
                return reversed_rows(getitem(history, slice(variable.offset + tap or None, tap)))
            case _:
                raise InternalError(f"`{variable.name}` has no rows")

    def _first(self, rows: Variable, start: int) -> Variable:
        """Return as many rows as there are steps, from a given one."""
        if not start and surely_equal(shape_of(rows)[0], self.steps):
            return rows
        return getitem(rows, slice(start or None, add(self.steps, start) if start else self.steps))

    def needed(self, state: State) -> Any:
        """Return how many rows of a state's buffer its steps touch."""
        return _plus(self.steps, state.offset + rows_after(state))

    def buffer(self, state: State, cotangent: Variable | None) -> Variable:
        """Return the buffer that the adjoint of a state starts from: the cotangent of its rows, the last first."""
        if state.kind == "mitmot":
            whole = cotangent if cotangent is not None else zeros_like(self.value(state))
            if not surely_equal(shape_of(whole)[0], self.needed(state)):
                whole = getitem(whole, slice(None, self.needed(state)))
            return reversed_rows(whole)
        row = [as_size(size) for size in shape_of(self.result(state))[1:]]
        zero = constant(0, tensor_type(self.result(state)).dtype)
        sparse = None if cotangent is None else single_rows(cotangent)
        if cotangent is not None and sparse is None:
            return concatenate(
                [reversed_rows(cotangent), alloc(zero, [constant(state.offset, "int64"), *row])], axis=0
            )
        buffer = alloc(zero, [_plus(self.steps, state.offset), *row])
        for node in sparse or ():
            buffer = build_one(_turned_assignment(node.op, state.offset), buffer, *node.inputs[1:])
        return buffer

    def of_sequence(self, variable: LoopVariable, result: Variable) -> Variable:
        """Return the cotangent of a sequence from the backward loop's rows for it; zero where no step read a row."""
        whole, rows = self.value(variable), reversed_rows(result)
        if self.steps_back is self.steps and surely_equal(shape_of(whole)[0], self.steps):
            return rows
        return _added(whole, slice(subtract(self.steps, self.steps_back), self.steps), rows)

    def of_initial(self, state: State, result: Variable, cotangent: Variable | None) -> Variable:
        """Return the cotangent of a state's outer input from the buffer that the backward loop leaves."""
        initial = self.value(state)
        if state.kind == "sitsot":
            return getitem(result, -1)
        if state.kind == "mitsot":
            rows = getitem(reversed_rows(result), slice(None, state.offset))
            exact = surely_equal(shape_of(initial)[0], state.offset)
            return rows if exact else _added(initial, slice(None, state.offset), rows)
        if surely_equal(shape_of(initial)[0], self.needed(state)):
            return reversed_rows(result)
        whole = cotangent if cotangent is not None else zeros_like(initial)
        return set_subtensor(getitem(whole, slice(None, self.needed(state))), reversed_rows(result))


def _plus(size: Variable, number: int) -> Variable:
    return add(size, number) if number else size


def _augmented(node: Apply, variables: Sequence[LoopVariable]) -> Apply:
    """Return the forward loop with results added at the end: the same node to people, so with its node id."""
    op = ScanView(node).op
    fresh = op.with_variables(variables, op.until)
    names = [output.name for output in node.outputs]
    added = [variable.name for variable in variables[len(op.variables) :]]
    return Apply(fresh, node.inputs, None, node.provenance, node.node_id, [*names, *added])


def _added(like: Variable, place: slice, rows: Variable) -> Variable:
    """Return zeros like a variable with rows added at a place."""
    return inc_subtensor(getitem(zeros_like(like), place), rows)


def single_rows(cotangent: Variable) -> list[Apply] | None:
    """Return the assignments by which a cotangent was made of zeros, if each adds to one row of a known number.

    That is what comes back from ``result[-1]``; the buffer of the backward loop then starts as zeros with that row in place,
    instead of a reversed copy of an array of zeros.
    """
    found: list[Apply] = []
    changed = cotangent
    while (node := changed.owner) is not None and node.op.declaration is ASSIGN:
        entries = node.op.parameters.pattern.entries
        if not (
            node.op.parameters.increment
            and entries[0].kind == "integer"
            and isinstance(entries[0].start, int)
        ):
            return None
        found.append(node)
        changed = node.inputs[0]
    return found[::-1] if found and is_zeros(changed) else None


def _turned_assignment(op: Op, offset: int) -> Op:
    """Return an assignment to row i of a result as one to its place in the reversed buffer with initial rows at the end."""
    first, *rest = op.parameters.pattern.entries
    place = -first.start - 1 if first.start < 0 else -(offset + first.start) - 1
    pattern = IndexParameters((first._replace(start=place), *rest))
    return Op(ASSIGN, AssignParameters(pattern, True))
