"""Native code of what loops are asked for: their last row, and their rows with those they started from in front."""

from __future__ import annotations

from scanviz.engine.backends.native.instructions import (
    WRITE,
    Step,
    Writing,
    always,
    copy,
    finish,
    source_of,
    target_of,
)
from scanviz.engine.backends.native.places import must_fit
from scanviz.engine.ops.index import LAST_ROW, STATE_HISTORY
from scanviz.engine.program.instructions import Instruction


def _write_last_row(step: Step, instruction: Instruction) -> None:
    rows, initial = (source_of(step, number) for number in instruction.inputs)
    target = target_of(step, instruction)
    source = rows.row(rows.shape[0] - 1) if rows.shape[0] else initial
    must_fit(source.shape == target.shape)
    copy(step, source, target)
    finish(step, instruction, target)


def _write_history(step: Step, instruction: Instruction) -> None:
    rows, initial = (source_of(step, number) for number in instruction.inputs)
    target, offset = target_of(step, instruction), instruction.op.parameters.offset
    front = target.part(0, 0, offset)
    if len(initial.shape) < len(rows.shape):
        must_fit(initial.shape == rows.shape[1:])
        copy(step, initial, front.row(0))
    else:
        must_fit(initial.shape[0] >= offset and initial.shape[1:] == rows.shape[1:])
        copy(step, initial.part(0, 0, offset), front)
    copy(step, rows, target.part(0, offset, rows.shape[0]))


WRITE.row(LAST_ROW)(Writing(always, _write_last_row))
WRITE.row(STATE_HISTORY)(Writing(always, _write_history))
