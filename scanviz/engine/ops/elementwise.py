"""Elementwise operations: one scalar function applied to each element of inputs that broadcast together.

Each is declared once by :func:`~scanviz.engine.ops.elementwise_declaration.elementwise`, with its formula in the scalar
language, a line of documentation and its facts.  Its meaning and name are those of a NumPy ufunc, or of a function that takes
``out`` as its last positional argument like one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from scanviz.engine.graph import notation
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.nodes import Variable, build_one, tensor_type
from scanviz.engine.graph.types import FLOATS, canonical_dtype
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

if TYPE_CHECKING:
    from scanviz.engine.scalar.formula import Formula


def _formula_of(name: str) -> Formula:
    from scanviz.engine.ops.formulas.elementwise import formula_of

    return formula_of(name)


def _declared(numpy: Callable[..., Any] | str, doc: str, **known: Any) -> ElementwiseDeclaration:
    """Declare an operation whose formula stands under its name in ``formulas/elementwise.py``: loops on NumPy ask for none."""
    return elementwise(numpy, _formula_of, doc, **known)  # its other arguments, which it checks


add = _declared(np.add, "Sum.", symbol="+", facts=replace(LINEAR, sign="kept"))
subtract = _declared(np.subtract, "Difference.", symbol="-", facts=LINEAR)
multiply = _declared(np.multiply, "Product.", symbol="*", facts=replace(CHEAP, sign="kept"))
divide = _declared(np.divide, "Quotient, floating for ints.", symbol="/", facts=CHEAP)
floor_divide = _declared(np.floor_divide, "Quotient rounded down.", symbol="//", facts=KEPT)
mod = _declared(np.remainder, "Remainder with the sign of the divisor.", name="mod", symbol="%")
power = _declared(
    np.power, "First to the power of second.", symbol="**", facts=replace(FUNCTION, raises=True)
)
maximum = _declared(np.maximum, "Larger of two; NaN if either is.", facts=EXTREME)
minimum = _declared(np.minimum, "Smaller of two; NaN if either is.", facts=EXTREME)
# which zero of two NumPy gives changes with the length of arrays
fmax = _declared(np.fmax, "Larger of two; the other if one is NaN.", facts=replace(EXTREME, either_zero=True))
fmin = _declared(
    np.fmin, "Smaller of two; the other if one is NaN.", facts=replace(EXTREME, either_zero=True)
)
arctan2 = _declared(np.arctan2, "Angle of the point (second, first).")
hypot = _declared(np.hypot, "Length of the hypotenuse.", facts=POSITIVE)
logaddexp = _declared(np.logaddexp, "log(exp(a) + exp(b)) without overflow.")
copysign = _declared(np.copysign, "First with the sign of second.", facts=LINEAR)
multiply_no_nan = _declared(
    functions.multiply_no_nan,
    "Product that is 0 where the second is, even beside infinity and NaN.",
    like=np.multiply,
    facts=replace(CHEAP, selects=True, calls=4),
)

equal = _declared(np.equal, "Whether equal.", symbol="==", facts=COMPARES, truths=0)
not_equal = _declared(np.not_equal, "Whether different.", symbol="!=", facts=COMPARES, truths=0)
less = _declared(np.less, "Whether less.", symbol="<", facts=COMPARES)
less_equal = _declared(np.less_equal, "Whether less or equal.", symbol="<=", facts=COMPARES)
greater = _declared(np.greater, "Whether greater.", symbol=">", facts=COMPARES)
greater_equal = _declared(np.greater_equal, "Whether greater or equal.", symbol=">=", facts=COMPARES)
logical_and = _declared(np.logical_and, "Whether both are non-zero.", facts=CHEAP)
logical_or = _declared(np.logical_or, "Whether either is non-zero.", facts=CHEAP)
logical_xor = _declared(np.logical_xor, "Whether exactly one is non-zero.", facts=CHEAP)
logical_not = _declared(np.logical_not, "Whether zero.", facts=CHEAP)
bitwise_and = _declared(np.bitwise_and, "Bits set in both.", symbol="&", facts=CHEAP)
bitwise_or = _declared(np.bitwise_or, "Bits set in either.", symbol="|", facts=CHEAP)
bitwise_xor = _declared(np.bitwise_xor, "Bits set in exactly one.", symbol="^", facts=CHEAP)
invert = _declared(np.invert, "Every bit flipped.", facts=CHEAP)
left_shift = _declared(np.left_shift, "Bits moved up.", symbol="<<", facts=CHEAP)
right_shift = _declared(np.right_shift, "Bits moved down.", symbol=">>", facts=CHEAP)

negative = _declared(np.negative, "Sign changed.", notation=notation.minus, facts=LINEAR)
positive = _declared(np.positive, "The same value.", facts=replace(LINEAR, same_elements=True, sign="kept"))
absolute = _declared(np.absolute, "Absolute value.", facts=replace(CHEAP, sign="no minus zero"))
sign = _declared(np.sign, "-1, 0 or 1.", facts=CHEAP)
reciprocal = _declared(np.reciprocal, "1 / x.", notation=notation.inverted, facts=CHEAP)
square = _declared(np.square, "x * x.", notation=notation.squared, facts=replace(CHEAP, sign="no minus zero"))
sqrt = _declared(np.sqrt, "Square root.", facts=replace(FUNCTION, sign="not negative"))
cbrt = _declared(np.cbrt, "Cube root.")
exp = _declared(np.exp, "e to the power of x.", facts=POSITIVE)
exp2 = _declared(np.exp2, "2 to the power of x.", facts=POSITIVE)
expm1 = _declared(np.expm1, "exp(x) - 1, exact near 0.")
log = _declared(np.log, "Natural logarithm.")
log2 = _declared(np.log2, "Logarithm to base 2.")
log10 = _declared(np.log10, "Logarithm to base 10.")
log1p = _declared(np.log1p, "log(1 + x), exact near 0.")
sin = _declared(np.sin, "Sine.")
cos = _declared(np.cos, "Cosine.")
tan = _declared(np.tan, "Tangent.")
arcsin = _declared(np.arcsin, "Inverse sine.")
arccos = _declared(np.arccos, "Inverse cosine.")
arctan = _declared(np.arctan, "Inverse tangent.")
sinh = _declared(np.sinh, "Hyperbolic sine.")
cosh = _declared(np.cosh, "Hyperbolic cosine.", facts=POSITIVE)
tanh = _declared(np.tanh, "Hyperbolic tangent.")
arcsinh = _declared(np.arcsinh, "Inverse hyperbolic sine.")
arccosh = _declared(np.arccosh, "Inverse hyperbolic cosine.")
arctanh = _declared(np.arctanh, "Inverse hyperbolic tangent.")
deg2rad = _declared(np.deg2rad, "Degrees to radians.", facts=CHEAP)
rad2deg = _declared(np.rad2deg, "Radians to degrees.", facts=CHEAP)
floor = _declared(np.floor, "Rounded down.", facts=CHEAP)
ceil = _declared(np.ceil, "Rounded up.", facts=CHEAP)
trunc = _declared(np.trunc, "Rounded towards 0.", facts=CHEAP)


def _rounded(kind: Any) -> tuple[Any, ...]:
    return (kind, kind) if np.dtype(kind).kind in "iu" else np.rint.resolve_dtypes((kind, None))


round = _declared(
    functions.rint,
    "Rounded to the nearest integer, halves to even; ints stay ints.",
    name="round",
    result=_rounded,
    arity=1,
    facts=CHEAP,
)
isnan = _declared(np.isnan, "Whether not a number.", facts=CHEAP)
isinf = _declared(np.isinf, "Whether infinite.", facts=CHEAP)
isfinite = _declared(np.isfinite, "Whether neither infinite nor NaN.", facts=CHEAP)
signbit = _declared(np.signbit, "Whether the sign bit is set.", facts=CHEAP)

sigmoid = _declared(functions.sigmoid, "1 / (1 + exp(-x)).", like=np.exp, facts=replace(POSITIVE, calls=3))
softplus = _declared(
    functions.softplus,
    "log(1 + exp(x)) without overflow.",
    like=np.exp,
    facts=replace(POSITIVE, calls=3),
)


def _special(kind: Any) -> tuple[Any, ...]:
    dtype = np.dtype(kind if np.dtype(kind).kind == "f" else "float64")
    return (dtype, dtype)


def _by_scipy(name: str, doc: str, **known: Any) -> ElementwiseDeclaration:
    return _declared(functions.by_scipy(name, known["arity"]), doc, **known)


_of_one = partial(_by_scipy, result=_special, arity=1)
_of_two = partial(_by_scipy, like=np.divide, arity=2)
erf = _of_one("erf", "Error function.")
erfc = _of_one("erfc", "1 - erf(x), exact for large x.")
erfinv = _of_one("erfinv", "Inverse of the error function.")
gammaln = _of_one("gammaln", "Logarithm of the absolute value of the gamma function.")
digamma = _of_one("digamma", "Derivative of gammaln.")

logit = _declared("logit", "Logarithm of p / (1 - p), exact near 1/2.", result=_special, arity=1)
xlogy = _declared("xlogy", "First times log(second), 0 where first is.", like=np.divide)
xlog1py = _declared("xlog1py", "First times log(1 + second), 0 where first is.", like=np.divide)


betaln = _of_two("betaln", "Logarithm of the absolute value of the beta function.")
gammainc = _of_two("gammainc", "Share of the gamma function of first that its integral up to second is.")
gammaincc = _of_two("gammaincc", "1 - gammainc, exact for large second.")


def _of_order(order: Any, kind: Any) -> tuple[Any, ...]:
    if order is not int and np.dtype(order).kind not in "iu":
        raise TypeError("the order of a derivative is an integer")
    return (np.dtype("int64"), *_special(float if kind is int else kind))


polygamma = _declared(
    functions.polygamma,
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


where = _declared(
    functions.where,
    "Second where first is true, else third.",
    result=_where_dtypes,
    arity=3,
    facts=replace(CHOSEN, calls=4),
    truths=1,
)
clip = _declared(
    functions.clip,
    "x limited to [low, high].",
    result=_clip_dtypes,
    arity=3,
    facts=CHOSEN,
)


CAST = Declaration(
    "cast",
    "elementwise",
    arity=1,
    doc="The same values in another dtype, as NumPy's astype.",
    infer=infer_by(lambda op, kinds: (op.parameters.dtype,)),
    perform=lambda op, values: (np.asarray(values[0]).astype(op.parameters.dtype),),
    shapes=kept_shape,
    notation=lambda op, operands: notation.called(op.parameters.dtype, operands, {}),
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
    given = tensor_type(variable).dtype
    if given == wanted:
        return variable
    if wanted == "uint32" and given in FLOATS:  # NumPy's own goes this way too, but not for all lengths
        variable = cast(variable, "int64")
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
