"""Helpers of rules about single operations: tables of small rewritings, known numbers, and checked replacements.

Such a rule is a table: declaration → the rewritings to try, each a small function.  A value may stand for another only
where dtype, shape and what is known of the shape are surely the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.nodes import Apply, Array, Constant, Variable, build_one
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.shape import alloc
from scanviz.engine.ops.sizes import as_size, surely_equal
from scanviz.engine.ops.support import constant
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.rule import Match, Refusal

Answer = Match | Refusal | None
Rewriting = Callable[[Apply, Level], Answer]
Table = Mapping[Declaration, tuple[Rewriting, ...]]


def answer(table: Table, node: Apply, level: Level) -> Answer:
    """Return the first match of the rewritings of a node, else the refusal that came nearest."""
    nearest: Refusal | None = None
    for identity in table.get(node.op.declaration, ()):
        found = identity(node, level)
        if isinstance(found, Match):
            return found
        if found is not None and (nearest is None or found.preconditions_met > nearest.preconditions_met):
            nearest = found
    return nearest


def replaced(node: Apply, new: Variable, message: str, level: Level) -> Answer:
    """Return the match that replaces a one-output node, or a refusal where the replacement may differ in type or shape."""
    why = unfit(new, node.outputs[0], level)
    return Match({node.outputs[0]: new}, message) if why is None else Refusal(why, 1)


def rewritten(node: Apply, new: Variable, message: str) -> Answer:
    """Return the match of a one-output node and what surely has its shape, where nothing known of it is lost."""
    mine, theirs = new.type, node.outputs[0].type
    if mine != theirs and isinstance(mine, TensorType) and isinstance(theirs, TensorType):
        if mine.dtype != theirs.dtype:
            return Refusal(f"the result is {theirs.dtype} and not {mine.dtype}", 1)
        if mine.ndim != theirs.ndim or any(
            a is None and b is not None for a, b in zip(mine.shape, theirs.shape, strict=True)
        ):
            return Refusal("the known shape would become less precise", 1)
    return Match({node.outputs[0]: new}, message)


def unfit(new: Variable, old: Variable, level: Level) -> str | None:
    """Return why one variable cannot stand for another, or None if it surely can."""
    mine, theirs = new.type, old.type
    if not isinstance(mine, TensorType) or not isinstance(theirs, TensorType):
        return None if mine == theirs else "the types differ"
    if mine.dtype != theirs.dtype:
        return f"the result is {theirs.dtype} and not {mine.dtype}"
    if mine.ndim != theirs.ndim:
        return "the other operand gives the result more dimensions"
    for axis, (a, b) in enumerate(zip(mine.shape, theirs.shape, strict=True)):
        if a is not None and a == b:
            continue
        if (a is None and b is not None) or not surely_equal(level.shape(new)[axis], level.shape(old)[axis]):
            return f"the size along axis {axis} is not known to stay the same"
    return None


def number_of(variable: Variable) -> Any:
    """Return the one number that a variable holds, as a NumPy scalar, whatever its shape; None if unknown.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> print(number_of(T.constant([[2.5, 2.5]])), number_of(T.constant([0.0, -0.0])), number_of(T.scalar("x")))
    2.5 None None
    """
    while True:
        if isinstance(variable, Constant):
            return _only_number(variable.value)
        node = variable.owner
        if node is None or not node.op.facts.same_elements:
            return None
        variable = node.inputs[0]


def _only_number(value: Array) -> Any:
    numbers = value.reshape(-1)
    if numbers.size <= 1:
        return numbers[0] if numbers.size else None
    if numbers[0] != numbers[-1]:  # of most arrays that ends it
        return None
    same = (numbers == numbers[0]).all() and (np.copysign(1, numbers) == np.copysign(1, numbers[0])).all()
    return numbers[0] if same else None


def operand_of(variable: Variable, declaration: Declaration) -> Variable | None:
    """Return the operand of a variable that a one-operand operation made, None if another did."""
    node = variable.owner
    return node.inputs[0] if node is not None and node.op.declaration is declaration else None


def elementwise(declaration: ElementwiseDeclaration, *inputs: Variable) -> Variable:
    """Return an elementwise operation of variables as they are, without the dtypes that Python numbers take."""
    return build_one(Op(declaration), *inputs)


def undone(inverse: Declaration, message: str) -> Rewriting:
    """Return the rewriting of a one-operand operation that undoes another, or itself."""

    def rewriting(node: Apply, level: Level) -> Answer:
        inner = operand_of(node.inputs[0], inverse)
        return None if inner is None else rewritten(node, inner, message)

    return rewriting


def with_number(node: Apply) -> tuple[Variable, Constant, int] | None:
    """Return the operand beside a constant scalar, the constant, and its position."""
    first, second = node.inputs
    if isinstance(second, Constant) and second.value.ndim == 0:
        return first, second, 1
    if isinstance(first, Constant) and first.value.ndim == 0:
        return second, first, 0
    return None


def is_positive_zero(number: Any) -> bool:
    """Return whether a number is 0 without a minus sign."""
    return bool(number == 0) and not np.signbit(number)


def filled(number: Any, node: Apply, level: Level) -> Variable:
    """Return a number at every place of the output of a node."""
    old = node.outputs[0]
    kind = old.type
    assert isinstance(kind, TensorType)
    value = constant(np.asarray(number, kind.dtype))
    if kind.ndim == 0:
        return value
    return alloc(value, [as_size(size) for size in level.shape(old)])
