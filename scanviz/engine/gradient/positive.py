"""What is surely above 0, or not below it, as far as a few levels of a graph tell: a divisor, what a root is taken of.

A positive number that a user wrote down counts as one (``x**2 + 1e-6``), however small; so does a size.  False means that it is
not known.
"""

from __future__ import annotations

import numpy as np

from scanviz.engine.graph.nodes import Constant, Variable, tensor_type
from scanviz.engine.graph.types import INTEGERS
from scanviz.engine.ops import elementwise as e

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
    """Return whether a variable is 0 or above, and finite where its inputs are, but for overflow."""
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
    """Return whether a whole number is a size, or a product of sizes: 0 only where there is no element to divide."""
    if isinstance(variable, Constant):
        return bool((variable.value > 0).all())
    node = variable.owner
    if node is None or depth > _DEEPEST or tensor_type(variable).dtype not in INTEGERS:
        return False
    if node.op.facts.size == "is":
        return True
    return node.op.declaration is e.multiply and all(is_size(operand, depth + 1) for operand in node.inputs)
