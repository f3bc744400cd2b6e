"""Arithmetic that gives what it was given: ``x * 1``, ``--x``, ``a - (-b)``, ``(n + 1) - 1``, ``where(True, a, b)``.

What is done, and only where every bit of the result, its dtype and its shape stay:

- neutral operands: ``x - 0``, ``x + 0`` of integers, ``x + (-0.0)``, ``x * 1``, ``x / 1``, ``n // 1``, ``x ** 1``.
  ``x + 0.0`` turns -0.0 into 0.0 and stays, unless ``x`` is made by an operation that never gives -0.0;
- ``x ** 2`` is ``square(x)``: NumPy multiplies for one exponent 2 too, but takes two to four times as long;
- signs: ``--x``, ``a - (-b)``, ``a + (-b)``, ``(-a) * (-b)``, ``x * -1``, ``abs(-x)``, ``abs(abs(x))``, ``square(-x)``;
  ``-(a - b)`` is ``b - a`` for integers, for floats it is not where they are equal;
- constants in a chain, ``(n + 2) - 1`` and ``(n * 2) * 3``: of integers always, they wrap around alike; of floats where the
  first factor is a power of two of at least 1, so that its product is exact;
- ``maximum(x, x)`` and its like; ``not not b``, ``b and True``;
- ``where`` and ``ifelse`` with a known condition or equal branches;
- sizes: ``n - n``, ``n == n``, ``n < 0``, ``maximum(n, 0)``, sizes of 1 in a broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scanviz.engine.graph.declaration import Declaration
from scanviz.engine.graph.nodes import Apply, Constant, Variable, build_one, is_floating, tensor_type
from scanviz.engine.graph.types import FLOATS, SIGNED, UNSIGNED, TensorType
from scanviz.engine.ops import elementwise as e
from scanviz.engine.rewrites.arithmetic.choices import CHOICES, difference_of_equals
from scanviz.engine.rewrites.arithmetic.identities import (
    Answer,
    Rewriting,
    answer,
    elementwise,
    is_positive_zero,
    number_of,
    one_dtype,
    operand_of,
    replaced,
    rewritten,
    undone,
    unfit,
    with_number,
)
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import GENERAL, Refusal, rule

# Operations whose results are never -0.0, whatever they are given.
KEEPS_MINUS_ZERO = Refusal("adding 0.0 turns -0.0 into 0.0", 1)
WIDENED = Refusal("-b wraps around in the dtype of b before the result's, which is wider", 1)


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
        if number is not None and number == -1 and sign_moves(node.inputs[1 - k], node):
            why = unfit(node.inputs[1 - k], node.outputs[0], level)
            if why is not None:
                return Refusal(why, 1)
            return rewritten(node, elementwise(e.negative, node.inputs[1 - k]), "x * -1 is -x")
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


def _itself(node: Apply, level: Level) -> Answer:
    return rewritten(node, node.inputs[0], "`+x` is x")


# ---- signs


def sign_moves(operand: Variable, node: Apply) -> bool:
    """Return whether the sign of an operand may move to the result: of floats, and of integers of the result's dtype.

    Those wrap around alike.  An operand of a narrower integer dtype does not: -x is x of its smallest number, and never
    below 0 where it is unsigned.  Truth values have no sign.
    """
    own = tensor_type(operand).dtype
    return own in FLOATS or (own in (*SIGNED, *UNSIGNED) and own == tensor_type(node.outputs[0]).dtype)


def _sign_ignored(node: Apply, level: Level) -> Answer:
    inner = operand_of(node.inputs[0], e.negative)
    if inner is None and node.op.declaration is e.square:
        inner = operand_of(node.inputs[0], e.absolute)
    if inner is None:
        return None
    if node.op.declaration is e.absolute and tensor_type(inner).dtype in UNSIGNED:
        return Refusal("-x of an unsigned x is the number that makes 0 with it, and not of equal size", 1)
    return rewritten(node, build_one(node.op, inner), f"{node.op.name} needs no sign")


def _absolute_twice(node: Apply, level: Level) -> Answer:
    if operand_of(node.inputs[0], e.absolute) is None:
        return None
    return rewritten(node, node.inputs[0], "abs(abs(x)) is abs(x)")


def _subtracted_negative(node: Apply, level: Level) -> Answer:
    inner = operand_of(node.inputs[1], e.negative)
    if inner is None:
        return None
    if not sign_moves(inner, node):
        return WIDENED
    return rewritten(node, elementwise(e.add, node.inputs[0], inner), "a - (-b) is a + b")


def _added_negative(node: Apply, level: Level) -> Answer:
    for k in (1, 0):
        inner = operand_of(node.inputs[k], e.negative)
        if inner is not None:
            if not sign_moves(inner, node):
                return WIDENED
            return rewritten(node, elementwise(e.subtract, node.inputs[1 - k], inner), "a + (-b) is a - b")
    return None


def _negative_factors(node: Apply, level: Level) -> Answer:
    first = operand_of(node.inputs[0], e.negative)
    second = operand_of(node.inputs[1], e.negative) if first is not None else None
    if first is None or second is None:
        return None
    if not sign_moves(first, node) or not sign_moves(second, node):
        return WIDENED
    return rewritten(node, build_one(node.op, first, second), "(-a) * (-b) is a * b")


def _negative_difference(node: Apply, level: Level) -> Answer:
    source = node.inputs[0].owner
    if source is None or source.op.declaration is not e.subtract:
        return None
    if is_floating(node.outputs[0]):
        return Refusal("-(a - b) is -0.0 where a equals b, and b - a is 0.0", 1)
    first, second = source.inputs
    return rewritten(node, elementwise(e.subtract, second, first), "-(a - b) is b - a")


# ---- constants in a chain


def _gathered_sum(node: Apply, level: Level) -> Answer:
    outer = with_number(node)
    if outer is None or outer[0].owner is None or outer[0].owner.op.declaration not in (e.add, e.subtract):
        return None
    inner = with_number(outer[0].owner)
    if inner is None or not one_dtype(node.outputs[0], *node.inputs, *outer[0].owner.inputs):
        return None
    if is_floating(node.outputs[0]):
        return Refusal("constants added to floats one after another round differently from their sum", 2)
    subtracts = [apply.op.declaration is e.subtract for apply in (node, outer[0].owner)]
    if any(minus and place == 0 for minus, place in zip(subtracts, (outer[2], inner[2]), strict=True)):
        return None  # a number minus something
    kind = node.outputs[0].type
    assert isinstance(kind, TensorType)
    numbers = [
        -x.value if minus else x.value for x, minus in zip((outer[1], inner[1]), subtracts, strict=True)
    ]
    total = np.add(*numbers, dtype=kind.dtype)
    if total == 0:
        return replaced(node, inner[0], "constants of a sum cancel", level)
    fewer = total < 0 and kind.dtype.startswith("int") and total != np.iinfo(kind.dtype).min
    declaration, number = (e.subtract, -total) if fewer else (e.add, total)
    summed = elementwise(declaration, inner[0], _scalar(number, kind))
    return replaced(node, summed, "constants of a sum are one", level)


def _gathered_product(node: Apply, level: Level) -> Answer:
    outer = with_number(node)
    if outer is None or outer[0].owner is None or outer[0].owner.op.declaration is not e.multiply:
        return None
    inner = with_number(outer[0].owner)
    if inner is None or not one_dtype(node.outputs[0], *node.inputs, *outer[0].owner.inputs):
        return None
    kind = node.outputs[0].type
    assert isinstance(kind, TensorType)
    with np.errstate(all="ignore"):
        product = np.multiply(inner[1].value, outer[1].value, dtype=kind.dtype)
    if is_floating(node.outputs[0]) and not _exact_product(inner[1].value, outer[1].value, product):
        return Refusal(
            "factors of floats multiplied one after another round differently from their product", 2
        )
    found = elementwise(e.multiply, inner[0], _scalar(product, kind))
    return rewritten(node, found, "constants of a product are one")


def _exact_product(first: Any, second: Any, product: Any) -> bool:
    """Return whether ``(x * first) * second`` is ``x * product`` in every bit.

    A power of two of at least 1 changes no digit of x, and where it overflows the second, of at least 1, does too.
    """
    if not np.isfinite(product):
        return False
    digits, _ = np.frexp(first)
    return bool(abs(digits) == 0.5 and abs(first) >= 1 and abs(second) >= 1)


def _scalar(value: Any, kind: TensorType) -> Constant:
    return Constant(TensorType(kind.dtype, ()), np.asarray(value, kind.dtype))


TABLE: dict[Declaration, tuple[Rewriting, ...]] = {
    **CHOICES,
    e.add: (_plus_zero, _added_negative, _gathered_sum),
    e.subtract: (_minus_zero, _subtracted_negative, difference_of_equals, _gathered_sum),
    e.multiply: (_times_one, _negative_factors, _gathered_product),
    e.divide: (_second_is_one,),
    e.floor_divide: (_second_is_one,),
    e.power: (_second_is_one, _squared),
    e.positive: (_itself,),
    e.negative: (undone(e.negative, "--x is x"), _negative_difference),
    e.invert: (undone(e.invert, "~~n is n"),),
    e.absolute: (_absolute_twice, _sign_ignored),
    e.square: (_sign_ignored,),
}


@rule(name="simplify_arithmetic", phase=GENERAL, on=TABLE, tags=("general",))
def simplify_arithmetic(node: Apply, level: Level) -> Answer:
    """Leave out arithmetic that gives what it was given, bit for bit."""
    return answer(TABLE, node, level)
