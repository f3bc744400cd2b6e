"""Arithmetic on floating-point values, and the constants of each format."""

from __future__ import annotations

from typing import NamedTuple

from scanviz.engine.backends.native.emit.ir import Code, Value, constant, type_of


class FloatFormat(NamedTuple):
    """Constants of a floating-point format.

    Attributes
    ----------
    dtype, bits : str
        The dtype, and that of integers of the same size.
    fraction, bias : int
        Bits of the fraction, and the bias of the exponent.
    to_whole : float
        Added, it leaves the nearest whole number in the last bits: 1.5 times 2 to the number of the fraction's bits.
    least, most, tiny_scale : float
        The smallest number that is not subnormal; the largest; what makes subnormal ones normal, 2 to two more than the bits of the
        fraction.
    root_half : int
        The bits of √½.
    """

    dtype: str
    bits: str
    fraction: int
    bias: int
    to_whole: float
    least: float
    most: float
    tiny_scale: float
    root_half: int


FORMATS = {
    "float64": FloatFormat(
        "float64", "int64", 52, 1023, 6755399441055744.0, 2.0**-1022, 1.7976931348623157e308, 2.0**54, 0x3FE6A09E667F3BCD
    ),
    "float32": FloatFormat(
        "float32", "int32", 23, 127, 12582912.0, 2.0**-126, 3.4028234663852886e38, 2.0**25, 0x3F3504F3
    ),
}  # fmt: skip


class Floats:
    """Arithmetic on values of one format and number of lanes.

    Attributes
    ----------
    code : Code
        The code that is written.
    lanes : int
        The same for all numbers.
    format : FloatFormat
        The same for all numbers.
    """

    def __init__(self, code: Code, lanes: int, dtype: str) -> None:
        self.code, self.lanes, self.format = code, lanes, FORMATS[dtype]

    def number(self, value: float) -> Value:
        """Return a constant."""
        return constant(value, self.format.dtype, self.lanes)

    def whole(self, value: int) -> Value:
        """Return an integer constant of the same width."""
        return constant(value, self.format.bits, self.lanes)

    def _op(self, name: str, first: Value, second: Value | float) -> Value:
        other = second if isinstance(second, Value) else self.number(second)
        return self.code.op(f"{name} {first.typed}, {other.text}", self.format.dtype, self.lanes)

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

    def fused(self, first: Value, second: Value | float, third: Value | float) -> Value:
        """Return first · second + third, rounded once."""
        others = [part if isinstance(part, Value) else self.number(part) for part in (second, third)]
        return self.code.intrinsic("fma", first, *others)

    def series(self, at: Value, coefficients: tuple[float, ...]) -> Value:
        """Return a polynomial, the constant first."""
        found = self.number(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            found = self.fused(found, at, coefficient)
        return found

    def negative(self, value: Value) -> Value:
        """Return a number with its sign changed."""
        return self.code.op(f"fneg {value.typed}", self.format.dtype, self.lanes)

    def test(self, how: str, first: Value, second: Value | float) -> Value:
        """Return a comparison: ``olt``, ``ogt``, ``oeq``, ``uno`` …."""
        other = second if isinstance(second, Value) else self.number(second)
        return self.code.op(f"fcmp {how} {first.typed}, {other.text}", "bool", self.lanes)

    def either(self, first: Value, *others: Value) -> Value:
        """Return where any of some conditions holds."""
        for other in others:
            first = self.code.op(f"or {first.typed}, {other.text}", "bool", self.lanes)
        return first

    def integer(self, name: str, first: Value, second: Value | int) -> Value:
        """Write an operation on integers of the same width."""
        other = second if isinstance(second, Value) else self.whole(second)
        return self.code.op(f"{name} {first.typed}, {other.text}", self.format.bits, self.lanes)

    def bits(self, value: Value) -> Value:
        """Return the bits of a number."""
        kind = self.format.bits
        return self.code.op(f"bitcast {value.typed} to {type_of(kind, self.lanes)}", kind, self.lanes)

    def from_bits(self, value: Value) -> Value:
        """Return the number of some bits."""
        kind = self.format.dtype
        return self.code.op(f"bitcast {value.typed} to {type_of(kind, self.lanes)}", kind, self.lanes)

    def from_integer(self, value: Value) -> Value:
        """Return an integer as a number."""
        kind = self.format.dtype
        return self.code.op(f"sitofp {value.typed} to {type_of(kind, self.lanes)}", kind, self.lanes)

    def if_(self, condition: Value, then: Value | float, otherwise: Value) -> Value:
        """Return one of two numbers."""
        return self.code.select(condition, then if isinstance(then, Value) else self.number(then), otherwise)

    def clamped(self, value: Value, low: float, high: float) -> Value:
        """Return a number within bounds; NaN stays NaN."""
        above = self.if_(self.test("olt", value, low), low, value)
        return self.if_(self.test("ogt", above, high), high, above)

    def nearest(self, value: Value, scale: float) -> tuple[Value, Value]:
        """Return the integer nearest to value · scale: shifted (its low bits hold it), and as a float."""
        shifted = self.fused(value, scale, self.format.to_whole)
        return shifted, self.subtract(shifted, self.format.to_whole)

    def power_of_two(self, shifted: Value) -> Value:
        """Return 2^k for a shifted integer of :meth:`nearest`; only for normal results."""
        moved = self.integer("shl", self.bits(shifted), self.format.fraction)
        return self.from_bits(self.integer("add", moved, self.format.bias << self.format.fraction))

    def scaled(self, value: Value, shifted: Value) -> Value:
        """Return value · 2^k in two steps, so that 2^k may exceed the exponents."""
        first, second = self._powers(shifted)
        return self.multiply(self.multiply(value, first), second)

    def scaled_with_one(self, part: Value, shifted: Value) -> Value:
        """Return (1 + part) · 2^k, rounded once."""
        first, second = self._powers(shifted)
        return self.multiply(self.fused(part, first, first), second)

    def _powers(self, shifted: Value) -> list[Value]:
        """Return two powers of 2 whose product is 2^k."""
        shape = self.format
        start = (shape.bias + shape.fraction << shape.fraction) | 1 << shape.fraction - 1  # of `to_whole`
        exponent = self.integer("sub", self.bits(shifted), start)
        half = self.integer("ashr", exponent, 1)
        return [
            self.from_bits(self.integer("shl", self.integer("add", part, shape.bias), shape.fraction))
            for part in (half, self.integer("sub", exponent, half))
        ]

    def as_format(self, value: Value, dtype: str) -> Value:
        """Return a number in another format."""
        if value.dtype == dtype:
            return value
        how = "fpext" if dtype == "float64" else "fptrunc"
        return self.code.op(f"{how} {value.typed} to {type_of(dtype, self.lanes)}", dtype, self.lanes)

    def called_where(self, where: Value, name: str, operands: list[Value], found: Value) -> Value:
        """Replace some lanes of a result by a C library function's; it is called only if there are any."""
        code, before, dtype = self.code, self.code.block, self.format.dtype
        some = where
        if self.lanes > 1:
            some = code.call(f"llvm.vector.reduce.or.v{self.lanes}i1", [where], "bool")
        slow, after = code.label(), code.label()
        with code.storing_nothing():
            code.branch(some, slow, after)
            code.begin(slow)
            wide = [self.as_format(operand, "float64") for operand in operands]
            called = code.by_lane(lambda *given: code.call(name, given, "float64"), wide, "float64")
            mended, end = self.if_(where, self.as_format(called, dtype), found), code.block
            code.jump(after)
            code.begin(after)
        return code.either(mended, end, found, before)
