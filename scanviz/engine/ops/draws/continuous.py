"""More continuous distributions: lognormal, laplace, gumbel, beta, dirichlet and the truncated normal.

The conventions are those of :mod:`~scanviz.engine.ops.draws.distributions`.  All but lognormal are computed in float64 and rounded.

lognormal
    ``exp`` of a normal, in its dtype.
laplace, gumbel
    By the inverse of the distribution function, u in (0, 1) of one 64-bit word each: ``loc ± scale * log1p(-2 |u - 1/2|)`` and
    ``loc - scale * log(-log(u))``.
beta, dirichlet
    Ratios of gammas, by their logarithms, so that small parameters do not end in 0/0.  Element i of beta takes the blocks 2 i
    and 2 i + 1; component c of the i-th of dirichlet's vectors takes block ``i * components + c``.
truncated_normal
    By rejection, element i of block i, attempt j of its lane j: of normals where the interval holds 0 and is wide, of an
    exponential beyond a where it begins far from 0, of a uniform where it is narrow; the number is of word 0, the angle of a
    normal of word 1, the deciding uniform of word 2.  Source: C. P. Robert, "Simulation of truncated normal variables",
    Statistics and Computing 5 (1995).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from scanviz.engine.errors import ShapeError
from scanviz.engine.ops.draws.distributions import Drawn, normal, standard_gamma_logs
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
from scanviz.engine.ops.draws.philox import Words, advance, blocks_at, blocks_of_words, draw_words
from scanviz.engine.ops.draws.unit_interval import Doubles, first_accepted, from_zero, inside

_NOT_NEGATIVE = "0 or more"
_POSITIVE = "above 0"
_WIDE = 2.5  # standard deviations, from which on normals are tried
_FAR = 1e8  # beyond, the best rate of an exponential is the end itself


def lognormal(
    state: Words, shape: Shape = (), mean: Parameter = 0.0, sigma: Parameter = 1.0, dtype: DType = "float64"
) -> Drawn:
    """Draw numbers whose logarithms are normal with mean ``mean`` and standard deviation ``sigma``.

    Parameters and results are as for :func:`~scanviz.engine.ops.draws.distributions.uniform`.

    Raises
    ------
    ScanvizValueError
        If a parameter is not finite, or ``sigma`` is negative.
    ShapeError
        If a parameter does not broadcast to ``shape``.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> bool((lognormal(seed_state(1), (100,))[1] > 0).all())
    True
    """
    kind = real_dtype("lognormal", dtype)
    centre = reals("lognormal", "mean", mean, shape, kind)
    spread = reals("lognormal", "sigma", sigma, shape, kind)
    require(spread >= 0, "lognormal", "sigma", spread, _NOT_NEGATIVE)
    following, value = normal(state, shape, centre, spread, kind)
    with np.errstate(over="ignore", under="ignore"):
        return following, np.asarray(np.exp(value))


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
    centre, spread, unit = _scaled("laplace", state, shape, loc, scale, dtype)
    centred = unit - 0.5
    far = -np.log1p(-2 * np.abs(centred))
    return _finished(state, shape, np.where(centred < 0, -far, far) * spread + centre, dtype)


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
    centre, spread, unit = _scaled("gumbel", state, shape, loc, scale, dtype)
    return _finished(state, shape, centre - np.log(-np.log(unit)) * spread, dtype)


def _scaled(
    name: str, state: Words, shape: Shape, loc: Parameter, scale: Parameter, dtype: DType
) -> tuple[Doubles, Doubles, Doubles]:
    """Return location, scale and numbers in (0, 1), each of all elements on one axis."""
    real_dtype(name, dtype)
    n = size_of(name, shape)
    centre, spread = reals(name, "loc", loc, shape), reals(name, "scale", scale, shape)
    require(spread >= 0, name, "scale", spread, _NOT_NEGATIVE)
    return flat(centre, shape), flat(spread, shape), inside(draw_words(state, n))


def _finished(state: Words, shape: Shape, value: Doubles, dtype: DType) -> Drawn:
    with np.errstate(over="ignore", under="ignore"):
        return advance(state, blocks_of_words(len(value))), value.reshape(tuple(shape)).astype(dtype)


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
    kind = real_dtype("beta", dtype)
    n = size_of("beta", shape)
    first, second = reals("beta", "a", a, shape), reals("beta", "b", b, shape)
    require(first > 0, "beta", "a", first, _POSITIVE)
    require(second > 0, "beta", "b", second, _POSITIVE)
    both = np.stack([flat(first, shape), flat(second, shape)], axis=1).reshape(-1)
    logs = standard_gamma_logs(state, both).reshape(n, 2)
    with np.errstate(over="ignore", under="ignore"):
        value = 1 / (np.exp(logs[:, 1] - logs[:, 0]) + 1)
        return advance(state, 2 * n), value.reshape(tuple(shape)).astype(kind)


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
    require(
        np.isfinite(weights) & (weights > 0), "dirichlet", "alpha", weights, f"finite numbers {_POSITIVE}"
    )
    whole = (*shape, weights.shape[-1])
    count = size_of("dirichlet", whole)
    logs = standard_gamma_logs(state, flat(weights, whole)).reshape(whole)
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
    kind = real_dtype(name, dtype)
    n = size_of(name, shape)
    centre, spread = reals(name, "loc", loc, shape), reals(name, "scale", scale, shape)
    require(spread > 0, name, "scale", spread, _POSITIVE)
    ends = [np.asarray(bound, np.float64) for bound in (low, high)]
    for end, called in zip(ends, ("low", "high"), strict=True):
        broadcasts(name, called, end.shape, shape)
    c, s, first, last = (flat(end, shape) for end in (centre, spread, *ends))
    require(
        (first <= last) & (first < np.inf) & (last > -np.inf),
        name,
        "low",
        first,
        "a number, not above `high`",
    )
    with np.errstate(all="ignore"):
        left, right = (first - c) / s, (last - c) / s
        mirrored = right < 0
        a, b = np.where(mirrored, -right, left), np.where(mirrored, -left, right)
        z = _between(state, a, b)
        value = np.where(mirrored, -z, z) * s + c
        value = np.where(value < first, first, np.where(value > last, last, value))
        return advance(state, n), value.reshape(tuple(shape)).astype(kind)


def _between(state: Words, a: Doubles, b: Doubles) -> Doubles:
    """Return standard normals from a to b, where b is 0 or more."""
    nearest = np.maximum(a, 0.0)
    rate = np.where(nearest > _FAR, nearest, (nearest + np.sqrt(nearest * nearest + 4)) / 2)
    width = b - a
    normals, exponentials = (a <= 0) & (width > _WIDE), (a > 0) & (width * rate > 1)
    arrays: tuple[Array, ...] = (a, b, nearest, rate, width, normals, exponentials)

    def attempt(at: npt.NDArray[np.int64], lane: int) -> tuple[Doubles, npt.NDArray[np.bool_]]:
        return _attempt(blocks_at(state, at, lane), *(array[at] for array in arrays))

    return first_accepted(len(a), attempt)


def _attempt(
    blocks: Words,
    a: Doubles,
    b: Doubles,
    nearest: Doubles,
    rate: Doubles,
    width: Doubles,
    normals: npt.NDArray[np.bool_],
    exponentials: npt.NDArray[np.bool_],
) -> tuple[Doubles, npt.NDArray[np.bool_]]:
    """Return the proposals of one attempt and which are accepted."""
    unit = inside(blocks[:, 0])
    logarithm = np.log(unit)
    normal = np.sqrt(-2 * logarithm) * np.cos(from_zero(blocks[:, 1]) * (2 * math.pi))
    z = np.where(normals, normal, np.where(exponentials, a - logarithm / rate, a + width * unit))
    by_rate, by_density = -0.5 * (z - rate) * (z - rate), -0.5 * (z - nearest) * (z + nearest)
    bound = np.where(normals, 0.0, np.where(exponentials, by_rate, by_density))
    below = np.log(inside(blocks[:, 2])) < bound
    return z, below & (z >= a) & (z <= b)
