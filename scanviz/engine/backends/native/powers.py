"""Powers of all lanes at once: e^(y log x), the logarithm in two numbers.

An exponent multiplies what its logarithm is wrong by, so that of float64 has some 65 digits: log m = 2 atanh s, s = (m-1)/(m+1), of
which s and the term of its cube are kept in two numbers each.  float32 is computed in float64, which has digits enough.  What is
no positive normal number, what would not be one, and NaN is left to the C library, in the lanes that have it: its rules for them
are many.
"""

from __future__ import annotations

from scanviz.engine.backends.native.floats import Floats
from scanviz.engine.backends.native.ir import Value

_THIRD = (0.6666666666666666, 3.700743415417188e-17)  # 2/3
_REST = (2 / 5, 2 / 7, 2 / 9, 2 / 11, 2 / 13, 2 / 15, 2 / 17, 2 / 19, 2 / 21, 2 / 23, 2 / 25)
_LN2 = (
    0.693147180369123816490,
    1.90821492927058770002e-10,
)  # the first has 33 digits: its multiples are exact

Pair = tuple[Value, Value]


def _sum(d: Floats, first: Value, second: Value) -> Pair:
    """Return a sum of two numbers, the first the larger, and what rounding took of it."""
    found = d.add(first, second)
    return found, d.subtract(second, d.subtract(found, first))


def product_in_two(d: Floats, first: Value, second: Value | float) -> Pair:
    """Return a product and what rounding took of it."""
    other = second if isinstance(second, Value) else d.number(second)
    found = d.multiply(first, other)
    return found, d.fused(first, other, d.negative(found))


def logarithm(d: Floats, mantissa: Value, exponent: Value) -> Pair:
    """Return log(m · 2^e) in two numbers, for m from √½ to √2."""
    above = d.subtract(mantissa, 1.0)
    below, lost = _sum(d, d.number(1.0), mantissa)
    ratio = d.divide(above, below)
    left = d.fused(d.negative(ratio), below, above)
    left = d.divide(d.fused(d.negative(ratio), lost, left), below)  # s has this more
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


__all__ = ["logarithm", "product_in_two"]
