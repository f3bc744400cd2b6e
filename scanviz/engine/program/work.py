"""The work of instructions for the shapes of a plan: floating-point operations, bytes, and an estimate of step times.

Bytes are those that have to move whatever the code is: every array that an instruction reads counts once, every array that it
writes once.  Views and single numbers move nothing.  Nor do values that are never in memory: results inside of a group that is
done as one, sizes that follow from the shapes.  An axis along which an array is repeated (stride 0) counts as one element.  An
index reads what it picks.  An assignment into an array that nothing else needs writes its part alone.

Operations are those of the declarations (:mod:`scanviz.engine.cost`), where floating-point numbers are taken or given.

Limits: loops and branches inside, operations whose shape depends on values, and temporaries of an operation are not counted; an
array from outside of a step counts with all its elements.

Times follow from these counts alone, so they are the same everywhere and always; they are right enough to know whether steps take a
microsecond or ten.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Literal

import numpy as np
from msgspec import Struct

from scanviz.engine.cost import NUMPY_RATES, TierRates, Work, weights_in
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.assign import ASSIGN
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.index import INDEX
from scanviz.engine.program.instructions import (
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
    dtype_of,
    is_scalar,
)
from scanviz.engine.program.plan import Plan, Row, Size, View, Where
from scanviz.engine.program.plan.arena import inner_steps
from scanviz.engine.program.shapes import ConcreteShape
from scanviz.engine.sizes.dims import Dims

_NO_MEMORY = (Where.LOCAL, Where.NUMBER)
UNTIL_STEPS = 1_000  # that a loop with a stop condition usually takes at most


def shares_of(program: Program, plan: Plan, group: Sequence[int]) -> dict[int, float]:
    """Return each instruction's share of the time of instructions that run as one, by its work."""
    work = work_of(program, plan) if len(group) > 1 else [None] * len(program.instructions)
    weights = weights_in(group, work)
    total = sum(weights.values())
    return {index: weight / total for index, weight in weights.items()}


def work_of(
    program: Program, plan: Plan, counts: Literal["floating", "all"] = "floating"
) -> list[Work | None]:
    """Return the work of each instruction, or None if unknown.

    Parameters
    ----------
    program : Program
        The step of a loop, or a function's.
    plan : Plan
        Of it, for the shapes in question.
    counts : str
        Counted operations: of floating-point numbers alone, or of all numbers, since operations of integers take as long.

    Examples
    --------
    >>> import numpy as np
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x, w = T.matrix("x"), T.matrix("w")
    >>> h, _ = scanviz.scan(lambda x_t, h: T.tanh(T.dot(w, h) + x_t), x, T.zeros((8,)))
    >>> f = scanviz.function([x, w], h, mode="numpy")
    >>> _ = f(np.ones((5, 8)), np.ones((8, 8)))
    >>> [loop] = [held for held in f.program.instructions if hasattr(held, "body")]
    >>> [work.flops for work in work_of(loop.body, f.memory_plans()[loop.key])]
    [128, 8, 80]
    """
    walk = _Walk(program, plan, counts)
    found: list[Work | None] = [None] * len(program.instructions)
    for group in plan.groups:
        walk.in_group = set()
        for index in group:
            instruction = program.instructions[index]
            if isinstance(instruction, Instruction):
                found[index] = walk.work(index, instruction)
    return found


def step_ns(program: Program, plan: Plan, rates: TierRates = NUMPY_RATES, loops: bool = True) -> float:
    """Return about how many nanoseconds a step takes, by its plan; without ``loops`` those inside only by being there.

    Examples
    --------
    >>> import numpy as np
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.matrix("x")
    >>> h, _ = scanviz.scan(lambda x_t, h: T.tanh(h + x_t), x, T.zeros((64,)))
    >>> f = scanviz.function([x], h, mode="numpy")
    >>> _ = f(np.ones((5, 64)))
    >>> [loop] = [held for held in f.program.instructions if hasattr(held, "body")]
    >>> plan = f.memory_plans()[loop.key]
    >>> 500 < step_ns(loop.body, plan) < 2000
    True
    """
    found = rates.step + rates.row * _array_slots(program, plan)
    work = work_of(program, plan, "all")
    for index, instruction in enumerate(program.instructions):
        if index in plan.idle or instruction.op.facts.size == "is":
            continue
        inner, done = plan.inner.get(index, ()), work[index]
        if isinstance(instruction, LoopInstruction):
            found += rates.unknown
            if loops and inner and (instruction.until is None or rates.all_steps):
                steps = max(inner_steps(program, plan, instruction) or 0, 0)
                steps = steps if instruction.until is None else min(steps, UNTIL_STEPS)
                found += steps * step_ns(instruction.body, inner[0], rates)
        elif isinstance(instruction, BranchInstruction):
            sides = zip(instruction.sides, inner, strict=bool(inner))
            found += max(
                (step_ns(side, of_side, rates) for (side, _), of_side in sides), default=rates.unknown
            )
        elif done is None:
            found += rates.unknown
        else:
            found += rates.of(done) + (rates.number if _is_quick(program, instruction) else rates.call)
            found += _beside(instruction, plan) if rates is NUMPY_RATES else 0.0
    return found


def _array_slots(program: Program, plan: Plan) -> int:
    """Return how many slots of a loop have arrays for rows."""
    rows = ((k, place.location) for k, place in enumerate(plan.places) if isinstance(place.location, Row))
    return len({row.slot for k, row in rows if not is_scalar(program, k)})


def _is_quick(program: Program, instruction: Instruction) -> bool:
    """Return whether an operation is one of single numbers for which Python has an operator; else NumPy's function is called."""
    declaration = instruction.op.declaration
    called = (
        isinstance(declaration, ElementwiseDeclaration)
        and declaration.symbol is None
        and isinstance(declaration.function, np.ufunc)
    )
    numbers = (*instruction.inputs, *instruction.outputs)
    return instruction.op.facts.cheap and not called and all(is_scalar(program, number) for number in numbers)


LINE_FLOPS = 80  # operations that take as long as NumPy takes to go on to the next run of elements


def _beside(instruction: Instruction, plan: Plan) -> float:
    """Return NumPy's further time: for calls of its own, short runs of elements, and elements picked or put one by one."""
    facts = instruction.op.facts
    picked = [prod(plan.places[number].shape or ()) for number in instruction.inputs[1:]]
    further = facts.one_by_one * max(picked, default=0) + LINE_FLOPS * _lines(instruction, plan)
    return NUMPY_RATES.call * (facts.calls - 1) + NUMPY_RATES.flop * further


def _lines(instruction: Instruction, plan: Plan) -> int:
    """Return the number of runs in which NumPy visits unevenly laid out operands; 0 for one run.

    Some operands are repeated along the last axes, or reduced, and others are not: short axes cost more than their elements.
    """
    declaration, shapes = instruction.op.declaration, [plan.places[n].shape for n in instruction.inputs]
    gone = getattr(instruction.op.parameters, "axes", None) if declaration.family == "reduce" else None
    if gone is not None:
        whole = shapes[0] or ()
        repeated: list[tuple[bool, ...]] = [(axis in gone,) for axis in range(len(whole))]
    elif isinstance(declaration, ElementwiseDeclaration) and len(shapes) > 1:
        whole = plan.places[instruction.outputs[0]].shape or ()
        aligned = [(1,) * (len(whole) - len(shape)) + shape for shape in shapes if shape]
        repeated = [tuple(shape[axis] == 1 for shape in aligned) for axis in range(len(whole))]
    else:
        return 0
    evenly = 1
    for size, how in zip(reversed(whole), reversed(repeated), strict=True):
        if how != repeated[-1] and size > 1:
            return prod(whole) // max(1, evenly)
        evenly *= size
    return 0


class _Walk:
    """Goes through the instructions of a program in the order of its groups.

    Attributes
    ----------
    in_group : set of int
        Registers that the group has read or made: they are at hand.
    """

    def __init__(self, program: Program, plan: Plan, counts: Literal["floating", "all"]) -> None:
        self.program, self.plan, self.counts = program, plan, counts
        self.in_group: set[int] = set()

    def work(self, index: int, instruction: Instruction) -> Work | None:
        """Return the work of an instruction."""
        moves = self._bytes(index, instruction)
        flops = self._flops(instruction)
        self.in_group.update(instruction.inputs, instruction.outputs)
        if moves is None or flops is None:
            return None
        return Work(flops, flops if instruction.op.facts.product else 0, moves)

    # floating-point operations

    def _flops(self, instruction: Instruction) -> int | None:
        rule = instruction.op.facts.flops
        numbers = (*instruction.inputs, *instruction.outputs)
        if rule is None or not any(self._counts(number) for number in numbers):
            return 0
        shapes = [self._shape(number) for number in numbers]
        known = [shape for shape in shapes if shape is not None]
        if len(known) < len(shapes):
            return None
        return int(rule(instruction.op, _Shapes(known, len(instruction.inputs))))

    def _counts(self, number: int) -> bool:
        kind = self.program.registers[number].type
        return isinstance(kind, TensorType) and (self.counts == "all" or np.dtype(kind.dtype).kind in "fc")

    # bytes

    def _bytes(self, index: int, instruction: Instruction) -> int | None:
        if index in self.plan.idle or self._looks(instruction):
            return 0
        if instruction.op.declaration is INDEX:
            return self._picked(instruction)
        if instruction.op.declaration is ASSIGN and self._in_place(instruction):
            return self._assigned(instruction)
        if instruction.op.declaration.views is not None:
            return None  # where it is no other look for sure, NumPy decides when it runs
        return self._sum(
            [self._read(number) for number in dict.fromkeys(instruction.inputs)] + self._made(instruction)
        )

    def _looks(self, instruction: Instruction) -> bool:
        """Return whether all results are views of an input, or sizes."""
        facts = instruction.op.facts
        free = facts.always_view or (facts.weight == "free" and instruction.op.declaration.views is None)
        places = [self.plan.places[number].location for number in instruction.outputs]
        return free or all(isinstance(place, View | Size) for place in places)

    def _picked(self, instruction: Instruction) -> int | None:
        """Return the bytes moved by an index that is no view: it reads and writes the picked elements."""
        made = self._made(instruction)
        read = [
            None if self._shape(number) is None else self._whole(number) for number in instruction.outputs
        ]
        return self._sum([*read, *made, *(self._read(number) for number in instruction.inputs[1:])])

    def _in_place(self, instruction: Instruction) -> bool:
        return self.plan.places[instruction.outputs[0]].over == instruction.inputs[0]

    def _assigned(self, instruction: Instruction) -> int | None:
        """Return the bytes that an assignment moves into an array that it changes: the part is written, or read and written."""
        array, value, *indices = instruction.inputs
        parameters = instruction.op.parameters
        assert INDEX.shapes is not None
        shapes = [self._shape(number) for number in (array, *indices)]
        if any(shape is None for shape in shapes):
            return None
        dims = Dims([shape or () for shape in shapes], lambda k: self._size((array, *indices)[k]))
        (part,) = INDEX.shapes(Op(INDEX, parameters.pattern), dims)
        if any(size is None for size in part):
            return None
        size = prod(size or 0 for size in part) * self._itemsize(array)
        return self._sum([size * (2 if parameters.increment else 1), *map(self._read, (value, *indices))])

    def _made(self, instruction: Instruction) -> list[int | None]:
        return [self._in_memory(number) for number in instruction.outputs]

    def _read(self, number: int) -> int | None:
        return 0 if number in self.in_group else self._in_memory(number)

    def _in_memory(self, number: int) -> int | None:
        """Return the bytes of an array that lie apart in memory, or None if unknown."""
        place = self.plan.places[number]
        if (
            is_scalar(self.program, number)
            or place.location in _NO_MEMORY
            or isinstance(place.location, Size)
        ):
            return 0
        if self._shape(number) is None:
            return None
        return self._whole(number)

    def _whole(self, number: int) -> int:
        shape, strides = self._shape(number) or (), self.plan.places[number].strides
        if strides is not None and number not in self.program.constants:
            shape = tuple(
                size if stride or not size else 1 for size, stride in zip(shape, strides, strict=True)
            )
        return 0 if is_scalar(self.program, number) else prod(shape) * self._itemsize(number)

    def _shape(self, number: int) -> ConcreteShape:
        constant = self.program.constants.get(number)
        return self.plan.places[number].shape if constant is None else tuple(constant.shape)

    def _size(self, number: int) -> int | None:
        """Return the whole number in a register, or None if unknown."""
        location, constant = self.plan.places[number].location, self.program.constants.get(number)
        if constant is not None:
            return int(constant)
        return location.value if isinstance(location, Size) else None

    def _itemsize(self, number: int) -> int:
        return np.dtype(dtype_of(self.program, number)).itemsize

    @staticmethod
    def _sum(parts: Sequence[int | None]) -> int | None:
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None


class _Shapes(Struct, frozen=True):
    """Sizes of one application, as declarations ask for them: shapes of its inputs, then of its outputs."""

    shapes: Sequence[tuple[int, ...]]
    inputs: int

    def given(self, position: int) -> int:
        """Return the number of elements of an input."""
        return prod(self.shapes[position])

    def made(self) -> int:
        """Return the number of elements of the first output."""
        return prod(self.shapes[self.inputs])

    def size(self, position: int, axis: int) -> int:
        """Return the size of an input along an axis, or 1 without that axis."""
        shape = self.shapes[position]
        return shape[axis] if shape else 1
