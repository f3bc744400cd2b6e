"""Draws from a random state handled by hand: each returns the next state and the values.

Nothing is hidden: a draw reads the state it is given, and drawing twice from one state gives the same numbers
twice. Hand the next state on, to the next draw, through a loop, or to ``function`` as an update.
:class:`~scanviz.tensor.random.RandomStreams` does that by itself.

:mod:`scanviz.engine.ops.draws.distributions` and the files beside it document laws, formulas and equality across backends.
``size`` is an int, a scalar variable, or a sequence of them; by default it is what the parameters broadcast to.  Parameters that
are out of range raise a ScanvizValueError when values are drawn; dtypes and shapes that cannot fit raise when the graph is built.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizTypeError, ShapeError
from scanviz.engine.graph.declaration import Declaration
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.graph.types import FLOATS, INTEGERS, RANDOM_STATE, canonical_dtype
from scanviz.engine.ops import random as ops
from scanviz.engine.ops.elementwise import add, cast
from scanviz.engine.ops.factorise import cholesky
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.linalg import matmul
from scanviz.engine.ops.shape import dimension, dimshuffle, sizes_of
from scanviz.engine.ops.size_checks import specify_shape
from scanviz.engine.ops.sizes import is_whole
from scanviz.engine.ops.support import as_variable
from scanviz.tensor.losses import one_hot

__all__ = [
    "bernoulli", "beta", "binomial", "categorical", "choice", "dirichlet", "exponential", "gamma", "gumbel", "integers", "laplace",
    "lognormal", "multinomial", "multivariate_normal", "normal", "permutation", "poisson", "standard_normal", "truncated_normal",
    "uniform",
]  # fmt: skip

Drawn = tuple[Variable, Variable]


def checked_state(state: Any) -> Variable:
    """Return the random state that a draw reads, after a check that it is one."""
    if not isinstance(state, Variable) or state.type != RANDOM_STATE:
        found = str(state.type) if isinstance(state, Variable) else type(state).__name__
        raise ScanvizTypeError.here(
            "a draw needs a random state first",
            found=found,
            fix="T.random.RandomStreams(seed).normal(…), which keeps one; or state = T.random.random_state(seed)",
        )
    return state


def first_parameter(first: Any, size: Any, name: str) -> Any:
    """Return a distribution's first parameter, unless it is a shape and no size is given: in Theano and JAX that stands there."""
    made = first.owner if isinstance(first, Variable) else None
    if isinstance(first, tuple):
        is_shape = all(
            is_whole(part) if isinstance(part, Variable) else isinstance(part, int) for part in first
        )
    elif made is not None and made.op.name == "make_vector":  # x.shape
        is_shape = all(part.owner is not None and part.owner.op.name == "dimension" for part in made.inputs)
    else:
        return first
    if size is None and is_shape:
        raise ScanvizTypeError.here(
            f"a shape stands in the place of `{name}`",
            found=describe(first) if isinstance(first, Variable) else repr(first),
            fix=f"size=…, by name; {name}=[…] for a list of numbers",
            shown=True,
        )
    return first


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
    return ops.draw(
        ops.UNIFORM, checked_state(state), size, [first_parameter(low, size, "low"), high], _real(dtype)
    )


def normal(
    state: Variable,
    loc: Any = 0.0,
    scale: Any = 1.0,
    size: Any = None,
    dtype: object = None,
    *,
    mean: Any = None,
    std: Any = None,
) -> Drawn:
    """Draw from the normal distribution with mean ``loc`` and standard deviation ``scale``, 0 or more.

    ``mean`` and ``std`` are older names of the two.
    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> normal(random_state(1), size=2, dtype="float32")[1].type
    TensorType('float32', (2,))
    """
    loc, scale = loc if mean is None else mean, scale if std is None else std
    loc = first_parameter(loc, size, "loc")
    return ops.draw(ops.NORMAL, checked_state(state), size, [loc, scale], _real(dtype))


def standard_normal(state: Variable, size: Any = None, dtype: object = None) -> Drawn:
    """Draw from the normal distribution with mean 0 and standard deviation 1.

    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> standard_normal(random_state(1), (2, 3))[1].type
    TensorType('float64', (2, 3))
    """
    return normal(state, size=size, dtype=dtype)


def lognormal(
    state: Variable, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, dtype: object = None
) -> Drawn:
    """Draw numbers whose logarithms are normal with mean ``mean`` and standard deviation ``sigma``, 0 or more.

    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> lognormal(random_state(1), [0.0, 1.0])[1].type
    TensorType('float64', (2,))
    """
    return ops.draw(
        ops.LOGNORMAL, checked_state(state), size, [first_parameter(mean, size, "mean"), sigma], _real(dtype)
    )


def laplace(
    state: Variable, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: object = None
) -> Drawn:
    """Draw from the Laplace distribution around ``loc`` with mean distance ``scale``, 0 or more.

    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> laplace(random_state(1), size=2)[1].type
    TensorType('float64', (2,))
    """
    return ops.draw(
        ops.LAPLACE, checked_state(state), size, [first_parameter(loc, size, "loc"), scale], _real(dtype)
    )


def gumbel(
    state: Variable, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: object = None
) -> Drawn:
    """Draw from the Gumbel distribution, that of the largest of many numbers, with mode ``loc`` and ``scale``, 0 or more.

    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> gumbel(random_state(1), size=2)[1].type
    TensorType('float64', (2,))
    """
    return ops.draw(
        ops.GUMBEL, checked_state(state), size, [first_parameter(loc, size, "loc"), scale], _real(dtype)
    )


def beta(state: Variable, a: Any, b: Any, size: Any = None, dtype: object = None) -> Drawn:
    """Draw from the beta distribution on (0, 1); ``a`` and ``b`` are above 0.

    It is drawn by rejection, so it has no derivative with respect to ``a`` and ``b``.
    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> beta(random_state(1), 2.0, [3.0, 4.0])[1].type
    TensorType('float64', (2,))
    """
    return ops.draw(ops.BETA, checked_state(state), size, [a, b], _real(dtype))


def dirichlet(state: Variable, alpha: Any, size: Any = None, dtype: object = None) -> Drawn:
    """Draw probabilities that sum to 1, one for each number above 0 on the last axis of ``alpha``.

    The result has them on one more axis after ``size``; the other axes of ``alpha`` broadcast to ``size``.  It is drawn by
    rejection, so it has no derivative with respect to ``alpha``.
    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> dirichlet(random_state(1), [1.0, 2.0, 3.0], size=4)[1].type
    TensorType('float64', (4, 3))
    """
    weights = as_variable(alpha)
    return ops.draw(ops.DIRICHLET, checked_state(state), size, [weights], _real(dtype), batch=[(weights, 1)])


def truncated_normal(
    state: Variable,
    loc: Any = 0.0,
    scale: Any = 1.0,
    low: Any = -math.inf,
    high: Any = math.inf,
    size: Any = None,
    dtype: object = None,
) -> Drawn:
    """Draw from the normal distribution of mean ``loc`` and standard deviation ``scale``, among numbers from ``low`` to ``high``.

    ``scale`` is above 0, and the ends may be infinite, and as far out as they like.  It is drawn by rejection, so it has no
    derivative with respect to its parameters.
    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> truncated_normal(random_state(1), low=0.0, size=2)[1].type
    TensorType('float64', (2,))
    """
    return ops.draw(ops.TRUNCATED_NORMAL, checked_state(state), size, [loc, scale, low, high], _real(dtype))


def multivariate_normal(
    state: Variable, mean: Any, cov: Any, size: Any = None, dtype: object = None
) -> Drawn:
    """Draw vectors from the normal distribution with mean ``mean`` and covariance ``cov``, positive definite.

    The vectors are on one more axis after ``size``; axes of ``mean`` before its last and of ``cov`` before its last two broadcast
    to it.  A vector is ``mean + L z`` with the lower Cholesky factor L of ``cov`` and standard normals z, so it has derivatives
    with respect to both.
    Other parameters, results and errors are those of :func:`uniform`; a covariance that is not positive definite is an error
    when the function runs.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> multivariate_normal(random_state(1), [0.0, 1.0], [[2.0, 0.5], [0.5, 1.0]], size=4)[1].type
    TensorType('float64', (4, 2))
    """
    kind = canonical_dtype(_real(dtype))
    centre, matrix = cast(as_variable(mean), kind), cast(as_variable(cov), kind)
    for variable, name, least in ((centre, "mean", 1), (matrix, "cov", 2)):
        if tensor_type(variable).ndim < least:
            raise ShapeError.here(
                f"multivariate_normal: `{name}` holds no {'vector' if least == 1 else 'matrix'}",
                expected=f"at least {least} dimension{'s' * (least - 1)}",
                found=variable.type,
            )
    if size is None:
        sizes = ops.broadcast_sizes([(centre, 1), (matrix, 2)])
    else:
        sizes = sizes_of(size, "multivariate_normal: size")
    count = dimension(centre, tensor_type(centre).ndim - 1)
    following, z = ops.draw(ops.NORMAL, checked_state(state), [*sizes, count], [0.0, 1.0], kind)
    rank = tensor_type(z).ndim
    product = matmul(cholesky(matrix), dimshuffle(z, *range(rank), "x"))
    vectors = add(centre, dimshuffle(product, *range(tensor_type(product).ndim - 1)))
    if tensor_type(vectors).ndim != rank:
        raise ShapeError.here(
            "multivariate_normal: `mean` and `cov` do not broadcast to the drawn size",
            expected=f"at most {rank - 1} axes before the vectors",
            found=f"mean {centre.type}, cov {matrix.type}",
        )
    return following, specify_shape(vectors, [*sizes, count], "multivariate_normal")


def exponential(state: Variable, scale: Any = 1.0, size: Any = None, dtype: object = None) -> Drawn:
    """Draw from the exponential distribution with mean ``scale``, 0 or more.

    Other parameters, results and errors are those of :func:`uniform`.

    Examples
    --------
    >>> from scanviz.tensor.random import random_state
    >>> exponential(random_state(1), [1.0, 2.0])[1].type
    TensorType('float64', (2,))
    """
    return ops.draw(
        ops.EXPONENTIAL, checked_state(state), size, [first_parameter(scale, size, "scale")], _real(dtype)
    )


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
    return ops.draw(ops.GAMMA, checked_state(state), size, [shape, scale], _real(dtype))


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
        Number of candidates, or the candidates on the first axis.
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
