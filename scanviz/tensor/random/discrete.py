"""Draws of whole numbers from a random state handled by hand: counts, categories, choices and orders.

Conventions are those of :mod:`scanviz.tensor.random.draws`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.declaration import Declaration
from scanviz.engine.graph.nodes import Variable, tensor_type
from scanviz.engine.graph.types import FLOATS, INTEGERS, canonical_dtype
from scanviz.engine.ops import random as ops
from scanviz.engine.ops.elementwise import cast
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.shape import dimension
from scanviz.engine.ops.support import as_variable
from scanviz.tensor.losses import one_hot
from scanviz.tensor.random.draws import Drawn, checked_state, first_parameter


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
    return _counts(ops.POISSON, state, size, [lam], dtype)


def bernoulli(state: Variable, p: Any = 0.5, size: Any = None, dtype: object = "int64") -> Drawn:
    """Draw 1 with probability ``p``, else 0; ``dtype`` may be any, also bool.

    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> bernoulli(random_state(1), 0.2, size=2, dtype="bool")[1].type
    TensorType('bool', (2,))
    """
    return ops.draw(ops.BERNOULLI, checked_state(state), size, [p], dtype)


def binomial(state: Variable, n: Any = 1, p: Any = 0.5, size: Any = None, dtype: object = "int64") -> Drawn:
    """Draw how many of ``n`` trials succeed, each with probability ``p``.

    ``n`` holds integers from 0 to 2**53; ``dtype`` is an integer dtype that holds the result.
    Other parameters, results and errors are those of :func:`uniform`.
    One trial, as old scripts draw masks and units that are on or off, is a draw of :func:`bernoulli`, which is much faster.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> binomial(random_state(1), 10, 0.2, size=2)[1].type
    TensorType('int64', (2,))
    >>> binomial(random_state(1), 1, 0.2, size=2)[1].owner.op.name
    'draw_bernoulli'
    """
    n = first_parameter(n, size, "n")
    if _is_one(n) and canonical_dtype(dtype) in (*INTEGERS, *FLOATS):
        return _counts(ops.BERNOULLI, state, size, [p], dtype)
    return _counts(ops.BINOMIAL, state, size, [n, p], dtype)


def _counts(
    declaration: Declaration,
    state: Variable,
    size: Any,
    parameters: Sequence[Any],
    dtype: object,
    batch: Sequence[tuple[Variable, int]] = (),
) -> Drawn:
    """Draw whole numbers; in a floating dtype, as old scripts ask for, they are drawn as int64 and cast."""
    wanted = canonical_dtype(dtype)
    drawn = "int64" if wanted in FLOATS else wanted
    following, values = ops.draw(declaration, checked_state(state), size, parameters, drawn, batch=batch)
    return following, cast(values, wanted)


def _is_one(n: Any) -> bool:
    return type(n) is int and n == 1


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
    return ops.draw(ops.INTEGERS_BETWEEN, checked_state(state), size, ends, dtype)


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
    return _counts(ops.CATEGORICAL, state, size, [weights], dtype, [(weights, 1)])


def multinomial(
    state: Variable, n: Any = 1, pvals: Any = None, size: Any = None, dtype: object = "int64"
) -> Drawn:
    """Draw how many of ``n`` trials fall into each category, with the probabilities on the last axis of ``pvals``.

    The result has the categories on one more axis after ``size``; ``n`` and the other axes of ``pvals``
    broadcast to ``size``; each distribution sums to 1 (to 1e-4). Other parameters, results and errors are
    those of :func:`uniform`.  One trial is a draw of :func:`categorical`, as rows of zeros with a 1.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> multinomial(random_state(1), 5, [0.2, 0.3, 0.5], size=4)[1].type
    TensorType('int64', (4, 3))
    """
    if pvals is None:
        raise ScanvizTypeError.here("multinomial needs the probabilities of the categories", fix="pvals=[…]")
    trials, weights = as_variable(first_parameter(n, size, "n")), as_variable(pvals)
    if _is_one(n) and canonical_dtype(dtype) in (*INTEGERS, *FLOATS) and tensor_type(weights).ndim:
        following, drawn = categorical(state, weights, size)
        return following, one_hot(drawn, dimension(weights, -1), dtype)
    batch = [(trials, 0), (weights, 1)]
    return _counts(ops.MULTINOMIAL, state, size, [trials, weights], dtype, batch)


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
        ops.CHOICE, checked_state(state), wanted, parameters, "int64", replace=bool(replace)
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
    return ops.draw_permutation(checked_state(state), x)
