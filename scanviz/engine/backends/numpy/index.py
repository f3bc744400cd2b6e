"""NumPy source of indexing: the index itself, as a Python programmer would write it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scanviz.engine.backends.numpy.emit import EMIT, EmitRow, Emitter, never, nowhere
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.index_pattern import INPUT, Entry, IndexParameters
from scanviz.engine.program.instructions import Instruction


def index_source(parameters: IndexParameters, inputs: Sequence[str]) -> str:
    """Return the text between the brackets."""
    given = iter(inputs)
    parts = [_part(each, given) for each in parameters.entries]
    while len(parts) > 1 and parts[-1] == ":":
        parts.pop()
    return ", ".join(parts)


def _part(entry: Entry, given: Iterator[str]) -> str:
    if entry.kind == "newaxis":
        return "None"
    if entry.kind == "array":
        return next(given)
    numbers = [
        next(given) if each == INPUT else "" if each is None else str(each) for each in entry.numbers()
    ]
    if entry.kind == "integer":
        return numbers[0]
    return ":".join(numbers) if numbers[2] else ":".join(numbers[:2])


def _index(emitter: Emitter, instruction: Instruction, inputs: Sequence[str], out: str | None) -> str:
    return f"{inputs[0]}[{index_source(instruction.op.parameters, inputs[1:])}]"


EMIT.row(INDEX)(EmitRow(_index, never, nowhere))
