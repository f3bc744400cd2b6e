"""Forecast the memory of a call before it runs.

This module checks the arguments of :meth:`Function.memory_forecast` and names the result.
:mod:`scanviz.engine.program.forecast` computes the bytes from the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from msgspec import Struct

from scanviz.engine.errors import ScanvizTypeError, some
from scanviz.engine.graph.types import TensorType
from scanviz.engine.program.forecast import forecast
from scanviz.engine.program.instructions import LoopInstruction, Program, all_loops
from scanviz.engine.program.plan import Emits
from scanviz.engine.program.value_names import ValueNames

if TYPE_CHECKING:
    from scanviz.engine.function.arguments import In
    from scanviz.engine.graph.provenance import SourceLine
    from scanviz.engine.program.shapes import ConcreteShape

NOTHING_KEPT = Emits(lambda instruction, program: False, lambda instruction, program: ())


class Forecastable(Protocol):
    """The parts of a compiled function that a forecast reads."""

    name: str
    program: Program
    spec: Any  # its shared variables are read

    @property
    def inputs(self) -> list[In]:
        """The inputs, in order."""
        ...

    @property
    def executable(self) -> Any:
        """The program as compiled by the backend."""
        ...


class MemoryForecast(Struct, frozen=True):
    """The peak memory of a call.

    Attributes
    ----------
    peak_bytes : int
        Peak bytes of arrays allocated in the call: rows and buffers of loops, results of operations outside of loops, results of
        the call.  Excluded are arguments, shared variables, NumPy's temporaries inside one operation, and copies that machine code
        makes once per run: packed matrices of products, and sequences of strided rows.
    at : str
        The place of the peak: a loop's name, an operation as in reports, or ``copies of results``.
    where : SourceLine or None
        Its source line.
    loops : dict of str to int
        Bytes of one run of each loop, inner loops included; for loops of the same name, the largest.
    unknown : int
        Number of results whose size depends on values; they are not counted.

    Examples
    --------
    >>> MemoryForecast(2_500_000, "encoder", None, {"encoder": 2_000_000}, 0).at
    'encoder'
    """

    peak_bytes: int
    at: str
    where: SourceLine | None
    loops: dict[str, int]
    unknown: int


def asked(function: Forecastable, inputs: Sequence[Any], named: dict[str, Any]) -> MemoryForecast:
    """Return the forecast of a call with arrays, shapes or numbers for inputs, as ``Function.memory_forecast`` takes them."""
    given = _given(function, inputs, named)
    return of_call(function, [*given, *(shared.get_value(borrow=True) for shared in function.spec.shared)])


def of_call(function: Forecastable, given: Sequence[Any]) -> MemoryForecast:
    """Forecast a call with these inputs and values of shared variables; a tuple stands for an array of that shape."""
    program = function.program
    shapes: list[ConcreteShape] = [
        array if isinstance(array, tuple) else tuple(np.shape(array)) for array in given
    ]
    values = {
        number: np.asarray(value)
        for number, value in zip(program.inputs, given, strict=True)
        if not isinstance(value, tuple) and np.shape(value) == () and np.asarray(value).dtype.kind in "iu"
    }
    emits = getattr(function.executable, "emits", NOTHING_KEPT)
    found = forecast(program, shapes, values, emits, getattr(function.executable, "tiers", dict)())
    names = {loop.key: loop.name for loop, _ in all_loops(program)}
    loops: dict[str, int] = {}
    for key, size in found.loops.items():
        loops[names[key]] = max(size, loops.get(names[key], 0))
    at, where = _named(program, found.instruction)
    return MemoryForecast(found.peak_bytes, at, where, loops, len(found.unknown))


def _named(program: Program, index: int) -> tuple[str, SourceLine | None]:
    """Return the name of an instruction and its source line."""
    if index < 0:
        return "", None
    if index == len(program.instructions):
        return "copies of results", None
    instruction = program.instructions[index]
    if isinstance(instruction, LoopInstruction):
        return instruction.name, instruction.provenance.source
    return ValueNames(program).label(instruction), instruction.provenance.source


def _given(function: Forecastable, inputs: Sequence[Any], named: dict[str, Any]) -> list[Any]:
    expected = ", ".join(wanted.label for wanted in function.inputs)
    if len(inputs) > len(function.inputs):
        raise ScanvizTypeError.here(
            f"`{function.name}` takes {some(len(function.inputs), 'input')}, {len(inputs)} were given",
            expected=expected,
        )
    left = dict(named)
    found: list[Any] = []
    for k, item in enumerate(function.inputs):
        name = item.name or ""
        value = inputs[k] if k < len(inputs) else left.pop(name, item.value)
        if value is None:
            raise ScanvizTypeError.here(
                f"the forecast of `{function.name}` needs the shape of input {item.label}"
            )
        found.append(_checked(function, item.label, item.variable.type, value))
    if left:
        raise ScanvizTypeError.here(
            f"`{function.name}` has no input named `{next(iter(left))}`", expected=expected
        )
    return found


def _checked(function: Forecastable, label: str, kind: Any, value: Any) -> Any:
    shape = value if isinstance(value, tuple) else np.shape(value)
    ndim = kind.ndim if isinstance(kind, TensorType) else len(shape)
    sizes = all(isinstance(size, int | np.integer) and size >= 0 for size in shape)
    if len(shape) != ndim or not sizes:
        raise ScanvizTypeError.here(
            f"input {label} of `{function.name}` has another shape",
            expected=f"{ndim} sizes, or an array of {ndim} dimensions",
            found=repr(value) if isinstance(value, tuple) else f"shape {shape}",
        )
    return tuple(map(int, value)) if isinstance(value, tuple) else value
