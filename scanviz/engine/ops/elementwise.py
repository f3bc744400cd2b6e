"""Elementwise operations: one scalar function applied to each element of inputs that broadcast together.

Each is declared by :func:`elementwise` from a NumPy ufunc, or from a function that takes ``out`` as its last
positional argument like a ufunc.  Dtypes are NumPy 2's: the ufunc itself is asked, and Python numbers are weak
(``float32 * 2.0`` stays float32).  A declaration can be called on variables, arrays and numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.dims import Dims
from scanviz.engine.graph.facts import ALL_INPUTS, Facts
from scanviz.engine.graph.nodes import Array, Constant, Variable, build_one, tensor_type
from scanviz.engine.graph.types import BOOLEAN, TensorType, canonical_dtype
from scanviz.engine.ops import flops
from scanviz.engine.ops import scalar_functions as functions
from scanviz.engine.ops.support import as_value, as_variable, constant, infer_by, located

ResultRule = Callable[..., tuple[Any, ...]]
FUNCTION = Facts(
    flops.an_element(flops.FUNCTION),
    foldable=True,
    by_types=True,
    overwrites=ALL_INPUTS,
    size="kept",
    raises=False,
)
CHEAP = replace(FUNCTION, flops=flops.an_element(1), cheap=True)
_COMPARES = replace(CHEAP, compares=True)
_LINEAR = replace(CHEAP, unit_slope=True)
_CHOSEN = replace(_LINEAR, selects=True)
_EXTREME = replace(_CHOSEN, sign="kept", either_zero=True)
_KEPT = replace(FUNCTION, sign="kept")
_POSITIVE = replace(FUNCTION, sign="no minus zero")


class ElementwiseDeclaration(Declaration):
    """An elementwise operation; call it to apply it.

    Attributes
    ----------
    function : callable
        ``function(*arrays)`` or ``function(*arrays, out=buffer)``: the NumPy meaning.
    arity : int
        Number of inputs.
    result : callable
        ``result(*kinds)`` gives the dtypes of the inputs as computed with, and then of the output.  A kind is a dtype
        or, for a weak Python number, its type.
    truths : int or None
        The input from which on truth values are compared or chosen from; None where they are an accident.
    """

    __slots__ = ("arity", "function", "result", "truths")

    def __init__(
        self,
        name: str,
        arity: int,
        function: Callable[..., Any],
        result: ResultRule,
        doc: str,
        symbol: str | None,
        facts: Facts,
        truths: int | None,
    ):
        super().__init__(
            name,
            "elementwise",
            doc=doc,
            infer=infer_by(_dtypes),
            perform=_perform,
            shapes=_shapes,
            symbol=symbol,
            facts=facts,
        )
        self.arity, self.function, self.result = arity, function, lru_cache(maxsize=1024)(result)
        self.truths = truths

    def __call__(self, *arguments: Any, name: str | None = None) -> Variable:
        """Apply the operation to variables, arrays and Python numbers, and return the new variable."""
        return apply_elementwise(self, arguments, name)


def apply_elementwise(
    declaration: ElementwiseDeclaration, arguments: Sequence[Any], name: str | None = None
) -> Variable:
    """Apply an elementwise declaration, giving weak Python numbers the dtype that NumPy computes with."""
    if len(arguments) != declaration.arity:
        raise ScanvizTypeError(
            f"{declaration.name} takes {declaration.arity} arguments", found=f"{len(arguments)}"
        )
    weak = [type(each) in (int, float) for each in arguments]  # not bool: NumPy has no weak bool
    op = Op(declaration)
    if any(type(each) is bool for each in arguments):
        arguments = _truths(declaration, arguments)
    if not any(weak) or all(weak):
        return build_one(op, *(as_variable(each) for each in arguments), name=name)
    inputs = [None if soft else as_variable(each) for each, soft in zip(arguments, weak, strict=True)]
    kinds: list[Any] = [
        type(each) if given is None else np.dtype(tensor_type(given).dtype)
        for each, given in zip(arguments, inputs, strict=True)
    ]
    try:
        computed = declaration.result(*kinds)
    except TypeError as error:
        shown = [as_variable(each) for each in arguments]
        raise located(ScanvizTypeError(f"no meaning for these dtypes ({error})"), op, shown) from None
    whole = [
        weak_constant(declaration, each, computed[k].name) if given is None else given
        for k, (each, given) in enumerate(zip(arguments, inputs, strict=True))
    ]
    return build_one(op, *whole, name=name)


def is_truth(value: Any) -> bool:
    """Return whether a value is a truth value, of Python or symbolic."""
    if isinstance(value, Variable):
        return isinstance(value.type, TensorType) and value.type.dtype == BOOLEAN
    return type(value) is bool


def _truths(declaration: ElementwiseDeclaration, arguments: Sequence[Any]) -> list[Any]:
    """Return arguments with Python bools as constants where they are chosen from or compared with truth values.

    Anywhere else a Python bool most often is what ``a == b`` gave, and is refused.
    """
    first = len(arguments) if declaration.truths is None else declaration.truths
    truths = [each for each in arguments[first:] if is_truth(each)]
    meant = len(truths) == 2 and (first == 1 or any(isinstance(each, Variable) for each in truths))
    return [as_value(each) if meant and k >= first else as_variable(each) for k, each in enumerate(arguments)]


def weak_constant(declaration: ElementwiseDeclaration, value: float, dtype: str) -> Constant:
    """Return a constant of a Python number that remembers it was one; any integer can be compared with."""
    try:
        strong = constant(value, dtype)
    except ScanvizValueError:
        if not Op(declaration).facts.compares or not isinstance(value, int):
            raise
        strong = constant(value)
    return Constant(strong.type, strong.value, weak=value)


def retyped_inputs(declaration: ElementwiseDeclaration, inputs: Sequence[Variable]) -> list[Variable]:
    """Return inputs with weak constants in the dtype that NumPy gives them beside the other inputs as they are now."""
    weak = [each.weak if isinstance(each, Constant) else None for each in inputs]
    if all(value is None for value in weak):
        return list(inputs)
    kinds: list[Any] = [
        np.dtype(tensor_type(each).dtype) if value is None else type(value)
        for each, value in zip(inputs, weak, strict=True)
    ]
    computed = declaration.result(*kinds)
    return [
        each if value is None else weak_constant(declaration, value, computed[k].name)
        for k, (each, value) in enumerate(zip(inputs, weak, strict=True))
    ]


def _dtypes(op: Op, kinds: Sequence[TensorType]) -> Sequence[str]:
    declaration = op.declaration
    assert isinstance(declaration, ElementwiseDeclaration)
    try:
        return (canonical_dtype(declaration.result(*(np.dtype(kind.dtype) for kind in kinds))[-1]),)
    except TypeError:
        raise ScanvizTypeError(f"no meaning for {', '.join(kind.dtype for kind in kinds)}") from None


def _shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    return (dims.broadcast(*dims.shapes),)


def _perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
    declaration = op.declaration
    assert isinstance(declaration, ElementwiseDeclaration)
    return (declaration.function(*values),)


def by_ufunc(ufunc: np.ufunc) -> ResultRule:
    """Return the dtype rule that asks a ufunc."""
    blanks = (None,) * ufunc.nout
    return lambda *kinds: ufunc.resolve_dtypes((*kinds, *blanks))


def elementwise(
    name: str,
    numpy: Callable[..., Any],
    doc: str,
    *,
    like: np.ufunc | None = None,
    result: ResultRule | None = None,
    symbol: str | None = None,
    arity: int | None = None,
    facts: Facts = FUNCTION,
    truths: int | None = None,
) -> ElementwiseDeclaration:
    """Declare an elementwise operation.

    Parameters
    ----------
    name : str
        Its name, NumPy's where NumPy has it.
    numpy : callable
        A ufunc, or a function with ``out`` as last positional argument.
    doc : str
        One line.
    like : ufunc, optional
        The ufunc whose dtype rule and arity hold, where ``numpy`` is not a ufunc itself.
    result : callable, optional
        Another dtype rule (see :class:`ElementwiseDeclaration`).
    facts : Facts, optional
        What is known of it; by default what is known of an elementary function.
    truths : int, optional
        The input from which on truth values are compared or chosen from.
    """
    reference = like if like is not None else numpy
    if result is None:
        assert isinstance(reference, np.ufunc)
        result = by_ufunc(reference)
    count = arity if arity is not None else getattr(reference, "nin", 1)
    return ElementwiseDeclaration(name, count, numpy, result, doc, symbol, facts, truths)


add = elementwise("add", np.add, "Sum.", symbol="+", facts=replace(_LINEAR, sign="kept"))
subtract = elementwise("subtract", np.subtract, "Difference.", symbol="-", facts=_LINEAR)
multiply = elementwise("multiply", np.multiply, "Product.", symbol="*", facts=replace(CHEAP, sign="kept"))
divide = elementwise("divide", np.divide, "Quotient, floating for ints.", symbol="/", facts=CHEAP)
floor_divide = elementwise(
    "floor_divide",
    np.floor_divide,
    "Quotient rounded down.",
    symbol="//",
    facts=_KEPT,
)
mod = elementwise("mod", np.remainder, "Remainder with the sign of the divisor.", symbol="%")
power = elementwise(
    "power", np.power, "First to the power of second.", symbol="**", facts=replace(FUNCTION, raises=True)
)
maximum = elementwise("maximum", np.maximum, "Larger of two; NaN if either is.", facts=_EXTREME)
minimum = elementwise("minimum", np.minimum, "Smaller of two; NaN if either is.", facts=_EXTREME)
fmax = elementwise("fmax", np.fmax, "Larger of two; the other if one is NaN.", facts=_EXTREME)
fmin = elementwise("fmin", np.fmin, "Smaller of two; the other if one is NaN.", facts=_EXTREME)
arctan2 = elementwise("arctan2", np.arctan2, "Angle of the point (second, first).")
hypot = elementwise("hypot", np.hypot, "Length of the hypotenuse.", facts=_POSITIVE)
logaddexp = elementwise("logaddexp", np.logaddexp, "log(exp(a) + exp(b)) without overflow.")
copysign = elementwise("copysign", np.copysign, "First with the sign of second.", facts=_LINEAR)
multiply_no_nan = elementwise(
    "multiply_no_nan",
    functions.multiply_no_nan,
    "Product that is 0 where the second is, even beside infinity and NaN.",
    like=np.multiply,
    facts=replace(CHEAP, selects=True),
)

equal = elementwise("equal", np.equal, "Whether equal.", symbol="==", facts=_COMPARES, truths=0)
not_equal = elementwise(
    "not_equal", np.not_equal, "Whether different.", symbol="!=", facts=_COMPARES, truths=0
)
less = elementwise("less", np.less, "Whether less.", symbol="<", facts=_COMPARES)
less_equal = elementwise("less_equal", np.less_equal, "Whether less or equal.", symbol="<=", facts=_COMPARES)
greater = elementwise("greater", np.greater, "Whether greater.", symbol=">", facts=_COMPARES)
greater_equal = elementwise(
    "greater_equal", np.greater_equal, "Whether greater or equal.", symbol=">=", facts=_COMPARES
)
logical_and = elementwise("logical_and", np.logical_and, "Whether both are non-zero.", facts=CHEAP)
logical_or = elementwise("logical_or", np.logical_or, "Whether either is non-zero.", facts=CHEAP)
logical_xor = elementwise("logical_xor", np.logical_xor, "Whether exactly one is non-zero.", facts=CHEAP)
logical_not = elementwise("logical_not", np.logical_not, "Whether zero.", facts=CHEAP)
bitwise_and = elementwise("bitwise_and", np.bitwise_and, "Bits set in both.", symbol="&", facts=CHEAP)
bitwise_or = elementwise("bitwise_or", np.bitwise_or, "Bits set in either.", symbol="|", facts=CHEAP)
bitwise_xor = elementwise("bitwise_xor", np.bitwise_xor, "Bits set in exactly one.", symbol="^", facts=CHEAP)
invert = elementwise("invert", np.invert, "Every bit flipped.", facts=CHEAP)
left_shift = elementwise("left_shift", np.left_shift, "Bits moved up.", symbol="<<", facts=CHEAP)
right_shift = elementwise("right_shift", np.right_shift, "Bits moved down.", symbol=">>", facts=CHEAP)

negative = elementwise("negative", np.negative, "Sign changed.", facts=_LINEAR)
positive = elementwise(
    "positive", np.positive, "The same value.", facts=replace(_LINEAR, same_elements=True, sign="kept")
)
absolute = elementwise("absolute", np.absolute, "Absolute value.", facts=replace(CHEAP, sign="no minus zero"))
sign = elementwise("sign", np.sign, "-1, 0 or 1.", facts=CHEAP)
reciprocal = elementwise("reciprocal", np.reciprocal, "1 / x.", facts=CHEAP)
square = elementwise("square", np.square, "x * x.", facts=replace(CHEAP, sign="no minus zero"))
sqrt = elementwise("sqrt", np.sqrt, "Square root.", facts=replace(FUNCTION, sign="not negative"))
cbrt = elementwise("cbrt", np.cbrt, "Cube root.")
exp = elementwise("exp", np.exp, "e to the power of x.", facts=_POSITIVE)
exp2 = elementwise("exp2", np.exp2, "2 to the power of x.", facts=_POSITIVE)
expm1 = elementwise("expm1", np.expm1, "exp(x) - 1, exact near 0.")
log = elementwise("log", np.log, "Natural logarithm.")
log2 = elementwise("log2", np.log2, "Logarithm to base 2.")
log10 = elementwise("log10", np.log10, "Logarithm to base 10.")
log1p = elementwise("log1p", np.log1p, "log(1 + x), exact near 0.")
sin = elementwise("sin", np.sin, "Sine.")
cos = elementwise("cos", np.cos, "Cosine.")
tan = elementwise("tan", np.tan, "Tangent.")
arcsin = elementwise("arcsin", np.arcsin, "Inverse sine.")
arccos = elementwise("arccos", np.arccos, "Inverse cosine.")
arctan = elementwise("arctan", np.arctan, "Inverse tangent.")
sinh = elementwise("sinh", np.sinh, "Hyperbolic sine.")
cosh = elementwise("cosh", np.cosh, "Hyperbolic cosine.", facts=_POSITIVE)
tanh = elementwise("tanh", np.tanh, "Hyperbolic tangent.")
arcsinh = elementwise("arcsinh", np.arcsinh, "Inverse hyperbolic sine.")
arccosh = elementwise("arccosh", np.arccosh, "Inverse hyperbolic cosine.")
arctanh = elementwise("arctanh", np.arctanh, "Inverse hyperbolic tangent.")
deg2rad = elementwise("deg2rad", np.deg2rad, "Degrees to radians.", facts=CHEAP)
rad2deg = elementwise("rad2deg", np.rad2deg, "Radians to degrees.", facts=CHEAP)
floor = elementwise("floor", np.floor, "Rounded down.", facts=CHEAP)
ceil = elementwise("ceil", np.ceil, "Rounded up.", facts=CHEAP)
trunc = elementwise("trunc", np.trunc, "Rounded towards 0.", facts=CHEAP)


def _rounded(kind: Any) -> tuple[Any, ...]:
    return (kind, kind) if np.dtype(kind).kind in "iu" else np.rint.resolve_dtypes((kind, None))


round = elementwise(
    "round",
    functions.rint,
    "Rounded to the nearest integer, halves to even; ints stay ints.",
    result=_rounded,
    arity=1,
    facts=CHEAP,
)
isnan = elementwise("isnan", np.isnan, "Whether not a number.", facts=CHEAP)
isinf = elementwise("isinf", np.isinf, "Whether infinite.", facts=CHEAP)
isfinite = elementwise("isfinite", np.isfinite, "Whether neither infinite nor NaN.", facts=CHEAP)
signbit = elementwise("signbit", np.signbit, "Whether the sign bit is set.", facts=CHEAP)

sigmoid = elementwise("sigmoid", functions.sigmoid, "1 / (1 + exp(-x)).", like=np.exp, facts=_POSITIVE)
softplus = elementwise(
    "softplus", functions.softplus, "log(1 + exp(x)) without overflow.", like=np.exp, facts=_POSITIVE
)


def _special(kind: Any) -> tuple[Any, ...]:
    dtype = np.dtype(kind if np.dtype(kind).kind == "f" else "float64")
    return (dtype, dtype)


def _by_scipy(name: str, function: Callable[..., Any], doc: str) -> ElementwiseDeclaration:
    return elementwise(name, function, doc, result=_special, arity=1)


erf = _by_scipy("erf", functions.erf, "Error function.")
erfc = _by_scipy("erfc", functions.erfc, "1 - erf(x), exact for large x.")
erfinv = _by_scipy("erfinv", functions.erfinv, "Inverse of the error function.")
gammaln = _by_scipy("gammaln", functions.gammaln, "Logarithm of the absolute value of the gamma function.")
digamma = _by_scipy("digamma", functions.digamma, "Derivative of gammaln.")


def _of_order(order: Any, kind: Any) -> tuple[Any, ...]:
    if order is not int and np.dtype(order).kind not in "iu":
        raise TypeError("the order of a derivative is an integer")
    return (np.dtype("int64"), *_special(float if kind is int else kind))


polygamma = elementwise(
    "polygamma",
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


where = elementwise(
    "where",
    functions.where,
    "Second where first is true, else third.",
    result=_where_dtypes,
    arity=3,
    facts=_CHOSEN,
    truths=1,
)
clip = elementwise(
    "clip",
    functions.clip,
    "x limited to [low, high].",
    result=_clip_dtypes,
    arity=3,
    facts=replace(_CHOSEN, either_zero=True),
)


class CastParameters(NamedTuple):
    """Parameters of ``cast``."""

    dtype: str


def _cast_shapes(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    return (dims.shapes[0],)


CAST = Declaration(
    "cast",
    "elementwise",
    doc="The same values in another dtype, as NumPy's astype.",
    infer=infer_by(lambda op, kinds: (op.parameters.dtype,)),
    perform=lambda op, values: (np.asarray(values[0]).astype(op.parameters.dtype),),
    shapes=_cast_shapes,
    facts=replace(_LINEAR, overwrites=0, sign="kept"),
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
