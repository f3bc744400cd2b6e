"""Assignments that change everything, nothing that is read, or the same place twice.

- ``x[:] = y`` is ``y``, spread to the shape of ``x`` where it is smaller; ``x[:] += y`` is ``x + y``, and ``y`` alone where
  ``x`` is zeros, but for floats, where 0.0 + -0.0 is 0.0: there ``x`` becomes the number 0.0;
- of two values set one after the other at the same place, or of one added and then one set, only the last is kept;
- reading back the very place that was set gives the value.

An index that may be out of bounds, or a value that may not fit its place, is an error that is not lost: where either is not
known, the assignment stays.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.nodes import Apply, Constant, Variable, build_one, is_floating, rank
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.assign import ASSIGN
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.index_pattern import IndexParameters, is_basic
from scanviz.engine.ops.shape import alloc
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.ops.support import constant
from scanviz.engine.ops.symbolic_shape import same_shape
from scanviz.engine.rewrites.arithmetic.identities import (
    Answer,
    Rewriting,
    answer,
    is_positive_zero,
    number_of,
    replaced,
    rewritten,
)
from scanviz.engine.rewrites.indexing.places import is_whole, surely_exists
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import GENERAL, Refusal, rule

MAY_NOT_FIT = Refusal("the value may not fit its place, which would be an error", 2)
MAY_NOT_EXIST = Refusal("it is not known that the place exists", 2)


def _changes_all(node: Apply) -> bool:
    return all(is_whole(entry) for entry in node.op.parameters.pattern.entries)


def _set_whole(node: Apply, level: Level) -> Answer:
    array, value = node.inputs[:2]
    if node.op.parameters.increment or not _changes_all(node):
        return None
    if same_shape(array, value):
        return replaced(node, value, "all of an array is set", level)
    filled = alloc(value, [as_size(size) for size in level.shape(array)])
    return replaced(node, filled, "all of an array is set", level)


def _added_whole(node: Apply, level: Level) -> Answer:
    array, value = node.inputs[:2]
    if not node.op.parameters.increment or not _changes_all(node):
        return None
    number = number_of(array)
    zeros = number is not None and not isinstance(array, Constant) and number == 0
    if zeros and (not is_floating(array) or not is_positive_zero(number)):
        filled = value if same_shape(array, value) else None
        filled = alloc(value, [as_size(size) for size in level.shape(array)]) if filled is None else filled
        return replaced(node, filled, "an array is added to zeros", level)
    if not same_shape(array, value):
        if rank(value):
            return MAY_NOT_FIT
    elif zeros:
        kind = constant(0, value.type.dtype)
        return replaced(node, build_one(Op(e.add), value, kind), "an array is added to zeros", level)
    total = build_one(Op(e.add), array, value)
    return replaced(node, total, "adding to all of an array is a sum", level)


def _same_place(first: Apply, pattern: IndexParameters, inputs: Sequence[Variable]) -> bool:
    """Return whether an assignment writes where a pattern with its inputs says."""
    if first.op.parameters.pattern != pattern or len(first.inputs) != len(inputs) + 2:
        return False
    return all(a is b for a, b in zip(first.inputs[2:], inputs, strict=True))


def _set_again(node: Apply, level: Level) -> Answer:
    """Leave out what is written at a place that is set right after."""
    first = node.inputs[0].owner
    if node.op.parameters.increment or first is None or first.op.declaration is not ASSIGN:
        return None
    pattern = node.op.parameters.pattern
    if not _same_place(first, pattern, node.inputs[2:]):
        return None
    if rank(first.inputs[1]) and not _fits(first, level):
        return MAY_NOT_FIT
    fresh = build_one(node.op, first.inputs[0], *node.inputs[1:])
    return rewritten(node, fresh, "a place is set once instead of twice")


def _fits(assignment: Apply, level: Level) -> bool:
    """Return whether the value of an assignment surely has the shape of its place."""
    array, value, *numbers = assignment.inputs
    place = build_one(Op(INDEX, assignment.op.parameters.pattern), array, *numbers)
    return same_shape(place, value)


def _read_back(node: Apply, level: Level) -> Answer:
    source = node.inputs[0].owner
    if source is None or source.op.declaration is not ASSIGN or source.op.parameters.increment:
        return None
    if not is_basic(node.op.parameters) or not _same_place(source, node.op.parameters, node.inputs[1:]):
        return None
    array, value = source.inputs[:2]
    if not surely_exists(node.op.parameters.entries, level.shape(array)):
        return MAY_NOT_EXIST
    if rank(value) < rank(node.outputs[0]):
        value = alloc(value, [as_size(size) for size in level.shape(node.outputs[0])])
    return replaced(node, value, "the place that is read was just set", level)


TABLE: dict[Declaration, tuple[Rewriting, ...]] = {
    ASSIGN: (_set_whole, _added_whole, _set_again),
    INDEX: (_read_back,),
}


@rule(name="simplify_assignments", phase=GENERAL, on=TABLE, tags=("general",))
def simplify_assignments(node: Apply, level: Level) -> Answer:
    """Leave out assignments of everything, of the same place twice, and of what is read right back."""
    return answer(TABLE, node, level)
