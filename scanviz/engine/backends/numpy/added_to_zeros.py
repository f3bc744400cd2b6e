"""Rows added to zeros: the cotangent of a sequence of which a loop reads the first rows.

A call alone knows how many these are: mostly all, and what a loop made for this alone is the sum already.  The array of zeros is
never written to then: the system gives memory for what is written, and what takes its place is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from scanviz.engine.ops.shape import ALLOC
from scanviz.engine.program.instructions import AnyInstruction, Instruction, LoopInstruction, Program
from scanviz.engine.program.lifetimes import last_uses
from scanviz.engine.rewrites.arithmetic.identities import is_positive_zero

if TYPE_CHECKING:
    from scanviz.engine.backends.source.emitter import Emitter
    from scanviz.engine.graph.nodes import Array


def added_statements(emitter: Emitter, instruction: Instruction, zeros: str) -> list[str] | None:
    """Return the lines that add rows to zeros that nothing else holds, None where the rows may not take their place."""
    program = emitter.program
    source, value, *numbers = instruction.inputs
    parameters = instruction.op.parameters
    if not parameters.increment or not all(_counts_up(entry) for entry in parameters.pattern.entries):
        return None
    found = _found(emitter)
    if not _is_zeros(found.makers.get(source), program) or not _is_nobody_elses(found, instruction, value):
        return None
    place = parameters.pattern.written([emitter.name(number) for number in numbers])
    added = emitter.bind(_added, "added_to_zeros")
    return [f"{zeros} = {added}({zeros}, {zeros}{place}, {emitter.name(value)})"]


def _added(zeros: Array, place: Array, value: Any) -> Array:
    """Return zeros with a value added to a part of them: the value itself, where this is all of them."""
    whole = zeros.shape == place.shape == np.shape(value)
    if whole and value.dtype == zeros.dtype and value.flags.c_contiguous and value.flags.writeable:
        value += zeros.dtype.type(0)  # a zero has no sign after that
        return value  # type: ignore[no-any-return]  # an array
    place += value
    return zeros


def _counts_up(entry: Any) -> bool:
    """Return whether a part of an index is a slice that leaves the order as it is."""
    return entry.kind == "slice" and entry.step in (None, 1)


def _is_zeros(maker: Any, program: Program) -> bool:
    """Return whether an instruction makes an array of zeros."""
    if not isinstance(maker, Instruction) or maker.op.declaration is not ALLOC:
        return False
    value = program.constants.get(maker.inputs[0])
    return value is not None and value.dtype.kind in "fiuc" and value.shape == () and is_positive_zero(value)


def _is_nobody_elses(found: _Found, instruction: Instruction, value: int) -> bool:
    """Return whether a register looks into what a loop made of its steps, and nothing needs that after an instruction."""
    reached = [value]
    while isinstance(maker := found.makers.get(reached[-1]), Instruction):
        viewed = maker.op.declaration.views
        if viewed is None:
            return False
        reached.append(maker.inputs[viewed])
    if not isinstance(maker, LoopInstruction) or all(
        slot.result != reached[-1] for slot in maker.step_outputs
    ):
        return False
    at = found.at[instruction.outputs[0]]
    return all(found.last[number] <= at for number in reached)


class _Found(NamedTuple):
    """By register the instruction that makes it and its number, and the number of that which needs its memory last."""

    makers: Mapping[int, AnyInstruction]
    at: Mapping[int, int]
    last: Mapping[int, int]


def _found(emitter: Emitter) -> _Found:
    """Return what is known of a program's registers."""
    if "registers" not in emitter.notes:
        program = emitter.program
        made = [(number, k) for k, one in enumerate(program.instructions) for number in one.outputs]
        makers = {number: program.instructions[k] for number, k in made}
        emitter.notes["registers"] = _Found(makers, dict(made), last_uses(program))
    found: _Found = emitter.notes["registers"]
    return found
