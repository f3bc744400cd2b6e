"""Elementary functions as lines of code: exponentials and logarithms of all lanes at once, the others by a call a lane.

The exponentials share one core.  With k the whole number nearest to x/ln 2 and r = x - k ln 2, in two parts so that nothing is
lost, e^x = 2^k (1 + p(r)), where p is Taylor's polynomial of e^r - 1 to the thirteenth power: the rest of it is below 2^-55 for
r between -0.35 and 0.35.  ``expm1`` and ``tanh`` keep p and 2^k apart, so that nothing cancels at 0.  The
logarithm is that of m in [√½, √2) by the series of (m-1)/(m+1) in the form that W. J. Cody and W. Waite give
(*Software Manual for the Elementary Functions*, 1980), with minimax coefficients for it as in Sun's fdlibm, plus the exponent.

All work in float64; float32 is widened and rounded once at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from scanviz.engine.backends.native.ir import Code, Value, constant, type_of

_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_TO_WHOLE = 6755399441055744.0  # 1.5 · 2^52: added, it leaves the nearest whole number in the last bits
_FACTORIALS = (6227020800, 479001600, 39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2)
_LOG = (
    1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
    2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01,
)  # fmt: skip


class Called(NamedTuple):
    """A function of float64 numbers that is called for one lane after the other.

    Attributes
    ----------
    name : str
        As its library has it.
    special : bool
        Whether that is SciPy's (``scipy.special.cython_special``), not the C library.
    """

    name: str
    special: bool = False

    @property
    def symbol(self) -> str:
        """The name by which code calls it."""
        return f"scanviz.special.{self.name}" if self.special else self.name


CALLED = {
    "log10": Called("log10"), "exp2": Called("exp2"), "sin": Called("sin"), "cos": Called("cos"), "tan": Called("tan"),
    "arcsin": Called("asin"), "arccos": Called("acos"), "arctan": Called("atan"), "sinh": Called("sinh"), "cosh": Called("cosh"),
    "arcsinh": Called("asinh"), "arccosh": Called("acosh"), "arctanh": Called("atanh"), "cbrt": Called("cbrt"),
    "arctan2": Called("atan2"), "hypot": Called("hypot"), "power": Called("pow"), "remainder": Called("fmod"),
    "erf": Called("erf", True), "erfc": Called("erfc", True), "erfinv": Called("erfinv", True),
    "gammaln": Called("gammaln", True), "digamma": Called("psi", True), "betaln": Called("betaln", True),
    "gammainc": Called("gammainc", True), "gammaincc": Called("gammaincc", True),
}  # fmt: skip


class Doubles:
    """Arithmetic on float64 of some lanes, written as it is read."""

    def __init__(self, code: Code, lanes: int) -> None:
        self.code, self.lanes = code, lanes

    def number(self, value: float) -> Value:
        """Return a constant."""
        return constant(value, "float64", self.lanes)

    def whole(self, value: int) -> Value:
        """Return a constant of int64."""
        return constant(value, "int64", self.lanes)

    def _op(self, name: str, first: Value, second: Value | float) -> Value:
        other = second if isinstance(second, Value) else self.number(second)
        return self.code.op(f"{name} {first.typed}, {other.text}", "float64", self.lanes)

    def add(self, first: Value, second: Value | float) -> Value:
        """Return a sum."""
        return self._op("fadd", first, second)

    def subtract(self, first: Value, second: Value | float) -> Value:
        """Return a difference."""
        return self._op("fsub", first, second)

    def multiply(self, first: Value, second: Value | float) -> Value:
        """Return a product."""
        return self._op("fmul", first, second)

    def divide(self, first: Value, second: Value | float) -> Value:
        """Return a quotient."""
        return self._op("fdiv", first, second)

    def fused(self, first: Value, second: Value, third: Value | float) -> Value:
        """Return first · second + third, rounded once."""
        other = third if isinstance(third, Value) else self.number(third)
        return self.code.intrinsic("fma", first, second, other)

    def negative(self, value: Value) -> Value:
        """Return a number with its sign changed."""
        return self.code.op(f"fneg {value.typed}", "float64", self.lanes)

    def test(self, how: str, first: Value, second: float) -> Value:
        """Return a comparison with a constant: ``olt``, ``ogt``, ``oeq``, ``uno`` …."""
        return self.code.op(f"fcmp {how} {first.typed}, {self.number(second).text}", "bool", self.lanes)

    def integer(self, name: str, first: Value, second: int) -> Value:
        """Return an operation on int64."""
        return self.code.op(f"{name} {first.typed}, {self.whole(second).text}", "int64", self.lanes)

    def bits(self, value: Value) -> Value:
        """Return the bits of a number."""
        return self.code.op(f"bitcast {value.typed} to {type_of('int64', self.lanes)}", "int64", self.lanes)

    def from_bits(self, value: Value) -> Value:
        """Return the number of some bits."""
        return self.code.op(
            f"bitcast {value.typed} to {type_of('float64', self.lanes)}", "float64", self.lanes
        )

    def if_(self, condition: Value, then: Value | float, otherwise: Value) -> Value:
        """Return one of two numbers."""
        return self.code.select(condition, then if isinstance(then, Value) else self.number(then), otherwise)

    def clamped(self, value: Value, low: float, high: float) -> Value:
        """Return a number within bounds; NaN stays NaN."""
        above = self.if_(self.test("olt", value, low), low, value)
        return self.if_(self.test("ogt", above, high), high, above)

    def power_of_two(self, exponent: Value) -> Value:
        """Return 2 to a whole number from -1022 to 1023."""
        return self.from_bits(self.integer("shl", self.integer("add", exponent, 1023), 52))


def _core(d: Doubles, value: Value) -> tuple[Value, Value]:
    """Return p and k of e^x = 2^k (1 + p), for numbers from -746 to 746."""
    shifted = d.fused(value, d.number(1.4426950408889634), _TO_WHOLE)
    exponent = d.integer("sub", d.bits(shifted), 0x4338000000000000)
    whole = d.subtract(shifted, _TO_WHOLE)
    rest = d.fused(whole, d.number(-_LN2_HIGH), value)
    rest = d.fused(whole, d.number(-_LN2_LOW), rest)
    series = d.number(1 / _FACTORIALS[0])
    for factorial in _FACTORIALS[1:]:
        series = d.fused(series, rest, 1 / factorial)
    return d.fused(d.multiply(series, rest), rest, rest), exponent


def _scaled(d: Doubles, value: Value, exponent: Value) -> Value:
    """Return a number times 2^k, in two steps: k may be beyond the exponents that there are."""
    half = d.integer("ashr", exponent, 1)
    other = d.code.op(f"sub {exponent.typed}, {half.text}", "int64", d.lanes)
    return d.multiply(d.multiply(value, d.power_of_two(half)), d.power_of_two(other))


def _exp(d: Doubles, value: Value) -> Value:
    part, exponent = _core(d, d.clamped(value, -746.0, 710.0))
    return _scaled(d, d.add(part, 1.0), exponent)


def _expm1(d: Doubles, value: Value) -> Value:
    part, exponent = _core(d, d.clamped(value, -746.0, 710.0))
    scale = _scaled(d, d.number(1.0), exponent)
    near = d.fused(part, scale, d.subtract(scale, 1.0))
    far = _scaled(d, d.add(part, 1.0), exponent)
    found = d.if_(d.test("ogt", value, 300.0), far, near)
    return d.if_(d.test("oeq", value, 0.0), value, found)  # -0.0 stays


def _tanh(d: Doubles, value: Value) -> Value:
    size = d.code.intrinsic("fabs", value)
    size = d.if_(d.test("ogt", size, 22.0), 22.0, size)
    part, exponent = _core(d, d.multiply(size, -2.0))
    scale = d.power_of_two(exponent)
    below = d.fused(part, scale, d.subtract(scale, 1.0))
    found = d.divide(d.negative(below), d.add(below, 2.0))
    return d.code.intrinsic("copysign", found, value)


def _mantissa(d: Doubles, value: Value) -> tuple[Value, Value]:
    """Return m from √½ to √2 and e, as a number, of a positive number m · 2^e."""
    tiny = d.test("olt", value, 2.2250738585072014e-308)
    bits = d.bits(d.if_(tiny, d.multiply(value, 18014398509481984.0), value))
    moved = d.integer("sub", bits, 0x3FE6A09E667F3BCD)  # the bits of √½
    exponent = d.integer("ashr", moved, 52)
    whole = d.code.op(f"sitofp {exponent.typed} to {type_of('float64', d.lanes)}", "float64", d.lanes)
    whole = d.if_(tiny, d.subtract(whole, 54.0), whole)
    low = d.integer("and", moved, 0x000FFFFFFFFFFFFF)
    return d.from_bits(d.integer("add", low, 0x3FE6A09E667F3BCD)), whole


def _log_parts(d: Doubles, rest: Value) -> Value:
    """Return log(1 + f) - f for f from √½ - 1 to √2 - 1."""
    ratio = d.divide(rest, d.add(rest, 2.0))
    square = d.multiply(ratio, ratio)
    series = d.number(_LOG[0])
    for coefficient in _LOG[1:]:
        series = d.fused(series, square, coefficient)
    series = d.multiply(series, square)
    half = d.multiply(d.multiply(rest, rest), 0.5)
    return d.subtract(d.multiply(ratio, d.add(half, series)), half)


def _at_ends(d: Doubles, value: Value, found: Value) -> Value:
    """Return the logarithm with what it is of 0, infinity, negative numbers and NaN."""
    found = d.if_(d.test("oeq", value, 0.0), float("-inf"), found)
    found = d.if_(d.test("oeq", value, float("inf")), float("inf"), found)
    return d.if_(d.test("ult", value, 0.0), float("nan"), found)


def _log(d: Doubles, value: Value) -> Value:
    mantissa, exponent = _mantissa(d, value)
    rest = d.subtract(mantissa, 1.0)
    low = d.fused(exponent, d.number(_LN2_LOW), _log_parts(d, rest))
    return _at_ends(d, value, d.fused(exponent, d.number(_LN2_HIGH), d.add(rest, low)))


def _log2(d: Doubles, value: Value) -> Value:
    mantissa, exponent = _mantissa(d, value)
    rest = d.subtract(mantissa, 1.0)
    part = d.add(rest, _log_parts(d, rest))
    low = d.multiply(part, 2.0355273740931033e-17)  # what 1/ln 2 has beyond float64
    near = d.fused(part, d.number(1.4426950408889634), low)
    return _at_ends(d, value, d.add(exponent, near))


def _log1p(d: Doubles, value: Value) -> Value:
    above = d.add(value, 1.0)
    lost = d.subtract(value, d.subtract(above, 1.0))
    mantissa, exponent = _mantissa(d, above)
    rest = d.subtract(mantissa, 1.0)
    same = d.code.op(f"fcmp oeq {exponent.typed}, {d.number(0.0).text}", "bool", d.lanes)
    rest = d.if_(same, value, rest)  # the number itself has the digits that the sum lost
    lost = d.if_(same, 0.0, d.divide(lost, above))
    low = d.add(d.fused(exponent, d.number(_LN2_LOW), _log_parts(d, rest)), lost)
    found = d.fused(exponent, d.number(_LN2_HIGH), d.add(rest, low))
    found = _at_ends(d, above, found)
    return d.if_(d.test("oeq", value, 0.0), value, found)


OWN: dict[str, Callable[[Doubles, Value], Value]] = {
    "exp": _exp, "expm1": _expm1, "tanh": _tanh, "log": _log, "log2": _log2, "log1p": _log1p,
}  # fmt: skip
FUNCTIONS = frozenset({*OWN, *CALLED})


def elementary(code: Code, name: str, operands: list[Value]) -> Value:
    """Return an elementary function of float64 or float32 numbers."""
    dtype, lanes = operands[0].dtype, operands[0].lanes
    wide = operands if dtype == "float64" else [_widened(code, each) for each in operands]
    if name in OWN:
        found = OWN[name](Doubles(code, lanes), wide[0])
    else:
        symbol = CALLED[name].symbol
        found = code.by_lane(lambda *each: code.call(symbol, each, "float64"), wide, "float64")
    if dtype == "float64":
        return found
    return code.op(f"fptrunc {found.typed} to {type_of(dtype, lanes)}", dtype, lanes)


def _widened(code: Code, value: Value) -> Value:
    return code.op(f"fpext {value.typed} to {type_of('float64', value.lanes)}", "float64", value.lanes)


__all__ = ["CALLED", "FUNCTIONS", "elementary"]
