"""Rows picked before they are computed: ``tanh(a + b)[-1]`` is ``tanh(a[-1] + b[-1])``.

An index by known numbers moves to the operands of what it indexes, where then less is computed and nothing else reads the
whole.

It waits until equal operations are one, so that all readers of a result are seen.  Errors stay: an index moves only where a
row that does not exist, or operands that do not fit, would still be found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.nodes import Apply, Variable, build_one, rank, tensor_type
from scanviz.engine.ops.elementwise import CAST, cast
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.index_pattern import WHOLE, IndexEntry
from scanviz.engine.ops.shape import (
    ALLOC,
    DIMSHUFFLE,
    MAKE_VECTOR,
    OrderParameters,
    stack_scalars,
)
from scanviz.engine.ops.sizes import as_size, surely_equal, surely_not_negative
from scanviz.engine.rewrites.arithmetic.identities import Answer, rewritten
from scanviz.engine.rewrites.indexing.places import (
    as_slice,
    has_row,
    is_known,
    is_whole,
    picked,
)
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Refusal, rule
from scanviz.engine.scan.loop import SCAN

READ_ELSEWHERE = Refusal("another operation reads the whole array", 1)


@rule(name="subtensor_lift", phase=("simplify", "merge", "clean"), on=(INDEX,), tags=("general",))
def subtensor_lift(node: Apply, level: Level) -> Answer:
    """Pick rows of the operands of an operation, not of its result."""
    source = node.inputs[0].owner
    if source is None or source.op.declaration is SCAN:  # of most loops the last row is picked
        return None
    declaration = source.op.declaration
    lift = LIFTS.get(declaration, _elementwise if isinstance(declaration, ElementwiseDeclaration) else None)
    if lift is None:
        return None
    entries = node.op.parameters.entries
    if not is_known(entries):
        return None
    result = source.outputs[0]
    if lift is not of_vector and (len(level.readers(result)) > 1 or result in level.wanted):
        return READ_ELSEWHERE
    found = lift(node, source, entries, level)
    if found is None or isinstance(found, Refusal):
        return found
    return rewritten(node, found, f"rows of {source.op.name} are picked before it is computed")


Lifted = Variable | Refusal | None  # what is computed of the rows alone
Lift = Callable[[Apply, Apply, Sequence[IndexEntry], Level], Lifted]
BROADCAST = Refusal("the operands that broadcast along an indexed axis are not known", 2)
NOT_THERE = Refusal("the array may have fewer rows", 2)


def _is_less(entries: Sequence[IndexEntry], shape: Sequence[Any]) -> bool:
    """Return whether an index surely picks much less than there is, where there are many rows."""
    for entry, size in zip(entries, shape, strict=True):
        if entry.kind == "integer":
            if size != 1:
                return True
        elif not is_whole(entry):
            bound = entry.stop if isinstance(entry.stop, int) and entry.stop >= 0 else None
            if isinstance(entry.start, int) and entry.start < 0 and entry.stop is None:
                bound = -entry.start
            known = isinstance(size, int)
            count = len(range(size)[as_slice(entry)]) if known else bound
            if isinstance(count, int) and (not known or 2 * count <= size):
                return True
    return False


def _operand(operand: Variable, entries: Sequence[IndexEntry], whole: Sequence[Any], level: Level) -> Lifted:
    """Return an operand's part of an index of a result that it broadcasts to."""
    found: list[IndexEntry] = []
    shape = level.shape(operand)
    before = len(entries) - len(shape)
    for axis, size in enumerate(shape):
        entry = entries[before + axis]
        if is_whole(entry) or surely_equal(size, whole[before + axis]):
            found.append(entry)
        elif isinstance(size, int) and size == 1:
            found.append(WHOLE if entry.kind == "slice" else IndexEntry("integer", 0))
        else:
            return BROADCAST
    return picked(operand, found)


def _elementwise(node: Apply, source: Apply, entries: Sequence[IndexEntry], level: Level) -> Lifted:
    whole = level.shape(node.inputs[0])
    if not _is_less(entries, whole):
        return None
    inputs: list[Variable] = []
    for variable in source.inputs:
        found = _operand(variable, entries, whole, level)
        if not isinstance(found, Variable):
            return found
        inputs.append(found)
    return build_one(source.op, *inputs)


def _alloc(node: Apply, source: Apply, entries: Sequence[IndexEntry], level: Level) -> Lifted:
    value, *sizes = source.inputs
    whole = level.shape(node.inputs[0])
    for entry, size in zip(entries, whole, strict=True):
        if entry.kind == "integer" and not has_row(size, int(entry.start or 0)):
            return NOT_THERE
        if not is_whole(entry) and not (isinstance(size, int) or surely_not_negative(size)):
            return Refusal("the size may be negative, which would be an error", 2)
    found = _operand(value, entries, whole, level)
    if not isinstance(found, Variable):
        return found
    left = [k for k, entry in enumerate(entries) if entry.kind == "slice"]
    if not left:
        return found
    new = level.shape(node.outputs[0])
    simple = all(isinstance(b, int) or surely_equal(whole[k], b) for k, b in zip(left, new, strict=True))
    if len(left) == len(entries) and not simple and not _is_less(entries, whole):
        return None  # the new size costs more than the rows left out
    fresh = [sizes[k] if is_whole(entries[k]) else as_size(new[j]) for j, k in enumerate(left)]
    return build_one(source.op, found, *fresh)


def _dimshuffle(node: Apply, source: Apply, entries: Sequence[IndexEntry], level: Level) -> Lifted:
    (given,), order = source.inputs, source.op.parameters.order
    if not any(entry.kind == "integer" for entry in entries) and not _is_less(
        entries, level.shape(node.inputs[0])
    ):
        return None
    chosen = [WHOLE] * rank(given)
    for axis, entry in zip(order, entries, strict=True):
        if axis is not None:
            chosen[axis] = entry
        elif not is_whole(entry) and not (entry.kind == "integer" and entry.start in (0, -1)):
            return None
    found = picked(given, chosen)
    if found is None:
        return None
    kept = [axis for axis, entry in enumerate(chosen) if entry.kind == "slice"]
    left = [axis for axis, entry in zip(order, entries, strict=True) if entry.kind == "slice"]
    turned = tuple(None if axis is None else kept.index(axis) for axis in left)
    if turned == tuple(range(rank(found))):
        return found
    return build_one(Op(DIMSHUFFLE, OrderParameters(turned)), found)


def of_vector(node: Apply, source: Apply, entries: Sequence[IndexEntry], level: Level) -> Lifted:
    """Pick scalars of a vector that is made of them: each is there anyway."""
    (entry,) = entries
    dtype = tensor_type(node.outputs[0]).dtype
    if entry.kind == "integer":
        return cast(source.inputs[int(entry.start or 0)], dtype)  # within bounds: the length is known
    chosen = source.inputs[as_slice(entry)]
    if not chosen:
        return None
    return stack_scalars([cast(variable, dtype) for variable in chosen])


LIFTS: dict[Declaration, Lift] = {
    CAST: _elementwise,
    ALLOC: _alloc,
    DIMSHUFFLE: _dimshuffle,
    MAKE_VECTOR: of_vector,
}
