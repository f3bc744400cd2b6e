"""Elementary functions: vectorised ones of this package, others by one call per lane.

Exponentials: with k the integer nearest to x/ln 2 and r = x - k ln 2 in two parts, e^x = 2^k (1 + p(r)), where p = r + r² q(r)
with a minimax polynomial q of an error below a quarter ulp.  Even and odd powers are summed separately, which halves the latency.
``expm1`` and ``tanh`` keep p and 2^k apart, so that nothing cancels at 0.

Logarithms: the series of (m-1)/(m+1) for m in [√½, √2) (W. J. Cody and W. Waite, *Software Manual for the Elementary Functions*,
1980) with the coefficients of Sun's fdlibm, plus the exponent.

Both work in the format of their operands.  Library functions take float64; their results are rounded once to float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from scanviz.engine.backends.native.cache.llvm import SPECIAL
from scanviz.engine.backends.native.emit.ir import Code, Value
from scanviz.engine.backends.native.emit.values import known_number
from scanviz.engine.backends.native.kernels import circular
from scanviz.engine.backends.native.kernels.floats import Floats
from scanviz.engine.backends.native.kernels.powers import known_power, logarithm, product_in_two


class ExponentialConstants(NamedTuple):
    """Constants of exponentials and logarithms in one format.

    Attributes
    ----------
    ln2, log_ln2 : tuple of float
        ln 2 in two parts; for the logarithm the first part has few digits, so that its multiples are exact.
    exponential, logarithm : tuple of float
        Coefficients of q, and of the series of the logarithm from the square on.
    lowest, highest : float
        Beyond these e^x is 0, or infinite.
    one : float
        Beyond it tanh is 1.
    large : float
        Beyond it e^x - 1 is e^x, and 2^k may be infinite.
    per_ln2 : tuple of float
        1/ln 2, and its remainder beyond the format's precision.
    """

    ln2: tuple[float, float]
    log_ln2: tuple[float, float]
    exponential: tuple[float, ...]
    logarithm: tuple[float, ...]
    lowest: float
    highest: float
    one: float
    large: float
    per_ln2: tuple[float, float]


LARGEST_LOG = 690.0  # the largest y log x for which x^y is surely normal
_PER_LN2 = 1.4426950408889634
CONSTANTS = {
    "float64": ExponentialConstants(
        (6.93147180369123816490e-01, 1.90821492927058770002e-10),
        (6.93147180369123816490e-01, 1.90821492927058770002e-10),
        (
            0.5000000000000006, 0.16666666666666685, 0.041666666666572205, 0.008333333333314295, 0.0013888888932876659,
            0.0001984126990376867, 2.4801503814595893e-05, 2.7557227222486704e-06, 2.7626589077653804e-07,
            2.5114724080929414e-08,
        ),
        (
            6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
            1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
        ),
        -746.0, 710.0, 22.0, 300.0, (_PER_LN2, 2.0355273740931033e-17),
    ),
    "float32": ExponentialConstants(
        (0.693145751953125, 1.428606765330187e-06),
        (6.9313812256e-01, 9.0580006145e-06),
        (0.5000000062639096, 0.16666542048808755, 0.041666279127899844, 0.008366710620358863, 0.0013946666872486752),
        (0.66666662693, 0.40000972152, 0.28498786688, 0.24279078841),
        -104.0, 89.0, 9.1, 60.0, (1.4426950216293335, 1.9259629911266175e-08),
    ),
}  # fmt: skip


class Called(NamedTuple):
    """A function of float64 numbers, called lane by lane: of the C library, or of ``scipy.special.cython_special``."""

    symbol: str


CALLED = {
    "log10": Called("log10"), "exp2": Called("exp2"), "arcsin": Called("asin"), "arccos": Called("acos"),
    "sinh": Called("sinh"), "cosh": Called("cosh"), "arcsinh": Called("asinh"), "arccosh": Called("acosh"),
    "arctanh": Called("atanh"), "cbrt": Called("cbrt"), "digamma": Called(f"{SPECIAL}psi"),
    **{
        name: Called(SPECIAL + name)
        for name in ("erf", "erfc", "erfinv", "gammaln", "betaln", "gammainc", "gammaincc")
    },
}  # fmt: skip


def _core(d: Floats, value: Value, more: Value | None = None) -> tuple[Value, Value]:
    """Return p and k of e^x = 2^k (1 + p), k as in :meth:`Floats.nearest`; ``more`` is the low part of x."""
    known = CONSTANTS[d.format.dtype]
    shifted, whole = d.nearest(value, _PER_LN2)
    rest = d.fused(whole, -known.ln2[0], value)
    rest = d.fused(whole, -known.ln2[1], rest)
    rest = rest if more is None else d.add(rest, more)
    square = d.multiply(rest, rest)
    series = d.fused(
        d.series(square, known.exponential[1::2]), rest, d.series(square, known.exponential[::2])
    )
    return d.fused(series, square, rest), shifted


def _exp(d: Floats, value: Value) -> Value:
    known = CONSTANTS[d.format.dtype]
    part, power = _core(d, d.clamped(value, known.lowest, known.highest))
    return d.scaled_with_one(part, power)


def _expm1(d: Floats, value: Value) -> Value:
    known = CONSTANTS[d.format.dtype]
    part, power = _core(d, d.clamped(value, known.lowest, known.highest))
    scale = d.scaled(d.number(1.0), power)
    near = d.fused(part, scale, d.subtract(scale, 1.0))
    far = d.scaled_with_one(part, power)
    found = d.if_(d.test("ogt", value, known.large), far, near)
    return d.if_(d.test("oeq", value, 0.0), value, found)  # -0.0 stays


def _tanh(d: Floats, value: Value) -> Value:
    known = CONSTANTS[d.format.dtype]
    size = d.code.intrinsic("fabs", value)
    size = d.if_(d.test("ogt", size, known.one), known.one, size)
    part, power = _core(d, d.multiply(size, -2.0))
    scale = d.power_of_two(power)
    below = d.fused(part, scale, d.subtract(scale, 1.0))
    above = d.fused(part, scale, d.add(scale, 1.0))
    return d.code.intrinsic("copysign", d.divide(below, above), value)


def _mantissa(d: Floats, value: Value) -> tuple[Value, Value]:
    """Split a positive number m · 2^e into m in [√½, √2) and e, both as floats."""
    shape = d.format
    tiny = d.test("olt", value, shape.least)
    bits = d.bits(d.if_(tiny, d.multiply(value, shape.tiny_scale), value))
    moved = d.integer("sub", bits, shape.root_half)
    whole = d.from_integer(d.integer("ashr", moved, shape.fraction))
    whole = d.if_(tiny, d.subtract(whole, shape.fraction + 2.0), whole)
    low = d.integer("and", moved, (1 << shape.fraction) - 1)
    return d.from_bits(d.integer("add", low, shape.root_half)), whole


def _log_parts(d: Floats, rest: Value) -> Value:
    """Return log(1 + f) - f for f from √½ - 1 to √2 - 1."""
    ratio = d.divide(rest, d.add(rest, 2.0))
    square = d.multiply(ratio, ratio)
    series = d.multiply(d.series(square, CONSTANTS[d.format.dtype].logarithm), square)
    half = d.multiply(d.multiply(rest, rest), 0.5)
    return d.subtract(d.multiply(ratio, d.add(half, series)), half)


def _at_ends(d: Floats, value: Value, found: Value) -> Value:
    """Correct the logarithm of 0, infinity, negative numbers and NaN."""
    found = d.if_(d.test("oeq", value, 0.0), float("-inf"), found)
    found = d.if_(d.test("oeq", value, float("inf")), float("inf"), found)
    return d.if_(d.test("ult", value, 0.0), float("nan"), found)


def _log(d: Floats, value: Value) -> Value:
    high, low = CONSTANTS[d.format.dtype].log_ln2
    mantissa, exponent = _mantissa(d, value)
    rest = d.subtract(mantissa, 1.0)
    last = d.fused(exponent, low, _log_parts(d, rest))
    return _at_ends(d, value, d.fused(exponent, high, d.add(rest, last)))


def _log2(d: Floats, value: Value) -> Value:
    high, low = CONSTANTS[d.format.dtype].per_ln2
    mantissa, exponent = _mantissa(d, value)
    rest = d.subtract(mantissa, 1.0)
    part = d.add(rest, _log_parts(d, rest))
    return _at_ends(d, value, d.add(exponent, d.fused(part, high, d.multiply(part, low))))


def _log1p(d: Floats, value: Value) -> Value:
    high, low = CONSTANTS[d.format.dtype].log_ln2
    above = d.add(value, 1.0)
    lost = d.subtract(value, d.subtract(above, 1.0))
    mantissa, exponent = _mantissa(d, above)
    rest = d.subtract(mantissa, 1.0)
    same = d.test("oeq", exponent, 0.0)
    rest = d.if_(same, value, rest)  # x itself has the digits that 1 + x lost
    lost = d.if_(same, 0.0, d.divide(lost, above))
    last = d.add(d.fused(exponent, low, _log_parts(d, rest)), lost)
    found = _at_ends(d, above, d.fused(exponent, high, d.add(rest, last)))
    return d.if_(d.test("oeq", value, 0.0), value, found)


def _power(d: Floats, value: Value, exponent: Value) -> Value:
    """Return x^y: by products and roots for many known exponents, otherwise by the logarithm."""
    known = known_number(exponent)
    found = None if known is None else known_power(d, value, known)
    return _power_of_positive(d, value, exponent) if found is None else found


def _power_of_positive(d: Floats, value: Value, exponent: Value) -> Value:
    """Return x^y = e^(y log x) for positive normal numbers and results, the C library's elsewhere."""
    wide = Floats(d.code, d.lanes, "float64")
    base, times = (d.as_format(number, "float64") for number in (value, exponent))
    if d.format.dtype == "float64":
        high, low = logarithm(wide, *_mantissa(wide, base))
        log, lost = product_in_two(wide, times, high)
        lost = wide.fused(times, low, lost)
    else:
        log, lost = wide.multiply(times, _log(wide, base)), None
    part, power = _core(wide, log, lost)
    scale = wide.power_of_two(power)
    found = d.as_format(wide.fused(part, scale, scale), d.format.dtype)
    beyond = d.either(
        wide.test("ult", base, wide.format.least),
        wide.test("ugt", base, wide.format.most),
        wide.test("ugt", d.code.intrinsic("fabs", log), LARGEST_LOG),
    )
    return d.called_where(beyond, "pow", [value, exponent], found)


def _remainder(d: Floats, value: Value, divisor: Value) -> Value:
    """Return the exact remainder of a truncated division; fmod's for quotients beyond the format's integers.

    A quotient that was rounded up to an integer is one too large; then the divisor is added once.
    """
    size, by = (d.code.intrinsic("fabs", number) for number in (value, divisor))
    whole = d.code.intrinsic("trunc", d.divide(size, by))
    rest = d.fused(d.negative(whole), by, size)
    rest = d.if_(d.test("olt", rest, 0.0), d.add(rest, by), rest)
    found = d.code.intrinsic("copysign", rest, value)
    beyond = d.either(d.test("uge", whole, 2.0 ** (d.format.fraction + 1)), d.test("ueq", by, float("inf")))
    return d.called_where(beyond, "fmod", [value, divisor], found)


OWN: dict[str, Callable[..., Value]] = {
    "exp": _exp, "expm1": _expm1, "tanh": _tanh, "log": _log, "log2": _log2, "log1p": _log1p,
    "power": _power, "remainder": _remainder,
    **circular.WRITERS,
}  # fmt: skip
FUNCTIONS = frozenset({*OWN, *CALLED})


def elementary(code: Code, name: str, operands: list[Value]) -> Value:
    """Write an elementary function of float64 or float32 numbers."""
    dtype, lanes = operands[0].dtype, operands[0].lanes
    if name in OWN:
        return OWN[name](Floats(code, lanes, dtype), *operands)
    d, symbol = Floats(code, lanes, dtype), CALLED[name].symbol
    wide = [d.as_format(operand, "float64") for operand in operands]
    found = code.by_lane(lambda *given: code.call(symbol, given, "float64"), wide, "float64")
    return d.as_format(found, dtype)
