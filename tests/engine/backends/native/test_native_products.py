"""Products in native loops: of every size around those of blocks, with matrices that are packed and such as are not."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T
from scanviz.engine.backends.registry import availability

if not availability("native").works:
    pytest.skip(availability("native").why, allow_module_level=True)

from scanviz.engine.backends.native import products

RNG = np.random.default_rng(5)
KINDS = {
    "row times matrix": lambda x, w: T.dot(x[0], w),
    "rows times matrix": lambda x, w: T.dot(x, w),
    "matrix times column": lambda x, w: T.dot(w.T, x[-1]),
    "transposed": lambda x, w: T.dot(x, (w.T * 1).T),
    "part": lambda x, w: T.dot(x, w[:, ::-1]),
}


def product_in_a_loop(kind, rows, inner, columns, dtype):
    """Return what a loop of two steps gives for a product of its state with a matrix, and what NumPy gives."""
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
    told = []
    write = products._Panel.write
    monkeypatch.setattr(
        products._Panel, "write", lambda panel: (told.append(panel.second.packed), write(panel))
    )
    h, w = T.matrix("h"), T.matrix("w")
    rows, _ = scanviz.scan(lambda h, w: T.dot(h, w), None, h, w, n_steps=3)
    squares, _ = scanviz.scan(lambda h: T.dot(h, h) / 9.0, None, h, n_steps=3)
    given = RNG.normal(size=(9, 9)), RNG.normal(size=(9, 9))
    scanviz.function([h, w], rows, mode="native")(*given)
    assert told and all(told)
    told.clear()
    scanviz.function([h], squares, mode="native")(given[0])
    assert told and not any(told)


def test_what_is_packed_is_so_for_each_call_and_for_each_chunk_of_steps():
    x, w = T.matrix("x"), T.matrix("w")
    h, _ = scanviz.scan(lambda v, h, w: v + T.dot(h, w) / 20.0, x, T.zeros(20), w)
    both = [scanviz.function([x, w], h, mode=mode) for mode in ("native", "numpy")]
    for steps in (1, 256, 700):
        given = RNG.normal(size=(steps, 20)), RNG.normal(size=(20, 20))
        one, other = (f(*given) for f in both)
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
