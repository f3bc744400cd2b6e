"""Jacobians and Hessians: one pullback with a symbolic cotangent, run for each element by a loop.

The pullback is built once, outside of the loop; its step puts a one-hot cotangent in the place of the symbolic one.  What
does not depend on the cotangent, such as the values of the forward pass, so stays before the loop and is computed once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from scanviz.engine.building import building
from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.gradient.explain import is_connected, why_disconnected
from scanviz.engine.gradient.grad import (
    Disconnection,
    check_choices,
    grad,
    report_disconnected,
    structure,
    undefined_gradient,
    variables_of,
    zero_gradient,
)
from scanviz.engine.gradient.operators import Rop
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.gradient.table import Undefined
from scanviz.engine.graph.nodes import Variable, describe, is_floating, tensor_type
from scanviz.engine.graph.replace import born_again, replace
from scanviz.engine.ops.creation import arange
from scanviz.engine.ops.elementwise import cast, equal
from scanviz.engine.ops.reduce import prod
from scanviz.engine.ops.shape import alloc, dimension, reshape, stack_scalars
from scanviz.engine.ops.sizes import as_size
from scanviz.engine.ops.support import check_meant
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.scan.build import scan


def jacobian(
    expression: Variable,
    wrt: Any,
    consider_constant: Collection[Variable] | Variable | None = None,
    disconnected_inputs: Disconnection = "raise",
) -> Any:
    """Return the derivative of every element of an expression with respect to every element of variables.

    Parameters
    ----------
    expression : Variable
        Floating, of any shape.
    wrt : Variable, list, tuple or dict of Variable
        Variables to differentiate with respect to, of any shape.
    consider_constant : variable or list, optional
        Taken as constants.
    disconnected_inputs : {"raise", "warn", "ignore"}
        Treatment of a variable that the expression is not connected to; its result is zeros.

    Returns
    -------
    Variable, list, tuple or dict
        Like ``wrt``; each of the expression's shape followed by the variable's.

    Raises
    ------
    ScanvizTypeError
        If the expression holds whole numbers.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> scanviz.jacobian(x**2, x).eval({x: [1.0, 2.0]})
    array([[2., 0.],
           [0., 4.]])
    """
    with building("gradient"):
        given: object = expression  # annotations do not stop a user
        check_meant(given)
        if not isinstance(given, Variable) or not is_floating(given):
            shown = describe(given) if isinstance(given, Variable) else repr(given)
            raise ScanvizTypeError.here(
                f"`{shown}` has no derivative",
                expected="a floating expression",
                found=getattr(given, "type", type(given).__name__),
                fix="jacobian(f(x), x): the derivative of what a function gives, not of the function"
                if callable(given)
                else None,
            )
        if not tensor_type(expression).ndim:
            return grad(expression, wrt, consider_constant, disconnected_inputs=disconnected_inputs)
        listed, pack = structure(wrt, "wrt")
        check_choices(disconnected_inputs=disconnected_inputs)
        constants = variables_of(consider_constant)
        seed = Variable(expression.type, f"cotangent of {expression.name or 'expression'}")
        pulled = pull_back({expression: seed}, listed, constants)
        found: dict[int, Variable] = {}
        for k, (variable, derivative) in enumerate(zip(listed, pulled, strict=True)):
            if isinstance(derivative, Undefined):
                raise undefined_gradient(variable, [expression], derivative)
            if derivative is not None:
                found[k] = derivative
            elif not is_connected(variable, [expression], constants):
                why = why_disconnected(variable, [expression], constants)
                report_disconnected(variable, why, disconnected_inputs, f"`{describe(expression)}`")
        rows = iter(_rows(expression, seed, list(found.values())))
        shape = [dimension(expression, axis) for axis in range(tensor_type(expression).ndim)]
        results = []
        for k, variable in enumerate(listed):
            whole = [*shape, *shape_of(variable)]
            filled = next(rows) if k in found else _zeros(variable, shape)
            results.append(reshape(filled, [as_size(size) for size in whole], ndim=len(whole)))
        return pack(results)


def _zeros(variable: Variable, shape: Sequence[Any]) -> Variable:
    zero = zero_gradient(variable)
    return alloc(zero, [as_size(size) for size in (*shape, *shape_of(variable))])


def _rows(expression: Variable, seed: Variable, derivatives: Sequence[Variable]) -> list[Variable]:
    """Return the pullback of each one-hot cotangent, one a row."""
    if not derivatives:
        return []
    shape = [as_size(size) for size in shape_of(expression)]
    count = prod(stack_scalars(shape))
    places = reshape(arange(count), shape, ndim=len(shape))
    dtype = tensor_type(expression).dtype

    def step(number: Variable, places: Variable) -> list[Variable]:
        one_hot = cast(equal(places, number), dtype)
        return replace(list(derivatives), {seed: one_hot}, rebuild_node=born_again)

    name = f"jacobian_of_{expression.name or 'expression'}"
    rows, _ = scan(step, sequences=arange(count), non_sequences=places, name=name, return_list=True)
    found: list[Variable] = rows
    return found


def hessian(
    cost: Variable,
    wrt: Any,
    consider_constant: Collection[Variable] | Variable | None = None,
    disconnected_inputs: Disconnection = "raise",
) -> Any:
    """Return the second derivatives of a number with respect to each variable.

    Parameters
    ----------
    cost : Variable
        A floating scalar.
    wrt : Variable, list, tuple or dict of Variable
        Of any shape; with several, the blocks of the diagonal are given.
    consider_constant : variable or list, optional
        Taken as constants.
    disconnected_inputs : {"raise", "warn", "ignore"}
        Treatment of a variable without a connection to the cost, or to its gradient.

    Returns
    -------
    Variable, list, tuple or dict
        Like ``wrt``; each of the variable's shape twice.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> scanviz.hessian((x**3).sum(), x).eval({x: [1.0, 2.0]})
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    with building("gradient"):
        listed, pack = structure(wrt, "wrt")
        gradients = grad(cost, listed, consider_constant, disconnected_inputs=disconnected_inputs)
        return pack(
            [
                jacobian(gradient, variable, consider_constant, disconnected_inputs)
                for gradient, variable in zip(gradients, listed, strict=True)
            ]
        )


def hessian_vector_product(cost: Variable, wrt: Any, p: Any, **options: Any) -> Any:
    """Return the Hessian of a number times vectors, without the Hessian: forward mode over the gradient.

    Parameters
    ----------
    cost : Variable
        A floating scalar.
    wrt : Variable, list, tuple or dict of Variable
        Variables to differentiate with respect to.
    p : array_like, list or dict
        The vectors: one for each of ``wrt``, of its shape.
    **options
        Those of :func:`Rop`.

    Returns
    -------
    Variable, list, tuple or dict
        Like ``wrt``.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> scanviz.hessian_vector_product((x**3).sum(), x, [1.0, 10.0]).eval({x: [1.0, 2.0]})
    array([  6., 120.])
    """
    with building("gradient"):
        return Rop(grad(cost, wrt), wrt, p, **options)
