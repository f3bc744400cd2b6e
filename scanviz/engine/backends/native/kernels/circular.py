"""Vectorised sine, cosine, tangent, arctangent, arctan2 and hypot.

Sine and cosine: with k the integer nearest to x/(π/2), r = x - k π/2 is computed in two parts by three-part subtraction (Cody and
Waite), each remainder keeping the rounding error.  This is exact for moderate k; larger numbers, NaN and infinity go to the C
library.  The series on [-π/4, π/4] are those of Sun's fdlibm (float64) and of Moshier's Cephes (float32).

Arctangent: as in fdlibm, the argument is reduced by the nearest of ½, 1, 3/2 and infinity to below 7/16, where a minimax polynomial
is used.  arctan2 takes the smaller coordinate over the larger and rotates the result.  Zeros, infinities, NaN and subnormal
quotients go to the C library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from scanviz.engine.backends.native.emit.ir import Value, type_of
from scanviz.engine.backends.native.kernels.floats import Floats


class CircularConstants(NamedTuple):
    """Constants of one format: π/2 in three parts, the largest argument, coefficients from r² on."""

    half_pi: tuple[float, float, float]
    largest: float
    sine: tuple[float, ...]
    cosine: tuple[float, ...]


CONSTANTS = {
    "float64": CircularConstants(
        (1.5707963267948966, 6.12323399538461e-17, 3.5215598651832e-27),
        1e6,
        (
            -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
            2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10,
        ),
        (
            4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
            -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11,
        ),
    ),
    "float32": CircularConstants(
        (1.5707963705062866, -4.3711224861908704e-08, -1.6513995574653217e-13),
        400.0,
        (-1.6666654611e-01, 8.3321608736e-03, -1.9515295891e-04),
        (4.166664568298827e-02, -1.388731625493765e-03, 2.443315711809948e-05),
    ),
}  # fmt: skip


def sine(d: Floats, value: Value) -> Value:
    """Return the sine."""
    found = _quarter(d, value, 0)
    return _beyond(d, "sin", value, d.if_(d.test("oeq", value, 0.0), value, found))  # -0.0 stays


def cosine(d: Floats, value: Value) -> Value:
    """Return the cosine."""
    return _beyond(d, "cos", value, _quarter(d, value, 1))


def _quarter(d: Floats, value: Value, turned: int) -> Value:
    """Return the sine of a number plus ``turned`` quarter turns."""
    known, shape = CONSTANTS[d.format.dtype], d.format
    shifted, whole = d.nearest(value, 0.6366197723675814)
    begun = d.fused(whole, -known.half_pi[0], value)
    rest = d.fused(whole, -known.half_pi[1], begun)
    lost = d.fused(whole, -known.half_pi[1], d.subtract(begun, rest))
    lost = d.fused(whole, -known.half_pi[2], lost)
    square = d.multiply(rest, rest)
    sine = d.fused(d.multiply(square, rest), d.series(square, known.sine), lost)
    sine = d.add(rest, sine)
    quarters = d.integer("add", d.bits(shifted), turned)
    odd = d.code.op(f"trunc {quarters.typed} to {type_of('bool', d.lanes)}", "bool", d.lanes)
    found = d.if_(odd, _cosine(d, rest, lost, square), sine)
    sign = d.integer("shl", d.integer("and", quarters, 2), 8 * (4 if shape.dtype == "float32" else 8) - 2)
    return d.from_bits(d.integer("xor", d.bits(found), sign))


def _cosine(d: Floats, rest: Value, lost: Value, square: Value) -> Value:
    half = d.multiply(square, 0.5)
    near = d.subtract(d.number(1.0), half)
    series = d.series(square, CONSTANTS[d.format.dtype].cosine)
    rounded = d.subtract(d.subtract(d.number(1.0), near), half)
    last = d.fused(d.multiply(square, square), series, rounded)
    return d.add(near, d.subtract(last, d.multiply(rest, lost)))


def _beyond(d: Floats, name: str, value: Value, found: Value) -> Value:
    """Replace the result in lanes with too large numbers or NaN by the C library's."""
    large = d.test("ugt", d.code.intrinsic("fabs", value), CONSTANTS[d.format.dtype].largest)
    return d.called_where(large, name, [value], found)


_SERIES = (
    3.33333333333329318027e-01, -1.99999999998764832476e-01, 1.42857142725034663711e-01, -1.11111104054623557880e-01,
    9.09088713343650656196e-02, -7.69187620504482999495e-02, 6.66107313738753120669e-02, -5.83357013379057348645e-02,
    4.97687799461593236017e-02, -3.65315727442169155270e-02, 1.62858201153657823623e-02,
)  # fmt: skip
_HALF_PI = (1.57079632679489655800e00, 6.12323399573676603587e-17)
# from which x on a tangent is the nearest, the tangent, and its arctangent in two numbers
_NEAREST = (
    (7 / 16, 0.5, (4.63647609000806093515e-01, 2.26987774529616870924e-17)),
    (11 / 16, 1.0, (7.85398163397448278999e-01, 3.06161699786838301793e-17)),
    (19 / 16, 1.5, (9.82793723247329054082e-01, 1.39033110312309984516e-17)),
)
_FAR = 39 / 16  # infinity uses this one


def _arctangent(d: Floats, size: Value, far: bool) -> Value:
    """Return the arctangent of a non-negative number, which may exceed 39/16 if ``far``."""
    above, below = size, d.number(1.0)
    high, low = d.number(0.0), d.number(0.0)
    for begin, near, known in _NEAREST:
        beyond = d.test("oge", size, begin)
        above = d.if_(beyond, d.subtract(size, near), above)
        below = d.if_(beyond, d.fused(size, near, 1.0), below)
        high, low = d.if_(beyond, known[0], high), d.if_(beyond, known[1], low)
    if far:
        beyond = d.test("oge", size, _FAR)
        above, below = d.if_(beyond, -1.0, above), d.if_(beyond, size, below)
        high, low = d.if_(beyond, _HALF_PI[0], high), d.if_(beyond, _HALF_PI[1], low)
    rest = d.divide(above, below)
    square = d.multiply(rest, rest)
    less = d.multiply(d.multiply(d.series(square, _SERIES), square), rest)
    return d.add(high, d.subtract(rest, d.subtract(less, low)))


def arctan(d: Floats, value: Value) -> Value:
    """Return the arctangent."""
    wide = Floats(d.code, d.lanes, "float64")
    number = d.as_format(value, "float64")
    found = _arctangent(wide, d.code.intrinsic("fabs", number), True)
    return d.as_format(d.code.intrinsic("copysign", found, number), d.format.dtype)


def arctan2(d: Floats, up: Value, right: Value) -> Value:
    """Return the angle of a point (arctan2)."""
    code, wide = d.code, Floats(d.code, d.lanes, "float64")
    y, x = (d.as_format(number, "float64") for number in (up, right))
    height, width = (code.intrinsic("fabs", number) for number in (y, x))
    is_steep, is_left = wide.test("ogt", height, width), wide.test("olt", x, 0.0)
    small, large = wide.if_(is_steep, width, height), wide.if_(is_steep, height, width)
    ratio = wide.divide(small, large)
    angle = _arctangent(wide, ratio, False)
    turns_back = code.op(f"xor {is_steep.typed}, {is_left.text}", "bool", d.lanes)
    angle = wide.if_(turns_back, wide.negative(angle), angle)
    start, more = (
        wide.if_(is_steep, half, wide.if_(is_left, 2 * half, wide.number(0.0))) for half in _HALF_PI
    )
    found = code.intrinsic("copysign", wide.add(start, wide.add(angle, more)), y)
    tiny, some = wide.test("olt", ratio, wide.format.least), wide.test("une", small, 0.0)
    lost = code.op(f"and {tiny.typed}, {some.text}", "bool", d.lanes)
    unknown = wide.test("uno", ratio, 0.0)
    beyond = d.either(lost, unknown)
    return d.called_where(beyond, "atan2", [up, right], d.as_format(found, d.format.dtype))


def hypotenuse(d: Floats, one: Value, other: Value) -> Value:
    """Return the length of a vector (hypot): the larger coordinate times √(1 + r²), so that no square overflows."""
    first, second = (d.code.intrinsic("fabs", number) for number in (one, other))
    swapped = d.test("ogt", second, first)
    small, large = d.if_(swapped, first, second), d.if_(swapped, second, first)
    ratio = d.divide(small, large)
    found = d.multiply(large, d.code.intrinsic("sqrt", d.fused(ratio, ratio, 1.0)))
    found = d.if_(d.test("oeq", small, 0.0), large, found)
    for size in (first, second):  # also beside NaN
        found = d.if_(d.test("oeq", size, float("inf")), size, found)
    return found


def tangent(d: Floats, value: Value) -> Value:
    """Return the tangent."""
    return d.divide(sine(d, value), cosine(d, value))


WRITERS: dict[str, Callable[..., Value]] = {
    "sin": sine, "cos": cosine, "tan": tangent, "arctan": arctan, "arctan2": arctan2, "hypot": hypotenuse,
}  # fmt: skip
