"""Losses of neural networks, and classes as vectors: the part of ``T.nnet`` that compares.

Losses take 0 log 0 as 0, its limit, so a probability of exactly 0 or 1 is no NaN where it is right.  The losses on logits never
form a probability at all.
"""

from __future__ import annotations

from typing import Any

from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.graph.types import INTEGERS
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops import neural
from scanviz.engine.ops import reduce as r
from scanviz.engine.ops.creation import arange
from scanviz.engine.ops.elementwise import as_floating
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.shape import dimension, dimshuffle, reshape, shape
from scanviz.engine.ops.support import as_integer, as_variable
from scanviz.tensor.statistics import logsumexp


def categorical_crossentropy(coding_dist: Any, true_dist: Any) -> Variable:
    """Crossentropy between predicted and true distributions over classes.

    Parameters
    ----------
    coding_dist : array_like
        Predicted probabilities of shape ``(..., classes)``.
    true_dist : array_like
        The true class of each, ints of shape ``(...)``; or true probabilities of the shape of ``coding_dist``.

    Returns
    -------
    Variable
        Floating tensor of shape ``(...)``: one loss for each distribution.

    Raises
    ------
    ScanvizTypeError
        If ``true_dist`` is neither.
    ScanvizIndexError
        At run time, if a class does not exist.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> p, y = T.matrix("p"), T.ivector("y")
    >>> T.nnet.categorical_crossentropy(p, y).eval({p: [[0.5, 0.5], [0.75, 0.25]], y: [0, 1]}).round(4)
    array([0.6931, 1.3863])
    """
    coding, true = as_floating(coding_dist), as_variable(true_dist)
    if _is_classes(coding, true, "categorical_crossentropy"):
        return e.negative(e.log(_of_class(coding, true)))
    return e.negative(r.sum(_weighted_log(true, coding), -1))


def softmax_crossentropy(logits: Any, true_dist: Any) -> Variable:
    """Crossentropy of ``softmax(logits)``, without forming probabilities that underflow.

    Parameters
    ----------
    logits : array_like
        Tensor of shape ``(..., classes)``.
    true_dist : array_like
        As in :func:`categorical_crossentropy`.

    Returns
    -------
    Variable
        Floating tensor of shape ``(...)``.

    Raises
    ------
    ScanvizTypeError
        If ``true_dist`` is neither.
    ScanvizIndexError
        At run time, if a class does not exist.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x, y = T.matrix("x"), T.ivector("y")
    >>> T.nnet.softmax_crossentropy(x, y).eval({x: [[0.0, 1000.0]], y: [0]})
    array([1000.])
    """
    values, true = as_floating(logits), as_variable(true_dist)
    if _is_classes(values, true, "softmax_crossentropy"):
        return e.subtract(logsumexp(values, -1), _of_class(values, true))
    return e.negative(r.sum(e.multiply_no_nan(neural.log_softmax(values), true), -1))


def binary_crossentropy(output: Any, target: Any) -> Variable:
    """Crossentropy of predicted probabilities of yes or no, element by element.

    Parameters
    ----------
    output : array_like
        Predicted probabilities.
    target : array_like
        True ones, mostly 0 and 1; broadcasts with ``output``.

    Returns
    -------
    Variable
        Floating tensor of the broadcast shape.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> p = T.vector("p")
    >>> T.nnet.binary_crossentropy(p, [1.0, 1.0]).eval({p: [0.5, 0.25]}).round(4)
    array([0.6931, 1.3863])
    """
    p, t = as_floating(output), as_variable(target)
    no_p, no_t = e.subtract(1, p), e.subtract(1, t)
    return e.negative(e.add(_weighted_log(t, p), _weighted_log(no_t, no_p)))


def sigmoid_binary_crossentropy(logits: Any, target: Any) -> Variable:
    """Crossentropy of ``sigmoid(logits)``, without forming probabilities that round to 0 or 1.

    Parameters
    ----------
    logits : array_like
        Tensor.
    target : array_like
        True probabilities; broadcasts with ``logits``.

    Returns
    -------
    Variable
        Floating tensor of the broadcast shape.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> T.nnet.sigmoid_binary_crossentropy(x, 0.0).eval({x: [1000.0]})
    array([1000.])
    """
    values = as_floating(logits)
    return e.subtract(e.softplus(values), e.multiply(values, target))


def one_hot(classes: Any, n_classes: Any, dtype: object = None) -> Variable:
    """Rows of zeros with a 1 at each class.

    Parameters
    ----------
    classes : array_like
        ints of any shape; one that is no class gives a row of zeros.
    n_classes : int or scalar
        Length of the rows.
    dtype : dtype, optional
        dtype of the result, by default ``config.floatX``.

    Returns
    -------
    Variable
        Tensor of shape ``(*classes.shape, n_classes)``.

    Raises
    ------
    ScanvizTypeError
        If ``classes`` or ``n_classes`` are no integers.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> y = T.ivector("y")
    >>> T.nnet.one_hot(y, 3).eval({y: [2, 0]})
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    given = _classes(classes, "one_hot")
    rank = tensor_type(given).ndim
    numbers = arange(as_integer(n_classes, "one_hot: n_classes"))
    return e.cast(
        e.equal(dimshuffle(given, [*range(rank), "x"]), numbers), config.floatX if dtype is None else dtype
    )


def _weighted_log(weight: Variable, value: Variable) -> Variable:
    """Return weight * log(value), 0 where the weight is 0; the log that is not taken stays finite."""
    nothing = e.equal(weight, 0)
    return e.where(nothing, 0, e.multiply(weight, e.log(e.where(nothing, 1, value))))


def _classes(classes: Any, what: str) -> Variable:
    given = as_variable(classes)
    if tensor_type(given).dtype not in INTEGERS:
        raise ScanvizTypeError.here(
            f"{what}: `{describe(given)}` are no classes",
            expected="integers",
            found=given.type,
            fix=f'T.cast({describe(given)}, "int64")',
        )
    return given


def _is_classes(predicted: Variable, true: Variable, what: str) -> bool:
    """Return whether ``true`` holds the number of a class for each row, rather than a distribution."""
    ranks = tensor_type(predicted).ndim, tensor_type(true).ndim
    if ranks[0] >= 1 and ranks[0] == ranks[1]:
        return False
    if ranks[0] >= 1 and ranks[0] == ranks[1] + 1:
        _classes(true, what)
        return True
    raise ScanvizTypeError.here(
        f"{what}: `{describe(true)}` does not fit `{describe(predicted)}`",
        expected=f"classes with {max(ranks[0] - 1, 0)} dimensions, or probabilities with {ranks[0]}",
        found=f"`{describe(true)}` {true.type}, `{describe(predicted)}` {predicted.type}",
    )


def _of_class(values: Variable, classes: Variable) -> Variable:
    """Return, of each row of values, the one of its class."""
    rank = tensor_type(values).ndim
    if rank == 1:
        return getitem(values, classes)
    if rank == 2:
        return getitem(values, (arange(dimension(values, 0)), classes))
    rows = reshape(values, [-1, dimension(values, rank - 1)])
    return reshape(_of_class(rows, reshape(classes, (-1,))), shape(classes), rank - 1)
