"""A loop over a new leading axis: one loop whose rows have the axis, instead of a loop for each.

All take the same number of steps.  A loop whose number of steps, or whose end, differs from row to row is not batched so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scanviz.engine.graph.nodes import Apply, Variable, build, tensor_type
from scanviz.engine.graph.traversal import depending_on, leaves
from scanviz.engine.graph.types import TensorType, Type
from scanviz.engine.ops.shape import alloc, dimension, dimshuffle
from scanviz.engine.ops.support import constant_integer
from scanviz.engine.rewrites.batching.graphs import (
    RESULTS,
    BatchedRows,
    RaggedError,
    axes_swapped,
    batched_graph,
    with_axis,
)
from scanviz.engine.scan.loop import SCAN, Scan, ScanView
from scanviz.engine.scan.variables import (
    Carry,
    LoopVariable,
    NonSequence,
    State,
    Until,
    inner_inputs,
    inner_outputs,
    over,
)


@RESULTS.row(SCAN)
def batched_loop(node: Apply, given: Sequence[BatchedRows], count: Variable) -> list[BatchedRows] | None:
    """Return a loop's results over other inputs, or None if the loops of the rows end at different steps."""
    view = ScanView(node)
    op = view.op
    if given[0].batched:
        return None
    readers = [variable for variable in op.variables if view.outer_input(variable) is not None]
    outer = dict(zip(readers, given[1:], strict=True))
    wide = _with_axis(op, {variable for variable, rows in outer.items() if rows.batched})
    if any(isinstance(variable, Carry) for variable in wide):
        return None
    size = constant_integer(count)
    known = {
        inner: BatchedRows(
            Variable(_wider(inner.type, size) if variable in wide else inner.type, inner.name),
            variable in wide,
        )
        for variable in op.variables
        for inner in inner_inputs(variable)
    }
    inside = count if size is not None else Variable(count.type, "rows")  # the number of rows in the step
    try:
        results = dict(zip(op.inner_outputs, batched_graph(op.inner_outputs, known, inside), strict=True))
    except RaggedError:
        return None
    narrow = [inner for variable in op.variables if variable not in wide for inner in inner_outputs(variable)]
    narrow += [op.until.condition] if op.until is not None else []
    if any(results[variable].batched for variable in narrow):
        return None
    variables = [_rebuilt(variable, variable in wide, known, results, inside) for variable in op.variables]
    until = Until(results[op.until.condition].variable) if op.until is not None else None
    inputs = [_outer(reader, outer[reader], reader in wide, count) for reader in readers]
    read = [inner for variable in variables for inner in inner_outputs(variable)]
    read += [until.condition] if until is not None else []
    if inside is not count and inside in leaves(read):
        variables.append(NonSequence("rows", inside))
        inputs.append(count)
    made = build(
        Scan(variables, until, op.settings),
        [given[0].variable, *inputs],
        [output.name for output in node.outputs],
    )
    givers = op.result_variables
    return [
        BatchedRows(axes_swapped(result) if giver in wide else result, giver in wide)
        for giver, result in zip(givers, made, strict=True)
    ]


def _with_axis(op: Scan, first: set[LoopVariable]) -> set[LoopVariable]:
    """Return the loop variables that depend on some of them, from step to step too."""
    found = set(first)
    while True:
        changed = [inner for variable in found for inner in inner_inputs(variable)]
        reached = depending_on(changed, op.inner_outputs) | set(changed)
        more = {
            variable
            for variable in op.variables
            if variable not in found and any(inner in reached for inner in inner_outputs(variable))
        }
        if not more:
            return found
        found |= more


def _wider(kind: Type, size: int | None) -> Type:
    assert isinstance(kind, TensorType)
    return kind.with_shape((size, *kind.shape))


def _rebuilt(
    variable: LoopVariable,
    wide: bool,
    known: Mapping[Variable, BatchedRows],
    results: Mapping[Variable, BatchedRows],
    count: Variable,
) -> LoopVariable:
    """Return a loop variable over the variables of the new step."""

    def written(inner: Variable) -> Variable:
        return with_axis(results[inner], count) if wide else results[inner].variable

    return over(variable, lambda inner: known[inner].variable, written)


def _outer(variable: LoopVariable, rows: BatchedRows, wide: bool, count: Variable) -> Variable:
    """Return the outer input of a loop variable of the new loop; the steps' axis stays in front."""
    if not wide:
        return rows.variable
    if isinstance(variable, NonSequence) or (isinstance(variable, State) and variable.kind == "sitsot"):
        return with_axis(rows, count)
    if rows.batched:
        return axes_swapped(rows.variable)
    given = rows.variable
    sizes = [dimension(given, axis) for axis in range(tensor_type(given).ndim)]
    columns = dimshuffle(given, 0, "x", *range(1, len(sizes)))
    return alloc(columns, [sizes[0], count, *sizes[1:]])
