"""Divide the axes of a loop's step into those that no operation mixes, and those inside a row.

Along the first, parts of the step are independent: each gets a thread, or a block of threads where the step has other axes too.
Axes of registers that go along with one another, by :attr:`~scanviz.engine.graph.facts.Facts.axes`, are one axis of the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scanviz.engine.backends.cupy.kernel_draws import is_draw, parameters_of
from scanviz.engine.backends.cupy.kernel_support import How, NotFusedError, how_of, why_not
from scanviz.engine.graph import axes
from scanviz.engine.graph.types import TensorType
from scanviz.engine.program.instructions import Instruction, LoopInstruction, Program
from scanviz.engine.program.plan import Plan
from scanviz.engine.program.plan.location import Size

Axis = tuple[int, int]  # a register, and one of its axes
Shape = tuple[int, ...]


class Elements(NamedTuple):
    """The axes of a step.

    Attributes
    ----------
    sizes : tuple of int
        Size of each axis of the kernel: those that nothing mixes.
    along : dict
        Register → for each of its axes that of the kernel; None for an axis of size 1, -1 for one inside a row.
    needed : tuple of int
        The instructions that the results need, by index.
    """

    sizes: Shape
    along: dict[int, tuple[int | None, ...]]
    needed: tuple[int, ...]


INSIDE = -1


class Registers:
    """The registers of a step, as they lie along the axes of its kernel.

    Parameters
    ----------
    body : Program
        The step.
    plan : Plan
        Has the shapes of its registers.
    elements : Elements
        The axes of the kernel.
    """

    def __init__(self, body: Program, plan: Plan, elements: Elements) -> None:
        self.body, self.plan, self.elements = body, plan, elements

    def shape(self, register: int) -> Shape:
        """Return the shape of a register."""
        return tuple(size or 0 for size in self.plan.places[register].shape or ())

    def along(self, register: int) -> tuple[int | None, ...]:
        """Return the kernel's axis of each axis of a register; one that nothing needs lies like any."""
        return self.elements.along.get(register, (None,) * len(self.shape(register)))

    def inside(self, register: int) -> Shape:
        """Return the sizes of the axes inside a row."""
        pairs = zip(self.shape(register), self.along(register), strict=True)
        return tuple(size for size, along in pairs if along == INSIDE)

    def missing(self, register: int) -> list[int]:
        """Return the kernel's axes that a register lacks."""
        return [axis for axis in range(len(self.elements.sizes)) if axis not in self.along(register)]


def elements_of(loop: LoopInstruction, plan: Plan) -> Elements:
    """Return the axes of a loop's step.

    Raises
    ------
    NotFusedError
        If the step has an operation without code in a kernel, or shapes that depend on values.
    """
    body = loop.body
    needed = _needed(body, plan)
    classes = _Classes(plan)
    numbers = {body.instructions[index].outputs[-1] for index in needed}
    for index in needed:
        instruction = body.instructions[index]
        assert isinstance(instruction, Instruction)
        numbers.update(values_of(instruction))
        _join(classes, instruction)
    numbers.update(body.outputs)
    kept = []  # registers of what is carried from step to step
    for state in loop.states:
        rows = [number for _, number in (*state.reads, *state.writes)]
        numbers.update(rows)
        kept.append(rows[-1])
        for number in rows[1:]:
            classes.join_all(rows[0], number)
    for carry in loop.carries:
        if isinstance(body.registers[carry.read].type, TensorType):
            numbers.update((carry.read, carry.write))
            kept.append(carry.write)
            classes.join_all(carry.read, carry.write)
    known = sorted(number for number in numbers if isinstance(body.registers[number].type, TensorType))
    kept = kept or [slot.inner for slot in loop.step_outputs if slot.result is not None]
    return classes.elements(known, kept, needed)


def _needed(body: Program, plan: Plan) -> tuple[int, ...]:
    """Return the instructions that compute the step's results; sizes that shapes give are not computed."""
    wanted = {number for number in body.outputs if isinstance(body.registers[number].type, TensorType)}
    found = []
    for index in reversed(range(len(body.instructions))):
        instruction = body.instructions[index]
        # a draw may fail even if nothing reads its numbers
        has_effect = not isinstance(instruction, Instruction) or instruction.op.facts.effect
        if not (has_effect or is_draw(instruction)) and not wanted.intersection(instruction.outputs):
            continue
        if not isinstance(instruction, Instruction):
            raise NotFusedError("there is a loop or an ifelse in the step")
        if isinstance(plan.places[instruction.outputs[0]].location, Size):
            continue
        why = why_not(instruction.op)
        if why is not None:
            raise NotFusedError(why)
        found.append(index)
        wanted.update(values_of(instruction))
    return tuple(reversed(found))


def values_of(instruction: Instruction) -> Sequence[int]:
    """Return the inputs whose elements an instruction reads: no sizes, no random states."""
    if is_draw(instruction):
        return parameters_of(instruction)
    of_first = how_of(instruction.op) in (How.MOVED, How.FOLDED)
    return instruction.inputs[:1] if of_first else instruction.inputs


def _join(classes: _Classes, instruction: Instruction) -> None:
    """Join the axes of inputs with those of the result, and note those that are mixed."""
    values, result = values_of(instruction), instruction.outputs[-1]
    given = [classes.shape(number) for number in values]
    rule = axes.elementwise if is_draw(instruction) else instruction.op.facts.axes
    kept: set[tuple[int, int]] = set()
    found = () if rule is None else rule(instruction.op, given, [classes.shape(result)])[0]
    for axis, along in enumerate(found):
        for place, other in along.items():
            if place < len(values):
                classes.join((values[place], other), (result, axis))
                kept.add((place, other))
        if not along and how_of(instruction.op) in (How.INDEXED, How.JOINED, How.SOFTMAX):
            classes.mix((result, axis))
    for place, shape in enumerate(given):
        for axis in range(len(shape)):
            if (place, axis) not in kept:
                if rule is axes.elementwise and shape[axis] != 1:
                    raise NotFusedError("operands do not broadcast together")  # an error of single calls
                classes.mix((values[place], axis))


class _Classes:
    """Axes that go along with one another, as sets that are joined."""

    def __init__(self, plan: Plan) -> None:
        self._places = plan.places
        self._parents: dict[Axis, Axis] = {}
        self._mixed: set[Axis] = set()

    def shape(self, number: int) -> Shape:
        """Return the shape of a register."""
        shape = self._places[number].shape
        if shape is None or None in shape:
            raise NotFusedError("the shape of a value depends on other values")
        return shape

    def join(self, one: Axis, other: Axis) -> None:
        """Put two axes into one set."""
        first, second = self._root(one), self._root(other)
        if first != second:
            self._parents[second] = first
            if second in self._mixed:
                self._mixed.add(first)

    def mix(self, axis: Axis) -> None:
        """Note that elements along an axis are mixed."""
        self._mixed.add(self._root(axis))

    def join_all(self, one: int, other: int) -> None:
        """Join the axes of two registers of one shape."""
        if self.shape(one) != self.shape(other):
            raise NotFusedError("a state changes its shape")
        for axis in range(len(self.shape(one))):
            self.join((one, axis), (other, axis))

    def _root(self, axis: Axis) -> Axis:
        while axis in self._parents:
            axis = self._parents[axis]
        return axis

    def elements(self, numbers: Sequence[int], kept: Sequence[int], needed: tuple[int, ...]) -> Elements:
        """Return the axes of the kernel: those that nothing mixes, of the carried register with the most."""
        arrays = [number for number in kept if self._own(number)]
        widest = max(arrays, key=lambda number: len(self._own(number)), default=None)
        order = [] if widest is None else self._own(widest)
        for number in arrays:
            self._fit(number, order)
        for number in numbers:
            own = self._own(number)
            # a matrix and its transpose, or an outer product of two states
            self._mixed.update(root for root in own if own.count(root) > 1)
        order = [root for root in map(self._root, order) if root not in self._mixed]
        # an axis that a carried array lacks would be done again and again
        order = [root for root in order if all(root in self._own(number) for number in arrays)]
        along = {number: tuple(self._along(number, order)) for number in numbers}
        return Elements(tuple(self.shape(number)[axis] for number, axis in order), along, needed)

    def _own(self, number: int) -> list[Axis]:
        """Return the sets of a register's axes, but for those of size 1."""
        return [self._root((number, axis)) for axis, size in enumerate(self.shape(number)) if size != 1]

    def _along(self, number: int, order: Sequence[Axis]) -> list[int | None]:
        found: list[int | None] = []
        for axis, size in enumerate(self.shape(number)):
            root = self._root((number, axis))
            found.append(None if size == 1 else order.index(root) if root in order else INSIDE)
        return found

    def _fit(self, number: int, order: Sequence[Axis]) -> None:
        """Join the axes of a register that meets no other with axes of the kernel of their sizes."""
        for axis in self._own(number):
            roots = [self._root(one) for one in order]
            if axis in roots:
                continue
            size = self.shape(axis[0])[axis[1]]
            taken = set(self._own(number))
            free = [root for root in roots if root not in taken and self.shape(root[0])[root[1]] == size]
            if free:
                self.join(free[-1], axis)
