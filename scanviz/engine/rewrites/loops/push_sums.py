"""Sums over the steps of a loop: PushOutDot1.

The state only adds up a term, and only its last row is read, as of a weight gradient ``dW += x_t.T @ g_t``.  The sum of
products of matrices is one product of all rows, [x_0; x_1; …]ᵀ [g_0; g_1; …], after the loop.

The rows of one factor are kept anyway; those of the other may be a new result of the loop in place of the sum.  Their memory is
the price, limited by :mod:`scanviz.engine.rewrites.loops.loop_facts`.  The initial value is added, and a loop that may end
early stays one: then there are as many rows as there were steps.

A term may have fewer dimensions than the state, or size 1 along some: each step spreads it over the state, so the sum of all
is spread in the end.  Where it is not known that the term fits the state, that is checked, with the loop's own error.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal, TypeGuard

from msgspec import Struct

from scanviz.engine.graph.nodes import Apply, Variable, build_one, tensor_type
from scanviz.engine.graph.provenance import Provenance, moved_from
from scanviz.engine.graph.traversal import users
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.index import INDEX, LAST_ROW, getitem
from scanviz.engine.ops.shape import DIMSHUFFLE, alloc, dimension, dimshuffle, reshape
from scanviz.engine.ops.sizes import surely_equal
from scanviz.engine.ops.support import constant_integer
from scanviz.engine.rewrites.level import Level
from scanviz.engine.rewrites.loops.loop_facts import own_tier, too_much_memory
from scanviz.engine.rewrites.rule import Match, Refusal, named, rule
from scanviz.engine.scan.loop import SCAN, Scan, ScanView, nodes_of, of_step
from scanviz.engine.scan.variables import State, inner_outputs


class RunningSum(Struct, frozen=True, eq=False):
    """A state that only adds a term in each step, and whose last row alone is read.

    Attributes
    ----------
    state : State
        The state.
    term : Variable
        The added term: of the state's shape, or one that broadcasts to it.
    readers : tuple of Apply
        The readers of the last row.
    """

    state: State
    term: Variable
    readers: tuple[Apply, ...]


@rule(name="PushOutDot1", phase="loops", on=(SCAN,), single=True, tags=("scan", "push_out"))
def push_out_products(node: Apply, level: Level) -> Match | Refusal | None:
    """Make one product after the loop of products that the loop only adds up."""
    view = ScanView(node)
    if not any(isinstance(variable, State) for variable in view.op.variables):
        return None
    found, refused = running_sums(view, level)
    products = [
        (running_sum, pair) for running_sum in found if (pair := factors(running_sum.term)) is not None
    ]
    if not products:
        return refused or Refusal(f"no state of `{view.op.scan_name}` only adds up products", 1)
    if (refusal := own_tier(view, level)) is not None:
        return refusal
    from scanviz.engine.rewrites.loops.rows_around import Rows  # much code, and few loops add up products

    rows = Rows(view, level)
    products = [
        (running_sum, (a, b))
        for running_sum, (a, b) in products
        if any(rows.costs_nothing(one) for one, _ in (a, b))
    ]
    if not products:
        return Refusal("the rows of neither factor are kept: storing both would take more memory", 3)
    for _, pair in products:
        for factor, _ in pair:
            rows.need(factor)
    too_much = too_much_memory(view, level, list(rows.extra))
    if too_much is not None:
        return Refusal(too_much, 4)
    gone = [running_sum.state for running_sum, _ in products]
    if (unchecked := rows.unchecked(gone)) is not None:
        return Refusal(unchecked, 4)
    new, mapping = rows.rebuilt(gone)
    for running_sum, ((a, a_turned), (b, b_turned)) in products:
        with moved_from(*maker_of(running_sum)):
            product = _product_of_rows(rows.of(a), a_turned, rows.of(b), b_turned)
        mapping.update(last_rows(running_sum, product, view, level, new.n_steps))
    states = named(running_sum.state.name for running_sum, _ in products)
    return Match(mapping, f"{states}: products added up in the loop are one product after it")


def maker_of(running: RunningSum) -> tuple[Provenance, int]:
    """Return the provenance and id of the node of the term, or of the sum."""
    node = running.term.owner or running.state.writes[0].owner
    assert node is not None  # a running sum is the result of an addition
    return node.provenance, node.node_id


def running_sums(view: ScanView, level: Level) -> tuple[list[RunningSum], Refusal | None]:
    """Return the states that only add up terms, and why the nearest of the others does not."""
    found: list[RunningSum] = []
    nearest: Refusal | None = None
    results = view.op.once(_results_in_step)
    for variable in view.op.variables:
        if not isinstance(variable, State) or variable.kind != "sitsot":
            continue
        answer = _running_sum(variable, view, level, results)
        if isinstance(answer, RunningSum):
            found.append(answer)
        elif nearest is None or answer.preconditions_met > nearest.preconditions_met:
            nearest = answer
    return found, nearest


def _results_in_step(op: Scan) -> Counter[Variable]:
    return Counter([value for variable in op.result_variables for value in inner_outputs(variable)])


@of_step
def _users_in_step(op: Scan) -> dict[Variable, list[tuple[Apply, int]]]:
    return users(op.once(nodes_of))


def _running_sum(
    state: State, view: ScanView, level: Level, results: Counter[Variable]
) -> RunningSum | Refusal:
    read, write = state.reads[-1], state.writes[0]
    adding = write.owner
    if adding is None or adding.op.declaration is not e.add or read not in adding.inputs:
        return Refusal(f"`{state.name}` is more than a sum over the steps", 1)
    term = adding.inputs[1] if adding.inputs[0] is read else adding.inputs[0]
    inside = view.op.once(_users_in_step)
    if len(inside[read]) > 1 or read in results:
        return Refusal(f"the step reads `{state.name}` elsewhere too", 2)
    if write in inside or results[write] > 1:
        return Refusal(f"the step uses the sum `{state.name}`", 2)
    if tensor_type(term).dtype != tensor_type(write).dtype:
        return Refusal(f"the summands of `{state.name}` have another dtype", 3)
    result = view.result(state)
    readers = [reader for reader, _ in level.readers(result)]
    if result in level.wanted or not readers or not all(reads_last_row(reader, result) for reader in readers):
        return Refusal(f"more of `{state.name}` is read than its last row", 3)
    return RunningSum(state, term, tuple(dict.fromkeys(readers)))


def _fit(found: RunningSum, view: ScanView, level: Level) -> Literal["same", "spreads", "unknown"]:
    """Return whether a term surely has its state's shape, surely broadcasts to it, or neither is known."""
    from scanviz.engine.scan.shapes import inner_sizes, row_shape  # few loops add up terms alone

    given = row_shape(found.term, view, inner_sizes(view, level.shape))
    wanted = level.shape(view.outer(found.state))
    pairs = list(zip(given[::-1], wanted[::-1], strict=False))
    same = [size is not None and surely_equal(size, goal) for size, goal in pairs]
    if len(given) == len(wanted) and all(same):
        return "same"
    return "spreads" if all(a or size == 1 for a, (size, _) in zip(same, pairs, strict=True)) else "unknown"


def reads_last_row(reader: Apply, result: Variable) -> bool:
    """Return whether a node reads the last row of a result and nothing else of it."""
    if reader.op.declaration is LAST_ROW:
        return reader.inputs[0] is result and reader.inputs[1] is not result
    if reader.op.declaration is not INDEX or reader.inputs[0] is not result:
        return False
    first = reader.op.parameters.entries[0]
    return bool(first.kind == "integer" and first.start == -1)


def last_rows(
    found: RunningSum, total: Variable, view: ScanView, level: Level, n_steps: Variable
) -> dict[Variable, Variable]:
    """Return the replacements for reads of a sum's last row; an error after no step stays one.

    ``total`` is the sum of all terms, of any integer dtype where they are integers.
    """
    whole = _added(found, e.cast(total, tensor_type(found.term).dtype), view, level)
    mapping: dict[Variable, Variable] = {}
    for reader in found.readers:
        old = reader.outputs[0]
        if reader.op.declaration is LAST_ROW or (constant_integer(n_steps) or 0) > 0:
            entries = () if reader.op.declaration is LAST_ROW else reader.op.parameters.entries[1:]
            mapping[old] = _indexed(getitem(whole, None), reader) if entries else whole
        else:
            shape = [dimension(whole, axis) for axis in range(tensor_type(whole).ndim)]
            # no row after no step: then the index is an error
            row = alloc(whole, [e.minimum(n_steps, 1), *shape])
            mapping[old] = _indexed(row, reader)
    return mapping


def _added(found: RunningSum, total: Variable, view: ScanView, level: Level) -> Variable:
    """Return the initial state and the sum of all terms together, in the state's shape or with the loop's error."""
    from scanviz.engine.gradient.sweeps.accumulate import is_zeros  # seldom needed, as below

    initial = view.outer(found.state)
    sizes = [dimension(initial, axis) for axis in range(tensor_type(initial).ndim)]
    zeros, fit = is_zeros(initial), _fit(found, view, level)
    if fit == "spreads" and zeros:
        return alloc(total, sizes)
    whole = total if zeros else e.add(initial, total)
    if fit != "unknown":
        return whole
    from scanviz.engine.ops.size_checks import state_shape

    return state_shape(whole, sizes, found.state.name, view.op.scan_name, spreads=zeros)


def _indexed(rows: Variable, reader: Apply) -> Variable:
    return build_one(reader.op, rows, *reader.inputs[1:])


Factor = tuple[Variable, bool]  # a matrix or vector of the step, and whether the product takes it transposed


def factors(term: Variable) -> tuple[Factor, Factor] | None:
    """Return the two factors of a product of matrices, or of the outer product of two vectors."""
    from scanviz.engine.ops.linalg import DOT, MATMUL  # there once there are products

    node = term.owner
    if node is None:
        return None
    if node.op.declaration in (DOT, MATMUL) and all(
        tensor_type(variable).ndim == 2 for variable in node.inputs
    ):
        return _untransposed(node.inputs[0]), _untransposed(node.inputs[1])
    if node.op.declaration is not e.multiply or tensor_type(term).ndim != 2:
        return None
    column, row = (_vector(variable) for variable in node.inputs)
    if column is None or row is None or column[1] == row[1]:
        return None
    a, b = (column, row) if column[1] == 0 else (row, column)
    if tensor_type(a[0]).dtype != tensor_type(b[0]).dtype:
        return None
    return (a[0], True), (b[0], False)


def _untransposed(matrix: Variable) -> Factor:
    node = matrix.owner
    if node is not None and node.op.declaration is DIMSHUFFLE and node.op.parameters.order == (1, 0):
        return node.inputs[0], True
    return matrix, False


def _vector(matrix: Variable) -> tuple[Variable, int] | None:
    """Return the vector that a matrix of one column or row is made of, and the axis along which it lies."""
    node = matrix.owner
    if node is None or node.op.declaration is not DIMSHUFFLE or tensor_type(node.inputs[0]).ndim != 1:
        return None
    order = node.op.parameters.order
    if order == (0, None):
        return node.inputs[0], 0
    return (node.inputs[0], 1) if order == (None, 0) else None


def _product_of_rows(a: Variable, a_turned: bool, b: Variable, b_turned: bool) -> Variable:
    """Return the sum over all rows of the products of row k of ``a`` with row k of ``b``, as one product.

    Both become matrices whose first axis runs over the steps and the axis that is summed in each step.
    """
    a, b = _in_one_order(a, b)
    from scanviz.engine.ops.linalg import dot

    left = _flat(a, summed_first=a_turned)
    right = _flat(b, summed_first=not b_turned)
    return dot(dimshuffle(left, 1, 0), right)


def _in_one_order(a: Variable, b: Variable) -> tuple[Variable, Variable]:
    """Return two operands with at most the second reversed, since reversed rows would be copied.

    The second are those that the loop makes, mostly, which may lie in memory in any order (``lay_rows_backwards``).
    """
    from scanviz.engine.gradient.loops.forward_rows import reversed_rows

    first, second = _unturned(a), _unturned(b)
    if first is None:
        return (a, b) if second is None else (reversed_rows(a), second)
    return first, second if second is not None else reversed_rows(b)


def _unturned(rows: Variable) -> Variable | None:
    node = rows.owner
    if node is None or node.op.declaration is not INDEX or len(node.inputs) > 1:
        return None
    first, *rest = node.op.parameters.entries
    start, stop, step = first.numbers()
    if first.kind != "slice" or (stop, step) != (None, -1) or not _is_from_the_end(start):
        return None
    if any(entry.numbers() != (None, None, None) for entry in rest):
        return None
    # those of the states before steps lack the last row
    return node.inputs[0] if start in (None, -1) else getitem(node.inputs[0], slice(None, start + 1))


def _is_from_the_end(start: object) -> TypeGuard[int | None]:
    return start is None or (isinstance(start, int) and start < 0)


def _flat(rows: Variable, summed_first: bool) -> Variable:
    """Return rows as one matrix: the axes of steps and of the sum together, then the other."""
    if tensor_type(rows).ndim == 2:
        return rows
    node = rows.owner
    if node is not None and node.op.declaration is DIMSHUFFLE and node.op.parameters.order == (0, 2, 1):
        return _flat(node.inputs[0], not summed_first)
    ordered = rows if summed_first else dimshuffle(rows, 0, 2, 1)
    count, size, other = (dimension(ordered, axis) for axis in range(3))
    return reshape(ordered, [e.multiply(count, size), other])
