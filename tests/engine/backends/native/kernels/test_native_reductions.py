"""Long sums in machine code are as accurate as NumPy's, whose rounding hardly grows with the number of elements."""

import numpy as np
import pytest

import scanviz
from scanviz import tensor as T

SIZE = 1_000_003
WAYS = {
    "a sum": lambda v: T.sum(v),
    "a sum of what is read from its end": lambda v: T.sum(v[::-1]),
    "a sum of every other element": lambda v: T.sum(v[::2]),
    "a variance": lambda v: T.var(v),
    "sums along rows": lambda v: T.sum(T.reshape(v[1:], (2, -1)), axis=1)[1],
    "a softmax": lambda v: T.nnet.softmax(v)[0],
}


def sums(way, dtype, mode):
    """Return the result of the second of two steps: no part of it can be hoisted."""
    rows = T.tensor(dtype, (None, None), "rows")

    def step(row, state):
        return T.cast(way(T.abs(row - state * 0)), dtype)

    found, _ = scanviz.scan(step, rows, np.zeros((), dtype))
    values = np.random.default_rng(0).uniform(size=(2, SIZE)).astype("float32")
    return scanviz.function([rows], found[-1], mode=mode)(values.astype(dtype))


@pytest.mark.parametrize("name", WAYS)
def test_a_long_sum_of_float32_is_right_to_its_last_bits(name):
    found, expected = sums(WAYS[name], "float32", "native"), sums(WAYS[name], "float64", "reference")
    assert abs(found - expected) <= 4 * np.finfo("float32").eps * abs(expected)


@pytest.mark.parametrize("size", [4095, 4096, 8191, 8192, 8193, 12288, 12300])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_every_element_of_a_sum_is_added_once(size, dtype):
    rows = T.tensor(dtype, (None, None), "rows")
    found, _ = scanviz.scan(lambda row, so_far: so_far + T.sum(row), rows, 0)
    values = np.arange(2 * size).reshape(2, size) % 7
    given = scanviz.function([rows], found, mode="native")(values.astype(dtype))
    assert given.tolist() == np.cumsum(values.sum(axis=1)).tolist()
