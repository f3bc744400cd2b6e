"""Axes that a step of a loop never mixes: row r of every result depends on row r of every state and sequence alone.

Such rows can be computed apart from one another: in strips, by threads over a batch, in one kernel on a GPU.  Axes of registers
that an operation goes along (:mod:`scanviz.engine.graph.axes`) are one *class*, as are those of a state that is read and written.
A class is kept unless an instruction mixes one of its axes, or a register has two of them.  What is computed of non-sequences alone
is the same in every step and may be read as a whole, so it mixes nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from msgspec import Struct

from scanviz.engine.program.instructions import (
    AnyInstruction,
    BranchInstruction,
    CarrySlot,
    Instruction,
    LoopInstruction,
    Program,
    StateSlot,
    rank_of,
)
from scanviz.engine.program.shapes import ConcreteShape, Partial, partial_shapes, step_inputs
from scanviz.engine.program.slots import kept, passed


class StepKind(Enum):
    """The way in which a step mixes elements.

    ``ELEMENTWISE``: along no axis of what goes in or out.  ``ROWS``: never along some axis that every state has.  ``MATRIX``: along
    all axes of some state, by products of matrices alone.  ``OTHER``: in other ways.
    """

    ELEMENTWISE = "elementwise"
    ROWS = "row-local"
    MATRIX = "matrix recurrence"
    OTHER = "other"


class StepAxes(Struct, frozen=True):
    """The axes that a step keeps, and the instructions that mix the others.

    Attributes
    ----------
    kind : StepKind
        The way in which the step mixes elements.
    kept : tuple of tuple of Axis
        Axes of what goes into the step and out of it, those that belong together in one tuple: row r of all of them depends on row
        r of all of them alone.  A kept axis of every state comes first.
    mixings : tuple of Mixing
        The instructions that mix other axes of the step's inputs, in the order of the step.
    """

    kind: StepKind
    kept: tuple[tuple[Axis, ...], ...]
    mixings: tuple[Mixing, ...]


def step_axes(loop: LoopInstruction, shapes: Sequence[ConcreteShape] | None = None) -> StepAxes:
    """Return which axes a loop's step never mixes.

    Parameters
    ----------
    loop : LoopInstruction
        The loop.
    shapes : sequence, optional
        Of the step's inputs; what follows from them is exact.  Without them sizes that are not known are taken for equal where they
        meet: an axis that is broadcast only when it is run would be another.

    Examples
    --------
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> from scanviz.engine.program.instructions import loops
    >>> x, w = T.tensor3("x"), T.matrix("w")
    >>> h, _ = scanviz.scan(lambda x_t, h, w: T.tanh(x_t + T.dot(h, w)), x, T.zeros((5, 3)), w)
    >>> (loop,) = loops(scanviz.function([x, w], h).program)
    >>> found = step_axes(loop)
    >>> found.kind.value, [(loop.body.registers[axis.register].name, axis.axis) for axis in found.kept[0][:2]]
    ('row-local', [('x[t]', 0), ('h[t-1]', 0)])
    """
    body = loop.body
    known = partial_shapes(body, shapes or [None] * len(body.inputs))
    classes = AxisClasses(exact=shapes is not None)
    given = [slot.inner for slot in loop.sequences] + [carry.read for carry in loop.carries]
    classes.step(loop, known, [*given, *(number for state in loop.states for _, number in state.reads)])

    def axes(number: int) -> list[Axis]:
        several = [k for k in range(rank_of(body, number)) if known[number][k] != 1]
        return [Axis(number, k) for k in several]  # axes of size 1 are not listed

    around = [axis for number in _around(loop) for axis in axes(number)]
    states = [axes(state.writes[0][1]) for state in loop.states]
    kept: dict[object, list[Axis]] = {}
    for axis in around:
        if not classes.mixings(body, axis):
            kept.setdefault(classes.root(body, axis), []).append(axis)
    of_all = [group for group in kept.values() if _covers(group, states if any(states) else [around])]
    found = [*of_all, *(group for group in kept.values() if group not in of_all)]
    mixed = {mixing for axis in around for mixing in classes.mixings(body, axis)}
    of_states = [mixing for state in states for axis in state for mixing in classes.mixings(body, axis)]
    return StepAxes(
        _kind(bool(mixed), bool(of_all), of_states),
        tuple(map(tuple, found)),
        tuple(sorted(mixed, key=lambda mixing: mixing.order)),
    )


def _kind(mixed: bool, rows: bool, of_states: Sequence[Mixing]) -> StepKind:
    if not mixed:
        return StepKind.ELEMENTWISE
    if rows:
        return StepKind.ROWS
    products = of_states and all(state.instruction.op.facts.product for state in of_states)
    return StepKind.MATRIX if products else StepKind.OTHER


def _covers(axes: Sequence[Axis], states: Sequence[Sequence[Axis]]) -> bool:
    """Return whether every state that has axes has one of some axes."""
    return all(not state or not set(axes).isdisjoint(state) for state in states)


def _around(loop: LoopInstruction) -> Iterator[int]:
    """Iterate over the registers that a step reads from slots and writes to them, non-sequences apart."""
    found = [slot.inner for slot in loop.sequences]
    found += [number for state in loop.states for _, number in (*state.reads, *state.writes)]
    return iter(dict.fromkeys([*found, *(slot.inner for slot in loop.step_outputs)]))


class Axis(NamedTuple):
    """An axis of a register of a step."""

    register: int
    axis: int


class Mixing(NamedTuple):
    """An instruction that mixes elements along an axis of an input.

    Attributes
    ----------
    order : int
        Mixings are numbered in the order of the step.
    program : Program
        The step, or a program inside it.
    instruction : AnyInstruction
        The mixing instruction.
    place : Axis
        The mixed axis, of a register of that program.
    twice : int or None
        Another axis of that register with the same rows: both come from one axis of what went into the step.
    """

    order: int
    program: Program
    instruction: AnyInstruction
    place: Axis
    twice: int | None = None


_Key = tuple[int, int, int]  # id of a program, register, axis


class AxisClasses:
    """Axes that belong together, found by going through programs once.

    Parameters
    ----------
    exact : bool
        Whether an unknown size differs from all others; else it is taken for equal to what it meets.
    """

    def __init__(self, exact: bool) -> None:
        self._exact = exact
        self._apart = itertools.count(-1, -1)  # stand for sizes that are not known
        self._parents: dict[_Key, _Key] = {}
        self._varying: dict[tuple[int, int], tuple[Program, int, AnyInstruction | None]] = {}
        self._marks: list[tuple[_Key, Mixing]] = []
        self._found: dict[_Key, list[Mixing]] | None = None

    def root(self, program: Program, axis: Axis) -> _Key:
        """Return the key of an axis' class."""
        return self._root((id(program), *axis))

    def mixings(self, program: Program, axis: Axis) -> Sequence[Mixing]:
        """Return the instructions that mix the class of an axis; none if it is kept."""
        return self._by_class().get(self.root(program, axis), ())

    def step(self, loop: LoopInstruction, shapes: Sequence[Partial], varying: Iterable[int]) -> None:
        """Visit a step, given its inputs that vary from step to step or with the program around the loop."""
        body = loop.body
        for number in varying:
            self._vary(body, number, None)
        self._program(body, shapes)
        for state in loop.states:
            numbers = [number for _, number in (*state.reads, *state.writes)]
            for number in numbers[1:]:  # rows of one array, also where a step gives the same every time
                for axis in range(rank_of(body, number)):
                    self._unite((id(body), numbers[0], axis), (id(body), number, axis))
        for carry in loop.carries:
            self._join(body, carry.read, body, carry.write)

    def _program(self, program: Program, shapes: Sequence[Partial]) -> None:
        if self._exact:
            shapes = [
                tuple(next(self._apart) if size is None else size for size in shape) for shape in shapes
            ]
        for instruction in program.instructions:
            if not any(self._varies(program, number) for number in instruction.inputs):
                continue
            if isinstance(instruction, Instruction) and instruction.op.facts.size == "is":
                continue  # a size is the same whatever the elements are
            for number in instruction.outputs:
                self._vary(program, number, instruction)
            match instruction:
                case Instruction():
                    self._operation(program, instruction, shapes)
                case LoopInstruction():
                    self._loop(program, instruction, shapes)
                case BranchInstruction():
                    self._branch(program, instruction, shapes)

    def _operation(self, program: Program, instruction: Instruction, shapes: Sequence[Partial]) -> None:
        rule = instruction.op.facts.axes
        given, made = ([shapes[k] for k in numbers] for numbers in (instruction.inputs, instruction.outputs))
        along = rule(instruction.op, given, made) if rule is not None else [()] * len(made)
        for result, axes in zip(instruction.outputs, along, strict=True):
            for k, number in enumerate(instruction.inputs):
                for axis in range(rank_of(program, number)) if self._varies(program, number) else ():
                    places = [place for place, which in enumerate(axes) if which.get(k) == axis]
                    for place in places:
                        self._unite((id(program), number, axis), (id(program), result, place))
                    if not places and shapes[number][axis] != 1:
                        self._mix(program, instruction, Axis(number, axis))

    def _loop(self, program: Program, loop: LoopInstruction, shapes: Sequence[Partial]) -> None:
        body, given = loop.body, passed(loop)
        varying = [
            entry.inner
            for entry in given
            if isinstance(entry.slot, StateSlot | CarrySlot) or self._varies(program, entry.outer)
        ]
        self.step(loop, partial_shapes(body, step_inputs(loop, _known(shapes))), varying)
        for entry in given:
            self._join(program, entry.outer, body, entry.inner, entry.rows)
            if entry.rows and self._varies(program, entry.outer):
                self._mix(program, loop, Axis(entry.outer, 0))
        for _, inner, result, rows in kept(loop):
            if result is not None:
                self._join(program, result, body, inner, rows)

    def _branch(self, program: Program, branch: BranchInstruction, shapes: Sequence[Partial]) -> None:
        known = _known(shapes)
        for side, reads in branch.sides:
            for inner, outer in zip(side.inputs, reads, strict=True):
                if self._varies(program, outer):
                    self._vary(side, inner, None)
                    self._join(program, outer, side, inner)
            self._program(side, partial_shapes(side, [known[number] for number in reads]))
            for inner, outer in zip(side.outputs, branch.outputs, strict=True):
                self._join(program, outer, side, inner)

    def _vary(self, program: Program, number: int, maker: AnyInstruction | None) -> None:
        self._varying.setdefault((id(program), number), (program, number, maker))

    def _varies(self, program: Program, number: int) -> bool:
        return (id(program), number) in self._varying

    def _mix(
        self, program: Program, instruction: AnyInstruction, place: Axis, twice: int | None = None
    ) -> None:
        mixing = Mixing(len(self._marks), program, instruction, place, twice)
        self._marks.append(((id(program), *place), mixing))

    def _join(self, program: Program, number: int, other: Program, its: int, rows: int = 0) -> None:
        """Unite the axes of two varying registers; the first has that many extra axes in front."""
        if self._varies(program, number) and self._varies(other, its):
            for axis in range(rank_of(other, its)):
                self._unite((id(program), number, axis + rows), (id(other), its, axis))

    def _unite(self, one: _Key, other: _Key) -> None:
        self._parents[self._root(other)] = self._root(one)  # the second is the newer: paths stay short

    def _root(self, key: _Key) -> _Key:
        path = []
        while (parent := self._parents.get(key, key)) != key:
            path.append(key)
            key = parent
        self._parents.update(dict.fromkeys(path, key))
        return key

    def _by_class(self) -> dict[_Key, list[Mixing]]:
        """Return the mixing instructions by class, including registers with two axes of one class."""
        if self._found is None:
            for program, number, maker in list(self._varying.values()):
                roots = [self._root((id(program), number, axis)) for axis in range(rank_of(program, number))]
                for axis, root in enumerate(roots):
                    if root in roots[:axis] and maker is not None:
                        self._mix(program, maker, Axis(number, axis), roots.index(root))
            self._found = {}
            for key, mixing in self._marks:
                self._found.setdefault(self._root(key), []).append(mixing)
        return self._found


def _known(shapes: Sequence[Partial]) -> list[Partial]:
    """Return shapes without the numbers that stand for sizes that are not known."""
    return [tuple(None if size is not None and size < 0 else size for size in shape) for shape in shapes]
