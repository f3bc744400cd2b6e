"""Where views begin and how far their elements lie apart, as far as that follows from shapes and numbers that are known.

It is NumPy's own answer: the operation's meaning on an array of that shape and those strides, which no element is read of.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from scanviz.engine.errors import ScanvizError
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.shape import RESHAPE
from scanviz.engine.program.instructions import Instruction
from scanviz.engine.program.plan.draft import Draft
from scanviz.engine.program.plan.location import is_unchanged, packed

Strides = tuple[int, ...] | None


def is_whole(draft: Draft, instruction: Instruction) -> bool:
    """Return whether an instruction gives the very array that it takes, for the shapes that are known."""
    if instruction.outputs[0] in draft.located or draft.leaves_group(instruction):
        return False
    return is_unchanged(instruction, draft.shapes)


def is_surely_view(draft: Draft, instruction: Instruction) -> bool:
    """Return whether a result shares the memory of what it is taken from for sure, wherever that lies."""
    return instruction.op.facts.always_view or is_whole(draft, instruction)


def view_of(draft: Draft, instruction: Instruction, strides: Strides) -> tuple[int | None, Strides] | None:
    """Return where a view begins, in bytes from the start of its source, and its strides; None if it may be no view.

    Parameters
    ----------
    draft : Draft
        Shapes and sizes.
    instruction : Instruction
        One whose declaration says that its result may share the memory of an input.
    strides : tuple of int or None
        Those of the source.
    """
    declaration = instruction.op.declaration
    source, *others = instruction.inputs
    sure, shape = is_surely_view(draft, instruction), draft.shapes[source]
    wanted, kind = draft.shapes[instruction.outputs[0]], draft.program.registers[source].type
    if shape is None or strides is None or wanted is None or not isinstance(kind, TensorType):
        return (None, None) if sure else None
    if is_whole(draft, instruction):
        return 0, strides
    itemsize = np.dtype(kind.dtype).itemsize
    if declaration is RESHAPE:  # of what lies in order it is a view; elsewhere that is NumPy's to say
        return (0, packed(wanted, itemsize)) if strides == packed(shape, itemsize) else None
    given = [_number(draft, other) for other in others]
    if not sure or any(number is None for number in given):
        return (None, None) if sure else None
    stand_in = as_strided(np.zeros((), kind.dtype), shape, strides, writeable=False)
    try:
        found = np.asarray(instruction.op.perform([stand_in, *given])[0])
    except (ScanvizError, ValueError, IndexError):  # it is an error when it is run
        return None, None
    if not found.size or not stand_in.size:
        return 0, tuple(found.strides)
    return _address(found) - _address(stand_in), tuple(found.strides)


def _number(draft: Draft, number: int) -> Any:
    """Return the value of an input of an index where it is known, None elsewhere."""
    size = draft.sizes.get(number)
    return draft.program.constants.get(number) if size is None else np.int64(size)


def _address(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
