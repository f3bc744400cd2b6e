"""Shared variables: values that live between calls of the functions that read and update them.

Storage is one array behind a lock, on the host or on a device.  The array held is never written in place while a function runs: an
update puts a new one in its place when the whole call has succeeded.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import cache
from itertools import repeat
from operator import setitem
from typing import Any

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, some
from scanviz.engine.graph.nodes import Array, Variable, describe
from scanviz.engine.graph.types import RANDOM_STATE, TensorType, Type, canonical_dtype
from scanviz.engine.locks import lock

# held while the updates of one call are put in place, so that they change together
COMMIT_LOCK = lock()
_dtype = cache(np.dtype)  # by its name: making one of that takes longer than to compare them


def is_on_device(value: Any) -> bool:
    """Return whether an array is in device memory.

    Classes of other libraries, such as PyTorch's, may have arrays of either kind, so the array is asked.  CuPy's, which have
    ``get``, always are there, and build the attribute on each access.
    """
    kind = type(value)
    if kind is np.ndarray or not hasattr(kind, "__cuda_array_interface__"):
        return False
    return hasattr(kind, "get") or hasattr(value, "__cuda_array_interface__")


class OnDevice:
    """A value in the memory of a device, with its copy on the host once requested.

    Parameters
    ----------
    array : array
        The array on the device.
    host : ndarray, optional
        The same array on the host.
    """

    __slots__ = ("_host", "array")

    def __init__(self, array: Any, host: Array | None = None) -> None:
        self.array, self._host = array, host

    @property
    def dtype(self) -> Any:
        """The array's dtype."""
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        found: tuple[int, ...] = self.array.shape
        return found

    def on_host(self) -> Array:
        """Return the copy on the host."""
        if self._host is None:
            self._host = self.fetched()
        return self._host

    def fetched(self) -> Array:
        """Return a new copy on the host."""
        raise NotImplementedError


def _on_host(value: Array | OnDevice) -> Array:
    return value.on_host() if isinstance(value, OnDevice) else value


class SharedVariable(Variable):
    """A symbolic variable with a value of its own.

    Attributes
    ----------
    default_update : Variable or None
        New value that every function reading this variable gives it, unless the function's updates name another.
    """

    __slots__ = ("_container", "default_update", "lock")
    default_update: Variable | None
    lock: Any  # held by a call that updates it, so that no update is lost
    _container: list[Array | OnDevice]

    def __init__(self, type: Type, value: Array, name: str | None = None) -> None:
        super().__init__(type, name)
        object.__setattr__(self, "_container", [value])
        object.__setattr__(self, "lock", lock())
        object.__setattr__(self, "default_update", None)

    def __setattr__(self, attribute: str, value: object) -> None:
        if attribute == "default_update":
            object.__setattr__(self, attribute, value)
        else:
            super().__setattr__(attribute, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return (SharedVariable, (self.type, _on_host(self._container[0]), self.name))

    def get_value(self, borrow: bool = False) -> Array:
        """Return the value: a copy, or with ``borrow`` the stored array itself, which must not be written to."""
        value = _on_host(self._container[0])
        return value if borrow else value.copy()

    def set_value(self, value: Any, borrow: bool = False) -> None:
        """Store a new value.

        Parameters
        ----------
        value : array_like
            Of the same dtype (or one that casts safely to it) and number of dimensions.
        borrow : bool
            True stores the given array itself; False a copy.

        Raises
        ------
        ScanvizTypeError
            If dtype, number of dimensions or a fixed size do not fit.
        """
        array = checked(value, self.type, describe(self))
        kept = array if borrow or array is not value else array.copy()
        with COMMIT_LOCK:
            self._container[0] = kept


def values_of(variables: Sequence[SharedVariable]) -> list[Array]:
    """Return the arrays that shared variables hold at one moment, on the host; they must not be written to."""
    return [value if type(value) is np.ndarray else _on_host(value) for value in held_by(variables)]


def held_by(variables: Sequence[SharedVariable]) -> list[Array | OnDevice]:
    """Return the values that shared variables hold at one moment, wherever they lie."""
    with COMMIT_LOCK:
        return [variable._container[0] for variable in variables]


def keep_on_device(variable: SharedVariable, value: Array | OnDevice, moved: OnDevice) -> None:
    """Have a shared variable hold its value as moved to a device, unless it holds another one by now."""
    with COMMIT_LOCK:
        if variable._container[0] is value:
            variable._container[0] = moved


def set_values(variables: Sequence[SharedVariable], values: Sequence[Array | OnDevice]) -> None:
    """Store arrays themselves as the values of shared variables: all of them or, where one does not fit or on ctrl+c, none."""
    fitting = [
        value
        if (type(value) is np.ndarray or isinstance(value, OnDevice)) and _is_of(value, variable.type)
        else checked(_on_host(value), variable.type, describe(variable))
        for variable, value in zip(variables, values, strict=True)
    ]
    containers = [variable._container for variable in variables]
    with COMMIT_LOCK:  # and in one operation of Python: it hears ctrl+c before it or after it
        if len(containers) == 1:
            containers[0][0] = fitting[0]
        else:
            deque(map(setitem, containers, repeat(0), fitting), 0)


def _array_of(value: Any, what: str) -> Array:
    if isinstance(value, np.ndarray) and type(value) is not np.ndarray:
        from scanviz.engine.graph.types import refuse_masked  # of other classes of arrays

        refuse_masked(value, what)
    return np.asarray(value.get() if is_on_device(value) and hasattr(value, "get") else value)


def checked(value: Any, kind: Type, name: str) -> Array:
    """Return ``value`` as an array of exactly this type, or raise; never converts lossily."""
    if isinstance(value, Variable):
        raise ScanvizTypeError.here(
            f"`{name}` holds a value, and `{describe(value)}` is symbolic",
            fix=f"function(…, updates={{{name}: …}}), or return {{{name}: …}} in the step of a loop",
        )
    array = _array_of(value, f"the value for `{name}`")
    dtype, shape = kind.dtype, kind.shape
    if array.dtype != dtype:
        if not _converts(value, array, dtype):
            raise ScanvizTypeError.here(
                f"`{name}` cannot hold this value",
                expected=f"dtype {dtype}",
                found=f"dtype {array.dtype}" + (f", {array}" if array.ndim == 0 else ""),
                fix=f"np.asarray(value, {dtype!r}), or shared(np.asarray(first, '{array.dtype}')) to hold such values",
            )
        array = array.astype(dtype)
    if not _is_of(array, kind):
        shown = ", ".join("?" if size is None else str(size) for size in shape)
        is_any = all(size is None for size in shape)
        raise ScanvizTypeError.here(
            f"`{name}` cannot hold this value",
            expected=some(len(shape), "dimension") if is_any else f"shape ({shown})",
            found=f"shape {array.shape}",
        )
    return array


def _is_of(array: Array | OnDevice, kind: Type) -> bool:
    """Return whether an array has exactly this type."""
    shape, sizes = kind.shape, array.shape
    if (array.dtype is not _dtype(kind.dtype) and array.dtype != kind.dtype) or len(sizes) != len(shape):
        return False
    if sizes == shape:  # all are fixed, or there are none: on the way of every update
        return True
    wanted = [size if known is None else known for known, size in zip(shape, sizes, strict=True)]
    return wanted == [*sizes]  # quicker than a generator


def _converts(value: Any, array: Array, dtype: str) -> bool:
    """Return whether a value may become an array of another dtype: safely, or exactly from Python's own integers."""
    if array.dtype.kind not in "biuf" or array.dtype.kind == "b" != np.dtype(dtype).kind:
        return False
    if np.can_cast(array.dtype, dtype, "safe"):
        return True
    if not isinstance(value, bool | int | float | list | tuple | range):
        return False
    wanted = np.dtype(dtype).kind
    if array.dtype.kind in "iu" and wanted in "iu":
        limits = np.iinfo(dtype)
        return array.size == 0 or bool(array.min() >= limits.min and array.max() <= limits.max)
    # the dtype of an empty list is no one's choice
    return wanted == "f" or (array.size == 0 and wanted != "b")


def shared(
    value: Any, name: str | None = None, *, strict: bool = False, borrow: bool = False
) -> SharedVariable:
    """Return a shared variable that starts at ``value``.

    Parameters
    ----------
    value : array_like
        First value; its dtype and number of dimensions are kept for good, its sizes may change.
    name : str, optional
        Name for messages, dumps and profiles.
    strict : bool
        True also fixes the sizes.
    borrow : bool
        True stores a given array itself instead of a copy.

    Returns
    -------
    SharedVariable
        With ``get_value`` and ``set_value``.

    Raises
    ------
    ScanvizTypeError
        If the value is symbolic, no array, or of a dtype that scanviz does not compute with.

    Examples
    --------
    >>> count = shared(0, name="count")
    >>> count.set_value(3)
    >>> count.get_value()
    array(3)
    """
    if isinstance(value, Variable):
        raise ScanvizTypeError.here(
            f"shared() takes a value, `{describe(value)}` is symbolic", fix="shared(numpy_array)"
        )
    try:
        array = _array_of(value, "the value of this shared variable")
    except ValueError as error:
        raise ScanvizTypeError.here(
            "shared() takes an array, or nested lists of equal lengths",
            found=type(value).__name__,
            fix="lists of equal lengths, or one shared variable each",
        ) from error
    if array.dtype.kind in "OSU":  # objects and strings
        from scanviz.engine.graph.refusals import no_array  # of an error

        raise no_array(value)
    kind = TensorType(canonical_dtype(array.dtype), array.shape if strict else (None,) * array.ndim)
    return SharedVariable(kind, array if borrow else array.copy(), name)


def shared_random_state(state: Array, name: str | None = None) -> SharedVariable:
    """Return a shared variable that holds the state of a random generator (uint64, shape (4,))."""
    return SharedVariable(RANDOM_STATE, checked(state, RANDOM_STATE, name or "random state"), name)
