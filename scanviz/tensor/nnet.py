"""Functions of neural networks, ``T.nnet``: activations, softmax, losses.

All but softmax are compositions of elementwise operations and reductions; losses are in :mod:`scanviz.tensor.losses`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scanviz.engine.graph.nodes import Variable
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.elementwise import as_floating
from scanviz.engine.ops.neural import log_softmax, softmax
from scanviz.engine.ops.support import as_variable
from scanviz.engine.other_names import missing
from scanviz.tensor.losses import (
    binary_crossentropy,
    categorical_crossentropy,
    one_hot,
    sigmoid_binary_crossentropy,
    softmax_crossentropy,
)

__all__ = [
    "binary_crossentropy",
    "categorical_crossentropy",
    "elu",
    "hard_sigmoid",
    "log_softmax",
    "one_hot",
    "relu",
    "sigmoid",
    "sigmoid_binary_crossentropy",
    "softmax",
    "softmax_crossentropy",
    "softplus",
    "softsign",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def sigmoid(x: Any) -> Variable:
    """Logistic function, 1 / (1 + exp(-x)).

    Parameters
    ----------
    x : array_like
        Tensor of any shape.

    Returns
    -------
    Variable
        Floating tensor of the same shape, between 0 and 1.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.nnet.sigmoid(x).eval({x: [0.0, 1000.0]})
    array([0.5, 1. ])
    """
    return e.sigmoid(x)


def hard_sigmoid(x: Any) -> Variable:
    """Straight line through the middle of the sigmoid: 0.2 x + 0.5, limited to [0, 1].

    Parameters
    ----------
    x : array_like
        Tensor of any shape.

    Returns
    -------
    Variable
        Floating tensor of the same shape.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.nnet.hard_sigmoid(x).eval({x: [-5.0, 0.0, 1.0]})
    array([0. , 0.5, 0.7])
    """
    return e.clip(e.add(e.multiply(as_floating(x), 0.2), 0.5), 0.0, 1.0)


def softplus(x: Any) -> Variable:
    """Smooth form of relu, log(1 + exp(x)), without overflow.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.

    Returns
    -------
    Variable
        Floating tensor of the same shape.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.nnet.softplus(x).eval({x: [-1000.0, 1000.0]})
    array([   0., 1000.])
    """
    return e.softplus(x)


def relu(x: Any, alpha: Any = 0) -> Variable:
    """Rectifier: x where it is positive, else ``alpha * x``.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    alpha : scalar or array_like
        Slope for negative elements; broadcasts with ``x``.

    Returns
    -------
    Variable
        Tensor of the broadcast shape; NaN stays NaN.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.nnet.relu(x, 0.5).eval({x: [-2.0, 3.0]})
    array([-1.,  3.])
    """
    variable = as_variable(x)
    if isinstance(alpha, int | float) and alpha == 0:
        return e.maximum(variable, 0)
    return e.where(e.greater(variable, 0), variable, e.multiply(variable, alpha))


def elu(x: Any, alpha: Any = 1) -> Variable:
    """Exponential linear unit: x where it is positive, else ``alpha * (exp(x) - 1)``.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.
    alpha : scalar or array_like
        Depth for very negative elements; broadcasts with ``x``.

    Returns
    -------
    Variable
        Floating tensor of the broadcast shape.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.nnet.elu(x).eval({x: [-1000.0, 3.0]})
    array([-1.,  3.])
    """
    variable = as_floating(x)
    # The minimum keeps the branch that is not taken finite, and so its gradient.
    below = e.multiply(e.expm1(e.minimum(variable, 0)), alpha)
    return e.where(e.greater(variable, 0), variable, below)


def softsign(x: Any) -> Variable:
    """Softsign, x / (1 + abs(x)): like tanh, but slower to saturate.

    Parameters
    ----------
    x : array_like
        Tensor of any shape.

    Returns
    -------
    Variable
        Floating tensor of the same shape, between -1 and 1.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.nnet.softsign(x).eval({x: [-1.0, 3.0]})
    array([-0.5 ,  0.75])
    """
    variable = as_variable(x)
    return e.divide(variable, e.add(e.absolute(variable), 1))


if not TYPE_CHECKING:  # where it would hide names that are not there

    def __getattr__(name: str) -> Any:
        raise missing(__name__, name)
