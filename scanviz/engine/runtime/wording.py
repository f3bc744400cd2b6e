"""Translate NumPy's runtime errors into the user's words: indices out of bounds, different shapes, too little memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.errors import (
    NumericalError,
    OutOfMemoryError,
    ScanvizError,
    ScanvizIndexError,
    ScanvizTypeError,
    ScanvizValueError,
    ShapeError,
)
from scanviz.engine.program.instructions import (
    AnyInstruction,
    LoopInstruction,
    Program,
    StateSlot,
    StepOutputSlot,
)

_OUTSIDE = re.compile(
    r"[Ii]ndex (-?\d+) is out of bounds for axis (\d+) with size (\d+)"
)  # CuPy begins with a capital
_TOO_BIG = ("array is too big", "Maximum allowed dimension", "Unable to allocate", "array is larger than")


class Words(NamedTuple):
    """An error in the user's words; ``step`` is set if the operation computes all steps of a loop at once."""

    kind: type[ScanvizError]
    what: str
    expected: object = None
    found: object = None
    fix: str | None = None
    step: int | None = None


def names_an_index(error: ScanvizError) -> bool:
    """Return whether an own error only passes on NumPy's message about an index."""
    return error.expected is None and _OUTSIDE.search(error.what) is not None


def worded(
    error: BaseException, program: Program, instruction: AnyInstruction, values: Sequence[Any]
) -> Words:
    """Return an instruction's error in the user's words.

    Parameters
    ----------
    error : exception
        NumPy's error.
    program : Program
        The program of the instruction.
    instruction : instruction
        The instruction.
    values : sequence
        The values of its inputs, as far as known.
    """
    message = error.what if isinstance(error, ScanvizError) else str(error)
    if isinstance(error, MemoryError) or message.startswith(_TOO_BIG):
        return _out_of_memory(message, instruction, values)
    outside = _OUTSIDE.search(message)
    if outside is not None and values and values[0] is not None:
        index, axis, size = (int(group) for group in outside.groups())
        return _outside(program, instruction, values, (index, axis, size))
    # without the result's buffer, which only some tiers have
    if "operands could not be broadcast together" in message:
        shapes = " and ".join(dict.fromkeys(str(np.shape(value)) for value in values))
        expected = "along each axis, counted from the last, equal sizes or 1"
        return Words(ShapeError, _named(instruction, f"shapes {shapes} do not broadcast together"), expected)
    return Words(_kind(error), _named(instruction, message))


def _named(instruction: AnyInstruction, message: str) -> str:
    """Return a message with the operation in front; errors of loops name the loop already."""
    return message if isinstance(instruction, LoopInstruction) else f"{instruction.op.name}: {message}"


def _kind(error: BaseException) -> type[ScanvizError]:
    if isinstance(error, np.linalg.LinAlgError | ArithmeticError):
        return NumericalError
    if isinstance(error, IndexError):
        return ScanvizIndexError
    if isinstance(error, TypeError):
        return ScanvizTypeError
    return ShapeError if "shape" in str(error) or "broadcast" in str(error) else ScanvizValueError


def _outside(
    program: Program, instruction: AnyInstruction, values: Sequence[Any], place: tuple[int, int, int]
) -> Words:
    """Return the error of an index outside of an axis: for a loop's rows, it has the number of steps."""
    index, axis, size = place
    source = instruction.inputs[0]
    name = program.registers[source].name
    shown = f"`{name}`" if name else "the array"
    loop = _loop_that_gives(program, source) if axis == 0 and np.ndim(values[0]) > 0 else None
    expected = f"an index from {-size} to {size - 1}" if size else None
    step = _step_of(instruction, values, index)
    if loop is None:
        rows = f"{size} row{'' if size == 1 else 's'}" if axis == 0 else f"size {size} along axis {axis}"
        none = "" if size else ": there is none to take"
        return Words(
            ScanvizIndexError,
            f"index {index} is out of bounds for {shown}, which has {rows}{none}",
            expected,
            step=step,
        )
    if size:
        steps = f"took {size} step{'' if size == 1 else 's'}"
        return Words(
            ScanvizIndexError, f"loop `{loop.name}` {steps}, so {shown} has no row {index}", expected
        )
    return Words(
        ScanvizIndexError,
        f"loop `{loop.name}` took no steps, so {shown} has no rows and no row {index}",
        "at least 1 step",
        "n_steps = 0, or a sequence without rows",
        f"T.concatenate([h0[None], {name or 'h'}])[{index}] for the initial state where no step is taken",
    )


def _loop_that_gives(program: Program, register: int) -> LoopInstruction | None:
    for instruction in program.instructions:
        if isinstance(instruction, LoopInstruction) and register in instruction.outputs:
            return instruction
    return None


def _step_of(instruction: AnyInstruction, values: Sequence[Any], index: int) -> int | None:
    """Return the step that an index belongs to where the rows of all steps are taken at once, which a rule of loops made."""
    provenance = instruction.provenance
    if not provenance.scans or provenance.rule is None:
        return None
    for value in values[1:]:
        if isinstance(value, np.ndarray) and value.ndim and value.dtype.kind in "iu":
            places = np.argwhere(value == index)
            if len(places):
                return int(places[0][0])
    return None


def _out_of_memory(message: str, instruction: AnyInstruction, values: Sequence[Any]) -> Words:
    wanted = amount(message)
    if not isinstance(instruction, LoopInstruction):
        shapes = ", ".join(str(np.shape(value)) for value in values if np.ndim(value)) or None
        return Words(
            OutOfMemoryError,
            f"{instruction.op.name} needs {wanted}",
            expected="as much memory as there is",
            found=f"inputs of shapes {shapes}" if shapes else None,
            fix="smaller sizes, or a loop over parts that keeps a sum or the last row",
        )
    steps = next(
        (
            value
            for number, value in zip(instruction.inputs, values, strict=False)
            if number == instruction.n_steps
        ),
        None,
    )
    asked = re.search(r"with shape \((\d+)", message)
    most = max((slot.offset for slot in instruction.states), default=0)
    if asked is not None and steps is not None and not steps <= int(asked[1]) <= steps + most:
        return Words(
            OutOfMemoryError,
            f"loop `{instruction.name}` needs {wanted} for what a step computes",
            expected="as much memory as there is",
            fix="smaller arrays in the step",
        )
    slots: list[StateSlot | StepOutputSlot] = [*instruction.states, *instruction.step_outputs]
    names = [slot.name for slot in slots if slot.result is not None]
    rows = ", ".join(f"`{name}`" for name in names)
    return Words(
        OutOfMemoryError,
        f"loop `{instruction.name}` needs {wanted} to keep every row of {rows or 'its results'}",
        expected="as much memory as there is",
        found=f"{int(steps)} steps" if steps is not None else None,
        fix=f"{names[0] if names else 'h'}[-1] instead of all rows: a loop keeps only the rows that are read\n"
        "or a smaller n_steps, scan_checkpoints for gradients, or a sum as a state instead of rows to add up later",
    )


def amount(message: str) -> str:
    """Return the requested memory in an error of NumPy."""
    found = re.search(r"Unable to allocate ([\d.]+ \w+) for an array with shape (\(.*?\))", message)
    if found:
        return f"{found[1]} (an array of shape {found[2]})"
    too_big = message.startswith(_TOO_BIG)
    return "more memory than a computer can address" if too_big else "more memory than there is"
