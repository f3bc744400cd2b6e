"""Operations over a new axis beside the table: results without the axis, several results, forms that no rule of loops moves.

Sizes of rows are the same for all of them, so they have no axis, and what reads nothing else has none.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import Apply, Variable, build, build_one, tensor_type
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.assign import ASSIGN
from scanviz.engine.ops.control import IFELSE
from scanviz.engine.ops.creation import arange
from scanviz.engine.ops.decompose import EIGH, QR, SVD
from scanviz.engine.ops.factorise import SLOGDET
from scanviz.engine.ops.index import INDEX, LAST_ROW, STATE_HISTORY, getitem
from scanviz.engine.ops.index_pattern import INPUT, WHOLE, IndexParameters, is_basic
from scanviz.engine.ops.reduce import SUM_TO_SHAPE
from scanviz.engine.ops.shape import DIMENSION, dimension
from scanviz.engine.ops.size_checks import FIRST_ROWS, SPECIFY_SHAPE, specify_shape
from scanviz.engine.ops.subgraph import SUBGRAPH, Subgraph
from scanviz.engine.rewrites.batching.graphs import (
    RESULTS,
    BatchedRows,
    axes_swapped,
    batched_graph,
    with_axis,
)
from scanviz.engine.rewrites.batching.operations import widened

Results = list[BatchedRows] | None


def _all(variable: Variable) -> list[BatchedRows]:
    return [BatchedRows(variable, True)]


@RESULTS.row(DIMENSION)
def _size(node: Apply, given: Sequence[BatchedRows], count: Variable) -> Results:
    return [BatchedRows(dimension(given[0].variable, node.op.parameters.axis + 1), False)]


@RESULTS.row(SPECIFY_SHAPE)
def _specified(node: Apply, given: Sequence[BatchedRows], count: Variable) -> Results:
    if any(batched_rows.batched for batched_rows in given[1:]):
        return None
    return _all(
        specify_shape(given[0].variable, [count, *(batched_rows.variable for batched_rows in given[1:])])
    )


@RESULTS.row(SUM_TO_SHAPE)
def _sum_to_shape(node: Apply, given: Sequence[BatchedRows], count: Variable) -> Results:
    if any(batched_rows.batched for batched_rows in given[1:]):
        return None
    return _all(
        build_one(node.op, given[0].variable, count, *(batched_rows.variable for batched_rows in given[1:]))
    )


@RESULTS.row(IFELSE)
def _chosen(node: Apply, given: Sequence[BatchedRows], count: Variable) -> Results:
    """Return the branches of a condition that is the same for all rows; one that is not is asked row by row."""
    test, *branches = given
    if test.batched or any(not isinstance(branch.variable.type, TensorType) for branch in branches):
        return None
    made = build(node.op, [test.variable, *(with_axis(branch, count) for branch in branches)])
    return [BatchedRows(variable, True) for variable in made]


@RESULTS.row(FIRST_ROWS)
def _first_rows(node: Apply, given: Sequence[BatchedRows], count: Variable) -> Results:
    rows, steps = given
    if steps.batched:
        return None
    return _all(axes_swapped(build_one(node.op, axes_swapped(rows.variable), steps.variable)))


@RESULTS.row(LAST_ROW)
def _last_row(node: Apply, given: Sequence[BatchedRows], count: Variable) -> Results:
    rows, initial = (with_axis(batched_rows, count) for batched_rows in given)
    return _all(build_one(node.op, axes_swapped(rows), initial))


@RESULTS.row(STATE_HISTORY)
def _state_history(node: Apply, given: Sequence[BatchedRows], count: Variable) -> Results:
    rows, initial = (with_axis(batched_rows, count) for batched_rows in given)
    if tensor_type(rows).ndim == tensor_type(initial).ndim:
        initial = axes_swapped(initial)
    return _all(axes_swapped(build_one(node.op, axes_swapped(rows), initial)))


@RESULTS.row(ASSIGN)
def _assigned(node: Apply, given: Sequence[BatchedRows], count: Variable) -> Results:
    """Return rows with the same place of each written, by slices and integers that are the same for all."""
    entries = node.op.parameters.pattern.entries
    if any(batched_rows.batched for batched_rows in given[2:]) or not is_basic(node.op.parameters.pattern):
        return None
    integers = sum(entry.kind == "integer" for entry in entries)
    new = sum(entry.kind == "newaxis" for entry in entries)
    value = given[1].variable
    if given[1].batched:
        value = widened(value, tensor_type(node.inputs[0]).ndim - integers + new)
    pattern = IndexParameters((WHOLE, *entries))
    op = Op(ASSIGN, node.op.parameters._replace(pattern=pattern))
    return _all(
        build_one(
            op, with_axis(given[0], count), value, *(batched_rows.variable for batched_rows in given[2:])
        )
    )


@RESULTS.row(INDEX)
def _picked(node: Apply, given: Sequence[BatchedRows], count: Variable) -> Results:
    """Return one element, or row, of each row, by an integer a row; other forms are the table's."""
    first, *rest = node.op.parameters.entries
    by_integer = first.kind == "integer" and first.start == INPUT and len(given) == 2
    if (
        not by_integer
        or not all(batched_rows.batched for batched_rows in given)
        or any(part != WHOLE for part in rest)
    ):
        return None
    return _all(getitem(given[0].variable, (arange(count), given[1].variable)))


@RESULTS.row(EIGH, QR, SVD, SLOGDET)
def _of_matrices(node: Apply, given: Sequence[BatchedRows], count: Variable) -> Results:
    """Return the results of matrices in a stack."""
    return [BatchedRows(variable, True) for variable in build(node.op, [given[0].variable])]


@RESULTS.row(SUBGRAPH)
def _operations(node: Apply, given: Sequence[BatchedRows], count: Variable) -> Results:
    """Return the operations of a subgraph over all rows; one with a derivative of its own is applied row by row, which keeps it."""
    op = node.op
    assert isinstance(op, Subgraph)
    if op.pullback is not None:
        return None
    return batched_graph(op.results, dict(zip(op.inputs, given, strict=True)), count)
