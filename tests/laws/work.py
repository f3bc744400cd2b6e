"""Laws of the work of operations: bytes and floating-point operations from shapes equal those of the arrays."""

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from scanviz.engine.cost import Work
from scanviz.engine.graph.nodes import Array
from scanviz.engine.observe import Detail, Observer, observed_by
from scanviz.engine.ops.assign import ASSIGN
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.index_pattern import numpy_index
from scanviz.engine.program.instructions import Instruction, Program, all_loops
from scanviz.profiler.recording.plans_met import work_of_function
from scanviz.testing.loop_case import READINGS, LoopCase, Reading
from scanviz.testing.loops import EVERY_DTYPE, random_loops
from scanviz.testing.unrolled import run_plainly
from tests.laws.law import law
from tests.laws.programs import compiled

ONE = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "negative",
    "absolute",
    "less",
    "greater",
)
TEN = ("exp", "tanh", "sin", "cos", "log", "sqrt", "sigmoid")


class _Weighed(Observer):
    weighs = True


class _Values(Observer):
    """Keeps the values of the last step of each loop, and those outside of loops, by register."""

    detail: Detail = "values"

    def __init__(self, programs: dict[int | None, Program]) -> None:
        self.programs = programs
        self.values: dict[int | None, dict[int, Any]] = {
            key: dict(program.constants) for key, program in programs.items()
        }

    def step_inputs(self, function: int, loop: int | None, step: int, values: tuple[Any, ...]) -> None:
        self.values[loop].update(zip(self.programs[loop].inputs, values, strict=True))

    def instruction(
        self, function: int, loop: int | None, step: int, index: int, elapsed_ns: int, values: tuple[Any, ...]
    ) -> None:
        self.values[loop].update(zip(self.programs[loop].instructions[index].outputs, values, strict=True))


def touched(array: Array) -> int:
    """Return the bytes of the elements of an array that lie apart: of an axis that is repeated one; none of one number.

    Examples
    --------
    >>> touched(np.zeros((3, 4))), touched(np.broadcast_to(np.zeros(4), (3, 4))), touched(np.float64(1.0))
    (96, 32, 0)
    """
    if np.ndim(array) == 0:
        return 0
    along = [np.arange(size) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    return len(np.unique(reduce(np.add.outer, along))) * array.itemsize


def _bounds(instruction: Instruction, taken: Sequence[Array], made: Sequence[Array]) -> list[tuple[int, int]]:
    """Return the bytes that an instruction may move, as pairs of the least and the most: it may be done in more than one way."""
    facts = instruction.op.facts
    # a number is in no array, and an empty part of an array shares nothing with it
    looks = facts.always_view and (not made[0].size or 0 in (made[0].ndim, taken[0].ndim))
    number = facts.size == "is" or looks
    if number or all(any(np.may_share_memory(one, other) for other in taken) for one in made):
        return [(0, 0)]
    if instruction.op.declaration is INDEX:
        arrays = [made[0], made[0], *taken[1:]]
        return [(sum(map(touched, arrays)), sum(map(_whole, arrays)))]
    arrays = [*taken, *made]
    ways = [(sum(map(touched, arrays)), sum(map(_whole, arrays)))]
    if instruction.op.declaration is ASSIGN:
        pattern = instruction.op.parameters.pattern
        part = np.asarray(taken[0])[numpy_index(pattern, taken[2:])].size * taken[0].itemsize
        part *= 2 if instruction.op.parameters.increment else 1
        ways.append((part + sum(map(touched, taken[1:])), part + sum(map(_whole, taken[1:]))))
    return ways


def _whole(array: Array) -> int:
    return 0 if np.ndim(array) == 0 else prod(array.shape) * array.itemsize


def _flops(instruction: Instruction, taken: Sequence[Array], made: Sequence[Array]) -> int | None:
    """Return the floating-point operations of some operations, from arrays; None for others."""
    name, result = instruction.op.name, made[0]
    if not any(np.asarray(array).dtype.kind == "f" for array in (*taken, *made)):
        return 0
    if name == "dot" or name == "matmul":
        return 2 * int(np.size(result)) * int(np.shape(taken[0])[-1])
    if name in ONE or name in TEN:
        return int(np.size(result)) * (1 if name in ONE else 10)
    return None


def check_work(program: Program, found: Sequence[Work | None], values: dict[int, Any]) -> None:
    """Refuse work that is not that of the values of a program's registers."""
    for instruction, work in zip(program.instructions, found, strict=True):
        numbers = (*instruction.inputs, *instruction.outputs)
        if (
            work is None
            or not isinstance(instruction, Instruction)
            or any(number not in values for number in numbers)
        ):
            continue
        taken = [np.asarray(values[number]) for number in dict.fromkeys(instruction.inputs)]
        made = [np.asarray(values[number]) for number in instruction.outputs]
        ways = _bounds(instruction, taken, made)
        assert any(least <= work.bytes <= most for least, most in ways), (
            instruction,
            work,
            ways,
        )
        given = [np.asarray(values[number]) for number in instruction.inputs]
        expected = _flops(instruction, given, made)
        assert expected is None or work.flops == expected, (instruction, work, expected)


@law(
    sample=15,
    case=random_loops(dtypes=EVERY_DTYPE, symbolic_steps=True, constants=True),
    rewrites=st.booleans(),
    reading=st.sampled_from(READINGS),
)
def work_inferred_from_shapes_agrees_with_the_arrays(
    case: LoopCase, rewrites: bool, reading: Reading
) -> None:
    """Bytes and operations of each instruction agree with the interpreter's values, in and outside loops."""
    count = len(run_plainly(case)[0][0])
    f, given = compiled(case, rewrites, "numpy", lambda variable: reading.of(variable, count))
    given = given[: len(f.inputs)]
    shared = [(state, state.get_value()) for state in f.spec.shared]
    with observed_by(_Weighed()):
        f(*given)
    for state, value in shared:  # with others the loop may take fewer steps than are read
        state.set_value(value)
    programs: dict[int | None, Program] = {loop.key: loop.body for loop, _ in all_loops(f.program)}
    seen = _Values({None: f.program, **programs})
    with observed_by(seen):
        f(*given)
    found = work_of_function(f.program, f.memory_plans(), f.call_met())
    assert None in found
    for loop, work in found.items():
        check_work(seen.programs[loop], work, seen.values[loop])
