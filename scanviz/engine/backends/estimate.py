"""What a step costs on NumPy, and in machine code, by estimate: from the operations and the sizes alone.

So it is the same everywhere and always.  A call of NumPy costs some 250 ns however little there is to do, one on single numbers
less, one of what NumPy writes in Python many times that, as the operation's facts say; then come operations and bytes.  Machine
code has no such calls, and takes less time for the same operations and bytes.  The figures are those of one machine, rounded: it
is enough to know whether steps take a microsecond or ten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod

import numpy as np

from scanviz.engine.cost.work import Work, machine_ns, work_ns
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.program.instructions import Instruction, LoopInstruction, Program, is_scalar
from scanviz.engine.program.plan import Plan, Row

CALL_NS = 260.0  # of an addition of arrays
SCALAR_NS = 40.0  # of an addition or the like of single numbers, which Python does
STEP_NS = 50.0  # of going on to the next
ROW_NS = 90.0  # of the next row of a sequence, a state or an output that has arrays for rows
FEW_FLOPS, FEW_ELEMENTS = 2, 64
LINE_FLOPS = 80  # operations that take as long as NumPy takes to go on to the next run of elements
# of an operation whose work is not known, of a branch inside the step, and of a loop there without its steps
UNKNOWN_NS = 2_000.0


def step_ns(program: Program, plan: Plan, loops: bool = True) -> float:
    """Return about how many nanoseconds a step takes on NumPy, by its plan; without ``loops`` those inside only by being there.

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
    return sum(_step_costs(program, plan, loops))


def _step_costs(program: Program, plan: Plan, loops: bool) -> Iterator[float]:
    """Yield what parts of a step cost."""
    yield STEP_NS + ROW_NS * _rows(program, plan)
    plain = [part for part in program.instructions if isinstance(part, Instruction)]
    if len(plain) == len(program.instructions) and are_few(plan):
        yield from _costs_of_few(program, plain, plan)  # a first call waits for this
        return
    from scanviz.engine.program.plan.arena import inner_steps
    from scanviz.engine.program.work import work_of

    for index, (instruction, work) in enumerate(
        zip(program.instructions, work_of(program, plan, "all"), strict=True)
    ):
        if index in plan.idle:
            continue
        if loops and isinstance(instruction, LoopInstruction) and index in plan.inner:
            (inner,) = plan.inner[index]
            steps = inner_steps(program, plan, instruction) if instruction.until is None else None
            yield UNKNOWN_NS + (steps or 0) * sum(_step_costs(instruction.body, inner, loops))
        elif not isinstance(instruction, Instruction) or work is None:
            yield UNKNOWN_NS
        elif instruction.op.facts.size != "is":
            scalar = _are_numbers(program, (*instruction.inputs, *instruction.outputs))
            quick = scalar and work.flops <= FEW_FLOPS and not _is_called(instruction)
            further = _one_by_one(instruction, plan) + LINE_FLOPS * _lines(instruction, plan)
            work = Work(work.flops + further, work.product_flops, work.bytes)
            yield (SCALAR_NS if quick else call_ns(instruction)) + work_ns(work)


def _one_by_one(instruction: Instruction, plan: Plan) -> int:
    """Return of how many operations NumPy takes the time for elements that it picks, or puts, one after another."""
    times = instruction.op.facts.one_by_one
    shapes = [plan.places[number].shape or () for number in instruction.inputs[1:]] if times else ()
    return times * max(map(prod, shapes), default=0)


def _lines(instruction: Instruction, plan: Plan) -> int:
    """Return in how many runs NumPy goes through elements of which not all operands go on evenly; 0 where it is one run.

    It is so where some are repeated along the last axes, or reduced, and others not: short axes cost more than their elements.
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


def _is_called(instruction: Instruction) -> bool:
    """Return whether NumPy's function is called of single numbers, too: Python has no operator that does the same."""
    declaration = instruction.op.declaration
    return (
        isinstance(declaration, ElementwiseDeclaration)
        and declaration.symbol is None
        and isinstance(declaration.function, np.ufunc)
    )


def _are_numbers(program: Program, registers: Iterable[int]) -> bool:
    return all(is_scalar(program, number) for number in registers)


def are_few(plan: Plan) -> bool:
    """Return whether all arrays are known to be so short that operations on them only cost being called."""
    return all(place.shape is not None and prod(place.shape) <= FEW_ELEMENTS for place in plan.places)


def _costs_of_few(program: Program, instructions: Sequence[Instruction], plan: Plan) -> Iterator[float]:
    """Yield what operations on short arrays and single numbers cost."""
    for index, instruction in enumerate(instructions):
        if index not in plan.idle and instruction.op.facts.size != "is":
            quick = instruction.op.facts.cheap and not _is_called(instruction)
            scalar = quick and _are_numbers(program, (*instruction.inputs, *instruction.outputs))
            yield SCALAR_NS if scalar else call_ns(instruction)


def _rows(program: Program, plan: Plan) -> int:
    """Return how many slots of a loop have arrays for rows."""
    return len(
        {
            place.location.slot
            for number, place in enumerate(plan.places)
            if isinstance(place.location, Row) and not is_scalar(program, number)
        }
    )


def call_ns(instruction: Instruction) -> float:
    """Return about how many nanoseconds a call of an operation on arrays takes, without what its size asks for."""
    return CALL_NS * instruction.op.facts.calls


def machine_step_ns(program: Program, plan: Plan) -> float:
    """Return about how many nanoseconds a step takes in machine code, by what is known of its operations."""
    from scanviz.engine.program.work import work_of

    return sum(machine_ns(work) for work in work_of(program, plan, "all") if work is not None)
