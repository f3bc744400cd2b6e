"""Elementwise operations in CuPy, by name where CuPy has the function, as a formula where it has not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scanviz.engine.backends.cupy.table import CUPY, single
from scanviz.engine.graph.declaration import declared
from scanviz.engine.ops import elementwise as e

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


def _ufunc(name: str) -> Callable[..., Any]:
    return lambda xp, parameters, *values: getattr(xp, name)(*values)


def _special(name: str) -> Callable[..., Any]:
    def call(xp: Any, parameters: Any, x: Any) -> Any:
        import importlib

        return getattr(importlib.import_module("cupyx.scipy.special"), name)(x)

    return call


for _name, _cupy in UFUNCS.items():
    CUPY.row(declared(_name))(single(_ufunc(_cupy)))
for _name, _cupy in SPECIAL.items():
    CUPY.row(declared(_name))(single(_special(_cupy)))

CUPY.row(e.positive)(single(lambda xp, parameters, x: x.copy()))
CUPY.row(e.round)(single(lambda xp, parameters, x: xp.rint(x) if x.dtype.kind == "f" else x.copy()))
CUPY.row(e.sigmoid)(single(lambda xp, parameters, x: 1 / (1 + xp.exp(-_floating(xp, x)))))
CUPY.row(e.softplus)(single(lambda xp, parameters, x: xp.logaddexp(_floating(xp, x), 0)))
CUPY.row(e.where)(single(lambda xp, parameters, c, a, b: xp.where(c != 0, a, b)))
CUPY.row(e.clip)(single(lambda xp, parameters, x, low, high: xp.minimum(xp.maximum(x, low), high)))
CUPY.row(e.CAST)(single(lambda xp, parameters, x: x.astype(parameters.dtype)))


def _floating(xp: Any, x: Any) -> Any:
    """Return ints and bools as float64, as the functions of this file compute in."""
    return x if x.dtype.kind == "f" else x.astype("float64")
