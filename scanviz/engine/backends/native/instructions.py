"""How one instruction of a step is written, by the family of its operation; and which can be.

A row of :data:`WRITE` has what says why an instruction cannot be written (None where it can) and what writes it.  A group of
elementwise instructions is written as one by :func:`write_chain`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from scanviz.engine.backends.native import formulas
from scanviz.engine.backends.native.elements import Operand, for_each, lanes_of
from scanviz.engine.backends.native.formulas import cast
from scanviz.engine.backends.native.ir import Code, Value, constant
from scanviz.engine.backends.native.places import ArrayPlace, ArrayPlaces, overlap
from scanviz.engine.backends.native.products import Matrix, inner_product, product
from scanviz.engine.backends.native.reductions import NAMES, reduce, reduced_shape
from scanviz.engine.graph.declaration import MeaningTable
from scanviz.engine.graph.types import FLOATS, TensorType
from scanviz.engine.ops.elementwise import CAST
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.join import CONCATENATE
from scanviz.engine.ops.linalg import DOT, MATMUL
from scanviz.engine.ops.reduce import SUM_TO_SHAPE, ReductionDeclaration
from scanviz.engine.ops.shape import ALLOC, DIMENSION, DIMSHUFFLE, MAKE_VECTOR, RESHAPE
from scanviz.engine.program.instructions import AnyInstruction, Instruction, Program, dtype_of, is_scalar
from scanviz.engine.program.plan.location import packed
from scanviz.engine.scalar.blocks import Block


class Step(Protocol):
    """What the writers of instructions need of the step that is written."""

    code: Code
    places: ArrayPlaces
    vector_bytes: int

    @property
    def body(self) -> Program:
        """The step's program."""
        ...

    def value(self, number: int) -> Value:
        """Return the number that a register holds."""
        ...

    def give(self, number: int, value: Value) -> None:
        """Note the number that a register holds from now on."""
        ...

    def operand(self, place: ArrayPlace) -> Operand:
        """Return an array with the address that it is at in this step."""
        ...


class Writing(NamedTuple):
    """How an operation is written.

    Attributes
    ----------
    why_not : callable
        ``why_not(instruction, program)``: what about it cannot be written; None where all can.
    write : callable
        ``write(step, instruction)`` adds its lines.
    """

    why_not: Callable[[Instruction, Program], str | None]
    write: Callable[[Step, Instruction], None]


WRITE: MeaningTable[Writing] = MeaningTable("native code", "engine/backends/native/{family}.py")


def why_not(instruction: AnyInstruction, program: Program) -> str | None:
    """Return why there is no native code for an instruction, None where there is."""
    if not isinstance(instruction, Instruction):
        return f"`{instruction.op.name}` inside the step runs as a program of its own"
    if instruction.op.facts.size == "is":
        return None
    for number in (*instruction.inputs, *instruction.outputs):
        kind = program.registers[number].type
        if not isinstance(kind, TensorType):
            return f"`{instruction.op.name}` works on a random state"
        if kind.dtype == "float16":
            return f"`{instruction.op.name}` works on float16"
    row = WRITE.get(instruction.op.declaration)
    if row is None:
        return f"`{instruction.op.name}` has no native code"
    return row.why_not(instruction, program)


def _any(instruction: Instruction, program: Program) -> str | None:
    return None


def formula_of(instruction: Instruction, program: Program) -> Block | None:
    """Return the formula of an elementwise instruction, None of a cast."""
    declaration = instruction.op.declaration
    if not isinstance(declaration, ElementwiseDeclaration):
        return None
    _, block = declaration.block(*(dtype_of(program, number) for number in instruction.inputs))
    return block


def _why_no_formula(instruction: Instruction, program: Program) -> str | None:
    block = formula_of(instruction, program)
    found = None if block is None else formulas.why_not(block)
    return None if found is None else f"{found} in `{instruction.op.name}` has no native code"


def elements_of(code: Code, instruction: Instruction, program: Program, given: Sequence[Value]) -> Value:
    """Return what an elementwise instruction gives of elements; one that changes nothing gives the first."""
    dtype = dtype_of(program, instruction.outputs[0])
    block = formula_of(instruction, program)
    found = given[0] if block is None else formulas.write(code, block, given)[0]
    return cast(code, code.splat(found, given[0].lanes), dtype)


def write_chain(step: Step, group: Sequence[Instruction], local: frozenset[int]) -> None:
    """Write elementwise instructions of one shape as one loop over elements.

    Parameters
    ----------
    group : sequence of Instruction
        In order.
    local : frozenset of int
        Registers of theirs that are never in memory.
    """
    body, code = step.body, step.code
    made = [instruction.outputs[0] for instruction in group]
    shape = step.places.shape(made[-1]) or ()
    given = list(dict.fromkeys(n for each in group for n in each.inputs if n not in made))
    arrays = [number for number in given if not is_scalar(body, number)]
    reads = [place for number in arrays if (place := step.places.of(number)) is not None]
    targets = [number for number in made if number not in local]
    writes = [place for number in targets if (place := step.places.of(number)) is not None]
    apart = [
        step.places.temporary(place.shape, place.dtype)
        if any(overlap(place, read.spread(shape)) for read in reads)
        else place
        for place in writes
    ]
    numbers = {number: step.value(number) for number in given if is_scalar(body, number)}
    dtypes = {dtype_of(body, number) for number in (*given, *made)}
    blocks = [block for each in group if (block := formula_of(each, body)) is not None]
    dtypes.update(dtype for block in blocks for dtype in block.dtypes)
    alone = not all(formulas.takes_lanes(block) for block in blocks)

    def elements(values: list[Value], lanes: int) -> list[Value]:
        known = dict(zip(arrays, values, strict=True))
        known.update((number, code.splat(value, lanes)) for number, value in numbers.items())
        for instruction in group:
            found = elements_of(code, instruction, body, [known[n] for n in instruction.inputs])
            known[instruction.outputs[0]] = found
        return [known[number] for number in targets]

    lanes = 1 if alone else lanes_of(list(dtypes), step.vector_bytes)
    sources = [step.operand(place.spread(shape)) for place in reads]
    for_each(code, shape, sources, [step.operand(place) for place in apart], elements, lanes)
    for temporary, place in zip(apart, writes, strict=True):
        if temporary is not place:
            copy(step, temporary, place)


def copy(step: Step, source: ArrayPlace, target: ArrayPlace) -> None:
    """Write a copy of an array, which may broadcast; through memory of its own where both overlap."""
    seen = source.spread(target.shape)
    if (seen.base, seen.offset, seen.strides) == (target.base, target.offset, target.strides):
        return
    if overlap(seen, target):
        held = step.places.temporary(target.shape, source.dtype)
        copy(step, source, held)
        seen = held

    def same(values: list[Value], lanes: int) -> list[Value]:
        return [cast(step.code, values[0], target.dtype)]

    lanes = lanes_of([source.dtype, target.dtype], step.vector_bytes)
    for_each(step.code, target.shape, [step.operand(seen)], [step.operand(target)], same, lanes)


def fill(step: Step, value: Value, target: ArrayPlace) -> None:
    """Write a number into every element."""

    def same(values: list[Value], lanes: int) -> list[Value]:
        return [step.code.splat(value, lanes)]

    lanes = lanes_of([target.dtype], step.vector_bytes)
    for_each(step.code, target.shape, [], [step.operand(target)], same, lanes)


def target_of(step: Step, instruction: Instruction) -> ArrayPlace:
    """Return where the one result of an instruction goes; a number gets memory for the time being."""
    (number,) = instruction.outputs
    if is_scalar(step.body, number):
        return step.places.temporary((), dtype_of(step.body, number))
    place = step.places.of(number)
    assert place is not None
    return place


def source_of(step: Step, number: int) -> ArrayPlace:
    """Return where an array lies that is read; a number is put into memory."""
    if is_scalar(step.body, number):
        held = step.places.temporary((), dtype_of(step.body, number))
        step.code.store(step.value(number), step.operand(held).address)
        return held
    place = step.places.of(number)
    assert place is not None
    return place


def _finish(step: Step, instruction: Instruction, target: ArrayPlace) -> None:
    """Take a number that was put into memory back out of it."""
    (number,) = instruction.outputs
    if is_scalar(step.body, number):
        step.give(number, step.code.load(step.operand(target).address, target.dtype))


def _write_elementwise(step: Step, instruction: Instruction) -> None:
    (number,) = instruction.outputs
    if is_scalar(step.body, number):
        given = [step.value(each) for each in instruction.inputs]
        step.give(number, elements_of(step.code, instruction, step.body, given))
        return
    write_chain(step, [instruction], frozenset())


def _write_view(step: Step, instruction: Instruction) -> None:
    """Write what may be a view: nothing where it is one, else a copy."""
    (number,) = instruction.outputs
    source, body = instruction.inputs[0], step.body
    if is_scalar(body, number):
        if is_scalar(body, source):
            step.give(number, step.value(source))
            return
        seen = step.places.view(instruction) or step.places.of(
            source
        )  # the one element of an array, or one of several
        assert seen is not None
        step.give(number, step.code.load(step.operand(seen).address, seen.dtype))
        return
    target = step.places.of(number)
    assert target is not None
    if is_scalar(body, source):
        fill(step, step.value(source), target)
    elif step.places.view(instruction) is None:  # the same elements in another order of memory
        place = step.places.of(source)
        assert place is not None
        strides = packed(place.shape, np.dtype(place.dtype).itemsize)
        copy(step, place, target._replace(shape=place.shape, strides=strides))


def _why_no_view(instruction: Instruction, program: Program) -> str | None:
    return None


def _write_alloc(step: Step, instruction: Instruction) -> None:
    source, target = instruction.inputs[0], target_of(step, instruction)
    if is_scalar(step.body, source):
        fill(step, cast(step.code, step.value(source), target.dtype), target)
    else:
        copy(step, source_of(step, source), target)
    _finish(step, instruction, target)


def _write_vector(step: Step, instruction: Instruction) -> None:
    target = target_of(step, instruction)
    for k, number in enumerate(instruction.inputs):
        operand = step.operand(target.part(0, k, 1))
        step.code.store(cast(step.code, step.value(number), target.dtype), operand.address)


def _write_reduction(step: Step, instruction: Instruction) -> None:
    name, parameters = instruction.op.declaration.name, instruction.op.parameters
    source, target = source_of(step, instruction.inputs[0]), target_of(step, instruction)
    wanted = target._replace(
        shape=reduced_shape(source, parameters.axes), strides=_kept(target.strides, parameters)
    )
    _reduced(step, name, source, parameters.axes, wanted)
    _finish(step, instruction, target)


def _kept(strides: Sequence[int], parameters: object) -> tuple[int, ...]:
    axes, keepdims = parameters.axes, parameters.keepdims  # type: ignore[attr-defined]
    return tuple(step for axis, step in enumerate(strides) if not (keepdims and axis in axes))


def _reduced(step: Step, name: str, source: ArrayPlace, axes: Sequence[int], target: ArrayPlace) -> None:
    lanes = lanes_of([source.dtype, target.dtype], step.vector_bytes)
    reduce(step.code, name, step.operand(source), axes, step.operand(target), lanes)


def _why_no_reduction(instruction: Instruction, program: Program) -> str | None:
    if instruction.op.declaration.name not in NAMES:
        return f"`{instruction.op.name}` has no native code"
    return None


def _write_sum_to_shape(step: Step, instruction: Instruction) -> None:
    source, target = source_of(step, instruction.inputs[0]), target_of(step, instruction)
    missing = len(source.shape) - len(target.shape)
    axes = [
        axis
        for axis, size in enumerate(source.shape)
        if axis < missing or target.shape[axis - missing] != size
    ]
    if axes:
        kept = [axis - missing for axis in range(len(source.shape)) if axis not in axes]
        shape = tuple(target.shape[axis] for axis in kept)
        strides = tuple(target.strides[axis] for axis in kept)
        _reduced(step, "sum", source, axes, target._replace(shape=shape, strides=strides))
    elif step.places.view(instruction) is None:
        copy(step, source, target)
    _finish(step, instruction, target)


def _matrix(step: Step, place: ArrayPlace, first: bool) -> Matrix:
    """Return a matrix or a vector as an operand of a product: a vector is a row on the left, a column on the right."""
    rows, columns, down, along = 1, 1, 0, 0
    if len(place.shape) == 2:
        (rows, columns), (down, along) = place.shape, place.strides
    elif first:
        columns, along = place.shape[0], place.strides[0]
    else:
        rows, down = place.shape[0], place.strides[0]
    return Matrix(step.operand(place), rows, columns, down, along)


def _write_product(step: Step, instruction: Instruction) -> None:
    a, b = (source_of(step, number) for number in instruction.inputs)
    target = target_of(step, instruction)
    code, dtype = step.code, target.dtype
    lanes = lanes_of([a.dtype, b.dtype, dtype], step.vector_bytes)
    first, second = _matrix(step, a, True), _matrix(step, b, False)
    if not target.shape:
        step.give(instruction.outputs[0], inner_product(code, first, second, lanes, dtype))
        return
    into = Matrix(step.operand(target), first.rows, second.columns, 0, 0)
    if len(target.shape) == 2:
        into = into._replace(down=target.strides[0], along=target.strides[1])
    elif len(a.shape) == 1:
        into = into._replace(along=target.strides[0])
    else:
        into = into._replace(down=target.strides[0])
    if second.columns == 1 and len(b.shape) == 1:
        _times_vector(step, first, second, into, lanes, dtype)
    else:
        product(code, first, second, into, lanes)


def _times_vector(step: Step, first: Matrix, second: Matrix, into: Matrix, lanes: int, dtype: str) -> None:
    """Write a matrix times a vector: sums along rows, or along columns side by side where those lie one after another."""
    size = np.dtype(first.operand.place.dtype).itemsize
    if first.down == size != first.along:  # a transposed matrix: the vector times it as it lies
        left = Matrix(second.operand, 1, second.rows, 0, second.down)
        right = Matrix(first.operand, first.columns, first.rows, first.along, first.down)
        product(
            step.code, left, right, into._replace(rows=1, columns=first.rows, down=0, along=into.down), lanes
        )
        return
    with step.code.counted(0, first.rows) as row:
        moved = first._replace(offset=step.code.times(row, first.down))
        total = inner_product(step.code, moved, second, lanes, dtype)
        address = step.code.at(into.operand.address, step.code.times(row, into.down))
        step.code.store(total, address)


def _why_no_product(instruction: Instruction, program: Program) -> str | None:
    ranks = [_rank(program, number) for number in instruction.inputs]
    if not all(1 <= rank <= 2 for rank in ranks):
        return f"`{instruction.op.name}` of {ranks[0]} and {ranks[1]} dimensions has no native code"
    return None


def _rank(program: Program, number: int) -> int:
    kind = program.registers[number].type
    return kind.ndim if isinstance(kind, TensorType) else 0


def _write_concatenate(step: Step, instruction: Instruction) -> None:
    target, start = target_of(step, instruction), 0
    axis = instruction.op.parameters.axis
    for number in instruction.inputs:
        source = source_of(step, number)
        copy(step, source, target.part(axis, start, source.shape[axis]))
        start += source.shape[axis]


def _why_no_index(instruction: Instruction, program: Program) -> str | None:
    kinds = {entry.kind for entry in instruction.op.parameters.entries}
    if not kinds <= {"integer", "slice", "newaxis", "ellipsis"}:
        return "an index by an array has no native code"
    return None


WRITE.kind(ElementwiseDeclaration)(Writing(_why_no_formula, _write_elementwise))
WRITE.row(CAST)(Writing(_any, _write_elementwise))
for _declaration in (RESHAPE, DIMSHUFFLE):
    WRITE.row(_declaration)(Writing(_why_no_view, _write_view))
WRITE.row(INDEX)(Writing(_why_no_index, _write_view))
WRITE.row(DIMENSION)(Writing(_any, _write_view))
WRITE.row(ALLOC)(Writing(_any, _write_alloc))
WRITE.row(MAKE_VECTOR)(Writing(_any, _write_vector))
WRITE.kind(ReductionDeclaration)(Writing(_why_no_reduction, _write_reduction))
WRITE.row(SUM_TO_SHAPE)(Writing(_any, _write_sum_to_shape))
for _declaration in (DOT, MATMUL):
    WRITE.row(_declaration)(Writing(_why_no_product, _write_product))
WRITE.row(CONCATENATE)(Writing(_any, _write_concatenate))

__all__ = ["FLOATS", "WRITE", "Step", "Writing", "constant", "copy", "fill", "why_not", "write_chain"]
