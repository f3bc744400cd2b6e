"""Derivatives of products of any ranks and sizes: finite differences, other dtypes, and how little is computed for them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.graph.traversal import toposort
from scanviz.testing import verify_grad
from tests.engine.gradient.checking import check_in_lower_precision, gradient_of

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


@pytest.mark.parametrize("name", PRODUCTS)
@given(st.data(), st.booleans(), floats, modes)
def test_gradients_of_products_agree_with_finite_differences(name, data, known, dtype, mode):
    build, points = data.draw(PRODUCTS[name])
    verify_grad(build, [point.astype(dtype) for point in points], known_shapes=known, mode=mode)


@pytest.mark.parametrize("name", PRODUCTS)
@given(st.data(), st.booleans(), modes)
def test_second_derivatives_of_products_agree_with_finite_differences(name, data, known, mode):
    build, points = data.draw(PRODUCTS[name])
    verify_grad(gradient_of(build), points, known_shapes=known, mode=mode, tolerance=1e-4)


RNG = np.random.default_rng(5)


@pytest.mark.parametrize("name", PRODUCTS)
@given(st.data(), st.sampled_from([("float32", 1e-5), ("float16", 2e-2)]))
def test_lower_precision_gives_derivatives_in_its_dtype_as_float64_does(name, data, precision):
    build, points = data.draw(PRODUCTS[name])
    check_in_lower_precision(build, points, *precision)


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


OF_ONE_MATRIX = {(1, 1): "", (2, 1): "dot", (1, 2): "dot", (2, 2): "dot dot", (3, 2): "tensordot tensordot"}
OF_BATCHES = {(2, 2): "", (3, 2): "batched_dot", (2, 3): "batched_dot", (3, 3): "batched_dot batched_dot"}
WORK = [(product, *each) for product in (T.dot, T.matmul) for each in OF_ONE_MATRIX.items()]
WORK += [(T.batched_dot, *each) for each in OF_BATCHES.items()]


@pytest.mark.parametrize(("product", "ranks", "products"), WORK)
def test_gradients_of_a_product_are_one_product_each_without_a_copy(product, ranks, products):
    a, b = factors(*ranks)
    y = product(a, b)
    g = T.tensor("float64", y.type.shape, "g")
    wanted = products.split()
    assert computed(*pull_back({y: g}, [a, b])) == wanted + ["multiply"] * (2 - len(wanted))


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
