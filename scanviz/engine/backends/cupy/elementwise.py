"""Elementwise operations in CuPy: the ufunc of that name where it means what NumPy's means, elsewhere a kernel of the formula.

Limits: integers to negative powers, which NumPy refuses, are some number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any

import numpy as np

from scanviz.engine.backends.cupy.table import CUPY, CupyRow, extension
from scanviz.engine.errors import ScanvizNotImplementedError
from scanviz.engine.graph.declaration import Op
from scanviz.engine.ops.elementwise import CAST
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.scalar.array_source import Target, compiled
from scanviz.engine.scalar.blocks import Block
from scanviz.engine.scalar.cuda_source import PRELUDE, CudaFunctions

# ufuncs with another name in CuPy
RENAMED = {"divide": "true_divide"}
# Ufuncs that CuPy lacks or gives another meaning, by the kinds of dtypes that they compute in.  It takes floor(x / y) for a rounded
# quotient, any number for a shift by more bits than there are, and no negative int64 beside uint64 for true; it divides the least
# integer by -1, which C++ leaves undefined, and gives 0 for the reciprocal of 0.
UNLIKE_NUMPY = {
    "positive": "biuf",
    "floor_divide": "fi",
    "remainder": "fi",
    "reciprocal": "iu",
    "left_shift": "iu",
    "right_shift": "iu",
    "logical_and": "b",
    "logical_or": "b",
    "logical_xor": "b",
}


def _elementwise(xp: Any, op: Op, values: Sequence[Any]) -> Sequence[Any]:
    declaration = op.declaration
    assert isinstance(declaration, ElementwiseDeclaration)
    dtypes = tuple([value.dtype for value in values])
    name = _ufunc(declaration, dtypes)
    if name:
        return (getattr(xp, name)(*values),)
    formula, computed = _formula(xp, declaration, dtypes)
    given = [
        value if value.dtype == dtype else value.astype(dtype)
        for value, dtype in zip(values, computed, strict=True)
    ]
    found = formula(*given)[0]
    return (found.copy() if any(found is value for value in values) else found,)


@lru_cache(maxsize=1024)
def _ufunc(declaration: ElementwiseDeclaration, dtypes: tuple[Any, ...]) -> str:
    """Return the name of the CuPy ufunc with the operation's meaning for these dtypes, empty if there is none."""
    if not isinstance(declaration.function, np.ufunc):
        return ""
    name = declaration.function.__name__
    unlike = UNLIKE_NUMPY.get(name, "")
    if unlike and any(computed.kind in unlike for computed in declaration.result(*dtypes)[:-1]):
        return ""
    return RENAMED.get(name, name)


def _into(xp: Any, op: Op, values: Sequence[Any], out: Any) -> None:
    declaration = op.declaration
    assert isinstance(declaration, ElementwiseDeclaration)
    getattr(xp, _ufunc(declaration, tuple([value.dtype for value in values])))(*values, out=out)


def _writes(op: Op, dtypes: Sequence[str], dtype: str) -> bool:
    """Return whether CuPy's ufunc computes in the result's dtype, as NumPy does: if all operands have that dtype."""
    declaration = op.declaration
    assert isinstance(declaration, ElementwiseDeclaration)
    alike = dtype in ("float32", "float64") and set(dtypes) == {dtype}
    return alike and bool(_ufunc(declaration, tuple(map(np.dtype, dtypes))))


@lru_cache(maxsize=256)
def _formula(
    xp: Any, declaration: ElementwiseDeclaration, dtypes: tuple[Any, ...]
) -> tuple[Callable[..., Any], tuple[str, ...]]:
    """Return the formula of an operation on CuPy's arrays, and the dtypes that it computes in."""
    computed, block = declaration.block(*dtypes)
    # CuPy has a type of its own for float16
    if hasattr(xp, "ElementwiseKernel") and "float16" not in block.dtypes:
        with suppress(ScanvizNotImplementedError):  # a special function without CUDA code
            return _kernel(xp, declaration.name, block), computed
    return compiled(block, Target(xp, partial(_special, xp), {})), computed


def _kernel(xp: Any, name: str, block: Block) -> Callable[..., Any]:
    """Return the formula as one kernel."""
    functions = CudaFunctions()
    function = functions.name_for(name, block)
    given = [f"v{k}" for k in range(block.arguments)]
    kernel = xp.ElementwiseKernel(
        ", ".join(f"{dtype} {value}" for dtype, value in zip(block.dtypes, given, strict=False)),
        f"{block.dtypes[block.results[0]]} found",
        f"found = {function}({', '.join(given)})",
        f"scanviz_{name}",
        preamble=PRELUDE + functions.text(),
        options=("--fmad=false",),
    )
    return lambda *values: (kernel(*values),)


def _special(xp: Any, name: str) -> Callable[..., Any]:
    """Return a special function; of NaN CuPy's incomplete gamma functions give a number."""
    function: Callable[..., Any] = getattr(extension(xp, "scipy.special"), name)
    if name not in ("gammainc", "gammaincc"):
        return function
    return lambda a, x: xp.where(xp.isnan(a + x), np.nan, function(a, x))


CUPY.kind(ElementwiseDeclaration)(CupyRow(_elementwise, into=_into, writes=_writes))
CUPY.row(CAST)(CupyRow(lambda xp, op, values: (values[0].astype(op.parameters.dtype),)))
