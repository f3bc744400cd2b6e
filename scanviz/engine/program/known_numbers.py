"""What is known of a Program's registers before a call: shapes, and the single numbers that follow from what is given.

A plan knows shapes alone, since it serves calls with any numbers.  What a call will hold also follows from numbers: from a number
of steps, and from whatever single number is computed of sizes and numbers by operations without an effect, such as the rounded
root of a length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from scanviz.engine.graph.nodes import Array
from scanviz.engine.program.instructions import (
    AnyInstruction,
    Instruction,
    LoopInstruction,
    Program,
    dtype_of,
)
from scanviz.engine.program.shapes import ConcreteShape, KnownValues, Partial, complete, partial_shapes


class Known(Struct, frozen=True):
    """What is known of a program's registers.

    Attributes
    ----------
    shapes : list of tuple of int or None
        Of all registers, with None for each size that is not known.
    numbers : dict of int to array
        Registers that hold one number which is known, constants too.
    all_steps : bool
        Whether loops that may end early are taken to do all their steps.
    """

    shapes: list[Partial]
    numbers: dict[int, Array]
    all_steps: bool = False

    def shape(self, number: int) -> ConcreteShape:
        """Return the shape of a register, None where one of its sizes is not known."""
        return complete(self.shapes[number])

    def inside(self, program: Program, pairs: Mapping[int, int], shapes: Sequence[Partial]) -> Known:
        """Return what is known of a program inside of this one: ``pairs`` holds its inputs with registers around it."""
        values = {inner: self.numbers[outer] for inner, outer in pairs.items() if outer in self.numbers}
        return known_of(program, shapes, values, self.all_steps)


def known_of(
    program: Program, shapes: Sequence[Partial | None], values: Mapping[int, Any], all_steps: bool = False
) -> Known:
    """Return what is known of a program's registers.

    Parameters
    ----------
    program : Program
        A function's, the step of a loop, or the side of a branch.
    shapes : sequence
        Of its inputs, None where unknown.
    values : mapping of int to number
        Inputs whose values are known, each one number.
    all_steps : bool
        Whether loops that may end early are taken to do all their steps.
    """
    given = {number: np.asarray(value, dtype_of(program, number)) for number, value in values.items()}
    found = KnownValues(dict(given), _computed, lambda shape, dtype: None, all_steps)
    followed = partial_shapes(program, shapes, found)
    numbers = {number: value for number, value in program.constants.items() if value.ndim == 0}
    numbers |= {number: np.asarray(value) for number, value in found.values.items()}
    return Known(followed, numbers, all_steps)


def known_in_step(loop: LoopInstruction, shapes: Sequence[Partial], fixed: Sequence[Any]) -> Known:
    """Return what is known of a loop's step, from the shapes of its inputs and the values of its non-sequences."""
    pairs = zip(loop.non_sequences, fixed, strict=True)
    values = {slot.inner: value for slot, value in pairs if np.shape(value) == () and is_number(value)}
    return known_of(loop.body, shapes, values)


def is_number(value: Any) -> bool:
    """Return whether a value is a number or an array of numbers, not the state of a generator.

    Examples
    --------
    >>> is_number(2), is_number(np.zeros(3)), is_number("2")
    (True, True, False)
    """
    return np.asarray(value).dtype.kind in "biuf"


def _computed(program: Program, instruction: AnyInstruction, values: Sequence[Any]) -> Sequence[Any]:
    """Return the results of an instruction over single numbers, for which no array is made."""
    kinds = [program.registers[number].type for number in (*instruction.inputs, *instruction.outputs)]
    single = all(getattr(kind, "ndim", None) == 0 for kind in kinds)
    if not single or not isinstance(instruction, Instruction) or instruction.op.facts.effect:
        raise NotImplementedError  # it is not known then
    with np.errstate(all="ignore"):
        return instruction.op.perform([np.asarray(values[number]) for number in instruction.inputs])
