"""Batched meanings: one operation over all rows at once instead of one a step.

A row ``row(node, inputs, rows)`` of the table gives the output for all rows.  ``inputs`` are the variables to compute with;
those marked in ``rows`` have a leading axis more than the node's.  It gives None where this form of the operation has no batched
meaning.  Operations of families that are imported late have their rows by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.meaning_table import MeaningTable
from scanviz.engine.graph.nodes import Apply, Variable, build_one, rank, tensor_type
from scanviz.engine.graph.provenance import moved_from
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops import reduce as r
from scanviz.engine.ops import shape as s
from scanviz.engine.ops.control import DISCONNECTED_GRAD, GRAD_CLIP, ZERO_GRAD
from scanviz.engine.ops.elementwise_declaration import ElementwiseDeclaration
from scanviz.engine.ops.index import INDEX
from scanviz.engine.ops.index_pattern import INPUT, WHOLE, IndexEntry, IndexParameters
from scanviz.engine.ops.join import CONCATENATE, concatenate
from scanviz.engine.ops.neural import LOG_SOFTMAX, SOFTMAX
from scanviz.engine.ops.size_checks import STATE_SHAPE
from scanviz.engine.ops.sizes import surely_equal
from scanviz.engine.ops.symbolic_shape import shape_of

Row = Callable[[Apply, Sequence[Variable], Sequence[bool]], Variable | None]
BATCHING: MeaningTable[Row] = MeaningTable("batched meaning", "engine/rewrites/batching/operations.py")


def batched(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    """Return the output of a node over a new leading axis, or None if it has no batched meaning.

    Parameters
    ----------
    node : Apply
        The operation on one row.
    inputs : sequence of Variable
        Replacements of its inputs.
    rows : sequence of bool
        True for each replacement with the leading axis.
    """
    row = BATCHING.get(node.op.declaration)
    if row is None or len(node.outputs) != 1 or not any(rows):
        return None
    if not all(isinstance(variable.type, TensorType) for variable in (*inputs, node.outputs[0])):
        return None
    with moved_from(node.provenance, node.node_id):
        found = row(node, inputs, rows)
    if found is None or tensor_type(found).ndim != tensor_type(node.outputs[0]).ndim + 1:
        return None
    return found


def widened(variable: Variable, ndim: int) -> Variable:
    """Return rows with axes of size 1 after the leading one, so that each row has ``ndim`` dimensions."""
    own = rank(variable) - 1
    if own >= ndim:
        return variable
    return s.dimshuffle(variable, [0, *["x"] * (ndim - own), *range(1, own + 1)])


def repeated(value: Variable, count: Variable) -> Variable:
    """Return a value in each row of a new leading axis."""
    return s.alloc(value, [count, *(s.dimension(value, axis) for axis in range(tensor_type(value).ndim))])


def _all_repeated(inputs: Sequence[Variable], rows: Sequence[bool]) -> list[Variable]:
    """Return variables that all have the leading axis."""
    count = next(s.dimension(variable, 0) for variable, mine in zip(inputs, rows, strict=True) if mine)
    return [value if mine else repeated(value, count) for value, mine in zip(inputs, rows, strict=True)]


# ---- elementwise operations


@BATCHING.kind(ElementwiseDeclaration)
@BATCHING.row(e.CAST)
def _elementwise(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    ndim = max(rank(variable) for variable in node.inputs)
    return build_one(
        node.op, *(widened(x, ndim) if mine else x for x, mine in zip(inputs, rows, strict=True))
    )


@BATCHING.row(DISCONNECTED_GRAD, ZERO_GRAD, GRAD_CLIP)
@BATCHING.row("eigvalsh", "svdvals", "pinv", "expm", "inv", "cholesky", "det")
def _same(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    """Return the operation itself: values pass, and a stack of matrices is a batch."""
    return build_one(node.op, inputs[0])


# ---- along axes, which are counted from one further


@BATCHING.kind(r.ReductionDeclaration)
@BATCHING.row(SOFTMAX, LOG_SOFTMAX)
def _along_axes(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    axes = tuple(axis + 1 for axis in node.op.parameters.axes)
    return build_one(Op(node.op.declaration, node.op.parameters._replace(axes=axes)), inputs[0])


@BATCHING.row(r.ARGMAX, r.ARGMIN, r.CUMSUM, r.CUMPROD)
@BATCHING.row("sort", "argsort")
def _along_an_axis(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    own = node.op.parameters
    if own.axis is None:
        return None
    axis = own.axis % rank(node.inputs[0]) + 1
    return build_one(Op(node.op.declaration, own._replace(axis=axis)), inputs[0])


@BATCHING.row("searchsorted")
def _searchsorted(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    return None if rows[0] else build_one(node.op, *inputs)


@BATCHING.row("diagonal", "triangle")
def _of_last_axes(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    return build_one(node.op, *inputs)


@BATCHING.row(r.SUM_TO_SHAPE)
def _sum_to_shape(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    """Return the sum where it is known which axes are summed: the sizes of all rows are equal."""
    given, wanted = tensor_type(node.inputs[0]).shape, tensor_type(node.outputs[0]).shape
    if any(rows[1:]) or None in given or None in wanted:
        return None
    axes = tuple(k + 1 for k, (a, b) in enumerate(zip(given, wanted, strict=True)) if a != b)
    if not axes:
        return inputs[0]
    return r.sum(inputs[0], axis=axes, keepdims=True, dtype=tensor_type(inputs[0]).dtype)


# ---- views, fills and joins


@BATCHING.row(s.DIMSHUFFLE)
def _dimshuffle(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    order = tuple(None if axis is None else axis + 1 for axis in node.op.parameters.order)
    return build_one(Op(s.DIMSHUFFLE, s.OrderParameters((0, *order))), inputs[0])


@BATCHING.row(s.RESHAPE)
def _reshape(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    if any(rows[1:]) or node.op.parameters.axis != -1:
        return None
    return build_one(node.op, inputs[0], s.dimension(inputs[0], 0), *inputs[1:])


@BATCHING.row(s.ALLOC, STATE_SHAPE)
def _alloc(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    if any(rows[1:]):
        return None
    count = s.dimension(inputs[0], 0)
    return build_one(node.op, widened(inputs[0], rank(node.outputs[0])), count, *inputs[1:])


@BATCHING.row(s.MAKE_VECTOR)
def _make_vector(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    columns = [s.dimshuffle(variable, 0, "x") for variable in _all_repeated(inputs, rows)]
    return concatenate(columns, 1)  # brings their dtypes together, as a vector of numbers does


@BATCHING.row(CONCATENATE)
def _concatenate(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    axis = node.op.parameters.axis % rank(node.inputs[0])
    return build_one(Op(CONCATENATE, s.AxisParameters(axis + 1)), *_all_repeated(inputs, rows))


# ---- indices


@BATCHING.row(INDEX)
def _index(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    if any(entry.stop == "mask" for entry in node.op.parameters.entries if entry.kind == "array"):
        return None
    if rows[0] and not any(rows[1:]):
        return _one_axis_further(node, inputs)
    if not rows[0] and tuple(rows[1:]) == (True,):
        return _lookup(node, inputs)
    return None


def _one_axis_further(node: Apply, inputs: Sequence[Variable]) -> Variable | None:
    entries = node.op.parameters.entries
    places = [k for k, entry in enumerate(entries) if entry.kind == "array"]
    advanced = [k for k, entry in enumerate(entries) if entry.kind in ("array", "integer")]
    if places and advanced != list(range(advanced[0], advanced[-1] + 1)):
        return None  # NumPy would put the axes of the arrays in front of the rows
    return build_one(Op(INDEX, IndexParameters((WHOLE, *entries))), *inputs)


def _lookup(node: Apply, inputs: Sequence[Variable]) -> Variable | None:
    """Return rows of a table, by an integer or a vector of integers a step."""
    first, *rest = node.op.parameters.entries
    picks = first.kind == "array" or (first.kind == "integer" and first.start == INPUT)
    if not picks or any(index_entry != WHOLE for index_entry in rest):
        return None
    return build_one(Op(INDEX, IndexParameters((IndexEntry("array"), *rest))), *inputs)


# ---- products and systems: rows and one matrix are one product of matrices, or one system with many right-hand sides


@BATCHING.row("dot", "matmul")
def _product(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    from scanviz.engine.ops import linalg as la  # it is there: there is one of its operations

    a, b = inputs
    left, right = (rank(variable) for variable in node.inputs)
    if max(left, right) > 2:
        return None
    match rows[0], rows[1]:
        case True, False:  # x_t @ W: one product
            return la.dot(a, b)
        case False, True if right == 1:  # W @ x_t: one product with W transposed
            return la.dot(b, a if left == 1 else s.dimshuffle(a, 1, 0))
        case False, True:
            return _one_column(la.matmul(s.dimshuffle(a, "x", 0), b)) if left == 1 else la.matmul(a, b)
    if left == right == 1 and surely_equal(shape_of(a)[1], shape_of(b)[1]):  # other sizes would broadcast
        products = e.multiply(a, b)
        return r.sum(products, axis=1, dtype=tensor_type(products).dtype)  # a sum alone would be wider
    first = s.dimshuffle(a, 0, "x", 1) if left == 1 else a
    second = s.dimshuffle(b, 0, 1, "x") if right == 1 else b
    product = la.matmul(first, second)
    if left == right == 1:
        return s.dimshuffle(product, 0)
    if left == 1:
        return _one_column(product)
    return s.dimshuffle(product, 0, 1) if right == 1 else product


def _one_column(product: Variable) -> Variable:
    """Return matrices of one row as vectors."""
    return s.dimshuffle(product, 0, 2)


@BATCHING.row("batched_dot")
def _batched_dot(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    from scanviz.engine.ops.linalg import matmul  # it is there, as above

    return matmul(*inputs) if all(rows) and all(rank(variable) == 3 for variable in node.inputs) else None


@BATCHING.row("solve", "solve_triangular")
def _solve(node: Apply, inputs: Sequence[Variable], rows: Sequence[bool]) -> Variable | None:
    matrix, sides = inputs
    if rank(node.inputs[0]) != 2 or rank(node.inputs[1]) > 2 or not rows[1]:
        return None
    if rank(node.inputs[1]) == 1:
        if not rows[0]:
            return s.dimshuffle(build_one(node.op, matrix, s.dimshuffle(sides, 1, 0)), 1, 0)
        return s.dimshuffle(build_one(node.op, matrix, s.dimshuffle(sides, 0, 1, "x")), 0, 1)
    if rows[0]:
        return build_one(node.op, matrix, sides)
    count, size, columns = (s.dimension(sides, axis) for axis in range(3))
    flat = s.reshape(s.dimshuffle(sides, 1, 0, 2), [size, e.multiply(count, columns)])
    solved = s.reshape(build_one(node.op, matrix, flat), [size, count, columns])
    return s.dimshuffle(solved, 1, 0, 2)
