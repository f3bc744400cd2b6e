"""Helpers of the op families: variables from Python values, and types from dtype and shape rules.

Whatever a user writes beside a variable, a number, a list, an array, becomes a variable by :func:`as_variable`; what cannot is an
error in the user's words.  A family gives :func:`infer_by` its dtype rule, and the shape rule of the declaration does the rest.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.config import config
from scanviz.engine.errors import ScanvizTypeError, ScanvizValueError, ShapeError
from scanviz.engine.graph.declaration import Op, declared
from scanviz.engine.graph.nodes import REDUCE, Array, Constant, Variable, build_one, describe, tensor_type
from scanviz.engine.graph.provenance import SourceLine, user_line
from scanviz.engine.graph.types import INTEGERS, TensorType, Type, canonical_dtype, known_type
from scanviz.engine.sizes.dims import Dims


def _reduced(variable: Variable) -> tuple[Any, ...]:
    from scanviz.engine.graph.flatten import reduce_variable  # of pickles alone

    return reduce_variable(variable)


REDUCE.append(_reduced)
_PLAIN = (int, float, bool, np.ndarray, list, tuple)


class CastParameters(NamedTuple):
    """Parameters of ``cast``; here because conversions below cast, by the op's declared name."""

    dtype: str


def constant(value: Any, dtype: object = None, name: str | None = None) -> Constant:
    """Return a constant of a Python or NumPy value.

    Parameters
    ----------
    value : array_like
        Number, (nested) list or array of numbers.
    dtype : dtype, optional
        Requested dtype; by default NumPy's choice, with Python floats as ``config.floatX``.

    Raises
    ------
    ScanvizTypeError
        If it is no array of numbers, or of a dtype that scanviz does not have.
    ScanvizValueError
        If it does not fit into ``dtype``.
    """
    if type(value) not in _PLAIN:
        check_meant(value)
        if isinstance(value, np.ndarray):
            from scanviz.engine.graph.types import refuse_masked  # of other classes of arrays

            refuse_masked(value, "this array")
    try:
        array = np.asarray(value, dtype=None if dtype is None else canonical_dtype(dtype))
    except OverflowError as error:
        raise ScanvizValueError.here(f"{value!r} does not fit into {dtype}") from error
    except (TypeError, ValueError) as error:
        from scanviz.engine.graph.refusals import no_array  # of an error

        raise no_array(value) from error
    if array.dtype.kind == "O" and type(value) is int:
        raise ScanvizValueError.here(f"{value} is too large for integers of 64 bits", fix=f"float({value})")
    if array.dtype.kind in "OSU":  # objects and strings
        from scanviz.engine.graph.refusals import no_array  # of an error

        raise no_array(value)
    if dtype is None and array.dtype == np.float64 and not isinstance(value, np.ndarray | np.generic):
        array = array.astype(config.floatX)
    return Constant(TensorType(canonical_dtype(array.dtype), array.shape), array, name)


def as_variable(value: Any, dtype: object = None) -> Variable:
    """Return ``value`` itself if it is symbolic (lists of symbolic scalars are stacked), else a constant of it.

    Raises
    ------
    ScanvizTypeError
        If it is no array of numbers, or a Python bool: that is most often what ``a == b`` gave, which compares identity.
    """
    if isinstance(value, Variable):
        return value
    if type(value) is bool:
        raise python_bool(value)
    return as_value(value, dtype)


def as_value(value: Any, dtype: object = None) -> Variable:
    """Return a variable as :func:`as_variable` does where a truth value is at home: an initial state, what to fill with."""
    if isinstance(value, Variable):
        return value
    if isinstance(value, list | tuple) and any(isinstance(item, Variable) for item in value):
        check_meant(value)
        return build_one(Op(declared("make_vector")), *(as_variable(item) for item in value))
    return constant(value, dtype)


def python_bool(value: bool, where: SourceLine | None = None) -> ScanvizTypeError:
    """Return the error of a Python bool where a symbolic condition or a number is expected."""
    from scanviz.engine.graph.refusals import source_text  # of an error

    where = where or user_line()
    return ScanvizTypeError(
        f"Python's {value} was given where a symbolic condition or a number is expected",
        where=where,
        text=source_text(where),
        expected="a variable, a number or an array",
        found=f"{value}: `a == b` and `a != b` ask at once whether two variables are one, and give a Python bool",
        fix=f"T.eq(a, b) or T.neq(a, b) to compare values\nT.constant({value}) if {value} is meant",
    )


def check_meant(value: Any) -> None:
    """Raise the error of a common mistake: a pair returned by scan, or a Python function, in place of a variable."""
    refusal = getattr(type(value), "not_a_variable", None)
    if refusal is not None:
        raise refusal(value)
    if isinstance(value, FunctionType):
        name = value.__name__ if value.__name__.isidentifier() else "f"
        raise ScanvizTypeError.here(
            f"the Python function `{value.__name__}` stands where a variable is expected",
            fix=f"{name}(x): the variable that it makes of symbolic variables such as x = T.vector('x')",
            shown=True,
        )


def as_integer(value: Any, what: str) -> Variable:
    """Return a symbolic int64 scalar of an int or an integer scalar variable; of numbers too large for it the largest of it.

    Raises
    ------
    ScanvizTypeError
        If it is no integer scalar; ``what`` names it in the message.
    """
    if isinstance(value, bool | np.bool_) or (not isinstance(value, Variable) and not _is_whole(value)):
        raise ScanvizTypeError.here(f"{what} must be an integer", found=repr(value))
    variable = value if isinstance(value, Variable) else constant(int(value), "int64")
    kind = tensor_type(variable)
    if kind.dtype not in INTEGERS or kind.ndim != 0:
        raise ScanvizTypeError.here(
            f"{what} must be an integer scalar", expected="int64[]", found=f"`{describe(variable)}`, {kind}"
        )
    if kind.dtype == "int64":
        return variable
    if kind.dtype == "uint64":  # what is larger than all of int64 stays large, and is no number from the end
        variable = build_one(Op(declared("minimum")), variable, constant(np.uint64(2**63 - 1)))
    return build_one(Op(declared("cast"), CastParameters("int64")), variable)


def _is_whole(value: Any) -> bool:
    try:
        return np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iu"
    except (TypeError, ValueError):
        return False


def constant_integer(variable: Variable) -> int | None:
    """Return the value of a constant integer scalar, None if unknown when building."""
    if isinstance(variable, Constant) and variable.value.ndim == 0 and variable.value.dtype.kind in "iub":
        return int(variable.value)
    return None


def static_dims(inputs: Sequence[Variable]) -> Dims:
    """Return the dimensions of inputs that are known from types and constants."""
    shapes = [variable.type.shape if isinstance(variable.type, TensorType) else () for variable in inputs]
    return Dims(shapes, lambda position: constant_integer(inputs[position]))


DtypeRule = Callable[[Op, Sequence[TensorType]], Sequence[str]]


def infer_by(dtypes: DtypeRule) -> Callable[[Op, Sequence[Variable]], Sequence[Type]]:
    """Return the ``infer`` of a declaration from its dtype rule, with shapes from its shape rule."""

    def infer(op: Op, inputs: Sequence[Variable]) -> Sequence[Type]:
        kinds: list[TensorType] = []
        for variable in inputs:
            kind = variable.type
            kinds.append(kind if isinstance(kind, TensorType) else tensor_type(variable))
        try:
            names = dtypes(op, kinds)
            assert op.declaration.shapes is not None
            dims = Dims([kind.shape for kind in kinds], lambda position: constant_integer(inputs[position]))
            shapes = op.declaration.shapes(op, dims)
        except (ScanvizTypeError, ShapeError) as error:
            raise located(error, op, inputs) from None
        return [known_type(name, tuple(shape)) for name, shape in zip(names, shapes, strict=True)]

    return infer


def located(
    error: ScanvizTypeError | ShapeError, op: Op, inputs: Sequence[Variable]
) -> ScanvizTypeError | ShapeError:
    """Return the error of a rule with the user's line and the names and types of the inputs added."""
    if error.where is not None:
        return error
    shown = ", ".join(f"`{describe(variable)}` {variable.type}" for variable in inputs)
    fresh = type(error)(
        f"{op.asked_as}: {error.what} (inputs: {shown})",
        where=user_line(),
        expected=error.expected,
        found=error.found,
        fix=error.fix,
    )
    return fresh


def kept_dtype(op: Op, kinds: Sequence[TensorType]) -> Sequence[str]:
    """Return the dtype of the first input: the rule of operations that keep it."""
    return (kinds[0].dtype,)


def kept_shape(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    """Return the shape of the first input: the rule of operations that keep it."""
    return (dims.shapes[0],)


def wanted_shape(op: Op, dims: Dims) -> Sequence[tuple[Any, ...]]:
    """Return the sizes that all inputs but the first are: the rule of operations that give a wanted shape."""
    return (tuple(dims.value(k) for k in range(1, len(dims.shapes))),)


def float_dtype(dtype: str) -> str:
    """Return the floating dtype that NumPy computes means and the like in: ints and bools give float64."""
    return dtype if dtype.startswith("float") else "float64"


def single(function: Callable[..., Any]) -> Callable[[Op, Sequence[Array]], Sequence[Array]]:
    """Return the ``perform`` of a one-output op from a function of ``(parameters, *arrays)``."""

    def perform(op: Op, values: Sequence[Array]) -> Sequence[Array]:
        return (function(op.parameters, *values),)

    return perform


MOST_DIMENSIONS = 64  # of an array of NumPy


def whole(value: Any, what: str, least: int | None = None, most: int | None = None) -> int:
    """Return an option that is a whole number within bounds, as an int; ``what`` names it in the error."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise _no_option(value, what, "an integer, known when building")
    if (least is not None and value < least) or (most is not None and value > most):
        raise ScanvizValueError.here(
            f"{what} cannot be used", expected=f"from {least} to {most}", found=value
        )
    return int(value)


def real(value: Any, what: str) -> float:
    """Return an option that is a number, as a float."""
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    raise _no_option(value, what, "a number, known when building")


def truth(value: Any, what: str) -> bool:
    """Return an option that is yes or no, as a bool."""
    if isinstance(value, bool | np.bool_ | int | np.integer):
        return bool(value)
    raise _no_option(value, what, "True or False")


def one_of(value: Any, among: Sequence[str], what: str, fix: str | None = None) -> str:
    """Return an option that is one of some words."""
    if isinstance(value, str) and value in among:
        return value
    shown = f"`{describe(value)}`, symbolic" if isinstance(value, Variable) else repr(value)
    raise ScanvizValueError.here(
        f"{what} cannot be used", expected=" or ".join(map(repr, among)), found=shown, fix=fix
    )


def listed(value: Any, what: str) -> list[Any]:
    """Return an option that is a list of values, or anything that can be iterated over while building, as a list."""
    check_meant(value)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping):
        with contextlib.suppress(TypeError):  # of a variable of unknown length too
            return list(value)
    raise _no_option(value, what, "a list")


def pairs(value: Any, what: str) -> list[tuple[Any, Any]]:
    """Return an option that is a mapping or a list of pairs, as pairs; None is none."""
    if value is None:
        return []
    wrong = f"{what} must be a dict or a list of pairs"
    if isinstance(value, Variable):
        fix = (
            "function([inputs], outputs, updates={…}): several inputs are a list"
            if what == "updates"
            else None
        )
        raise ScanvizTypeError.here(wrong, found=f"`{describe(value)}`", fix=fix)
    found = list(value.items()) if isinstance(value, Mapping) else listed(value, what)
    for pair in found:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ScanvizTypeError.here(wrong, found=repr(pair))
    return [(key, item) for key, item in found]


def _no_option(value: Any, what: str, expected: str) -> ScanvizTypeError:
    shown = f"`{describe(value)}`, symbolic" if isinstance(value, Variable) else repr(value)
    return ScanvizTypeError.here(f"{what} cannot be used", expected=expected, found=shown)
