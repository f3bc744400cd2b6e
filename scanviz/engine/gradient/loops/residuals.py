"""Residuals: the forward values that a backward loop needs, kept or recomputed.

The step of the backward loop reads values of the forward step.  Each is had in the cheapest of four ways:

1. it is there: a row of a sequence, a non-sequence or what is computed of non-sequences alone, a row of a state or a result that
   the loop gives anyway;
2. it is computed again, where that is a few cheap operations on what is there;
3. it is kept: the forward loop gives one result more, a row a step (a *residual*); so is what is picked of a state that steps
   assign to, for the rows of such a buffer are as long as there are steps;
4. it is computed again whatever it costs, where its shape changes from step to step or the loop around it was asked
   not to keep values (:func:`scanviz.scan_checkpoints`).

The forward loop with its residuals is a new node beside the user's; the rewrite that merges the two
(:mod:`scanviz.engine.rewrites.loops.residuals`) knows them by their loop variables, which they share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from scanviz.engine.gradient.loops.adjoint import survives
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Constant, Variable, build_one, describe, rank, rebuild
from scanviz.engine.graph.types import FLOATS, RANDOM_STATE, TensorType
from scanviz.engine.ops.assign import ASSIGN
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.shape import DIMENSION
from scanviz.engine.ops.symbolic_shape import Shape, shape_of
from scanviz.engine.scan.dependence import has_effect
from scanviz.engine.scan.loop import Scan, ScanView, nodes_of
from scanviz.engine.scan.shapes import inner_sizes, row_shape
from scanviz.engine.scan.variables import (
    ALL,
    LoopVariable,
    NonSequence,
    State,
    StepOutput,
    inner_inputs,
    inner_outputs,
    step_name,
)
from scanviz.engine.scan.variables import (
    Sequence as LoopSequence,
)
from scanviz.engine.sizes.in_turn import in_turn

# gives the backward step's variable for a loop variable of the forward loop and the tap to read it at
RowOf = Callable[[LoopVariable, int], Variable]


def is_cheap(node: Apply) -> bool:
    """Return whether recomputing a node costs less than keeping its result of every step."""
    return node.op.facts.cheap


class Residuals:
    """Find values of a forward step for the backward step.

    Parameters
    ----------
    view : ScanView
        The forward loop.
    row : callable
        ``row(loop variable, tap)``: the backward step's variable that holds a row or value of the forward loop.
    size_of : callable
        ``size_of(inner input)``: a variable of the backward step of the same shape, if there is one at no cost.
    there : mapping
        Variables of the step → loop variables and taps that hold their values, beside the forward loop's own.
    """

    def __init__(
        self,
        view: ScanView,
        row: RowOf,
        size_of: Callable[[Variable], Variable | None],
        there: Mapping[Variable, tuple[LoopVariable, int]],
    ) -> None:
        self.view, self.row, self.size_of = view, row, size_of
        self.kept: list[StepOutput] = []
        self.known: dict[Variable, Variable] = {}
        self._there = {**there, **_there(view.op)}
        self._buffers = view.op.once(_buffers)
        self._node_ids = {node.node_id for node in view.op.once(nodes_of)}
        self._free: dict[Variable, bool] = {}
        self._size_alone: set[Variable] = set()  # numbers that follow from sizes
        self._sizes: dict[Variable, Shape] | None = None

    def provide(self, wanted: Sequence[Variable]) -> dict[Variable, Variable]:
        """Map each wanted forward variable to a variable of the backward step."""
        return {variable: self._value(variable) for variable in wanted}

    def _value(self, variable: Variable) -> Variable:
        for value in in_turn(variable, self._missing, self.known.__contains__):
            if value not in self.known:
                self._compute(value)
        return self.known[variable]

    def _missing(self, variable: Variable) -> Sequence[Variable]:
        """Return the inputs to recompute a variable from; none if it is available or kept, after noting its value."""
        found = self._without_computing(variable)
        if found is not None:
            self.known[variable] = found
            return ()
        if variable.owner is None:
            raise AssertionError(f"`{describe(variable)}` is no variable of the step")
        return variable.owner.inputs

    def _without_computing(self, variable: Variable) -> Variable | None:
        """Return an available or kept value, or None if it must be recomputed."""
        if isinstance(variable, Constant):
            return variable
        place = self._there.get(variable)
        if place is not None:
            return self.row(*place)
        node = variable.owner
        if node is None:
            return self._keep(variable)
        if node.op.declaration is DIMENSION and node.inputs[0].owner is None:
            like = self.size_of(node.inputs[0])
            return rebuild(node, [like]).outputs[0] if like is not None else None
        free = self._is_free(variable, node) and not self._is_picked(node)
        if free or not self._worth_keeping(node) or not self._keepable(variable):
            return None
        return self._keep(variable)

    def _is_picked(self, node: Apply) -> bool:
        """Return whether a node picks a part of a row of a buffer that has fewer axes."""
        return (
            node.op.declaration is INDEX
            and node.inputs[0] in self._buffers
            and rank(node.outputs[0]) < rank(node.inputs[0])
        )

    def _worth_keeping(self, node: Apply) -> bool:
        """Return whether the forward step computes a node anyway; nodes for the gradient alone stay in the backward step."""
        if node.node_id not in self._node_ids:
            return False
        return not (isinstance(node.op, Scan) and node.op.settings.recompute)

    def _keepable(self, variable: Variable) -> bool:
        """Return whether a variable has the same shape at every step."""
        if not isinstance(variable.type, TensorType):
            return False
        if None not in variable.type.shape:
            return True
        if self._sizes is None:
            self._sizes = inner_sizes(self.view, shape_of)
        return None not in row_shape(variable, self.view, self._sizes)

    def _is_free(self, variable: Variable, made_by: Apply) -> bool:
        """Return whether a node follows from available values by cheap operations alone."""
        for node in in_turn(made_by, self._undecided, lambda node: node.outputs[0] in self._free):
            again = self._is_size(node) or is_cheap(node)
            for output in node.outputs:
                self._free[output] = again and all(
                    given in self._there or isinstance(given, Constant) or self._free.get(given, False)
                    for given in node.inputs
                )
        return self._free[variable]

    def _undecided(self, node: Apply) -> list[Apply]:
        """Return the makers of a node's inputs that are neither available nor decided, in reverse."""
        return [
            given.owner
            for given in reversed(node.inputs)
            if given.owner is not None and given not in self._there and given not in self._free
        ]

    def _is_size(self, node: Apply) -> bool:
        """Return whether a node computes a number from sizes alone: its row's shape would be unknown.

        It is asked of what it reads first.
        """
        output = node.outputs[0]
        kind = output.type
        is_whole = isinstance(kind, TensorType) and not kind.shape and kind.dtype not in FLOATS
        if node.op.declaration is DIMENSION or (
            is_whole
            and all(isinstance(given, Constant) or given in self._size_alone for given in node.inputs)
            and not has_effect(node)  # which would print or check once more
        ):
            self._size_alone.add(output)
            return True
        return False

    def _keep(self, variable: Variable) -> Variable:
        if variable.type == RANDOM_STATE:  # kept as numbers
            from scanviz.engine.ops.random import STATE_WORDS, WORDS_STATE

            return build_one(Op(WORDS_STATE), self._keep(build_one(Op(STATE_WORDS), variable)))
        result = StepOutput(variable.name or describe(variable), variable, ALL)
        self.kept.append(result)
        return self.row(result, 0)

    def _compute(self, variable: Variable) -> None:
        node = variable.owner
        assert node is not None
        fresh = rebuild(node, [self.known[variable] for variable in node.inputs])
        for old, new in zip(node.outputs, fresh.outputs, strict=True):
            self.known.setdefault(old, new)


def _buffers(op: Scan) -> frozenset[Variable]:
    """Return the rows of partially updated states: those read, and those written."""
    found: set[Variable] = set()
    for state in op.of_type(State):
        made = next(iter(state.writes.values()))
        while made.owner is not None and made.owner.op.declaration is ASSIGN:
            made = made.owner.inputs[0]
        if made in state.reads.values() and made not in state.writes.values():
            found.update(inner_inputs(state), inner_outputs(state))
    return frozenset(found)


def _there(op: Scan) -> dict[Variable, tuple[LoopVariable, int]]:
    """Map variables of a step that the loop keeps for every step to their loop variable and tap."""
    found: dict[Variable, tuple[LoopVariable, int]] = {}
    for variable in op.variables:
        match variable:
            case State():
                kept = {tap: row for tap, row in variable.reads.items() if survives(variable, tap)}
                if variable.kind != "mitmot":
                    kept |= variable.writes
                for tap, row in kept.items():
                    found.setdefault(row, (variable, tap))
            case StepOutput():
                found.setdefault(variable.value, (variable, 0))
            case LoopSequence():
                found[variable.slice] = (variable, variable.tap)
            case NonSequence():
                found[variable.variable] = (variable, 0)
            case _:
                pass
    return found


def row_name(variable: LoopVariable, tap: int) -> str:
    """Return how a row of the forward loop is called in the backward one."""
    return variable.name if isinstance(variable, NonSequence) else step_name(variable.name, tap)
