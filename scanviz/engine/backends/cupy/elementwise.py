"""Elementwise operations in CuPy, by name where CuPy has the function, as a formula where it has not.

Where NumPy's integers have no value of their own CuPy gives another one, or one where NumPy refuses: 1 // 0 as
``reciprocal(0)``, shifts by more bits than there are, integers to negative powers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanviz.engine.backends.cupy.table import CUPY, CupyRow, extension
from scanviz.engine.graph.declaration import Op, declared
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.elementwise import ElementwiseDeclaration

# scanviz's name → CuPy's
UFUNCS = {
    "add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "true_divide", "floor_divide": "floor_divide",
    "mod": "remainder", "power": "power", "maximum": "maximum", "minimum": "minimum", "fmax": "fmax", "fmin": "fmin",
    "arctan2": "arctan2", "hypot": "hypot", "logaddexp": "logaddexp", "copysign": "copysign", "equal": "equal",
    "not_equal": "not_equal", "less": "less", "less_equal": "less_equal", "greater": "greater", "greater_equal": "greater_equal",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor", "logical_not": "logical_not",
    "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor", "invert": "invert",
    "left_shift": "left_shift", "right_shift": "right_shift", "negative": "negative", "absolute": "absolute", "sign": "sign",
    "reciprocal": "reciprocal", "square": "square", "sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "exp2": "exp2",
    "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos",
    "tan": "tan", "arcsin": "arcsin", "arccos": "arccos", "arctan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "arcsinh": "arcsinh", "arccosh": "arccosh", "arctanh": "arctanh", "deg2rad": "deg2rad", "rad2deg": "rad2deg",
    "floor": "floor", "ceil": "ceil", "trunc": "trunc", "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
    "signbit": "signbit",
}  # fmt: skip
SPECIAL = {"erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "gammaln": "gammaln", "digamma": "digamma"}


def computed(op: Op, values: Sequence[Any]) -> list[Any]:
    """Return values in the dtypes that NumPy computes an elementwise operation with."""
    declaration = op.declaration
    assert isinstance(declaration, ElementwiseDeclaration)
    *wanted, _ = declaration.result(*(value.dtype for value in values))
    return [
        value if value.dtype == dtype else value.astype(dtype)
        for value, dtype in zip(values, wanted, strict=True)
    ]


def _ufunc(name: str) -> CupyRow:
    return CupyRow(lambda xp, op, values: (getattr(xp, name)(*values),))


def _special(name: str) -> CupyRow:
    return CupyRow(
        lambda xp, op, values: (getattr(extension(xp, "scipy.special"), name)(*computed(op, values)),)
    )


def _formula(function: Callable[..., Any]) -> CupyRow:
    return CupyRow(lambda xp, op, values: (function(xp, *computed(op, values)),))


def _polygamma(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    order, x = computed(op, values)
    return (extension(xp, "scipy.special").polygamma(order, x).astype(x.dtype, copy=False),)


for _name, _cupy in UFUNCS.items():
    CUPY.row(declared(_name))(_ufunc(_cupy))
for _name, _cupy in SPECIAL.items():
    CUPY.row(declared(_name))(_special(_cupy))

CUPY.row(e.polygamma)(CupyRow(_polygamma))
CUPY.row(e.positive)(_formula(lambda xp, x: x.copy()))
CUPY.row(e.round)(_formula(lambda xp, x: x.copy() if x.dtype.kind in "iu" else xp.rint(x)))
CUPY.row(e.sigmoid)(_formula(lambda xp, x: 1 / (1 + xp.exp(-x))))
CUPY.row(e.softplus)(_formula(lambda xp, x: xp.logaddexp(x, xp.zeros((), x.dtype))))
CUPY.row(e.where)(_formula(lambda xp, c, a, b: xp.where(xp.asarray(c), a, b)))
CUPY.row(e.multiply_no_nan)(_formula(lambda xp, x, y: xp.where(y == 0, xp.zeros((), y.dtype), x * y)))
CUPY.row(e.clip)(_formula(lambda xp, x, low, high: xp.minimum(xp.maximum(x, low), high)))
CUPY.row(e.CAST)(CupyRow(lambda xp, op, values: (values[0].astype(op.parameters.dtype),)))
