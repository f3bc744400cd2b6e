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


def part_of(each: LoopVariable | Until) -> GraphPart:
    """Return a loop variable or stop condition as plain data and the results of the step that it takes."""
    match each:
        case Sequence():
            return GraphPart(each, _sequence, (each.name, each.slice, each.tap, each.argument), ())
        case NonSequence():
            return GraphPart(each, _non_sequence, (each.name, each.variable, each.captured), ())
        case State():
            about = (each.name, dict(each.reads), tuple(each.writes), each.keep, each.shared)
            return GraphPart(each, _state, about, inner_outputs(each))
        case StepOutput():
            return GraphPart(each, _step_output, (each.name, each.keep), inner_outputs(each))
        case Carry():
            return GraphPart(each, _carry, (each.name, each.read, each.shared), inner_outputs(each))
        case Until():
            return GraphPart(each, _until, (), (each.condition,))


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
