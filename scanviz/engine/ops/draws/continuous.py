"""More continuous distributions: laplace, gumbel, gamma, beta, dirichlet and the truncated normal.

The conventions are those of :mod:`~scanviz.engine.ops.draws.distributions`.  All are computed in float64 and rounded, by the
formulas of :mod:`~scanviz.engine.ops.formulas.draws`, which machine code is made of too.

laplace, gumbel
    By the inverse of the distribution function, u in (0, 1) of one 64-bit word each: ``loc ± scale * log1p(-2 |u - 1/2|)`` and
    ``loc - scale * log(-log(u))``.
gamma
    Marsaglia and Tsang, "A simple method for generating gamma variables" (2000), in float64; element i uses block i.  Word 0
    of lane 0 is the uniform that turns gamma(k + 1) into gamma(k) for k < 1.  Lane j = 1, 2, … has attempt j: word 0 is the
    normal's radius, word 1 its angle, word 2 the deciding uniform.
beta, dirichlet
    Ratios of gammas, by their logarithms, so that small parameters do not end in 0/0.  Element i of beta takes the blocks 2 i
    and 2 i + 1; component c of the i-th of dirichlet's vectors takes block ``i * components + c``.
truncated_normal
    By rejection: element i uses block i, attempt j its lane j.  Candidates are normals where the interval holds 0 and is
    wide, exponentials where it begins far from 0, uniforms where it is narrow.  Word 0 is the number, word 1 the angle of a
    normal, word 2 the deciding uniform.  Source: C. P. Robert, "Simulation of truncated normal variables", Statistics and
    Computing 5 (1995).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from scanviz.engine.errors import ShapeError
from scanviz.engine.ops.draws.distributions import Drawn
from scanviz.engine.ops.draws.parameters import (
    Array,
    DType,
    Parameter,
    Shape,
    broadcasts,
    flat,
    real_dtype,
    reals,
    require,
    size_of,
)
from scanviz.engine.ops.draws.philox import Words, advance, blocks_of_words


def _drawn(
    name: str, state: Words, shape: Shape, parameters: Sequence[Array], dtype: DType, words: int = 4
) -> Drawn:
    """Draw by the formula of a distribution, with a fixed number of 64-bit words per element."""
    from scanviz.engine.ops.formulas.draws import numbers_by_formula  # 10 ms, when one is drawn

    kind, n = real_dtype(name, dtype), size_of(name, shape)
    value = numbers_by_formula(name, state, [flat(parameter, shape) for parameter in parameters])
    with np.errstate(over="ignore", under="ignore"):
        return advance(state, blocks_of_words(words * n)), value.reshape(tuple(shape)).astype(kind)


def laplace(
    state: Words, shape: Shape = (), loc: Parameter = 0.0, scale: Parameter = 1.0, dtype: DType = "float64"
) -> Drawn:
    """Draw from the Laplace distribution around ``loc`` with mean distance ``scale``.

    Parameters, results and errors are as for :func:`gumbel`.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> abs(laplace(seed_state(1), (5000,), scale=3.0)[1]).mean().round()
    np.float64(3.0)
    """
    centre = reals("laplace", "loc", loc, shape)
    spread = reals("laplace", "scale", scale, shape, allowed="0 or more")
    return _drawn("laplace", state, shape, (centre, spread), dtype, words=1)


def gumbel(
    state: Words, shape: Shape = (), loc: Parameter = 0.0, scale: Parameter = 1.0, dtype: DType = "float64"
) -> Drawn:
    """Draw from the Gumbel distribution, that of the largest of many numbers, with mode ``loc``.

    Parameters and results are as for :func:`~scanviz.engine.ops.draws.distributions.uniform`.

    Raises
    ------
    ScanvizValueError
        If a parameter is not finite, or ``scale`` is negative.
    ShapeError
        If a parameter does not broadcast to ``shape``.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> bool(np.isfinite(gumbel(seed_state(1), (100,))[1]).all())
    True
    """
    centre = reals("gumbel", "loc", loc, shape)
    spread = reals("gumbel", "scale", scale, shape, allowed="0 or more")
    return _drawn("gumbel", state, shape, (centre, spread), dtype, words=1)


def gamma(
    state: Words,
    shape: Shape = (),
    concentration: Parameter = 1.0,
    scale: Parameter = 1.0,
    dtype: DType = "float64",
) -> Drawn:
    """Draw from the gamma distribution with shape parameter ``concentration`` and ``scale``.

    Parameters and results are as for :func:`~scanviz.engine.ops.draws.distributions.uniform`.  NumPy calls ``concentration``
    ``shape``, and so do messages.  A concentration of 0 gives 0.

    Raises
    ------
    ScanvizValueError
        If a parameter is negative or not finite.
    ShapeError
        If it does not broadcast to ``shape``.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> gamma(seed_state(1), (2000,), concentration=9.0)[1].mean().round()
    np.float64(9.0)
    """
    k = reals("gamma", "shape", concentration, shape, allowed="0 or more")
    factor = reals("gamma", "scale", scale, shape, allowed="0 or more")
    return _drawn("gamma", state, shape, (k, factor), dtype)


def beta(
    state: Words, shape: Shape = (), a: Parameter = 1.0, b: Parameter = 1.0, dtype: DType = "float64"
) -> Drawn:
    """Draw from the beta distribution.

    Parameters and results are as for :func:`~scanviz.engine.ops.draws.distributions.uniform`.

    Raises
    ------
    ScanvizValueError
        If a parameter is not finite and above 0.
    ShapeError
        If a parameter does not broadcast to ``shape``.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> beta(seed_state(1), (4000,), 4.0, 1.0)[1].mean().round(1)
    np.float64(0.8)
    """
    first = reals("beta", "a", a, shape, allowed="above 0")
    second = reals("beta", "b", b, shape, allowed="above 0")
    return _drawn("beta", state, shape, (first, second), dtype, words=8)


def dirichlet(state: Words, shape: Shape = (), alpha: Parameter = (1.0,), dtype: DType = "float64") -> Drawn:
    """Draw probabilities that sum to 1: as many as ``alpha`` has on its last axis, which comes after ``shape``.

    Parameters and results are as for :func:`~scanviz.engine.ops.draws.distributions.uniform`; the other axes of ``alpha`` broadcast
    to ``shape``.

    Raises
    ------
    ScanvizValueError
        If an element of ``alpha`` is not finite and above 0.
    ShapeError
        If it has no last axis, or does not broadcast to ``shape``.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> dirichlet(seed_state(1), (2,), [1.0, 2.0, 3.0])[1].sum(axis=1)
    array([1., 1.])
    """
    kind = real_dtype("dirichlet", dtype)
    weights = np.asarray(alpha, np.float64)
    if weights.ndim == 0 or weights.shape[-1] == 0:
        raise ShapeError(
            "dirichlet: `alpha` holds no category",
            expected="one number a category on the last axis",
            found=f"shape {weights.shape}",
        )
    broadcasts("dirichlet", "alpha", weights.shape[:-1], shape)
    require(np.isfinite(weights) & (weights > 0), "dirichlet", "alpha", weights, "finite numbers above 0")
    from scanviz.engine.ops.formulas.draws import numbers_by_formula

    whole = (*shape, weights.shape[-1])
    count = size_of("dirichlet", whole)
    logs = numbers_by_formula("log_gamma", state, [flat(weights, whole)]).reshape(whole)
    with np.errstate(under="ignore"):
        shares = np.exp(logs - logs.max(axis=-1, keepdims=True)) if count else logs
        value = shares / shares.sum(axis=-1, keepdims=True)
        return advance(state, count), np.asarray(value).astype(kind)


def truncated_normal(
    state: Words,
    shape: Shape = (),
    loc: Parameter = 0.0,
    scale: Parameter = 1.0,
    low: Parameter = -math.inf,
    high: Parameter = math.inf,
    dtype: DType = "float64",
) -> Drawn:
    """Draw from the normal distribution of mean ``loc`` and standard deviation ``scale``, among numbers from ``low`` to ``high``.

    Parameters and results are as for :func:`~scanviz.engine.ops.draws.distributions.uniform`; ends may be infinite.

    Raises
    ------
    ScanvizValueError
        If ``loc`` is not finite, ``scale`` not finite and above 0, or there is no number between the ends.
    ShapeError
        If a parameter does not broadcast to ``shape``.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> value = truncated_normal(seed_state(1), (100,), low=7.0)[1]
    >>> bool((value >= 7).all() and (value < 9).all())
    True
    """
    name = "truncated_normal"
    centre, spread = reals(name, "loc", loc, shape), reals(name, "scale", scale, shape, allowed="above 0")
    ends = [np.asarray(bound, np.float64) for bound in (low, high)]
    for end, called in zip(ends, ("low", "high"), strict=True):
        broadcasts(name, called, end.shape, shape)
    first, last = (flat(end, shape) for end in ends)
    right = (first <= last) & (first < np.inf) & (last > -np.inf)
    require(right, name, "low", first, "a number, not above `high`")
    return _drawn(name, state, shape, (centre, spread, *ends), dtype)
