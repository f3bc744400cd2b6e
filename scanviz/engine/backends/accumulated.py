"""Loops whose whole step adds a row to a state, or multiplies, or compares: prefix sums, which NumPy takes many steps of at once.

``ufunc.accumulate`` goes through the rows strictly in order, so it gives the bits that the steps give one by one.  It goes through
them an element at a time: where rows are wide the steps are as fast.  So is the backward loop of such a sum, whose state adds up
gradients in the array that it starts from.  This is a way to run a loop and no rewrite: the graph, the Program and all that is
shown of them keep the loop.

Limits: states that read the row before alone, of which all rows are kept or the last one; nothing else in the step but casts of
sequences that lose nothing.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from scanviz.engine.ops.elementwise import CAST
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.program.instructions import (
    Instruction,
    LoopInstruction,
    StateSlot,
    StepOutputSlot,
    dtype_of,
)
from scanviz.engine.program.plan import Plan, StoreKind

FEWEST = 32  # steps: fewer take about as long as calling NumPy once
MOST = (
    4096  # elements that are taken at once: they stay in the processor's cache, and ctrl+c is heard between
)
SHORTEST = 128  # steps, however many elements they have
WIDEST = 32  # elements of a row: of longer ones NumPy adds several at once in each step
_EITHER_WAY = (
    np.add,
    np.multiply,
    np.logical_and,
    np.logical_or,
    np.bitwise_and,
    np.bitwise_or,
    np.bitwise_xor,
)
_EXTREMES = (np.maximum, np.minimum)  # of zeros of either sign, or of NaN, the first is taken
_AS_WRITTEN = (*_EITHER_WAY, *_EXTREMES, np.subtract)
_KEPT = (StoreKind.WHOLE, StoreKind.PAIR, StoreKind.SINGLE, StoreKind.HELD)
STEP_NS, ELEMENT_NS = 0.5, 3.7  # about what a step takes so, and an element of it


class Accumulated(NamedTuple):
    """What accumulates a state.

    Attributes
    ----------
    ufunc : numpy.ufunc
        Gives a row from the one before and what is added.
    sequence : int or None
        Position of the sequence whose rows are added; None of a mitmot, which adds to rows that are there.
    """

    ufunc: Any
    sequence: int | None


def accumulated(loop: LoopInstruction, plan: Plan) -> tuple[Accumulated, ...] | None:
    """Return how each state of a loop is accumulated, None where the steps are to be taken one by one.

    Examples
    --------
    >>> import numpy as np
    >>> import scanviz
    >>> from scanviz import tensor as T
    >>> x = T.vector("x")
    >>> for step in (lambda x_t, h: h + x_t, lambda x_t, h: h + x_t * h):
    ...     f = scanviz.function([x], scanviz.scan(step, x, 0.0)[0], mode="numpy")
    ...     _ = f(np.ones(5))
    ...     [loop] = [part for part in f.program.instructions if hasattr(part, "body")]
    ...     accumulated(loop, f.memory_plans()[loop.key])
    (Accumulated(ufunc=<ufunc 'add'>, sequence=0),)
    """
    if loop.until is not None or loop.carries or not loop.states or plan.mismatch is not None:
        return None
    made: dict[int, Instruction] = {}
    for part in loop.body.instructions:
        if not isinstance(part, Instruction) or len(part.outputs) != 1:
            return None
        made[part.outputs[0]] = part
    found = [_of_state(loop, plan, k, slot, made) for k, slot in enumerate(loop.states)]
    if None in found or not all(_is_row(loop, plan, k, slot) for k, slot in enumerate(loop.step_outputs)):
        return None
    written = {slot.writes[0][1] for slot in loop.states}
    casts = [part for number, part in made.items() if number not in written]
    if len(written) < len(found) or any(part.op.declaration is not CAST for part in casts):
        return None
    return tuple(how for how in found if how is not None)


def steps_at_once(loop: LoopInstruction, plan: Plan) -> int:
    """Return how many steps are taken at once at most."""
    return max(SHORTEST, MOST // max(1, sum(_elements(plan, k) for k in range(len(loop.states)))))


def run_ns(loop: LoopInstruction, plan: Plan) -> float | None:
    """Return about how many nanoseconds a step takes on NumPy in a long run, None where steps are taken one by one."""
    if accumulated(loop, plan) is None:
        return None
    return sum(STEP_NS + ELEMENT_NS * _elements(plan, k) for k in range(len(loop.states)))


def _elements(plan: Plan, k: int) -> int:
    return prod(plan.stores["state", k].row or ())


def _of_state(
    loop: LoopInstruction, plan: Plan, k: int, slot: StateSlot, made: dict[int, Instruction]
) -> Accumulated | None:
    store, body = plan.stores["state", k], loop.body
    if store.checked or store.row is None or _elements(plan, k) > WIDEST or len(slot.writes) != 1:
        return None
    update = made.get(slot.writes[0][1])
    if update is None or not isinstance(update.op.declaration, ElementwiseDeclaration):
        return None
    ufunc, inputs, reads = update.op.declaration.function, update.inputs, dict(slot.reads)
    dtypes = {dtype_of(body, number) for number in (*inputs, *update.outputs)}
    if ufunc not in _AS_WRITTEN or len(inputs) != 2 or dtypes != {store.dtype}:
        return None
    if slot.kind == "mitmot":
        taps = reads.keys() == {0, 1} and slot.writes[0][0] == 1 and store.kind is StoreKind.TAKEN
        before, further = (reads[0], reads[1]) if taps else (-1, -1)
    else:
        kept = slot.keep_last in (None, 1) or slot.result is None
        is_last = slot.offset == 1 and reads.keys() == {-1} and store.kind in _KEPT and kept
        before = reads[-1] if is_last and slot.writes[0][0] == 0 else -1
        further = next((number for number in inputs if number != before), before)
    either = ufunc in _EITHER_WAY or (ufunc in _EXTREMES and np.dtype(store.dtype).kind != "f")
    if inputs != (before, further) and not (either and inputs == (further, before)):
        return None
    if slot.kind == "mitmot":
        return Accumulated(ufunc, None)
    sequences = {entry.inner: place for place, entry in enumerate(loop.sequences)}
    cast = made.get(further)
    if cast is not None and cast.op.declaration is CAST:
        (further,) = cast.inputs
        if not np.can_cast(dtype_of(body, further), store.dtype, "safe"):
            return None
    if further not in sequences or plan.places[further].shape != store.row:
        return None
    return Accumulated(ufunc, sequences[further])


def _is_row(loop: LoopInstruction, plan: Plan, k: int, slot: StepOutputSlot) -> bool:
    """Return whether a step output is not kept, or all its rows are those of a state: before the step, or after it."""
    store = plan.stores["output", k]
    if store.kind is StoreKind.NONE or slot.result is None:
        return True
    if store.checked or store.row is None or slot.keep_last is not None:
        return False
    return row_of(loop, slot.inner) is not None


def row_of(loop: LoopInstruction, number: int) -> tuple[int, bool] | None:
    """Return of which state a register is the row, and whether it is the one that the step has written; None if of none.

    A mitmot's row that is still to be added to is none: it is written over.
    """
    for k, slot in enumerate(loop.states):
        if number == slot.writes[0][1]:
            return k, True
        if number == dict(slot.reads).get(0 if slot.kind == "mitmot" else -1):
            return k, False
    return None
