"""Checking that a Program which came from elsewhere fits together: numbers in range, types, slots and bodies.

Lowering makes Programs that do; one that was read from a file may not.  With :func:`~scanviz.engine.program.verify.verify_program`,
which is also asked of lowered ones, nothing is left that a backend could stumble over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.nodes import Constant, Variable
from scanviz.engine.graph.types import TensorType, Type, fits
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.program.instructions import (
    BranchInstruction,
    Instruction,
    LoopInstruction,
    Program,
    StateSlot,
    all_loops,
    dtype_of,
)
from scanviz.engine.program.slots import kept, passed, written
from scanviz.engine.program.verify import wrong


def verify_types(program: Program) -> None:
    """Check the numbers and types of a program and of those inside it.

    Raises
    ------
    InternalError
        Naming the first that does not fit.
    """
    for number, register in enumerate(program.registers):
        if register.number != number:
            raise wrong(program, f"register {number} is numbered {register.number}")
    _in_range(program, (*program.inputs, *program.outputs, *program.constants))
    if len({*program.inputs, *program.constants}) != len(program.inputs) + len(program.constants):
        raise wrong(program, "an input is there twice, or a constant")
    for number, value in program.constants.items():
        kind = program.registers[number].type
        known = isinstance(kind, TensorType) and fits(TensorType(str(value.dtype), value.shape), kind)
        if not known:
            raise wrong(program, f"constant {number} is no {kind}")
    for index, instruction in enumerate(program.instructions):
        _in_range(program, (*instruction.inputs, *instruction.outputs))
        match instruction:
            case Instruction():
                _verify_operation(program, index, instruction)
            case LoopInstruction():
                _verify_loop(program, instruction)
            case BranchInstruction():
                _verify_branch(program, instruction)


def _in_range(program: Program, numbers: Iterable[int]) -> None:
    for number in numbers:
        if not 0 <= number < len(program.registers):
            raise wrong(program, f"there is no register {number}")


def alike(one: Type, other: Type, dropped: int = 0) -> bool:
    """Return whether two types have one dtype, and one rank when ``dropped`` axes are taken from the first."""
    if not isinstance(one, TensorType) or not isinstance(other, TensorType):
        return one == other and not dropped
    return one.dtype == other.dtype and one.ndim - dropped == other.ndim


def _verify_operation(program: Program, index: int, instruction: Instruction) -> None:
    op, types = instruction.op, [program.registers[number].type for number in instruction.outputs]
    given = [_stand_in(program, number) for number in instruction.inputs]
    try:
        inferred = list(op.infer(given))
    except (ScanvizError, IndexError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise wrong(program, f"instruction {index}, {op.name}, cannot take what it is given") from error
    if isinstance(op.declaration, ElementwiseDeclaration):
        dtypes = [dtype_of(program, number) for number in instruction.inputs]
        if [dtype.name for dtype in op.declaration.result(*map(np.dtype, dtypes))[: len(dtypes)]] != dtypes:
            raise wrong(
                program, f"instruction {index}, {op.name}, reads {dtypes}, in which it does not compute"
            )
    if len(inferred) != len(types) or not all(map(alike, inferred, types)):
        raise wrong(program, f"instruction {index}, {op.name}, gives {inferred}, not {types}")


def _stand_in(program: Program, number: int) -> Variable:
    value = program.constants.get(number)
    return (
        Variable(program.registers[number].type)
        if value is None
        else Constant(program.registers[number].type, value)
    )


def _verify_loop(program: Program, loop: LoopInstruction) -> None:
    body = loop.body
    verify_types(body)
    for slot in loop.states:
        if not slot.writes:
            raise wrong(program, f"loop `{loop.name}`: state `{slot.name}` is never written")
    given, results = passed(loop), kept(loop)
    around, inner = [*(entry.outer for entry in given), loop.n_steps], [entry.inner for entry in given]
    named = [slot.result for slot in results if slot.result is not None]
    _in_range(program, around)
    _in_range(body, [*inner, *written(loop)])
    if not {*around} <= {*loop.inputs} or sorted(named) != sorted(loop.outputs):
        raise wrong(program, f"loop `{loop.name}` and its slots disagree")
    if sorted(inner) != sorted(body.inputs) or written(loop) != list(body.outputs):
        raise wrong(program, f"loop `{loop.name}` and its body disagree")
    for _, outer, number, _, rows in given:
        if not alike(program.registers[outer].type, body.registers[number].type, rows):
            raise wrong(program, f"loop `{loop.name}`: register {outer} does not fit {number} of its body")
    for slot in loop.states:
        _verify_state(program, loop, slot)
    for _, number, result, rows in results:
        if result is not None and not alike(
            program.registers[result].type, body.registers[number].type, rows
        ):
            raise wrong(program, f"loop `{loop.name}`: register {result} does not hold its result")
    if not _is_number(program, loop.n_steps, "int64") or (
        loop.until is not None and not _is_number(body, loop.until, None)
    ):
        raise wrong(program, f"loop `{loop.name}`: its number of steps or its condition is no number")
    if loop.until is not None and any(slot.backwards for slot in loop.step_outputs):
        raise wrong(program, f"loop `{loop.name}` may end early, and lays rows backwards")
    if any(slot.over is not None for slot in loop.step_outputs):
        from scanviz.engine.program.rows_over import may_be_over

        if not may_be_over(program, loop):
            raise wrong(program, f"loop `{loop.name}` writes over rows that something else needs")
    for inside, _ in all_loops(body):
        if any(slot.over is not None for slot in inside.step_outputs):
            raise wrong(program, f"loop `{inside.name}` writes over rows that other steps need")


def _is_number(program: Program, number: int, dtype: str | None) -> bool:
    kind = program.registers[number].type
    return isinstance(kind, TensorType) and kind.ndim == 0 and dtype in (None, kind.dtype)


def _verify_state(program: Program, loop: LoopInstruction, slot: StateSlot) -> None:
    taps: Sequence[int] = [tap for tap, _ in (*slot.reads, *slot.writes)]
    body = loop.body
    rows = program.registers[slot.outer].type
    numbers = [number for _, number in (*slot.reads, *slot.writes)]
    dropped = int(slot.kind != "sitsot")
    fit = all(alike(rows, body.registers[number].type, dropped) for number in numbers)
    plain = slot.kind == "mitmot" or (
        [tap for tap, _ in slot.writes] == [0]
        and all(tap < 0 for tap, _ in slot.reads)
        and not slot.in_place
        and (slot.kind == "mitsot" or slot.offset == 1)
    )
    if not fit or not plain or slot.offset + min(taps) < 0 or (slot.keep_last or 0) < 0:
        raise wrong(
            program, f"loop `{loop.name}`: state `{slot.name}` has taps or rows that do not go together"
        )


def _verify_branch(program: Program, branch: BranchInstruction) -> None:
    for inside, reads in branch.sides:
        verify_types(inside)
        _in_range(program, reads)
        given = [program.registers[number].type for number in reads]
        wanted = [inside.registers[number].type for number in inside.inputs]
        results = [inside.registers[number].type for number in inside.outputs]
        outer = [program.registers[number].type for number in branch.outputs]
        fit = len(given) == len(wanted) and all(map(alike, given, wanted))
        if not fit or len(results) != len(outer) or not all(map(alike, results, outer)):
            raise wrong(program, f"the sides of ifelse do not fit: `{inside.name}`")
    if not {branch.condition, *branch.then_inputs, *branch.else_inputs} <= {*branch.inputs}:
        raise wrong(program, "ifelse reads registers that are not among its inputs")
