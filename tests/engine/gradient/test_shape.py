"""Derivatives of operations on shapes, against finite differences, with sizes known, unknown and given as inputs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.engine.gradient.sweeps.reverse import pull_back
from scanviz.engine.graph.declaration import Op
from scanviz.engine.graph.nodes import build_one
from scanviz.engine.ops.shape import BROADCAST_SIZE
from scanviz.testing import verify_grad

seeds = st.integers(0, 2**32 - 1)
dtypes = st.sampled_from(["float64", "float32"])
shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)


@st.composite
def reshapes(draw):
    """An array, another shape of its elements, and which of the sizes are -1 and inputs."""
    shape = draw(shapes)
    left, wanted = math.prod(shape), []
    for _ in range(draw(st.integers(0, 3))):
        wanted.append(draw(st.sampled_from([k for k in range(1, left + 1) if left % k == 0] or [0, 1])))
        left = left // wanted[-1] if wanted[-1] else left
    if math.prod(wanted) != math.prod(shape):
        wanted.append(left)
    if wanted and math.prod(shape) and draw(st.booleans()):
        wanted[draw(st.integers(0, len(wanted) - 1))] = -1
    symbolic = draw(st.lists(st.booleans(), min_size=len(wanted), max_size=len(wanted)))
    return shape, wanted, symbolic


@given(reshapes(), seeds, dtypes, st.booleans())
def test_gradients_of_reshape_agree_with_finite_differences(case, seed, dtype, known):
    shape, wanted, symbolic = case
    inputs = [size for size, mark in zip(wanted, symbolic, strict=True) if mark and size != -1]

    def build(x, *sizes):
        left = iter(sizes)
        marks = zip(wanted, symbolic, strict=True)
        return T.reshape(x, [next(left) if mark and size != -1 else size for size, mark in marks]) * x.sum()

    x = np.random.default_rng(seed).normal(size=shape).astype(dtype)
    verify_grad(build, [x, *inputs], known_shapes=known)


@st.composite
def orders(draw):
    """A shape and an order of its axes, with new ones between and some of size 1 left out."""
    shape = draw(shapes)
    kept = [k for k, size in enumerate(shape) if size != 1 or draw(st.booleans())]
    order = draw(st.permutations([*kept, *["x"] * draw(st.integers(0, 2))]))
    return shape, order


@given(orders(), seeds, dtypes, st.booleans())
def test_gradients_of_dimshuffle_agree_with_finite_differences(case, seed, dtype, known):
    shape, order = case
    x = np.random.default_rng(seed).normal(size=shape).astype(dtype)
    verify_grad(lambda v: v.dimshuffle(order) * 2, [x], known_shapes=known)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=3), st.integers(0, 3), seeds, st.booleans()
)
def test_the_gradient_of_alloc_is_summed_over_broadcast_axes(sides, drop, seed, known):
    shape = tuple(size for size, _ in sides)
    given_shape = tuple(1 if stretched else size for size, stretched in sides)[drop:]
    x = np.random.default_rng(seed).normal(size=given_shape)
    verify_grad(lambda v, *sizes: T.alloc(v, list(sizes)), [x, *shape], known_shapes=known)
    verify_grad(lambda v: T.alloc(v, list(shape)) * 2, [x], known_shapes=known)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=3), seeds)
def test_a_promised_shape_changes_no_derivative(sides, seed):
    x = np.random.default_rng(seed).normal(size=tuple(size for size, _ in sides))
    promised = [None if hidden else size for size, hidden in sides]
    verify_grad(lambda v: T.specify_shape(v * v, promised), [x])


@pytest.mark.parametrize("dtypes", [("float64", "float64"), ("float64", "float32"), ("float32", "int64")])
def test_scalars_of_several_dtypes_in_a_vector_have_gradients_of_their_own_dtype(dtypes):
    points = [np.array(0.5 + k, dtype) for k, dtype in enumerate(dtypes)]
    verify_grad(lambda x, y: T.stack([x, y, x]), points)


def test_rop_of_a_stack_of_scalars_follows_one_scalar():
    x, y = T.scalar("x"), T.scalar("y")
    f = T.stack([x, y, x * y])
    (tangent,) = [scanviz.Rop(f, y, T.constant(2.0))]
    assert tangent.eval({x: 3.0, y: 4.0}).tolist() == [0.0, 2.0, 6.0]


def test_sizes_have_no_derivative():
    x, y = T.vector("x"), T.vector("y")
    one = T.constant(1.0)
    size = build_one(Op(BROADCAST_SIZE), x.shape[0], y.shape[0])
    for each in (x.shape[0], size):
        assert pull_back({T.cast(each, "float64") * 2: one}, [x]) == [None]
        with pytest.raises(scanviz.ScanvizError, match="`x` is not connected"):
            scanviz.grad(T.cast(each, "float64"), x)
    filled = T.alloc(x[0], x.shape[0])  # of x only the element that fills it counts, not the size
    assert scanviz.grad(T.sum(filled), x).eval({x: [1.0, 2.0, 3.0]}).tolist() == [3.0, 0.0, 0.0]


def test_a_reshape_that_is_turned_back_is_the_identity_to_derivatives():
    x = T.tensor("float64", (None, None, None), "x")
    y = T.reshape(T.reshape(x, [-1]), x.shape, ndim=3)
    point = np.arange(6.0).reshape(1, 2, 3)
    np.testing.assert_array_equal(scanviz.grad(T.sum(y * y), x).eval({x: point}), 2 * point)
