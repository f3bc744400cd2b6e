"""Continuous distributions: uniform, normal, exponential and gamma.

Each is a function from a state to a state and values.  It takes a state (:mod:`~scanviz.engine.ops.draws.philox`)
and returns the state after the draw with the values.  How far the state moves depends on the shape and the
dtype only, and elements are numbered in C order, so a longer draw starts with the elements of a shorter one.
Parameters broadcast to the shape drawn.

The formulas are fixed, operation by operation, for all backends.  Uniforms are equal everywhere to the last
bit (a backend must not contract ``low + (high - low) * u`` to a fused multiply-add).  The others call log,
cos, sin, sqrt or pow, whose last bits differ between mathematical libraries: relative error 1e-12 (float64)
and 1e-5 (float32), except that a rejection may fall the other way once in about 2**40 attempts.

uniform
    ``low + (high - low) * u``, u in [0, 1): one word of the dtype's width each.
normal
    Box and Muller (1958): elements 2q and 2q + 1 are ``r * cos(a)`` and ``r * sin(a)`` with
    ``r = sqrt(-2 * log(u))``, u in (0, 1] of word 2q, and ``a = 2 * pi * v``, v in [0, 1) of word 2q + 1.
exponential
    ``-log(u) * scale``, u in (0, 1]: one word each.
gamma
    Marsaglia and Tsang, "A simple method for generating gamma variables" (2000), in float64; element i uses
    block i.  Lane 0 holds the uniform that turns gamma(k + 1) into gamma(k) for k < 1, of word 0; lane j = 1, 2, …
    holds attempt j: the normal's radius of word 0, its angle of word 1, the deciding uniform of word 2.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from scanviz.engine.errors import ScanvizValueError
from scanviz.engine.ops.draws.parameters import (
    Array,
    DType,
    Parameter,
    Shape,
    are_numbers,
    flat,
    real_dtype,
    reals,
    require,
    size_of,
)
from scanviz.engine.ops.draws.philox import (
    Words,
    advance,
    blocks_at,
    blocks_of_words,
    blocks_of_words32,
    draw_words,
    draw_words32,
    first_word,
    first_words,
    writable_pieces,
)
from scanviz.engine.ops.draws.unit_interval import (
    SHORT,
    UNIT53,
    Doubles,
    Floats,
    draw_from_zero,
    draw_up_to_one,
    first_accepted,
    from_zero,
    from_zero_single,
    inside,
    up_to_one,
    up_to_one_single,
)

Drawn = tuple[Words, Array]
DOUBLE = np.dtype(np.float64)
_NOT_NEGATIVE = "0 or more"
LEAST_LOG = -8e307  # of a gamma: beyond, differences would not be numbers


def uniform(
    state: Words, shape: Shape = (), low: Parameter = 0.0, high: Parameter = 1.0, dtype: DType = "float64"
) -> Drawn:
    """Draw from the uniform distribution on [low, high).

    Parameters
    ----------
    state : numpy.ndarray
        Generator state, uint64 of shape (4,).
    shape : sequence of int
        Shape of the draw.
    low, high : array_like
        Ends, broadcasting to ``shape``.  Equal ends give that number; rounding may give ``high`` itself.
    dtype : dtype
        float32 or float64.

    Returns
    -------
    state, value : numpy.ndarray
        The state after the draw, and an array of ``shape`` and ``dtype``.

    Raises
    ------
    ScanvizValueError
        If an end is not finite, or ``low > high``.
    ShapeError
        If an end does not broadcast to ``shape``.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> state, value = uniform(seed_state(1), (2, 3), low=-1.0)
    >>> value.shape, bool((value >= -1).all() and (value < 1).all())
    ((2, 3), True)
    """
    kind = real_dtype("uniform", dtype)
    n = size_of("uniform", shape)
    if kind.itemsize == 8 and are_numbers(low, high):
        return _uniform_between(state, shape, float(low), float(high))  # type: ignore[arg-type]  # scalars
    start, stop = reals("uniform", "low", low, shape, kind), reals("uniform", "high", high, shape, kind)
    with np.errstate(over="ignore"):
        width = np.asarray(stop - start)
    if not ((width >= 0) & (width < np.inf)).all():
        raise _bad_ends(start, stop)
    value = draw_from_zero(state, n, kind).reshape(shape)
    value *= width
    value += start
    return advance(state, _blocks(n, kind)), value


def _uniform_between(state: Words, shape: Shape, low: float, high: float) -> Drawn:
    """Draw float64 uniforms between two numbers: the same roundings as above, without the cost of NumPy on tiny arrays."""
    width = high - low
    if not 0.0 <= width < math.inf:
        raise _bad_ends(low, high)
    if not shape:
        return advance(state, 1), np.array(low + width * ((first_word(state) >> 11) * UNIT53))
    n = math.prod(shape)
    value = draw_from_zero(state, n, DOUBLE).reshape(shape)
    if width != 1:
        value *= width
    if low != 0:
        value += low
    return advance(state, blocks_of_words(n)), value


def _bad_ends(low: float | Array, high: float | Array) -> ScanvizValueError:
    expected = "finite numbers, `low` not above `high`, `high - low` finite"
    return ScanvizValueError(
        "uniform: `low` and `high` do not make a range",
        expected=expected,
        found=f"low = {low}, high = {high}",
    )


def normal(
    state: Words, shape: Shape = (), loc: Parameter = 0.0, scale: Parameter = 1.0, dtype: DType = "float64"
) -> Drawn:
    """Draw from the normal distribution with mean ``loc`` and standard deviation ``scale``.

    Parameters and results are as for :func:`uniform`.

    Raises
    ------
    ScanvizValueError
        If a parameter is not finite, or ``scale`` is negative.
    ShapeError
        If a parameter does not broadcast to ``shape``.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> normal(seed_state(1), (1000,), loc=5.0)[1].mean().round()
    np.float64(5.0)
    """
    kind = real_dtype("normal", dtype)
    n = size_of("normal", shape)
    if kind.itemsize == 8 and are_numbers(loc, scale):
        drawn = _normal_around(state, shape, float(loc), float(scale))  # type: ignore[arg-type]  # scalars
        if drawn is not None:
            return drawn
    centre, spread = reals("normal", "loc", loc, shape, kind), reals("normal", "scale", scale, shape, kind)
    require(spread >= 0, "normal", "scale", spread, _NOT_NEGATIVE)
    value = spread * standard_normals(state, n, kind).reshape(shape)
    value += centre
    return advance(state, _blocks(n + n % 2, kind)), np.asarray(value)


def _normal_around(state: Words, shape: Shape, loc: float, scale: float) -> Drawn | None:
    """Draw float64 normals around a number, as above without the cost of NumPy on tiny arrays; None for bad parameters."""
    if not (0.0 <= scale < math.inf and math.isfinite(loc)):
        return None
    if not shape:
        return advance(state, 1), np.array(_one_normal(state, loc, scale))
    n = math.prod(shape)
    value = standard_normals(state, n, DOUBLE).reshape(shape)
    if scale != 1:
        value *= scale
    value += loc
    return advance(state, blocks_of_words(n + n % 2)), value


def _one_normal(state: Words, loc: float, scale: float) -> float:
    """Return one float64 normal: the same roundings as of many.

    Logarithm and cosine are NumPy's here too: the last bits of Python's may be others.
    """
    far, turn = first_words(state)
    radius = math.sqrt(-2 * float(np.log(1.0 - (far >> 11) * UNIT53)))
    return scale * (radius * float(np.cos((turn >> 11) * UNIT53 * (2 * math.pi)))) + loc


def standard_normals(state: Words, n: int, dtype: np.dtype[np.float64]) -> Floats:
    """Return ``n`` standard normals, computed in ``dtype``; they take the words of ``n`` rounded up to even."""
    even = n + n % 2
    value = np.empty((even // 2, 2), dtype)
    if dtype.itemsize == 8 and even <= SHORT:
        words64 = draw_words(state, even)
        _turned(up_to_one(words64[0::2]), from_zero(words64[1::2]), value)
    elif dtype.itemsize == 8:
        for place, piece in writable_pieces(state, even):
            for first in range(0, len(piece), SHORT):
                words64, at = piece[first : first + SHORT], (place.start + first) // 2
                _turned(
                    up_to_one(words64[0::2]), from_zero(words64[1::2]), value[at : at + len(words64) // 2]
                )
    else:
        words = draw_words32(state, even)
        _turned(up_to_one_single(words[0::2]), from_zero_single(words[1::2]), value)
    return value.reshape(-1)[:n]


def _turned(radius: Floats, turn: Floats, out: Floats) -> None:
    """Write pairs of normals: a radius by the logarithm of a uniform number, at an angle that is a part of a turn."""
    radius = np.sqrt(-2 * np.log(radius))
    angle = turn * turn.dtype.type(2 * math.pi)
    np.multiply(radius, np.cos(angle), out=out[:, 0])
    np.multiply(radius, np.sin(angle), out=out[:, 1])


def exponential(state: Words, shape: Shape = (), scale: Parameter = 1.0, dtype: DType = "float64") -> Drawn:
    """Draw from the exponential distribution with mean ``scale``.

    Parameters and results are as for :func:`uniform`.

    Raises
    ------
    ScanvizValueError
        If ``scale`` is negative or not finite.
    ShapeError
        If it does not broadcast to ``shape``.

    Examples
    --------
    >>> from scanviz.engine.ops.draws.philox import seed_state
    >>> bool(exponential(seed_state(1), scale=2.0)[1] >= 0)
    True
    """
    kind = real_dtype("exponential", dtype)
    n = size_of("exponential", shape)
    mean = reals("exponential", "scale", scale, shape, kind)
    require(mean >= 0, "exponential", "scale", mean, _NOT_NEGATIVE)
    value = -np.log(draw_up_to_one(state, n, kind)).reshape(shape) * mean
    return advance(state, _blocks(n, kind)), np.asarray(value)


def gamma(
    state: Words,
    shape: Shape = (),
    concentration: Parameter = 1.0,
    scale: Parameter = 1.0,
    dtype: DType = "float64",
) -> Drawn:
    """Draw from the gamma distribution with shape parameter ``concentration`` and ``scale``.

    Parameters and results are as for :func:`uniform`; NumPy calls ``concentration`` ``shape``, and so do
    messages. A concentration of 0 gives 0.

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
    kind = real_dtype("gamma", dtype)
    n = size_of("gamma", shape)
    k, factor = reals("gamma", "shape", concentration, shape), reals("gamma", "scale", scale, shape)
    require(k >= 0, "gamma", "shape", k, _NOT_NEGATIVE)
    require(factor >= 0, "gamma", "scale", factor, _NOT_NEGATIVE)
    with np.errstate(over="ignore", under="ignore"):
        value = standard_gammas(state, flat(k, shape)).reshape(shape) * factor
        return advance(state, n), np.asarray(value).astype(kind)


def standard_gammas(state: Words, concentration: Doubles) -> Doubles:
    """Return one float64 gamma of scale 1 for each concentration, shape (n,); they take ``n`` blocks."""
    small, value = _large_gammas(state, concentration)
    below = np.flatnonzero(small)
    if len(below):
        with np.errstate(divide="ignore"):
            value[below] *= inside(blocks_at(state, below)[:, 0]) ** (1 / concentration[below])
    return value


def standard_gamma_logs(state: Words, concentration: Doubles) -> Doubles:
    """Return the logarithms of such gammas: they do not underflow where a concentration is small."""
    small, value = _large_gammas(state, concentration)
    value = np.log(value)
    below = np.flatnonzero(small)
    if len(below):
        value[below] += np.log(inside(blocks_at(state, below)[:, 0])) / concentration[below]
    return np.asarray(np.maximum(value, LEAST_LOG))


def _large_gammas(state: Words, concentration: Doubles) -> tuple[npt.NDArray[np.bool_], Doubles]:
    """Return where a concentration is below 1, and gammas of those numbers, there of one more."""
    small = concentration < 1
    shifted = concentration + small - 1 / 3
    spread = 1 / np.sqrt(9 * shifted)

    def attempt(at: npt.NDArray[np.int64], lane: int) -> tuple[Doubles, npt.NDArray[np.bool_]]:
        return _gamma_attempt(blocks_at(state, at, lane), shifted[at], spread[at])

    return small, first_accepted(len(concentration), attempt, 1)


def _gamma_attempt(blocks: Words, shifted: Doubles, spread: Doubles) -> tuple[Doubles, npt.NDArray[np.bool_]]:
    """Return the proposals of one attempt and which are accepted; 1 - v + log(v) does not cancel."""
    radius = np.sqrt(-2 * np.log(up_to_one(blocks[:, 0])))
    x = radius * np.cos(from_zero(blocks[:, 1]) * (2 * math.pi))
    t = np.maximum(spread * x, -1.0)
    root = 1 + t
    deciding = np.log(inside(blocks[:, 2]))
    with np.errstate(divide="ignore"):
        bound = 0.5 * x * x + shifted * (3 * np.log1p(t) - t * (3 + t * (3 + t)))
    return shifted * (root * root * root), deciding < bound


def _blocks(n: int, dtype: np.dtype[np.float64]) -> int:
    return blocks_of_words(n) if dtype.itemsize == 8 else blocks_of_words32(n)
