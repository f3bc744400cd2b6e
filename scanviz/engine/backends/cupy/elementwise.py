"""Elementwise operations in CuPy, by name where CuPy has the function, as a formula where it has not.

Where NumPy's integers have no value of their own CuPy gives another one, or one where NumPy refuses: 1 // 0 as
``reciprocal(0)``, shifts by more bits than there are, integers to negative powers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanviz.engine.backends.cupy.table import CUPY, CupyRow, extension
from scanviz.engine.graph.declaration import Op, declarations
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.elementwise import ElementwiseDeclaration

# NumPy's ufuncs have CuPy's names, but for these
RENAMED = {"divide": "true_divide"}


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


for _declaration in declarations():
    if isinstance(_declaration, ElementwiseDeclaration) and isinstance(_declaration.function, np.ufunc):
        _name = _declaration.function.__name__
        CUPY.row(_declaration)(_ufunc(RENAMED.get(_name, _name)))
for _declaration in (e.erf, e.erfc, e.erfinv, e.gammaln, e.digamma):
    CUPY.row(_declaration)(_special(_declaration.name))

CUPY.row(e.polygamma)(CupyRow(_polygamma))
CUPY.row(e.positive)(_formula(lambda xp, x: x.copy()))
CUPY.row(e.round)(_formula(lambda xp, x: x.copy() if x.dtype.kind in "iu" else xp.rint(x)))
CUPY.row(e.sigmoid)(_formula(lambda xp, x: 1 / (1 + xp.exp(-x))))
CUPY.row(e.softplus)(_formula(lambda xp, x: xp.logaddexp(x, xp.zeros((), x.dtype))))
CUPY.row(e.where)(_formula(lambda xp, c, a, b: xp.where(xp.asarray(c), a, b)))
CUPY.row(e.multiply_no_nan)(_formula(lambda xp, x, y: xp.where(y == 0, xp.zeros((), y.dtype), x * y)))
CUPY.row(e.clip)(_formula(lambda xp, x, low, high: xp.minimum(xp.maximum(x, low), high)))
CUPY.row(e.CAST)(CupyRow(lambda xp, op, values: (values[0].astype(op.parameters.dtype),)))
