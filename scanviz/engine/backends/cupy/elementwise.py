"""Elementwise operations in CuPy: by name where NumPy has a ufunc, by their formulas elsewhere.

Limits: where NumPy's integer result is undefined, CuPy gives another number, or one where NumPy refuses: ``reciprocal(0)``,
shifts by too many bits, integers to negative powers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from scanviz.engine.backends.cupy.table import CUPY, CupyRow, extension
from scanviz.engine.graph.declaration import Op
from scanviz.engine.ops.elementwise import CAST
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.scalar.array_source import Target, compiled

# ufuncs with another name in CuPy; None where CuPy has no such function
RENAMED = {"divide": "true_divide", "positive": None}


def _elementwise(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    declaration = op.declaration
    assert isinstance(declaration, ElementwiseDeclaration)
    name = _ufunc(op)
    if name:
        return (getattr(xp, name)(*values),)
    formula, dtypes = _formula(xp, declaration, *(value.dtype.name for value in values))
    given = [
        value if value.dtype == dtype else value.astype(dtype)
        for value, dtype in zip(values, dtypes, strict=True)
    ]
    found = formula(*given)[0]
    return (found.copy() if any(found is value for value in values) else found,)


def _ufunc(op: Op) -> str | None:
    """Return the name of the operation's CuPy ufunc; None or an empty name if there is none."""
    declaration = op.declaration
    assert isinstance(declaration, ElementwiseDeclaration)
    known = declaration.function.__name__ if isinstance(declaration.function, np.ufunc) else ""
    return RENAMED.get(known, known)


def _into(xp: Any, op: Op, values: Sequence[Any], out: Any) -> None:
    getattr(xp, str(_ufunc(op)))(*values, out=out)


def _writes(op: Op, dtypes: Sequence[str], dtype: str) -> bool:
    """Return whether CuPy's ufunc computes in the result's dtype, as NumPy does: if all operands have that dtype."""
    return bool(_ufunc(op)) and dtype in ("float32", "float64") and set(dtypes) == {dtype}


@lru_cache(maxsize=256)
def _formula(
    xp: Any, declaration: ElementwiseDeclaration, *dtypes: str
) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """Return the formula of an operation on CuPy's arrays, and the dtypes that it computes in."""
    computed, block = declaration.block(*dtypes)
    target = Target(xp, lambda name: getattr(extension(xp, "scipy.special"), name), {})
    return compiled(block, target), computed


CUPY.kind(ElementwiseDeclaration)(CupyRow(_elementwise, into=_into, writes=_writes))
CUPY.row(CAST)(CupyRow(lambda xp, op, values: (values[0].astype(op.parameters.dtype),)))
