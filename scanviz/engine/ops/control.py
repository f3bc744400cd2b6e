"""Choices of values and of derivatives: ``ifelse``, and the barriers ``disconnected_grad``, ``zero_grad``, ``grad_clip``.

``ifelse`` computes only the chosen one of two values.  In a graph it is an operation of three inputs; lowering makes a branch of
it.  Work in a branch may never be computed, and must not fail or cost anything where it is not chosen: rules that move work ask
:func:`always_computed` first.  Barriers pass a value unchanged and change its derivative; they are taken out before a graph is run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph import axes
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Apply, Array, Variable, build, build_one, describe, tensor_type
from scanviz.engine.graph.types import TensorType, Type
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.elementwise_declaration import is_truth
from scanviz.engine.ops.support import as_value, as_variable, constant, kept_shape
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
            "ifelse needs the same number of values on both sides", found=f"{len(inputs) - 1} values"
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


class BoundsParameters(NamedTuple):
    """The least and the largest derivative that passes."""

    low: float
    high: float


def _declare(name: str, doc: str) -> Declaration:
    return Declaration(
        name,
        "control",
        arity=1,
        doc=doc,
        infer=lambda op, inputs: (inputs[0].type,),
        perform=lambda op, values: (values[0],),
        shapes=kept_shape,
        views=0,
        facts=Facts(cheap=True, raises=False, axes=axes.elementwise),
    )


DISCONNECTED_GRAD = _declare("disconnected_grad", "The same value, as if it depended on nothing.")
ZERO_GRAD = _declare("zero_grad", "The same value, with derivative zero.")
GRAD_CLIP = _declare("grad_clip", "The same value, its derivative limited to an interval.")


def disconnected_grad(value: Any) -> Variable:
    """Return ``value`` unchanged, taken as a constant by derivatives: its inputs are not connected.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.scalar("x")
    >>> scanviz.grad(x * scanviz.disconnected_grad(x), x).eval({x: 3.0})
    array(3.)
    """
    return build_one(Op(DISCONNECTED_GRAD), as_variable(value))


def zero_grad(value: Any) -> Variable:
    """Return ``value`` unchanged, with derivative zero: its inputs count as connected.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.scalar("x")
    >>> scanviz.grad(scanviz.zero_grad(x) ** 2, x).eval({x: 3.0})
    array(0.)
    """
    return build_one(Op(ZERO_GRAD), as_variable(value))


def consider_constant(value: Any) -> Variable:
    """Return ``value`` unchanged, taken as a constant by derivatives: :func:`zero_grad` under its name in old scripts.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.scalar("x")
    >>> scanviz.grad(x * scanviz.consider_constant(x), x).eval({x: 3.0})
    array(3.)
    """
    return zero_grad(value)


def grad_clip(value: Any, lower_bound: float, upper_bound: float) -> Variable:
    """Return ``value`` unchanged; each element of the gradient that comes back to it is limited to an interval.

    Tangents of forward mode pass unchanged: a limit is no linear map, so it has a meaning in reverse mode alone.

    Parameters
    ----------
    value : array_like
        The value that passes.
    lower_bound, upper_bound : float
        The interval.

    Raises
    ------
    ScanvizValueError
        If the bounds are no interval.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.scalar("x")
    >>> scanviz.grad(scanviz.grad_clip(x, -1, 1) ** 2, x).eval({x: 3.0})
    array(1.)
    """
    variable = as_variable(value)
    tensor_type(variable)
    low, high = float(lower_bound), float(upper_bound)
    if math.isnan(low) or math.isnan(high) or low > high:
        raise ScanvizValueError.here(
            "grad_clip needs an interval", expected="lower_bound <= upper_bound", found=(low, high)
        )
    return build_one(Op(GRAD_CLIP, BoundsParameters(low, high)), variable)
