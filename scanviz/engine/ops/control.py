"""``ifelse``: one of two values as a whole, of which only the chosen one is computed.

In a graph it is an operation of three inputs; lowering makes a branch of it.  So what stands in a branch may never be computed,
and must not fail or cost anything where it is not chosen: whoever moves work asks :func:`always_computed` first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Apply, Array, Variable, build, describe, tensor_type
from scanviz.engine.graph.types import TensorType, Type
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.elementwise_declaration import is_truth
from scanviz.engine.ops.support import as_value, as_variable, constant
from scanviz.engine.sizes.dims import Dims


def ifelse(condition: Any, then_branch: Any, else_branch: Any) -> Any:
    """Return one of two values, computing only the one that is taken.

    Parameters
    ----------
    condition : scalar
        Taken as true where it is not zero.
    then_branch, else_branch : variable or list of variables
        The two values; lists have the same length.  Dtypes are brought together as NumPy would; numbers of dimensions must agree.

    Returns
    -------
    Variable or list of Variable
        Like the branches.

    Raises
    ------
    ScanvizTypeError
        If the condition is no scalar or the branches do not match.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.scalar("x")
    >>> ifelse(x > 0, x, -x).eval({x: -3.0})
    array(3.)
    """
    test = as_variable(condition)
    if tensor_type(test).ndim != 0:
        raise ScanvizTypeError.here(
            f"the condition `{describe(test)}` of ifelse must be one number",
            found=test.type,
            fix="T.switch for one choice an element",
        )
    listed = isinstance(then_branch, list | tuple)
    if listed != isinstance(else_branch, list | tuple):
        raise ScanvizTypeError.here(
            "the branches of ifelse must both be lists or both be single values",
            expected="a list" if listed else "one value",
            found=repr(else_branch),
        )
    first, second = (list(then_branch), list(else_branch)) if listed else ([then_branch], [else_branch])
    if len(first) != len(second):
        raise ScanvizTypeError.here(
            "the branches of ifelse must be of one length", expected=len(first), found=len(second)
        )
    pairs = [_matched(*_strong(a, b)) for a, b in zip(first, second, strict=True)]
    results = build(Op(IFELSE), [test, *(a for a, _ in pairs), *(b for _, b in pairs)])
    return list(results) if listed else results[0]


def _strong(first: Any, second: Any) -> tuple[Variable, Variable]:
    """Return both branches as variables, a Python number in the dtype that NumPy gives it beside the other."""
    weak = [type(value) in (int, float) for value in (first, second)]  # not bool: NumPy has no weak bool
    if all(is_truth(value) for value in (first, second)):
        return as_value(first), as_value(second)
    if weak == [True, False]:
        other = as_variable(second)
        return constant(first, _beside(first, other)), other
    if weak == [False, True]:
        other = as_variable(first)
        return other, constant(second, _beside(second, other))
    return as_variable(first), as_variable(second)


def _beside(number: float, other: Variable) -> str | None:
    kind = other.type
    return np.result_type(np.dtype(kind.dtype), number).name if isinstance(kind, TensorType) else None


def _matched(first: Variable, second: Variable) -> tuple[Variable, Variable]:
    a, b = first.type, second.type
    if not isinstance(a, TensorType) or not isinstance(b, TensorType):
        if a != b:
            raise ScanvizTypeError.here("the branches of ifelse have different types", expected=a, found=b)
        return first, second
    if a.ndim != b.ndim:
        raise ScanvizTypeError.here(
            "the branches of ifelse have different numbers of dimensions",
            expected=f"`{describe(first)}`: {a}",
            found=f"`{describe(second)}`: {b}",
        )
    common = np.result_type(a.dtype, b.dtype)
    return cast(first, common), cast(second, common)


def _infer(op: Op, inputs: Sequence[Variable]) -> Sequence[Type]:
    half, odd = divmod(len(inputs) - 1, 2)
    if odd:
        raise ScanvizTypeError(
            "ifelse takes a value of each kind for both sides", found=f"{len(inputs) - 1} values"
        )
    found: list[Type] = []
    for first, second in zip(inputs[1 : 1 + half], inputs[1 + half :], strict=True):
        a, b = first.type, second.type
        if not isinstance(a, TensorType) or not isinstance(b, TensorType):
            found.append(a)
            continue
        found.append(
            a.with_shape(tuple(x if x == y else None for x, y in zip(a.shape, b.shape, strict=True)))
        )
    return found


def _perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    half = (len(values) - 1) // 2
    return tuple(values[1 : 1 + half] if np.asarray(values[0]).item() else values[1 + half :])


def _shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    half = (len(dims.shapes) - 1) // 2
    pairs = zip(dims.shapes[1 : 1 + half], dims.shapes[1 + half :], strict=True)
    test = dims.value(0)
    return [tuple(dims.choose(test, a, b) for a, b in zip(x, y, strict=True)) for x, y in pairs]


IFELSE = Declaration(
    "ifelse",
    "control",
    arity=(1, None),
    doc="One of two values, by a condition; the other is not computed.",
    infer=_infer,
    perform=_perform,
    shapes=_shapes,
    views=1,
    facts=Facts(selects=True),
)


def always_computed(outputs: Sequence[Variable]) -> set[Apply]:
    """Return the nodes that every step computes: not those that only a branch of an ``ifelse`` may need."""
    found: set[Apply] = set()
    stack = [output.owner for output in outputs if output.owner is not None]
    while stack:
        node = stack.pop()
        if node in found:
            continue
        found.add(node)
        if node.op.declaration is not IFELSE:
            stack += node.makers
        elif node.inputs[0].owner is not None:
            stack.append(node.inputs[0].owner)
    return found
