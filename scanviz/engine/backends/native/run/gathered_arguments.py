"""Gather the arguments of a loop's code: arrays and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scanviz.engine.backends.native.emit.call_arguments import CallArguments
from scanviz.engine.backends.native.run.counts import table
from scanviz.engine.errors import OutOfMemoryError
from scanviz.engine.graph.nodes import Array
from scanviz.engine.program.instructions import LoopInstruction
from scanviz.engine.runtime.arena import LoopArena
from scanviz.engine.runtime.buffer_pool import lent_bytes

_NOTHING = np.empty(0)


def gathered(
    arguments: CallArguments, arena: LoopArena, buffers: Sequence[Any]
) -> tuple[list[Array], list[int]]:
    """Return the arrays and the numbers of one run.

    Parameters
    ----------
    buffers : sequence of array
        The buffers of the code's plan.
    """
    _put_in_order(arena)
    numbers = [sequence.strides[0] for sequence in arena.sequences]
    for state in arena.states:
        if not state.array.flags.c_contiguous:  # a buffer that a mit-mot overwrites
            state.array = np.ascontiguousarray(state.array)
        numbers.append(state.size)
    numbers += [max(output.size, 1) for output in arena.outputs]
    given = {
        "sequence": arena.sequences,
        "state": [state.array for state in arena.states],
        "output": [output.array for output in arena.outputs],
        "fixed": [
            np.ascontiguousarray(value) for value in arena.fixed
        ],  # a scalar is an array of one element
        "buffer": buffers,
        "carry": [np.array(value) for value in arena.carried],
        "stamps": [getattr(arena.record, "numbers", None)],
    }
    return argument_arrays(arguments, given), numbers


def argument_arrays(arguments: CallArguments, given: Mapping[str, Sequence[Any]]) -> list[Array]:
    """Return the arrays whose addresses are arguments, in order.

    Parameters
    ----------
    given : mapping
        Kind of a base → the arrays of that kind by number; other arrays are made here.
    """
    arrays: list[Array] = []
    for base in arguments.addresses:
        kind, k, _ = base
        if kind in given:
            arrays.append(given[kind][k])
        elif base in arguments.constants:
            arrays.append(arguments.constants[base])
        elif kind == "report":
            arrays.append(np.zeros(arguments.reported, np.int64))
        elif kind == "counts":
            arrays.append(table(arguments.counted))
        else:
            arrays.append(_NOTHING if kind == "called" else lent_bytes(max(arguments.scratch, 1)))
    return arrays


def _put_in_order(arena: LoopArena) -> None:
    """Make rows of sequences and non-sequences contiguous, once per run.

    The stride between rows may be any.
    """
    loop = arena.loop
    for k, sequence in enumerate(arena.sequences):
        if not (sequence.flags.c_contiguous or (len(sequence) and sequence[0].flags.c_contiguous)):
            arena.sequences[k] = _in_order(sequence, loop, loop.sequences[k].name)
    for k, value in enumerate(arena.fixed):
        if not value.flags.c_contiguous:
            arena.fixed[k] = _in_order(value, loop, loop.non_sequences[k].name)


def _in_order(value: Array, loop: LoopInstruction, name: str) -> Array:
    """Return a contiguous array; an error without memory names the array."""
    try:
        return np.ascontiguousarray(value)
    except MemoryError as error:
        from scanviz.engine.runtime.wording import amount  # only needed for errors

        raise OutOfMemoryError(
            f"loop `{loop.name}` needs {amount(str(error))} for a copy of `{name}`, whose numbers do not lie side by side",
            expected="as much memory as there is",
            fix="np.ascontiguousarray of what you pass, which is then not copied, or numpy as the mode of this loop",
        ) from None
