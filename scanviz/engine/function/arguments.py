"""Inputs and outputs of a function, and the check of the values of a call.

Users write ``In`` and ``Out`` around variables.  Every call checks its values, so arrays of the right dtype and rank are recognised
first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, ShapeError, some
from scanviz.engine.graph.nodes import Array, Variable, describe
from scanviz.engine.graph.shared import is_on_device

if TYPE_CHECKING:
    from scanviz.engine.graph.nodes import Array


class RunsOnDevice(Exception):  # noqa: N818  # a signal, no error
    """Signals that arguments lie on a device, where a tier can run the call."""


class Binding:
    """Check the values of calls and order them as the inputs.

    Parameters
    ----------
    name : str
        The function's name, for errors.
    inputs : list of In
        The inputs.
    backend : str
        The tier.
    takes_device_arrays : bool
        Whether the tier reads arrays in GPU memory.
    runs_elsewhere : callable, optional
        Whether another tier takes a call with these arrays on a device.
    """

    __slots__ = (
        "_backend",
        "_inputs",
        "_name",
        "_position",
        "_runs_elsewhere",
        "_takes_device_arrays",
        "_usual",
    )

    def __init__(
        self,
        name: str,
        inputs: list[In],
        backend: str,
        takes_device_arrays: bool,
        runs_elsewhere: Callable[[list[Any]], bool] | None = None,
    ) -> None:
        self._name, self._inputs, self._backend = name, inputs, backend
        self._takes_device_arrays, self._runs_elsewhere = takes_device_arrays, runs_elsewhere
        self._usual = [given.usual for given in inputs]
        self._position = {given.name: k for k, given in enumerate(inputs) if given.name}

    def arrays(self, values: Sequence[Any], named: dict[str, Any]) -> list[Array]:
        """Return the arguments of a call.

        Raises
        ------
        ScanvizTypeError
            If a value is surplus, missing, duplicate, unknown, of another type, or in memory that the tier cannot read.
        RunsOnDevice
            If another tier takes the call.
        """
        inputs = self._inputs
        if not named and len(values) == len(inputs):  # the usual case
            arrays, found = np.ndarray, list(values)
            for k, (dtype, ndim, numbers) in enumerate(self._usual):
                value = found[k]
                if type(value) is arrays:
                    if value.dtype is not dtype or value.ndim != ndim:
                        break
                elif type(value) in numbers:
                    found[k] = inputs[k].checked(value)
                else:
                    break
            else:
                return found
            return self._on_host([given.checked(value) for given, value in zip(inputs, values, strict=True)])
        if len(values) > len(inputs):
            raise ScanvizTypeError.here(
                f"`{self._name}` takes {some(len(inputs), 'input')}, {len(values)} were given",
                expected=", ".join(given.label for given in inputs),
            )
        slots: list[Array | None] = [given.value for given in inputs]
        for k, value in enumerate(values):
            slots[k] = inputs[k].checked(value)
        for name, value in named.items():
            position = self._position.get(name)
            if position is None or position < len(values):
                problem = "has no input named" if position is None else "was given twice the input"
                raise ScanvizTypeError.here(
                    f"`{self._name}` {problem} `{name}`",
                    expected=", ".join(given.label for given in inputs),
                )
            slots[position] = inputs[position].checked(value)
        missing = [given.label for given, value in zip(inputs, slots, strict=True) if value is None]
        if missing:
            raise ScanvizTypeError.here(f"`{self._name}` needs a value for input {', '.join(missing)}")
        return self._on_host([value for value in slots if value is not None])

    def _on_host(self, arrays: list[Array]) -> list[Array]:
        """Return the arguments of a call; refuse device arrays unless this backend or another takes them."""
        if self._takes_device_arrays or not any(map(is_on_device, arrays)):
            return arrays
        there = list(filter(is_on_device, arrays))
        if self._runs_elsewhere is not None and self._runs_elsewhere(there):
            raise RunsOnDevice
        given = next(given for given, value in zip(self._inputs, arrays, strict=True) if value is there[0])
        raise ScanvizTypeError.here(
            f"input {given.label} of `{self._name}` was given an array on a device, and "
            f"the backend {self._backend!r} runs on the host",
            expected="a NumPy array",
            fix="value.get(), or scanviz.function(…, mode='cupy')",
        )


def to_host(value: Any) -> Array:
    """Return an array in host memory."""
    array: Array = value.get() if is_on_device(value) else value
    return array


class In:
    """An input with a name for keyword arguments and a default value.

    Parameters
    ----------
    variable : Variable
        The symbolic input.
    value : array_like, optional
        Default value.
    name : str, optional
        Name for keyword arguments; by default the variable's.
    allow_downcast : bool, optional
        Whether to accept values that lose precision; None accepts only Python floats.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x, y = T.scalar("x"), T.scalar("y")
    >>> f = scanviz.function([x, scanviz.In(y, value=10.0)], x + y)
    >>> f(1.0), f(1.0, y=2.0)
    (array(11.), array(3.))
    """

    __slots__ = (
        "_dtype",
        "_ndim",
        "_numbers",
        "_sized",
        "allow_downcast",
        "label",
        "name",
        "value",
        "variable",
    )

    def __init__(
        self,
        variable: Variable,
        value: Any = None,
        name: str | None = None,
        allow_downcast: bool | None = None,
    ) -> None:
        given: object = variable
        if not isinstance(given, Variable):
            raise ScanvizTypeError.here(
                "an input must be a symbolic variable",
                found=repr(given),
                fix="the variable itself, not its name" if isinstance(given, str) else "T.vector('x')",
            )
        self.variable, self.name, self.allow_downcast = variable, name or variable.name, allow_downcast
        self.label = f"`{self.name}`" if self.name else f"`{describe(variable)}`"
        self._dtype, shape = np.dtype(variable.type.dtype), variable.type.shape
        self._ndim, self._sized = len(shape), tuple([k for k, size in enumerate(shape) if size is not None])
        # the Python and NumPy types of numbers that convert exactly
        exact = {np.dtype(np.float64): float, np.dtype(np.int64): int}.get(self._dtype, self._dtype.type)
        self._numbers: tuple[type, ...] = () if shape else (exact, self._dtype.type)
        self.value = None if value is None else self.checked(value)

    @property
    def usual(self) -> tuple[Any, int, tuple[type, ...]]:
        """The dtype and rank of arrays that need no conversion, and the types of numbers that become arrays.

        The dtype is None if sizes must be checked.
        """
        return None if self._sized else self._dtype, self._ndim, self._numbers

    def of(self, variable: Variable) -> In:
        """Return the same input for another variable of the same type."""
        same = In(variable, None, self.name, self.allow_downcast)
        same.label, same.value = self.label, self.value
        return same

    def checked(self, value: Any) -> Array:
        """Return a value passed for this input as an array of its exact type.

        Raises
        ------
        ScanvizTypeError
            If its dtype would lose precision, or its number of dimensions differs.
        ShapeError
            If a size that the input fixes differs.
        """
        if type(value) is np.ndarray and value.dtype is self._dtype and value.ndim == self._ndim:
            array: Array = value  # the usual case: NumPy has one object for each common dtype
            return self._of_size(array) if self._sized else array
        if type(value) in self._numbers and (type(value) is not int or -(2**63) <= value < 2**63):
            return np.array(value, self._dtype)
        dtype = self._dtype
        is_array = type(value) is np.ndarray or is_on_device(value)
        array = value if is_array and value.dtype == dtype else self._converted(value, dtype.name)
        if array.ndim != self._ndim:
            raise ScanvizTypeError.here(
                f"input {self.label} has the wrong number of dimensions",
                expected=some(self._ndim, "dimension"),
                found=f"shape {array.shape}",
            )
        return self._of_size(array)

    def _of_size(self, array: Array) -> Array:
        """Check the sizes that the input fixes, and return the array."""
        kind = self.variable.type
        shape = kind.shape
        for axis in self._sized:
            if shape[axis] != array.shape[axis]:
                raise ShapeError.here(
                    f"input {self.label} has the wrong size along axis {axis}",
                    expected=kind,
                    found=f"shape {array.shape}",
                )
        return array

    def _converted(self, value: Any, dtype: str) -> Array:
        if isinstance(value, Variable):
            raise ScanvizTypeError.here(
                f"input {self.label} was given the symbolic `{describe(value)}`",
                expected="a value",
                fix=f"f(array), or function(…, givens={{{self.name or 'x'}: …}}) to compute with another variable",
            )
        if is_on_device(value):
            raise ScanvizTypeError.here(
                f"input {self.label} has the wrong dtype",
                expected=dtype,
                found=f"dtype {value.dtype}, on the device",
                fix=f"value.astype({dtype!r})",
            )
        if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
            from scanviz.engine.graph.types import refuse_masked  # of other classes of arrays

            refuse_masked(value, f"input {self.label}")
        try:
            array = np.asarray(value)
        except (TypeError, ValueError) as error:
            raise ScanvizTypeError.here(f"input {self.label} cannot be made an array ({error})") from None
        if array.dtype.kind not in "biuf":
            raise ScanvizTypeError.here(
                f"input {self.label} is no array of numbers",
                expected=dtype,
                found=value if isinstance(value, int) else f"dtype {array.dtype}",
            )
        if array.dtype == dtype or np.can_cast(array.dtype, dtype, "safe") or self._may_lose(value, dtype):
            return array.astype(dtype)
        converted, same = _converted_exactly(array, np.dtype(dtype))
        if np.all(same):
            return converted
        first = array[~same].ravel()[0].item()
        raise ScanvizTypeError.here(
            f"input {self.label} would lose precision: {first} is no {dtype}",
            expected=f"dtype {dtype}, or values that are the same in {dtype}",
            found=f"dtype {array.dtype}",
            fix=f"value.astype({dtype!r}), or function(…, allow_input_downcast=True)",
        )

    def _may_lose(self, value: Any, dtype: str) -> bool:
        """Return whether a conversion may lose precision, as for Python numbers, which have no dtype."""
        if self.allow_downcast is not None:
            return self.allow_downcast
        return np.dtype(dtype).kind == "f" and not isinstance(value, np.ndarray | np.generic)


def _converted_exactly(array: Array, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """Return an array in another dtype, and a mask of the values that are unchanged; NaN equals NaN."""
    with np.errstate(all="ignore"):  # of values that do not fit
        converted: Array = array.astype(dtype)
        back = converted.astype(array.dtype)
    same = (back == array) | ((converted != converted) & (array != array))
    if dtype.kind in "iu":
        same &= _within(array, dtype)
    elif array.dtype.kind in "iu" and dtype.kind == "f":
        same &= _within(converted, array.dtype)
    return converted, np.asarray(same)


def _within(array: Array, whole: np.dtype[Any]) -> Array:
    """Return a mask of the values within the range of an integer dtype."""
    limits = np.iinfo(whole)
    if array.dtype.kind == "f":  # the largest may lie between two floats, the number after it is one
        return np.asarray((array >= float(limits.min)) & (array < float(limits.max + 1)))
    return np.asarray((array >= int(limits.min)) & (array <= int(limits.max)))


class Out:
    """An output that may share memory if ``borrow`` allows it.

    Parameters
    ----------
    variable : Variable
        The symbolic output.
    borrow : bool
        Whether the result may share memory with an input, a shared variable or another output.
    """

    __slots__ = ("borrow", "variable")

    def __init__(self, variable: Variable, borrow: bool = False) -> None:
        self.variable, self.borrow = variable, borrow
