"""Formulas of elementwise operations, by name, in the scalar language; special values are NumPy's.

A function that has no formula here is a primitive of its name.  The file is imported when the first formula is asked for: machine
code, CuPy and derivatives ask, a short loop on NumPy does not.  Where NumPy computes float16 in float32 and rounds once, so do
formulas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from scanviz.engine.scalar.expression import (
    Expression,
    Operand,
    bits,
    carried,
    cast,
    constant,
    equal,
    expression,
    like,
    loop,
    primitive,
    select,
    width,
    x,
    y,
    z,
)
from scanviz.engine.scalar.formula import Formula, floats, numbers, whole
from scanviz.engine.scalar.primitives import PRIMITIVES

Binary = Callable[[Expression, Expression], Expression]

FALSE, TRUE = constant(False, "bool"), constant(True, "bool")


def formula_of(name: str) -> Formula:
    """Return the formula of an elementwise operation."""
    found = FORMULAS.get(name)
    return floats(primitive(name, *(x, y)[: PRIMITIVES[name].arity])) if found is None else found


def through_single(binary: Binary) -> Expression:
    """Return a formula of two numbers of float16, computed in float32."""
    return cast(binary(cast(x, "float32"), cast(y, "float32")), "float16")


def is_nan(value: Expression) -> Expression:
    """Return whether a number is NaN."""
    return ~equal(value, value)


def truth(value: Expression) -> Expression:
    """Return whether a number is not 0, as NaN is not."""
    return ~equal(value, 0)


def _logical(boolean: Expression, of_truths: Expression) -> Formula:
    return numbers(of_truths, boolean)


def _comparison(
    number: Expression, boolean: Expression, signed_first: Expression, unsigned_first: Expression
) -> Formula:
    """Return the formula of a comparison; the last two are of int64 beside uint64, and the other way round."""
    return Formula(number, number, number, boolean, mixed=(signed_first, unsigned_first))


def _ordering(compare: Binary, boolean: Expression, signed_below: Expression) -> Formula:
    """Return the formula of an ordering: beside unsigned integers, a negative number is below all of them."""
    return _comparison(
        compare(x, y),
        boolean,
        select(x < 0, signed_below, compare(cast(x, "uint64"), y)),
        select(y < 0, ~signed_below, compare(x, cast(y, "uint64"))),
    )


def larger(a: Expression, b: Expression) -> Expression:
    """Return the larger of two floating-point numbers, NaN if either is; of zeros the second, as processors of NumPy's loops do."""
    return select(is_nan(a), a, select(a > b, a, b))


def _smaller(a: Expression, b: Expression) -> Expression:
    """Return the smaller of two floating-point numbers, NaN if either is; of zeros the second."""
    return select(is_nan(a), a, select(a < b, a, b))


def _larger_half(a: Expression, b: Expression) -> Expression:
    """Return the larger of two numbers of float16, NaN if either is; of zeros the first."""
    return select((a >= b) | is_nan(a), a, b)


def _smaller_half(a: Expression, b: Expression) -> Expression:
    return select((a <= b) | is_nan(a), a, b)


def _of_two(
    floating: Expression, integer: Expression, boolean: Expression, half: Expression | None = None
) -> Formula:
    return Formula(floating, integer, integer, boolean, half=half)


def _clip() -> Formula:
    half = _smaller_half(_larger_half(x, y), z)
    least = select(x >= y, x, y)
    return _of_two(_smaller(larger(x, y), z), select(least <= z, least, z), (x | y) & z, half)


def _differ_in_sign(a: Expression, b: Expression) -> Expression:
    return (a < 0) ^ (b < 0)


def _remainder_below(a: Expression, b: Expression) -> Expression:
    """Return a remainder with the sign of the divisor, of floating-point numbers."""
    rest = primitive("remainder", a, b)
    moved = select(_differ_in_sign(rest, b), rest + b, rest)
    found = select(equal(rest, 0), primitive("copysign", like(0, b), b), moved)
    return select(equal(b, 0), rest, found)


def _quotient_below(a: Expression, b: Expression) -> Expression:
    """Return a quotient rounded down, of floating-point numbers."""
    rest = primitive("remainder", a, b)
    near = (a - rest) / b
    near = select(truth(rest) & _differ_in_sign(rest, b), near - 1, near)
    below = primitive("floor", near)
    below = select(near - below > 0.5, below + 1, below)
    found = select(equal(near, 0), primitive("copysign", like(0, b), a / b), below)
    return select(equal(b, 0), a / b, found)


def _divided(a: Expression, b: Expression) -> tuple[Expression, Expression]:
    """Return quotient and remainder towards 0 of signed integers, for any divisor but 0: -1 is not divided by."""
    divisor = select(equal(b, 0) | equal(b, -1), 1, b)
    quotient = select(equal(b, -1), -a, primitive("quotient", a, divisor))
    return quotient, select(equal(b, -1), 0, primitive("remainder", a, divisor))


def _floor_divide() -> Formula:
    quotient, rest = _divided(x, y)
    below = select(truth(rest) & _differ_in_sign(rest, y), quotient - 1, quotient)
    unsigned = primitive("quotient", x, select(equal(y, 0), 1, y))
    return Formula(
        _quotient_below(x, y),
        select(equal(y, 0), 0, below),
        select(equal(y, 0), 0, unsigned),
        half=through_single(_quotient_below),
    )


def _mod() -> Formula:
    rest = _divided(x, y)[1]
    below = select(truth(rest) & _differ_in_sign(rest, y), rest + y, rest)
    unsigned = primitive("remainder", x, select(equal(y, 0), 1, y))
    return Formula(
        _remainder_below(x, y),
        select(equal(y, 0), 0, below),
        select(equal(y, 0), 0, unsigned),
        half=through_single(_remainder_below),
    )


def _whole_power() -> Expression:
    """Return an integer to the power of one, modulo two to the width; a negative power is none, and 1 here."""
    base, exponent, product = carried("base"), carried("exponent"), carried("product")
    odd = truth(exponent & 1)
    found = loop(
        {"base": x, "exponent": y, "product": like(1, x)},
        exponent > 0,
        {"base": base * base, "exponent": exponent >> 1, "product": select(odd, product * base, product)},
        limit=64,
    )
    return found["product"]


def _shift(moved: Binary, beyond: Expression | int) -> Formula:
    """Return the formula of a shift, and what a signed number is when all its bits are shifted out."""
    reach, unsigned_reach = (y >= 0) & (y < width()), y < width()
    return Formula(
        signed=select(reach, moved(x, select(reach, y, 0)), beyond),
        unsigned=select(unsigned_reach, moved(x, select(unsigned_reach, y, 0)), 0),
    )


def _log_of_sum(a: Expression, b: Operand) -> Expression:
    """Return log(exp(a) + exp(b)); of equal numbers, infinities too, it is theirs plus log 2."""
    second = expression(b)
    difference = a - second
    above = a + primitive("log1p", primitive("exp", -difference))
    below = second + primitive("log1p", primitive("exp", difference))
    apart = select(difference > 0, above, select(difference <= 0, below, difference))
    return select(equal(a, second), a + math.log(2), apart)


def _times_logarithm(logarithm: Expression, of: Expression) -> Expression:
    """Return x times a logarithm, 0 where x is, but of NaN."""
    return select(equal(x, 0) & ~is_nan(of), 0, x * logarithm)


def _logit() -> Expression:
    twice_from_half = (x - 0.5) * 2
    return select(
        (x < 0.3) | (x > 0.65),
        primitive("log", x / (1 - x)),
        primitive("log1p", twice_from_half) - primitive("log1p", -twice_from_half),
    )


def _rounded(name: str) -> Formula:
    """Return the formula of rounding to a whole number, which integers are."""
    return Formula(primitive(name, x), x, x, x)


_power = _whole_power()
_larger_whole, _smaller_whole = select(x >= y, x, y), select(x <= y, x, y)
_reciprocal = cast(1 / cast(x, "float64"), x)  # of the integer 0 it is what infinity is as an integer
FORMULAS: Mapping[str, Formula] = {
    "add": numbers(x + y, x | y),
    "subtract": numbers(x - y),
    "multiply": numbers(x * y, x & y),
    "divide": floats(x / y),
    "floor_divide": _floor_divide(),
    "mod": _mod(),
    "power": Formula(primitive("power", x, y), _power, _power),
    "maximum": _of_two(larger(x, y), _larger_whole, x | y, _larger_half(x, y)),
    "minimum": _of_two(_smaller(x, y), _smaller_whole, x & y, _smaller_half(x, y)),
    "fmax": _of_two(select((x >= y) | is_nan(y), x, y), _larger_whole, x | y),
    "fmin": _of_two(select((x <= y) | is_nan(y), x, y), _smaller_whole, x & y),
    "logaddexp": floats(_log_of_sum(x, y), through_single(_log_of_sum), ulp=2),
    "multiply_no_nan": _of_two(select(equal(y, 0), 0, x * y), x * y, x & y),
    "equal": _comparison(
        equal(x, y),
        equal(x, y),
        ~(x < 0) & equal(cast(x, "uint64"), y),
        ~(y < 0) & equal(x, cast(y, "uint64")),
    ),
    "not_equal": _comparison(
        ~equal(x, y),
        x ^ y,
        (x < 0) | ~equal(cast(x, "uint64"), y),
        (y < 0) | ~equal(x, cast(y, "uint64")),
    ),
    "less": _ordering(lambda a, b: a < b, ~x & y, TRUE),
    "less_equal": _ordering(lambda a, b: a <= b, ~x | y, TRUE),
    "greater": _ordering(lambda a, b: a > b, x & ~y, FALSE),
    "greater_equal": _ordering(lambda a, b: a >= b, x | ~y, FALSE),
    "logical_and": _logical(x & y, truth(x) & truth(y)),
    "logical_or": _logical(x | y, truth(x) | truth(y)),
    "logical_xor": _logical(x ^ y, truth(x) ^ truth(y)),
    "logical_not": _logical(~x, ~truth(x)),
    "bitwise_and": whole(x & y, x & y),
    "bitwise_or": whole(x | y, x | y),
    "bitwise_xor": whole(x ^ y, x ^ y),
    "invert": whole(~x, ~x),
    "left_shift": _shift(lambda a, by: a << by, 0),
    "right_shift": _shift(lambda a, by: a >> by, select(x < 0, -1, 0)),
    "negative": Formula(-x, -x, 0 - x),
    "positive": numbers(x),
    "absolute": Formula(primitive("absolute", x), select(x < 0, -x, x), x, x),
    "sign": Formula(
        select(x > 0, 1, select(x < 0, -1, select(equal(x, 0), 0, x))),
        select(x > 0, 1, select(x < 0, -1, 0)),
        select(x > 0, 1, 0),
    ),
    "reciprocal": Formula(1 / x, _reciprocal, _reciprocal),
    "square": numbers(x * x),
    "deg2rad": floats(x * (math.pi / 180), ulp=1),
    "rad2deg": floats(x * (180 / math.pi), ulp=2),
    "floor": _rounded("floor"),
    "ceil": _rounded("ceil"),
    "trunc": _rounded("truncate"),
    "round": _rounded("round_even"),
    "isnan": Formula(is_nan(x), FALSE, FALSE, FALSE),
    "isinf": Formula(equal(primitive("absolute", x), math.inf), FALSE, FALSE, FALSE),
    "isfinite": Formula(math.inf > primitive("absolute", x), TRUE, TRUE, TRUE),
    "signbit": floats(bits(x) < 0),
    "sigmoid": floats(1 / (primitive("exp", -x) + 1)),
    "softplus": floats(_log_of_sum(x, 0), cast(_log_of_sum(cast(x, "float32"), 0), "float16"), ulp=2),
    "logit": floats(_logit()),
    "xlogy": floats(_times_logarithm(primitive("log", y), y)),
    "xlog1py": floats(_times_logarithm(primitive("log1p", y), y)),
    "polygamma": floats(primitive("polygamma", cast(x, y), y), ulp=1),
    "where": numbers(select(x, y, z), select(x, y, z)),
    "clip": _clip(),
}
