"""Loop variables and stop conditions as parts of a loop that pickles take apart: plain data, and the results of the step."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from typing import Any

from scanviz.engine.graph.declaration import GraphPart
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.scan.variables import (
    Carry,
    LoopVariable,
    NonSequence,
    Sequence,
    State,
    StepOutput,
    Until,
    inner_outputs,
)


def part_of(role: LoopVariable | Until) -> GraphPart:
    """Return a loop variable or stop condition as plain data and the results of the step that it takes."""
    match role:
        case Sequence():
            return GraphPart(role, _sequence, (role.name, role.slice, role.tap, role.argument), ())
        case NonSequence():
            return GraphPart(role, _non_sequence, (role.name, role.variable, role.captured), ())
        case State():
            about = (role.name, dict(role.reads), tuple(role.writes), role.keep, role.shared)
            return GraphPart(role, _state, about, inner_outputs(role))
        case StepOutput():
            return GraphPart(role, _step_output, (role.name, role.keep), inner_outputs(role))
        case Carry():
            return GraphPart(role, _carry, (role.name, role.read, role.shared), inner_outputs(role))
        case Until():
            return GraphPart(role, _until, (), (role.condition,))


def _sequence(about: tuple[Any, ...], results: SequenceOf[Variable]) -> Sequence:
    return Sequence(*about)


def _non_sequence(about: tuple[Any, ...], results: SequenceOf[Variable]) -> NonSequence:
    return NonSequence(*about)


def _state(about: tuple[Any, ...], results: SequenceOf[Variable]) -> State:
    name, reads, taps, keep, shared = about
    return State(name, reads, dict(zip(taps, results, strict=True)), keep, shared)


def _step_output(about: tuple[Any, ...], results: SequenceOf[Variable]) -> StepOutput:
    name, keep = about
    return StepOutput(name, results[0], keep)


def _carry(about: tuple[Any, ...], results: SequenceOf[Variable]) -> Carry:
    name, read, shared = about
    return Carry(name, read, results[0], shared)


def _until(about: tuple[Any, ...], results: SequenceOf[Variable]) -> Until:
    return Until(results[0])
