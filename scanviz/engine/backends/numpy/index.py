"""NumPy source of indexing and of setting elements: the index itself, as a Python programmer would write it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from scanviz.engine.backends.numpy.emit import EMIT, EmitRow, always
from scanviz.engine.backends.source.emitter import Emitter, tuple_text
from scanviz.engine.ops.index import INDEX, LAST_ROW
from scanviz.engine.ops.index_pattern import is_basic, numpy_index
from scanviz.engine.program.plan import overwritable

if TYPE_CHECKING:
    from scanviz.engine.program.instructions import Instruction


def _index(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    return f"{inputs[0]}{instruction.op.parameters.written(inputs[1:])}"


def _last(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    rows, initial = inputs
    return f"{rows}[-1] if len({rows}) else {initial}.copy()"


def _assign(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    if out is None:
        return emitter.plain_call(instruction) + "[0]"
    source, value, *numbers = inputs
    pattern = instruction.op.parameters.pattern
    place = pattern.written(numbers)
    copied = [] if out == source else [f"{emitter.bind(np.copyto, 'copyto')}({out}, {source})"]
    if not instruction.op.parameters.increment:
        written = f"{out}{place} = {value}"
    elif is_basic(pattern):
        written = f"{out}{place} += {value}"
    else:
        from scanviz.engine.ops.assign import add_at

        # slices have no source of their own in a call
        index = emitter.bind(partial(numpy_index, pattern), "places")
        written = f"{emitter.bind(add_at, 'add_at')}({out}, {index}({tuple_text(numbers)}), {value})"
    return "\n".join([*copied, written])


EMIT.row(INDEX)(EmitRow(_index))
EMIT.row(LAST_ROW)(EmitRow(_last))
EMIT.row("assign")(EmitRow(_assign, always, overwritable))
