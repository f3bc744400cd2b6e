"""Write single instructions and elementwise chains; the table of native code by operation.

:mod:`scanviz.engine.backends.native_support` lists the operations with native code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scanviz.engine.backends import native_support
from scanviz.engine.backends.native.emit.elements import Body, for_each, lanes_of
from scanviz.engine.backends.native.emit.frame import ProgramFrame
from scanviz.engine.backends.native.emit.ir import Code, Value
from scanviz.engine.backends.native.emit.places import ArrayPlace, overlap
from scanviz.engine.backends.native.kernels import formulas
from scanviz.engine.backends.native.kernels.formulas import cast
from scanviz.engine.graph.meaning_table import MeaningTable
from scanviz.engine.graph.types import SIGNED
from scanviz.engine.ops.elementwise import CAST, power
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.program.instructions import AnyInstruction, Instruction, Program, dtype_of, is_scalar
from scanviz.engine.scalar.blocks import Block

Step = ProgramFrame  # the name kernels use
Write = Callable[[Step, Instruction], None]  # writes an instruction
WRITE: MeaningTable[Write] = MeaningTable(
    "native code", "engine/backends/native/kernels/{family}.py", "engine/backends/native/kernels/arrays.py"
)


def why_not(instruction: AnyInstruction, program: Program) -> str | None:
    """Return why an instruction has no native code, None if it has."""
    if not isinstance(instruction, Instruction):
        return None  # a loop or a branch: its body is checked separately
    if instruction.op.declaration is power and _may_be_negative(program, instruction.inputs[1]):
        return "a power of an integer whose exponent may be negative has no native code"
    given = [program.registers[number].type for number in instruction.inputs]
    made = [program.registers[number].type for number in instruction.outputs]
    return native_support.why_not(instruction.op, given, made)


def _may_be_negative(program: Program, exponent: int) -> bool:
    """Return whether an exponent is a possibly negative integer, which NumPy refuses for integers."""
    known = program.constants.get(exponent)
    return dtype_of(program, exponent) in SIGNED and (known is None or bool((known < 0).any()))


def formula_of(instruction: Instruction, program: Program) -> Block | None:
    """Return the formula of an elementwise instruction, None for a cast."""
    declaration = instruction.op.declaration
    if not isinstance(declaration, ElementwiseDeclaration):
        return None
    _, block = declaration.block(*(dtype_of(program, number) for number in instruction.inputs))
    return block


def elements_of(code: Code, instruction: Instruction, program: Program, given: Sequence[Value]) -> Value:
    """Write an elementwise instruction for elements, and return its result."""
    dtype = dtype_of(program, instruction.outputs[0])
    block = formula_of(instruction, program)
    found = given[0] if block is None else formulas.write(code, block, given)[0]
    return cast(code, code.splat(found, given[0].lanes), dtype)


def write_chain(step: Step, group: Sequence[Instruction], local: frozenset[int]) -> None:
    """Write elementwise instructions of one shape as one loop over elements.

    Parameters
    ----------
    group : sequence of Instruction
        The instructions, in order.
    local : frozenset of int
        Their registers that are never in memory.
    """
    body, code = step.body, step.code
    made = [instruction.outputs[0] for instruction in group]
    shape = step.places.shape(made[-1]) or ()
    given = list(dict.fromkeys(n for part in group for n in part.inputs if n not in made))
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
    blocks = [block for part in group if (block := formula_of(part, body)) is not None]
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


def each_element(step: Step, reads: Sequence[ArrayPlace], target: ArrayPlace, body: Body) -> None:
    """Write a loop over the elements of arrays of one shape; ``body(values, lanes)`` returns the value to write."""
    lanes = lanes_of([place.dtype for place in (*reads, target)], step.vector_bytes)
    sources = [step.operand(place) for place in reads]
    for_each(step.code, target.shape, sources, [step.operand(target)], body, lanes)


def copy(step: Step, source: ArrayPlace, target: ArrayPlace) -> None:
    """Write a copy of an array, which may broadcast or overlap with the target."""
    seen = source.spread(target.shape)
    if (seen.base, seen.offset, seen.strides, seen.shift) == (
        target.base,
        target.offset,
        target.strides,
        target.shift,
    ):
        return
    if overlap(seen, target):
        held = step.places.temporary(target.shape, source.dtype)
        copy(step, source, held)
        seen = held

    each_element(step, [seen], target, lambda values, lanes: [cast(step.code, values[0], target.dtype)])


def fill(step: Step, value: Value, target: ArrayPlace) -> None:
    """Write a number into every element."""
    each_element(step, [], target, lambda values, lanes: [step.code.splat(value, lanes)])


def target_of(step: Step, instruction: Instruction) -> ArrayPlace:
    """Return the place of an instruction's only result; a scalar gets temporary memory."""
    (number,) = instruction.outputs
    if is_scalar(step.body, number):
        return step.places.temporary((), dtype_of(step.body, number))
    place = step.places.of(number)
    assert place is not None
    return place


def source_of(step: Step, number: int) -> ArrayPlace:
    """Return the place of an input; a scalar is stored to memory."""
    if is_scalar(step.body, number):
        held = step.places.temporary((), dtype_of(step.body, number))
        step.code.store(step.value(number), step.operand(held).address)
        return held
    place = step.places.of(number)
    assert place is not None
    return place


def finish(step: Step, instruction: Instruction, target: ArrayPlace) -> None:
    """Load a scalar result from its temporary memory."""
    (number,) = instruction.outputs
    if is_scalar(step.body, number):
        step.give(number, step.code.load(step.operand(target).address, target.dtype))


def write_elementwise(step: Step, instruction: Instruction) -> None:
    """Write one elementwise instruction."""
    (number,) = instruction.outputs
    if is_scalar(step.body, number):
        given = [step.value(number) for number in instruction.inputs]
        step.give(number, elements_of(step.code, instruction, step.body, given))
        return
    write_chain(step, [instruction], frozenset())


WRITE.kind(ElementwiseDeclaration)(write_elementwise)
WRITE.row(CAST)(write_elementwise)
