"""Powers with an exponent that is known when code is written: a few products and roots instead of a logarithm.

Each is right to 4 units in the last place, as all elementary functions are: every rounding adds half a unit or one, a number that
is squared doubles what it has.  Parts of a power are chosen such that none of them overflows or loses digits where the power
itself does not.  Products of many factors are computed in two numbers, the second what rounding took of the first.
"""

from __future__ import annotations

from collections.abc import Callable

from scanviz.engine.backends.native.floats import Floats
from scanviz.engine.backends.native.ir import Value
from scanviz.engine.backends.native.powers import Pair, product_in_two

MOST_FACTORS = 64  # of a product


def _root(d: Floats, value: Value) -> Value:
    """Return √x; 0 of -0, as powers have it."""
    return d.code.intrinsic("sqrt", d.add(value, 0.0))


def _of_least(d: Floats, value: Value, found: Value, of_least: float) -> Value:
    """Return a power with what it is of minus infinity, which has no root."""
    return d.if_(d.test("oeq", value, float("-inf")), of_least, found)


def _cube(d: Floats, value: Value) -> Value:
    return d.multiply(d.multiply(value, value), value)


def _fourth(d: Floats, value: Value) -> Value:
    square = d.multiply(value, value)
    return d.multiply(square, square)


def _inverse(d: Floats, value: Value) -> Value:
    return d.divide(d.number(1.0), value)


def _inverse_square(d: Floats, value: Value) -> Value:
    inverse = _inverse(d, value)
    return d.multiply(inverse, inverse)


def _square_root(d: Floats, value: Value) -> Value:
    return d.code.intrinsic("sqrt", value)  # as NumPy: -0 stays, and of -inf there is none


def _inverse_root(d: Floats, value: Value) -> Value:
    return _of_least(d, value, _inverse(d, _root(d, value)), 0.0)


def _three_halves(d: Floats, value: Value) -> Value:
    return _of_least(d, value, d.multiply(d.add(value, 0.0), _root(d, value)), float("inf"))


def _inverse_three_halves(d: Floats, value: Value) -> Value:
    found = d.divide(_inverse(d, d.add(value, 0.0)), _root(d, value))
    return _of_least(d, value, found, 0.0)


def _five_halves(d: Floats, value: Value) -> Value:
    return _of_least(d, value, d.multiply(d.multiply(value, value), _root(d, value)), float("inf"))


def _product(d: Floats, first: Pair, second: Pair) -> Pair:
    found, lost = product_in_two(d, first[0], second[0])
    lost = d.fused(first[0], second[1], lost)
    return found, d.fused(first[1], second[0], lost)


def _whole_power(d: Floats, value: Value, exponent: int) -> Value:
    """Return a power with a whole exponent, as a product of squares, their squares and so on."""
    square: Pair = value, d.number(0.0)
    if exponent < 0:
        inverse = _inverse(d, value)
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
    infinite = d.test("oeq", d.code.intrinsic("fabs", found[0]), float("inf"))
    zero = d.test("oeq", found[0], 0.0)  # of infinity what rounding took is no number
    either = d.code.op(f"or {infinite.typed}, {zero.text}", "bool", d.lanes)
    return d.if_(either, found[0], d.add(*found))


def known_power(d: Floats, value: Value, exponent: float) -> Value | None:
    """Return a power; None of an exponent for which there is no short way."""
    if exponent in KNOWN:
        return KNOWN[exponent](d, value)
    if exponent.is_integer() and 0 < abs(exponent) <= MOST_FACTORS:
        return _whole_power(d, value, int(exponent))
    return None


KNOWN: dict[float, Callable[[Floats, Value], Value]] = {
    -2.0: _inverse_square,
    -1.5: _inverse_three_halves,
    -1.0: _inverse,
    -0.5: _inverse_root,
    0.5: _square_root,
    1.5: _three_halves,
    2.5: _five_halves,
    3.0: _cube,
    4.0: _fourth,
}

__all__ = ["KNOWN", "known_power"]
