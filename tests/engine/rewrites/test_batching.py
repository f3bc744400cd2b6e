"""The meaning of each operation over a new leading axis: the same as on each row."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops.evaluate import evaluate
from scanviz.engine.rewrites.batching import BATCHING, batched

RNG = np.random.default_rng(11)
COUNT = 4

# Operations over all rows that nobody has written: with the reason.
HOLES = {
    "arange", "eye", "triangle", "diagonal", "from_diagonal",  # made of sizes, or of little use by rows
    "dimension", "broadcast_size", "specify_shape", "first_rows",  # about the array, not its elements
    "assign", "repeat", "tensordot", "slogdet", "state_history", "last_row",  # rare in steps
    "bincount",  # as long as its largest number says
    "eigh", "qr", "svd", "lstsq",  # of several results: see results.py
    "lu_factor", "lu_solve", "cholesky_solve",  # made by a rewrite inside a step
    "ifelse", "scan", "subgraph",  # other rules
    "print", "assert",  # done at every step
    "state_words", "words_state",  # random states
    "disconnected_grad", "zero_grad", "grad_clip", "stop_gradient", "consider_constant",  # gone before
}  # fmt: skip


FAMILIES = {each.stem for each in Path(scanviz.__file__).parent.glob("engine/ops/*.py")} | {"loop"}


def check(make, *values, tolerance=1e-12):
    """Compare an operation on each row with that on all rows, for each choice of inputs that have rows."""
    for rows in itertools.product([True, False], repeat=len(values)):
        if not any(rows):
            continue
        inputs = [
            Variable(TensorType(value.dtype, (None,) * value.ndim), f"x{k}") for k, value in enumerate(values)
        ]
        node = make(*inputs).owner
        assert node.inputs[: len(inputs)] == tuple(inputs), "the operation itself, over its inputs"
        given = [
            np.stack([value * (1 + 0.1 * k) if value.dtype.kind == "f" else value for k in range(COUNT)])
            if mine
            else value
            for value, mine in zip(values, rows, strict=True)
        ]
        outer = [Variable(TensorType(each.dtype, (None,) * each.ndim)) for each in given]
        rest = node.inputs[len(inputs) :]
        found = batched(node, [*outer, *rest], [*rows, *[False] * len(rest)])
        assert found is not None, (node.op, rows)
        mine = evaluate([found], dict(zip(outer, given, strict=True)))[0]
        for k in range(COUNT):
            row = [value[k] if has else value for value, has in zip(given, rows, strict=True)]
            expected = evaluate([node.outputs[0]], dict(zip(inputs, row, strict=True)))[0]
            assert mine[k].dtype == expected.dtype and mine[k].shape == expected.shape
            np.testing.assert_allclose(mine[k], expected, rtol=tolerance, atol=tolerance)


def vector(size=3):
    return RNG.uniform(0.2, 0.9, size)


def matrix(n=3, m=3):
    return RNG.uniform(0.2, 0.9, (n, m)) + 2 * np.eye(n, m)


def test_each_operation_has_a_row_or_a_reason():
    of_tests = {declaration.name for declaration in declarations() if declaration.family not in FAMILIES}
    holes = set(BATCHING.holes()) - of_tests
    draws = {hole for hole in holes if hole.startswith("draw_")}
    assert holes - draws <= HOLES, "write a row in engine/rewrites/batching, or a reason here"


@pytest.mark.parametrize("name", ["add", "multiply", "divide", "maximum", "power", "less"])
def test_elementwise_rows_of_several_ranks_stay_aligned(name):
    for first, second in [
        (vector(), vector()),
        (vector(), matrix()),
        (np.array(0.5), matrix()),
        (matrix(3, 1), matrix()),
    ]:
        check(
            getattr(T, {"less": "lt", "divide": "true_divide"}.get(name, name), getattr(T, name, None)),
            first,
            second,
        )


def test_every_elementwise_operation_of_one_input_is_itself():
    for declaration in declarations():
        if (
            declaration.family == "elementwise"
            and getattr(declaration, "arity", 0) == 1
            and declaration.name != "cast"
        ):
            inputs = [Variable(TensorType("float64", (None,)), "x")]
            try:
                node = declaration(*inputs).owner
            except scanviz.ScanvizError:
                continue  # whole numbers only
            rows = Variable(TensorType("float64", (None, None)), "rows")
            found = batched(node, [rows], [True])
            assert found.owner.op == node.op and found.type.dtype == node.outputs[0].type.dtype


@pytest.mark.parametrize(("left", "right"), [(1, 1), (1, 2), (2, 1), (2, 2)])
@pytest.mark.parametrize("product", [T.dot, lambda a, b: a @ b])
def test_products_of_every_pair_of_ranks(product, left, right):
    check(product, *(vector() if each == 1 else matrix() for each in (left, right)))


@pytest.mark.parametrize(
    "function",
    ["sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "cumsum", "cumprod", "sort", "argsort"],
)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_reductions_and_orders_along_every_axis(function, axis):
    check(lambda x: getattr(T, function)(x, axis=axis), matrix(2, 3))


def test_solving_and_factorising():
    check(T.linalg.inv, matrix())
    check(T.linalg.det, matrix())
    check(lambda a: T.linalg.cholesky(a), np.eye(3) * 4.0 + 0.5)
    a, x, b = T.matrix("a"), T.matrix("x"), T.vector("b")
    for matrix_rows, side in itertools.product([True, False], [b, x]):
        made = T.solve(a, side).owner
        rows = [
            Variable(TensorType("float64", (None,) * (each.ndim + r)))
            for each, r in ((a, matrix_rows), (side, True))
        ]
        found = batched(made, rows, [matrix_rows, True])
        values = [np.stack([matrix() for _ in range(COUNT)]) if matrix_rows else matrix()]
        values.append(RNG.normal(size=(COUNT, 3) if side is b else (COUNT, 3, 2)))
        mine = evaluate([found], dict(zip(rows, values, strict=True)))[0]
        for k in range(COUNT):
            expected = np.linalg.solve(values[0][k] if matrix_rows else values[0], values[1][k])
            np.testing.assert_allclose(mine[k], expected, rtol=1e-10)


def test_indices_shapes_and_joins():
    check(lambda x: x[1:, 0], matrix())
    check(lambda x: x[::-1, None], matrix())
    check(lambda x: x[np.array([0, 2])], matrix())
    check(lambda x: x.T, matrix(2, 3))
    check(lambda x: x.dimshuffle(1, "x", 0), matrix(2, 3))
    check(lambda x: x.reshape((3, 2)), matrix(2, 3))
    check(lambda x, y: T.concatenate([x, y], axis=1), matrix(2, 3), matrix(2, 2))
    check(lambda x: T.alloc(x, 2, 3), vector(3))
    check(lambda x: T.nnet.softmax(x), vector())
    check(lambda x: T.trace(x), matrix())


def test_rows_of_a_table_are_looked_up_at_once():
    table, place, places = T.matrix("table"), T.lscalar("place"), T.lvector("places")
    values = matrix(5, 3)
    for index, chosen in ((place, np.array([4, 0, 2])), (places, np.array([[4, 0], [1, 1], [2, 3]]))):
        node = table[index].owner
        rows = Variable(TensorType("int64", (None,) * (index.ndim + 1)))
        found = batched(node, [table, rows], [False, True])
        np.testing.assert_array_equal(evaluate([found], {table: values, rows: chosen})[0], values[chosen])


def test_what_cannot_be_said_is_not_said():
    x, mask = T.vector("x"), T.vector("m", dtype="bool")
    rows = Variable(TensorType("float64", (None, None)))
    assert batched(x[mask].owner, [rows, mask], [True, False]) is None
    flat = T.sort(T.matrix("y"), axis=None).owner
    assert batched(flat, [Variable(TensorType("float64", (None,) * 3))], [True]) is None
