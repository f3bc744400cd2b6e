"""Rows of a loop's variables outside of it: those it has, and those it must return additionally.

Rules that move work out of a loop name the variables of the step that they need for all steps.  Before it there are the rows of
sequences.  After it there are those of results that are kept whole too; for others the loop gets a new result, whose memory is
the price.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeGuard

from scanviz.engine.errors import InternalError
from scanviz.engine.graph.nodes import Apply, Constant, Variable, build_one, describe, rebuild
from scanviz.engine.ops.index import getitem, state_history
from scanviz.engine.ops.reduce import SUM_TO_SHAPE
from scanviz.engine.ops.shape import DIMENSION, dimension
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.loops.loop_facts import (
    reads_whole,
    results_left,
    rows_of_steps,
    unchecked_reason,
    unread_sequence,
)
from scanviz.engine.scan.loop import ScanView
from scanviz.engine.scan.rebuild import rebuilt_loop
from scanviz.engine.scan.variables import (
    ALL,
    LoopVariable,
    State,
    StepOutput,
    inner_outputs,
)
from scanviz.engine.scan.variables import Sequence as LoopSequence


def counts_steps(variable: LoopVariable) -> TypeGuard[State | StepOutput]:
    """Return whether a loop variable's result has one row for every step taken."""
    match variable:
        case StepOutput():
            return variable.keep == ALL
        case State():
            return variable.kind != "mitmot" and variable.keep == ALL
        case _:
            return False


class Rows:
    """The rows of variables of a step.

    Parameters
    ----------
    view : ScanView
        The loop as it is.
    level : Level
        The graph around it.
    after : bool
        Whether they are read after the loop.

    Attributes
    ----------
    extra : dict
        Variable of the step → the result that the loop is to give for its rows.
    moved : dict
        Variable of the step → its rows, computed around the loop.
    """

    def __init__(self, view: ScanView, level: Level, after: bool = True) -> None:
        self.view, self.level = view, level
        self.extra: dict[Variable, StepOutput] = {}
        self.moved: dict[Variable, Variable] = {}
        self._sequences = {sequence.slice: sequence for sequence in view.op.of_type(LoopSequence)}
        self._writes: dict[Variable, LoopVariable] = {}
        self._reads: dict[Variable, tuple[State, int]] = {}
        self._states = {read: state for state in view.op.of_type(State) for read in state.reads.values()}
        for variable in view.op.variables if after else ():
            if not counts_steps(variable):
                continue
            self._gives(inner_outputs(variable)[0], variable)
            if isinstance(variable, State):
                self._reads.update({read: (variable, tap) for tap, read in variable.reads.items()})
        for read, (state, _) in self._reads.items():
            written = self._writes.get(read)
            if written is not None and self._is_whole(state) and not self._is_whole(written):
                del self._writes[read]
        self._new = None if after else view
        self._mapping: dict[Variable, Variable] = {}

    def _gives(self, value: Variable, result_variable: LoopVariable) -> None:
        """Note a result that has the rows of a value; prefer one whose rows are kept anyway."""
        known = self._writes.get(value)
        if known is None or (self._is_whole(result_variable) and not self._is_whole(known)):
            self._writes[value] = result_variable

    def _is_whole(self, result_variable: LoopVariable) -> bool:
        return reads_whole(self.view.result(result_variable), self.level)

    def has(self, variable: Variable) -> bool:
        """Return whether the rows of a variable are there without asking for them."""
        return any(variable in there for there in (self.moved, self._sequences, self._writes, self._reads))

    def costs_nothing(self, variable: Variable) -> bool:
        """Return whether the rows of a variable are kept anyway: those of a sequence, or of a result that is read whole."""
        source = self._summed(variable)
        if source is not None:
            return self.costs_nothing(source)
        if variable in self._sequences:
            return True
        result_variable = self._writes.get(variable) or self._reads.get(variable, (None, 0))[0]
        return result_variable is not None and self._is_whole(result_variable)

    def need(self, variable: Variable) -> None:
        """Request the rows of a variable; for a sum to a shape, the rows of its summand."""
        source = self._summed(variable)
        if source is not None:
            self.need(source)
        elif not self.has(variable) and variable not in self.extra:
            self.extra[variable] = StepOutput(variable.name or describe(variable), variable, ALL)

    def _summed(self, variable: Variable) -> Variable | None:
        """Return the input of a sum to a shape that is known after the loop too: several sums share its rows."""
        node = variable.owner
        if node is None or node.op.declaration is not SUM_TO_SHAPE or self.has(variable):
            return None
        return node.inputs[0] if all(self.is_size(operand) for operand in node.inputs[1:]) else None

    def is_size(self, variable: Variable) -> bool:
        """Return whether a size in the step can be computed after the loop."""
        node = variable.owner
        if isinstance(variable, Constant) or variable in self.view.fixed:
            return True
        if node is None:
            return False
        if node.op.declaration is DIMENSION:
            source = node.inputs[0]
            return source in self.view.fixed or source in self._states or self.has(source)
        return node.op.facts.size != "no" and all(self.is_size(operand) for operand in node.inputs)

    def size(self, variable: Variable) -> Variable:
        """Return a size that the step asks for, after :meth:`rebuilt`."""
        if isinstance(variable, Constant):
            return variable
        same = self.view.fixed.get(variable)
        if same is not None:
            return same
        node = variable.owner
        assert node is not None
        if node.op.declaration is not DIMENSION:
            return rebuild(node, [self.size(operand) for operand in node.inputs]).outputs[variable.index]
        source, axis = node.inputs[0], node.op.parameters.axis
        fixed = self.view.fixed.get(source)
        if fixed is not None:
            return dimension(fixed, axis)
        state = self._states.get(source)  # its rows have one shape, that of those it starts from
        if state is not None:
            return dimension(self.view.outer(state), axis + (state.kind != "sitsot"))
        return dimension(self.of(source), axis + 1)

    def possible(self, gone: Collection[LoopVariable]) -> bool:
        """Return whether the loop, if it may end early, still has a result that counts its steps."""
        return (
            self.view.op.until is None
            or bool(self.extra)
            or any(counts_steps(variable) and variable not in gone for variable in self.view.op.variables)
        )

    def unchecked(self, gone: Collection[LoopVariable]) -> str | None:
        """Return the check that would be lost with the loop if it has no result left; None if none is."""
        left = results_left(self.view.op, gone)
        unread = None if left or self.extra else unread_sequence(self.view)
        return None if unread is None else unchecked_reason(unread)

    def rebuilt(self, gone: Sequence[LoopVariable]) -> tuple[ScanView, dict[Variable, Variable]]:
        """Return the loop with the needed rows as results and some results removed, and the replacements of its results."""
        self._new, self._mapping = self.view, {}
        if results_left(self.view.op, gone) or self.extra:
            added = list(self.extra.values())
            self._new, self._mapping = rebuilt_loop(self.view, dict.fromkeys(gone), added=added)
        return self._new, dict(self._mapping)

    def of(self, variable: Variable) -> Variable:
        """Return the rows of a variable, after :meth:`rebuilt`."""
        assert self._new is not None
        if variable in self.moved:
            return self.moved[variable]
        source = self._summed(variable)
        if source is not None and variable.owner is not None:
            rows = self.of(source)
            sizes = [self.size(operand) for operand in variable.owner.inputs[1:]]
            return build_one(variable.owner.op, rows, dimension(rows, 0), *sizes)
        given = self._sequences.get(variable)
        if given is not None:
            return rows_of_steps(self.view, self.level, given, self._steps_done())
        asked = self.extra.get(variable)
        if asked is not None:
            return self._new.result(asked)
        written = self._writes.get(variable)
        if written is not None:
            return self._result(written)
        state, tap = self._reads.get(variable, (None, 0))
        if state is None:
            raise InternalError(f"`{describe(variable)}` has no rows")
        history = state_history(self._result(state), self.view.outer(state), state.offset)
        return getitem(history, slice(state.offset + tap or None, tap))

    def move(self, node: Apply) -> bool:
        """Compute a node of all rows, after :meth:`rebuilt`; return whether it has a batched meaning."""
        from scanviz.engine.rewrites.batching import batched

        inputs, varies = [], []
        for variable in node.inputs:
            rows = variable in self.moved or variable in self.extra or not self.is_size(variable)
            read = self._summed(variable) if rows else None
            read = variable if read is None else read
            if rows and not self.has(read) and read not in self.extra:
                return False  # it reads what could not be moved
            inputs.append(self.of(variable) if rows else self.size(variable))
            varies.append(rows)
        found = batched(node, inputs, varies)
        if found is not None:
            self.moved[node.outputs[0]] = found
        return found is not None

    def _result(self, variable: LoopVariable) -> Variable:
        old = self.view.result(variable)
        return self._mapping.get(old, old)

    def _steps_done(self) -> Variable:
        assert self._new is not None
        if self._new.op.until is None:
            return self._new.n_steps
        for variable in self._new.op.variables:
            result = self._new.outer_output(variable) if counts_steps(variable) else None
            if result is not None:
                return dimension(result, 0)
        raise InternalError(f"nothing counts the steps of `{self._new.op.scan_name}`")
