"""``ifelse``: one of two values, of which only the chosen one is computed."""

from __future__ import annotations

from typing import Any

import numpy as np

from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Variable, build, describe, tensor_type
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.control import IFELSE
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.elementwise_declaration import is_truth
from scanviz.engine.ops.support import as_value, as_variable, constant


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
