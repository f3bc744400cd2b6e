"""Shapes are graphs of sizes: right for every value, and made of nothing but sizes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.graph.declaration import Declaration, Op
from scanviz.engine.graph.evaluate import evaluate
from scanviz.engine.graph.nodes import Constant, Variable, build_one
from scanviz.engine.graph.traversal import toposort
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops import elementwise as e
from scanviz.engine.ops.shape import BROADCAST_SIZE, DIMENSION, dimension
from scanviz.engine.ops.sizes import as_size, size_of
from scanviz.engine.ops.symbolic_shape import SYMBOLIC_SHAPE_RULES, shape_of
from scanviz.engine.sizes.dims import SIZES as DIMS
from scanviz.engine.sizes.polynomial import Polynomial, Unknown
from scanviz.testing import rewritten_by

SIZES = (
    BROADCAST_SIZE,
    e.add,
    e.subtract,
    e.multiply,
    e.floor_divide,
    e.maximum,
    e.minimum,
    e.where,
    e.CAST,
    e.negative,
    e.mod,
)
COMPARISONS = (e.equal, e.not_equal, e.less, e.greater)

# Expressions of a matrix x, a matrix y that adds to it, a vector v of x's rows and a number n from 1 to 3.
EXPRESSIONS = {
    "arithmetic": lambda x, y, v, n: T.exp(x) * y + n,
    "broadcast": lambda x, y, v, n: x + v[:, None],
    "sum": lambda x, y, v, n: T.tanh(x).sum(axis=0),
    "product": lambda x, y, v, n: T.dot(T.exp(x), y.T),
    "outer": lambda x, y, v, n: T.outer(T.exp(v), x[0]),
    "transposed": lambda x, y, v, n: T.exp(x).T,
    "slice": lambda x, y, v, n: T.exp(x)[n:, ::-n],
    "slice from the end": lambda x, y, v, n: T.exp(x)[-n:, : -(n - 1)],
    "row": lambda x, y, v, n: T.exp(x)[n - 1],
    "rows": lambda x, y, v, n: T.exp(x)[T.arange(n)],
    "flattened": lambda x, y, v, n: T.exp(x).flatten(),
    "reshaped": lambda x, y, v, n: T.exp(x).reshape((x.shape[1], -1)),
    "reshaped to inputs": lambda x, y, v, n: T.exp(x).reshape((-n // n, x.shape[1])),
    "joined": lambda x, y, v, n: T.concatenate([T.exp(x), y, x[:n]]),
    "stacked": lambda x, y, v, n: T.stack([T.exp(x), y], axis=1),
    "split": lambda x, y, v, n: T.split(T.exp(v), [n, v.shape[0] - n])[1],
    "tiled": lambda x, y, v, n: T.tile(T.exp(v), (n, 2)),
    "repeated": lambda x, y, v, n: T.repeat(T.exp(x), n, axis=1),
    "rolled": lambda x, y, v, n: T.roll(T.exp(x), n, axis=0),
    "diagonal": lambda x, y, v, n: T.diagonal(T.exp(x), 1),
    "made diagonal": lambda x, y, v, n: T.diag(T.exp(v), -2),
    "filled": lambda x, y, v, n: T.zeros((n, x.shape[0] + 1)),
    "filled like": lambda x, y, v, n: T.ones_like(T.exp(x)),
    "set": lambda x, y, v, n: T.set_subtensor(T.exp(x)[n - 1], 0.0),
    "ranges": lambda x, y, v, n: T.arange(n, 3 * n, n),
    "chosen": lambda x, y, v, n: scanviz.ifelse(n > 2, T.exp(x), y[1:]),
    "sorted": lambda x, y, v, n: T.sort(T.exp(x), axis=0),
    "cumulative": lambda x, y, v, n: T.cumsum(T.exp(x)),
    "softmax": lambda x, y, v, n: T.softmax(T.exp(x)),
}


def inputs_of():
    return (T.matrix("x"), T.matrix("y"), T.vector("v"), T.lscalar("n"))


def values_of(rows, columns, n):
    x = np.arange(rows * columns, dtype=float).reshape(rows, columns) / 8
    return x, x + 1, x[:, 0] + 1, np.array(n)


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_the_symbolic_shape_computes_nothing_but_sizes(name):
    inputs = inputs_of()
    text = [as_size(size) for size in shape_of(EXPRESSIONS[name](*inputs))]
    for node in toposort(rewritten_by("resolve_shapes", text)):
        declaration = node.op.declaration
        if declaration is DIMENSION:
            assert node.inputs[0] in inputs, "a size is asked of inputs alone"
        else:
            assert declaration in (*SIZES, *COMPARISONS), f"{node} computes more than a size"
            assert all(each.type.shape == () for each in node.inputs)


def test_sizes_that_are_known_are_ints():
    x = T.tensor("float64", (None, 3), "x")
    assert shape_of(T.exp(x))[1] == 3
    assert shape_of(T.concatenate([x.T, x.T]))[0] == 6
    assert shape_of(x.flatten()[:0]) == (0,)
    assert shape_of(T.zeros((2, 4)).T.flatten()) == (8,)


def test_neutral_shape_arithmetic_makes_no_nodes():
    n, dims = size_of(dimension(T.vector("x"), 0)), DIMS
    assert dims.add(n, 0) is dims.add(0, n) is n
    assert dims.subtract(n, 0) is n
    assert dims.subtract(n, n) == 0
    assert dims.multiply(n, 1) is dims.multiply(1, n) is n
    assert dims.multiply(n, 0) == dims.multiply(None, 0) == 0
    assert dims.floor_divide(n, 1) is n
    assert dims.maximum(n, n) is dims.minimum(n, n) is n
    assert dims.broadcast_dimension([n, 1, n]) is n
    assert dims.broadcast_dimension([n, 5]) == 5
    assert dims.same(n, 5) == dims.same(5, n) == 5


def test_lengths_of_the_slices_that_are_written_most_are_short():
    x = T.vector("x")
    written = {
        "maximum(subtract(dimension{axis=0}(x), 1), 0)": (x[1:], x[:-1]),
        "minimum(3, dimension{axis=0}(x))": (x[:3],),
        "dimension{axis=0}(x)": (x[::-1], x[:]),
    }

    def text(size):
        if isinstance(size, Constant):
            return str(size.value)
        return size.name or f"{size.owner.op}({', '.join(map(text, size.owner.inputs))})"

    for expected, parts in written.items():
        for part in parts:
            assert text(as_size(shape_of(part)[0])) == expected


@given(st.lists(st.integers(0, 3), min_size=1, max_size=3), st.integers(0, 7))
def test_symbolic_broadcasting_agrees_with_numpy(sizes, hidden):
    try:
        (expected,) = np.broadcast_shapes(*((size,) for size in sizes))
    except ValueError:
        return
    names = [Variable(TensorType("int64", ()), f"n{k}") for k in range(len(sizes))]
    shown = [
        name if hidden >> k & 1 else size for k, (name, size) in enumerate(zip(names, sizes, strict=True))
    ]
    found = DIMS.broadcast_dimension([*map(size_of, shown)])
    assert int(evaluate(as_size(found), dict(zip(names, sizes, strict=True)))) == expected


@given(st.integers(0, 5), st.integers(1, 3), st.booleans())
def test_choosing_and_filling_in_is_the_same_before_sizes_are_known(total, rest, condition):
    names = [Variable(TensorType("int64", ()), each) for each in "abc"]
    givens = dict(zip(names, (-1, rest, total * rest), strict=True))
    a, b, c = map(size_of, names)
    assert DIMS.fill_in([-1, rest], total * rest) == (total, rest)
    assert [evaluate(as_size(size), givens) for size in DIMS.fill_in([a, b], c)] == [total, rest]
    chosen = as_size(DIMS.choose(a, 2, 3))
    assert DIMS.choose(int(condition), 2, 3) == evaluate(chosen, {names[0]: int(condition)})


def test_shapes_of_operations_without_a_rule_are_read_from_results():
    unruly = Declaration(
        "test_only_large_ones",
        "test",
        arity=1,
        doc="The elements above 1.",
        infer=lambda op, inputs: (TensorType(inputs[0].type.dtype, (None,)),),
        perform=lambda op, values: (values[0][values[0] > 1],),
    )
    x = T.vector("x")
    made = build_one(Op(unruly), T.exp(x))
    assert shape_of(made) == (Polynomial.of(Unknown(made, 0)),)
    call = scanviz.function([x], T.exp(made).shape[0], mode=scanviz.Mode("reference", "all"))
    assert call(np.array([1.0, -9.0, 3.0])) == 2


def test_ops_of_higher_layers_add_rules_of_their_own():
    ruled = Declaration(
        "test_twice_as_long",
        "test",
        arity=1,
        doc="The elements twice.",
        infer=lambda op, inputs: (TensorType(inputs[0].type.dtype, (None,)),),
        perform=lambda op, values: (np.concatenate([values[0], values[0]]),),
    )

    @SYMBOLIC_SHAPE_RULES.row(ruled)
    def twice(node, sizes):
        (given_size,) = sizes(node.inputs[0])
        return [(DIMS.multiply(given_size, 2),)]

    x = T.vector("x")
    text = as_size(*shape_of(build_one(Op(ruled), T.exp(x))))
    assert evaluate(text, {x: np.zeros(3)}) == 6
    assert not any(node.op.declaration is ruled for node in toposort([text]))


def test_resolve_shapes_keeps_values_and_unaffected_nodes():
    x = T.matrix("x")
    made = T.exp(x)
    outputs = [made.shape[0] + 1, made, x.shape[1]]
    first, second, third = rewritten_by("resolve_shapes", outputs)
    assert second is made
    assert third is outputs[2]
    assert {x} == {node.inputs[0] for node in toposort([first]) if node.op.declaration is DIMENSION}
    assert evaluate(first, {x: np.zeros((2, 3))}) == 3


def test_a_resolved_shape_may_be_a_constant():
    x = T.tensor("float64", (None, 3), "x")
    wide = build_one(Op(DIMENSION, dimension(T.matrix("m"), 1).owner.op.parameters), T.exp(x))
    (found,) = rewritten_by("resolve_shapes", [wide])
    assert isinstance(found, Constant)
    assert int(found.value) == 3
