"""Guards: a cotangent that is exactly zero stays zero where the slope is not finite.

``where(x > 0, sqrt(x), 0)`` is 0 for all x below 0, and so is its derivative.  But the branch that was not taken has the
cotangent 0, and the square root a slope of infinity or NaN.  Their product is NaN, which spreads to everything that x is
computed from.  The same happens to rows that an index left out, to elements that ``max`` or ``clip`` did not choose, to steps
without a result that is read.  So such products are made by ``multiply_no_nan``, which is 0 where the cotangent is.  It costs
two ufuncs more, hence it stands only where it can matter:

- at *steep* operations always: a finite value with an infinite slope, as of ``sqrt`` at 0;
- under a selection (a variable is *chosen* from if its cotangent may hold zeros, because what is computed from it was selected
  from), at operations with *poles*, as ``log``, whose values are not finite somewhere, and at those that compute with such values:
  with *wild* variables.

Operations that surely have neither, such as ``sqrt(x**2 + 1)`` or a division by a size, are left alone: a few levels of the graph
prove a value positive or not negative.  A positive number that a user wrote down counts as such (``x**2 + 1e-6``), however small;
so does a size. Inputs are taken to be finite.

In forward mode the selection comes after the slope and takes finite values.  So steep operations are guarded, and so are
products with slopes that are exactly 0, such as those of a mask, behind an operation that may have an infinite slope.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar

import numpy as np
from msgspec import Struct, field

from scanviz.engine.gradient.partials import Test, has_pole, is_steep
from scanviz.engine.graph.nodes import Apply, Constant, Variable, is_floating, tensor_type
from scanviz.engine.graph.provenance import holding
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.graph.types import INTEGERS
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.index import INDEX, LAST_ROW
from scanviz.engine.scan.loop import Scan, ScanView, loop_of
from scanviz.engine.scan.variables import LoopVariable, State, inner_inputs, inner_outputs


class Guards(Struct):
    """Facts about the variables of a graph in a reverse sweep.

    Attributes
    ----------
    wild : set of Variable
        May be infinite or NaN though the inputs are finite.
    chosen : set of Variable
        Their cotangent may hold zeros because something was selected.
    last : set of Variable
        Only their last row is read: chosen from too, but the cotangent of a loop's state comes from there to every step.
    """

    wild: set[Variable] = field(default_factory=set)
    chosen: set[Variable] = field(default_factory=set)
    last: set[Variable] = field(default_factory=set)

    def passed(self, node: Apply) -> None:
        """Take notice that the cotangents of a node's inputs have been computed."""
        chosen = any(output in self.chosen or output in self.last for output in node.outputs)
        if not chosen and _is_last_row(node):
            self.last.add(node.inputs[0])
        elif chosen or node.op.facts.selects:
            self.chosen.update(node.inputs)

    def holds(self, node: Apply, position: int) -> bool:
        """Return whether a derivative with respect to an input may be zero times infinity or NaN."""
        output = node.outputs[0]
        if node.op.facts.unit_slope or not (output in self.chosen or output in self.last):
            return False
        if node.op.declaration is e.multiply:
            return node.inputs[1 - position] in self.wild
        return has_pole(node) or any(variable in self.wild for variable in (*node.inputs, *node.outputs))


_GUARDS: ContextVar[Guards | None] = ContextVar("gradient_guards", default=None)
_INFINITE: ContextVar[set[Variable] | None] = ContextVar("infinite_tangents", default=None)


def guards_of(
    nodes: Sequence[Apply], chosen: Collection[Variable], wild: Collection[Variable]
) -> AbstractContextManager[Guards]:
    """Guard derivatives that are built in the block, of nodes in the order of computation; the rest is known from outside."""
    return holding(_GUARDS, Guards(_wild(nodes, wild), set(chosen)))


def is_guarded(node: Apply, position: int) -> bool:
    """Return whether a derivative must stay zero where the cotangent is, whatever the slope."""
    if is_steep(node):
        return True
    guards = _GUARDS.get()
    return guards is not None and guards.holds(node, position)


def tangents_of(nodes: Sequence[Apply]) -> AbstractContextManager[set[Variable]]:
    """Guard tangents that are built in the block, of nodes in the order of computation."""
    return holding(_INFINITE, _wild(nodes, begins=lambda node: is_steep(node) or has_pole(node)))


def may_be_infinite(node: Apply, position: int) -> bool:
    """Return whether the tangent of an input may be infinite, and the slope with respect to it 0."""
    infinite = _INFINITE.get()
    return infinite is not None and not node.op.facts.unit_slope and node.inputs[position] in infinite


def _wild(
    nodes: Sequence[Apply], known: Collection[Variable] = (), begins: Test | None = None
) -> set[Variable]:
    """Return the floating variables that may not be finite, or that descend from nodes for which ``begins`` is true."""
    found = set(known)
    begins = has_pole if begins is None else begins
    for node in nodes:
        if isinstance(node.op, Scan):
            inside = _inside_loop(node, found, begins)
            result_variables = node.op.result_variables
            for output, result_variable in zip(node.outputs, result_variables, strict=True):
                if any(output in inside for output in inner_outputs(result_variable)):
                    found.add(output)
        elif begins(node) or any(
            variable in found or _is_wild_constant(variable) for variable in node.inputs
        ):
            found.update(output for output in node.outputs if is_floating(output))
    return found


def wild_inside(node: Apply) -> set[Variable]:
    """Return the variables of a loop's step that may not be finite, judged by the differentiated graph around the loop."""
    guards = _GUARDS.get()
    return _inside_loop(node, set() if guards is None else guards.wild, has_pole)


def chosen_inside(node: Apply, given: Collection[LoopVariable]) -> set[Variable]:
    """Return which results of a loop's step may have zeros in their cotangents of some steps.

    Those of a state that is read from outside, all its rows or the last one, have none by this alone: its cotangent is passed on
    from step to step.

    Parameters
    ----------
    node : Apply
        The loop.
    given : collection of LoopVariable
        Those whose outer outputs have a cotangent.
    """
    guards, view = _GUARDS.get(), ScanView(node)
    found: set[Variable] = set()
    for variable in view.op.variables:
        outer = view.outer_output(variable)
        whole = variable in given and guards is not None and outer is not None and outer not in guards.chosen
        if isinstance(variable, State):
            whole = whole and -1 in variable.reads and variable.kind != "mitmot"
        elif whole and guards is not None:
            whole = outer not in guards.last
        if not whole:
            found.update(inner_outputs(variable))
    return found


def _is_last_row(node: Apply) -> bool:
    """Return whether a node is ``rows[-1]``."""
    if node.op.declaration is LAST_ROW:
        return True
    if node.op.declaration is not INDEX:
        return False
    first, *others = node.op.parameters.entries
    whole = all(other.kind == "slice" and set(other.numbers()) == {None} for other in others)
    return first.kind == "integer" and first.start == -1 and whole


def _inside_loop(node: Apply, outside: Collection[Variable], begins: Test) -> set[Variable]:
    """Return the wild variables of a loop's step; a state is wild as soon as one of its rows is."""
    op, view = loop_of(node), ScanView(node)
    found: set[Variable] = set()
    for variable in op.variables:
        outer = view.outer_input(variable)
        if outer is not None and (outer in outside or _is_wild_constant(outer)):
            found.update(inner_inputs(variable))
    nodes = toposort(op.inner_outputs)
    while True:
        found = _wild(nodes, found, begins)
        more = {
            read
            for state in op.of_type(State)
            if any(write in found for write in state.writes.values())
            for read in state.reads.values()
        }
        if more <= found:
            return found
        found |= more


def _is_wild_constant(variable: Variable) -> bool:
    return isinstance(variable, Constant) and is_floating(variable) and not is_finite_constant(variable)


_DEEPEST = 6


def is_finite_constant(variable: Constant) -> bool:
    """Return whether all elements of a constant are finite."""
    return bool(np.isfinite(variable.value).all())


def surely_not_zero(variable: Variable) -> bool:
    """Return whether a variable is finite and not 0 where its inputs are finite."""
    if isinstance(variable, Constant):
        return is_finite_constant(variable) and bool((variable.value != 0).all())
    if variable.owner is not None and variable.owner.op.declaration is e.negative:
        return surely_positive(variable.owner.inputs[0])
    return surely_positive(variable)


def surely_positive(variable: Variable, depth: int = 0) -> bool:
    """Return whether a variable is above 0, and finite where its inputs are."""
    if isinstance(variable, Constant):
        return is_finite_constant(variable) and bool((variable.value > 0).all())
    node = variable.owner
    if node is None or depth > _DEEPEST:
        return False

    def positive(*positions: int) -> bool:
        return all(surely_positive(node.inputs[k], depth + 1) for k in positions)

    def not_negative(position: int) -> bool:
        return surely_not_negative(node.inputs[position], depth + 1)

    match node.op.declaration:
        case e.CAST:
            return is_size(node.inputs[0]) or positive(0)
        case e.add:
            return (positive(0) and not_negative(1)) or (positive(1) and not_negative(0))
        case e.maximum | e.hypot:
            return positive(0) or positive(1)
        case e.minimum | e.multiply | e.divide:
            return positive(0, 1)
        case e.clip:
            return positive(1, 2)
        case e.sqrt | e.square:
            return positive(0)
        case _:
            return node.op.facts.same_elements and positive(0)


def surely_not_negative(variable: Variable, depth: int = 0) -> bool:
    """Return whether a variable is at least 0, and finite for finite inputs, overflow aside."""
    node = variable.owner
    if isinstance(variable, Constant):
        return is_finite_constant(variable) and bool((variable.value >= 0).all())
    if node is None or depth > _DEEPEST:
        return False
    declaration, facts = node.op.declaration, node.op.facts
    if facts.sign in ("not negative", "no minus zero") or surely_positive(variable, depth):
        return True
    if declaration is e.multiply and node.inputs[0] is node.inputs[1]:
        return True
    if declaration is e.divide:
        return surely_not_negative(node.inputs[0], depth + 1) and surely_positive(node.inputs[1], depth + 1)
    counting = node.inputs[:1] if facts.same_elements else node.inputs  # without sizes
    return facts.sign == "kept" and all(surely_not_negative(operand, depth + 1) for operand in counting)


def is_size(variable: Variable, depth: int = 0) -> bool:
    """Return whether a whole number is a size or a product of sizes: 0 only if there is no element to divide."""
    if isinstance(variable, Constant):
        return bool((variable.value > 0).all())
    node = variable.owner
    if node is None or depth > _DEEPEST or tensor_type(variable).dtype not in INTEGERS:
        return False
    if node.op.facts.size == "is":
        return True
    return node.op.declaration is e.multiply and all(is_size(operand, depth + 1) for operand in node.inputs)
