"""Formulas of elementwise operations that are more than one primitive, at special values as NumPy has them.

They are written over expressions, so that one may stand in another.  Each is made when somebody asks for it: programs use few.
Where NumPy computes float16 in float32 and rounds once, so do they.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from scanviz.engine.scalar.expression import (
    Expression,
    Operand,
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
from scanviz.engine.scalar.formula import Formula, floats, numbers

Binary = Callable[[Expression, Expression], Expression]
FALSE, TRUE = constant(False, "bool"), constant(True, "bool")


def function(name: str, arity: int = 1) -> Formula:
    """Return the formula of an elementary function."""
    return floats(primitive(name, *(x, y)[:arity]))


def through_single(binary: Binary) -> Expression:
    """Return a formula of two numbers of float16, computed in float32."""
    return cast(binary(cast(x, "float32"), cast(y, "float32")), "float16")


def is_nan(value: Expression) -> Expression:
    """Return whether a number is NaN."""
    return ~equal(value, value)


def truth(value: Expression) -> Expression:
    """Return whether a number is not 0, as NaN is not."""
    return ~equal(value, 0)


def logical(boolean: Expression, of_truths: Expression) -> Formula:
    """Return the formula of a logical operation."""
    return numbers(of_truths, boolean)


def comparison(
    number: Expression, boolean: Expression, signed_first: Expression, unsigned_first: Expression
) -> Formula:
    """Return the formula of a comparison; the last two are of int64 and uint64."""
    return Formula(number, number, number, boolean, mixed=(signed_first, unsigned_first))


def _mixed(of_unsigned: Binary, signed_below: Expression) -> tuple[Expression, Expression]:
    """Return comparisons of int64 with uint64, and the other way round, where a negative number is below all of those."""
    above = ~signed_below
    return (
        select(x < 0, signed_below, of_unsigned(cast(x, "uint64"), y)),
        select(y < 0, above, of_unsigned(x, cast(y, "uint64"))),
    )


def equality() -> Formula:
    """Return the formula of ``equal``."""
    return comparison(
        equal(x, y),
        equal(x, y),
        ~(x < 0) & equal(cast(x, "uint64"), y),
        ~(y < 0) & equal(x, cast(y, "uint64")),
    )


def inequality() -> Formula:
    """Return the formula of ``not_equal``."""
    return comparison(
        ~equal(x, y),
        x ^ y,
        (x < 0) | ~equal(cast(x, "uint64"), y),
        (y < 0) | ~equal(x, cast(y, "uint64")),
    )


def less() -> Formula:
    """Return the formula of ``less``."""
    return comparison(x < y, ~x & y, *_mixed(lambda a, b: a < b, TRUE))


def less_equal() -> Formula:
    """Return the formula of ``less_equal``."""
    return comparison(x <= y, ~x | y, *_mixed(lambda a, b: a <= b, TRUE))


def greater() -> Formula:
    """Return the formula of ``greater``."""
    return comparison(x > y, x & ~y, *_mixed(lambda a, b: a > b, FALSE))


def greater_equal() -> Formula:
    """Return the formula of ``greater_equal``."""
    return comparison(x >= y, x | ~y, *_mixed(lambda a, b: a >= b, FALSE))


def larger(a: Expression, b: Expression) -> Expression:
    """Return the larger of two floating-point numbers, NaN if either is; of zeros the second, as processors of NumPy's loops do."""
    return select(is_nan(a), a, select(a > b, a, b))


def smaller(a: Expression, b: Expression) -> Expression:
    """Return the smaller of two floating-point numbers, NaN if either is; of zeros the second."""
    return select(is_nan(a), a, select(a < b, a, b))


def _whole_larger(a: Expression, b: Expression) -> Expression:
    return select(a >= b, a, b)


def _whole_smaller(a: Expression, b: Expression) -> Expression:
    return select(a <= b, a, b)


def _of_two(
    floating: Expression, integer: Expression, boolean: Expression, half: Expression | None = None
) -> Formula:
    return Formula(floating, integer, integer, boolean, half=half)


def _larger_half(a: Expression, b: Expression) -> Expression:
    """Return the larger of two numbers of float16, NaN if either is; of zeros the first."""
    return select((a >= b) | is_nan(a), a, b)


def _smaller_half(a: Expression, b: Expression) -> Expression:
    return select((a <= b) | is_nan(a), a, b)


def maximum() -> Formula:
    """Return the formula of ``maximum``."""
    return _of_two(larger(x, y), _whole_larger(x, y), x | y, _larger_half(x, y))


def minimum() -> Formula:
    """Return the formula of ``minimum``."""
    return _of_two(smaller(x, y), _whole_smaller(x, y), x & y, _smaller_half(x, y))


def fmax() -> Formula:
    """Return the formula of ``fmax``."""
    return _of_two(select((x >= y) | is_nan(y), x, y), _whole_larger(x, y), x | y)


def fmin() -> Formula:
    """Return the formula of ``fmin``."""
    return _of_two(select((x <= y) | is_nan(y), x, y), _whole_smaller(x, y), x & y)


def clip() -> Formula:
    """Return the formula of ``clip``."""
    half = _smaller_half(_larger_half(x, y), z)
    return _of_two(smaller(larger(x, y), z), _whole_smaller(_whole_larger(x, y), z), (x | y) & z, half)


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


def _signed_quotient_below() -> Expression:
    quotient, rest = _divided(x, y)
    below = select(truth(rest) & _differ_in_sign(rest, y), quotient - 1, quotient)
    return select(equal(y, 0), 0, below)


def _signed_remainder_below() -> Expression:
    rest = _divided(x, y)[1]
    return select(equal(y, 0), 0, select(truth(rest) & _differ_in_sign(rest, y), rest + y, rest))


def _divisor() -> Expression:
    return select(equal(y, 0), 1, y)


def floor_divide() -> Formula:
    """Return the formula of ``floor_divide``."""
    return Formula(
        _quotient_below(x, y),
        _signed_quotient_below(),
        select(equal(y, 0), 0, primitive("quotient", x, _divisor())),
        half=through_single(_quotient_below),
    )


def mod() -> Formula:
    """Return the formula of ``mod``."""
    return Formula(
        _remainder_below(x, y),
        _signed_remainder_below(),
        select(equal(y, 0), 0, primitive("remainder", x, _divisor())),
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


def power() -> Formula:
    """Return the formula of ``power``."""
    return Formula(primitive("power", x, y), _whole_power(), _whole_power())


def _in_reach() -> Expression:
    return (y >= 0) & (y < width())


def left_shift() -> Formula:
    """Return the formula of ``left_shift``."""
    reach, unsigned_reach = _in_reach(), y < width()
    return Formula(
        signed=select(reach, x << select(reach, y, 0), 0),
        unsigned=select(unsigned_reach, x << select(unsigned_reach, y, 0), 0),
    )


def right_shift() -> Formula:
    """Return the formula of ``right_shift``."""
    reach, unsigned_reach = _in_reach(), y < width()
    return Formula(
        signed=select(reach, x >> select(reach, y, 0), select(x < 0, -1, 0)),
        unsigned=select(unsigned_reach, x >> select(unsigned_reach, y, 0), 0),
    )


def negative() -> Formula:
    """Return the formula of ``negative``."""
    return Formula(-x, -x, 0 - x)


def absolute() -> Formula:
    """Return the formula of ``absolute``."""
    return Formula(primitive("absolute", x), select(x < 0, -x, x), x, x)


def sign() -> Formula:
    """Return the formula of ``sign``."""
    return Formula(
        select(x > 0, 1, select(x < 0, -1, select(equal(x, 0), 0, x))),
        select(x > 0, 1, select(x < 0, -1, 0)),
        select(x > 0, 1, 0),
    )


def reciprocal() -> Formula:
    """Return the formula of ``reciprocal``; of the integer 0 it is what infinity is as an integer."""
    whole = cast(1 / cast(x, "float64"), x)
    return Formula(1 / x, whole, whole)


def rounded(name: str) -> Formula:
    """Return the formula of rounding to a whole number, which integers are."""
    return Formula(primitive(name, x), x, x, x)


def isnan() -> Formula:
    """Return the formula of ``isnan``."""
    return Formula(is_nan(x), FALSE, FALSE, FALSE)


def isinf() -> Formula:
    """Return the formula of ``isinf``."""
    return Formula(equal(primitive("absolute", x), math.inf), FALSE, FALSE, FALSE)


def isfinite() -> Formula:
    """Return the formula of ``isfinite``."""
    return Formula(math.inf > primitive("absolute", x), TRUE, TRUE, TRUE)


def log_of_sum(a: Expression, b: Operand) -> Expression:
    """Return log(exp(a) + exp(b)); of equal numbers, infinities too, it is theirs plus log 2."""
    second = expression(b)
    difference = a - second
    above = a + primitive("log1p", primitive("exp", -difference))
    below = second + primitive("log1p", primitive("exp", difference))
    apart = select(difference > 0, above, select(difference <= 0, below, difference))
    return select(equal(a, second), a + math.log(2), apart)


def logaddexp() -> Formula:
    """Return the formula of ``logaddexp``."""
    return floats(log_of_sum(x, y), through_single(log_of_sum), ulp=2)


def softplus() -> Formula:
    """Return the formula of ``softplus``."""
    return floats(log_of_sum(x, 0), cast(log_of_sum(cast(x, "float32"), 0), "float16"), ulp=2)


def no_nan() -> Formula:
    """Return the formula of ``multiply_no_nan``."""
    return _of_two(select(equal(y, 0), 0, x * y), x * y, x & y)


def sigmoid() -> Formula:
    """Return the formula of ``sigmoid``."""
    return floats(1 / (primitive("exp", -x) + 1))


def polygamma() -> Formula:
    """Return the formula of ``polygamma``."""
    return floats(primitive("polygamma", cast(x, y), y), ulp=1)


def _times_logarithm(logarithm: Expression, of: Expression) -> Expression:
    """Return x times a logarithm, 0 where x is, but of NaN."""
    return select(equal(x, 0) & ~is_nan(of), 0, x * logarithm)


def xlogy() -> Formula:
    """Return the formula of ``xlogy``."""
    return floats(_times_logarithm(primitive("log", y), y))


def xlog1py() -> Formula:
    """Return the formula of ``xlog1py``."""
    return floats(_times_logarithm(primitive("log1p", y), y))


def logit() -> Formula:
    """Return the formula of ``logit``."""
    twice_from_half = (x - 0.5) * 2
    return floats(
        select(
            (x < 0.3) | (x > 0.65),
            primitive("log", x / (1 - x)),
            primitive("log1p", twice_from_half) - primitive("log1p", -twice_from_half),
        )
    )
