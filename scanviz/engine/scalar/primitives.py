"""The operations of the scalar language: names, operands, results and meanings.

Every operation works on numbers of one dtype and gives one of the same dtype, or a truth value.  Integers are those of the
machine: fixed width, modulo two to the width.  Floating-point results are rounded to their dtype after every operation, in
float16 too; nothing is contracted to a fused multiply-add.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from scanviz.engine.graph.types import BOOLEAN, FLOATS, SIGNED, UNSIGNED

Kind = Literal["boolean", "signed", "unsigned", "floating"]
KINDS: dict[str, Kind] = {
    BOOLEAN: "boolean",
    **dict.fromkeys(SIGNED, "signed"),
    **dict.fromkeys(UNSIGNED, "unsigned"),
    **dict.fromkeys(FLOATS, "floating"),
}


class Primitive(NamedTuple):
    """An operation of the language.

    Attributes
    ----------
    name : str
        Its name in text and in the tables of printers.
    arity : int
        Number of operands.
    kinds : str
        First letters of the kinds of dtypes that it takes: b, s, u, f.
    meaning : str
        One line for the page of the language.
    tests : bool
        Whether it gives a truth value, not a number of its operands' dtype.
    exact : bool
        Whether its result is the only right one; an elementary function may differ in the last places.
    """

    name: str
    arity: int
    kinds: str
    meaning: str
    tests: bool = False
    exact: bool = True


def _functions(names: str, meaning: str, arity: int = 1) -> list[Primitive]:
    return [Primitive(name, arity, "f", meaning, exact=False) for name in names.split()]


_ALL = [
    Primitive("add", 2, "suf", "sum"),
    Primitive("subtract", 2, "suf", "difference"),
    Primitive("multiply", 2, "suf", "product; of integers its low half"),
    Primitive("multiply_high", 2, "u", "high half of the product of twice the width"),
    Primitive("divide", 2, "f", "quotient"),
    Primitive(
        "quotient",
        2,
        "su",
        "quotient rounded towards 0; the divisor must not be 0, nor the quotient too large",
    ),
    Primitive(
        "remainder",
        2,
        "suf",
        "what a quotient rounded towards 0 leaves, exactly; no integer may be divided by 0",
    ),
    Primitive("negate", 1, "sf", "sign changed"),
    Primitive("absolute", 1, "f", "sign bit cleared"),
    Primitive("copysign", 2, "f", "first with the sign bit of the second"),
    Primitive("bit_and", 2, "bsu", "bits set in both"),
    Primitive("bit_or", 2, "bsu", "bits set in either"),
    Primitive("bit_xor", 2, "bsu", "bits set in exactly one"),
    Primitive("bit_not", 1, "bsu", "every bit flipped"),
    Primitive(
        "shift_left", 2, "su", "bits moved up; any result where the second is not from 0 to the width less 1"
    ),
    Primitive("shift_right", 2, "su", "bits moved down, copies of the sign above; limits as of shift_left"),
    Primitive("equal", 2, "bsuf", "equal, false beside NaN; zeros of both signs are", tests=True),
    Primitive("less", 2, "suf", "less, false beside NaN", tests=True),
    Primitive("less_equal", 2, "suf", "less or equal, false beside NaN", tests=True),
    Primitive("floor", 1, "f", "largest whole number not above"),
    Primitive("ceil", 1, "f", "smallest whole number not below"),
    Primitive("truncate", 1, "f", "whole number towards 0"),
    Primitive("round_even", 1, "f", "nearest whole number, halves to even"),
    Primitive("sqrt", 1, "f", "square root, correctly rounded; of -0.0 it is -0.0, NaN below"),
    *_functions("exp exp2 expm1 log log2 log10 log1p", "exponential or logarithm"),
    *_functions("sin cos tan arcsin arccos arctan", "circular function, in radians"),
    *_functions("sinh cosh tanh arcsinh arccosh arctanh", "hyperbolic function"),
    *_functions("cbrt", "cube root"),
    *_functions("erf erfc erfinv gammaln digamma", "special function"),
    *_functions("betaln gammainc gammaincc", "special function of two numbers", 2),
    *_functions("arctan2", "angle of the point (second, first)", 2),
    *_functions("hypot", "length of the hypotenuse, without overflow on the way", 2),
    *_functions("power", "first to the power of the second", 2),
    *_functions(
        "polygamma", "derivative of digamma, of a whole order that is given as a floating-point number", 2
    ),
]
PRIMITIVES: dict[str, Primitive] = {primitive.name: primitive for primitive in _ALL}
