"""Attributes and methods of variables without a function of their own, and NumPy's functions applied to a variable.

``array * v`` and ``np.float64(2) @ v`` reach the variable as NumPy's ufuncs: those that are Python operators are carried out
(:data:`_OPERATORS`).  Any other function of NumPy's, such as ``np.tanh``, would make arrays of Python objects.  It is refused by a
message that names the function here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Parameter, signature
from typing import Any, NoReturn

import numpy as np

from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.nodes import Variable, describe, tensor_type
from scanviz.engine.graph.syntax import meaning, meaning_of
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.shape import transpose
from scanviz.engine.ops.support import pairs


@meaning("attribute:T")
def _transposed(x: Variable) -> Variable:
    return transpose(x)


@meaning("attribute:mT")
def _matrices_transposed(x: Variable) -> Variable:
    from scanviz.tensor.shapes import matrix_transpose  # when it is used, like all of that file

    return matrix_transpose(x)


@meaning("attribute:ndim")
def _ndim(x: Variable) -> int:
    return tensor_type(x).ndim


@meaning("attribute:dtype")
def _dtype(x: Variable) -> str:
    return tensor_type(x).dtype


@meaning("attribute:broadcastable")
def _broadcastable(x: Variable) -> tuple[bool, ...]:
    return tuple(size == 1 for size in tensor_type(x).shape)


@meaning("method:copy")
def _copy(x: Variable, name: str | None = None) -> Variable:
    return e.positive(x, name=name) if tensor_type(x).dtype != "bool" else e.logical_or(x, x, name=name)


@meaning("method:eval")
def _eval(x: Variable, /, givens: Mapping[Variable, Any] | None = None) -> Any:
    """Compile and call at once: the value of a variable for given values of its inputs."""
    from scanviz.engine.function import (
        Function,
        specify_function,
    )  # above the tensor layer's own imports, so that graphs alone stay light

    values = dict(pairs(givens, "eval: the values of inputs"))
    for key in values:
        if not isinstance(key, Variable):
            raise ScanvizTypeError.here(
                "eval takes values of variables",
                found=repr(key),
                fix=f"eval({{{key}: …}}), with the variable itself as the key",
            )
    return Function(specify_function(list(values), x, on_unused_input="ignore"))(*values.values())


# NumPy's ufuncs that Python's operators call, by our names of them.
_OPERATORS = {
    "add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide", "true_divide": "divide",
    "floor_divide": "floor_divide", "remainder": "mod", "power": "power", "matmul": "matmul",
    "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor",
    "left_shift": "left_shift", "right_shift": "right_shift",
    "less": "less", "less_equal": "less_equal", "greater": "greater", "greater_equal": "greater_equal",
}  # fmt: skip
# Functions of NumPy and SciPy that are called otherwise here.
_RENAMED = {
    "fabs": "abs", "equal": "eq", "not_equal": "neq",
    "array_equal": "all(T.eq(a, b))", "remainder": "mod", "fmod": "mod", "copy": "copy",
    "copyto": "set_subtensor", "put": "set_subtensor", "size": "size", "ndim": "ndim", "shape": "shape",
}  # fmt: skip
_AS_METHODS = {"copy", "size", "ndim", "shape"}  # written x.shape, x.copy()
_REDUCTIONS = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any",
}  # fmt: skip


@meaning("numpy_ufunc")
def _ufunc(x: Variable, ufunc: Any, method: str, inputs: Sequence[Any], options: dict[str, Any]) -> Any:
    """Carry out a ufunc that is an operator, and refuse any other by its name here."""
    name = ufunc.__name__
    if method == "__call__" and not options and name in _OPERATORS:
        return meaning_of(_OPERATORS[name])(*inputs)
    if options.get("out") is not None and name in _OPERATORS:
        _refuse(
            f"an array of NumPy cannot hold `{describe(x)}`, which has no value yet",
            "a = a + x with a variable `a`, such as a = T.as_tensor(array), instead of `array += x`",
        )
    if name in ("equal", "not_equal"):
        _refuse(
            f"`array {'==' if name == 'equal' else '!='} {_code(x)}` does not compare with a value that is not there yet",
            f"T.{_RENAMED[name]}(array, {_code(x)})",
        )
    if method in ("reduce", "accumulate"):
        known = (
            _REDUCTIONS.get(name)
            if method == "reduce"
            else {"add": "cumsum", "multiply": "cumprod"}.get(name)
        )
        _refuse_function(f"np.{name}.{method}", known)
    _refuse_function(f"np.{name}" if hasattr(np, name) else f"{name} of SciPy", _here(name))


@meaning("numpy_function")
def _function(x: Variable, function: Any) -> NoReturn:
    name = function.__name__
    group = "linalg." if (function.__module__ or "").endswith("linalg") else ""
    if name in _AS_METHODS:
        _refuse(f"np.{name} does not know `{describe(x)}`, a symbolic variable", f"{_code(x)}.{name}")
    _refuse_function(f"np.{group}{name}", _here(name, group))


@meaning("numpy_array")
def _array(x: Variable) -> NoReturn:
    _refuse(
        f"`{describe(x)}` has no value while the graph is built, so NumPy cannot make an array of it",
        "T.stack([a, b]) instead of np.array([a, b]), T.… instead of another function of NumPy or SciPy\n"
        f"T.as_tensor(array)[{_code(x)}] instead of array[{_code(x)}]\n"
        f"T.set_subtensor(T.as_tensor(array)[k], {_code(x)}) instead of array[k] = {_code(x)}\n"
        f"function([…], {_code(x)})(…) or {_code(x)}.eval({{…}}) for its value",
    )


@meaning("function_name")
def _here(name: str, group: str = "") -> str | None:
    """Return scanviz's name of a NumPy function, or None."""
    if name in _RENAMED and name not in _AS_METHODS:
        return _RENAMED[name]
    from scanviz import tensor

    if group and name in tensor.linalg.__all__:
        return group + name
    return name if name in tensor.__all__ else None


@meaning("function_call")
def _call(name: str, first: str) -> str | None:
    """Return how the function of a name is called with a variable first, or None."""
    from scanviz import tensor

    function = getattr(tensor, name, None) if name in tensor.__all__ else None
    if not callable(function):
        return None
    needed = [one for one in signature(function).parameters.values() if one.default is Parameter.empty]
    return f"T.{name}({first})" if len(needed) < 2 else f"T.{name}({first}, …)"


def _refuse_function(theirs: str, ours: str | None) -> NoReturn:
    _refuse(
        f"{theirs} computes with values, and a symbolic variable has none while the graph is built",
        f"T.{ours} instead of {theirs}"
        if ours is not None
        else "an expression of scanviz.tensor functions, which dir(T) lists",
    )


def _refuse(what: str, fix: str) -> NoReturn:
    raise ScanvizTypeError.here(what, fix=fix, shown=True)


def _code(x: Variable) -> str:
    return x.name if x.name and x.name.isidentifier() else "x"
