"""Softmax and its logarithm, as ops of their own.

Both could be written with exp, max and sum.  As one op their gradients need no detour through the maximum, whose ties
have no unique gradient, and a profile shows one line for what a reader thinks of as one step.  The largest element is
subtracted first, so that no exponential overflows.  Where all elements are minus infinity (everything is masked) softmax is 0
and its logarithm minus infinity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine import cost
from scanviz.engine.graph import axes
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.facts import Facts
from scanviz.engine.graph.nodes import Array, Variable, build_one, describe, tensor_type
from scanviz.engine.ops.reduce import normal_axes
from scanviz.engine.ops.support import as_variable, float_dtype, infer_by, kept_shape


class SoftmaxParameters(NamedTuple):
    """Parameters of the softmax family: the axes along which the elements sum to 1."""

    axes: tuple[int, ...]


def _shifted(value: Array, axes: tuple[int, ...]) -> Array:
    x = np.asarray(value)
    if x.dtype.kind != "f":
        x = x.astype(float_dtype(x.dtype.name))
    # The initial value is that of a maximum over no elements, and of one over minus infinities, which stay what they are.
    return np.asarray(np.subtract(x, np.maximum.reduce(x, axes, keepdims=True, initial=_lowest(x.dtype))))


@cache
def _lowest(dtype: np.dtype[Any]) -> Any:
    return np.finfo(dtype).min


def _sums(powers: Array, axes: tuple[int, ...]) -> Array:
    """Return the sums of exponentials with a maximum of 1; 1 too where all are 0, to avoid division by 0."""
    sums = np.asarray(np.add.reduce(powers, axes, keepdims=True))
    return np.asarray(np.maximum(sums, 1, out=sums))


def softmax_values(value: Array, axes: tuple[int, ...]) -> Array:
    """Return exp(x) / sum(exp(x)) along axes: the NumPy meaning of ``softmax``."""
    y = _shifted(value, axes)
    np.exp(y, y)
    np.divide(y, _sums(y, axes), y)
    return y


def log_softmax_values(value: Array, axes: tuple[int, ...]) -> Array:
    """Return x - log(sum(exp(x))) along axes: the NumPy meaning of ``log_softmax``."""
    y = _shifted(value, axes)
    np.subtract(y, np.log(_sums(np.exp(y), axes)), y)
    return y


def _declare(name: str, function: Callable[[Array, tuple[int, ...]], Array], doc: str) -> Declaration:
    def perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
        return (function(values[0], op.parameters.axes),)

    facts = Facts(cost.an_element(cost.FUNCTION + 4), weight="heavy", axes=axes.but("axes"), calls=20)
    return Declaration(
        name,
        "neural",
        arity=1,
        doc=doc,
        infer=infer_by(lambda op, kinds: (float_dtype(kinds[0].dtype),)),
        perform=perform,
        shapes=kept_shape,
        facts=facts,
    )


SOFTMAX = _declare("softmax", softmax_values, "exp(x) / sum(exp(x)) along axes.")
LOG_SOFTMAX = _declare(
    "log_softmax", log_softmax_values, "Logarithm of softmax along axes, without overflow."
)


def softmax(x: Any, axis: Any = -1) -> Variable:
    """Probabilities in proportion to exp(x) along an axis, without overflow.

    Parameters
    ----------
    x : array_like
        Tensor of at least one dimension; a vector gives a vector.
    axis : int, sequence of int or None
        Along which the result sums to 1, by default the last; None for over all.

    Returns
    -------
    Variable
        Floating tensor of the same shape.

    Raises
    ------
    ScanvizValueError
        If an axis does not exist or is named twice.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.nnet.softmax(x).eval({x: [1000.0, 1000.0]})
    array([0.5, 0.5])
    """
    return _build(SOFTMAX, x, axis)


def log_softmax(x: Any, axis: Any = -1) -> Variable:
    """Logarithm of softmax along an axis, exact also where the probability is too small for a float.

    Parameters
    ----------
    x, axis
        As in :func:`softmax`.

    Returns
    -------
    Variable
        Floating tensor of the same shape.

    Raises
    ------
    ScanvizValueError
        If an axis does not exist or is named twice.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.nnet.log_softmax(x).eval({x: [0.0, 1000.0]})
    array([-1000.,     0.])
    """
    return _build(LOG_SOFTMAX, x, axis)


def _build(declaration: Declaration, value: Any, axis: Any) -> Variable:
    variable = as_variable(value)
    axes = normal_axes(axis, tensor_type(variable).ndim, f"{declaration.name} of `{describe(variable)}`")
    return build_one(Op(declaration, SoftmaxParameters(axes)), variable)
