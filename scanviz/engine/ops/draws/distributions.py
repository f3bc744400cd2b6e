"""Continuous distributions of one word an element: uniform, normal, lognormal and exponential.

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
lognormal
    ``exp`` of a normal, in its dtype.
exponential
    ``-log(u) * scale``, u in (0, 1]: one word each.
"""

from __future__ import annotations

import math

import numpy as np

from scanviz.engine.errors import ScanvizValueError
from scanviz.engine.ops.draws.parameters import (
    Array,
    DType,
    Parameter,
    Shape,
    are_numbers,
    real_dtype,
    reals,
    size_of,
)
from scanviz.engine.ops.draws.philox import (
    Words,
    advance,
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
    Floats,
    draw_from_zero,
    draw_up_to_one,
    from_zero,
    from_zero_single,
    up_to_one,
    up_to_one_single,
)

Drawn = tuple[Words, Array]
DOUBLE = np.dtype(np.float64)


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
    centre = reals("normal", "loc", loc, shape, kind)
    spread = reals("normal", "scale", scale, shape, kind, "0 or more")
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


def lognormal(
    state: Words, shape: Shape = (), mean: Parameter = 0.0, sigma: Parameter = 1.0, dtype: DType = "float64"
) -> Drawn:
    """Draw numbers whose logarithms are normal with mean ``mean`` and standard deviation ``sigma``.

    Parameters and results are as for :func:`uniform`.

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
    spread = reals("lognormal", "sigma", sigma, shape, kind, "0 or more")
    following, value = normal(state, shape, centre, spread, kind)
    with np.errstate(over="ignore", under="ignore"):
        return following, np.asarray(np.exp(value))


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
    mean = reals("exponential", "scale", scale, shape, kind, "0 or more")
    value = -np.log(draw_up_to_one(state, n, kind)).reshape(shape) * mean
    return advance(state, _blocks(n, kind)), np.asarray(value)


def _blocks(n: int, dtype: np.dtype[np.float64]) -> int:
    return blocks_of_words(n) if dtype.itemsize == 8 else blocks_of_words32(n)
