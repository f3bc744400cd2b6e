"""Elementwise functions under NumPy's names, made from the op declarations.

Arguments broadcast together; dtypes are NumPy 2's, with Python numbers weak.  ``==`` on variables is identity, as
graphs are compared by it: write ``T.eq``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizAttributeError
from scanviz.engine.graph.declaration import declared_already
from scanviz.engine.graph.nodes import Variable, tensor_type
from scanviz.engine.graph.syntax import LAZY, meaning
from scanviz.engine.ops import elementwise as ops
from scanviz.engine.ops.support import as_variable

_PARAMETERS = {1: ("x",), 2: ("first", "second"), 3: ("condition", "first", "second")}
_NAMED = {
    "polygamma": ("order", "x"),
    "xlogy": ("x", "y"),
    "xlog1py": ("x", "y"),
    "betaln": ("a", "b"),
    "gammainc": ("a", "x"),
    "gammaincc": ("a", "x"),
}
_TRUTH = {"isnan", "isinf", "isfinite", "signbit", "logical_not"}
_INTEGER_ONLY = {"invert", "bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"}


def _function(declaration: ops.ElementwiseDeclaration) -> Callable[..., Variable]:
    """Return the public function of an elementwise declaration."""
    names = _NAMED.get(declaration.name, _PARAMETERS[declaration.arity])

    def apply(*arguments: Any, **named: Any) -> Variable:
        if named:
            arguments = (*arguments, *(named.pop(name) for name in names[len(arguments) :] if name in named))
        if named:
            raise TypeError(f"{declaration.name}() got an unexpected keyword argument {next(iter(named))!r}")
        return declaration(*arguments)

    apply.__name__ = apply.__qualname__ = declaration.name
    apply.__doc__ = _documentation(declaration, names)
    kind = Parameter.POSITIONAL_OR_KEYWORD
    apply.__signature__ = Signature([Parameter(name, kind) for name in names])  # type: ignore[attr-defined]  # for help()
    return apply


def _documentation(declaration: ops.ElementwiseDeclaration, names: tuple[str, ...]) -> str:
    dtype = "int64" if declaration.name in _INTEGER_ONLY else "float64"
    comparison = declaration.name in _TRUTH or declaration.symbol in ("==", "!=", "<", "<=", ">", ">=")
    result = "bool" if comparison or declaration.name.startswith("logical") else dtype
    vector = "T.lvector('x')" if dtype == "int64" else "T.vector('x')"
    call = ", ".join("1" if name == "order" else vector for name in names)
    listed = ", ".join(names)
    return f"""{declaration.doc}

Parameters
----------
{listed} : array_like
    Arrays of shapes that broadcast together.

Returns
-------
Variable
    Element by element.

Raises
------
ScanvizTypeError
    If it has no meaning for the dtypes.
ShapeError
    If shapes are known not to broadcast.

Examples
--------
>>> from scanviz import tensor as T
>>> T.{declaration.name}({call}).type
TensorType('{result}', (None,))
"""


_OPTIONAL = (ops.clip, ops.round, ops.where)  # with arguments that may be left out: in variadic.py
_public = [
    declaration
    for declaration in declared_already()
    if isinstance(declaration, ops.ElementwiseDeclaration) and declaration not in _OPTIONAL
]
_made = {declaration.name: declaration for declaration in _public}
_other_names = {
    "abs": "absolute",  # NumPy 2's short name
    "abs_": "absolute",
    "eq": "equal",
    "expit": "sigmoid",  # SciPy's name
    "ge": "greater_equal",
    "gt": "greater",
    "le": "less_equal",
    "lt": "less",
    "neq": "not_equal",
    "remainder": "mod",
    "sqr": "square",
    "true_divide": "divide",
}


def __getattr__(name: str) -> Any:
    """Return the function of an operation, created on first use: a program uses few."""
    declaration = _made.get(_other_names.get(name, name))
    if declaration is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # under its own name too for Python's operators, which are among them; another thread may have made it meanwhile
    made = globals().setdefault(declaration.name, _function(declaration))
    meaning(declaration.name)(made)
    globals()[name] = made
    return made


LAZY.update({name: partial(__getattr__, name) for name in _made})


@meaning("operator:**")
def _raised(x: Variable, exponent: Any) -> Variable:
    """Return ``x ** exponent`` as NumPy's arrays have it: a square for the number 2, and a root for 0.5.

    ``power`` gives int64 of truth values, and of float16 0.5 as any other exponent.
    """
    dtype = tensor_type(x).dtype
    if dtype == "bool" and type(exponent) is int and exponent == 2:
        return ops.square(x)
    if dtype == "float16" and type(exponent) is float and exponent == 0.5:
        return ops.sqrt(x)
    return ops.power(x, exponent)


@meaning("method:astype")
def cast(x: Any, dtype: object) -> Variable:
    """Return ``x`` in another dtype, as NumPy's ``astype``.

    Parameters
    ----------
    x : array_like
        The array to convert.
    dtype : dtype
        Anything that NumPy takes for one, or ``"floatX"`` for ``config.floatX``.

    Returns
    -------
    Variable
        ``x`` itself if it has the dtype already.

    Raises
    ------
    ScanvizTypeError
        If it is no dtype that scanviz computes with.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.cast([1.7, -1.7], "int64").eval()
    array([ 1, -1])
    """
    return ops.cast(x, config.floatX if isinstance(dtype, str) and dtype == "floatX" else dtype)


def isclose(
    first: Any, second: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Variable:
    """Return whether elements are equal within a tolerance: ``|a - b| <= atol + rtol |b|``, as NumPy defines it.

    Parameters
    ----------
    first, second : array_like
        Arrays of shapes that broadcast together.
    rtol, atol : float
        Relative and absolute tolerance.
    equal_nan : bool
        Whether NaN equals NaN.

    Returns
    -------
    Variable
        Of dtype bool.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.isclose([1.0, 2.0], [1.0, 2.1]).eval()
    array([ True, False])
    """
    a, b = as_variable(first), as_variable(second)
    if not tensor_type(b).dtype.startswith("float"):
        b = ops.cast(b, "float64")  # differences of integers may wrap around
    near = ops.less_equal(
        ops.absolute(ops.subtract(a, b)), ops.add(ops.multiply(ops.absolute(b), rtol), atol)
    )
    close = ops.logical_or(ops.equal(a, b), ops.logical_and(near, ops.isfinite(b)))
    if equal_nan:
        close = ops.logical_or(close, ops.logical_and(ops.isnan(a), ops.isnan(b)))
    return close


def xlogx(x: Any) -> Variable:
    """Return ``x log(x)``, 0 at 0.

    Parameters
    ----------
    x : array_like
        Not negative: NaN where it is.

    Returns
    -------
    Variable
        Of the dtype of ``log(x)``.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.xlogx([0.0, 1.0]).eval()
    array([0., 0.])
    """
    variable = as_variable(x)
    zero = ops.equal(variable, 0)
    return ops.where(zero, 0.0, ops.multiply(variable, ops.log(ops.where(zero, 1, variable))))


def _theanos_xlogy0(*given: Any) -> Variable:
    raise ScanvizAttributeError.here("'xlogx' has no attribute 'xlogy0'", fix="T.xlogy(a, b)")


# In Theano ``xlogx`` is a module, whose functions old scripts call.
vars(xlogx)["xlogy0"] = _theanos_xlogy0


def nan_to_num(
    x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Variable:
    """Return ``x`` with NaN and infinities replaced, by default by 0 and the largest finite numbers.

    Parameters
    ----------
    x : array_like
        Integers stay as they are.
    nan, posinf, neginf : float, optional
        Replacements of NaN, infinity and minus infinity.

    Returns
    -------
    Variable
        Of the dtype of ``x``.

    Examples
    --------
    >>> from scanviz import tensor as T
    >>> T.nan_to_num([float("nan"), 1.0]).eval()
    array([0., 1.])
    """
    variable = as_variable(x)
    dtype = tensor_type(variable).dtype
    if not dtype.startswith("float"):
        return variable
    largest = float(np.finfo(dtype).max)
    high, low = (largest if posinf is None else posinf), (-largest if neginf is None else neginf)
    finite = ops.where(ops.isnan(variable), nan, variable)
    above = ops.where(ops.equal(variable, np.inf), high, finite)
    return ops.where(ops.equal(variable, -np.inf), low, above)


__all__ = [*_made, *_other_names, "cast", "isclose", "nan_to_num", "xlogx"]  # most are made when asked for
