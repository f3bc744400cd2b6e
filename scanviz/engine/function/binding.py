"""Bind the values of a call to the function's inputs, as arrays in order.

Values come by position, by name or from an input's default.  Missing, surplus and duplicate values raise errors that name them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from scanviz.engine.errors import ScanvizTypeError, some
from scanviz.engine.function.arguments import In, is_on_device

if TYPE_CHECKING:
    from scanviz.engine.graph.nodes import Array


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
    """

    __slots__ = ("_backend", "_inputs", "_name", "_position", "_takes_device_arrays", "_usual")

    def __init__(self, name: str, inputs: list[In], backend: str, takes_device_arrays: bool) -> None:
        self._name, self._inputs, self._backend = name, inputs, backend
        self._takes_device_arrays = takes_device_arrays
        self._usual = [given.usual for given in inputs]
        self._position = {given.name: k for k, given in enumerate(inputs) if given.name}

    def arrays(self, values: Sequence[Any], named: dict[str, Any]) -> list[Array]:
        """Return the arguments of a call.

        Raises
        ------
        ScanvizTypeError
            If a value is surplus, missing, duplicate, unknown, of another type, or in memory that the tier cannot read.
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
        """Return the arguments of a call; refuse device arrays unless the backend takes them."""
        for given, value in zip(self._inputs, arrays, strict=True):
            if type(value) is not np.ndarray and not self._takes_device_arrays and is_on_device(value):
                raise ScanvizTypeError.here(
                    f"input {given.label} of `{self._name}` was given an array on a device, and "
                    f"the backend {self._backend!r} runs on the host",
                    expected="a NumPy array",
                    fix="value.get(), or scanviz.function(…, mode='cupy')",
                )
        return arrays


__all__ = ["Binding"]
