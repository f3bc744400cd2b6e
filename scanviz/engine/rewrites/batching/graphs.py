"""A whole graph over a new leading axis: node by node from the table, loops with batched states, the rest row by row.

A node that reads nothing with the axis stays as it is; so do sizes of rows, which are the same for all.  An operation without a
batched meaning, or a form of one, is done in a loop over the axis: the right numbers, slowly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from scanviz.engine.errors import ScanvizNotImplementedError
from scanviz.engine.graph.meaning_table import MeaningTable
from scanviz.engine.graph.nodes import Apply, Constant, Variable, build, describe, rebuild, tensor_type
from scanviz.engine.graph.provenance import made_by
from scanviz.engine.graph.replace import replace
from scanviz.engine.graph.traversal import depending_on, toposort
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.control import IFELSE
from scanviz.engine.ops.index import getitem
from scanviz.engine.ops.shape import dimshuffle
from scanviz.engine.ops.sizes import substituted
from scanviz.engine.ops.symbolic_shape import shape_of
from scanviz.engine.rewrites.batching.operations import batched, repeated
from scanviz.engine.scan.dependence import has_effect
from scanviz.engine.scan.loop import Scan
from scanviz.engine.scan.settings import ScanSettings
from scanviz.engine.scan.variables import LoopVariable, NonSequence, StepOutput
from scanviz.engine.scan.variables import Sequence as LoopSequence
from scanviz.engine.sizes.dims import Dim
from scanviz.engine.sizes.polynomial import Polynomial, Unknown


class BatchedRows(NamedTuple):
    """A variable of the batched graph, and whether it has the leading axis."""

    variable: Variable
    batched: bool


class RaggedError(Exception):
    """A value has another shape in each row, or a branch must not be taken in some: all is to be done row by row."""


Known = Mapping[Variable, BatchedRows]
# results(node, inputs, size of the axis) → all results, some perhaps without the axis; None for a form that has no such meaning
RESULTS: MeaningTable[Callable[[Apply, Sequence[BatchedRows], Variable], list[BatchedRows] | None]] = (
    MeaningTable("results over a new axis", "engine/rewrites/batching/results.py")
)


def batched_graph(outputs: Sequence[Variable], known: Known, count: Variable) -> list[BatchedRows]:
    """Return outputs for replaced variables; some replacements have one more leading axis.

    Parameters
    ----------
    outputs : sequence of Variable
        The graph.
    known : mapping of Variable to BatchedRows
        Replacements of its variables.
    count : Variable
        The size of the axis, int64 scalar.

    Raises
    ------
    RaggedError
        If a value has another shape in each row.
    ScanvizNotImplementedError
        If an operation needs rows of what has none.
    """
    found = dict(known)
    _check_branches(outputs, known)
    for node in toposort(outputs, known):
        given = [found.get(variable, BatchedRows(variable, False)) for variable in node.inputs]
        if any(new.variable is not old for new, old in zip(given, node.inputs, strict=True)):
            with made_by("vmap", node.provenance, (node.node_id,)):
                results = _batched_node(node, given, count)
            found.update(zip(node.outputs, results, strict=True))
    return [found.get(output, BatchedRows(output, False)) for output in outputs]


def _check_branches(outputs: Sequence[Variable], known: Known) -> None:
    """Raise where a row chooses between branches that may fail, print or check: one that is not taken must be left alone."""
    nodes = [node for node in toposort(outputs, known) if node.op.declaration is IFELSE]
    if not nodes:
        return
    depending = depending_on([old for old, rows in known.items() if rows.batched], outputs)
    for node in nodes:
        inside = [apply for apply in toposort(node.inputs[1:], known) if apply.outputs[0] in depending]
        if node.inputs[0] in depending and any(node.op.facts.raises or has_effect(node) for node in inside):
            raise RaggedError


def with_axis(rows: BatchedRows, count: Variable) -> Variable:
    """Return a variable with the leading axis, which it gets where it has none."""
    return rows.variable if rows.batched else repeated(rows.variable, count)


def axes_swapped(value: Variable) -> Variable:
    """Return an array with its first two axes exchanged."""
    return dimshuffle(value, 1, 0, *range(2, tensor_type(value).ndim))


def _batched_node(node: Apply, given: Sequence[BatchedRows], count: Variable) -> list[BatchedRows]:
    """Return the results of a node over other inputs."""
    inputs, rows = (
        [batched_rows.variable for batched_rows in given],
        [batched_rows.batched for batched_rows in given],
    )
    if not any(rows):
        return [BatchedRows(output, False) for output in rebuild(node, inputs).outputs]
    special = RESULTS.get(node.op.declaration)
    results = None if special is None else special(node, given, count)
    if results is not None:
        return results
    found = batched(node, inputs, rows)
    return row_by_row(node, given, count) if found is None else [BatchedRows(found, True)]


def row_by_row(node: Apply, given: Sequence[BatchedRows], count: Variable) -> list[BatchedRows]:
    """Return the results of a node for each row, by a loop over them."""
    for batched_rows, old in zip(given, node.inputs, strict=True):
        if batched_rows.batched and not isinstance(old.type, TensorType):
            raise ScanvizNotImplementedError(
                f"vmap: `{describe(old)}` has no rows, which `{node.op.name}` would need",
                where=node.provenance.source,
                fix=f"a row in {RESULTS.places[0]}",
            )
    arrays = [output for output in node.outputs if isinstance(output.type, TensorType)]
    known = dict(zip(node.inputs, given, strict=True))
    if any(_is_ragged(array, known) for array in arrays):
        raise RaggedError
    name = node.op.scan_name if isinstance(node.op, Scan) else node.op.name
    found = dict(zip(arrays, looped(arrays, known, count, name), strict=True))
    if len(found) < len(node.outputs):  # the state after a draw depends on no values: that of any row
        first = rebuild(
            node,
            [
                getitem(batched_rows.variable, 0) if batched_rows.batched else batched_rows.variable
                for batched_rows in given
            ],
        )
        found.update(
            (old, BatchedRows(new, False))
            for old, new in zip(node.outputs, first.outputs, strict=True)
            if old not in found
        )
    return [found[output] for output in node.outputs]


def _is_ragged(variable: Variable, known: Known) -> bool:
    """Return whether a node's result may have another size in each row: sizes follow from values that rows differ in."""
    batched = [old for old, rows in known.items() if rows.batched]

    def in_every_row(unknown: Unknown) -> Dim:
        source, axis = unknown
        if axis is not None:
            same = source in known  # else nobody knows it before it is computed
        else:
            same = source not in depending_on(batched, [source])
        return Polynomial.of(unknown) if same else None

    return None in [substituted(size, in_every_row) for size in shape_of(variable)]


def looped(outputs: Sequence[Variable], known: Known, count: Variable, name: str) -> list[BatchedRows]:
    """Compute outputs for each row by a loop over the rows."""
    depending = depending_on([old for old, rows in known.items() if rows.batched], outputs)
    variables: list[LoopVariable] = []
    outer: list[Variable] = []
    inner: dict[Variable, Variable] = {}

    def give(old: Variable, rows: BatchedRows) -> None:
        if isinstance(rows.variable, Constant) and not rows.batched:
            inner[old] = rows.variable
            return
        own = inner[old] = Variable(old.type if rows.batched else rows.variable.type, old.name)
        called = old.name or describe(old)
        variables.append(LoopSequence(called, own) if rows.batched else NonSequence(called, own))
        outer.append(rows.variable)

    for old, rows in known.items():
        give(old, rows)
    for node in toposort(outputs, known):
        for variable in node.inputs:
            if node.outputs[0] in depending and variable not in depending and variable not in inner:
                give(variable, BatchedRows(variable, False))
    wanted = [output for output in outputs if output in depending]
    steps = replace(wanted, inner, check=False)
    variables += [
        StepOutput(old.name or f"{name} {k}", new)
        for k, (old, new) in enumerate(zip(wanted, steps, strict=True))
    ]
    loop = Scan(variables, None, ScanSettings(f"vmap of {name}"))
    results = iter(build(loop, [count, *outer], [variable.name for variable in wanted]))
    return [
        BatchedRows(next(results), True)
        if output in depending
        else known.get(output, BatchedRows(output, False))
        for output in outputs
    ]
