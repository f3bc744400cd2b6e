"""Inputs and outputs of a step, slot by slot: the one place that knows the order of a body's registers."""

from __future__ import annotations

from typing import NamedTuple

from scanviz.engine.program.instructions import (
    CarrySlot,
    LoopInstruction,
    NonSequenceSlot,
    SequenceSlot,
    StateSlot,
    StepOutputSlot,
)


class Passed(NamedTuple):
    """An input of a step.

    Attributes
    ----------
    slot : SequenceSlot, StateSlot, CarrySlot or NonSequenceSlot
        The slot between the registers.
    outer, inner : int
        Registers around the loop and of the body.
    tap : int
        The tap of the row; 0 where it is no row.
    rows : int
        Axes that the outer register has in front: 1 where the step is given a row of it.
    """

    slot: SequenceSlot | StateSlot | CarrySlot | NonSequenceSlot
    outer: int
    inner: int
    tap: int
    rows: int


class KeptRows(NamedTuple):
    """An output of a loop: a result, or a state with its initial rows in front.

    Attributes
    ----------
    slot : StateSlot, StepOutputSlot or CarrySlot
        Through which slot.
    inner, result : int, int or None
        Registers of the body and around the loop, None where nothing reads that.
    rows : int
        Axes that the outer register has in front.
    """

    slot: StateSlot | StepOutputSlot | CarrySlot
    inner: int
    result: int | None
    rows: int


def passed(loop: LoopInstruction) -> list[Passed]:
    """Return the inputs of a step, in the order of the body's inputs."""
    found = [Passed(slot, slot.outer, slot.inner, slot.tap, 1) for slot in loop.sequences]
    for state in loop.states:
        rows = int(state.kind != "sitsot")
        found += [Passed(state, state.outer, number, tap, rows) for tap, number in state.reads]
    found += [Passed(carry, carry.outer, carry.read, 0, 0) for carry in loop.carries]
    return [*found, *(Passed(slot, slot.outer, slot.inner, 0, 0) for slot in loop.non_sequences)]


def kept(loop: LoopInstruction) -> list[KeptRows]:
    """Return the outputs of a loop, slot by slot."""
    found: list[KeptRows] = []
    for state in loop.states:
        found += [KeptRows(state, state.writes[0][1], result, 1) for result in (state.result, state.history)]
    found += [KeptRows(output, output.inner, output.result, 1) for output in loop.step_outputs]
    return [*found, *(KeptRows(carry, carry.write, carry.result, 0) for carry in loop.carries)]


def written(loop: LoopInstruction) -> list[int]:
    """Return the results of a step: registers of the body, in the order of its outputs."""
    found = [number for state in loop.states for _, number in state.writes]
    found += [output.inner for output in loop.step_outputs]
    found += [carry.write for carry in loop.carries]
    return found if loop.until is None else [*found, loop.until]
