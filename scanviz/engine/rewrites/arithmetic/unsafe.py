"""Rewrites that change numbers where they are not finite, or round differently: only on request.

``Mode(…).including("unsafe_arithmetic")``, or ``+unsafe`` for all rules of the kind.  What is done:

- ``x + 0.0``, which differs in the sign of zero alone; ``x * 0``, wrong for NaN and infinity;
- ``log(exp(x))``, ``exp(log(x))``, ``sqrt(x) ** 2``: functions that undo one another, but for what overflows or is not real;
- ``(x + a) + b`` and ``(x * a) * b`` with known ``a`` and ``b``, ``x / a`` as a product: rounded differently;
- of floats, ``log(1 + x)`` as ``log1p(x)``, ``exp(x) - 1`` as ``expm1(x)``, ``log(sigmoid(x))`` as ``-softplus(-x)``,
  ``log(1 + exp(x))`` as ``softplus(x)``, ``log(softmax(x))`` as ``log_softmax(x)``: more exact, and without overflow.

Dtypes, shapes, integers and truth values stay as they are: the rules hold for the dtype at hand.
"""

from __future__ import annotations

import numpy as np

from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.nodes import Apply, Constant, Variable, build_one, is_floating, tensor_type
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.neural import LOG_SOFTMAX, SOFTMAX
from scanviz.engine.rewrites.arithmetic.identities import (
    Answer,
    Rewriting,
    answer,
    elementwise,
    filled,
    number_of,
    operand_of,
    replaced,
    rewritten,
    undone,
    with_number,
)
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import GENERAL, UNSAFE, Refusal, rule


def _beside(node: Apply, number: float) -> Variable | None:
    """Return the operand beside a known number, None if there is no such number."""
    for k, variable in enumerate(node.inputs):
        found = number_of(variable)
        if found is not None and found == number:
            return node.inputs[1 - k]
    return None


def _plus_zero(node: Apply, level: Level) -> Answer:
    other = _beside(node, 0)
    if other is None:
        return None
    return replaced(node, other, "0 is not added, whatever the sign of zero", level)


def _times_zero(node: Apply, level: Level) -> Answer:
    if _beside(node, 0) is None:
        return None
    return rewritten(node, filled(0, node, level), "a product with 0 is 0, of NaN too")


def _regrouped(ufunc: np.ufunc) -> Rewriting:
    """Return the rewriting of two constants in a chain of sums or products of floats."""

    def rewriting(node: Apply, level: Level) -> Answer:
        outer = with_number(node)
        source = None if outer is None else outer[0].owner
        if outer is None or source is None or source.op.declaration is not node.op.declaration:
            return None
        inner = with_number(source)
        if inner is None or not is_floating(source.outputs[0]):
            return None  # integers wrap around before they are floats, truth values are 0 and 1
        kind = tensor_type(node.outputs[0])
        # as the chain meets them
        first, second = (np.asarray(number.value, kind.dtype) for _, number, _ in (inner, outer))
        with np.errstate(all="ignore"):
            number = np.asarray(ufunc(first, second), kind.dtype)
        if not np.isfinite(number) or (not number and first and second and ufunc is np.multiply):
            return Refusal("the constants together overflow, or vanish", 1)
        both = build_one(node.op, inner[0], Constant(TensorType(kind.dtype, ()), number))
        return rewritten(node, both, "constants of a chain are one")

    return rewriting


def _over_constant(node: Apply, level: Level) -> Answer:
    second = node.inputs[1]
    if not isinstance(second, Constant) or second.value.ndim or not is_floating(second):
        return None
    with np.errstate(all="ignore"):
        number = np.asarray(np.reciprocal(second.value))
    if not np.isfinite(number) or number == 0:
        return Refusal("the reciprocal of the constant is not finite", 1)
    factor = Constant(second.type, number)
    return rewritten(node, elementwise(e.multiply, node.inputs[0], factor), "x / a is a product")


def _log(node: Apply, level: Level) -> Answer:
    inner = node.inputs[0].owner
    if inner is None:
        return None
    declaration, given = inner.op.declaration, inner.inputs
    if declaration is e.sigmoid:
        x = e.cast(given[0], tensor_type(node.inputs[0]).dtype)  # integers wrap around, truth has no sign
        found = elementwise(e.negative, elementwise(e.softplus, elementwise(e.negative, x)))
        return rewritten(node, found, "log(sigmoid(x)) is -softplus(-x)")
    if declaration is SOFTMAX:
        found = build_one(Op(LOG_SOFTMAX, inner.op.parameters), *given)
        return rewritten(node, found, "log(softmax(x)) is log_softmax(x)")
    if declaration is not e.add:
        return None
    if not is_floating(node.inputs[0]):
        return Refusal("1 + x of integers wraps around, and of truth values is `or`", 1)
    other = _beside(inner, 1)
    if other is None:
        return None
    return replaced(node, elementwise(e.log1p, other), "log(1 + x) is log1p(x)", level)


def _log_of_exp(node: Apply, level: Level) -> Answer:
    inner = operand_of(node.inputs[0], e.exp)
    if inner is None:
        return None
    return rewritten(node, elementwise(e.softplus, inner), "log1p(exp(x)) is softplus(x)")


def _exp_minus_one(node: Apply, level: Level) -> Answer:
    inner, number = operand_of(node.inputs[0], e.exp), number_of(node.inputs[1])
    if inner is None or number is None or number != 1:
        return None
    return replaced(node, elementwise(e.expm1, inner), "exp(x) - 1 is expm1(x)", level)


TABLE: dict[Declaration, tuple[Rewriting, ...]] = {
    e.add: (_plus_zero, _regrouped(np.add)),
    e.subtract: (_exp_minus_one,),
    e.multiply: (_times_zero, _regrouped(np.multiply)),
    e.divide: (_over_constant,),
    e.square: (undone(e.sqrt, "sqrt(x) ** 2 is x"),),
    e.exp: (undone(e.log, "exp(log(x)) is x"),),
    e.log: (undone(e.exp, "log(exp(x)) is x"), _log),
    e.log1p: (_log_of_exp,),
}


@rule(name="unsafe_arithmetic", phase=GENERAL, on=TABLE, tags=(UNSAFE,))
def unsafe_arithmetic(node: Apply, level: Level) -> Answer:
    """Simplify arithmetic where numbers that are not finite, or rounding, may come out differently."""
    return answer(TABLE, node, level)
