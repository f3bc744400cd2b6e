"""Functions that join, cut and repeat against NumPy's of the same name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz import tensor as T
from scanviz.engine.errors import ScanvizTypeError
from scanviz.engine.graph.evaluate import evaluate
from tests.engine.ops.checking import check
from tests.tensor.test_shapes import arrays


def test_parts_of_a_split_join_to_the_whole():
    x, n = T.matrix("x"), T.lscalar("n")
    values = np.arange(12.0).reshape(3, 4)
    parts = T.split(x, [n, x.shape[1] - n], axis=1)
    whole = T.concatenate(parts, axis=1)
    assert evaluate(whole, {x: values, n: 1}).tolist() == values.tolist()


@given(arrays(), st.one_of(st.integers(0, 3), st.lists(st.integers(0, 3), max_size=4)), st.data())
def test_tile_agrees_with_numpy(array, reps, data):
    check(lambda x: T.tile(x, reps), lambda x: np.tile(x, reps), [array], data)


def test_counts_of_tile_may_be_inputs():
    x, n = T.matrix("x"), T.iscalar("n")
    found = evaluate(T.tile(x, (n, 2)), {x: np.ones((2, 3)), n: np.int32(3)})
    assert found.shape == (6, 6)
    with pytest.raises(ScanvizTypeError, match="tile"):
        T.tile(x, 1.5)


@given(arrays(), st.data())
def test_flip_agrees_with_numpy(array, data):
    axes = st.integers(-array.ndim, array.ndim - 1) if array.ndim else st.nothing()
    several = st.lists(axes, unique_by=lambda k: k % array.ndim).map(tuple)
    axis = data.draw(st.one_of(st.none(), axes, several))
    check(lambda x: T.flip(x, axis), lambda x: np.flip(x, axis), [array], data)


def test_stack_takes_a_list():
    x = T.vector("x")
    with pytest.raises(ScanvizTypeError, match=r"T.stack\(\[a, b\]\)"):
        T.stack(x, x)
