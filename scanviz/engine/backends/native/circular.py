"""Sine and cosine of all lanes at once.

With k the whole number nearest to x/(π/2), r = x - k π/2 is found in two parts: π/2 is taken off in three, the second of which has
so few digits that k of it is exact, as W. J. Cody and W. Waite do it, and each remainder keeps what rounding has lost.  That holds
as long as k has few digits itself; for larger numbers, NaN and infinity the C library is called, in the lanes that have them.
Both series on [-π/4, π/4] are those of Sun's fdlibm for float64, and of S. L. Moshier's Cephes for float32.
"""

from __future__ import annotations

from scanviz.engine.backends.native.floats import Floats
from scanviz.engine.backends.native.ir import Value, type_of
from scanviz.engine.named_tuple import NamedTuple


class CircularConstants(NamedTuple):
    """What the functions of one format are made of: π/2 in three parts, the largest number for them, coefficients from r² on."""

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
    """Return the sine of numbers."""
    found = _quarter(d, value, 0)
    return _beyond(d, "sin", value, d.if_(d.test("oeq", value, 0.0), value, found))  # -0.0 stays


def cosine(d: Floats, value: Value) -> Value:
    """Return the cosine of numbers."""
    return _beyond(d, "cos", value, _quarter(d, value, 1))


def _quarter(d: Floats, value: Value, turned: int) -> Value:
    """Return the sine of a number and so many quarters of a turn."""
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
    """Return a result with that of the C library in the lanes whose numbers are too large, or none."""
    large = d.test("ugt", d.code.intrinsic("fabs", value), CONSTANTS[d.format.dtype].largest)
    return d.called_where(large, name, [value], found)


__all__ = ["cosine", "sine"]
