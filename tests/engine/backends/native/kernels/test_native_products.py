"""Products in native loops: of every size around those of blocks, with matrices that are packed and such as are not."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.native.kernels import products
from tests.engine.backends.native.emit.test_native_loops import agree, tiers_of

RNG = np.random.default_rng(5)
KINDS = {
    "row times matrix": lambda x, w: T.dot(x[0], w),
    "rows times matrix": lambda x, w: T.dot(x, w),
    "matrix times column": lambda x, w: T.dot(w.T, x[-1]),
    "transposed": lambda x, w: T.dot(x, (w.T * 1).T),
    "part": lambda x, w: T.dot(x, w[:, ::-1]),
}


def product_in_a_loop(kind, rows, inner, columns, dtype):
    """Return the results of two steps of a product of state and matrix, in a loop and in NumPy."""
    x, w = T.tensor3("x", dtype=dtype), T.matrix("w", dtype=dtype)
    found, _ = scanviz.scan(KINDS[kind], x, non_sequences=w)
    f = scanviz.function([x, w], found, mode=scanviz.Mode("native", rewrites="none"))
    if dtype.startswith("float"):
        given = (
            RNG.normal(size=(2, rows, inner)).astype(dtype),
            RNG.normal(size=(inner, columns)).astype(dtype),
        )
    else:
        given = (
            RNG.integers(-9, 9, (2, rows, inner)).astype(dtype),
            RNG.integers(-9, 9, (inner, columns)).astype(dtype),
        )
    a, b = given
    expected = {
        "row times matrix": lambda: a[:, 0] @ b,
        "matrix times column": lambda: a[:, -1] @ b,
        "part": lambda: a @ b[:, ::-1],
    }.get(kind, lambda: a @ b)()
    return f(*given), expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8"])
@pytest.mark.parametrize(
    ("rows", "inner", "columns"),
    [
        (1, 1, 1),
        (1, 3, 5),
        (4, 17, 8),
        (3, 64, 16),
        (2, 5, 150),
        (9, 33, 67),
        (5, 16, 64),
        (33, 2, 130),
        (1, 70, 24),
    ],
)
def test_a_product_is_numpys(kind, dtype, rows, inner, columns):
    found, expected = product_in_a_loop(kind, rows, inner, columns, dtype)
    if dtype.startswith("int"):
        np.testing.assert_array_equal(found, expected)
    else:
        bound = 1e-13 if dtype == "float64" else 1e-4
        np.testing.assert_allclose(found, expected, rtol=bound, atol=bound * inner)


def test_weights_are_packed_before_the_steps_and_rows_of_a_state_are_not(monkeypatch):
    text = []
    write = products._Panel.write
    monkeypatch.setattr(
        products._Panel, "write", lambda panel: (text.append(panel.second.packed), write(panel))
    )
    h, w = T.matrix("h"), T.matrix("w")
    rows, _ = scanviz.scan(lambda h, w: T.dot(h, w), None, h, w, n_steps=3)
    squares, _ = scanviz.scan(lambda h: T.dot(h, h) / 9.0, None, h, n_steps=3)
    given = RNG.normal(size=(9, 9)), RNG.normal(size=(9, 9))
    scanviz.function([h, w], rows, mode="native")(*given)
    assert text and all(text)
    text.clear()
    scanviz.function([h], squares, mode="native")(given[0])
    assert text and not any(text)


def test_packed_matrices_are_valid_in_every_call_and_chunk_of_steps():
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(lambda v, h, w: v + T.dot(h, w) / 20.0, x, T.zeros(20), w)
    both = [scanviz.function([x, w], h, mode=mode) for mode in ("native", "numpy")]
    for steps in (1, 256, 700):
        given = RNG.normal(size=(steps, 20)), RNG.normal(size=(20, 20))
        one, other = (f(*given) for f in both)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def numbers(dtype, *shape):
    if dtype.startswith("float"):
        return RNG.normal(size=shape).astype(dtype)
    return RNG.integers(-9, 9, shape).astype(dtype)


def products_of_stacks(a, b, w, v):
    """Return products over axes of a (4, 3, 5), b (4, 5, 6), w (5, 6) and v (5,), in all orders of memory."""
    return [
        T.matmul(a, b),
        T.matmul(a, w),
        T.matmul(a[:1], b),
        T.matmul(v, b),
        T.matmul(a, v),
        T.matmul(T.expand_dims(a, 1), T.expand_dims(b, 0)),
        T.matmul(b.mT, a.mT),
        T.matmul(a[::-1, ::2], b[:, :, ::-1]),
        T.dot(a, w),
        T.dot(a, b),
        T.dot(v, b),
        T.dot(a, v),
        T.batched_dot(a, b),
        T.batched_dot(a[:, 0], b),
        T.batched_dot(a, b[:, :, 1]),
        T.batched_dot(a[:, 0], b[:, :, 1]),
        T.batched_dot(T.expand_dims(a, 1), T.expand_dims(b, 1)),
        T.tensordot(a, b, [[0, 2], [0, 1]]),
        T.tensordot(a, b, [[2, 0], [1, 0]]),
        T.tensordot(a, w, [[2], [0]]),
        T.tensordot(w, a, [[0], [2]]),
        T.tensordot(b, a, [[1], [2]]),
        T.tensordot(a, a, 3),
        T.tensordot(v, v, 1),
        T.tensordot(v, w, 0),
        T.tensordot(a[:0], b[:0], [[0, 2], [0, 1]]),
        T.matmul(a[:, :, :0], b[:, :0]),
        T.trace(w),
        T.trace(a, -1, 2, 1),
        T.trace(b, 2),
        T.trace(b[:0], 0, 1, 2),
        T.repeat(a, 3, 1),
        T.repeat(w, 2),
        T.repeat(w[:, ::-2].T, 2, 0),
        T.repeat(v, 0),
        T.repeat(a[:0], 2, 0),
        T.repeat(v[1], 4),
    ]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "bool"])
def test_stacks_of_matrices_and_sums_over_any_axes_are_those_of_the_reference(dtype):
    x, w, v = T.tensor4("x", dtype=dtype), T.matrix("w", dtype=dtype), T.vector("v", dtype=dtype)
    b = T.tensor3("b", dtype=dtype)
    found, _ = scanviz.scan(lambda a, b, w, v: products_of_stacks(a, b, w, v), x, non_sequences=[b, w, v])
    given = [numbers(dtype, *shape) for shape in ((2, 4, 3, 5), (4, 5, 6), (5, 6), (5,))]
    f = agree([x, b, w, v], found, *given, rewrites="none", tolerance=1e-12 if dtype == "float64" else 1e-5)
    assert all("called out" not in why for _, why in tiers_of(f)), tiers_of(f)


def test_mismatched_stacks_raise_the_error_of_the_numpy_tier():
    x, b = T.tensor4("x"), T.tensor3("b")
    for product in (T.matmul, T.batched_dot):
        found, _ = scanviz.scan(product, x, non_sequences=b)
        for mode in ("numpy", "native"):
            f = scanviz.function([x, b], found, mode=mode)
            with pytest.raises(scanviz.ScanvizError):
                f(np.ones((2, 4, 3, 5)), np.ones((3, 5, 6)))
            with pytest.raises(scanviz.ScanvizError):
                f(np.ones((2, 4, 3, 5)), np.ones((4, 4, 6)))
