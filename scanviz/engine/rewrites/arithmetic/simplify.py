"""Arithmetic that returns its operand: ``x * 1``, ``--x``, ``where(True, a, b)``.

What is done, and only where every bit of the result, its dtype and its shape stay:

- neutral operands: ``x - 0``, ``x + 0`` of integers, ``x + (-0.0)``, ``x * 1``, ``x / 1``, ``n // 1``, ``x ** 1``.
  ``x + 0.0`` turns -0.0 into 0.0 and stays, unless ``x`` is made by an operation that never gives -0.0;
- ``x ** 2`` is ``square(x)``: NumPy multiplies for one exponent 2 too, but takes two to four times as long;
- ``--x``, and ``clip`` without a limit on one side;
- ``where`` and ``ifelse`` with a known condition or equal branches.
"""

from __future__ import annotations

import math

from scanviz.engine.graph.declaration import Declaration
from scanviz.engine.graph.nodes import (
    Apply,
    Variable,
    is_floating,
)
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.control import IFELSE
from scanviz.engine.rewrites.arithmetic.identities import (
    Answer,
    Rewriting,
    answer,
    elementwise,
    is_positive_zero,
    number_of,
    replaced,
    rewritten,
    undone,
)
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import GENERAL, Match, Refusal, rule

KEEPS_MINUS_ZERO = Refusal("adding 0.0 turns -0.0 into 0.0", 1)


# ---- neutral operands


def _plus_zero(node: Apply, level: Level) -> Answer:
    for k, variable in enumerate(node.inputs):
        number = number_of(variable)
        if number is None or number != 0:
            continue
        other = node.inputs[1 - k]
        signed = is_floating(node.outputs[0]) and is_positive_zero(number)
        if signed and (other.owner is None or other.owner.op.facts.sign != "no minus zero"):
            return KEEPS_MINUS_ZERO
        return replaced(node, other, "0 is not added", level)
    return None


def _minus_zero(node: Apply, level: Level) -> Answer:
    number = number_of(node.inputs[1])
    if number is None or number != 0:
        return None
    if is_floating(node.outputs[0]) and not is_positive_zero(number):
        return KEEPS_MINUS_ZERO
    return replaced(node, node.inputs[0], "0 is not subtracted", level)


def _times_one(node: Apply, level: Level) -> Answer:
    for k, variable in enumerate(node.inputs):
        number = number_of(variable)
        if number is not None and number == 1:
            return replaced(node, node.inputs[1 - k], "a product with 1 is the other factor", level)
    return None


def _second_is_one(node: Apply, level: Level) -> Answer:
    number = number_of(node.inputs[1])
    if (
        number is None
        or number != 1
        or (node.op.declaration is e.floor_divide and is_floating(node.outputs[0]))
    ):
        return None
    return replaced(node, node.inputs[0], f"{node.op.declaration.symbol} 1 is left out", level)


def _squared(node: Apply, level: Level) -> Answer:
    number = number_of(node.inputs[1])
    kind = node.outputs[0].type
    if number is None or number != 2 or not isinstance(kind, TensorType) or kind.dtype == "float16":
        return None
    exponent = node.inputs[1].type
    if node.inputs[0].type != kind or not isinstance(exponent, TensorType) or {*exponent.shape} - {1}:
        return None  # of an exponent for each element, NumPy takes each power by itself
    return rewritten(node, elementwise(e.square, node.inputs[0]), "x ** 2 is square(x)")


# ---- choices


def _chosen(node: Apply, level: Level) -> Answer:
    """Simplify ``where``."""
    condition, first, second = node.inputs
    number = number_of(condition)
    if first is not second and number is None:
        return None
    chosen = first if number is None or bool(number) else second
    kind = node.outputs[0].type
    assert isinstance(kind, TensorType)
    message = "both branches of where are one" if number is None else "where has a known condition"
    return replaced(node, e.cast(chosen, kind.dtype), message, level)


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


def _without_limit(node: Apply, level: Level) -> Answer:
    """A limit of infinity is none, but for the derivatives of ``clip``, which have been taken."""
    value, low, high = node.inputs
    if number_of(high) == math.inf:
        return rewritten(node, e.maximum(value, low), "no number is above infinity")
    if number_of(low) == -math.inf:
        return rewritten(node, e.minimum(value, high), "no number is below minus infinity")
    return None


TABLE: dict[Declaration, tuple[Rewriting, ...]] = {
    e.add: (_plus_zero,),
    e.subtract: (_minus_zero,),
    e.multiply: (_times_one,),
    e.divide: (_second_is_one,),
    e.floor_divide: (_second_is_one,),
    e.power: (_second_is_one, _squared),
    e.negative: (undone(e.negative, "--x is x"),),
    e.where: (_chosen,),
    e.clip: (_without_limit,),
    IFELSE: (_chosen_whole,),
}


@rule(name="simplify_arithmetic", phase=GENERAL, on=TABLE, tags=("general",))
def simplify_arithmetic(node: Apply, level: Level) -> Answer:
    """Leave out arithmetic that returns its input, bit for bit."""
    return answer(TABLE, node, level)
