"""Derivatives of joined and repeated arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import scanviz
from scanviz import tensor as T
from scanviz.testing import verify_grad

seeds = st.integers(0, 2**32 - 1)
shapes = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple)


@given(shapes, st.lists(st.integers(0, 3), min_size=1, max_size=3), st.data(), seeds, st.booleans())
def test_joined_arrays_of_any_sizes_take_their_own_parts(shape, sizes, data, seed, known):
    axis = data.draw(st.integers(0, len(shape) - 1))
    dtypes = [data.draw(st.sampled_from(["float64", "float32"])) for _ in sizes]
    rng = np.random.default_rng(seed)
    points = [
        rng.normal(size=(*shape[:axis], size, *shape[axis + 1 :])).astype(dtype)
        for size, dtype in zip(sizes, dtypes, strict=True)
    ]
    verify_grad(lambda *parts: T.concatenate(list(parts), axis), points, known_shapes=known)


def test_gradients_of_an_array_joined_with_itself_and_integers_are_correct():
    x, k = np.array([0.3, -0.2]), np.array([1, 2])
    verify_grad(lambda v, n: T.concatenate([v, n, v * v]), [x, k])


def test_only_the_needed_part_of_a_join_is_differentiated():
    x, y = T.vector("x"), T.vector("y")
    g = scanviz.grad(T.sum(T.concatenate([x, y]) * T.arange(4.0)), y)
    assert g.eval({x: [1.0, 2.0], y: [3.0, 4.0]}).tolist() == [2.0, 3.0]


@given(shapes, st.integers(0, 3), st.data(), seeds, st.booleans(), st.booleans())
def test_gradients_of_uniform_repeats_agree_with_finite_differences(
    shape, count, data, seed, symbolic, known
):
    axis = data.draw(st.sampled_from([None, *range(len(shape))]))
    x = np.random.default_rng(seed).normal(size=shape)
    points = [x, count] if symbolic else [x]
    verify_grad(lambda v, n=count: T.repeat(v * v, n, axis), points, known_shapes=known, tolerance=1e-4)


@given(shapes, st.data(), seeds, st.booleans(), st.booleans())
def test_gradients_of_repeat_agree_with_finite_differences(shape, data, seed, symbolic, known):
    axis = data.draw(st.integers(0, len(shape) - 1))
    rng = np.random.default_rng(seed)
    x, counts = rng.normal(size=shape), rng.integers(0, 3, shape[axis])
    points = [x, counts] if symbolic else [x]
    verify_grad(lambda v, n=counts: T.repeat(v * v, n, axis), points, known_shapes=known, tolerance=1e-4)


@pytest.mark.parametrize("counts", [2, np.array([2, 0, 1])])
def test_second_derivatives_of_repeat_agree_with_finite_differences(counts):
    x = T.vector("x")
    weights = np.arange(1.0, 1 + np.repeat(np.zeros(3), counts).size)
    second = scanviz.hessian(T.sum(T.repeat(x, counts) ** 2 * weights), x).eval({x: [1.0, 2.0, 3.0]})
    places = np.repeat(np.arange(3), counts)
    np.testing.assert_allclose(second, np.diag([2 * np.sum(weights[places == k]) for k in range(3)]))


def test_counts_have_no_derivative():
    x, n = T.vector("x"), T.scalar("n")
    y = T.sum(T.repeat(x, T.cast(n, "int64")))
    with pytest.raises(scanviz.ScanvizError, match="`n` is not connected"):
        scanviz.grad(y, n)


@given(shapes, seeds, st.integers(-4, 4))
def test_gradients_of_roll_and_stack_agree_with_finite_differences(shape, seed, shift):
    x = np.random.default_rng(seed).normal(size=shape)
    verify_grad(lambda v: T.roll(v, shift, 0), [x])
    verify_grad(lambda v: T.stack([v, v * v], axis=-1), [x], tolerance=1e-4)
