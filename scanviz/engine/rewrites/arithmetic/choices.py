"""The part of ``simplify_arithmetic`` about choices, truth and sizes: where the answer is known, nothing is asked.

Comparisons of integers with themselves and of sizes with numbers below 0, ``where`` and ``ifelse`` with a known condition or
equal branches, ``maximum(x, x)``, ``clip`` without a limit on one side, ``not not b``, and sizes of 1 in a broadcast.
"""

from __future__ import annotations

import math

from scanviz.engine.graph.declaration import Declaration
from scanviz.engine.graph.nodes import Apply, Variable, build_one, is_floating, is_integer_scalar
from scanviz.engine.graph.types import BOOLEAN, INTEGERS, TensorType
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.control import IFELSE
from scanviz.engine.ops.shape import BROADCAST_SIZE
from scanviz.engine.ops.sizes import surely_equal, surely_not_negative
from scanviz.engine.ops.support import constant_integer
from scanviz.engine.rewrites.arithmetic.identities import (
    Answer,
    Rewriting,
    filled,
    number_of,
    one_dtype,
    operand_of,
    replaced,
    rewritten,
)
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Match, Refusal


def _same_operands(node: Apply, level: Level) -> Answer:
    first, second = node.inputs
    if first is not second:
        return None
    return rewritten(node, first, f"{node.op.name} of x and x is x")


def _truth_with_known(neutral: bool) -> Rewriting:
    """Return the rewriting of ``and`` (neutral: True) or ``or`` of truth values, one of them known or both the same."""

    def rewriting(node: Apply, level: Level) -> Answer:
        first, second = node.inputs
        if not one_dtype(first, second, node.outputs[0]):
            return None
        if first is second:
            return replaced(node, first, f"{node.op.name} of b and b is b", level)
        for k, variable in enumerate(node.inputs):
            number = number_of(variable)
            if number is not None and bool(number) is neutral:
                return replaced(node, node.inputs[1 - k], f"{neutral} decides nothing", level)
        return None

    return rewriting


def _not_twice(node: Apply, level: Level) -> Answer:
    inner = operand_of(node.inputs[0], e.logical_not)
    kind = None if inner is None else inner.type
    if inner is None or not isinstance(kind, TensorType) or kind.dtype != BOOLEAN:
        return None
    return rewritten(node, inner, "not not b is b")


def _chosen(node: Apply, level: Level) -> Answer:
    """Simplify ``where``."""
    condition, first, second = node.inputs
    number = number_of(condition)
    if first is not second and number is None:
        return None
    chosen = first if number is None or bool(number) else second
    kind = node.outputs[0].type
    assert isinstance(kind, TensorType)
    says = "both branches of where are one" if number is None else "where has a known condition"
    return replaced(node, e.cast(chosen, kind.dtype), says, level)


def _chosen_whole(node: Apply, level: Level) -> Answer:
    """Simplify ``ifelse``, whose branches may be many."""
    half = (len(node.inputs) - 1) // 2
    firsts, seconds = node.inputs[1 : 1 + half], node.inputs[1 + half :]
    number = number_of(node.inputs[0])
    mapping: dict[Variable, Variable] = {}
    for result, a, b in zip(node.outputs, firsts, seconds, strict=True):
        if (number is not None or a is b) and level.is_read(result):
            mapping[result] = a if number is None or bool(number) else b
    if not mapping:
        return None
    return Match(
        mapping, "ifelse has a known condition" if number is not None else "branches of ifelse are one"
    )


# ---- sizes


def _equal_integers(node: Apply) -> bool:
    first, second = node.inputs
    if first is second:
        kind = first.type
        return isinstance(kind, TensorType) and (kind.dtype in INTEGERS or kind.dtype == BOOLEAN)
    return all(map(is_integer_scalar, node.inputs)) and surely_equal(first, second)


def _compared(of_equal: bool, size_below: bool | None) -> Rewriting:
    """Return the rewriting of a comparison: what it gives of equal integers, and of a size with a negative bound.

    ``size_below`` is its value for ``size ? bound`` where the size is surely above it.
    """

    def rewriting(node: Apply, level: Level) -> Answer:
        first, second = node.inputs
        if first is second and is_floating(first):
            return Refusal("NaN differs from itself", 1)
        if _equal_integers(node):
            return replaced(node, filled(of_equal, node, level), "integers are equal to themselves", level)
        if size_below is None or not all(map(is_integer_scalar, node.inputs)):
            return None
        bound = constant_integer(second)
        strict = node.op.declaration in (e.less, e.greater_equal)
        if bound is not None and bound <= (0 if strict else -1) and surely_not_negative(first):
            return replaced(node, filled(size_below, node, level), "a size is not negative", level)
        return None

    return rewriting


def difference_of_equals(node: Apply, level: Level) -> Answer:
    """Take 0 for an integer less itself."""
    kind = node.outputs[0].type
    if not isinstance(kind, TensorType) or kind.ndim != 0:
        return None
    if kind.dtype in INTEGERS and _equal_integers(node):
        return replaced(node, filled(0, node, level), "n - n is 0", level)
    return None


def _larger_than_negative(node: Apply, level: Level) -> Answer:
    if not all(map(is_integer_scalar, node.inputs)):
        return None
    for k, variable in enumerate(node.inputs):
        bound = constant_integer(variable)
        if bound is not None and bound <= 0 and surely_not_negative(node.inputs[1 - k]):
            return replaced(node, node.inputs[1 - k], "a size is not negative", level)
    return None


def _broadcast_of(node: Apply, level: Level) -> Answer:
    terms = list(dict.fromkeys(variable for variable in node.inputs if constant_integer(variable) != 1))
    if len(terms) == len(node.inputs) and len(terms) > 1:
        return None
    if not terms:
        return rewritten(node, filled(1, node, level), "sizes of 1 broadcast to 1")
    found = terms[0] if len(terms) == 1 else build_one(node.op, *terms)
    return rewritten(node, found, "a size that changes nothing is left out of a broadcast")


_BOTH_TRUE = _truth_with_known(True)
_EITHER_TRUE = _truth_with_known(False)


def _without_limit(node: Apply, level: Level) -> Answer:
    """A limit of infinity is none, but for the derivatives of ``clip``, which have been taken."""
    value, low, high = node.inputs
    if number_of(high) == math.inf:
        return rewritten(node, e.maximum(value, low), "no number is above infinity")
    if number_of(low) == -math.inf:
        return rewritten(node, e.minimum(value, high), "no number is below minus infinity")
    return None


CHOICES: dict[Declaration, tuple[Rewriting, ...]] = {
    e.maximum: (_same_operands, _larger_than_negative),
    e.minimum: (_same_operands,),
    e.fmax: (_same_operands,),
    e.fmin: (_same_operands,),
    e.bitwise_and: (_same_operands,),
    e.bitwise_or: (_same_operands,),
    e.logical_and: (_BOTH_TRUE,),
    e.logical_or: (_EITHER_TRUE,),
    e.logical_not: (_not_twice,),
    e.where: (_chosen,),
    e.clip: (_without_limit,),
    IFELSE: (_chosen_whole,),
    e.equal: (_compared(True, None),),
    e.not_equal: (_compared(False, None),),
    e.less: (_compared(False, False),),
    e.less_equal: (_compared(True, False),),
    e.greater: (_compared(False, True),),
    e.greater_equal: (_compared(True, True),),
    BROADCAST_SIZE: (_broadcast_of,),
}
