"""Forward mode through a loop: each value's tangent is carried beside it.

For each loop variable that a tangent reaches, the loop gets one more of the same kind.  A sequence of tangents stands beside a
sequence, a state of tangents with the same taps beside a state.  Values and tangents of one step come from the same step, so
nothing is kept from step to step that the loop would not keep anyway, and a stop condition ends both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scanviz.engine.gradient.loops.connection import downstream
from scanviz.engine.gradient.sweeps.forward import push_forward
from scanviz.engine.gradient.table import (
    PUSHFORWARDS,
    Arriving,
    Derivative,
    Derivatives,
    Undefined,
    zeros_like,
)
from scanviz.engine.graph.nodes import Apply, Variable, build
from scanviz.engine.scan.loop import SCAN, Scan, ScanView, loop_of
from scanviz.engine.scan.variables import (
    LoopVariable,
    NonSequence,
    State,
    StepOutput,
    has_outer_input,
    has_outer_output,
    inner_inputs,
    inner_outputs,
)
from scanviz.engine.scan.variables import Sequence as LoopSequence

Tangents = Mapping[Variable, Derivative]


@PUSHFORWARDS.row(SCAN)
def _pushforward(node: Apply, tangents: Arriving) -> Derivatives:
    op, view = loop_of(node), ScanView(node)
    pairs = zip(op.readers, tangents[1:], strict=True)
    given = {reader: value for reader, value in pairs if value is not None}
    reached = downstream(op, list(given))
    moving = [variable for variable in op.variables if variable in reached]
    inner = {
        read: Variable(read.type, f"tangent_{read.name or variable.name}")
        for variable in moving
        for read in inner_inputs(variable)
    }
    results = list(dict.fromkeys(result for variable in moving for result in inner_outputs(variable)))
    pushed = dict(zip(results, push_forward(inner, results), strict=True))
    undefined = _undefined(op, moving, pushed)
    tangent_of = {
        variable: tangent
        for variable in moving
        if (tangent := _tangent_of(variable, inner, pushed)) is not None
    }
    outer = [
        _outer(view, variable, given) for variable, tangent in tangent_of.items() if has_outer_input(tangent)
    ]
    fresh = Scan(
        [*op.variables, *tangent_of.values()], op.until, op.settings.renamed(f"rop_of_{op.settings.name}")
    )
    result_variables = [variable for variable in tangent_of if has_outer_output(variable)]
    names = [output.name for output in (*node.outputs,)] + [
        tangent_of[variable].name for variable in result_variables
    ]
    made = build(fresh, [*node.inputs, *outer], names)[len(node.outputs) :]
    found: dict[LoopVariable, Derivative] = {**dict(zip(result_variables, made, strict=True)), **undefined}
    return [found.get(variable) for variable in op.result_variables]


def _outer(view: ScanView, variable: LoopVariable, given: Mapping[LoopVariable, Variable]) -> Variable:
    """Return the tangent of a loop variable's outer input; zeros if there is none."""
    tangent = given.get(variable)
    return tangent if tangent is not None else zeros_like(view.outer(variable))


def _tangent_of(
    variable: LoopVariable, inner: Mapping[Variable, Variable], pushed: Tangents
) -> LoopVariable | None:
    """Return the loop variable that carries another's tangent, or None if it is zero at every step."""
    name = f"tangent_{variable.name}"

    def tangent(result: Variable) -> Variable:
        found = pushed[result]
        return found if isinstance(found, Variable) else zeros_like(result)

    match variable:
        case LoopSequence():
            return LoopSequence(name, inner[variable.slice], variable.tap, variable.argument)
        case NonSequence():
            return NonSequence(name, inner[variable.variable])
        case State():
            reads = {tap: inner[read] for tap, read in variable.reads.items()}
            return State(name, reads, {tap: tangent(result) for tap, result in variable.writes.items()})
        case StepOutput():
            return StepOutput(name, tangent(variable.value)) if pushed[variable.value] is not None else None
        case _:
            return None


def _undefined(op: Scan, moving: Sequence[LoopVariable], pushed: Tangents) -> dict[LoopVariable, Undefined]:
    """Return the results without a tangent: their own, or because of a state without one."""
    found: dict[LoopVariable, Undefined] = {}
    for variable in moving:
        for result in inner_outputs(variable):
            why = pushed[result]
            if isinstance(why, Undefined):
                found.update(dict.fromkeys(downstream(op, [variable]), why))
    return found
