"""Elementwise operations: one scalar function applied to each element of inputs that broadcast together.

Each is declared once by :func:`~scanviz.engine.ops.elementwise_declaration.elementwise`: the NumPy ufunc that is its meaning and
gives it its name (or a function that takes ``out`` as its last positional argument like one), its formula in the scalar language, a
line of documentation, and what is known of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.nodes import Variable, build_one, tensor_type
from scanviz.engine.graph.notation import WrittenTerm, inverted, minus, squared
from scanviz.engine.graph.types import canonical_dtype
from scanviz.engine.ops import formulas as f
from scanviz.engine.ops import scalar_functions as functions
from scanviz.engine.ops.elementwise_declaration import (
    CHEAP,
    CHOSEN,
    COMPARES,
    EXTREME,
    FUNCTION,
    KEPT,
    LINEAR,
    POSITIVE,
    ElementwiseDeclaration,
    elementwise,
)
from scanviz.engine.ops.support import CastParameters, as_variable, float_dtype, infer_by, kept_shape
from scanviz.engine.scalar.expression import bits, primitive, select, x, y, z
from scanviz.engine.scalar.formula import floats, numbers, whole

add = elementwise(np.add, numbers(x + y, x | y), "Sum.", symbol="+", facts=replace(LINEAR, sign="kept"))
subtract = elementwise(np.subtract, numbers(x - y), "Difference.", symbol="-", facts=LINEAR)
multiply = elementwise(
    np.multiply, numbers(x * y, x & y), "Product.", symbol="*", facts=replace(CHEAP, sign="kept")
)
divide = elementwise(np.divide, floats(x / y), "Quotient, floating for ints.", symbol="/", facts=CHEAP)
floor_divide = elementwise(np.floor_divide, f.FLOOR_DIVIDE, "Quotient rounded down.", symbol="//", facts=KEPT)
mod = elementwise(np.remainder, f.MOD, "Remainder with the sign of the divisor.", name="mod", symbol="%")
power = elementwise(
    np.power, f.POWER, "First to the power of second.", symbol="**", facts=replace(FUNCTION, raises=True)
)
maximum = elementwise(np.maximum, f.MAXIMUM, "Larger of two; NaN if either is.", facts=EXTREME)
minimum = elementwise(np.minimum, f.MINIMUM, "Smaller of two; NaN if either is.", facts=EXTREME)
fmax = elementwise(np.fmax, f.FMAX, "Larger of two; the other if one is NaN.", facts=EXTREME)
fmin = elementwise(np.fmin, f.FMIN, "Smaller of two; the other if one is NaN.", facts=EXTREME)
arctan2 = elementwise(np.arctan2, f.function("arctan2", 2), "Angle of the point (second, first).")
hypot = elementwise(np.hypot, f.function("hypot", 2), "Length of the hypotenuse.", facts=POSITIVE)
logaddexp = elementwise(np.logaddexp, f.LOGADDEXP, "log(exp(a) + exp(b)) without overflow.")
copysign = elementwise(
    np.copysign, floats(primitive("copysign", x, y)), "First with the sign of second.", facts=LINEAR
)
multiply_no_nan = elementwise(
    functions.multiply_no_nan,
    f.NO_NAN,
    "Product that is 0 where the second is, even beside infinity and NaN.",
    like=np.multiply,
    facts=replace(CHEAP, selects=True, calls=4),
)

equal = elementwise(np.equal, f.EQUAL, "Whether equal.", symbol="==", facts=COMPARES, truths=0)
not_equal = elementwise(
    np.not_equal, f.NOT_EQUAL, "Whether different.", symbol="!=", facts=COMPARES, truths=0
)
less = elementwise(np.less, f.LESS, "Whether less.", symbol="<", facts=COMPARES)
less_equal = elementwise(np.less_equal, f.LESS_EQUAL, "Whether less or equal.", symbol="<=", facts=COMPARES)
greater = elementwise(np.greater, f.GREATER, "Whether greater.", symbol=">", facts=COMPARES)
greater_equal = elementwise(
    np.greater_equal, f.GREATER_EQUAL, "Whether greater or equal.", symbol=">=", facts=COMPARES
)
logical_and = elementwise(
    np.logical_and, f.logical(x & y, f.truth(x) & f.truth(y)), "Whether both are non-zero.", facts=CHEAP
)
logical_or = elementwise(
    np.logical_or, f.logical(x | y, f.truth(x) | f.truth(y)), "Whether either is non-zero.", facts=CHEAP
)
logical_xor = elementwise(
    np.logical_xor, f.logical(x ^ y, f.truth(x) ^ f.truth(y)), "Whether exactly one is non-zero.", facts=CHEAP
)
logical_not = elementwise(np.logical_not, f.logical(~x, ~f.truth(x)), "Whether zero.", facts=CHEAP)
bitwise_and = elementwise(np.bitwise_and, whole(x & y, x & y), "Bits set in both.", symbol="&", facts=CHEAP)
bitwise_or = elementwise(np.bitwise_or, whole(x | y, x | y), "Bits set in either.", symbol="|", facts=CHEAP)
bitwise_xor = elementwise(
    np.bitwise_xor, whole(x ^ y, x ^ y), "Bits set in exactly one.", symbol="^", facts=CHEAP
)
invert = elementwise(np.invert, whole(~x, ~x), "Every bit flipped.", facts=CHEAP)
left_shift = elementwise(np.left_shift, f.LEFT_SHIFT, "Bits moved up.", symbol="<<", facts=CHEAP)
right_shift = elementwise(np.right_shift, f.RIGHT_SHIFT, "Bits moved down.", symbol=">>", facts=CHEAP)

negative = elementwise(np.negative, f.NEGATIVE, "Sign changed.", notation=minus, facts=LINEAR)
positive = elementwise(
    np.positive, numbers(x), "The same value.", facts=replace(LINEAR, same_elements=True, sign="kept")
)
absolute = elementwise(np.absolute, f.ABSOLUTE, "Absolute value.", facts=replace(CHEAP, sign="no minus zero"))
sign = elementwise(np.sign, f.SIGN, "-1, 0 or 1.", facts=CHEAP)
reciprocal = elementwise(np.reciprocal, f.RECIPROCAL, "1 / x.", notation=inverted, facts=CHEAP)
square = elementwise(
    np.square, numbers(x * x), "x * x.", notation=squared, facts=replace(CHEAP, sign="no minus zero")
)
sqrt = elementwise(
    np.sqrt, floats(primitive("sqrt", x)), "Square root.", facts=replace(FUNCTION, sign="not negative")
)
cbrt = elementwise(np.cbrt, f.function("cbrt"), "Cube root.")
exp = elementwise(np.exp, f.function("exp"), "e to the power of x.", facts=POSITIVE)
exp2 = elementwise(np.exp2, f.function("exp2"), "2 to the power of x.", facts=POSITIVE)
expm1 = elementwise(np.expm1, f.function("expm1"), "exp(x) - 1, exact near 0.")
log = elementwise(np.log, f.function("log"), "Natural logarithm.")
log2 = elementwise(np.log2, f.function("log2"), "Logarithm to base 2.")
log10 = elementwise(np.log10, f.function("log10"), "Logarithm to base 10.")
log1p = elementwise(np.log1p, f.function("log1p"), "log(1 + x), exact near 0.")
sin = elementwise(np.sin, f.function("sin"), "Sine.")
cos = elementwise(np.cos, f.function("cos"), "Cosine.")
tan = elementwise(np.tan, f.function("tan"), "Tangent.")
arcsin = elementwise(np.arcsin, f.function("arcsin"), "Inverse sine.")
arccos = elementwise(np.arccos, f.function("arccos"), "Inverse cosine.")
arctan = elementwise(np.arctan, f.function("arctan"), "Inverse tangent.")
sinh = elementwise(np.sinh, f.function("sinh"), "Hyperbolic sine.")
cosh = elementwise(np.cosh, f.function("cosh"), "Hyperbolic cosine.", facts=POSITIVE)
tanh = elementwise(np.tanh, f.function("tanh"), "Hyperbolic tangent.")
arcsinh = elementwise(np.arcsinh, f.function("arcsinh"), "Inverse hyperbolic sine.")
arccosh = elementwise(np.arccosh, f.function("arccosh"), "Inverse hyperbolic cosine.")
arctanh = elementwise(np.arctanh, f.function("arctanh"), "Inverse hyperbolic tangent.")
deg2rad = elementwise(np.deg2rad, floats(x * (math.pi / 180), ulp=1), "Degrees to radians.", facts=CHEAP)
rad2deg = elementwise(np.rad2deg, floats(x * (180 / math.pi), ulp=2), "Radians to degrees.", facts=CHEAP)
floor = elementwise(np.floor, f.rounded("floor"), "Rounded down.", facts=CHEAP)
ceil = elementwise(np.ceil, f.rounded("ceil"), "Rounded up.", facts=CHEAP)
trunc = elementwise(np.trunc, f.rounded("truncate"), "Rounded towards 0.", facts=CHEAP)


def _rounded(kind: Any) -> tuple[Any, ...]:
    return (kind, kind) if np.dtype(kind).kind in "iu" else np.rint.resolve_dtypes((kind, None))


round = elementwise(
    functions.rint,
    f.rounded("round_even"),
    "Rounded to the nearest integer, halves to even; ints stay ints.",
    name="round",
    result=_rounded,
    arity=1,
    facts=CHEAP,
)
isnan = elementwise(np.isnan, f.ISNAN, "Whether not a number.", facts=CHEAP)
isinf = elementwise(np.isinf, f.ISINF, "Whether infinite.", facts=CHEAP)
isfinite = elementwise(np.isfinite, f.ISFINITE, "Whether neither infinite nor NaN.", facts=CHEAP)
signbit = elementwise(np.signbit, floats(bits(x) < 0), "Whether the sign bit is set.", facts=CHEAP)

sigmoid = elementwise(
    functions.sigmoid, f.SIGMOID, "1 / (1 + exp(-x)).", like=np.exp, facts=replace(POSITIVE, calls=3)
)
softplus = elementwise(
    functions.softplus,
    f.SOFTPLUS,
    "log(1 + exp(x)) without overflow.",
    like=np.exp,
    facts=replace(POSITIVE, calls=3),
)


def _special(kind: Any) -> tuple[Any, ...]:
    dtype = np.dtype(kind if np.dtype(kind).kind == "f" else "float64")
    return (dtype, dtype)


def _by_scipy(function: Callable[..., Any], doc: str) -> ElementwiseDeclaration:
    return elementwise(function, f.function(function.__name__), doc, result=_special, arity=1)


erf = _by_scipy(functions.erf, "Error function.")
erfc = _by_scipy(functions.erfc, "1 - erf(x), exact for large x.")
erfinv = _by_scipy(functions.erfinv, "Inverse of the error function.")
gammaln = _by_scipy(functions.gammaln, "Logarithm of the absolute value of the gamma function.")
digamma = _by_scipy(functions.digamma, "Derivative of gammaln.")

logit = elementwise("logit", f.LOGIT, "Logarithm of p / (1 - p), exact near 1/2.", result=_special, arity=1)
xlogy = elementwise("xlogy", f.XLOGY, "First times log(second), 0 where first is.", like=np.divide)
xlog1py = elementwise("xlog1py", f.XLOG1PY, "First times log(1 + second), 0 where first is.", like=np.divide)


def _of_two_by_scipy(function: Callable[..., Any], doc: str) -> ElementwiseDeclaration:
    return elementwise(function, f.function(function.__name__, 2), doc, like=np.divide)


betaln = _of_two_by_scipy(functions.betaln, "Logarithm of the absolute value of the beta function.")
gammainc = _of_two_by_scipy(
    functions.gammainc, "Share of the gamma function of first that its integral up to second is."
)
gammaincc = _of_two_by_scipy(functions.gammaincc, "1 - gammainc, exact for large second.")


def _of_order(order: Any, kind: Any) -> tuple[Any, ...]:
    if order is not int and np.dtype(order).kind not in "iu":
        raise TypeError("the order of a derivative is an integer")
    return (np.dtype("int64"), *_special(float if kind is int else kind))


polygamma = elementwise(
    functions.polygamma,
    f.POLYGAMMA,
    "Derivative of digamma of an order: polygamma(0, x) is digamma(x).",
    result=_of_order,
    arity=2,
)


def _where_dtypes(condition: Any, first: Any, second: Any) -> tuple[Any, ...]:
    common = np.add.resolve_dtypes((first, second, None))[-1] if first is not second else np.dtype(first)
    if np.dtype(first) == np.dtype(second) == np.dtype(bool):
        common = np.dtype(bool)
    return (np.dtype(bool), common, common, common)


def _clip_dtypes(value: Any, low: Any, high: Any) -> tuple[Any, ...]:
    both = np.maximum.resolve_dtypes((value, low, None))[-1]
    common = np.minimum.resolve_dtypes((both, high, None))[-1]
    return (common, common, common, common)


where = elementwise(
    functions.where,
    numbers(select(x, y, z), select(x, y, z)),
    "Second where first is true, else third.",
    result=_where_dtypes,
    arity=3,
    facts=replace(CHOSEN, calls=4),
    truths=1,
)
clip = elementwise(
    functions.clip,
    f.CLIP,
    "x limited to [low, high].",
    result=_clip_dtypes,
    arity=3,
    facts=replace(CHOSEN, either_zero=True),
)


CAST = Declaration(
    "cast",
    "elementwise",
    arity=1,
    doc="The same values in another dtype, as NumPy's astype.",
    infer=infer_by(lambda op, kinds: (op.parameters.dtype,)),
    perform=lambda op, values: (np.asarray(values[0]).astype(op.parameters.dtype),),
    shapes=kept_shape,
    notation=lambda op, operands: WrittenTerm(f"{op.parameters.dtype}({operands[0].text})"),
    facts=replace(LINEAR, overwrites=0, sign="kept"),
)


def cast(value: Any, dtype: object) -> Variable:
    """Return ``value`` converted to ``dtype``; itself if it has it already.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> cast(T.vector("x"), "int32").type
    TensorType('int32', (None,))
    """
    wanted = canonical_dtype(dtype)
    variable = as_variable(value)
    if tensor_type(variable).dtype == wanted:
        return variable
    return build_one(Op(CAST, CastParameters(wanted)), variable)


def as_floating(value: Any) -> Variable:
    """Return ``value`` in the floating dtype that NumPy computes means and the like in: its own where it is floating.

    Examples
    --------
    >>> as_floating([1, 2]).type
    TensorType('float64', (2,))
    """
    variable = as_variable(value)
    return cast(variable, float_dtype(tensor_type(variable).dtype))
