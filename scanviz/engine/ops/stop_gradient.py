"""Values that pass unchanged while derivatives do not: ``disconnected_grad``, ``zero_grad``, ``grad_clip``.

They mean something to :mod:`scanviz.engine.gradient` alone; before a graph is run they are taken out of it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from scanviz.engine.errors import ScanvizValueError
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Variable, build_one, tensor_type
from scanviz.engine.ops import axes
from scanviz.engine.ops.support import as_variable, kept_shape


class BoundsParameters(NamedTuple):
    """The least and the largest derivative that passes."""

    low: float
    high: float


def _declare(name: str, doc: str) -> Declaration:
    return Declaration(
        name,
        "stop_gradient",
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
    """Return ``value`` unchanged, taken as a constant by derivatives: what it is computed from is not connected.

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
    """Return ``value`` unchanged, with derivative zero: what it is computed from counts as connected.

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
        What passes.
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
