"""Facts about a Program before a call: shapes, numbers that follow from inputs, and arguments of earlier calls.

A plan knows shapes alone, since it serves calls with any numbers.  The memory of a call also depends on numbers: on numbers of
steps, and on single numbers that operations without an effect compute of sizes and numbers, such as the rounded root of a
length.  So do the bytes of arrays that steps make anew: the ledger of a run and the forecast of a call count them alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from scanviz.engine.cost import same_work
from scanviz.engine.graph.nodes import Array
from scanviz.engine.program.instructions import (
    AnyInstruction,
    Instruction,
    LoopInstruction,
    Program,
    dtype_of,
)
from scanviz.engine.program.plan import Emits, Plan, Where, plan, single
from scanviz.engine.program.plan.location import packed
from scanviz.engine.program.shapes import ConcreteShape, KnownValues, Partial, complete, partial_shapes

if TYPE_CHECKING:
    from scanviz.engine.cost import Work


class Known(Struct, frozen=True):
    """Known shapes and numbers of a program's registers.

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
        """Return the shape of a register, or None if a size is unknown."""
        return complete(self.shapes[number])

    def inside(self, program: Program, pairs: Mapping[int, int], shapes: Sequence[Partial]) -> Known:
        """Return the same facts for an inner program; ``pairs`` maps its inputs to registers around it."""
        values = {inner: self.numbers[outer] for inner, outer in pairs.items() if outer in self.numbers}
        return known_of(program, shapes, values, self.all_steps)


def known_of(
    program: Program, shapes: Sequence[Partial | None], values: Mapping[int, Any], all_steps: bool = False
) -> Known:
    """Return the known shapes and numbers of a program's registers.

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
    """Return the known shapes and numbers of a step, from its inputs' shapes and the values of its non-sequences."""
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
    """Compute the results of an instruction on single numbers without making arrays."""
    kinds = [program.registers[number].type for number in (*instruction.inputs, *instruction.outputs)]
    single = all(getattr(kind, "ndim", None) == 0 for kind in kinds)
    if not single or not isinstance(instruction, Instruction) or instruction.op.facts.effect:
        raise NotImplementedError  # it is not known then
    with np.errstate(all="ignore"):
        return instruction.op.perform([np.asarray(values[number]) for number in instruction.inputs])


def planned_call(
    program: Program,
    shapes: Sequence[ConcreteShape],
    values: Mapping[int, Array],
    emits: Emits,
    all_steps: bool = False,
) -> tuple[Program, Plan]:
    """Return a Program with known whole numbers as constants, and its plan for C-ordered arrays of these shapes.

    With ``all_steps``, loops that may end early are taken to do all their steps, and numbers that follow from that are known.
    """
    numbers = known_of(program, shapes, values, all_steps).numbers
    whole = {number: value for number, value in numbers.items() if value.dtype.kind in "iu"}
    known = replace(program, constants={**program.constants, **whole})
    strides = [c_order(known, number, shape) for number, shape in zip(program.inputs, shapes, strict=True)]
    return known, plan(known, shapes, single, emits, strides)


def c_order(program: Program, number: int, shape: ConcreteShape) -> tuple[int, ...] | None:
    """Return the strides of a register's array in C order, or None if its shape is unknown."""
    return None if shape is None else packed(shape, itemsize_of(program, number))


def itemsize_of(program: Program, number: int) -> int:
    """Return the bytes of an element of a register's array."""
    return np.dtype(dtype_of(program, number)).itemsize


def fresh_registers(plan: Plan) -> list[int]:
    """Return the registers whose arrays a step makes anew."""
    return [
        number
        for number, place in enumerate(plan.places)
        if place.location is Where.FRESH and place.made >= 0
    ]


def fresh_bytes(program: Program, plan: Plan, known: Known | None = None) -> int:
    """Return the bytes of the new arrays of a step, with the largest counted twice.

    An array is let go when the next step makes its own, so the two are there for a moment together.

    Parameters
    ----------
    program : Program
        The step's.
    plan : Plan
        Of the step.
    known : Known, optional
        Shapes and sizes that follow from the values of numbers; without them, an array of unknown shape counts as 0 bytes.
    """
    sizes = []
    for number in fresh_registers(plan):
        shape = plan.places[number].shape
        if shape is None and known is not None:
            shape = known.shape(number)
        if shape is not None:
            sizes.append(prod(shape) * itemsize_of(program, number))
    return sum(sizes) + max(sizes, default=0)


Given = tuple[list[ConcreteShape], dict[int, Array]]  # shapes of inputs, and those that are one whole number
MOST_OTHERS = (
    4  # calls of other shapes that are known: enough to see which operations do another amount in some
)


class CallMet(Struct):
    """The shapes and whole numbers of a program's latest weighed calls, without the arrays.

    Attributes
    ----------
    program : Program
        A function's.
    emits : Emits
        Abilities of its tier with memory.
    shapes : list of tuple of int
        Of its inputs; None before any call.
    values : dict
        Inputs that are one whole number, by register.
    others : list of tuple
        The same of some calls before that were given others, since :meth:`begin`.
    is_before : bool
        Whether the last of these calls was before that.
    """

    program: Program
    emits: Emits
    shapes: list[ConcreteShape] | None = None
    values: dict[int, Array] = field(default_factory=dict)
    others: list[Given] = field(default_factory=list)
    is_before: bool = False

    def begin(self) -> None:
        """Forget earlier calls: later times are not reported together with theirs."""
        self.others, self.is_before = [], True

    def met(self, inputs: Sequence[Any]) -> None:
        """Record the shapes and whole numbers of a call."""
        before = None if self.shapes is None or self.is_before else (self.shapes, self.values)
        self.is_before = False
        self.shapes = [tuple(np.shape(value)) for value in inputs]
        whole = (
            (number, value)
            for number, value in zip(self.program.inputs, inputs, strict=True)
            if np.shape(value) == () and getattr(value, "dtype", np.dtype(object)).kind in "iu"
        )
        self.values = {number: np.array(int(value)) for number, value in whole}
        if before is None or before == (self.shapes, self.values) or before in self.others:
            return
        if len(self.others) < MOST_OTHERS:
            self.others.append(before)

    def work(self) -> list[Work | None]:
        """Return the work of instructions outside of loops, or None if it is unknown or differs between the calls.

        Times of instructions are sums over all calls; the work of one call does not match them.
        """
        if self.shapes is None:
            return [None] * len(self.program.instructions)
        return same_work(*(self._work_in(*given) for given in ((self.shapes, self.values), *self.others)))

    def _work_in(self, shapes: list[ConcreteShape], values: dict[int, Array]) -> list[Work | None]:
        """Return the work of each instruction in a call."""
        from scanviz.engine.program.work import work_of

        return work_of(*planned_call(self.program, shapes, values, self.emits))
