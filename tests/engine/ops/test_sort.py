import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scanviz.engine.errors import ScanvizValueError
from scanviz.engine.graph.nodes import Variable
from scanviz.engine.graph.types import TensorType
from scanviz.engine.ops import sort as s
from tests.engine.ops.checking import check, dtypes, shapes, tame


@pytest.mark.parametrize("name", ["sort", "argsort"])
@given(st.data())
def test_sorting_agrees_with_numpys_stable_sort(name, data):
    array = data.draw(
        dtypes.flatmap(lambda dtype: shapes(min_dims=1).flatmap(lambda shape: tame(dtype, shape)))
    )
    axis = data.draw(st.one_of(st.none(), st.integers(-array.ndim, array.ndim - 1)))

    def oracle(x):
        return getattr(np, name)(x, axis=axis, kind="stable")

    check(lambda x: getattr(s, name)(x, axis), oracle, [array], data)


def test_nan_comes_last():
    check(s.sort, np.sort, [np.array([np.nan, 1.0, -np.inf, np.inf, 0.0])])


def test_equal_elements_keep_their_order():
    check(s.argsort, lambda x: np.arange(100).reshape(50, 2).T.ravel(), [np.tile([0, 1], 50)])


def test_an_axis_that_does_not_exist_is_an_error_that_names_the_variable():
    with pytest.raises(ScanvizValueError, match="sort of `table`: there is no axis 2"):
        s.sort(Variable(TensorType("float64", (None, 3)), "table"), axis=2)
