"""Derivatives of products of any ranks and sizes: finite differences, other dtypes, and how little is computed for them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.sweeps.forward import push_forward
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.gradient.table import PULLBACKS, PUSHFORWARDS
from scanviz.engine.graph.declaration import declarations
from scanviz.engine.graph.traversal import toposort
from scanviz.testing import verify_grad

sizes = st.integers(0, 3)
modes = st.sampled_from(["reference", "numpy"])
floats = st.sampled_from(["float64", "float32"])


def shaped(draw, *shapes):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return [rng.normal(size=shape) for shape in shapes]


def lengths(draw, least, most):
    return tuple(draw(st.lists(sizes, min_size=least, max_size=most)))


@st.composite
def dots(draw):
    """Operands of ``dot``, each of rank 1 to 3."""
    a, b, inner = lengths(draw, 0, 2), lengths(draw, 0, 2), draw(sizes)
    return T.dot, shaped(draw, (*a, inner), (*b[:-1], inner, *b[-1:]))


@st.composite
def matmuls(draw):
    """Operands of ``matmul``: vectors, matrices, and batches that broadcast."""
    shapes = mutually_broadcastable_shapes(
        signature="(m?,n),(n,p?)->(m?,p?)", max_dims=2, max_side=2, min_side=0
    )
    return T.matmul, shaped(draw, *draw(shapes).input_shapes)


@st.composite
def batched_dots(draw):
    """Operands of ``batched_dot``, each of rank 2 to 4."""
    a, b, batch, inner = lengths(draw, 0, 2), lengths(draw, 0, 2), draw(sizes), draw(sizes)
    return T.batched_dot, shaped(draw, (batch, *a, inner), (batch, *b[:-1], inner, *b[-1:]))


@st.composite
def tensordots(draw):
    """Operands of ``tensordot``, summed over up to two pairs of axes in any places, counted from either end."""
    inner = lengths(draw, 0, 2)
    places, operands = [], []
    for _ in range(2):
        free = lengths(draw, 0, 2)
        order = draw(st.permutations(range(len(inner) + len(free))))
        whole = (*inner, *free)
        operands.append(tuple(whole[k] for k in order))
        from_end = draw(st.booleans())
        places.append([order.index(k) - from_end * len(order) for k in range(len(inner))])
    return lambda a, b: T.tensordot(a, b, axes=places), shaped(draw, *operands)


@st.composite
def traces(draw):
    """An array, two of its axes and an offset that may lie outside of it."""
    shape = lengths(draw, 2, 4)
    first, second = draw(st.permutations(range(len(shape))))[:2]
    offset = draw(st.integers(-3, 3))
    return lambda x: T.trace(x, offset, first, second), shaped(draw, shape)


PRODUCTS = {
    "dot": dots(),
    "matmul": matmuls(),
    "batched_dot": batched_dots(),
    "tensordot": tensordots(),
    "trace": traces(),
}


def gradient_of(build):
    """Return a function whose derivative is the second derivative of ``build``: the gradient of a weighted sum."""

    def gradient(*inputs):
        found = pull_back({T.sum(T.tanh(build(*inputs) * 0.7)): T.constant(1.0)}, list(inputs))
        return [T.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]

    return gradient


@pytest.mark.parametrize("name", PRODUCTS)
@given(st.data(), st.booleans(), floats, modes)
def test_products_of_any_ranks_and_sizes(name, data, known, dtype, mode):
    build, points = data.draw(PRODUCTS[name])
    verify_grad(build, [point.astype(dtype) for point in points], known_shapes=known, mode=mode)


@pytest.mark.parametrize("name", PRODUCTS)
@given(st.data(), st.booleans(), modes)
def test_second_derivatives_of_products_of_any_ranks_and_sizes(name, data, known, mode):
    build, points = data.draw(PRODUCTS[name])
    verify_grad(gradient_of(build), points, known_shapes=known, mode=mode, tolerance=1e-4)


RNG = np.random.default_rng(5)
THIRD = {
    "matrix and vector": (T.dot, (2, 3), (3,)),
    "tensor and matrix": (T.dot, (2, 2, 3), (3, 2)),
    "stretched batches": (T.matmul, (2, 1, 1, 2), (2, 2, 1)),
    "batched matrices and vectors": (T.batched_dot, (2, 2, 2), (2, 2)),
    "batched tensors": (T.batched_dot, (1, 2, 1, 2), (1, 2, 2, 1)),
    "crossed axes": (lambda a, b: T.tensordot(a, b, ([1, 0], [0, 2])), (2, 1, 2), (1, 2, 2)),
}


@pytest.mark.parametrize("name", THIRD)
def test_third_derivatives(name):
    build, *shapes = THIRD[name]

    def twice(*inputs):
        first = gradient_of(build)(*inputs)
        return pull_back({sum(T.sum(T.tanh(each)) for each in first): T.constant(1.0)}, list(inputs))

    verify_grad(twice, [RNG.normal(size=shape) for shape in shapes], tolerance=1e-4)


@pytest.mark.parametrize("name", PRODUCTS)
@given(st.data(), st.sampled_from([("float32", 1e-5), ("float16", 2e-2)]))
def test_lower_precision_gives_derivatives_in_its_dtype_as_float64_does(name, data, precision):
    build, points = data.draw(PRODUCTS[name])
    dtype, tolerance = precision
    found = []
    for each in (dtype, "float64"):
        inputs = [T.tensor(each, (None,) * point.ndim) for point in points]
        y = build(*inputs)
        u = T.constant(1.0, y.dtype)
        pulled = pull_back({y: T.ones_like(y) * u}, inputs)
        pushed = push_forward(dict(zip(inputs, inputs, strict=True)), [y])
        f = scanviz.function(inputs, [*pulled, *pushed])
        found.append(f(*(point.astype(dtype).astype(each) for point in points)))
        assert [g.dtype for g in found[-1][: len(points)]] == [each] * len(points)
    for low, high in zip(*found, strict=True):
        np.testing.assert_allclose(low, high, rtol=tolerance, atol=10 * tolerance)


def test_each_gradient_has_the_dtype_of_its_own_factor():
    a, b = T.tensor("float32", (None, None)), T.tensor("float64", (None,))
    whole = T.tensor("int64", (None, None))
    found = scanviz.grad(T.sum(T.dot(a, b)), [a, b])
    assert [each.dtype for each in found] == ["float32", "float64"]
    rows = np.array([[1, 2], [3, 4]])
    result = scanviz.grad(T.sum(T.dot(whole, b)), b).eval({whole: rows, b: [5.0, 6.0]})
    assert result.dtype == "float64" and result.tolist() == [4.0, 6.0]


def computed(*variables):
    """Return the names of the operations that compute something: views aside."""
    return sorted(node.op.name for node in toposort(variables) if node.op.name != "dimshuffle")


def factors(*ranks):
    return [T.tensor("float64", (None,) * rank, name) for rank, name in zip(ranks, "ab", strict=True)]


DOTS = {
    (1, 1): ["multiply"] * 2,
    (2, 1): ["dot", "multiply"],
    (1, 2): ["dot", "multiply"],
    (2, 2): ["dot"] * 2,
    (3, 2): ["tensordot"] * 2,
}


@pytest.mark.parametrize("ranks", DOTS)
def test_both_gradients_of_a_dot_take_one_product_each_and_no_copy(ranks):
    a, b = factors(*ranks)
    y = T.dot(a, b)
    g = T.tensor("float64", y.type.shape, "g")
    assert computed(*pull_back({y: g}, [a, b])) == DOTS[ranks]


BATCHED = {
    (2, 2): ["multiply"] * 2,
    (3, 2): ["batched_dot", "multiply"],
    (2, 3): ["batched_dot", "multiply"],
    (3, 3): ["batched_dot"] * 2,
}


@pytest.mark.parametrize("ranks", BATCHED)
def test_both_gradients_of_a_batched_dot_take_one_product_each_and_no_copy(ranks):
    a, b = factors(*ranks)
    y = T.batched_dot(a, b)
    g = T.tensor("float64", y.type.shape, "g")
    assert computed(*pull_back({y: g}, [a, b])) == BATCHED[ranks]


@pytest.mark.parametrize("ranks", DOTS)
def test_both_gradients_of_a_matmul_with_one_matrix_are_those_of_a_dot(ranks):
    a, b = factors(*ranks)
    y = T.matmul(a, b)
    g = T.tensor("float64", y.type.shape, "g")
    assert computed(*pull_back({y: g}, [a, b])) == DOTS[ranks]


@pytest.mark.parametrize("product", [T.dot, T.matmul, T.batched_dot])
@pytest.mark.parametrize("ranks", [(2, 2), (2, 3), (3, 2), (3, 3)])
def test_the_gradient_of_one_factor_does_not_need_its_values(product, ranks):
    a, b = factors(*ranks)
    y = product(a, b)
    g = T.tensor("float64", y.type.shape, "g")
    for mine in (a, b):
        (found,) = pull_back({y: g}, [mine])
        readers = [node.op.name for node in toposort([found]) if mine in node.inputs]
        assert set(readers) <= {"dimension", "dimshuffle"}  # its shape at most


@pytest.mark.parametrize("product", [T.dot, T.matmul, T.batched_dot, lambda a, b: T.tensordot(a, b, 1)])
def test_a_matrix_times_itself_has_both_derivatives_added(product):
    verify_grad(lambda x: product(x, x), [RNG.normal(size=(2, 2) if product is T.batched_dot else (3, 3))])


def test_a_matrix_and_vector_in_a_step_of_a_loop():
    weights, h0 = T.matrix("W"), T.vector("h0")
    rows, _ = scanviz.scan(lambda h: T.dot(weights, h), outputs_info=h0, n_steps=3)
    g = scanviz.function([weights, h0], scanviz.grad(T.sum(rows[-1]), [weights, h0]))
    a, h = RNG.normal(size=(2, 2)), RNG.normal(size=2)
    powers = [np.linalg.matrix_power(a, k) for k in range(4)]
    ones = np.ones(2)
    by_hand = sum(np.outer(powers[2 - k].T @ ones, powers[k] @ h) for k in range(3))
    for found, wanted in zip(g(a, h), [by_hand, powers[3].T @ ones], strict=True):
        np.testing.assert_allclose(found, wanted)


def test_every_product_has_rows():
    family = [declaration for declaration in declarations() if declaration.family == "linalg"]
    assert {each.name for each in family} >= set(PRODUCTS)
    assert [each.name for each in family if each not in PULLBACKS or each not in PUSHFORWARDS] == []
