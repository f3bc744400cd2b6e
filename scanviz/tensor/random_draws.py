"""Draws from a random state handled by hand: each returns the next state and the values.

Nothing is hidden: a draw reads the state it is given, and drawing twice from one state gives the same numbers
twice. Hand the next state on, to the next draw, through a loop, or to ``function`` as an update.
:class:`~scanviz.tensor.random.RandomStreams` does that by itself.

Laws, formulas and what is equal on all backends are told in :mod:`scanviz.engine.ops.distributions` and the
files beside it.  ``size`` is an int, a scalar variable, or a sequence of them; by default it is what the
parameters broadcast to.  Parameters that are out of range raise a ScanvizValueError when values are drawn;
dtypes and shapes that cannot fit raise when the graph is built.
"""

from __future__ import annotations

from typing import Any

from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.nodes import Variable, tensor_type
from scanviz.engine.graph.provenance import user_line
from scanviz.engine.graph.types import RANDOM_STATE
from scanviz.engine.ops import random as ops
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.shape import dimension
from scanviz.engine.ops.support import as_variable

Drawn = tuple[Variable, Variable]


def _state(state: Any) -> Variable:
    if not isinstance(state, Variable) or state.type != RANDOM_STATE:
        found = str(state.type) if isinstance(state, Variable) else type(state).__name__
        raise ScanvizTypeError(
            "a draw needs a random state first",
            where=user_line(),
            found=found,
            fix="state = T.random.random_state(seed)",
        )
    return state


def _real(dtype: object) -> object:
    return config.floatX if dtype is None else dtype


def uniform(
    state: Variable, low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: object = None
) -> Drawn:
    """Draw from the uniform distribution on [low, high).

    Parameters
    ----------
    state : Variable
        Random state, from :func:`~scanviz.tensor.random.random_state` or an earlier draw.
    low, high : array_like
        Ends, which broadcast to ``size``; equal ends give that number.
    size : int, scalar variable or shape, optional
        Shape drawn; by default what the parameters broadcast to.
    dtype : dtype, optional
        float32 or float64; ``config.floatX`` by default.

    Returns
    -------
    state, values : Variable
        The next state, and values of shape ``size`` and ``dtype``.

    Raises
    ------
    ScanvizTypeError
        If ``state`` is no random state, or ``dtype`` does not fit.
    ShapeError
        If a parameter does not broadcast to ``size``.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> state = T.random.random_state(1)
    >>> state, first = T.random.uniform(state, size=3)
    >>> state, second = T.random.uniform(state, low=1.0, high=[2.0, 3.0])
    >>> [value.shape for value in scanviz.function([], [first, second])()]
    [(3,), (2,)]
    """
    return ops.draw(ops.UNIFORM, _state(state), size, [low, high], _real(dtype))


def normal(state: Variable, mean: Any = 0.0, std: Any = 1.0, size: Any = None, dtype: object = None) -> Drawn:
    """Draw from the normal distribution with mean ``mean`` and standard deviation ``std``, 0 or more.

    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> normal(random_state(1), size=2, dtype="float32")[1].type
    TensorType('float32', (2,))
    """
    return ops.draw(ops.NORMAL, _state(state), size, [mean, std], _real(dtype))


def exponential(state: Variable, scale: Any = 1.0, size: Any = None, dtype: object = None) -> Drawn:
    """Draw from the exponential distribution with mean ``scale``, 0 or more.

    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> exponential(random_state(1), [1.0, 2.0])[1].type
    TensorType('float64', (2,))
    """
    return ops.draw(ops.EXPONENTIAL, _state(state), size, [scale], _real(dtype))


def gamma(
    state: Variable, shape: Any = 1.0, scale: Any = 1.0, size: Any = None, dtype: object = None
) -> Drawn:
    """Draw from the gamma distribution; ``shape`` is its shape parameter, both are 0 or more.

    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> gamma(random_state(1), 2.5, size=(2, 3))[1].type
    TensorType('float64', (2, 3))
    """
    return ops.draw(ops.GAMMA, _state(state), size, [shape, scale], _real(dtype))


def poisson(state: Variable, lam: Any = 1.0, size: Any = None, dtype: object = "int64") -> Drawn:
    """Draw how many events happen where ``lam``, 0 or more, are expected.

    ``dtype`` is an integer dtype that holds the result.
    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> poisson(random_state(1), 4.0, size=2)[1].type
    TensorType('int64', (2,))
    """
    return ops.draw(ops.POISSON, _state(state), size, [lam], dtype)


def bernoulli(state: Variable, p: Any = 0.5, size: Any = None, dtype: object = "int64") -> Drawn:
    """Draw 1 with probability ``p``, else 0; ``dtype`` may be any, also bool.

    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> bernoulli(random_state(1), 0.2, size=2, dtype="bool")[1].type
    TensorType('bool', (2,))
    """
    return ops.draw(ops.BERNOULLI, _state(state), size, [p], dtype)


def binomial(state: Variable, n: Any = 1, p: Any = 0.5, size: Any = None, dtype: object = "int64") -> Drawn:
    """Draw how many of ``n`` trials succeed, each with probability ``p``.

    ``n`` holds integers from 0 to 2**53; ``dtype`` is an integer dtype that holds the result.
    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> binomial(random_state(1), 10, 0.2, size=2)[1].type
    TensorType('int64', (2,))
    """
    return ops.draw(ops.BINOMIAL, _state(state), size, [n, p], dtype)


def integers(state: Variable, low: Any, high: Any = None, size: Any = None, dtype: object = "int64") -> Drawn:
    """Draw integers from ``low`` (0 if ``high`` is left out) up to, not including, ``high``.

    All are exactly equally likely.  ``dtype`` is an integer dtype that holds the result.
    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> integers(random_state(1), 6, size=2, dtype="uint8")[1].type
    TensorType('uint8', (2,))
    """
    ends = [0, low] if high is None else [low, high]
    return ops.draw(ops.INTEGERS_BETWEEN, _state(state), size, ends, dtype)


def categorical(state: Variable, p: Any, size: Any = None, dtype: object = "int64") -> Drawn:
    """Draw the number of a category, with the probabilities on the last axis of ``p``.

    The other axes of ``p`` broadcast to ``size``; each distribution sums to 1 (to 1e-4).
    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> categorical(random_state(1), [0.2, 0.3, 0.5], size=4)[1].type
    TensorType('int64', (4,))
    """
    weights = as_variable(p)
    return ops.draw(ops.CATEGORICAL, _state(state), size, [weights], dtype, batch=[(weights, 1)])


def multinomial(state: Variable, n: Any, pvals: Any, size: Any = None, dtype: object = "int64") -> Drawn:
    """Draw how many of ``n`` trials fall into each category, with the probabilities on the last axis of ``pvals``.

    The result has the categories on one more axis after ``size``; ``n`` and the other axes of ``pvals``
    broadcast to ``size``; each distribution sums to 1 (to 1e-4). Other parameters, results and errors are
    those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> multinomial(random_state(1), 5, [0.2, 0.3, 0.5], size=4)[1].type
    TensorType('int64', (4, 3))
    """
    trials, weights = as_variable(n), as_variable(pvals)
    batch = [(trials, 0), (weights, 1)]
    return ops.draw(ops.MULTINOMIAL, _state(state), size, [trials, weights], dtype, batch=batch)


def choice(state: Variable, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Drawn:
    """Choose among the numbers 0 to ``a - 1``, or among the rows of an array ``a``.

    Parameters
    ----------
    state : Variable
        Random state.
    a : int, scalar variable or array
        How many candidates, or the candidates on the first axis.
    size : int, scalar variable or shape, optional
        Shape chosen; one by default.
    replace : bool
        Whether a candidate may come more than once.
    p : array_like, optional
        Probability of each candidate; by default all the same.

    Returns
    -------
    state, values : Variable
        The next state, and the numbers (int64) or rows chosen.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> choice(random_state(1), [2.5, 7.5], size=4)[1].type
    TensorType('float64', (4,))
    """
    source = as_variable(a)
    bare = tensor_type(source).ndim == 0
    parameters = [source if bare else dimension(source, 0)]
    if p is not None:
        parameters.append(as_variable(p))
    wanted = () if size is None else size
    following, chosen = ops.draw(
        ops.CHOICE, _state(state), wanted, parameters, "int64", replace=bool(replace)
    )
    return following, chosen if bare else getitem(source, chosen)


def permutation(state: Variable, x: Any) -> Drawn:
    """Return the next state, and the numbers 0 to ``x - 1`` or the rows of an array ``x`` in random order.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> permutation(random_state(1), 5)[1].type
    TensorType('int64', (5,))
    """
    return ops.draw_permutation(_state(state), x)


__all__ = [
    "bernoulli",
    "binomial",
    "categorical",
    "choice",
    "exponential",
    "gamma",
    "integers",
    "multinomial",
    "normal",
    "permutation",
    "poisson",
    "uniform",
]
