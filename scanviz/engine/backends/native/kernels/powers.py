"""Vectorised powers: by products and roots, or as e^(y log x) with the logarithm in two numbers.

The exponent multiplies the logarithm's error, so the float64 logarithm has some 65 bits: log m = 2 atanh s, s = (m-1)/(m+1), with s
and its cubic term in two numbers each.  float32 is computed in float64.  Arguments and results that are not positive normal
numbers go to the C library.

Known exponents are accurate to 4 ulp, as all elementary functions are.  Their parts neither overflow nor lose digits where the
power itself does not; long products are computed in two numbers.
"""

from __future__ import annotations

from scanviz.engine.backends.native.emit.ir import Value
from scanviz.engine.backends.native.kernels.floats import Floats

_THIRD = (0.6666666666666666, 3.700743415417188e-17)  # 2/3
_REST = (2 / 5, 2 / 7, 2 / 9, 2 / 11, 2 / 13, 2 / 15, 2 / 17, 2 / 19, 2 / 21, 2 / 23, 2 / 25)
_LN2 = (
    0.693147180369123816490,
    1.90821492927058770002e-10,
)  # the first has 33 digits: its multiples are exact

Pair = tuple[Value, Value]


def _sum(d: Floats, first: Value, second: Value) -> Pair:
    """Return a sum and its rounding error; the first number is the larger one."""
    found = d.add(first, second)
    return found, d.subtract(second, d.subtract(found, first))


def product_in_two(d: Floats, first: Value, second: Value | float) -> Pair:
    """Return a product and its rounding error."""
    other = second if isinstance(second, Value) else d.number(second)
    found = d.multiply(first, other)
    return found, d.fused(first, other, d.negative(found))


def logarithm(d: Floats, mantissa: Value, exponent: Value) -> Pair:
    """Return log(m · 2^e) in two numbers, for m from √½ to √2."""
    above = d.subtract(mantissa, 1.0)
    below, lost = _sum(d, d.number(1.0), mantissa)
    ratio = d.divide(above, below)
    left = d.fused(d.negative(ratio), below, above)
    left = d.divide(d.fused(d.negative(ratio), lost, left), below)  # s's lower part
    square, square_low = product_in_two(d, ratio, ratio)
    square_low = d.fused(d.multiply(ratio, 2.0), left, square_low)
    cube, cube_low = product_in_two(d, square, ratio)
    cube_low = d.fused(square_low, ratio, d.fused(square, left, cube_low))
    third, third_low = product_in_two(d, cube, _THIRD[0])
    third_low = d.fused(cube, _THIRD[1], d.fused(cube_low, _THIRD[0], third_low))
    last = d.multiply(d.multiply(cube, square), d.series(square, _REST))
    high, low = _sum(d, d.multiply(ratio, 2.0), third)
    low = d.add(low, d.fused(left, 2.0, d.add(third_low, last)))
    scale, scale_low = d.multiply(exponent, _LN2[0]), d.multiply(exponent, _LN2[1])
    zero = d.test("oeq", exponent, 0.0)
    sum_, sum_low = _sum(d, scale, high)
    sum_, sum_low = d.if_(zero, high, sum_), d.if_(zero, 0.0, sum_low)
    return _sum(d, sum_, d.add(sum_low, d.add(scale_low, low)))


MOST_FACTORS = 64  # of a product
HALVES = (-1.5, -0.5, 1.5, 2.5)  # exponents by the root


def _product(d: Floats, first: Pair, second: Pair) -> Pair:
    found, lost = product_in_two(d, first[0], second[0])
    lost = d.fused(first[0], second[1], lost)
    return found, d.fused(first[1], second[0], lost)


def _whole_power(d: Floats, value: Value, exponent: int) -> Value:
    """Return a power with a whole exponent by repeated squaring."""
    square: Pair = value, d.number(0.0)
    if exponent < 0:
        inverse = d.divide(d.number(1.0), value)
        square = inverse, d.multiply(inverse, d.fused(d.negative(inverse), value, 1.0))
    left, found = abs(exponent), None
    while True:
        if left % 2:
            found = square if found is None else _product(d, found, square)
        left //= 2
        if not left:
            break
        square = _product(d, square, square)
    assert found is not None
    # for infinity the rounding error is NaN
    alone = d.either(
        d.test("oeq", d.code.intrinsic("fabs", found[0]), float("inf")), d.test("oeq", found[0], 0.0)
    )
    return d.if_(alone, found[0], d.add(*found))


def known_power(d: Floats, value: Value, exponent: float) -> Value | None:
    """Return a power with a known exponent; None if no short formula exists."""
    if exponent == 0.5:
        return d.code.intrinsic("sqrt", value)  # as NumPy: -0 stays -0, and -inf gives NaN
    if exponent in HALVES:
        return _of_root(d, value, exponent)
    if exponent in (-1.0, -2.0):
        inverse = d.divide(d.number(1.0), value)
        return inverse if exponent == -1.0 else d.multiply(inverse, inverse)
    if exponent in (3.0, 4.0):
        square = d.multiply(value, value)
        return d.multiply(square, value if exponent == 3.0 else square)
    if exponent.is_integer() and 0 < abs(exponent) <= MOST_FACTORS:
        return _whole_power(d, value, int(exponent))
    return None


def _of_root(d: Floats, value: Value, exponent: float) -> Value:
    """Return x^-1.5, x^-0.5, x^1.5 or x^2.5 by the root of x; 0 of -0, and of minus infinity what NumPy gives."""
    one, positive = d.number(1.0), d.add(value, 0.0)
    root = d.code.intrinsic("sqrt", positive)
    if exponent == -0.5:
        found = d.divide(one, root)
    elif exponent == -1.5:
        found = d.divide(d.divide(one, positive), root)
    else:
        found = d.multiply(positive if exponent == 1.5 else d.multiply(value, value), root)
    return d.if_(d.test("oeq", value, float("-inf")), 0.0 if exponent < 0 else float("inf"), found)
