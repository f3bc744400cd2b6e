"""What a run needs of its loop's plan: the sizes of buffers, and the rows that are made before the first step."""

from __future__ import annotations

from typing import NamedTuple

from scanviz.engine.program.instructions import StateSlot
from scanviz.engine.program.plan.location import Plan, StoreKind
from scanviz.engine.program.shapes import ConcreteShape


class RunMemory(NamedTuple):
    """What a run needs of a plan.

    Attributes
    ----------
    buffers : tuple of (shape, dtype)
        The buffers to make.
    arena : int
        Bytes of all buffers.
    outputs : tuple of shape or None
        Of each step output the shape of its rows; None where none are kept, or the first row that is stored says it.
    over : tuple of int or None
        Of each step output the sequence whose rows it may be written over.
    mismatch : tuple or None
        A state whose rows cannot have the shape that the step gives, and both shapes: an error of the first step.
    """

    buffers: tuple[tuple[tuple[int, ...], str], ...]
    arena: int
    outputs: tuple[ConcreteShape, ...]
    over: tuple[int | None, ...]
    mismatch: tuple[StateSlot, tuple[int, ...], tuple[int, ...]] | None = None


def run_memory(plan: Plan) -> RunMemory:
    """Return what a run of a loop needs of its plan."""
    outputs: list[ConcreteShape] = []
    over: list[int | None] = []
    while (store := plan.stores.get(("output", len(outputs)))) is not None:
        outputs.append(None if store.kind is StoreKind.NONE or store.checked else store.row)
        over.append(store.over)
    return RunMemory(plan.buffers, plan.arena, tuple(outputs), tuple(over), plan.mismatch)
