"""Inline loops of one step and named subgraphs, and remove barriers to derivatives."""

from __future__ import annotations

from scanviz.engine.errors import some
from scanviz.engine.graph.nodes import Apply, Variable
from scanviz.engine.graph.replace import replace
from scanviz.engine.ops.control import DISCONNECTED_GRAD, GRAD_CLIP, ZERO_GRAD
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.subgraph import SUBGRAPH, in_place
from scanviz.engine.ops.support import constant_integer
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.loops.loop_facts import unchecked_reason
from scanviz.engine.rewrites.rule import Match, Refusal, rule
from scanviz.engine.scan.dependence import effects_of
from scanviz.engine.scan.loop import SCAN, ScanView
from scanviz.engine.scan.variables import (
    Carry,
    LoopVariable,
    State,
    inner_outputs,
)


@rule(name="inline_one_step", phase="loops", on=(SCAN,), single=True, tags=("scan",))
def inline_one_step(node: Apply, level: Level) -> Match | Refusal:
    """Replace a loop of exactly one step by the step."""
    view = ScanView(node)
    steps = constant_integer(view.n_steps)
    if steps != 1:
        known = "is not known when building" if steps is None else f"is {steps}"
        return Refusal(
            f"the number of steps of `{view.op.scan_name}` {known}, not 1", 0 if steps is None else 1
        )
    if effects_of(view.op):
        return Refusal(
            f"the step of `{view.op.scan_name}` prints or checks a value, with the number of the step", 2
        )
    from scanviz.engine.scan.unroll import (  # few loops take one step
        first_values,
        unchecked_sequence,
        unchecked_state,
    )

    unchecked = unchecked_sequence(view.op.variables, view.outer_input)
    if unchecked is not None:
        return Refusal(unchecked_reason(unchecked), 2)
    state = unchecked_state(view.op.variables, view.outer_input)
    if state is not None:
        return Refusal(f"only the loop checks that `{state.name}` starts from {some(state.offset, 'row')}", 2)
    values: dict[Variable, Variable] = {}
    for variable in view.op.variables:
        values.update(first_values(variable, view.outer_input(variable)))
    result_variables = view.op.result_variables
    wanted = [value for variable in result_variables for value in inner_outputs(variable)]
    computed = iter(replace(wanted, values, check=False))
    mapping: dict[Variable, Variable] = {}
    for variable in result_variables:
        results = [next(computed) for _ in inner_outputs(variable)]
        mapping[view.result(variable)] = _as_result(variable, results, view)
    return Match(mapping, f"`{view.op.scan_name}` takes one step: the step stands in its place")


def _as_result(variable: LoopVariable, values: list[Variable], view: ScanView) -> Variable:
    """Return the result that the loop would give."""
    if isinstance(variable, Carry):
        return values[0]
    if not isinstance(variable, State):
        return getitem(values[0], None)
    if variable.kind != "mitmot":
        from scanviz.engine.scan.unroll import row_of_one_step  # few loops take one step

        return getitem(row_of_one_step(variable, values[0], view.outer(variable), view.op.scan_name), None)
    rows = view.outer(variable)
    from scanviz.engine.ops.assign import set_subtensor

    for tap, value in zip(variable.writes, values, strict=True):
        rows = set_subtensor(getitem(rows, variable.offset + tap), value)
    return rows


@rule(name="inline_subgraphs", phase="gradient", on=(SUBGRAPH,), tags=("general",))
def inline_subgraphs(node: Apply, level: Level) -> Match:
    """Put the operations of a named subgraph in its place."""
    return Match(in_place(node), f"the operations of {node.op} stand in its place")


@rule(
    name="remove_barriers", phase="gradient", on=(DISCONNECTED_GRAD, ZERO_GRAD, GRAD_CLIP), tags=("general",)
)
def remove_barriers(node: Apply, level: Level) -> Match:
    """Replace a barrier to derivatives by its input."""
    return Match({node.outputs[0]: node.inputs[0]}, f"{node.op.name} is passed")
